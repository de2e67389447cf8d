use gpucast_interpreter::semantics::minifloat::{self, E2m1, E2m3, E3m2, E4m3, E5m2, Minifloat};
use gpucast_interpreter::semantics::rounding::Mode;
use gpucast_interpreter::semantics::{
    Bf16, F16, Half, Integer, Rm, Rn, Rna, Rounding, Rp, Rz, convert, float,
};
use num_bigint::BigInt;
use proptest::prelude::*;
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half as Binary16, Single};
use rustc_apfloat::{Float, FloatConvert as _};

use crate::narrow::{saturated, saturated_relu};
use crate::values::{INTEGERS, doubles, round, singles};

/// An integer rounded once by `rustc_apfloat`.
fn rounded<F: Float>(value: i128, mode: Mode) -> u64 {
    F::from_i128_r(value, round(mode)).value.to_bits() as u64
}

fn check_int_to_float<S: Integer, R: Rounding>(a: S) {
    let (value, mode) = (a.to_i128(), R::MODE);
    let at = format!("{value} {mode:?}");
    let single = u64::from(convert::int_to_f32::<S, R>(a).to_bits());
    assert_eq!(single, rounded::<Single>(value, mode), "f32 {at}");
    let double = convert::int_to_f64::<S, R>(a).to_bits();
    assert_eq!(double, rounded::<Double>(value, mode), "f64 {at}");
    let half = u64::from(convert::int_to_half::<S, F16, R>(a));
    assert_eq!(half, rounded::<Binary16>(value, mode), "f16 {at}");
    let bfloat = u64::from(convert::int_to_half::<S, Bf16, R>(a));
    assert_eq!(bfloat, rounded::<BFloat>(value, mode), "bf16 {at}");
}

fn check_every_int(a: u64) {
    fn check<S: Integer>(a: S) {
        check_int_to_float::<S, Rn>(a);
        check_int_to_float::<S, Rz>(a);
        check_int_to_float::<S, Rm>(a);
        check_int_to_float::<S, Rp>(a);
    }
    check(a as u8);
    check(a as i8);
    check(a as u16);
    check(a as i16);
    check(a as u32);
    check(a as i32);
    check(a);
    check(a as i64);
}

/// A finite float rounded to an integral value by integer arithmetic on its exact fraction.
fn integral(x: f64, mode: Mode) -> BigInt {
    let bits = x.to_bits();
    let biased = (bits >> 52 & 0x7ff) as i64;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let significand = BigInt::from(if biased == 0 { fraction } else { fraction | 1 << 52 });
    let signed = if x.is_sign_negative() { -significand } else { significand };
    let exponent = biased.max(1) - 1075;
    if exponent >= 0 {
        return signed << exponent;
    }
    // Shifting a BigInt right rounds down.
    let shift = -exponent as u64;
    let floor: BigInt = &signed >> shift;
    let rest: BigInt = &signed - (&floor << shift);
    let half = BigInt::from(1) << (shift - 1);
    let odd = &floor % 2 != BigInt::ZERO;
    let up = match mode {
        Mode::Down => false,
        Mode::Up => rest > BigInt::ZERO,
        Mode::Zero => signed < BigInt::ZERO && rest > BigInt::ZERO,
        Mode::NearestEven => rest > half || (rest == half && odd),
        Mode::NearestAway => rest >= half,
    };
    floor + u8::from(up)
}

fn check_float_to_int<D: Integer, R: Rounding>(x: f64) {
    let clamp = |x: f64| {
        let (low, high) = (D::MIN.to_i128().into(), D::MAX.to_i128().into());
        match x {
            f64::INFINITY => high,
            f64::NEG_INFINITY => low,
            _ => integral(x, R::MODE).clamp(low, high),
        }
    };
    let top_bit: BigInt = D::ONE.shift_left(D::BITS - 1).to_i128().into();
    let from_double = if x.is_nan() { top_bit.clone() } else { clamp(x) };
    let found: BigInt = convert::f64_to_int::<D, R>(x).to_i128().into();
    assert_eq!(found, from_double, "{x:e} {:?} to {} bits", R::MODE, D::BITS);

    let single = x as f32;
    let from_single = match (single.is_nan(), D::BITS) {
        (true, 64) => top_bit,
        (true, _) => BigInt::ZERO,
        (false, _) => clamp(f64::from(single)),
    };
    let found: BigInt = convert::f32_to_int::<D, R>(single).to_i128().into();
    assert_eq!(found, from_single, "{single:e} {:?} to {} bits", R::MODE, D::BITS);
}

