use gpucast_interpreter::semantics::{Rm, Rn, Rounding, Rp, Rz, compare, convert, float};
use proptest::prelude::*;
use rustc_apfloat::ieee::{Quad, Single};
use rustc_apfloat::{Float as _, FloatConvert as _, Round};

use crate::values::{round, singles};

const NAN: u32 = 0x7fff_ffff;

fn exact(x: f32) -> Single {
    Single::from_bits(u128::from(x.to_bits()))
}

/// The bits that the semantics must give for a result of `rustc_apfloat`.
fn canonical(x: Single) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() as u32 }
}

fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// `result` flushed if `exact`, rounded to 24 bits as though exponents had no end, is subnormal.
fn flushed_after_rounding(result: Single, exact: Quad, mode: Round) -> u32 {
    let scaled: Single = exact.scalbn(24).convert_r(mode, &mut false).value;
    let least = f32::MIN_POSITIVE * 2f32.powi(24);
    let tiny = f32::from_bits(scaled.to_bits() as u32).abs() < least;
    let zero = f32::from_bits(result.to_bits() as u32 & 0x8000_0000);
    if tiny { zero.to_bits() } else { canonical(result) }
}

fn clamped(x: f32) -> u32 {
    if x.is_nan() || x <= 0.0 { 0 } else { x.min(1.0).to_bits() }
}

fn check_sums<R: Rounding>(a: f32, b: f32, c: f32) {
    let mode = round(R::MODE);
    let at = format!("{:?} {a:e} {b:e} {c:e}", R::MODE);
    let (x, y, z) = (exact(a), exact(b), exact(c));
    let sum = canonical(x.add_r(y, mode).value);
    assert_eq!(float::add_f32::<R, false, false>(a, b).to_bits(), sum, "add {at}");
    let product = canonical(x.mul_r(y, mode).value);
    assert_eq!(float::mul_f32::<R, false, false>(a, b).to_bits(), product, "mul {at}");
    let difference = canonical(x.sub_r(y, mode).value);
    assert_eq!(float::sub_f32::<R, false, false>(a, b).to_bits(), difference, "sub {at}");
    let quotient = canonical(x.div_r(y, mode).value);
    assert_eq!(float::div_f32::<R, false>(a, b).to_bits(), quotient, "div {at}");
    let reciprocal = canonical(exact(1.0).div_r(x, mode).value);
    assert_eq!(float::rcp_f32::<R, false>(a).to_bits(), reciprocal, "rcp {at}");
    let fused = canonical(x.mul_add_r(y, z, mode).value);
    assert_eq!(float::fma_f32::<R, false, false>(a, b, c).to_bits(), fused, "fma {at}");
    assert_eq!(
        float::fma_f32::<R, false, true>(a, b, c).to_bits(),
        clamped(f32::from_bits(fused)),
        "fma.sat {at}"
    );

    let (x, y, z) = (exact(flushed(a)), exact(flushed(b)), exact(flushed(c)));
    let [wide_x, wide_y, wide_z] = [x, y, z].map(|x| -> Quad { x.convert(&mut false).value });
    let product = wide_x.mul_r(wide_y, mode).value;
    assert_eq!(
        float::mul_f32::<R, true, false>(a, b).to_bits(),
        flushed_after_rounding(x.mul_r(y, mode).value, product, mode),
        "mul.ftz {at}"
    );
    let quotient = wide_x.div_r(wide_y, mode).value;
    assert_eq!(
        float::div_f32::<R, true>(a, b).to_bits(),
        flushed_after_rounding(x.div_r(y, mode).value, quotient, mode),
        "div.ftz {at}"
    );
    let fused = wide_x.mul_add_r(wide_y, wide_z, mode).value;
    assert_eq!(
        float::fma_f32::<R, true, false>(a, b, c).to_bits(),
        flushed_after_rounding(x.mul_add_r(y, z, mode).value, fused, mode),
        "fma.ftz {at}"
    );
    let sum = flushed(f32::from_bits(canonical(x.add_r(y, mode).value)));
    assert_eq!(float::add_f32::<R, true, true>(a, b).to_bits(), clamped(sum), "add.ftz.sat {at}");
}

/// The root is the float whose neighbours' squares enclose the operand as the mode demands; squares
/// of `.f32` are exact in `.f64`.
fn check_root<R: Rounding>(a: f32) {
    use gpucast_interpreter::semantics::rounding::Mode;
    let root = float::sqrt_f32::<R, false>(a);
    if a.is_nan() || a < 0.0 {
        assert_eq!(root.to_bits(), NAN, "{a:e}");
        return;
    }
    if a == 0.0 || a.is_infinite() {
        assert_eq!(root.to_bits(), a.to_bits());
        return;
    }
    let square = |x: f32| f64::from(x) * f64::from(x);
    let wanted = f64::from(a);
    match R::MODE {
        Mode::Zero | Mode::Down => {
            assert!(square(root) <= wanted && square(root.next_up()) > wanted, "{a:e}");
        }
        Mode::Up => {
            assert!(square(root) >= wanted && square(root.next_down()) < wanted, "{a:e}");
        }
        Mode::NearestEven | Mode::NearestAway => {
            // Midpoints have 25 bits, their squares 50.
            let middle = |x: f32, y: f32| (f64::from(x) + f64::from(y)) / 2.0;
            let (low, high) = (middle(root.next_down(), root), middle(root, root.next_up()));
            assert!(low * low <= wanted && wanted <= high * high, "{a:e}");
        }
    }
}

