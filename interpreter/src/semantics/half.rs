//! Half precision arithmetic (PTX ISA 9.7.4 and the half forms of 9.7.5): `.f16`, `.bf16`, and
//! their packed forms through [`map1_x2`], [`map2_x2`] and [`map3_x2`].
//!
//! Every result is rounded once. Sums go through `.f32`, where rounding twice is harmless because
//! 24 ≥ 2·11 + 2 bits (Figueroa 1995). Products of `.f16` are exact in `.f32`, those of `.bf16` in
//! `.f64`; a fused addition then rounds to odd before the final rounding.

use super::float;
use super::rounding::{self, Format, Mode};

/// A 16-bit floating-point format.
pub trait Half: Copy {
    /// The bits of 1.0.
    const ONE: u16;
    /// The bits of positive infinity; smaller exponents are finite.
    const INFINITY: u16;
    /// Number of random bits that decide a stochastic rounding from `.f32`.
    const RANDOM_BITS: u32;
    /// The value as `.f32`, exactly; NaN keeps its payload.
    fn widen(x: u16) -> f32;
    /// The nearest half, ties to even, or directed; NaN becomes `0x7fff`.
    fn narrow(x: f32, mode: Mode) -> u16;
    /// The nearest half, ties to even, or directed; NaN becomes `0x7fff`.
    fn narrow_f64(x: f64, mode: Mode) -> u16;
    /// `x` rounded away from zero where the low [`Self::RANDOM_BITS`] bits of `random` carry into
    /// the kept bits; NaN becomes `0x7fff`.
    fn narrow_stochastic(x: f32, random: u32) -> u16;
    /// `a * b`, rounded to nearest; a subnormal result flushed if `FTZ`.
    fn mul<const FTZ: bool>(a: u16, b: u16) -> u16;
    /// `a * b + c`, rounded to nearest once; a subnormal result flushed if `FTZ`.
    fn fma<const FTZ: bool>(a: u16, b: u16, c: u16) -> u16;
}

/// The NaN that half operations return.
pub const NAN: u16 = 0x7fff;
const SIGN: u16 = 0x8000;

/// `.f16`: IEEE binary16.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// `.bf16`: the upper half of an `.f32`.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

impl Half for F16 {
    const ONE: u16 = 0x3c00;
    const INFINITY: u16 = 0x7c00;
    const RANDOM_BITS: u32 = 13;

    #[inline(always)]
    fn widen(x: u16) -> f32 {
        let bits = u32::from(x);
        // The fields in their places for `.f32`, the exponent too small by the difference of the
        // biases; the multiplication corrects it and normalises subnormals.
        let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
        let special = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
        f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32, mode: Mode) -> u16 {
        rounding::narrow_f32(x, Format::F16, mode, u32::from(NAN)) as u16
    }

    #[inline(always)]
    fn narrow_f64(x: f64, mode: Mode) -> u16 {
        rounding::narrow_f64(x, Format::F16, mode, u32::from(NAN)) as u16
    }

    #[inline(always)]
    fn narrow_stochastic(x: f32, random: u32) -> u16 {
        let random = random & ((1 << Self::RANDOM_BITS) - 1);
        let nan = u32::from(NAN);
        rounding::stochastic_f32(x, Format::F16, random, Self::RANDOM_BITS, nan) as u16
    }

    #[inline(always)]
    fn mul<const FTZ: bool>(a: u16, b: u16) -> u16 {
        Self::narrow_flushed::<FTZ>(Self::widen(a) * Self::widen(b))
    }

    #[inline(always)]
    fn fma<const FTZ: bool>(a: u16, b: u16, c: u16) -> u16 {
        let product = Self::widen(a) * Self::widen(b);
        Self::narrow_flushed::<FTZ>(rounding::odd_sum_f32(product, Self::widen(c)))
    }
}

impl F16 {
    /// An intermediate rounded to nearest, or to a zero if it stays below the least normal number
    /// when rounded to 11 bits.
    #[inline(always)]
    fn narrow_flushed<const FTZ: bool>(x: f32) -> u16 {
        // 2^-14 less half a unit in the last place of the numbers just below it.
        const ROUNDS_TO_NORMAL: f32 = 1.0 / 16_384.0 - 1.0 / 67_108_864.0;
        let flushed = if FTZ && x.abs() < ROUNDS_TO_NORMAL { 0f32.copysign(x) } else { x };
        Self::narrow(flushed, Mode::NearestEven)
    }
}

