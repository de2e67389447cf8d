//! Approximate functions (PTX ISA 9.7.3: `.approx` and `.full` forms).
//!
//! The manual gives error bounds, not bits. Everything here is computed in `.f64` with additions,
//! multiplications, divisions and roots only, which IEEE 754 defines to the last bit. It is rounded
//! to the result once. The bits are the same on every machine, free of branches, and well within
//! the bounds. The exceptions follow the hardware's own method and share its error. `sin` and `cos`
//! first turn their operand into a truncated `.f32` number of turns. `div.approx` gives 0 for a
//! huge divisor.

use super::float::{NAN_F32, canonical, flush, replace_nan_f64, sqrt_result};

/// The NaN that `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` return.
const NAN_F64: f64 = f64::from_bits(0x7fff_ffff_0000_0000);

/// Adding and subtracting this rounds an `.f64` below 2^51 to an integer that then stands in the
/// low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Evaluates a polynomial, coefficients from the highest power down.
#[inline(always)]
fn horner<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = 0.0;
    for c in coefficients {
        sum = sum * x + c;
    }
    sum
}

/// 2^x for |x| below 1000, with a relative error below 2^-33.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    const LN2: f64 = core::f64::consts::LN_2;
    const TAYLOR: [f64; 9] = {
        let mut terms = [1.0; 9];
        let mut k = 1;
        while k < 9 {
            terms[8 - k] = terms[9 - k] * LN2 / k as f64;
            k += 1;
        }
        terms
    };
    let shifted = x + ROUNDER;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    horner(x - (shifted - ROUNDER), TAYLOR) * power
}

/// `ex2.approx{.ftz}.f32`.
#[inline(always)]
pub fn ex2_f32<const FTZ: bool>(a: f32) -> f32 {
    let x = f64::from(flush::<FTZ>(a)).clamp(-200.0, 200.0);
    canonical(flush::<FTZ>(exp2(x) as f32))
}

/// `lg2.approx{.ftz}.f32`: NaN below 0, -inf at either 0.
#[inline(always)]
pub fn lg2_f32<const FTZ: bool>(a: f32) -> f32 {
    const SCALE: f64 = 2.0 * core::f64::consts::LOG2_E;
    const SERIES: [f64; 8] = [
        SCALE / 15.0,
        SCALE / 13.0,
        SCALE / 11.0,
        SCALE / 9.0,
        SCALE / 7.0,
        SCALE / 5.0,
        SCALE / 3.0,
        SCALE,
    ];
    let a = flush::<FTZ>(a);
    let bits = f64::from(a).to_bits();
    // A significand in √½..√2, so that a value near 1 has exponent 0.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let offset = bits.wrapping_sub(SQRT_HALF);
    let exponent = (offset >> 52) as u32 as i32;
    let exponent = (exponent << 20) >> 20;
    let significand = f64::from_bits(bits.wrapping_sub(offset & (0xfff << 52)));
    let s = (significand - 1.0) / (significand + 1.0);
    let logarithm = (f64::from(exponent) + s * horner(s * s, SERIES)) as f32;
    let or_infinity = if a == f32::INFINITY { a } else { logarithm };
    let or_pole = if a == 0.0 { f32::NEG_INFINITY } else { or_infinity };
    let result = if a >= 0.0 { or_pole } else { NAN_F32 };
    flush::<FTZ>(result)
}

/// The operand of `sin` and `cos` in turns: an `.f32` product truncated like the hardware's range
/// reduction, then its fraction in -½..½.
#[inline(always)]
fn turns(a: f32) -> f64 {
    // 24 by 24 bits: exact, then cut to the 24 bits of an `.f32` (of any exponent).
    let product = f64::from(a) * f64::from(core::f32::consts::FRAC_1_PI * 0.5);
    let turns = f64::from_bits(product.to_bits() & !0x1fff_ffff);
    // From 2^23 on an `.f32` is an integer.
    let small = if turns.abs() < 8_388_608.0 { turns } else { turns * 0.0 };
    small - (small + ROUNDER - ROUNDER)
}

/// The sine of 2π `turns` for |turns| ≤ ½, with a relative error below 2^-40 near the zeros.
#[inline(always)]
fn sine_of_turns(turns: f64) -> f64 {
    // Fold ¼..½ back: sin(π - θ) = sin θ. The subtraction is exact.
    let folded = 0.5f64.copysign(turns) - turns;
    let quarter = if turns.abs() > 0.25 { folded } else { turns };
    let angle = quarter * core::f64::consts::TAU;
    const TAYLOR: [f64; 8] = {
        let mut terms = [1.0; 8];
        let mut k = 1;
        while k < 8 {
            terms[7 - k] = -terms[8 - k] / ((2 * k) as f64 * (2 * k + 1) as f64);
            k += 1;
        }
        terms
    };
    angle * horner(angle * angle, TAYLOR)
}

