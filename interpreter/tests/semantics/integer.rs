use gpucast_interpreter::semantics::{
    Integer, atomic, bits, carry, convert, integer as int, packed,
};
use num_bigint::BigInt;
use proptest::prelude::*;

use crate::values::{AMOUNTS, INTEGERS};

/// Number of 2ⁿ to add or take so that `x` fits a type of `bits` bits.
fn wrap(x: &BigInt, bits: u32, signed: bool) -> BigInt {
    let modulus = BigInt::from(1) << bits;
    let reduced = ((x % &modulus) + &modulus) % &modulus;
    if signed && reduced >= (BigInt::from(1) << (bits - 1)) { reduced - modulus } else { reduced }
}

fn big<T: Integer>(x: T) -> BigInt {
    BigInt::from(x.to_i128())
}

/// Every two-operand function of one type at one point.
fn check<T: Integer + std::fmt::Debug>(a: T, b: T, c: T)
where
    T::Wide: Into<BigInt>,
{
    let signed = T::MIN < T::ZERO;
    let bits = T::BITS;
    let (x, y, z) = (big(a), big(b), big(c));
    let fits = |value: BigInt| wrap(&value, bits, signed);
    let high = |value: BigInt| wrap(&(value >> bits), bits, signed);
    let at = format!("{a:?} {b:?} {c:?}");

    assert_eq!(big(int::add(a, b)), fits(&x + &y), "add {at}");
    assert_eq!(big(int::sub(a, b)), fits(&x - &y), "sub {at}");
    assert_eq!(big(int::mul_lo(a, b)), fits(&x * &y), "mul.lo {at}");
    assert_eq!(big(int::mul_hi(a, b)), high(&x * &y), "mul.hi {at}");
    assert_eq!(int::mul_wide(a, b).into(), (&x * &y), "mul.wide {at}");
    assert_eq!(big(int::mad_lo(a, b, c)), fits(&x * &y + &z), "mad.lo {at}");
    assert_eq!(big(int::mad_hi(a, b, c)), fits(((&x * &y) >> bits) + &z), "mad.hi {at}");
    let wide_c = int::mul_wide(a, c);
    let wide = wrap(&(&x * &y + &x * &z), 2 * bits, signed);
    assert_eq!(int::mad_wide(a, b, wide_c).into(), wide, "mad.wide {at}");
    let distance = if x < y { &y - &x } else { &x - &y };
    assert_eq!(big(int::sad(a, b, c)), fits(&z + &distance), "sad {at}");
    if b == T::ZERO {
        assert_eq!(int::div(a, b), T::ONES, "div by zero {at}");
        assert_eq!(int::rem(a, b), T::ONES, "rem by zero {at}");
    } else {
        assert_eq!(big(int::div(a, b)), fits(&x / &y), "div {at}");
        assert_eq!(big(int::rem(a, b)), fits(&x % &y), "rem {at}");
    }
    let magnitude = if x < BigInt::ZERO { -&x } else { x.clone() };
    assert_eq!(big(int::abs(a)), fits(magnitude), "abs {at}");
    assert_eq!(big(int::neg(a)), fits(-&x), "neg {at}");
    assert_eq!(big(int::min(a, b)), x.clone().min(y.clone()), "min {at}");
    assert_eq!(big(int::max(a, b)), x.clone().max(y.clone()), "max {at}");
    let least = x.clone().min(y.clone()).min(z.clone());
    assert_eq!(big(int::min3(a, b, c)), least, "min3 {at}");
    let greatest = x.clone().max(y.clone()).max(z.clone());
    assert_eq!(big(int::max3(a, b, c)), greatest, "max3 {at}");

    // Carries live on the unsigned bits.
    let unsigned = |value: &BigInt| wrap(value, bits, false);
    let modulus = BigInt::from(1) << bits;
    for flag in [false, true] {
        let one = BigInt::from(u8::from(flag));
        for (name, (value, out), exact) in [
            ("addc", carry::addc(a, b, flag), unsigned(&x) + unsigned(&y) + &one),
            ("madc.lo", carry::madc_lo(a, b, c, flag), unsigned(&(&x * &y)) + unsigned(&z) + &one),
            (
                "madc.hi",
                carry::madc_hi(a, b, c, flag),
                unsigned(&((&x * &y) >> bits)) + unsigned(&z) + &one,
            ),
        ] {
            assert_eq!(big(value), fits(exact.clone()), "{name} {at} {flag}");
            assert_eq!(out, exact >= modulus, "{name} carry {at} {flag}");
        }
        // Nothing is borrowed where the carry is set, and nothing goes on where it comes out.
        let exact = unsigned(&x) - unsigned(&y) - BigInt::from(u8::from(!flag));
        let (value, out) = carry::subc(a, b, flag);
        assert_eq!(big(value), fits(exact.clone()), "subc {at} {flag}");
        assert_eq!(out, exact >= BigInt::ZERO, "subc carry {at} {flag}");
    }
}

