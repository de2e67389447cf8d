//! `cvt` to and from the 8-, 6- and 4-bit floats and `.ue8m0` (PTX ISA 9.7.10.24).
//!
//! One element is converted here and put in its place by [`pack_x2`]. Conversions to the formats
//! with a sign are always `.satfinite`: beyond the greatest finite value the result is that value
//! with the sign of the operand.

use super::half::{self, Bf16, F16, Half};
use super::rounding::{self, Format, Mode, Rounding};
use super::{convert, float};

/// A format of 8 bits or fewer, one element of it in the low bits of a `u8`.
pub trait Minifloat: Copy {
    /// Width of the exponent field.
    const EXPONENT_BITS: u32;
    /// Width of the stored significand.
    const MANTISSA_BITS: u32;
    /// Code of the greatest finite value.
    const GREATEST: u8;
    /// Code of the result for a NaN operand.
    const NAN: u8;
    /// Distance of the elements of a packed register.
    const SPACING: u32;
    /// True if codes above `GREATEST` are special: the first one infinity where the format has it.
    const HAS_INFINITY: bool;
    /// True if there is a sign bit; without one a conversion drops the operand's sign.
    const SIGNED: bool;
}

/// The widths of a format's fields.
const fn format<M: Minifloat>() -> Format {
    Format { exponent_bits: M::EXPONENT_BITS, mantissa_bits: M::MANTISSA_BITS }
}

macro_rules! minifloats {
    ($($name:ident: $e:literal, $m:literal, $greatest:literal, $nan:literal, $inf:literal, $signed:literal, $spacing:literal, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Minifloat for $name {
            const EXPONENT_BITS: u32 = $e;
            const MANTISSA_BITS: u32 = $m;
            const GREATEST: u8 = $greatest;
            const NAN: u8 = $nan;
            const SPACING: u32 = $spacing;
            const HAS_INFINITY: bool = $inf;
            const SIGNED: bool = $signed;
        }
    )*};
}

minifloats! {
    E4m3: 4, 3, 0x7e, 0x7f, false, true, 8, "`.e4m3`: up to 448, a NaN, no infinity.";
    E5m2: 5, 2, 0x7b, 0x7f, true, true, 8, "`.e5m2`: up to 57344, with NaN and infinity.";
    E2m3: 2, 3, 0x1f, 0x1f, false, true, 8, "`.e2m3`: up to 7.5, neither NaN nor infinity.";
    E3m2: 3, 2, 0x1f, 0x1f, false, true, 8, "`.e3m2`: up to 28, neither NaN nor infinity.";
    E2m1: 2, 1, 0x7, 0x7, false, true, 4, "`.e2m1`: up to 6, neither NaN nor infinity.";
    Ue5m3: 5, 3, 0xfe, 0xff, false, false, 8, "`.ue5m3`: up to 114688 and a NaN, no sign.";
}

/// The conversion of a value to one of these formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrowing {
    /// Choice of the neighbour.
    pub mode: Mode,
    /// `.relu`: negative values become 0.
    pub relu: bool,
    /// `.satfinite`: values beyond the greatest number become that number.
    pub satfinite: bool,
    /// `.pzo`: a negative zero becomes a positive one.
    pub positive_zero: bool,
}

impl Narrowing {
    /// To nearest, otherwise as the value is.
    pub const NEAREST: Self =
        Self { mode: Mode::NearestEven, relu: false, satfinite: false, positive_zero: false };
    /// `.rn.satfinite`.
    pub const SATURATING: Self = Self { satfinite: true, ..Self::NEAREST };
}

/// One element from a value that is exact in `.f64`, as every operand of `cvt` to these formats is.
#[inline(always)]
pub fn from_f64<M: Minifloat>(x: f64, how: Narrowing) -> u8 {
    let magnitude = if M::SIGNED { x } else { x.abs() };
    let rounded = rounding::magnitude_f64(magnitude, format::<M>(), how.mode);
    let overflows = rounded > u32::from(M::GREATEST);
    // A value that is cut off ends at the greatest number, unless it was infinite.
    let cut = how.mode == Mode::Zero && x.is_finite();
    let beyond = match () {
        () if how.satfinite || cut => Some(M::GREATEST),
        () if M::HAS_INFINITY => Some(M::GREATEST + 1),
        () => None,
    };
    let nan = x.is_nan() || overflows && beyond.is_none();
    let code = if overflows { beyond.unwrap_or(M::NAN) } else { rounded as u8 };
    let code = finish::<M>(x.is_sign_negative(), nan, code, how.relu);
    let negative_zero = M::SIGNED && u32::from(code) == format::<M>().sign();
    if how.positive_zero && negative_zero { 0 } else { code }
}

/// An operand divided by its scale `.ue8m0`: `.scaled::n1::ue8m0`.
#[inline(always)]
pub fn descale(x: f32, scale: u8) -> f64 {
    f64::from(x) / ue8m0_value(scale)
}

/// Random bits that decide the rounding of one element of `cvt.rs`.
const RANDOM_BITS: u32 = 16;

/// `cvt.rs{.relu}.satfinite` from `.f32` to one element, by the low 16 bits of `random`.
#[inline(always)]
pub fn from_f32_stochastic<M: Minifloat, const RELU: bool>(a: f32, random: u32) -> u8 {
    let random = random & ((1 << RANDOM_BITS) - 1);
    let rounded = rounding::stochastic_magnitude_f32(a, format::<M>(), random, RANDOM_BITS);
    let code = rounded.min(u32::from(M::GREATEST)) as u8;
    finish::<M>(a.is_sign_negative(), a.is_nan(), code, RELU)
}

