//! Tensor maps, which describe a tensor to a bulk copy (manual, section 5.5).
//!
//! The 128 bytes of a map are opaque: the driver writes them, or `tensormap.replace` does, and only
//! copies read them. So the layout here is our own. As on a GPU, 128 zero bytes are a map whose
//! fields have their first values, which kernels that make maps themselves rely on.

mod geometry;
mod im2col;

use gpucast_ptx_frontend::ScalarType;

pub(crate) use geometry::{BoxPlace, BoxRow};
pub use im2col::{Im2col, Im2colMode};

/// Bytes of a tensor map.
pub const BYTES: usize = 128;

/// Offset of the tensor's address, 64 bits, in a map: launches learn addresses late.
pub const ADDRESS_OFFSET: usize = 0;

/// The type of a tensor's elements, in the order of the manual's table for `tensormap.replace`.
/// Packed elements of 4 and 6 bits, which follow there, are not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the manual's types")]
pub enum Element {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    /// Subnormal elements are loaded as zeros.
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    /// Subnormal elements are loaded as zeros.
    Tf32Ftz,
}

impl Element {
    /// All, in the order of their numbers in a map.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F32Ftz,
        Self::F64,
        Self::Bf16,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// The PTX type.
    #[must_use]
    pub const fn scalar(self) -> ScalarType {
        match self {
            Self::U8 => ScalarType::U8,
            Self::U16 => ScalarType::U16,
            Self::U32 => ScalarType::U32,
            Self::S32 => ScalarType::S32,
            Self::U64 => ScalarType::U64,
            Self::S64 => ScalarType::S64,
            Self::F16 => ScalarType::F16,
            Self::F32 | Self::F32Ftz => ScalarType::F32,
            Self::F64 => ScalarType::F64,
            Self::Bf16 => ScalarType::Bf16,
            Self::Tf32 | Self::Tf32Ftz => ScalarType::Tf32,
        }
    }

    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// Returns true for a floating-point type.
    const fn is_float(self) -> bool {
        !matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::S32 | Self::U64 | Self::S64)
    }

    /// Returns true if subnormal elements are loaded as zeros.
    pub(crate) const fn flushes(self) -> bool {
        matches!(self, Self::F32Ftz | Self::Tf32Ftz)
    }
}

/// The exchange of 16-byte parts of a box in shared memory, so that its columns meet no bank twice.
/// Bits of the address are combined with higher ones by exclusive or.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Swizzle {
    /// They stay where they are.
    #[default]
    None,
    /// Within 32 bytes: bit 4 with bit 7.
    B32,
    /// Within 64 bytes: bits 4 and 5 with bits 7 and 8.
    B64,
    /// Within 128 bytes: bits 4 to 6 with bits 7 to 9.
    B128,
    /// Within 128 bytes, 32 bytes at a time: bits 5 and 6 with bits 7 and 8.
    B128Atom32,
}

impl Swizzle {
    /// Returns the new address of the byte at `address` of shared memory.
    #[must_use]
    pub const fn apply(self, address: u64) -> u64 {
        address
            ^ match self {
                Self::None => 0,
                Self::B32 => address >> 3 & 0x10,
                Self::B64 => address >> 3 & 0x30,
                Self::B128 => address >> 3 & 0x70,
                Self::B128Atom32 => address >> 2 & 0x60,
            }
    }

    /// Its number in the manual's table for `tensormap.replace`, beside that of the atomicity.
    const fn mode(self) -> u8 {
        match self {
            Self::None => 0,
            Self::B32 => 1,
            Self::B64 => 2,
            Self::B128 | Self::B128Atom32 => 3,
        }
    }

    /// Bytes within which it moves parts, which no row of a box may exceed if it is a swizzle at
    /// all.
    pub(crate) const fn width(self) -> u32 {
        match self {
            Self::None => 16,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 | Self::B128Atom32 => 128,
        }
    }
}

/// Content of boxes outside the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zero,
    /// NaNs, of floating-point elements.
    Nan,
}

/// A tensor map. Dimension 0 is the one whose elements lie next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Device address of the tensor, a multiple of 16.
    pub global_address: u64,
    /// Type of the elements.
    pub element: Element,
    /// Number of dimensions, 1 to 5; the next fields count as far as there are dimensions.
    pub rank: usize,
    /// Elements of each dimension.
    pub global_dim: [u32; 5],
    /// Bytes from one element to the next of dimensions 1 and up, multiples of 16.
    pub global_stride: [u64; 4],
    /// Elements of a box in each dimension, at most 256, before steps are taken.
    pub box_dim: [u16; 5],
    /// Steps through a box, at most 8; dimension 0 is traversed without.
    pub element_stride: [u8; 5],
    /// Layout of boxes in shared memory.
    pub swizzle: Swizzle,
    /// Value of elements outside the tensor.
    pub fill: Fill,
    /// The mode for images; tiles have none.
    pub im2col: Option<Im2col>,
}

/// A field of a tensor map that no copy can work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {value}, but must be {allowed}")]
pub struct BadMap {
    /// The field.
    pub what: &'static str,
    /// Its value.
    pub value: u64,
    /// The values that are allowed.
    pub allowed: &'static str,
}