/// Positions and lengths beyond the manual's 0..255: an H200 masks those of 32-bit types only.
fn in_range(n: u32, width: u32) -> u32 {
    if width == 32 { n & 0xff } else { n.min(0xff) }
}

/// `bfe`, transcribed from the manual's loop.
fn bfe_by_loop(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len, msb) = (in_range(pos, width), in_range(len, width), width - 1);
    let bit = |i: u32| a >> i & 1;
    let sign = if !signed || len == 0 { 0 } else { bit((pos + len - 1).min(msb)) };
    (0..=msb)
        .map(|i| (if i < len && pos + i <= msb { bit(pos + i) } else { sign }) << i)
        .fold(0, |d, bit| d | bit)
}

/// `bfi`, transcribed from the manual's loop.
fn bfi_by_loop(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len, msb) = (in_range(pos, width), in_range(len, width), width - 1);
    let mut f = b;
    for i in (0..len).take_while(|i| pos + i <= msb) {
        f = f & !(1 << (pos + i)) | (a >> i & 1) << (pos + i);
    }
    f
}

/// `bfind`, transcribed from the manual's loop.
fn bfind_by_loop(a: u64, width: u32, signed: bool) -> u32 {
    let msb = width - 1;
    let a = if signed && a >> msb & 1 == 1 { !a } else { a };
    (0..=msb).rev().find(|&i| a >> i & 1 == 1).unwrap_or(u32::MAX)
}

fn check_fields(a: u64, b: u64, pos: u32, len: u32) {
    let at = format!("{a:#x} {b:#x} {pos} {len}");
    let (low, low_b) = (a as u32, b as u32);
    let wide = u64::from(low);
    assert_eq!(bits::bfe(low, pos, len), bfe_by_loop(wide, pos, len, 32, false) as u32, "{at}");
    assert_eq!(
        bits::bfe(low as i32, pos, len),
        bfe_by_loop(wide, pos, len, 32, true) as i32,
        "bfe.s32 {at}"
    );
    assert_eq!(bits::bfe(a, pos, len), bfe_by_loop(a, pos, len, 64, false), "bfe.u64 {at}");
    assert_eq!(
        bits::bfe(a as i64, pos, len),
        bfe_by_loop(a, pos, len, 64, true) as i64,
        "bfe.s64 {at}"
    );
    let inserted = bfi_by_loop(wide, u64::from(low_b), pos, len, 32) as u32;
    assert_eq!(bits::bfi(low, low_b, pos, len), inserted, "bfi.b32 {at}");
    assert_eq!(bits::bfi(a, b, pos, len), bfi_by_loop(a, b, pos, len, 64), "bfi.b64 {at}");
}

fn check_bits(a: u64) {
    let low = a as u32;
    let wide = u64::from(low);
    for (name, found, expected) in [
        ("popc.b32", bits::popc(low), (0..32).map(|i| low >> i & 1).sum()),
        ("popc.b64", bits::popc(a), (0..64).map(|i| (a >> i) as u32 & 1).sum()),
        (
            "clz.b32",
            bits::clz(low),
            (0..32).take_while(|i| low >> (31 - i) & 1 == 0).count() as u32,
        ),
        ("clz.b64", bits::clz(a), (0..64).take_while(|i| a >> (63 - i) & 1 == 0).count() as u32),
        ("bfind.u32", bits::bfind(low), bfind_by_loop(wide, 32, false)),
        ("bfind.s32", bits::bfind(low as i32), bfind_by_loop(wide, 32, true)),
        ("bfind.u64", bits::bfind(a), bfind_by_loop(a, 64, false)),
        ("bfind.s64", bits::bfind(a as i64), bfind_by_loop(a, 64, true)),
    ] {
        assert_eq!(found, expected, "{name} {a:#x}");
    }
    for (amount, position, msb) in [
        (bits::bfind_shiftamt(low), bits::bfind(low), 31),
        (bits::bfind_shiftamt(low as i32), bits::bfind(low as i32), 31),
        (bits::bfind_shiftamt(a), bits::bfind(a), 63),
        (bits::bfind_shiftamt(a as i64), bits::bfind(a as i64), 63),
    ] {
        let expected = if position == u32::MAX { position } else { msb - position };
        assert_eq!(amount, expected, "bfind.shiftamt {a:#x}");
    }
    let reversed: u64 = (0..64).map(|i| (a >> i & 1) << (63 - i)).sum();
    assert_eq!(bits::brev(a), reversed);
    assert_eq!(bits::brev(low), (reversed >> 32) as u32);
}