fn check(a: f32, b: f32, c: f32) {
    check_sums::<Rn>(a, b, c);
    check_sums::<Rz>(a, b, c);
    check_sums::<Rm>(a, b, c);
    check_sums::<Rp>(a, b, c);
    check_root::<Rn>(a);
    check_root::<Rz>(a);
    check_root::<Rm>(a);
    check_root::<Rp>(a);
}

/// `min` and `max` by the manual's order: numbers before NaN, -0 before +0.
fn check_extrema(a: f32, b: f32) {
    let expected = |pick_first: bool, nan: bool| -> u32 {
        match (a.is_nan(), b.is_nan()) {
            (true, true) => NAN,
            (true, false) | (false, true) if nan => NAN,
            (true, false) => b.to_bits(),
            (false, true) => a.to_bits(),
            (false, false) => (if pick_first { a } else { b }).to_bits(),
        }
    };
    // `total_cmp` orders -0 before +0.
    let first_is_less = a.total_cmp(&b).is_le();
    let at = format!("{a:e} {b:e}");
    assert_eq!(
        float::min_f32::<false, false>(a, b).to_bits(),
        expected(first_is_less, false),
        "{at}"
    );
    assert_eq!(
        float::max_f32::<false, false>(a, b).to_bits(),
        expected(!first_is_less, false),
        "{at}"
    );
    assert_eq!(
        float::min_f32::<false, true>(a, b).to_bits(),
        expected(first_is_less, true),
        "{at}"
    );
    assert_eq!(
        float::max_f32::<false, true>(a, b).to_bits(),
        expected(!first_is_less, true),
        "{at}"
    );

    let least = float::min_f32::<false, false>(a.abs(), b.abs());
    let sign = a.is_sign_negative() != b.is_sign_negative();
    let expected = match (least.is_nan(), sign) {
        (true, _) => NAN,
        (false, true) => (-least).to_bits(),
        (false, false) => least.to_bits(),
    };
    assert_eq!(float::min_xorsign_abs_f32::<false, false>(a, b).to_bits(), expected, "{at}");
}

fn check_comparisons(a: f32, b: f32) {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = a.partial_cmp(&b);
    let ordered = |wanted: &[std::cmp::Ordering]| order.is_some_and(|o| wanted.contains(&o));
    let unordered = |wanted: &[std::cmp::Ordering]| order.is_none_or(|o| wanted.contains(&o));
    for (name, found, expected) in [
        ("eq", compare::eq(a, b), ordered(&[Equal])),
        ("ne", compare::ne_ordered(a, b), ordered(&[Less, Greater])),
        ("lt", compare::lt(a, b), ordered(&[Less])),
        ("le", compare::le(a, b), ordered(&[Less, Equal])),
        ("gt", compare::gt(a, b), ordered(&[Greater])),
        ("ge", compare::ge(a, b), ordered(&[Greater, Equal])),
        ("equ", compare::equ(a, b), unordered(&[Equal])),
        ("neu", compare::neu(a, b), unordered(&[Less, Greater])),
        ("ltu", compare::ltu(a, b), unordered(&[Less])),
        ("leu", compare::leu(a, b), unordered(&[Less, Equal])),
        ("gtu", compare::gtu(a, b), unordered(&[Greater])),
        ("geu", compare::geu(a, b), unordered(&[Greater, Equal])),
        ("num", compare::num(a, b), order.is_some()),
        ("nan", compare::nan(a, b), order.is_none()),
    ] {
        assert_eq!(found, expected, "{name} {a:e} {b:e}");
    }
}

#[test]
fn every_rounding_agrees_with_apfloat_at_the_boundaries() {
    for a in singles() {
        for b in singles() {
            check_extrema(a, b);
            check_comparisons(a, b);
            for c in [0.0, -0.0, 1.0, -f32::from_bits(1), f32::MIN_POSITIVE, f32::MAX, f32::NAN] {
                check(a, b, c);
            }
        }
    }
}

#[test]
fn a_product_that_the_addend_just_outweighs_rounds_once() {
    // The exact result lies within 2^-60 of a midpoint between two floats.
    let one_ulp = f32::from_bits(0x3f80_0001);
    for c in singles() {
        for tiny in [1e-30, -1e-30, 1e-38, -1e-45] {
            check(one_ulp, tiny, c);
            check(1.0 + 2f32.powi(-12), 1.0 + 2f32.powi(-12), tiny);
        }
    }
}

