//! Element formats of A and B, and how registers of them are decoded.
//!
//! A register's elements are decoded into plain arrays, lane by lane and low bits first. The
//! products that follow are then loops over `f64` or `i32`.

use std::sync::LazyLock;

use super::super::half::{Bf16, F16, Half};
use super::super::minifloat::{self, E2m1, E2m3, E3m2, E4m3, E5m2, Minifloat};

/// The format of an element of A or B, and the number of elements per 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.f16`, two to a register.
    F16,
    /// `.bf16`, two to a register.
    Bf16,
    /// `.tf32`, one to a register, of which the lower 13 bits are ignored.
    Tf32,
    /// `.e4m3`, four to a register.
    E4m3,
    /// `.e5m2`, four to a register.
    E5m2,
    /// `.e3m2` in the lower six bits of a byte.
    E3m2,
    /// `.e2m3` in the lower six bits of a byte.
    E2m3,
    /// `.e2m1` in the middle four bits of a byte (`.kind::f8f6f4` and `.kind::mxf8f6f4`).
    E2m1InByte,
    /// `.e2m1`, eight to a register (`.kind::mxf4` and `.kind::mxf4nvf4`).
    E2m1,
    /// `.f64`, one to a 64-bit register.
    F64,
    /// `.u8`, four to a register.
    U8,
    /// `.s8`, four to a register.
    S8,
    /// `.s1z4m11`, two to a register: a sign, four zeros and a magnitude of eleven bits.
    S1z4m11,
    /// `.u4`, eight to a register.
    U4,
    /// `.s4`, eight to a register.
    S4,
    /// 32 elements of `.b1`: the unit is the register.
    B1x32,
}

impl Format {
    /// Elements in one register.
    #[must_use]
    pub const fn per_register(self) -> u32 {
        match self {
            Self::Tf32 | Self::F64 | Self::B1x32 => 1,
            Self::F16 | Self::Bf16 | Self::S1z4m11 => 2,
            Self::E4m3
            | Self::E5m2
            | Self::E3m2
            | Self::E2m3
            | Self::E2m1InByte
            | Self::U8
            | Self::S8 => 4,
            Self::E2m1 | Self::U4 | Self::S4 => 8,
        }
    }
}

/// The values of all codes of a format that fits a byte, shifted right by `shift` and with the
/// bits above the format ignored.
fn values<M: Minifloat>(shift: u32) -> [f64; 256] {
    let mut values = [0.0; 256];
    let mask = (1u32 << (M::EXPONENT_BITS + M::MANTISSA_BITS + 1)) - 1;
    for (code, value) in values.iter_mut().enumerate() {
        let code = (code as u32 >> shift & mask) as u8;
        *value = f64::from(F16::widen(minifloat::to_f16::<M, false>(code)));
    }
    values
}

static E4M3_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| values::<E4m3>(0));
static E5M2_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| values::<E5m2>(0));
static E3M2_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| values::<E3m2>(0));
static E2M3_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| values::<E2m3>(0));
static E2M1_IN_BYTE_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| values::<E2m1>(2));
static E2M1_VALUES: LazyLock<[f64; 256]> = LazyLock::new(|| values::<E2m1>(0));

/// The value of an `.f16`.
#[inline(always)]
#[must_use]
pub fn f16(bits: u16) -> f64 {
    F16::widen(bits).into()
}

/// The value of an `.e4m3` code.
#[must_use]
pub fn e4m3(code: u8) -> f64 {
    E4M3_VALUES[usize::from(code)]
}

/// Decodes a register of each lane; the values of lane `l` start at `l` times the number of
/// elements in a register. Formats that are not floating-point, and `.f64`, give nothing.
#[inline(always)]
pub fn decode_float(format: Format, register: &[u32; 32], values: &mut [f64; 256]) {
    let bytes = |table: &[f64; 256], values: &mut [f64; 256]| {
        for (lane, values) in values.as_chunks_mut::<4>().0[..32].iter_mut().enumerate() {
            for (element, value) in values.iter_mut().enumerate() {
                *value = table[(register[lane] >> (8 * element) & 0xff) as usize];
            }
        }
    };
    match format {
        Format::F16 => {
            for (lane, values) in values.as_chunks_mut::<2>().0[..32].iter_mut().enumerate() {
                values[0] = f64::from(F16::widen(register[lane] as u16));
                values[1] = f64::from(F16::widen((register[lane] >> 16) as u16));
            }
        }
        Format::Bf16 => {
            for (lane, values) in values.as_chunks_mut::<2>().0[..32].iter_mut().enumerate() {
                values[0] = f64::from(Bf16::widen(register[lane] as u16));
                values[1] = f64::from(Bf16::widen((register[lane] >> 16) as u16));
            }
        }
        Format::Tf32 => {
            for (value, word) in values.iter_mut().zip(register) {
                *value = f64::from(f32::from_bits(word & !0x1fff));
            }
        }
        Format::E4m3 => bytes(&E4M3_VALUES, values),
        Format::E5m2 => bytes(&E5M2_VALUES, values),
        Format::E3m2 => bytes(&E3M2_VALUES, values),
        Format::E2m3 => bytes(&E2M3_VALUES, values),
        Format::E2m1InByte => bytes(&E2M1_IN_BYTE_VALUES, values),
        Format::E2m1 => {
            let table: &[f64; 256] = &E2M1_VALUES;
            for (lane, values) in values.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                for (element, value) in values.iter_mut().enumerate() {
                    *value = table[(register[lane] >> (4 * element) & 0xf) as usize];
                }
            }
        }
        Format::F64
        | Format::U8
        | Format::S8
        | Format::S1z4m11
        | Format::U4
        | Format::S4
        | Format::B1x32 => {}
    }
}

/// As [`decode_float`] for the integer formats.
#[inline(always)]
pub fn decode_integer(format: Format, register: &[u32; 32], values: &mut [i32; 256]) {
    macro_rules! decode {
        ($count:literal, |$word:ident, $shift:ident| $value:expr) => {
            for (lane, values) in values.as_chunks_mut::<$count>().0[..32].iter_mut().enumerate() {
                let $word = register[lane];
                for (element, value) in values.iter_mut().enumerate() {
                    let $shift = 32 / $count * element as u32;
                    *value = $value;
                }
            }
        };
    }
    match format {
        Format::U8 => decode!(4, |word, shift| (word >> shift & 0xff) as i32),
        Format::S8 => decode!(4, |word, shift| i32::from((word >> shift) as i8)),
        Format::U4 => decode!(8, |word, shift| (word >> shift & 0xf) as i32),
        Format::S4 => decode!(8, |word, shift| (word << (28 - shift)) as i32 >> 28),
        Format::B1x32 => decode!(1, |word, _shift| word as i32),
        Format::S1z4m11 => decode!(2, |word, shift| {
            let magnitude = (word >> shift & 0x7ff) as i32;
            if word >> (shift + 15) & 1 == 0 { magnitude } else { -magnitude }
        }),
        Format::F16
        | Format::Bf16
        | Format::Tf32
        | Format::E4m3
        | Format::E5m2
        | Format::E3m2
        | Format::E2m3
        | Format::E2m1InByte
        | Format::E2m1
        | Format::F64 => {}
    }
}
