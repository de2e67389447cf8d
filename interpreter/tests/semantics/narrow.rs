//! Narrow formats against the list of their values: the nearest of all, found by looking at every
//! one. Every value, midpoint and quotient here is exact in `.f64`.

use gpucast_interpreter::semantics::minifloat::{
    self, E2m1, E2m3, E3m2, E4m3, E5m2, Minifloat, Narrowing, Ue5m3,
};
use gpucast_interpreter::semantics::rounding::Mode;
use gpucast_interpreter::semantics::{Bf16, F16, Half, Rn, Rz, convert, s2f6};
use proptest::prelude::*;

/// `cvt.rn.satfinite`.
pub(crate) fn saturated<M: Minifloat>(x: f32) -> u8 {
    minifloat::from_f64::<M>(x.into(), Narrowing::SATURATING)
}

/// `cvt.rn.satfinite.relu`.
pub(crate) fn saturated_relu<M: Minifloat>(x: f32) -> u8 {
    minifloat::from_f64::<M>(x.into(), Narrowing { relu: true, ..Narrowing::SATURATING })
}

/// Finite values of a format from 0 up, by code.
pub(crate) fn values(exponent_bits: u32, mantissa_bits: u32, greatest: u8) -> Vec<f64> {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let unit = 2f64.powi(-(mantissa_bits as i32));
    let value = |code: u8| {
        let exponent = i32::from(code >> mantissa_bits);
        let fraction = f64::from(code & ((1 << mantissa_bits) - 1)) * unit;
        match exponent {
            0 => fraction * 2f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
        }
    };
    (0..=greatest).map(value).collect()
}

/// The code of the value nearest to `x`, ties to the even code, beyond the greatest that one.
fn nearest(values: &[f64], x: f64) -> u8 {
    // Distances of anything greater would not be exact.
    let magnitude = x.abs().min(1e6);
    let mut best = 0;
    for (code, value) in values.iter().enumerate() {
        let (distance, least) = ((value - magnitude).abs(), (values[best] - magnitude).abs());
        if distance < least || (distance == least && code % 2 == 0) {
            best = code;
        }
    }
    best as u8
}

/// One format, typed from the manual's table: exponent and mantissa bits, greatest code, NaN.
fn check_every_half<M: Minifloat>(exponent_bits: u32, mantissa_bits: u32, greatest: u8, nan: u8) {
    let values = values(exponent_bits, mantissa_bits, greatest);
    let sign = 1 << (exponent_bits + mantissa_bits);
    for bits in 0..=u16::MAX {
        for x in [F16::widen(bits), Bf16::widen(bits)] {
            let negative = bits >> 15 == 1;
            let code = match () {
                () if x.is_nan() => nan,
                () if x.is_infinite() => greatest | if negative { sign } else { 0 },
                () => nearest(&values, f64::from(x)) | if negative { sign } else { 0 },
            };
            assert_eq!(saturated::<M>(x), code, "{x}");
            let clamped = if negative && !x.is_nan() { 0 } else { code };
            assert_eq!(saturated_relu::<M>(x), clamped, "{x} with .relu");
        }
    }
}

#[test]
fn every_half_becomes_the_nearest_narrow_float() {
    check_every_half::<E4m3>(4, 3, 0x7e, 0x7f);
    check_every_half::<E5m2>(5, 2, 0x7b, 0x7f);
    check_every_half::<E2m3>(2, 3, 0x1f, 0x1f);
    check_every_half::<E3m2>(3, 2, 0x1f, 0x1f);
    check_every_half::<E2m1>(2, 1, 0x07, 0x07);
}

/// The code that `magnitude` is cut off to, or rounded up to: one past the greatest if it is
/// beyond.
fn directed(values: &[f64], magnitude: f64, up: bool) -> usize {
    let above = values.partition_point(|&value| value < magnitude);
    let exact = values.get(above) == Some(&magnitude);
    if up || exact { above } else { above.max(1) - 1 }
}

fn check_cut_off<M: Minifloat>(exponent_bits: u32, mantissa_bits: u32, greatest: u8, nan: u8) {
    let values = values(exponent_bits, mantissa_bits, greatest);
    let sign = 1 << (exponent_bits + mantissa_bits);
    for bits in 0..=u16::MAX {
        for x in [F16::widen(bits), Bf16::widen(bits)] {
            let negative = bits >> 15 == 1;
            let magnitude = directed(&values, f64::from(x.abs()), false) as u8;
            let code = if x.is_nan() { nan } else { magnitude | if negative { sign } else { 0 } };
            let how = Narrowing { mode: Mode::Zero, ..Narrowing::SATURATING };
            assert_eq!(minifloat::from_f64::<M>(x.into(), how), code, "{x}");
            // Only a result that is a negative zero changes.
            let positive = if code == sign { 0 } else { code };
            let how = Narrowing { positive_zero: true, ..how };
            assert_eq!(minifloat::from_f64::<M>(x.into(), how), positive, "{x} with .pzo");
        }
    }
}