#[test]
fn ftz_flushes_what_is_subnormal_after_rounding_with_an_unbounded_exponent() {
    let [all_ones, half] = [0x00ff_ffff, 0x3f00_0000].map(f32::from_bits);
    assert_eq!(float::mul_f32::<Rn, false, false>(all_ones, half), f32::MIN_POSITIVE);
    assert_eq!(float::mul_f32::<Rn, true, false>(all_ones, half), 0.0);
    assert_eq!(float::div_f32::<Rn, true>(all_ones, 2.0), 0.0);
    let [above, below] = [0x2000_0001, 0x1fff_fffe].map(f32::from_bits);
    assert_eq!(float::mul_f32::<Rn, true, false>(above, below), f32::MIN_POSITIVE);
    assert_eq!(float::mul_f32::<Rz, true, false>(above, below), 0.0);
    let cvt = convert::f64_to_f32_ftz::<Rn>;
    assert_eq!(cvt(f64::from_bits(0x380f_ffff_e000_0000)), 0.0);
    assert_eq!(cvt(f64::from_bits(0x380f_ffff_ffff_ffff)), f32::MIN_POSITIVE);
    assert_eq!(cvt(f64::MAX), f32::INFINITY);
}

#[test]
fn testp_counts_zero_as_normal() {
    for (a, normal, subnormal, finite) in [
        (0.0, true, false, true),
        (-0.0, true, false, true),
        (1e-40, false, true, true),
        (1.0, true, false, true),
        (f32::INFINITY, false, false, false),
        (f32::NAN, false, false, false),
    ] {
        assert_eq!(float::testp_normal(a), normal, "{a}");
        assert_eq!(float::testp_subnormal(a), subnormal, "{a}");
        assert_eq!(float::testp_finite(a), finite, "{a}");
        assert_eq!(float::testp_infinite(a), a.is_infinite(), "{a}");
        assert_eq!(float::testp_number(a), !a.is_nan(), "{a}");
        assert_eq!(float::testp_notanumber(a), a.is_nan(), "{a}");
    }
}

#[test]
fn three_inputs_ignore_nan_unless_asked_to_keep_it() {
    let nan = f32::NAN;
    assert_eq!(float::min3_f32::<false, false, false>(nan, 2.0, -3.0), -3.0);
    assert_eq!(float::max3_f32::<false, false, true>(nan, 2.0, -3.0), 3.0);
    assert_eq!(float::max3_f32::<false, true, false>(1.0, 2.0, nan).to_bits(), NAN);
    assert_eq!(float::max3_f32::<false, false, false>(nan, nan, nan).to_bits(), NAN);
}

#[test]
fn signs_move_without_touching_the_value() {
    assert_eq!(float::copysign_f32(-1.0, 2.0), -2.0);
    assert_eq!(float::copysign_f64(1.0, -2.0), 2.0);
    assert_eq!(float::neg_f32::<true>(f32::from_bits(1)).to_bits(), 0x8000_0000);
    assert_eq!(float::neg_f32::<false>(f32::from_bits(1)).to_bits(), 0x8000_0001);
    assert_eq!(float::abs_f32::<true>(-f32::from_bits(1)).to_bits(), 0);
}

#[test]
fn slct_takes_the_second_operand_for_negative_and_nan() {
    assert_eq!(compare::slct_f32::<_, false>(1, 2, -0.0), 1);
    assert_eq!(compare::slct_f32::<_, false>(1, 2, f32::NAN), 2);
    assert_eq!(compare::slct_f32::<_, false>(1, 2, -1e-40), 2);
    assert_eq!(compare::slct_f32::<_, true>(1, 2, -1e-40), 1);
    assert_eq!(compare::slct_s32(1, 2, -1), 2);
}

#[test]
fn packed_singles_do_not_mix_their_halves() {
    let pack = |high: f32, low: f32| u64::from(high.to_bits()) << 32 | u64::from(low.to_bits());
    let fma = float::fma_f32::<Rn, false, false>;
    let result = float::map3_f32x2(fma, pack(2.0, 3.0), pack(5.0, 7.0), pack(1.0, -1.0));
    assert_eq!(result, pack(11.0, 20.0));
    let add = float::add_f32::<Rn, false, false>;
    assert_eq!(float::map2_f32x2(add, pack(2.0, 3.0), pack(5.0, 7.0)), pack(7.0, 10.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn every_rounding_agrees_with_apfloat(a: u32, b: u32, c: u32) {
        let [a, b, c] = [a, b, c].map(f32::from_bits);
        check(a, b, c);
        check_extrema(a, b);
        check_comparisons(a, b);
    }

    /// Operands of close exponents, where sums cancel and round.
    #[test]
    fn close_operands_agree_with_apfloat(a in 0u32..1 << 28, b in 0u32..1 << 28, c in 0u32..1 << 28) {
        let near_one = |x: u32| f32::from_bits(((x & 0x07ff_ffff) + 0x3c00_0000) | ((x >> 27) << 31));
        check(near_one(a), near_one(b), near_one(c));
        // Products around the least normal number, and in the subnormal range.
        check(near_one(a) * 2f32.powi(-62), near_one(b) * 2f32.powi(-62), near_one(c) * 2f32.powi(-120));
        check(near_one(a) * 2f32.powi(-70), near_one(b) * 2f32.powi(-70), near_one(c) * 2f32.powi(-120));
    }
}
