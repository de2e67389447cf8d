//! The descriptors of `tcgen05.mma` and `tcgen05.cp` (PTX ISA 9.7.16.4).

use super::super::matrix::scale::ScaleFormat;
use super::super::matrix::warpgroup::{Descriptor, Major};

/// Bytes of a row of A as it is stored, unless the product is twice as deep.
pub const DEPTH_BYTES: u32 = 32;

/// `.kind` of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.kind::f16`
    F16,
    /// `.kind::tf32`
    Tf32,
    /// `.kind::f8f6f4`
    F8F6F4,
    /// `.kind::i8`
    I8,
    /// `.kind::ti16`
    Ti16,
    /// `.kind::mxf8f6f4`, with block scales.
    Mxf8F6F4,
    /// `.kind::mxf4` and `.kind::mxf4nvf4`, with block scales.
    Mxf4,
}

impl Kind {
    /// Returns true if A and B have block scales.
    #[must_use]
    pub const fn is_scaled(self) -> bool {
        matches!(self, Self::Mxf8F6F4 | Self::Mxf4)
    }

    /// Elements of a row of A or a column of B in [`DEPTH_BYTES`].
    #[must_use]
    pub const fn depth(self) -> u32 {
        match self {
            Self::Tf32 => 8,
            Self::F16 | Self::Ti16 => 16,
            Self::F8F6F4 | Self::I8 | Self::Mxf8F6F4 => 32,
            Self::Mxf4 => 64,
        }
    }
}

/// The format of the elements of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// `.f16`
    F16,
    /// `.bf16`
    Bf16,
    /// `.tf32`
    Tf32,
    /// `.e4m3`
    E4m3,
    /// `.e5m2`
    E5m2,
    /// `.e2m3`, sixteen of them in 12 of 16 bytes.
    E2m3,
    /// `.e3m2`, likewise.
    E3m2,
    /// `.e2m1`, sixteen of them in 8 of 16 bytes.
    E2m1,
    /// `.e2m1`, 32 of them in 16 bytes.
    E2m1Dense,
    /// `.u8`
    U8,
    /// `.s8`
    S8,
    /// `.s1z4m11`
    S1z4m11,
}

impl Element {
    fn decode(kind: Kind, code: u32) -> Option<Self> {
        Some(match (kind, code) {
            (Kind::F16, 0) => Self::F16,
            (Kind::F16, 1) => Self::Bf16,
            (Kind::Tf32, 2) => Self::Tf32,
            (Kind::F8F6F4 | Kind::Mxf8F6F4, 0) => Self::E4m3,
            (Kind::F8F6F4 | Kind::Mxf8F6F4, 1) => Self::E5m2,
            (Kind::F8F6F4 | Kind::Mxf8F6F4, 3) => Self::E2m3,
            (Kind::F8F6F4 | Kind::Mxf8F6F4, 4) => Self::E3m2,
            (Kind::F8F6F4 | Kind::Mxf8F6F4, 5) => Self::E2m1,
            (Kind::Mxf4, 1) => Self::E2m1Dense,
            (Kind::I8, 0) => Self::U8,
            (Kind::I8, 1) => Self::S8,
            (Kind::Ti16, 3) => Self::S1z4m11,
            _ => return None,
        })
    }

    /// Elements of 16 bytes of shared memory.
    #[must_use]
    pub const fn per_row(self) -> u32 {
        match self {
            Self::Tf32 => 4,
            Self::F16 | Self::Bf16 | Self::S1z4m11 => 8,
            Self::E2m1Dense => 32,
            _ => 16,
        }
    }

    /// Returns true if a matrix may lie with M or N along its rows: its elements have 8 bits or
    /// more.
    #[must_use]
    pub const fn may_be_transposed(self) -> bool {
        !matches!(self, Self::E2m3 | Self::E3m2 | Self::E2m1 | Self::E2m1Dense)
    }
}

/// The format of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulator {
    /// `.f16`, in the low half of a cell.
    F16,
    /// `.f32`
    F32,
    /// `.s32`
    S32,
}

/// An instruction descriptor (tables 42 to 44), decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionDescriptor {
    /// Rows of A and D.
    pub m: u32,
    /// Columns of B and D.
    pub n: u32,
    /// The format of A.
    pub a: Element,
    /// The format of B.
    pub b: Element,
    /// The format of D.
    pub d: Accumulator,
    /// A is negated.
    pub negate_a: bool,
    /// B is negated.
    pub negate_b: bool,
    /// The dimension of A that is contiguous in shared memory.
    pub major_a: Major,
    /// The dimension of B that is contiguous in shared memory.
    pub major_b: Major,
    /// Sums of integers are clamped.
    pub saturate: bool,
    /// A is sparse.
    pub sparse: bool,
    /// Rows of A have twice as many elements: 64 of 8 bits.
    pub deep: bool,
    /// Selects the metadata of a sparse A.
    pub selector: u32,
    /// The format of block scales.
    pub scale: ScaleFormat,
    /// The byte of a cell at which the scales of A begin.
    pub scale_a: u32,
    /// The byte of a cell at which the scales of B begin.
    pub scale_b: u32,
}

