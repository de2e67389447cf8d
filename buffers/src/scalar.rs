//! The element types of buffers and scalar arguments, and the bits of their values.

use gpucast_ptx_frontend::ScalarType;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// A type that a launch file or `--arg` may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementType {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 8 bits.
    S8,
    /// Signed, 16 bits.
    S16,
    /// Signed, 32 bits.
    S32,
    /// Signed, 64 bits.
    S64,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of binary32.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

use ElementType::{Bf16, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};

/// Every type with its name, its size in bytes and its name in PTX.
const TYPES: [(ElementType, &str, u8, ScalarType); 12] = [
    (U8, "u8", 1, ScalarType::U8),
    (U16, "u16", 2, ScalarType::U16),
    (U32, "u32", 4, ScalarType::U32),
    (U64, "u64", 8, ScalarType::U64),
    (S8, "s8", 1, ScalarType::S8),
    (S16, "s16", 2, ScalarType::S16),
    (S32, "s32", 4, ScalarType::S32),
    (S64, "s64", 8, ScalarType::S64),
    (F16, "f16", 2, ScalarType::F16),
    (Bf16, "bf16", 2, ScalarType::Bf16),
    (F32, "f32", 4, ScalarType::F32),
    (F64, "f64", 8, ScalarType::F64),
];

/// Names of the same types in other languages.
const ALIASES: [(&str, &str); 21] = [
    ("i8", "s8"),
    ("i16", "s16"),
    ("i32", "s32"),
    ("i64", "s64"),
    ("int8", "s8"),
    ("int16", "s16"),
    ("int32", "s32"),
    ("int64", "s64"),
    ("uint8", "u8"),
    ("uint16", "u16"),
    ("uint32", "u32"),
    ("uint64", "u64"),
    ("char", "s8"),
    ("int", "s32"),
    ("b32", "u32"),
    ("b64", "u64"),
    ("half", "f16"),
    ("float", "f32"),
    ("float32", "f32"),
    ("double", "f64"),
    ("float64", "f64"),
];

/// A number as written, before it has a type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Literal {
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Real(f64),
}

/// A number that its type cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is not a value of type {ty}, which holds {holds}")]
pub struct DoesNotFit {
    value: String,
    ty: &'static str,
    holds: String,
}

impl ElementType {
    /// The type of this name.
    pub fn named(name: &str) -> Option<Self> {
        TYPES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Every name, for error messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TYPES.iter().map(|row| row.1)
    }

    /// The name of the type that other languages call `name`.
    pub fn alias(name: &str) -> Option<&'static str> {
        ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name)
    }

    fn row(self) -> (&'static str, u8, ScalarType) {
        let (_, name, bytes, ty) = TYPES[self as usize];
        (name, bytes, ty)
    }

    /// As launch files write it.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Size of one element.
    pub fn bytes(self) -> usize {
        usize::from(self.row().1)
    }

    /// The PTX type of the same name.
    pub fn scalar_type(self) -> ScalarType {
        self.row().2
    }

    /// The least and greatest value of an integer type.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        let bits = self.bytes() as u32 * 8;
        match self {
            U8 | U16 | U32 | U64 => Some((0, (1 << bits) - 1)),
            S8 | S16 | S32 | S64 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            F16 | Bf16 | F32 | F64 => None,
        }
    }

    /// The little-endian bits of a literal, in the low bytes.
    pub fn encode(self, literal: Literal) -> Result<u64, DoesNotFit> {
        match self.integer_range() {
            Some((least, greatest)) => {
                let integer = match literal {
                    Literal::Integer(integer) => Some(integer),
                    // `1e6` is a fine way to write an integer; `1.5` is not.
                    Literal::Real(real) if real.fract() == 0.0 && real.abs() < 1e19 => {
                        Some(real as i128)
                    }
                    Literal::Real(_) => None,
                };
                match integer.filter(|integer| (least..=greatest).contains(integer)) {
                    Some(integer) => Ok(integer as u64 & self.mask()),
                    None => Err(self.does_not_fit(literal)),
                }
            }
            None => {
                let real = literal.as_f64();
                let bits = self.encode_real(real);
                if real.is_finite() && !self.decode_real(bits).is_finite() {
                    return Err(self.does_not_fit(literal));
                }
                Ok(bits)
            }
        }
    }

    /// A float type's bits of the nearest value (ties to even).
    pub fn encode_real(self, real: f64) -> u64 {
        match self {
            F16 => u64::from(f16::from_f64(real).to_bits()),
            Bf16 => u64::from(bf16::from_f64(real).to_bits()),
            F64 => real.to_bits(),
            _ => u64::from((real as f32).to_bits()),
        }
    }

    fn decode_real(self, bits: u64) -> f64 {
        match self {
            F16 => f16::from_bits(bits as u16).to_f64(),
            Bf16 => bf16::from_bits(bits as u16).to_f64(),
            F64 => f64::from_bits(bits),
            _ => f64::from(f32::from_bits(bits as u32)),
        }
    }

    /// The value of an element; `bytes` are exactly one element.
    pub fn decode(self, bytes: &[u8]) -> Literal {
        let mut word = [0; 8];
        for (to, &from) in word.iter_mut().zip(bytes) {
            *to = from;
        }
        let bits = u64::from_le_bytes(word);
        match self {
            U8 | U16 | U32 | U64 => Literal::Integer(i128::from(bits)),
            S8 => Literal::Integer(i128::from(bits as i8)),
            S16 => Literal::Integer(i128::from(bits as i16)),
            S32 => Literal::Integer(i128::from(bits as i32)),
            S64 => Literal::Integer(i128::from(bits as i64)),
            F16 | Bf16 | F32 | F64 => Literal::Real(self.decode_real(bits)),
        }
    }

    /// Write an element's bits to its place.
    pub fn store(self, bits: u64, place: &mut [u8]) {
        place.copy_from_slice(&bits.to_le_bytes()[..self.bytes()]);
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bytes() * 8)
    }

    fn does_not_fit(self, literal: Literal) -> DoesNotFit {
        let holds = match (self.integer_range(), self) {
            (Some((least, greatest)), _) => format!("the integers from {least} to {greatest}"),
            (None, F16) => "magnitudes up to 65504".to_owned(),
            (None, _) => "magnitudes up to about 3.4e38".to_owned(),
        };
        DoesNotFit { value: literal.to_string(), ty: self.name(), holds }
    }
}