fn check_integral<R: Rounding>(x: f64) {
    check_float_to_int::<u8, R>(x);
    check_float_to_int::<i8, R>(x);
    check_float_to_int::<u16, R>(x);
    check_float_to_int::<i16, R>(x);
    check_float_to_int::<u32, R>(x);
    check_float_to_int::<i32, R>(x);
    check_float_to_int::<u64, R>(x);
    check_float_to_int::<i64, R>(x);
    if x.is_finite() {
        let rounded = convert::f64_to_integral::<R>(x);
        assert_eq!(integral(rounded, Mode::Zero), integral(x, R::MODE), "{x:e}");
        assert_eq!(rounded.fract(), 0.0, "{x:e}");
        assert_eq!(rounded.is_sign_negative(), x.is_sign_negative(), "{x:e}");
    }
}

fn check_narrowing<R: Rounding>(x: f64) {
    let double = Double::from_bits(u128::from(x.to_bits()));
    let single: Single = double.convert_r(round(R::MODE), &mut false).value;
    let expected = if single.is_nan() { 0x7fff_ffff } else { single.to_bits() as u32 };
    assert_eq!(convert::f64_to_f32::<R>(x).to_bits(), expected, "{x:e} {:?}", R::MODE);
    let half: Binary16 = double.convert_r(round(R::MODE), &mut false).value;
    let expected = if half.is_nan() { 0x7e00 } else { half.to_bits() as u16 };
    assert_eq!(convert::f64_to_half::<F16, R>(x), expected, "{x:e} {:?}", R::MODE);
    let bfloat: BFloat = double.convert_r(round(R::MODE), &mut false).value;
    let expected = if bfloat.is_nan() { 0x7fc0 } else { bfloat.to_bits() as u16 };
    assert_eq!(convert::f64_to_half::<Bf16, R>(x), expected, "{x:e} {:?}", R::MODE);
}

fn check_double(x: f64) {
    check_integral::<Rn>(x);
    check_integral::<Rz>(x);
    check_integral::<Rm>(x);
    check_integral::<Rp>(x);
    check_narrowing::<Rn>(x);
    check_narrowing::<Rz>(x);
    check_narrowing::<Rm>(x);
    check_narrowing::<Rp>(x);
}

/// Values between which integers and halves of integers lie, and the ends of the integer types.
fn near_integers() -> impl Iterator<Item = f64> {
    let ends = [7, 8, 15, 16, 31, 32, 63, 64].map(|n| 2f64.powi(n));
    let small = (-9..9).map(|n| f64::from(n) / 4.0);
    let edges = ends
        .into_iter()
        .flat_map(|x| [x - 1.0, x - 0.5, x.next_down(), x, x.next_up(), x + 0.5, x + 1.5]);
    small.chain(edges.clone()).chain(edges.map(|x| -x))
}

#[test]
fn integers_become_floats_with_one_rounding() {
    INTEGERS.into_iter().for_each(check_every_int);
    // One bit above, at and below a midpoint of every format, at every height.
    for width in [8, 11, 24, 53] {
        for shift in 0..64 {
            let half = (1u64 << shift) >> 1;
            let middle = ((1u64 << width | 1) << shift) | half;
            for delta in [0, 1, u64::MAX] {
                check_every_int(middle.wrapping_add(delta));
            }
        }
    }
}

#[test]
fn floats_round_to_integers_and_saturate() {
    near_integers().for_each(check_double);
    doubles().into_iter().for_each(check_double);
    singles().into_iter().map(f64::from).for_each(check_double);
}

#[test]
fn widening_keeps_values_and_quiets_nan() {
    for x in singles() {
        let wide = convert::f32_to_f64(x);
        if x.is_nan() {
            let payload = u64::from(x.to_bits() & 0x003f_ffff) << 29;
            let sign = u64::from(x.is_sign_negative()) << 63;
            assert_eq!(wide.to_bits(), sign | 0x7ff8 << 48 | payload);
            assert_eq!(convert::f32_to_f32(x).to_bits(), 0x7fff_ffff);
        } else {
            assert_eq!(wide.to_bits(), f64::from(x).to_bits());
            assert_eq!(convert::f32_to_f32(x).to_bits(), x.to_bits());
        }
    }
    assert_eq!(convert::half_to_f32::<F16>(0x7c01).to_bits(), 0x7fff_ffff);
    assert_eq!(convert::half_to_f64::<F16>(0x3e00), 1.5);
    assert_eq!(convert::half_to_half::<F16, Bf16, Rz>(0x3fff), 0x3fff);
    assert_eq!(convert::half_to_half::<F16, Bf16, Rn>(0x3fff), 0x4000);
    assert_eq!(convert::half_to_integral::<F16, Rp>(0x0001), 0x3c00);
    assert_eq!(convert::half_to_integral::<Bf16, Rm>(0xbf00), 0xbf80);
}

