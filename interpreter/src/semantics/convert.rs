//! Conversion (PTX ISA 9.7.9: `cvt`, `cvt.pack`) between integers, `.f32`, `.f64`, halves and
//! `.tf32`. The 8-bit and narrower floats are in [`minifloat`](super::minifloat).
//!
//! `.ftz` and `.sat` compose: flush an `.f32` operand with
//! [`ftz_f32`](super::float::ftz_f32), clamp with [`sat_f32`](super::float::sat_f32) and its kin.
//! An integer rounding (`.rni`, `.rzi`, `.rmi`, `.rpi`) is the marker of the same direction.

use super::float::{self, Float, NAN_F32, canonical};
use super::half::{self, Half};
use super::integer::Integer;
use super::rounding::{self, Format, Mode, Rounding};

/// `cvt.dtype.atype` between integers: extends by the sign of the source, keeps the low bits.
#[inline(always)]
pub fn int_to_int<S: Integer, D: Integer>(a: S) -> D {
    D::truncate(a.to_i128())
}

/// `cvt.sat.dtype.atype` between integers: clamps to the range of the destination.
#[inline(always)]
pub fn int_to_int_sat<S: Integer, D: Integer>(a: S) -> D {
    D::truncate(a.to_i128().clamp(D::MIN.to_i128(), D::MAX.to_i128()))
}

/// Converts a NaN to an integer type. The result is 0, except from `.f64` or to 64 bits, where the
/// manual asks for the top bit alone.
#[inline(always)]
fn nan_as_int<D: Integer>(from_f64: bool) -> D {
    if from_f64 || D::BITS == 64 { D::ONE.shift_left(D::BITS - 1) } else { D::ZERO }
}

/// An integral `x` clamped to the range of the destination; anything for NaN.
#[inline(always)]
fn saturate<D: Integer>(x: f64) -> D {
    /// Between 2^52 and 2^53 the last bit of an `.f64` is worth 1: added to this, an integer stands
    /// in two's complement in the low bits. The host's conversion would not vectorise.
    const ALIGNED: f64 = 6_755_399_441_055_744.0;
    if D::BITS == 64 {
        return D::saturate_f64(x);
    }
    let clamped = x.clamp(D::MIN.nearest_f64(), D::MAX.nearest_f64());
    D::truncate(i128::from((clamped + ALIGNED).to_bits()))
}

/// `cvt.irnd.itype.f32`: clamps to the range of the destination. Halves widen first.
#[inline(always)]
pub fn f32_to_int<D: Integer, R: Rounding>(a: f32) -> D {
    let value = saturate(f64::from(a.round_integral(R::MODE)));
    if a.is_nan() { nan_as_int(false) } else { value }
}

/// `cvt.irnd.itype.f64`: clamps to the range of the destination.
#[inline(always)]
pub fn f64_to_int<D: Integer, R: Rounding>(a: f64) -> D {
    let value = saturate(a.round_integral(R::MODE));
    if a.is_nan() { nan_as_int(true) } else { value }
}

/// An integer as `.f64` rounded to odd, for a second rounding to something narrower.
#[inline(always)]
fn odd_f64<S: Integer>(a: S) -> f64 {
    if S::BITS <= 32 {
        return a.nearest_f64();
    }
    let value = a.to_i128();
    let magnitude = value.unsigned_abs() as u64;
    // The top 53 of 64 bits with everything below them folded into the last.
    let folded = (magnitude & !0x7ff) | u64::from(magnitude & 0x7ff != 0) << 11;
    let kept = if magnitude >> 53 == 0 { magnitude } else { folded };
    let odd = kept as f64;
    if value < 0 { -odd } else { odd }
}

/// `cvt.frnd.f32.itype`.
#[inline(always)]
pub fn int_to_f32<S: Integer, R: Rounding>(a: S) -> f32 {
    match R::MODE {
        Mode::NearestEven => a.nearest_f32(),
        mode => rounding::f64_to_f32(odd_f64(a), mode),
    }
}