/// Places of the fields in the 128 bytes.
mod at {
    use std::ops::Range;

    pub(super) const ELEMENT: usize = 8;
    /// One less than the rank.
    pub(super) const RANK: usize = 9;
    pub(super) const INTERLEAVE: usize = 10;
    pub(super) const SWIZZLE: usize = 11;
    pub(super) const ATOMICITY: usize = 12;
    pub(super) const FILL: usize = 13;
    pub(super) const MODE: usize = 14;

    /// The field of dimension `index` in an array of elements of `bytes` bytes.
    const fn element(start: usize, bytes: usize, index: usize) -> Range<usize> {
        start + bytes * index..start + bytes * (index + 1)
    }
    pub(super) const fn global_dim(index: usize) -> Range<usize> {
        element(16, 4, index)
    }
    pub(super) const fn global_stride(index: usize) -> Range<usize> {
        element(40, 8, index)
    }
    pub(super) const fn box_dim(index: usize) -> Range<usize> {
        element(72, 2, index)
    }
    pub(super) const fn element_stride(index: usize) -> Range<usize> {
        element(82, 1, index)
    }
    pub(super) const fn lower(index: usize) -> Range<usize> {
        element(88, 2, index)
    }
    pub(super) const fn upper(index: usize) -> Range<usize> {
        element(94, 2, index)
    }
    pub(super) const CHANNELS: Range<usize> = 100..102;
    pub(super) const PIXELS: Range<usize> = 102..104;
}

/// A field that `tensormap.replace` replaces (manual, section 9.7.9.27.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    GlobalAddress,
    /// One less than the rank.
    Rank,
    BoxDim(u8),
    GlobalDim(u8),
    GlobalStride(u8),
    ElementStride(u8),
    ElementType,
    Interleave,
    Swizzle,
    Atomicity,
    Fill,
}

impl Field {
    /// The bytes of a map that are replaced, and their new value. Values that do not fit become the
    /// largest one, which no copy takes.
    pub(crate) fn replaced(self, value: u64) -> (std::ops::Range<usize>, [u8; 8]) {
        let byte = |at: usize| at..at + 1;
        let range = match self {
            Self::GlobalAddress => ADDRESS_OFFSET..ADDRESS_OFFSET + 8,
            Self::Rank => byte(at::RANK),
            Self::BoxDim(index) => at::box_dim(index.into()),
            Self::GlobalDim(index) => at::global_dim(index.into()),
            Self::GlobalStride(index) => at::global_stride(index.into()),
            Self::ElementStride(index) => at::element_stride(index.into()),
            Self::ElementType => byte(at::ELEMENT),
            Self::Interleave => byte(at::INTERLEAVE),
            Self::Swizzle => byte(at::SWIZZLE),
            Self::Atomicity => byte(at::ATOMICITY),
            Self::Fill => byte(at::FILL),
        };
        let largest = u64::MAX >> (64 - 8 * range.len());
        (range, value.min(largest).to_le_bytes())
    }
}

impl TensorMap {
    /// Returns true if a copy of `rank` dimensions can leave out the others, which have one element
    /// each.
    pub(crate) fn is_flat_from(&self, rank: usize) -> bool {
        let is_one = |at: usize| self.global_dim[at] == 1 && self.box_dim[at] == 1;
        rank < self.rank && (rank..self.rank).all(is_one)
    }