impl Literal {
    /// Reads a number as written on the command line: decimal, `0x…`, or a float.
    pub fn parse(text: &str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        if let Some(hexadecimal) = digits.strip_prefix("0x") {
            let plain = !hexadecimal.starts_with(['+', '-']);
            return i128::from_str_radix(hexadecimal, 16)
                .ok()
                .filter(|value| plain && *value <= i128::from(u64::MAX))
                .map(|value| Self::Integer(sign * value));
        }
        if let Ok(integer) = text.parse() {
            return Some(Self::Integer(integer));
        }
        text.parse().ok().map(Self::Real)
    }

    /// The nearest binary64 number.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Real(real) => real,
        }
    }
}

macro_rules! literals {
    ($($rust:ty => $kind:ident as $wide:ty;)*) => {
        $(impl From<$rust> for Literal {
            fn from(value: $rust) -> Self {
                Self::$kind(<$wide>::from(value))
            }
        })*
    };
}

literals! {
    i32 => Integer as i128;
    u32 => Integer as i128;
    i64 => Integer as i128;
    u64 => Integer as i128;
    f32 => Real as f64;
    f64 => Real as f64;
}

impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(integer) => write!(f, "{integer}"),
            // `{:?}` keeps the point of 1.0 and switches to exponents for the very large.
            Self::Real(real) => write!(f, "{real:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (at, row) in TYPES.iter().enumerate() {
            assert_eq!(row.0 as usize, at, "{}", row.1);
        }
    }

    #[test]
    fn integers_are_checked_against_their_range() {
        let fits = |name: &str, text: &str| {
            let ty = ElementType::named(name).unwrap();
            ty.encode(Literal::parse(text).unwrap()).map_err(|error| error.to_string())
        };
        assert_eq!(fits("u8", "255"), Ok(255));
        assert_eq!(fits("s8", "-128"), Ok(0x80));
        assert_eq!(fits("u64", "18446744073709551615"), Ok(u64::MAX));
        assert_eq!(fits("s64", "-9223372036854775808"), Ok(1 << 63));
        assert_eq!(fits("u32", "1e6"), Ok(1_000_000));
        assert_eq!(fits("u32", "0xff"), Ok(255));
        assert_eq!(
            fits("u8", "256"),
            Err("256 is not a value of type u8, which holds the integers from 0 to 255".into())
        );
        assert!(fits("s32", "1.5").is_err());
        assert!(fits("u32", "-1").is_err());
        assert!(fits("u32", "nan").is_err());
    }

    #[test]
    fn floats_are_rounded_to_nearest_and_do_not_overflow_in_silence() {
        let f32_bits = |text: &str| F32.encode(Literal::parse(text).unwrap());
        assert_eq!(f32_bits("1.5"), Ok(0x3fc0_0000));
        assert_eq!(f32_bits("640"), Ok(0x4420_0000));
        assert_eq!(f32_bits("-inf"), Ok(0xff80_0000));
        assert!(f32_bits("1e39").is_err());
        assert_eq!(F16.encode(Literal::Real(1.0)), Ok(0x3c00));
        assert_eq!(Bf16.encode(Literal::Real(1.0)), Ok(0x3f80));
        assert!(F16.encode(Literal::Integer(65520)).is_err());
    }

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for (ty, literal) in [
            (S16, Literal::Integer(-3)),
            (U64, Literal::Integer(i128::from(u64::MAX))),
            (Bf16, Literal::Real(-2.5)),
            (F64, Literal::Real(1e300)),
        ] {
            let mut place = vec![0; ty.bytes()];
            ty.store(ty.encode(literal).unwrap(), &mut place);
            assert_eq!(ty.decode(&place), literal);
        }
    }
}