/// The code of an operand whose magnitude has become `code`.
#[inline(always)]
fn finish<M: Minifloat>(negative: bool, nan: bool, code: u8, relu: bool) -> u8 {
    let sign = if negative && M::SIGNED { format::<M>().sign() as u8 } else { 0 };
    let clamped = if relu && negative { 0 } else { code | sign };
    if nan { M::NAN } else { clamped }
}

/// `cvt.rn{.relu}.f16x2` from one element: exact but for `.ue5m3` from 65536 on, which overflows.
#[inline(always)]
pub fn to_f16<M: Minifloat, const RELU: bool>(code: u8) -> u16 {
    let result = F16::narrow(to_f32::<M>(code), Mode::NearestEven);
    if RELU { half::relu::<F16>(result) } else { result }
}

/// `cvt.rn{.satfinite}{.relu}{.scaled::n2::ue8m0}.bf16x2` from one element: times 2^(scale - 127),
/// rounded once. A scale of 127 is exact, one of 255 is NaN.
#[inline(always)]
pub fn to_bf16<M: Minifloat, const RELU: bool, const SATFINITE: bool>(code: u8, scale: u8) -> u16 {
    let value = f64::from(to_f32::<M>(code)) * ue8m0_value(scale);
    convert::clamp::<Bf16, RELU, SATFINITE>(Bf16::narrow_f64(value, Mode::NearestEven))
}

/// The value of one element; bits above it have no effect.
#[inline(always)]
pub(super) fn to_f32<M: Minifloat>(code: u8) -> f32 {
    let width = M::EXPONENT_BITS + M::MANTISSA_BITS;
    let magnitude = u32::from(code) & ((1 << width) - 1);
    let negative = M::SIGNED && u32::from(code) >> width & 1 == 1;
    // As in `F16::widen`: fields in place, then the difference of the biases by multiplication.
    let difference = 127 - ((1 << (M::EXPONENT_BITS - 1)) - 1);
    let scale = f32::from_bits((127 + difference) << 23);
    let value = f32::from_bits(magnitude << (23 - M::MANTISSA_BITS)) * scale;
    let greatest = u32::from(M::GREATEST);
    let special = if M::HAS_INFINITY && magnitude == greatest + 1 {
        f32::INFINITY.to_bits()
    } else {
        float::NAN_F32.to_bits()
    };
    let bits = if magnitude > greatest { special } else { value.to_bits() };
    f32::from_bits(bits | u32::from(negative) << 31)
}

/// `cvt.frnd3{.satfinite}` from `.f32` to one `.ue8m0` element: the power of two below (`.rz`) or
/// above (`.rp`) the magnitude; NaN and, without `.satfinite`, an infinity become `0xff`.
///
/// The code `e` stands for 2^(e - 127). The sign is dropped; 0 becomes 2^-127.
#[inline(always)]
pub fn ue8m0_from_f32<R: Rounding, const SATFINITE: bool>(a: f32) -> u8 {
    const NAN: u32 = 0xff;
    let magnitude = a.to_bits() & 0x7fff_ffff;
    let above = match R::MODE {
        // 2^-127 is the subnormal 0x00400000; every other power of two has no mantissa.
        Mode::Up if magnitude >> 23 == 0 => u32::from(magnitude > 0x0040_0000),
        Mode::Up => u32::from(magnitude & 0x007f_ffff != 0),
        Mode::NearestEven | Mode::NearestAway | Mode::Zero | Mode::Down => 0,
    };
    let code = (magnitude >> 23) + above;
    let finite = if SATFINITE { code.min(NAN - 1) } else { code.min(NAN) };
    (if a.is_nan() { NAN } else { finite }) as u8
}

/// The power of two that a `.ue8m0` code stands for, or NaN.
#[inline(always)]
pub(super) fn ue8m0_value(code: u8) -> f64 {
    let power = u64::from(code) + (1023 - 127);
    f64::from_bits(if code == 0xff { float::NAN_F64.to_bits() } else { power << 52 })
}

/// `cvt.rn.bf16x2.ue8m0x2`, one element: exact; `0xff` is NaN.
#[inline(always)]
pub fn ue8m0_to_bf16(code: u8) -> u16 {
    match code {
        0xff => half::NAN,
        0 => 0x0040,
        _ => u16::from(code) << 7,
    }
}

/// `cvt.frnd3{.satfinite}` from one half of a `.bf16x2` to one `.ue8m0` element.
#[inline(always)]
pub fn ue8m0_from_bf16<R: Rounding, const SATFINITE: bool>(a: u16) -> u8 {
    ue8m0_from_f32::<R, SATFINITE>(Bf16::widen(a))
}

/// Two elements of 8 bits, as `.ue8m0x2` and `.s2f6x2`.
#[inline(always)]
pub fn pack_bytes(high: u8, low: u8) -> u16 {
    u16::from(high) << 8 | u16::from(low)
}

/// Two elements next to each other: `.e4m3x2`, `.e5m2x2`, `.e2m3x2`, `.e3m2x2` or `.e2m1x2`.
#[inline(always)]
pub fn pack_x2<M: Minifloat>(high: u8, low: u8) -> u16 {
    u16::from(high) << M::SPACING | u16::from(low)
}

/// The upper and the lower of two elements next to each other.
#[inline(always)]
pub fn unpack_x2<M: Minifloat>(pair: u16) -> (u8, u8) {
    ((pair >> M::SPACING) as u8, pair as u8)
}