    /// The 128 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[ADDRESS_OFFSET..ADDRESS_OFFSET + 8]
            .copy_from_slice(&self.global_address.to_le_bytes());
        bytes[at::ELEMENT] = self.element as u8;
        bytes[at::RANK] = self.rank.saturating_sub(1).min(255) as u8;
        bytes[at::SWIZZLE] = self.swizzle.mode();
        bytes[at::ATOMICITY] = u8::from(self.swizzle == Swizzle::B128Atom32);
        bytes[at::FILL] = u8::from(self.fill == Fill::Nan);
        for index in 0..5 {
            bytes[at::global_dim(index)].copy_from_slice(&self.global_dim[index].to_le_bytes());
            bytes[at::box_dim(index)].copy_from_slice(&self.box_dim[index].to_le_bytes());
            bytes[at::element_stride(index)][0] = self.element_stride[index];
        }
        for index in 0..4 {
            let stride = self.global_stride[index].to_le_bytes();
            bytes[at::global_stride(index)].copy_from_slice(&stride);
        }
        if let Some(im2col) = &self.im2col {
            bytes[at::MODE] = im2col.mode as u8;
            for index in 0..3 {
                bytes[at::lower(index)].copy_from_slice(&im2col.lower[index].to_le_bytes());
                bytes[at::upper(index)].copy_from_slice(&im2col.upper[index].to_le_bytes());
            }
            bytes[at::CHANNELS].copy_from_slice(&im2col.channels.to_le_bytes());
            bytes[at::PIXELS].copy_from_slice(&im2col.pixels.to_le_bytes());
        }
        bytes
    }

    /// The map of 128 bytes.
    ///
    /// # Errors
    ///
    /// [`BadMap`] names a field whose value is impossible or not executed.
    pub fn decode(bytes: &[u8; BYTES]) -> Result<Self, BadMap> {
        let bad = |what, value: u8, allowed| BadMap { what, value: value.into(), allowed };
        let element = Element::ALL.get(usize::from(bytes[at::ELEMENT])).copied().ok_or(bad(
            "the element type of a tensor map",
            bytes[at::ELEMENT],
            "0 to 12 (packed elements are not executed)",
        ))?;
        if bytes[at::INTERLEAVE] != 0 {
            let what = "the interleaved layout of a tensor map";
            return Err(bad(what, bytes[at::INTERLEAVE], "0 (others are not executed)"));
        }
        let swizzle = match (bytes[at::SWIZZLE], bytes[at::ATOMICITY]) {
            (0, _) => Swizzle::None,
            (1, 0) => Swizzle::B32,
            (2, 0) => Swizzle::B64,
            (3, 0) => Swizzle::B128,
            (3, 1) => Swizzle::B128Atom32,
            (mode @ 1..=3, atomicity) => {
                let allowed = if mode == 3 { "0 or 1" } else { "0" };
                return Err(bad("the swizzle atomicity of a tensor map", atomicity, allowed));
            }
            (mode, _) => {
                let allowed = "0 to 3 (96 bytes are not executed)";
                return Err(bad("the swizzle mode of a tensor map", mode, allowed));
            }
        };
        let fill = match bytes[at::FILL] {
            0 => Fill::Zero,
            1 => Fill::Nan,
            other => return Err(bad("the fill mode of a tensor map", other, "0 or 1")),
        };
        let short = |range: std::ops::Range<usize>| [bytes[range.start], bytes[range.start + 1]];
        let mode = bytes[at::MODE];
        let im2col = Im2colMode::of(mode).map(|mode| Im2col {
            mode,
            lower: std::array::from_fn(|index| i16::from_le_bytes(short(at::lower(index)))),
            upper: std::array::from_fn(|index| i16::from_le_bytes(short(at::upper(index)))),
            channels: u16::from_le_bytes(short(at::CHANNELS)),
            pixels: u16::from_le_bytes(short(at::PIXELS)),
        });
        if im2col.is_none() && mode != 0 {
            return Err(bad("the mode of a tensor map", mode, "0 to 3"));
        }
        let wide = |range: std::ops::Range<usize>| {
            bytes[range].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
        };
        let map = Self {
            global_address: wide(ADDRESS_OFFSET..ADDRESS_OFFSET + 8),
            element,
            rank: usize::from(bytes[at::RANK]) + 1,
            global_dim: std::array::from_fn(|index| wide(at::global_dim(index)) as u32),
            global_stride: std::array::from_fn(|index| wide(at::global_stride(index))),
            box_dim: std::array::from_fn(|index| u16::from_le_bytes(short(at::box_dim(index)))),
            element_stride: std::array::from_fn(|index| bytes[at::element_stride(index)][0]),
            swizzle,
            fill,
            im2col,
        };
        map.check()?;
        Ok(map)
    }

    /// Checks that the fields are as the manual and the driver's documentation demand.
    ///
    /// # Errors
    ///
    /// [`BadMap`] names the first field that is not.
    pub fn check(&self) -> Result<(), BadMap> {
        let bad = |what, value, allowed| Err(BadMap { what, value, allowed });
        let ranks = if self.im2col.is_some() { 3..=5 } else { 1..=5 };
        if !ranks.contains(&self.rank) {
            let allowed = if self.im2col.is_some() { "3 to 5" } else { "1 to 5" };
            return bad("the rank of a tensor map", self.rank as u64, allowed);
        }
        if !self.global_address.is_multiple_of(16) {
            return bad("the address in a tensor map", self.global_address, "a multiple of 16");
        }
        if self.global_dim[..self.rank].contains(&0) {
            return bad("a dimension of a tensor", 0, "at least 1");
        }
        for &stride in &self.global_stride[..self.rank - 1] {
            if !stride.is_multiple_of(16) || stride >= 1 << 40 {
                return bad("a stride of a tensor", stride, "a multiple of 16 below 2^40");
            }
        }
        for &step in &self.element_stride[1..self.rank] {
            if !(1..=8).contains(&step) {
                return bad("a step through a tensor", step.into(), "1 to 8");
            }
        }
        if let Some(im2col) = &self.im2col {
            im2col.check(self)?;
        } else if let Some(&size) =
            self.box_dim[..self.rank].iter().find(|size| !(1..=256).contains(*size))
        {
            return bad("a dimension of a box", size.into(), "1 to 256");
        }
        if self.fill == Fill::Nan && !self.element.is_float() {
            return bad("the fill mode of a tensor map of integers", 1, "0");
        }
        let row = self.row_bytes();
        if !row.is_multiple_of(16) {
            return bad("the bytes of a box's row", row.into(), "a multiple of 16");
        }
        if self.swizzle != Swizzle::None && row > self.swizzle.width() {
            let allowed = "at most the swizzle's width";
            return bad("the bytes of a swizzled box's row", row.into(), allowed);
        }
        Ok(())
    }
}