/// `cvt.frnd.f64.itype`.
#[inline(always)]
pub fn int_to_f64<S: Integer, R: Rounding>(a: S) -> f64 {
    if R::MODE == Mode::NearestEven || S::BITS <= 32 {
        return a.nearest_f64();
    }
    let value = a.to_i128();
    let magnitude = value.unsigned_abs() as u64;
    let dropped = 11u32.saturating_sub(magnitude.leading_zeros());
    let kept = (magnitude >> dropped) << dropped;
    let inexact = kept != magnitude;
    let away = match R::MODE {
        Mode::Up => value > 0,
        Mode::Down => value < 0,
        Mode::NearestEven | Mode::NearestAway | Mode::Zero => false,
    };
    let truncated = kept as f64;
    let rounded = if inexact & away { truncated.next_up() } else { truncated };
    if value < 0 { -rounded } else { rounded }
}

/// `cvt.frnd.f16.itype` and `cvt.frnd.bf16.itype`.
#[inline(always)]
pub fn int_to_half<S: Integer, H: Half, R: Rounding>(a: S) -> u16 {
    H::narrow_f64(odd_f64(a), R::MODE)
}

/// `cvt.f32.f32` without rounding: the value, with a canonical NaN.
#[inline(always)]
pub fn f32_to_f32(a: f32) -> f32 {
    canonical(a)
}

/// `cvt.irnd.f32.f32`: rounds to an integral value.
#[inline(always)]
pub fn f32_to_integral<R: Rounding>(a: f32) -> f32 {
    canonical(a.round_integral(R::MODE))
}

/// `cvt.irnd.f64.f64`: rounds to an integral value.
#[inline(always)]
pub fn f64_to_integral<R: Rounding>(a: f64) -> f64 {
    if a.is_nan() { float::quiet(a) } else { a.round_integral(R::MODE) }
}

/// `cvt.irnd.f16.f16` and `cvt.irnd.bf16.bf16`: rounds to an integral value.
#[inline(always)]
pub fn half_to_integral<H: Half, R: Rounding>(a: u16) -> u16 {
    H::narrow(H::widen(a).round_integral(R::MODE), R::MODE)
}

/// `cvt.f64.f32`: exact; a NaN is quieted.
#[inline(always)]
pub fn f32_to_f64(a: f32) -> f64 {
    let payload = u64::from(a.to_bits() & 0x003f_ffff) << 29;
    let sign = u64::from(a.to_bits() >> 31) << 63;
    let nan = f64::from_bits(sign | 0x7ff8_0000_0000_0000 | payload);
    if a.is_nan() { nan } else { f64::from(a) }
}

/// `cvt.frnd.f32.f64`.
#[inline(always)]
pub fn f64_to_f32<R: Rounding>(a: f64) -> f32 {
    match R::MODE {
        Mode::NearestEven => canonical(a as f32),
        mode => rounding::f64_to_f32(a, mode),
    }
}

/// `cvt.frnd.ftz.f32.f64`.
#[inline(always)]
pub fn f64_to_f32_ftz<R: Rounding>(a: f64) -> f32 {
    let scaled = f64_to_f32::<R>(a * 16_777_216.0);
    float::flush_result::<true>(f64_to_f32::<R>(a), scaled)
}

/// `cvt.f32.f16` and `cvt.f32.bf16`: exact.
#[inline(always)]
pub fn half_to_f32<H: Half>(a: u16) -> f32 {
    canonical(H::widen(a))
}

/// `cvt.f64.f16` and `cvt.f64.bf16`: exact.
#[inline(always)]
pub fn half_to_f64<H: Half>(a: u16) -> f64 {
    f32_to_f64(H::widen(a))
}

/// `cvt.frnd.f16.f32` and `cvt.frnd.bf16.f32`.
#[inline(always)]
pub fn f32_to_half<H: Half, R: Rounding>(a: f32) -> u16 {
    H::narrow(a, R::MODE)
}

/// `cvt.frnd.f16.f64` and `cvt.frnd.bf16.f64`.
///
/// A NaN becomes the quiet NaN without further payload (`0x7e00`, `0x7fc0`), as on an H200.
#[inline(always)]
pub fn f64_to_half<H: Half, R: Rounding>(a: f64) -> u16 {
    let quiet = H::INFINITY | H::INFINITY >> 1;
    if a.is_nan() { quiet } else { H::narrow_f64(a, R::MODE) }
}

/// `cvt.frnd` between `.f16` and `.bf16`.
#[inline(always)]
pub fn half_to_half<S: Half, D: Half, R: Rounding>(a: u16) -> u16 {
    D::narrow(S::widen(a), R::MODE)
}

