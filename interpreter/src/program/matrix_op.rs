//! Everything static about a matrix instruction.

use super::memory_op::MemoryOp;
use crate::semantics::matrix::Shape;
use crate::semantics::matrix::element::Format;
use crate::semantics::matrix::product::BitOperation;
use crate::semantics::matrix::scale::ScaleFormat;
use crate::semantics::matrix::sparse::{Metadata, Sparsity};
use crate::semantics::matrix::transfer::Packing;
use crate::semantics::matrix::warpgroup::Major;
use crate::semantics::rounding::Mode;
use crate::semantics::sparse_vector::Expansion;

/// A matrix instruction, or one on structured sparsity.
#[derive(Clone, Debug)]
pub(crate) enum MatrixOp {
    /// `wmma.mma`, `mma`, `mma.sp`.
    Multiply(Box<Multiply>),
    /// `ldmatrix` and `stmatrix`.
    Rows(Box<RowTransfer>),
    /// `wmma.load` and `wmma.store`.
    Fragment(Box<FragmentTransfer>),
    /// `wgmma.mma_async`: one warp's part.
    Warpgroup(Box<WarpgroupMultiply>),
    /// `wgmma.fence`: the warps of a warpgroup come together.
    WarpgroupFence,
    /// `movmatrix`: source and destination row.
    Transpose { source: u32, destination: u32 },
    /// `spcompress`, by each lane for itself.
    Compress(Box<VectorCompression>),
    /// `spdecompress`, by each lane for itself.
    Expand(Box<VectorExpansion>),
    /// One whose result nothing needs.
    CountedOnly,
}

impl MatrixOp {
    /// Returns true if the four warps of a warpgroup execute it together.
    pub(crate) fn is_of_warpgroup(&self) -> bool {
        matches!(self, Self::Warpgroup(_) | Self::WarpgroupFence)
    }

    /// Returns true if lanes work alone.
    pub(crate) fn is_of_lanes(&self) -> bool {
        matches!(self, Self::Compress(_) | Self::Expand(_))
    }
}

/// `spcompress`: two of each four elements of a thread's registers are kept.
#[derive(Clone, Debug)]
pub(crate) struct VectorCompression {
    pub(crate) element_bits: u32,
    pub(crate) index_bits: u32,
    /// Row of the sparsity descriptor.
    pub(crate) descriptor: u32,
    /// Rows of the elements.
    pub(crate) dense: Vec<u32>,
    /// Rows of the indices and of the elements that are kept.
    pub(crate) metadata: Vec<u32>,
    pub(crate) kept: Vec<u32>,
}

/// `spdecompress`: elements go to their places among zeros.
#[derive(Clone, Debug)]
pub(crate) struct VectorExpansion {
    pub(crate) expansion: Expansion,
    /// Rows of the indices and of the stored elements.
    pub(crate) metadata: Vec<u32>,
    pub(crate) stored: Vec<u32>,
    /// Rows of all elements.
    pub(crate) dense: Vec<u32>,
}

/// Registers that hold elements of a matrix, and where in the matrix those are.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    /// Rows of the register file, one for each register.
    pub(crate) rows: Vec<u32>,
    /// Index into the dense matrix (row-major, product after product) of every element, by
    /// register, then lane, then element within the register.
    pub(crate) places: Vec<u16>,
    /// True if the places come in runs of eight consecutive ones.
    pub(crate) has_runs: bool,
}

/// A matrix multiplication D = A·B + C.
#[derive(Clone, Debug)]
pub(crate) struct Multiply {
    /// The extents of one product; `k` counts units of [`Format`].
    pub(crate) shape: Shape,
    /// Independent products: 4 for `mma.m8n8k4` with `.f16`, else 1.
    pub(crate) products: u32,
    pub(crate) a: Fragment,
    pub(crate) a_format: Format,
    pub(crate) b: Fragment,
    pub(crate) b_format: Format,
    pub(crate) c: Fragment,
    pub(crate) d: Fragment,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) sparse: Option<Sparse>,
    pub(crate) scales: Option<[Scale; 2]>,
}

