//! The types of values and array elements.

/// The type of a value or of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A comparison's result.
    Predicate,
    /// IEEE 754 with 16 bits.
    F16,
    /// IEEE 754 with 32 bits.
    F32,
    /// IEEE 754 with 64 bits.
    F64,
    /// A signed integer of 32 bits.
    S32,
    /// An unsigned integer of 32 bits.
    U32,
    /// A signed integer of 64 bits.
    S64,
    /// An unsigned integer of 64 bits.
    U64,
}

impl Type {
    /// The type that a tag such as `dtype:float32` names, in the paper's words.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "float16" => Self::F16,
            "float32" => Self::F32,
            "float64" => Self::F64,
            "int32" => Self::S32,
            "uint32" => Self::U32,
            "int64" => Self::S64,
            "uint64" => Self::U64,
            _ => return None,
        })
    }

    /// Its name in PTX and in launch files, without a dot.
    #[must_use]
    pub const fn ptx(self) -> &'static str {
        match self {
            Self::Predicate => "pred",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::S32 => "s32",
            Self::U32 => "u32",
            Self::S64 => "s64",
            Self::U64 => "u64",
        }
    }

    /// Its name in CUDA.
    #[must_use]
    pub const fn cuda(self) -> &'static str {
        match self {
            Self::Predicate => "bool",
            Self::F16 => "__half",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::S32 => "int",
            Self::U32 => "unsigned",
            Self::S64 => "long long",
            Self::U64 => "unsigned long long",
        }
    }

    /// Bits of a value: 1 for a predicate.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Predicate => 1,
            Self::F16 => 16,
            Self::F32 | Self::S32 | Self::U32 => 32,
            Self::F64 | Self::S64 | Self::U64 => 64,
        }
    }

    /// Bytes of an array's element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bits() as u64 / 8
    }

    /// Returns true for floating-point numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Returns true for signed integers.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S32 | Self::S64)
    }
}
