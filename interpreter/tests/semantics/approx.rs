//! The approximate functions against `.f64` references, within the manual's bounds.

use gpucast_interpreter::semantics::{Bf16, F16, Half, approx, half};
use proptest::prelude::*;

use crate::values::singles;

const NAN: u32 = 0x7fff_ffff;

/// Distance of two finite floats in units of the last place of an `.f32`.
fn ulps(found: f32, wanted: f64) -> f64 {
    let spacing = (wanted.abs() as f32).max(f32::MIN_POSITIVE);
    let ulp = f64::from(spacing.next_up()) - f64::from(spacing);
    (f64::from(found) - wanted).abs() / ulp
}

fn relative(found: f64, wanted: f64) -> f64 {
    if found == wanted { 0.0 } else { ((found - wanted) / wanted).abs() }
}

fn check(a: f32) {
    let x = f64::from(a);
    if a.is_nan() {
        for (name, found) in [
            ("ex2", approx::ex2_f32::<false>(a)),
            ("lg2", approx::lg2_f32::<false>(a)),
            ("sin", approx::sin_f32::<false>(a)),
            ("cos", approx::cos_f32::<false>(a)),
            ("tanh", approx::tanh_f32(a)),
            ("rcp", approx::rcp_f32::<false>(a)),
            ("sqrt", approx::sqrt_f32::<false>(a)),
            ("rsqrt", approx::rsqrt_f32::<false>(a)),
        ] {
            assert_eq!(found.to_bits(), NAN, "{name}");
        }
        return;
    }

    let power = libm::exp2(x);
    let found = approx::ex2_f32::<false>(a);
    if power as f32 == f32::INFINITY {
        assert_eq!(found, f32::INFINITY, "ex2 {a:e}");
    } else {
        assert!(ulps(found, power) <= 2.0, "ex2 {a:e}: {found:e}, not {power:e}");
    }

    let found = approx::lg2_f32::<false>(a);
    if a < 0.0 {
        assert_eq!(found.to_bits(), NAN, "lg2 {a:e}");
    } else if a == 0.0 || a.is_infinite() {
        assert_eq!(found, libm::log2(x) as f32, "lg2 {a:e}");
    } else {
        // 1 ulp is stricter than the manual's absolute 2^-22 near 1.
        let wanted = libm::log2(x);
        assert!(ulps(found, wanted) <= 1.0, "lg2 {a:e}: {found:e}, not {wanted:e}");
    }

    let found = f64::from(approx::tanh_f32(a));
    let wanted = libm::tanh(x);
    let small = wanted.abs() < f64::from(f32::MIN_POSITIVE);
    assert!(small || relative(found, wanted) < 2f64.powi(-11), "tanh {a:e}: {found:e}");
    assert!(!small || found == wanted, "tanh {a:e}: {found:e}");

    let (sine, cosine) = (approx::sin_f32::<false>(a), approx::cos_f32::<false>(a));
    if a.is_infinite() {
        assert_eq!((sine.to_bits(), cosine.to_bits()), (NAN, NAN));
    } else {
        use std::f64::consts::PI;
        let bound = match x.abs() {
            angle if angle <= 2.0 * PI => 2f64.powf(-20.5),
            angle if angle <= 100.0 * PI => 2f64.powf(-14.7),
            // Beyond, the manual states none.
            _ => 2.0,
        };
        assert!((f64::from(sine) - libm::sin(x)).abs() < bound, "sin {a:e}: {sine:e}");
        assert!((f64::from(cosine) - libm::cos(x)).abs() < bound, "cos {a:e}: {cosine:e}");
        assert!(sine.abs() <= 1.0 && cosine.abs() <= 1.0, "{a:e}");
    }

    let found = approx::rcp_f32::<false>(a);
    assert_eq!(found, 1.0 / a, "rcp {a:e}");
    if a >= 0.0 {
        assert_eq!(approx::sqrt_f32::<false>(a), a.sqrt(), "sqrt {a:e}");
    } else {
        assert_eq!(approx::sqrt_f32::<false>(a).to_bits(), NAN);
    }
    let found = approx::rsqrt_f32::<false>(a);
    if a < 0.0 {
        assert_eq!(found.to_bits(), NAN, "rsqrt {a:e}");
    } else {
        let wanted = 1.0 / libm::sqrt(x);
        let close = relative(f64::from(found), wanted) < 2f64.powf(-22.9);
        assert!(close, "rsqrt {a:e}: {found:e}, not {wanted:e}");
    }
}

fn check_double(x: f64) {
    if x.is_normal() && x.abs() > 1e-300 && x.abs() < 1e300 {
        assert!(relative(approx::rcp_ftz_f64(x), 1.0 / x) < 2f64.powi(-18), "{x:e}");
        assert_eq!(approx::rcp_ftz_f64(x).to_bits() as u32, 0);
        if x > 0.0 {
            assert!(relative(approx::rsqrt_ftz_f64(x), 1.0 / x.sqrt()) < 2f64.powi(-18), "{x:e}");
            assert!(relative(approx::rsqrt_f64(x), 1.0 / x.sqrt()) < 2f64.powf(-22.9), "{x:e}");
        }
    }
}

#[test]
fn bounds_hold_at_the_boundaries() {
    singles().into_iter().for_each(check);
    for i in -4000..4000 {
        check(i as f32 / 16.0);
        check(i as f32 * 0.078_539_82);
        check(1.0 + i as f32 * f32::EPSILON);
    }
}

