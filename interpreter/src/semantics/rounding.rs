//! Rounding modes, and rounding to a narrower format by bit arithmetic.
//!
//! The host rounds to nearest only. Directed results come from a wider intermediate that was
//! rounded *to odd*: the inexact result whose last bit is 1. Such an intermediate remembers on
//! which side of every narrower value, and of every midpoint between two, the exact result lies.
//! Rounding it again in any mode therefore equals rounding once, provided that it is at least two
//! bits wider (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).

/// Rounding of an inexact result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To nearest, ties to even: `.rn`, `.rni`.
    NearestEven,
    /// Towards zero: `.rz`, `.rzi`.
    Zero,
    /// Towards negative infinity: `.rm`, `.rmi`.
    Down,
    /// Towards positive infinity: `.rp`, `.rpi`.
    Up,
    /// To nearest, ties away from zero: `.rna`.
    NearestAway,
}

/// A rounding modifier as a type parameter.
pub trait Rounding: Copy {
    /// The mode that the modifier selects.
    const MODE: Mode;
}

macro_rules! roundings {
    ($($name:ident = $mode:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Rounding for $name {
            const MODE: Mode = Mode::$mode;
        }
    )*};
}

roundings! {
    Rn = NearestEven, "`.rn` and `.rni`: to nearest, ties to even.";
    Rz = Zero, "`.rz` and `.rzi`: towards zero.";
    Rm = Down, "`.rm` and `.rmi`: towards negative infinity.";
    Rp = Up, "`.rp` and `.rpi`: towards positive infinity.";
    Rna = NearestAway, "`.rna`: to nearest, ties away from zero.";
}

/// A binary floating-point format with bias 2^(exponent_bits - 1) - 1 and subnormals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Width of the exponent field.
    pub(super) exponent_bits: u32,
    /// Width of the stored significand.
    pub(super) mantissa_bits: u32,
}

impl Format {
    /// `.f32`.
    pub(super) const F32: Format = Format { exponent_bits: 8, mantissa_bits: 23 };
    /// `.f16`.
    pub(super) const F16: Format = Format { exponent_bits: 5, mantissa_bits: 10 };
    /// `.bf16`.
    pub(super) const BF16: Format = Format { exponent_bits: 8, mantissa_bits: 7 };
    /// `.tf32`, right-aligned: the register holds it shifted left by 13.
    pub(super) const TF32: Format = Format { exponent_bits: 8, mantissa_bits: 10 };

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The code of infinity in an IEEE format.
    const fn infinity(self) -> u32 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The sign bit.
    pub(super) const fn sign(self) -> u32 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }
}