#[test]
fn every_half_is_cut_off_to_a_narrow_float() {
    check_cut_off::<E4m3>(4, 3, 0x7e, 0x7f);
    check_cut_off::<E5m2>(5, 2, 0x7b, 0x7f);
    check_cut_off::<E2m3>(2, 3, 0x1f, 0x1f);
    check_cut_off::<E3m2>(3, 2, 0x1f, 0x1f);
    check_cut_off::<E2m1>(2, 1, 0x07, 0x07);
}

/// The sign is dropped; there is no infinity, so what is beyond 114688 becomes NaN, unless it is
/// cut off or `.satfinite` asks for 114688. An infinity is not cut off.
#[test]
fn every_half_becomes_a_ue5m3() {
    let values = values(5, 3, 0xfe);
    assert_eq!(values[0xfe], 114_688.0);
    // The place of NaN, which decides what rounds to 114688.
    let one_more = [values.clone(), vec![122_880.0]].concat();
    for bits in 0..=u16::MAX {
        for x in [F16::widen(bits), Bf16::widen(bits)] {
            let magnitude = f64::from(x.abs());
            let finite = magnitude.min(1e9);
            let candidates = [
                (Mode::NearestEven, usize::from(nearest(&one_more, finite))),
                (Mode::Zero, directed(&values, finite, false)),
                (Mode::Up, directed(&values, finite, true)),
            ];
            for (mode, code) in candidates {
                let code = if magnitude.is_finite() { code } else { 0xff };
                let how = Narrowing { mode, ..Narrowing::NEAREST };
                let got = minifloat::from_f64::<Ue5m3>(x.into(), how);
                assert_eq!(usize::from(got), code, "{x} {mode:?}");
                let saturated = if x.is_nan() { 0xff } else { code.min(0xfe) };
                let how = Narrowing { satfinite: true, ..how };
                let got = minifloat::from_f64::<Ue5m3>(x.into(), how);
                assert_eq!(usize::from(got), saturated, "{x} {mode:?} .satfinite");
            }
        }
    }
}

#[test]
fn every_ue5m3_becomes_halves() {
    for (code, value) in values(5, 3, 0xfe).into_iter().enumerate() {
        let code = code as u8;
        // Binary16 ends at 65504.
        let half = if value < 65_520.0 { value as f32 } else { f32::INFINITY };
        assert_eq!(F16::widen(minifloat::to_f16::<Ue5m3, false>(code)), half, "{code:#x}");
        let exact = minifloat::to_bf16::<Ue5m3, false, false>(code, 127);
        assert_eq!(f64::from(Bf16::widen(exact)), value, "{code:#x}");
    }
    assert_eq!(minifloat::to_f16::<Ue5m3, false>(0xff), 0x7fff);
    assert_eq!(minifloat::to_bf16::<Ue5m3, false, true>(0xff, 127), 0x7fff);
}

/// Every code with every scale, against a product rounded by the narrowing of halves, which has
/// tests of its own.
fn check_scaled<M: Minifloat>(exponent_bits: u32, mantissa_bits: u32, greatest: u8) {
    let values = values(exponent_bits, mantissa_bits, greatest);
    for (code, value) in values.iter().enumerate() {
        for scale in 0..=254 {
            let product = value * 2f64.powi(i32::from(scale) - 127);
            let wanted = Bf16::narrow_f64(product, Mode::NearestEven);
            let got = minifloat::to_bf16::<M, false, false>(code as u8, scale);
            assert_eq!(got, wanted, "{value} times {scale}");
            let sign = 1 << (exponent_bits + mantissa_bits);
            let negative = minifloat::to_bf16::<M, false, true>(code as u8 | sign, scale);
            assert_eq!(negative, 0x8000 | wanted.min(0x7f7f), "-{value} times {scale}");
            assert_eq!(minifloat::to_bf16::<M, true, false>(code as u8 | sign, scale), 0);
        }
        assert_eq!(minifloat::to_bf16::<M, false, true>(code as u8, 255), 0x7fff);
    }
}

#[test]
fn scaled_conversions_round_the_product_once() {
    check_scaled::<E4m3>(4, 3, 0x7e);
    check_scaled::<E5m2>(5, 2, 0x7b);
    check_scaled::<E2m3>(2, 3, 0x1f);
    check_scaled::<E3m2>(3, 2, 0x1f);
    check_scaled::<E2m1>(2, 1, 0x07);
}