#[test]
fn special_operands_give_the_manuals_tables() {
    let zero = |x: f32| (x.to_bits(), 0f32.to_bits(), (-0f32).to_bits());
    let (found, _, minus) = zero(approx::sin_f32::<false>(-0.0));
    assert_eq!(found, minus);
    assert_eq!(approx::sin_f32::<true>(-1e-40).to_bits(), minus);
    let tiny = 1e-40;
    assert!(relative(f64::from(approx::sin_f32::<false>(tiny)), f64::from(tiny)) < 1e-4);
    assert_eq!(approx::cos_f32::<false>(-0.0), 1.0);
    assert_eq!(approx::cos_f32::<false>(1e-40), 1.0);
    assert_eq!(approx::tanh_f32(-0.0).to_bits(), minus);
    assert_eq!(approx::tanh_f32(f32::NEG_INFINITY), -1.0);
    assert_eq!(approx::ex2_f32::<false>(f32::NEG_INFINITY).to_bits(), 0);
    assert_eq!(approx::ex2_f32::<false>(-0.0), 1.0);
    assert_eq!(approx::ex2_f32::<false>(-149.0), f32::from_bits(1));
    assert_eq!(approx::ex2_f32::<true>(-127.0).to_bits(), 0);
    assert_eq!(approx::lg2_f32::<false>(1.0).to_bits(), 0);
    assert_eq!(approx::lg2_f32::<false>(-0.0), f32::NEG_INFINITY);
    assert_eq!(approx::lg2_f32::<false>(1e-45), -149.0);
    assert_eq!(approx::lg2_f32::<true>(-1e-45), f32::NEG_INFINITY);
    assert_eq!(approx::rcp_f32::<true>(-1e-45), f32::NEG_INFINITY);
    assert_eq!(approx::rcp_f32::<false>(f32::NEG_INFINITY).to_bits(), minus);
    assert_eq!(approx::rcp_f32::<true>(2f32.powi(127)).to_bits(), 0);
    assert_eq!(approx::sqrt_f32::<true>(-1e-45).to_bits(), minus);
    assert_eq!(approx::rsqrt_f32::<false>(-0.0), f32::NEG_INFINITY);
    assert_eq!(approx::rsqrt_f32::<false>(f32::INFINITY).to_bits(), 0);
    assert_eq!(approx::rcp_ftz_f64(-f64::from_bits(1)), f64::NEG_INFINITY);
    assert_eq!(approx::rcp_ftz_f64(f64::NEG_INFINITY).to_bits(), 1 << 63);
    assert_eq!(approx::rsqrt_ftz_f64(-f64::from_bits(1)), f64::NEG_INFINITY);
    assert!(approx::rsqrt_ftz_f64(-1.0).is_nan());
    assert_eq!(approx::rsqrt_f64(0.0), f64::INFINITY);
}

#[test]
fn div_approx_vanishes_for_a_huge_divisor() {
    let huge = 1.5 * 2f32.powi(126);
    assert_eq!(approx::div_f32::<false>(1e38, huge).to_bits(), 0);
    assert_eq!(approx::div_f32::<false>(-1e38, huge).to_bits(), 1 << 31);
    assert_eq!(approx::div_f32::<false>(f32::INFINITY, huge).to_bits(), NAN);
    assert_eq!(approx::div_f32::<false>(f32::INFINITY, 2f32.powi(126)), f32::INFINITY);
    assert_eq!(approx::div_f32::<false>(1.0, f32::INFINITY), 0.0);
    assert_eq!(approx::div_full_f32::<false>(huge, huge), 1.0);
    assert_eq!(approx::div_full_f32::<true>(1e-40, 1.0), 0.0);
    assert_eq!(approx::div_f32::<false>(1.0, 3.0), 1.0 / 3.0);
}

#[test]
fn every_half_keeps_the_bounds() {
    fn check<H: Half>(ex2_bound: f64, tanh_bound: f64, least_normal: f64) {
        for x in 0..=u16::MAX {
            let a = f64::from(H::widen(x));
            let power = f64::from(H::widen(half::ex2_approx::<H, false>(x)));
            let tangent = f64::from(H::widen(half::tanh_approx::<H>(x)));
            if a.is_nan() {
                assert!(power.is_nan() && tangent.is_nan());
                continue;
            }
            let wanted = libm::exp2(a);
            let normal = wanted >= least_normal && power.is_finite();
            assert!(!normal || relative(power, wanted) < ex2_bound, "ex2 {a:e}: {power:e}");
            let wanted = libm::tanh(a);
            let normal = wanted.abs() >= least_normal;
            assert!(!normal || relative(tangent, wanted) < tanh_bound, "tanh {a:e}: {tangent:e}");
        }
    }
    check::<F16>(2f64.powf(-9.9), 2f64.powf(-10.987), 2f64.powi(-14));
    check::<Bf16>(2f64.powi(-7), 2f64.powi(-8), 2f64.powi(-126));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200_000))]
    #[test]
    fn bounds_hold(bits: u32) {
        check(f32::from_bits(bits));
        // Around the useful range, 2^-15 to 2^9.
        check(f32::from_bits(bits % 0x0c00_0000 + 0x3800_0000));
    }

    #[test]
    fn bounds_of_double_precision_hold(bits: u64) {
        check_double(f64::from_bits(bits));
    }
}