#[test]
fn saturation_to_the_unit_interval_drops_nan_and_signs() {
    for (x, expected) in
        [(f32::NAN, 0.0), (-0.0, 0.0), (-1.0, 0.0), (0.5, 0.5), (2.0, 1.0), (f32::INFINITY, 1.0)]
    {
        assert_eq!(float::sat_f32(x).to_bits(), f32::to_bits(expected));
        assert_eq!(float::sat_f64(f64::from(x)).to_bits(), f64::to_bits(f64::from(expected)));
    }
}

#[test]
fn relu_and_satfinite_clamp_packed_halves() {
    let plain = convert::f32_to_x2::<F16, Rn, false, false>;
    assert_eq!(plain(1.0, -2.0), 0x3c00_c000);
    assert_eq!(plain(1e9, f32::NAN), 0x7c00_7fff);
    let clamped = convert::f32_to_x2::<F16, Rn, true, true>;
    assert_eq!(clamped(1e9, -2.0), 0x7bff_0000);
    assert_eq!(clamped(f32::INFINITY, f32::NEG_INFINITY), 0x7bff_0000);
    assert_eq!(clamped(f32::NAN, -f32::NAN), 0x7fff_7fff);
    let finite = convert::f32_to_half_clamped::<Bf16, Rn, false, true>;
    assert_eq!((finite(f32::MAX), finite(f32::NEG_INFINITY)), (0x7f7f, 0xff7f));
}

#[test]
fn tf32_rounds_ties_away_and_keeps_ten_bits() {
    let rna = convert::f32_to_tf32::<Rna, false, false>;
    let rn = convert::f32_to_tf32::<Rn, false, false>;
    assert_eq!(rna(f32::from_bits(0x3f80_1000)), 0x3f80_2000);
    assert_eq!(rn(f32::from_bits(0x3f80_1000)), 0x3f80_0000);
    assert_eq!(rn(f32::from_bits(0x3f80_3000)), 0x3f80_4000);
    assert_eq!(rna(f32::from_bits(0xbf80_0fff)), 0xbf80_0000);
    assert_eq!(rna(f32::MAX), 0x7f80_0000);
    assert_eq!(convert::f32_to_tf32::<Rna, false, true>(f32::MAX), 0x7f7f_e000);
    assert_eq!(convert::f32_to_tf32::<Rz, true, false>(-1.5), 0);
    // NaNs as an H200 leaves them.
    assert_eq!(rna(f32::from_bits(0xffff_ffff)), 0xffff_e000);
    assert_eq!(rn(f32::from_bits(0xffff_ffff)), 0x7fff_e000);
    assert_eq!(rna(f32::from_bits(0x0000_1000)), 0x0000_2000);
}

#[test]
fn cvt_pack_saturates_and_shifts_the_accumulator() {
    assert_eq!(convert::pack_16::<true>(40000, -40000), 0x7fff_8000);
    assert_eq!(convert::pack_16::<false>(70000, -1), 0xffff_0000);
    assert_eq!(convert::pack_narrow::<false, 8>(300, -5, 0x1234_5678), 0x5678_ff00);
    assert_eq!(convert::pack_narrow::<true, 8>(300, -300, 1), 0x0001_7f80);
    assert_eq!(convert::pack_narrow::<true, 4>(-9, 7, 0xab), 0xab87);
    assert_eq!(convert::pack_narrow::<false, 2>(9, 2, 1), 0x1e);
}

/// The format's values from its definition, for codes without sign.
fn minifloat_value<M: Minifloat>(code: u8) -> f64 {
    let bias = (1 << (M::EXPONENT_BITS - 1)) - 1;
    let exponent = i32::from(code >> M::MANTISSA_BITS);
    let fraction = f64::from(code & ((1 << M::MANTISSA_BITS) - 1));
    let unit = 2f64.powi(-(M::MANTISSA_BITS as i32));
    if exponent == 0 {
        fraction * unit * 2f64.powi(1 - bias)
    } else {
        (1.0 + fraction * unit) * 2f64.powi(exponent - bias)
    }
}