impl Half for Bf16 {
    const ONE: u16 = 0x3f80;
    const INFINITY: u16 = 0x7f80;
    const RANDOM_BITS: u32 = 16;

    #[inline(always)]
    fn widen(x: u16) -> f32 {
        f32::from_bits(u32::from(x) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32, mode: Mode) -> u16 {
        rounding::narrow_f32(x, Format::BF16, mode, u32::from(NAN)) as u16
    }

    #[inline(always)]
    fn narrow_f64(x: f64, mode: Mode) -> u16 {
        rounding::narrow_f64(x, Format::BF16, mode, u32::from(NAN)) as u16
    }

    #[inline(always)]
    fn narrow_stochastic(x: f32, random: u32) -> u16 {
        let random = random & ((1 << Self::RANDOM_BITS) - 1);
        let nan = u32::from(NAN);
        rounding::stochastic_f32(x, Format::BF16, random, Self::RANDOM_BITS, nan) as u16
    }

    #[inline(always)]
    fn mul<const FTZ: bool>(a: u16, b: u16) -> u16 {
        let product = f64::from(Self::widen(a)) * f64::from(Self::widen(b));
        flush::<Self, FTZ>(Self::narrow_f64(product, Mode::NearestEven))
    }

    #[inline(always)]
    fn fma<const FTZ: bool>(a: u16, b: u16, c: u16) -> u16 {
        let product = f64::from(Self::widen(a)) * f64::from(Self::widen(b));
        let sum = rounding::odd_sum_f64(product, f64::from(Self::widen(c)));
        flush::<Self, FTZ>(Self::narrow_f64(sum, Mode::NearestEven))
    }
}

/// Returns true if the bits are a NaN.
#[inline(always)]
pub fn is_nan<H: Half>(x: u16) -> bool {
    x & !SIGN > H::INFINITY
}

/// `.ftz`: a subnormal becomes a zero of the same sign.
#[inline(always)]
pub fn ftz<H: Half>(x: u16) -> u16 {
    if x & H::INFINITY == 0 { x & SIGN } else { x }
}

/// `.sat`: clamps to 0..1; NaN becomes +0.
#[inline(always)]
pub fn sat<H: Half>(x: u16) -> u16 {
    if (x & SIGN != 0) | is_nan::<H>(x) { 0 } else { x.min(H::ONE) }
}

/// `.relu`: a negative value, -0 included, becomes +0; NaN becomes `0x7fff`.
#[inline(always)]
pub fn relu<H: Half>(x: u16) -> u16 {
    let clamped = if x & SIGN != 0 { 0 } else { x };
    if is_nan::<H>(x) { NAN } else { clamped }
}

/// `.satfinite`: an infinity becomes the greatest finite number of its sign.
#[inline(always)]
pub fn satfinite<H: Half>(x: u16) -> u16 {
    if x & !SIGN == H::INFINITY { x - 1 } else { x }
}

/// `.pzo`: -0 becomes +0.
#[inline(always)]
pub fn positive_zero(x: u16) -> u16 {
    if x == SIGN { 0 } else { x }
}

#[inline(always)]
fn flush<H: Half, const FTZ: bool>(x: u16) -> u16 {
    if FTZ { ftz::<H>(x) } else { x }
}

#[inline(always)]
fn finish<H: Half, const SAT: bool>(x: u16) -> u16 {
    if SAT { sat::<H>(x) } else { x }
}

/// `add{.rn}{.ftz}{.sat}`.
#[inline(always)]
pub fn add<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    let (a, b) = (flush::<H, FTZ>(a), flush::<H, FTZ>(b));
    // A subnormal sum is exact.
    let sum = H::narrow(H::widen(a) + H::widen(b), Mode::NearestEven);
    finish::<H, SAT>(flush::<H, FTZ>(sum))
}

/// `sub{.rn}{.ftz}{.sat}`.
#[inline(always)]
pub fn sub<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    add::<H, FTZ, SAT>(a, b ^ SIGN)
}

/// `mul{.rn}{.ftz}{.sat}`.
#[inline(always)]
pub fn mul<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16) -> u16 {
    finish::<H, SAT>(H::mul::<FTZ>(flush::<H, FTZ>(a), flush::<H, FTZ>(b)))
}