impl InstructionDescriptor {
    /// The descriptor of a product of `kind`. `None` if the manual gives a field no meaning.
    #[must_use]
    pub fn decode(kind: Kind, bits: u32) -> Option<Self> {
        let field = |at: u32, size: u32| bits >> at & ((1 << size) - 1);
        let flag = |at: u32| field(at, 1) != 0;
        let major = |at| if flag(at) { Major::MN } else { Major::K };
        let d = match (kind, field(4, 2)) {
            // Bits 4 and 5 select the scales of B.
            (Kind::Mxf8F6F4 | Kind::Mxf4, _) => Accumulator::F32,
            (Kind::F16, 0) | (Kind::F8F6F4, 0) => Accumulator::F16,
            (Kind::F16 | Kind::Tf32 | Kind::F8F6F4, 1) => Accumulator::F32,
            (Kind::I8 | Kind::Ti16, 2) => Accumulator::S32,
            _ => return None,
        };
        // The bit that asks for other depths.
        let deep = match kind {
            Kind::F8F6F4 => flag(29),
            Kind::Mxf8F6F4 => flag(31),
            // A depth of 96 elements has no layout here.
            Kind::Mxf4 if flag(31) => return None,
            _ => false,
        };
        let (a, b) = (Element::decode(kind, field(7, 3))?, Element::decode(kind, field(10, 3))?);
        // Two tables of the manual disagree whether these matrices may be transposed.
        if kind == Kind::Ti16 && (flag(15) || flag(16)) {
            return None;
        }
        // Where narrower elements and the metadata of so deep rows lie is not known here.
        if deep && (flag(2) || !a.may_be_transposed() || !b.may_be_transposed()) {
            return None;
        }
        let scale = if flag(23) { ScaleFormat::Ue8m0 } else { ScaleFormat::Ue4m3 };
        Some(Self {
            m: field(24, 5) << 4,
            n: field(17, 6) << 3,
            a,
            b,
            d,
            negate_a: kind != Kind::I8 && flag(13),
            negate_b: kind != Kind::I8 && flag(14),
            major_a: major(15),
            major_b: major(16),
            saturate: kind == Kind::I8 && flag(3),
            sparse: flag(2),
            deep,
            selector: field(0, 2),
            scale,
            scale_a: if kind.is_scaled() { field(29, 2) } else { 0 },
            scale_b: if kind.is_scaled() { field(4, 2) } else { 0 },
        })
    }

    /// Bytes of a row of A as it is stored, and of a column of B unless A is sparse.
    #[must_use]
    pub const fn depth_bytes(&self) -> u32 {
        if self.deep { 2 * DEPTH_BYTES } else { DEPTH_BYTES }
    }
}

/// The descriptor of a matrix in shared memory (table 40), decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixDescriptor {
    plain: Descriptor,
    /// A swizzle of 128 bytes whose atoms have 32 bytes.
    wide_atoms: bool,
    /// Bits 53 to 60, which mean something for indices of tables alone.
    segment: u8,
}

impl MatrixDescriptor {
    /// The descriptor in a register. `None` if its fields have no meaning, or if its leading
    /// dimension is an absolute address.
    #[must_use]
    pub const fn decode(bits: u64) -> Option<Self> {
        let (swizzle, wide_atoms) = match bits >> 61 {
            0 => (0, false),
            1 => (3, true),
            2 => (3, false),
            4 => (2, false),
            6 => (1, false),
            _ => return None,
        };
        if bits >> 52 & 1 != 0 {
            return None;
        }
        // The fields below the swizzle are those of `wgmma`.
        let plain = Descriptor { swizzle, ..Descriptor::decode(bits & !(3 << 62)) };
        Some(Self { plain, wide_atoms, segment: (bits >> 53) as u8 })
    }

    /// Of rows of indices for two products, the half that this one uses: 0 or 1. `None` if the
    /// field says something else.
    #[must_use]
    pub const fn segment(self) -> Option<u32> {
        if self.segment < 2 { Some(self.segment as u32) } else { None }
    }

    /// Returns true if 16-byte rows of so many bytes along K lie within the swizzle.
    #[must_use]
    pub const fn holds(self, major: Major, bytes: u32) -> bool {
        match major {
            Major::K if self.wide_atoms => false,
            Major::K => self.plain.swizzle == 0 || 16 << self.plain.swizzle >= bytes,
            Major::MN => true,
        }
    }

    /// Returns the place of the 16-byte row that holds element (`mn`, `k`) of a matrix whose rows
    /// hold `per_row` elements.
    #[must_use]
    pub const fn row(self, major: Major, per_row: u32, mn: u32, k: u32) -> u64 {
        if !self.wide_atoms {
            return self.plain.row(major, per_row, mn, k);
        }
        // CuTe's Swizzle<2, 5, 2> of ((8, n), (4, k)) : ((1, LBO), (8, SBO)) rows.
        let (row, k) = ((mn / per_row) as u64, k as u64);
        let address = self.plain.start
            + row % 8 * 16
            + row / 8 * self.plain.leading
            + k % 4 * 128
            + k / 4 * self.plain.stride;
        address ^ ((address >> 7).wrapping_sub(self.plain.base_offset) & 3) << 5
    }
}