#[test]
fn every_half_becomes_the_nearest_fixed_point_number() {
    for bits in 0..=u16::MAX {
        for scale in [0, 1, 100, 121, 126, 127, 128, 133, 254] {
            let x = f64::from(Bf16::widen(bits)) / 2f64.powi(i32::from(scale) - 127);
            let wanted = if x.is_nan() {
                127
            } else {
                let distance = |code: i8| (f64::from(code) / 64.0 - x.clamp(-3.0, 3.0)).abs();
                let order = |a: &i8, b: &i8| {
                    let odd = |code: i8| code & 1;
                    distance(*a).total_cmp(&distance(*b)).then(odd(*a).cmp(&odd(*b)))
                };
                (-128..=127).min_by(order).unwrap_or(0)
            };
            assert_eq!(s2f6::from_bf16::<false, Rn>(bits, scale) as i8, wanted, "{x}");
            assert_eq!(s2f6::from_bf16::<true, Rn>(bits, scale) as i8, wanted.max(0), "{x}");
        }
    }
}

/// The greatest value not above `magnitude`, and the next one.
fn neighbours(values: &[f64], magnitude: f64) -> Option<(usize, f64, f64)> {
    let below = values.partition_point(|&value| value <= magnitude).checked_sub(1)?;
    Some((below, values[below], *values.get(below + 1)?))
}

/// How many of all random numbers round `x` up is its distance from the lower neighbour, in parts
/// of the distance of both; and they are the greatest ones.
fn check_stochastic<M: Minifloat>(values: &[f64], x: f32) {
    let Some((code, low, high)) = neighbours(values, f64::from(x.abs())) else { return };
    let up = ((f64::from(x.abs()) - low) / (high - low) * 65536.0).floor() as u32;
    let sign = 1u8 << (M::EXPONENT_BITS + M::MANTISSA_BITS);
    let sign = if x.is_sign_negative() { sign } else { 0 };
    for random in [0, 1, 65535 - up.min(65535), 65536 - up, 65535, 32768, 0xabcd_0000] {
        let rounds_up = random & 0xffff >= 65536 - up;
        let wanted = (code as u8 + u8::from(rounds_up)) | sign;
        let got = minifloat::from_f32_stochastic::<M, false>(x, random & 0xffff | 0x5_0000);
        assert_eq!(got, wanted, "{x} with {random:#x}, of which {up} round up");
    }
}

fn check_stochastic_half<H: Half>(bits: u32, random_bits: u32) {
    let x = f32::from_bits(bits);
    let low = convert::f32_to_half::<H, Rz>(x) & 0x7fff;
    if x.is_nan() || low >= H::INFINITY - 1 {
        return;
    }
    let (below, above) = (f64::from(H::widen(low)), f64::from(H::widen(low + 1)));
    let all = f64::from(1 << random_bits);
    let up = ((f64::from(x.abs()) - below) / (above - below) * all).floor() as u32;
    let sign = (bits >> 16) as u16 & 0x8000;
    for random in [0, (1 << random_bits) - 1, (1 << random_bits) - up, 0x1234 % (1 << random_bits)]
    {
        let random = random & ((1 << random_bits) - 1);
        let rounds_up = up > 0 && random >= (1 << random_bits) - up;
        // Bits above the random ones have no effect.
        let got = H::narrow_stochastic(x, random | 5 << random_bits);
        assert_eq!(got, (low + u16::from(rounds_up)) | sign, "{x} {random:#x}");
    }
}

#[test]
fn every_half_is_cut_off_to_a_fixed_point_number() {
    for bits in 0..=u16::MAX {
        for scale in [0, 1, 100, 121, 126, 127, 128, 133, 254] {
            let x = f64::from(Bf16::widen(bits)) * 2f64.powi(127 - i32::from(scale));
            // As an integer, which `as` cuts off towards zero and clamps.
            let wanted = if x.is_nan() { 127 } else { (x * 64.0) as i8 };
            assert_eq!(s2f6::from_bf16::<false, Rz>(bits, scale) as i8, wanted, "{x}");
            assert_eq!(s2f6::from_bf16::<true, Rz>(bits, scale) as i8, wanted.max(0), "{x}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn stochastic_rounding_goes_up_as_often_as_the_distance_says(
        mantissa in 0u32..1 << 24,
        exponent in 80u32..150,
        any in any::<u32>(),
    ) {
        let x = f32::from_bits(exponent << 23 | (mantissa & 0x7f_ffff) | (mantissa & 1 << 23) << 8);
        check_stochastic::<E4m3>(&values(4, 3, 0x7e), x);
        check_stochastic::<E5m2>(&values(5, 2, 0x7b), x);
        check_stochastic::<E2m3>(&values(2, 3, 0x1f), x);
        check_stochastic::<E3m2>(&values(3, 2, 0x1f), x);
        check_stochastic::<E2m1>(&values(2, 1, 0x07), x);
        for bits in [x.to_bits(), any] {
            check_stochastic_half::<F16>(bits, 13);
            check_stochastic_half::<Bf16>(bits, 16);
        }
    }
}