/// `fma.rn{.ftz}{.sat}`; `.relu` is [`relu`] of the result.
#[inline(always)]
pub fn fma<H: Half, const FTZ: bool, const SAT: bool>(a: u16, b: u16, c: u16) -> u16 {
    let (a, b, c) = (flush::<H, FTZ>(a), flush::<H, FTZ>(b), flush::<H, FTZ>(c));
    finish::<H, SAT>(H::fma::<FTZ>(a, b, c))
}

/// `fma.rn{.ftz}.relu`.
#[inline(always)]
pub fn fma_relu<H: Half, const FTZ: bool>(a: u16, b: u16, c: u16) -> u16 {
    relu::<H>(fma::<H, FTZ, false>(a, b, c))
}

/// The NaN with which copies of tensors fill elements outside (manual, 5.5), in both formats.
pub const OUT_OF_BOUNDS_NAN: u16 = 0x7ff7;

/// `fma.rn.oob{.relu}`: 0 where a factor is [`OUT_OF_BOUNDS_NAN`], of either sign as on an H200.
#[inline(always)]
pub fn fma_oob<H: Half, const RELU: bool>(a: u16, b: u16, c: u16) -> u16 {
    let outside = (a & !SIGN == OUT_OF_BOUNDS_NAN) | (b & !SIGN == OUT_OF_BOUNDS_NAN);
    let result = fma::<H, false, false>(a, b, c);
    let clamped = if RELU { relu::<H>(result) } else { result };
    if outside { 0 } else { clamped }
}

/// `neg{.ftz}`.
#[inline(always)]
pub fn neg<H: Half, const FTZ: bool>(a: u16) -> u16 {
    flush::<H, FTZ>(a) ^ SIGN
}

/// `abs{.ftz}`.
#[inline(always)]
pub fn abs<H: Half, const FTZ: bool>(a: u16) -> u16 {
    flush::<H, FTZ>(a) & !SIGN
}

macro_rules! extrema {
    ($two:ident, $xorsign:ident, $f32:path, $name:literal) => {
        #[doc = concat!("`", $name, "{.ftz}{.NaN}`.")]
        #[inline(always)]
        pub fn $two<H: Half, const FTZ: bool, const NAN: bool>(a: u16, b: u16) -> u16 {
            let (a, b) = (flush::<H, FTZ>(a), flush::<H, FTZ>(b));
            // Exact both ways: the result is one of the operands.
            H::narrow($f32(H::widen(a), H::widen(b)), Mode::NearestEven)
        }

        #[doc = concat!("`", $name, "{.ftz}{.NaN}.xorsign.abs`.")]
        #[inline(always)]
        pub fn $xorsign<H: Half, const FTZ: bool, const NAN: bool>(a: u16, b: u16) -> u16 {
            let magnitude = $two::<H, FTZ, NAN>(a & !SIGN, b & !SIGN);
            let sign = (a ^ b) & SIGN;
            if is_nan::<H>(magnitude) { magnitude } else { magnitude | sign }
        }
    };
}

extrema!(min, min_xorsign_abs, float::min_f32::<false, NAN>, "min");
extrema!(max, max_xorsign_abs, float::max_f32::<false, NAN>, "max");

/// `ex2.approx{.ftz}`.
#[inline(always)]
pub fn ex2_approx<H: Half, const FTZ: bool>(a: u16) -> u16 {
    let power = super::approx::ex2_f32::<false>(H::widen(flush::<H, FTZ>(a)));
    flush::<H, FTZ>(H::narrow(power, Mode::NearestEven))
}

/// `tanh.approx`.
#[inline(always)]
pub fn tanh_approx<H: Half>(a: u16) -> u16 {
    H::narrow(super::approx::tanh_f32(H::widen(a)), Mode::NearestEven)
}

/// Applies a half operation to both halves of a packed register.
#[inline(always)]
pub fn map1_x2(f: impl Fn(u16) -> u16, a: u32) -> u32 {
    pack(f((a >> 16) as u16), f(a as u16))
}

/// Applies a half operation to both halves of packed registers.
#[inline(always)]
pub fn map2_x2(f: impl Fn(u16, u16) -> u16, a: u32, b: u32) -> u32 {
    pack(f((a >> 16) as u16, (b >> 16) as u16), f(a as u16, b as u16))
}

/// Applies a half operation to both halves of packed registers.
#[inline(always)]
pub fn map3_x2(f: impl Fn(u16, u16, u16) -> u16, a: u32, b: u32, c: u32) -> u32 {
    let high = f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    pack(high, f(a as u16, b as u16, c as u16))
}

/// Two halves as one packed register.
#[inline(always)]
pub fn pack(high: u16, low: u16) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}