/// One warp's part of D = A·B + D of a warpgroup, with B and perhaps A in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct WarpgroupMultiply {
    /// Index into [`Program::instructions`](super::Program::instructions).
    pub(crate) instruction: u32,
    /// False if nothing needs the product: descriptors and their addresses are checked.
    pub(crate) computes: bool,
    /// The extents of the warp's part; `k` counts units of [`Format`].
    pub(crate) shape: Shape,
    pub(crate) a: WarpgroupA,
    pub(crate) a_format: Format,
    /// 64-bit row of B's descriptor.
    pub(crate) b: u32,
    pub(crate) b_format: Format,
    pub(crate) b_major: Major,
    /// Rows of the accumulator's registers.
    pub(crate) d: Vec<u32>,
    pub(crate) arithmetic: Arithmetic,
    /// The predicate that is true if the product is added to D, and a flag that inverts it.
    pub(crate) scale_d: (u32, bool),
    pub(crate) negate_a: bool,
    pub(crate) negate_b: bool,
    /// The metadata of a sparse A, half of whose columns are stored.
    pub(crate) sparse: Option<Sparse>,
}

/// Place of A.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WarpgroupA {
    /// The rows of its registers.
    Registers([u32; 4]),
    /// In shared memory; the 64-bit row of its descriptor.
    Descriptor { row: u32, major: Major },
}

/// Format of the elements of C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulator {
    /// Two to a register.
    F16,
    F32,
}

/// Arithmetic by which products are computed and rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Float { c: Accumulator, d: Accumulator, saturate: bool },
    Double { mode: Mode },
    Integer { saturate: bool },
    Bits { operation: BitOperation },
}

/// The operands of `mma.sp` and `wgmma.mma_async.sp` beyond the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sparse {
    /// Row of the metadata.
    pub(crate) metadata: u32,
    pub(crate) selector: u32,
    pub(crate) layout: Metadata,
    pub(crate) sparsity: Sparsity,
    /// `::ordered_metadata`.
    pub(crate) ordered: bool,
}

/// The block scale of A or B.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Rows of the factors and of the two selectors.
    pub(crate) data: u32,
    pub(crate) byte_id: u32,
    pub(crate) thread_id: u32,
    /// Factors in each row of A or column of B.
    pub(crate) blocks: u32,
    pub(crate) format: ScaleFormat,
}

/// `ldmatrix` or `stmatrix`: an access of a row by each lane that gives an address, and a
/// permutation of bytes.
#[derive(Clone, Debug)]
pub(crate) struct RowTransfer {
    /// Between memory and a row of the register file of [`Packing::row_bytes`].
    pub(crate) access: MemoryOp,
    /// The row of that access.
    pub(crate) staging: u32,
    /// The lanes whose addresses are used.
    pub(crate) lanes: u32,
    pub(crate) packing: Packing,
    /// The registers.
    pub(crate) rows: Vec<u32>,
    /// For each register and lane where its four bytes are among those of all rows.
    pub(crate) places: Vec<[u16; 4]>,
}

/// `wmma.load` or `wmma.store`: one access for each part of the fragment that is contiguous in
/// memory.
#[derive(Clone, Debug)]
pub(crate) struct FragmentTransfer {
    /// Row of the address, if it is in a register; the same in all lanes.
    pub(crate) base: Option<u32>,
    pub(crate) wide_base: bool,
    pub(crate) offset: u64,
    /// Row of the distance of consecutive rows or columns in elements.
    pub(crate) stride: u32,
    pub(crate) element_bits: u32,
    /// Number of rows or columns; their addresses must be multiples of `alignment`.
    pub(crate) instances: u32,
    pub(crate) alignment: u32,
    /// 64-bit row that receives the addresses.
    pub(crate) addresses: u32,
    pub(crate) parts: Vec<FragmentPart>,
}

/// One access of a [`FragmentTransfer`].
#[derive(Clone, Debug)]
pub(crate) struct FragmentPart {
    /// Between memory and a row of its own; the address is in the transfer's `addresses`.
    pub(crate) access: MemoryOp,
    /// Each lane's place: the number of the row or column, and the element in it.
    pub(crate) places: Box<[(u16, u16); 32]>,
    /// Place of the access's row in a register, if it is only a part of one.
    pub(crate) part_of: Option<RegisterPart>,
    /// Rows that hold a copy of the register.
    pub(crate) copies: Vec<u32>,
}

/// Some bits of a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisterPart {
    pub(crate) row: u32,
    pub(crate) shift: u32,
    pub(crate) bits: u32,
}