/// `fns`, transcribed from the manual's loop.
fn fns_by_loop(mask: u32, base: u32, offset: i32) -> u32 {
    let mut pos = base as i32;
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    let mut count = offset.unsigned_abs() - 1;
    while (0..32).contains(&pos) {
        if mask >> pos & 1 == 1 {
            if count == 0 {
                return pos as u32;
            }
            count -= 1;
        }
        pos += offset.signum();
    }
    u32::MAX
}

#[test]
fn arithmetic_agrees_with_big_integers_at_the_boundaries() {
    for a in INTEGERS {
        for b in INTEGERS {
            for c in [0, 1, 0x7fff_8000_7fff, 0x8000_0000_8000_8000, u64::MAX] {
                check(a, b, c);
                check(a as i64, b as i64, c as i64);
                check(a as u32, b as u32, c as u32);
                check(a as i32, b as i32, c as i32);
                check(a as u16, b as u16, c as u16);
                check(a as i16, b as i16, c as i16);
            }
        }
    }
}

#[test]
fn saturation_clamps_and_24_bit_products_ignore_the_upper_byte() {
    let clamp = |x: i64| x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    for a in INTEGERS {
        for b in INTEGERS {
            let (u, v) = (a as u32, b as u32);
            let (x, y) = (u as i32, v as i32);
            let (wide_x, wide_y) = (i64::from(x), i64::from(y));
            assert_eq!(int::add_sat_s32(x, y), clamp(wide_x + wide_y));
            assert_eq!(int::sub_sat_s32(x, y), clamp(wide_x - wide_y));
            assert_eq!(int::min_relu_s32(x, y), x.min(y).max(0));
            assert_eq!(int::max_relu_s32(x, y), x.max(y).max(0));
            let product = i64::from(u % (1 << 24)) * i64::from(v % (1 << 24));
            assert_eq!(int::mul24_lo_u32(u, v), product as u32);
            assert_eq!(int::mul24_hi_u32(u, v), (product / 65536) as u32);
            let signed = |w: u32| {
                let low = i64::from(w % (1 << 24));
                if low >= 1 << 23 { low - (1 << 24) } else { low }
            };
            let product = signed(u) * signed(v);
            assert_eq!(int::mul24_lo_s32(x, y), product as i32);
            assert_eq!(int::mul24_hi_s32(x, y), product.div_euclid(65536) as i32);
            for c in [0, 1, i32::MAX, i32::MIN] {
                let high = (wide_x * wide_y) >> 32;
                assert_eq!(int::mad_hi_sat_s32(x, y, c), clamp(high + i64::from(c)));
                let high = product.div_euclid(65536);
                // The sum of a 32-bit high part and c, clamped.
                let sum = i64::from(high as i32) + i64::from(c);
                assert_eq!(int::mad24_hi_sat_s32(x, y, c), clamp(sum));
                assert_eq!(int::mad24_hi_s32(x, y, c), sum as i32);
                assert_eq!(int::mad24_lo_s32(x, y, c), (product + i64::from(c)) as i32);
            }
        }
    }
}

#[test]
fn bit_fields_agree_with_the_manuals_loops() {
    for a in INTEGERS {
        check_bits(a);
        for pos in AMOUNTS {
            for len in AMOUNTS {
                check_fields(a, 0x1234_5678_9abc_def0, pos, len);
                check_fields(a, !a, pos, len);
            }
        }
    }
}