macro_rules! narrowing {
    ($magnitude:ident, $narrow:ident, $to_odd:ident, $float:ident, $bits:ident, $bias:literal) => {
        /// The code, without sign, of a finite `x` rounded to `format`, as if its greatest exponent
        /// were an ordinary one. Codes grow with the values that they stand for; a value beyond the
        /// format has a code above all of the format's.
        #[inline(always)]
        pub(super) fn $magnitude(x: $float, format: Format, mode: Mode) -> u32 {
            const STORED: u32 = $float::MANTISSA_DIGITS - 1;
            const IMPLICIT: $bits = 1 << STORED;
            let bits = x.to_bits();
            let negative = bits >> ($bits::BITS - 1) == 1;
            let biased = ((bits & ($bits::MAX >> 1)) >> STORED) as i32;
            let implicit = if biased == 0 { 0 } else { IMPLICIT };
            let significand = (bits & (IMPLICIT - 1)) | implicit;

            let exponent = biased.max(1) - $bias + format.bias();
            let below_normal = (1 - exponent).max(0) as u32;
            // Everything is below one half of the last place from STORED + 2 on.
            let dropped = (STORED - format.mantissa_bits + below_normal).min(STORED + 2);
            let kept = significand >> dropped;
            let rest = significand & (((1 as $bits) << dropped) - 1);
            let half = (1 as $bits) << (dropped - 1);
            let up = match mode {
                Mode::NearestEven => rest + (kept & 1) > half,
                Mode::NearestAway => rest >= half,
                Mode::Zero => false,
                Mode::Down => negative & (rest != 0),
                Mode::Up => !negative & (rest != 0),
            };
            // `kept` carries the implicit bit of a normal number, hence one less in the exponent.
            // The clamp keeps the code of a huge operand above infinity's and within 32 bits.
            let field = exponent.clamp(1, 1 << format.exponent_bits) - 1;
            let exponent_field = (field as u32) << format.mantissa_bits;
            exponent_field + kept as u32 + u32::from(up)
        }

        /// `x` rounded to an IEEE `format` with infinities; `nan` where `x` is one.
        #[inline(always)]
        pub(super) fn $narrow(x: $float, format: Format, mode: Mode, nan: u32) -> u32 {
            let negative = x.is_sign_negative();
            let infinity = format.infinity();
            let beyond = match mode {
                Mode::NearestEven | Mode::NearestAway => infinity,
                Mode::Zero => infinity - 1,
                Mode::Down => infinity - u32::from(!negative),
                Mode::Up => infinity - u32::from(negative),
            };
            let code = $magnitude(x, format, mode);
            let code = if code >= infinity { beyond } else { code };
            let code = if x.is_infinite() { infinity } else { code };
            let sign = if negative { format.sign() } else { 0 };
            if x.is_nan() { nan } else { code | sign }
        }

        /// Turns a result that was rounded to nearest into one rounded to odd; `error` has the sign
        /// of the exact result minus `nearest`.
        #[inline(always)]
        pub(super) fn $to_odd(nearest: $float, error: $float) -> $float {
            let bits = nearest.to_bits();
            let grows = (bits ^ error.to_bits()) >> ($bits::BITS - 1) == 0;
            let inexact = (error > 0.0) | (error < 0.0);
            let neighbour = if grows { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
            let even = bits & 1 == 0;
            $float::from_bits(if inexact & even { neighbour } else { bits })
        }
    };
}

narrowing!(magnitude_f32, narrow_f32, to_odd_f32, f32, u32, 127);
narrowing!(magnitude_f64, narrow_f64, to_odd_f64, f64, u64, 1023);

macro_rules! odd_sum {
    ($name:ident, $float:ident, $to_odd:ident) => {
        /// `a + b` rounded to odd, where neither overflows. The error is Knuth's TwoSum.
        #[inline(always)]
        pub(super) fn $name(a: $float, b: $float) -> $float {
            let sum = a + b;
            let b_part = sum - a;
            let a_part = sum - b_part;
            $to_odd(sum, (a - a_part) + (b - b_part))
        }
    };
}

odd_sum!(odd_sum_f32, f32, to_odd_f32);
odd_sum!(odd_sum_f64, f64, to_odd_f64);

/// As `magnitude_f32`, rounded away from zero where `random`, of `random_bits` bits, added to the
/// discarded bits carries.
///
/// The highest random bit counts as much as the highest discarded bit; a result below the least
/// normal number discards more. Both are choices: the manual shows the alignment for `.f16` and
/// `.bf16` only, where there are as many random bits as a normal result discards.
#[inline(always)]
pub(super) fn stochastic_magnitude_f32(
    x: f32,
    format: Format,
    random: u32,
    random_bits: u32,
) -> u32 {
    const STORED: u32 = f32::MANTISSA_DIGITS - 1;
    let bits = x.to_bits() & 0x7fff_ffff;
    let biased = (bits >> STORED) as i32;
    let implicit = if biased == 0 { 0 } else { 1 << STORED };
    let significand = u64::from((bits & ((1 << STORED) - 1)) | implicit);

    let exponent = biased.max(1) - 127 + format.bias();
    let below_normal = (1 - exponent).max(0) as u32;
    // From there on even the greatest random number does not carry.
    let no_carry = STORED + 2 + random_bits;
    let dropped = (STORED - format.mantissa_bits + below_normal).min(no_carry);
    let random = u64::from(random) << no_carry >> (no_carry + random_bits - dropped);
    let kept = (significand + random) >> dropped;
    let field = exponent.clamp(1, 1 << format.exponent_bits) - 1;
    ((field as u32) << format.mantissa_bits) + kept as u32
}

/// `x` rounded stochastically to an IEEE `format` with infinities, which stand for values beyond
/// the greatest finite number; `nan` where `x` is one.
#[inline(always)]
pub(super) fn stochastic_f32(
    x: f32,
    format: Format,
    random: u32,
    random_bits: u32,
    nan: u32,
) -> u32 {
    let magnitude = stochastic_magnitude_f32(x, format, random, random_bits);
    let code = if x.is_infinite() { format.infinity() } else { magnitude.min(format.infinity()) };
    let sign = if x.is_sign_negative() { format.sign() } else { 0 };
    if x.is_nan() { nan } else { code | sign }
}

/// An `.f64` rounded to `.f32`; NaN becomes `0x7fffffff`.
#[inline(always)]
pub(super) fn f64_to_f32(x: f64, mode: Mode) -> f32 {
    f32::from_bits(narrow_f64(x, Format::F32, mode, 0x7fff_ffff))
}