/// `sin.approx{.ftz}.f32`: NaN for infinities.
#[inline(always)]
pub fn sin_f32<const FTZ: bool>(a: f32) -> f32 {
    let a = flush::<FTZ>(a);
    let sine = sine_of_turns(turns(a)) as f32;
    // The fraction of a zero or a whole number of turns loses the sign of zero.
    let signed = if sine == 0.0 { 0.0f32.copysign(a) } else { sine };
    canonical(flush::<FTZ>(if a.is_finite() { signed } else { NAN_F32 }))
}

/// `cos.approx{.ftz}.f32`: NaN for infinities.
#[inline(always)]
pub fn cos_f32<const FTZ: bool>(a: f32) -> f32 {
    let a = flush::<FTZ>(a);
    // cos θ = sin(θ + ¼) and cos is even; ¼ - |t| lies in -¼..¼.
    let cosine = sine_of_turns(0.25 - turns(a).abs()) as f32;
    canonical(flush::<FTZ>(if a.is_finite() { cosine } else { NAN_F32 }))
}

/// `tanh.approx.f32`.
#[inline(always)]
pub fn tanh_f32(a: f32) -> f32 {
    let x = f64::from(a).clamp(-20.0, 20.0);
    let power = exp2(x * (2.0 * core::f64::consts::LOG2_E));
    let far = (power - 1.0) / (power + 1.0);
    // The difference above cancels near 0; there the series serves.
    let near = x * horner(x * x, [-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0]);
    canonical((if x.abs() < 0.0625 { near } else { far }) as f32)
}

/// `rcp.approx{.ftz}.f32`: the correctly rounded reciprocal.
#[inline(always)]
pub fn rcp_f32<const FTZ: bool>(a: f32) -> f32 {
    canonical(flush::<FTZ>(1.0 / flush::<FTZ>(a)))
}

/// `sqrt.approx{.ftz}.f32`: the correctly rounded root.
#[inline(always)]
pub fn sqrt_f32<const FTZ: bool>(a: f32) -> f32 {
    let a = flush::<FTZ>(a);
    sqrt_result(a, a.sqrt())
}

/// `rsqrt.approx{.ftz}.f32`: infinity at 0 with its sign.
#[inline(always)]
pub fn rsqrt_f32<const FTZ: bool>(a: f32) -> f32 {
    canonical((1.0 / f64::from(flush::<FTZ>(a)).sqrt()) as f32)
}

/// `rsqrt.approx.f64`: infinity at 0 with its sign.
#[inline(always)]
pub fn rsqrt_f64(a: f64) -> f64 {
    let result = 1.0 / a.sqrt();
    let nan = if a.is_nan() { super::float::quiet(a) } else { super::float::NAN_F64 };
    replace_nan_f64(result, nan.to_bits())
}

/// `div.approx{.ftz}.f32`: 0 with the sign of the quotient where 2^126 < |b| < 2^128, but NaN for
/// an infinite `a` there.
#[inline(always)]
pub fn div_f32<const FTZ: bool>(a: f32, b: f32) -> f32 {
    const LIMIT: f32 = f32::from_bits((127 + 126) << 23);
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    // The hardware's a * (1 / b), whose reciprocal underflows there.
    let huge = (b.abs() > LIMIT) & (b.abs() < f32::INFINITY);
    let zero = a * 0.0f32.copysign(b);
    canonical(flush::<FTZ>(if huge { zero } else { a / b }))
}

/// `div.full{.ftz}.f32`: the correctly rounded quotient.
#[inline(always)]
pub fn div_full_f32<const FTZ: bool>(a: f32, b: f32) -> f32 {
    canonical(flush::<FTZ>(flush::<FTZ>(a) / flush::<FTZ>(b)))
}

/// The upper word alone: sign, exponent and 20 bits of significand, subnormals flushed.
#[inline(always)]
fn upper_word(x: f64) -> f64 {
    let bits = x.to_bits() & 0xffff_ffff_0000_0000;
    f64::from_bits(if bits & (0x7ff << 52) == 0 { bits & (1 << 63) } else { bits })
}

/// `rcp.approx.ftz.f64`: the reciprocal of the operand's upper word, its own lower word 0.
#[inline(always)]
pub fn rcp_ftz_f64(a: f64) -> f64 {
    let result = upper_word(1.0 / upper_word(a));
    replace_nan_f64(if a.is_nan() { a } else { result }, NAN_F64.to_bits())
}

/// `rsqrt.approx.ftz.f64`: the reciprocal root of the operand's upper word, its own lower word 0.
#[inline(always)]
pub fn rsqrt_ftz_f64(a: f64) -> f64 {
    let result = upper_word(1.0 / upper_word(a).sqrt());
    replace_nan_f64(if a.is_nan() { a } else { result }, NAN_F64.to_bits())
}