/// `cvt.frnd2{.relu}{.satfinite}` from `.f32` to `.f16` or `.bf16`.
///
/// `.satfinite` replaces an infinite result by the greatest finite value of its sign.
#[inline(always)]
pub fn f32_to_half_clamped<H: Half, R: Rounding, const RELU: bool, const SATFINITE: bool>(
    a: f32,
) -> u16 {
    clamp::<H, RELU, SATFINITE>(H::narrow(a, R::MODE))
}

/// `.relu` and `.satfinite` of a half.
#[inline(always)]
pub(super) fn clamp<H: Half, const RELU: bool, const SATFINITE: bool>(x: u16) -> u16 {
    let finite = if SATFINITE { half::satfinite::<H>(x) } else { x };
    if RELU { half::relu::<H>(finite) } else { finite }
}

/// `cvt.rs{.relu}{.satfinite}` from two `.f32` to `.f16x2` or `.bf16x2`: `a` in the upper half, by
/// the random bits in the upper half of `random`.
#[inline(always)]
pub fn f32_to_x2_stochastic<H: Half, const RELU: bool, const SATFINITE: bool>(
    a: f32,
    b: f32,
    random: u32,
) -> u32 {
    let convert = |x, random| clamp::<H, RELU, SATFINITE>(H::narrow_stochastic(x, random));
    half::pack(convert(a, random >> 16), convert(b, random))
}

/// `cvt.frnd2{.relu}{.satfinite}` from two `.f32` to `.f16x2` or `.bf16x2`: `a` in the upper half.
#[inline(always)]
pub fn f32_to_x2<H: Half, R: Rounding, const RELU: bool, const SATFINITE: bool>(
    a: f32,
    b: f32,
) -> u32 {
    let convert = f32_to_half_clamped::<H, R, RELU, SATFINITE>;
    half::pack(convert(a), convert(b))
}

/// `cvt.rna{.satfinite}.tf32.f32` and `cvt.frnd2{.satfinite}{.relu}.tf32.f32`: the low 13 bits
/// are 0, in a NaN as well.
///
/// NaNs are those of an H200: `0x7fffe000`, but `.rna` keeps sign and upper payload, from which
/// `.satfinite` then takes one unit in the last place as it does from an infinity.
#[inline(always)]
pub fn f32_to_tf32<R: Rounding, const RELU: bool, const SATFINITE: bool>(a: f32) -> u32 {
    const INFINITY: u32 = 0x7f80_0000;
    const LAST_BIT: u32 = 1 << 13;
    let away = matches!(R::MODE, Mode::NearestAway);
    let nan = if away { a.to_bits() >> 13 } else { NAN_F32.to_bits() >> 13 };
    let rounded = rounding::narrow_f32(a, Format::TF32, R::MODE, nan) << 13;
    let infinite = rounded & 0x7fff_ffff == INFINITY || a.is_nan() && away;
    let finite = if SATFINITE && infinite { rounded - LAST_BIT } else { rounded };
    if RELU && a.is_sign_negative() && !a.is_nan() { 0 } else { finite }
}

/// `cvt.pack.sat.u16.s32` and `.s16.s32`: `a` clamped in the upper half, `b` in the lower.
#[inline(always)]
pub fn pack_16<const SIGNED: bool>(a: i32, b: i32) -> u32 {
    clamp_to::<SIGNED>(a, 16) << 16 | clamp_to::<SIGNED>(b, 16)
}

/// `cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32`: `c` moved up by two elements of `BITS` bits, below
/// it `a` clamped, lowest `b` clamped.
#[inline(always)]
pub fn pack_narrow<const SIGNED: bool, const BITS: u32>(a: i32, b: i32, c: u32) -> u32 {
    c << (2 * BITS) | clamp_to::<SIGNED>(a, BITS) << BITS | clamp_to::<SIGNED>(b, BITS)
}

/// `x` clamped to an integer of `bits` bits, in the low bits of the result.
#[inline(always)]
fn clamp_to<const SIGNED: bool>(x: i32, bits: u32) -> u32 {
    let ones = (1 << bits) - 1;
    let (low, high) = if SIGNED { (-(1 << (bits - 1)), ones >> 1) } else { (0, ones) };
    (x.clamp(low, high) & ones) as u32
}