fn check_minifloat<M: Minifloat>(greatest: f64) {
    let sign = 1u8 << (M::EXPONENT_BITS + M::MANTISSA_BITS);
    assert_eq!(minifloat_value::<M>(M::GREATEST), greatest);
    for code in 0..=M::GREATEST {
        let value = minifloat_value::<M>(code);
        assert_eq!(F16::widen(minifloat::to_f16::<M, false>(code)), value as f32, "{code:#x}");
        let negative = minifloat::to_f16::<M, false>(code | sign);
        assert_eq!(F16::widen(negative).to_bits(), (-value as f32).to_bits(), "{code:#x}");
        assert_eq!(saturated::<M>(value as f32), code, "{code:#x}");
        assert_eq!(saturated::<M>(-value as f32), code | sign, "{code:#x}");
        assert_eq!(saturated_relu::<M>(-value as f32), 0);
        if code < M::GREATEST {
            let middle = ((value + minifloat_value::<M>(code + 1)) / 2.0) as f32;
            let even = code + (code & 1);
            assert_eq!(saturated::<M>(middle), even, "{code:#x} tie");
            assert_eq!(saturated::<M>(middle.next_down()), code);
            assert_eq!(saturated::<M>(middle.next_up()), code + 1);
        }
    }
    for beyond in [greatest as f32 * 1.5, 1e30, f32::INFINITY] {
        assert_eq!(saturated::<M>(beyond), M::GREATEST);
        assert_eq!(saturated::<M>(-beyond), M::GREATEST | sign);
    }
    assert_eq!(saturated::<M>(-f32::NAN), M::NAN);
}

#[test]
fn small_floats_hold_the_values_of_their_definition() {
    check_minifloat::<E4m3>(448.0);
    check_minifloat::<E5m2>(57344.0);
    check_minifloat::<E2m3>(7.5);
    check_minifloat::<E3m2>(28.0);
    check_minifloat::<E2m1>(6.0);
    assert_eq!(minifloat::to_f16::<E4m3, false>(0x7f), 0x7fff);
    assert_eq!(minifloat::to_f16::<E5m2, false>(0x7c), 0x7c00);
    assert_eq!(minifloat::to_f16::<E5m2, false>(0xfc), 0xfc00);
    assert_eq!(minifloat::to_f16::<E5m2, false>(0x7d), 0x7fff);
    assert_eq!(minifloat::to_f16::<E5m2, true>(0xbc), 0);
}

#[test]
fn eight_bit_floats_agree_with_apfloat() {
    for code in 0..=u8::MAX {
        let half: Binary16 = Float8E5M2::from_bits(u128::from(code)).convert(&mut false).value;
        let expected = if half.is_nan() { 0x7fff } else { half.to_bits() as u16 };
        assert_eq!(minifloat::to_f16::<E5m2, false>(code), expected, "{code:#x}");
        let half: Binary16 = Float8E4M3FN::from_bits(u128::from(code)).convert(&mut false).value;
        let expected = if half.is_nan() { 0x7fff } else { half.to_bits() as u16 };
        assert_eq!(minifloat::to_f16::<E4m3, false>(code), expected, "{code:#x}");
    }
}

#[test]
fn ue8m0_holds_powers_of_two() {
    let down = minifloat::ue8m0_from_f32::<Rz, true>;
    let up = minifloat::ue8m0_from_f32::<Rp, true>;
    assert_eq!((down(1.0), up(1.0)), (127, 127));
    assert_eq!((down(-1.5), up(1.5)), (127, 128));
    assert_eq!((down(0.0), up(0.0)), (0, 0));
    let smallest = f32::from_bits(0x0040_0000);
    assert_eq!((down(smallest), up(smallest), up(smallest.next_up())), (0, 0, 1));
    assert_eq!((down(f32::MAX), up(f32::MAX), up(f32::INFINITY)), (254, 254, 254));
    assert_eq!(minifloat::ue8m0_from_f32::<Rp, false>(f32::INFINITY), 255);
    assert_eq!(up(f32::NAN), 255);
    for code in 0..=254 {
        let value = 2f64.powi(i32::from(code) - 127) as f32;
        let bfloat = minifloat::ue8m0_to_bf16(code);
        assert_eq!(Bf16::widen(bfloat), value);
        assert_eq!(minifloat::ue8m0_from_bf16::<Rz, true>(bfloat), code);
    }
    assert_eq!(minifloat::ue8m0_to_bf16(255), 0x7fff);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn any_integer_becomes_a_float_with_one_rounding(a: u64, shift in 0u32..64) {
        check_every_int(a >> shift);
    }

    #[test]
    fn any_float_rounds_to_an_integer(bits: u64, exponent in 1000u64..1100) {
        check_double(f64::from_bits(bits));
        check_double(f64::from_bits(bits & !(0x7ff << 52) | exponent << 52));
    }

    #[test]
    fn singles_narrow_to_eight_bits_as_apfloat_says(bits: u32) {
        let x = f32::from_bits(bits % 0x1000_0000 + 0x3800_0000);
        let single = Single::from_bits(u128::from(x.to_bits()));
        let e5m2: Float8E5M2 = single.convert(&mut false).value;
        if e5m2.is_finite() {
            prop_assert_eq!(u128::from(saturated::<E5m2>(x)), e5m2.to_bits());
        }
        let e4m3: Float8E4M3FN = single.convert(&mut false).value;
        if e4m3.is_finite() {
            prop_assert_eq!(u128::from(saturated::<E4m3>(x)), e4m3.to_bits());
        }
    }
}
