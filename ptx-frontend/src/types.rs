//! Scalar types and state spaces.

/// A fundamental type of PTX (manual, section 5.2), including the packed and alternate
/// floating-point formats that only instructions name.
#[allow(missing_docs, reason = "the variants are the manual's own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    B8,
    B16,
    B32,
    B64,
    B128,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F32x2,
    F64,
    U16x2,
    S16x2,
    U8x4,
    S8x4,
    /// Sub-byte and narrow formats named by matrix and conversion instructions.
    U4,
    S4,
    U2,
    S2,
    B1,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    E4m3x4,
    E5m2x4,
    E3m2,
    E2m3,
    E2m1,
    E3m2x2,
    E2m3x2,
    E2m1x2,
    E3m2x4,
    E2m3x4,
    E2m1x4,
    /// Four numbers of four bits, each in a byte of its own.
    E2m1p4x4,
    Ue8m0,
    Ue8m0x2,
    Ue8m0x4,
    Ue5m3x2,
    /// Two fixed-point numbers of 8 bits, 6 of them behind the point.
    S2f6x2,
    Ue4m3,
    B4x16,
    B4x16P64,
    B6x16P32,
    Pred,
    /// Opaque texture, sampler and surface references (manual, section 5.3).
    Texref,
    Samplerref,
    Surfref,
}

/// The family of a [`ScalarType`], which decides the registers it may live in.
#[allow(missing_docs, reason = "the variants are the manual's own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    Unsigned,
    Signed,
    Bits,
    Float,
    /// Several elements in one register (`f16x2`, `e4m3x2`, …).
    Packed,
    Predicate,
    /// A texture, sampler or surface reference.
    Opaque,
}

impl ScalarType {
    /// Width in bits; packed formats count all their elements, predicates one bit.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::B1 | Self::Pred => 1,
            Self::U2 | Self::S2 => 2,
            Self::U4 | Self::S4 | Self::E2m1 => 4,
            Self::E3m2 | Self::E2m3 => 6,
            Self::U8
            | Self::S8
            | Self::B8
            | Self::E4m3
            | Self::E5m2
            | Self::Ue8m0
            | Self::Ue4m3
            | Self::E2m1x2 => 8,
            Self::U16
            | Self::S16
            | Self::B16
            | Self::F16
            | Self::Bf16
            | Self::E4m3x2
            | Self::E5m2x2
            | Self::E3m2x2
            | Self::E2m3x2
            | Self::Ue8m0x2
            | Self::Ue5m3x2
            | Self::S2f6x2
            | Self::E2m1x4 => 16,
            Self::U32
            | Self::S32
            | Self::B32
            | Self::F32
            | Self::Tf32
            | Self::F16x2
            | Self::Bf16x2
            | Self::U16x2
            | Self::S16x2
            | Self::U8x4
            | Self::S8x4
            | Self::E4m3x4
            | Self::E5m2x4
            | Self::E3m2x4
            | Self::E2m3x4
            | Self::E2m1p4x4
            | Self::Ue8m0x4 => 32,
            Self::U64
            | Self::S64
            | Self::B64
            | Self::F64
            | Self::F32x2
            | Self::B4x16
            | Self::Texref
            | Self::Samplerref
            | Self::Surfref => 64,
            Self::B128 | Self::B4x16P64 | Self::B6x16P32 => 128,
        }
    }

    /// Bytes that one value takes in memory or a register; a predicate takes one.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// The family, which decides the registers the type may live in.
    #[must_use]
    pub const fn kind(self) -> TypeKind {
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::U4 | Self::U2 => {
                TypeKind::Unsigned
            }
            Self::S8 | Self::S16 | Self::S32 | Self::S64 | Self::S4 | Self::S2 => TypeKind::Signed,
            Self::B1
            | Self::B8
            | Self::B16
            | Self::B32
            | Self::B64
            | Self::B128
            | Self::B4x16
            | Self::B4x16P64
            | Self::B6x16P32 => TypeKind::Bits,
            Self::F16
            | Self::Bf16
            | Self::Tf32
            | Self::F32
            | Self::F64
            | Self::E4m3
            | Self::E5m2
            | Self::E3m2
            | Self::E2m3
            | Self::E2m1
            | Self::Ue8m0
            | Self::Ue4m3 => TypeKind::Float,
            Self::F16x2
            | Self::Bf16x2
            | Self::F32x2
            | Self::U16x2
            | Self::S16x2
            | Self::U8x4
            | Self::S8x4
            | Self::E4m3x2
            | Self::E5m2x2
            | Self::E4m3x4
            | Self::E5m2x4
            | Self::E3m2x2
            | Self::E2m3x2
            | Self::E2m1x2
            | Self::E3m2x4
            | Self::E2m3x4
            | Self::E2m1x4
            | Self::E2m1p4x4
            | Self::Ue8m0x2
            | Self::Ue8m0x4
            | Self::Ue5m3x2
            | Self::S2f6x2 => TypeKind::Packed,
            Self::Pred => TypeKind::Predicate,
            Self::Texref | Self::Samplerref | Self::Surfref => TypeKind::Opaque,
        }
    }

    /// Returns true if values are two's-complement signed integers.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), TypeKind::Signed)
    }
}

/// A state space (manual, section 5.1).
#[allow(missing_docs, reason = "the variants are the manual's own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateSpace {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    /// Texture space, deprecated since ISA 3.0 but still found in old files.
    Tex,
}

impl StateSpace {
    /// The directive or modifier that names the space, without the dot.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Reg => "reg",
            Self::Sreg => "sreg",
            Self::Const => "const",
            Self::Global => "global",
            Self::Local => "local",
            Self::Param => "param",
            Self::Shared => "shared",
            Self::Tex => "tex",
        }
    }
}