#[test]
fn fns_finds_the_bits_of_the_manuals_examples_and_loop() {
    assert_eq!(bits::fns(0xaaaa_aaaa, 3, 1), 3);
    assert_eq!(bits::fns(0xaaaa_aaaa, 3, -1), 3);
    assert_eq!(bits::fns(0xaaaa_aaaa, 2, 1), 3);
    assert_eq!(bits::fns(0xaaaa_aaaa, 2, -1), 1);
    for mask in [0, 1, 0x8000_0000, 0xaaaa_aaaa, 0x0f0f_0f0f, 0x8000_0001, u32::MAX] {
        for base in 0..32 {
            for offset in (-33..=33).chain([i32::MIN, i32::MAX]) {
                let expected = fns_by_loop(mask, base, offset);
                assert_eq!(bits::fns(mask, base, offset), expected, "{mask:#x} {base} {offset}");
            }
        }
    }
}

#[test]
fn masks_and_extensions_clamp_or_wrap() {
    for a in INTEGERS.map(|a| a as u32) {
        for n in AMOUNTS {
            // bmsk, bit by bit: ones where position <= i < position + width.
            let ones = |position: u64, width: u64| {
                (0..32u64)
                    .filter(|&i| i >= position && i < position + width)
                    .fold(0u32, |mask, i| mask | 1 << i)
            };
            assert_eq!(bits::bmsk_clamp(a, n), ones(u64::from(a), u64::from(n)), "{a:#x} {n}");
            assert_eq!(bits::bmsk_wrap(a, n), ones(u64::from(a % 32), u64::from(n % 32)));
            let low = |n: u32| i64::from(a) % (1i64 << n);
            let signed = |n: u32| {
                let value = low(n);
                if n > 0 && value >= 1 << (n - 1) { value - (1 << n) } else { value }
            };
            assert_eq!(bits::szext_clamp_u32(a, n), low(n.min(32)) as u32, "{a:#x} {n}");
            assert_eq!(bits::szext_wrap_u32(a, n), low(n % 32) as u32);
            assert_eq!(bits::szext_clamp_s32(a as i32, n), signed(n.min(32)) as i32, "{a:#x} {n}");
            assert_eq!(bits::szext_wrap_s32(a as i32, n), signed(n % 32) as i32);
        }
    }
    assert_eq!(bits::bmsk_wrap(1, 2), 6);
}

fn check_packed(a: u32, b: u32, c: u32) {
    let halves = |x: u32| [x as u16, (x >> 16) as u16];
    let (x, y) = (halves(a), halves(b));
    let join = |f: &dyn Fn(usize) -> i64| (f(0) as u16 as u32) | (f(1) as u16 as u32) << 16;
    let unsigned = |x: u16| i64::from(x);
    let signed = |x: u16| i64::from(x as i16);
    assert_eq!(packed::add_16x2(a, b), join(&|i| unsigned(x[i]) + unsigned(y[i])));
    assert_eq!(packed::min_u16x2(a, b), join(&|i| unsigned(x[i]).min(unsigned(y[i]))));
    assert_eq!(packed::max_u16x2(a, b), join(&|i| unsigned(x[i]).max(unsigned(y[i]))));
    assert_eq!(packed::min_s16x2(a, b), join(&|i| signed(x[i]).min(signed(y[i]))));
    assert_eq!(packed::max_s16x2(a, b), join(&|i| signed(x[i]).max(signed(y[i]))));
    assert_eq!(packed::min_relu_s16x2(a, b), join(&|i| signed(x[i]).min(signed(y[i])).max(0)));
    assert_eq!(packed::max_relu_s16x2(a, b), join(&|i| signed(x[i]).max(signed(y[i])).max(0)));

    let byte = |x: u32, i: usize, s: bool| {
        let raw = x.to_le_bytes()[i];
        if s { i64::from(raw as i8) } else { i64::from(raw) }
    };
    let word = |x: u32, i: usize, s: bool| {
        let raw = halves(x)[i];
        if s { signed(raw) } else { unsigned(raw) }
    };
    let dot4 = |s: bool, t: bool| {
        (0..4).fold(i64::from(c), |sum, i| sum + byte(a, i, s) * byte(b, i, t)) as u32
    };
    assert_eq!(packed::dp4a::<false, false>(a, b, c), dot4(false, false));
    assert_eq!(packed::dp4a::<false, true>(a, b, c), dot4(false, true));
    assert_eq!(packed::dp4a::<true, false>(a, b, c), dot4(true, false));
    assert_eq!(packed::dp4a::<true, true>(a, b, c), dot4(true, true));
    let dot2 = |s: bool, t: bool, first: usize| {
        (0..2).fold(i64::from(c), |sum, i| sum + word(a, i, s) * byte(b, first + i, t)) as u32
    };
    assert_eq!(packed::dp2a::<false, false, false>(a, b, c), dot2(false, false, 0));
    assert_eq!(packed::dp2a::<false, true, true>(a, b, c), dot2(false, true, 2));
    assert_eq!(packed::dp2a::<true, false, false>(a, b, c), dot2(true, false, 0));
    assert_eq!(packed::dp2a::<true, true, true>(a, b, c), dot2(true, true, 2));
}

