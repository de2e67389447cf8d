//! `cvt` to and from `.s2f6`: 8 bits in two's complement, 6 of them behind the point (PTX ISA
//! 9.7.10.24, since version 9.1).
//!
//! One element is converted here. Each has a scale of the format `.ue8m0`, the code `e` of which
//! stands for 2^(e - 127); 255 is NaN. Values beyond the range become -2 or 127/64, a NaN 127/64.

use super::float::Float;
use super::half::{Bf16, Half};
use super::rounding::{Mode, Rounding};
use super::{convert, minifloat};

/// `cvt.frnd2.satfinite{.relu}.s2f6x2` from `.f32`, one element: `a` divided by its scale, to
/// nearest or towards zero.
#[inline(always)]
pub fn from_f32<const RELU: bool, R: Rounding>(a: f32, scale: u8) -> u8 {
    let value = minifloat::descale(a, scale);
    let least = if RELU { 0.0 } else { -128.0 };
    let rounded = (value * 64.0).round_integral(R::MODE).clamp(least, 127.0);
    if value.is_nan() { 127 } else { rounded as i8 as u8 }
}

/// `cvt.frnd2.satfinite{.relu}.s2f6x2` from one half of a `.bf16x2`.
#[inline(always)]
pub fn from_bf16<const RELU: bool, R: Rounding>(a: u16, scale: u8) -> u8 {
    from_f32::<RELU, R>(Bf16::widen(a), scale)
}

/// `cvt.rn{.satfinite}{.relu}.bf16x2.s2f6x2`, one element: times its scale, rounded once.
#[inline(always)]
pub fn to_bf16<const RELU: bool, const SATFINITE: bool>(code: u8, scale: u8) -> u16 {
    let value = f64::from(code as i8) / 64.0 * minifloat::ue8m0_value(scale);
    convert::clamp::<Bf16, RELU, SATFINITE>(Bf16::narrow_f64(value, Mode::NearestEven))
}