#[test]
fn integers_convert_by_wrapping_or_clamping() {
    fn check_pair<S: Integer, D: Integer + std::fmt::Debug>(a: S) {
        let (x, low, high) = (big(a), big(D::MIN), big(D::MAX));
        let wrapped = wrap(&x, D::BITS, D::MIN < D::ZERO);
        assert_eq!(big(convert::int_to_int::<S, D>(a)), wrapped);
        assert_eq!(big(convert::int_to_int_sat::<S, D>(a)), x.max(low).min(high));
    }
    fn check_source<S: Integer>(a: S) {
        check_pair::<S, u8>(a);
        check_pair::<S, i8>(a);
        check_pair::<S, u16>(a);
        check_pair::<S, i16>(a);
        check_pair::<S, u32>(a);
        check_pair::<S, i32>(a);
        check_pair::<S, u64>(a);
        check_pair::<S, i64>(a);
    }
    for a in INTEGERS {
        check_source(a as u8);
        check_source(a as i8);
        check_source(a as u16);
        check_source(a as i16);
        check_source(a as u32);
        check_source(a as i32);
        check_source(a);
        check_source(a as i64);
    }
}

#[test]
fn atomic_counters_wrap_at_their_limit() {
    assert_eq!([3, 4, 5, u32::MAX].map(|old| atomic::inc(old, 5)), [4, 5, 0, 0]);
    assert_eq!([0, 1, 5, 6, u32::MAX].map(|old| atomic::dec(old, 5)), [5, 0, 4, 5, 5]);
    assert_eq!(atomic::inc(u32::MAX - 1, u32::MAX), u32::MAX);
    assert_eq!(atomic::dec(0, 0), 0);
    assert_eq!(atomic::exch(1, 2), 2);
    assert_eq!(atomic::cas(1u64, 1, 2), 2);
    assert_eq!(atomic::cas(3u64, 1, 2), 3);
}

proptest! {
    #[test]
    fn arithmetic_agrees_with_big_integers(a: u64, b: u64, c: u64) {
        check(a, b, c);
        check(a as i64, b as i64, c as i64);
        check(a as u32, b as u32, c as u32);
        check(a as i32, b as i32, c as i32);
        check(a as u16, b as u16, c as u16);
        check(a as i16, b as i16, c as i16);
        check_bits(a);
        check_packed(a as u32, b as u32, c as u32);
    }

    #[test]
    fn bit_fields_agree_with_loops(a: u64, b: u64, pos in 0u32..300, len in 0u32..300) {
        check_fields(a, b, pos, len);
    }
}

/// Coefficients of polynomials eight bits apart: a product of such numbers adds up at most 64
/// partial products in a place, so that places do not reach each other.
fn spread(x: u64) -> BigInt {
    (0..64).filter(|bit| x >> bit & 1 != 0).map(|bit| BigInt::from(1) << (8 * bit)).sum()
}

/// The product modulo 2 of every coefficient.
fn polynomial_product(a: u64, b: u64) -> u128 {
    let product = spread(a) * spread(b);
    (0..127).filter(|place| product.bit(8 * place)).map(|place| 1 << place).sum()
}

#[test]
fn carryless_products_of_edges() {
    let edges = [0, 1, 2, 3, 0x1b, 1 << 63, u64::MAX, 0x5555_5555_5555_5555, 0x8000_0000_0000_0001];
    for a in edges {
        for b in edges {
            assert_eq!(int::carryless_product(a, b), polynomial_product(a, b), "{a:#x} {b:#x}");
        }
    }
}

proptest! {
    #[test]
    fn carryless_products(a: u64, b: u64) {
        prop_assert_eq!(int::carryless_product(a, b), polynomial_product(a, b));
    }
}
