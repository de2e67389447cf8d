//! Everything static about an instruction of tensor memory (`tcgen05`).

use super::memory_op::MemoryOp;
use crate::semantics::matrix::transfer::Packing;
use crate::semantics::sparse_vector::Selection;
use crate::semantics::tensor_memory::descriptor::Kind;
use crate::semantics::tensor_memory::fragment::Shape;

/// An instruction of tensor memory. Addresses of tensor memory are [`MemoryOp`]s that only say how
/// an address is made.
#[derive(Clone, Debug)]
pub(crate) enum TensorMemoryOp {
    /// `tcgen05.alloc`
    Allocate(Box<Allocate>),
    /// `tcgen05.dealloc`: rows of the address and of the number of columns; an `.exclusive` one
    /// frees what an exclusive allocation took.
    Free { address: u32, columns: u32, exclusive: bool },
    /// `tcgen05.relinquish_alloc_permit`
    Relinquish,
    /// `tcgen05.ld` and `tcgen05.st`
    Transfer(Box<Transfer>),
    /// `tcgen05.cp`
    Copy(Box<CopyFromShared>),
    /// `tcgen05.mma`
    Multiply(Box<TensorMultiply>),
    /// `tcgen05.shift`
    Shift(Box<ShiftRows>),
    /// `tcgen05.wait::ld` and `.wait::st`: nothing is left to wait for, but checkers hear of it.
    Wait { loads: bool },
}

/// `tcgen05.alloc`.
#[derive(Clone, Debug)]
pub(crate) struct Allocate {
    /// The store of the address to shared memory.
    pub(crate) destination: MemoryOp,
    /// Row of the number of columns.
    pub(crate) columns: u32,
    /// `.cta_group::2`: both CTAs of a pair allocate the same columns.
    pub(crate) pair: bool,
    /// `.exclusive`: the most columns that it may take.
    pub(crate) exclusive: Option<u32>,
}

/// `tcgen05.ld` and `tcgen05.st`.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) address: MemoryOp,
    pub(crate) shape: Shape,
    /// `.pack::16b` or `.unpack::16b`.
    pub(crate) packed: bool,
    pub(crate) is_store: bool,
    /// Rows of the registers; none if nothing needs the values.
    pub(crate) rows: Vec<u32>,
    /// Registers that the instruction has.
    pub(crate) registers: u32,
    /// `tcgen05.ld.red`
    pub(crate) reduction: Option<Reduction>,
    /// `tcgen05.ld.spcompress`
    pub(crate) compression: Option<Compression>,
}

/// The compression of each thread's cells by `tcgen05.ld.spcompress`. The transfer itself then has
/// no rows.
#[derive(Clone, Debug)]
pub(crate) struct Compression {
    pub(crate) selection: Selection,
    /// Rows of the indices, and of the two values that are kept of each four cells.
    pub(crate) metadata: Vec<u32>,
    pub(crate) kept: Vec<u32>,
}

/// The reduction of each thread's registers by `tcgen05.ld.red`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// Row of the result.
    pub(crate) row: u32,
    pub(crate) values: ReducedValues,
    /// The maximum, else the minimum.
    pub(crate) maximum: bool,
}

/// The values that are reduced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReducedValues {
    F32 {
        /// `.abs`
        magnitudes: bool,
        /// `.NaN`
        nan: bool,
    },
    U32,
    S32,
}

/// `tcgen05.cp`.
#[derive(Clone, Debug)]
pub(crate) struct CopyFromShared {
    /// False if nothing needs the contents.
    pub(crate) computes: bool,
    pub(crate) address: MemoryOp,
    /// 64-bit row of the descriptor.
    pub(crate) source: u32,
    /// Rows of shared memory, and 16-byte parts of each.
    pub(crate) rows: u32,
    pub(crate) parts: u32,
    pub(crate) spread: Spread,
    pub(crate) packing: Packing,
    /// `.cta_group::2`: each CTA of a pair copies from its own shared memory.
    pub(crate) pair: bool,
}

/// The lanes that receive row `r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Lane `r`.
    Once,
    /// The first lane of quarter `r`.
    Quarters,
    /// `.warpx2::02_13`: lanes `r` and `r + 64`.
    Halves,
    /// `.warpx2::01_23`: lanes `r` and `r + 32` of each half, with 32 rows.
    Neighbours,
    /// `.warpx4`: lane `r` of each quarter.
    All,
}

/// `tcgen05.shift.down`: 32 bytes of each of 32 lanes move up to the lane before.
#[derive(Clone, Debug)]
pub(crate) struct ShiftRows {
    pub(crate) address: MemoryOp,
    /// False if nothing needs the contents.
    pub(crate) computes: bool,
    /// `.cta_group::2`: in both CTAs of a pair.
    pub(crate) pair: bool,
}

/// `tcgen05.mma`: D = A·B + D with D in tensor memory.
#[derive(Clone, Debug)]
pub(crate) struct TensorMultiply {
    /// Index into [`Program::instructions`](super::Program::instructions).
    pub(crate) instruction: u32,
    /// False if nothing needs the product: descriptors and their addresses are checked.
    pub(crate) computes: bool,
    pub(crate) kind: Kind,
    /// CTAs that work together: 1 or 2.
    pub(crate) ctas: u32,
    /// `.ws`
    pub(crate) weight_stationary: bool,
    pub(crate) d: MemoryOp,
    pub(crate) a: FactorA,
    /// `.ashift`: A's rows in tensor memory are shifted when the product is done.
    pub(crate) shifts_a: bool,
    /// 64-bit row of B's descriptor.
    pub(crate) b: u32,
    /// Row of the instruction descriptor.
    pub(crate) descriptor: u32,
    /// The metadata of a sparse A.
    pub(crate) metadata: Option<MemoryOp>,
    /// `.decompress::lut::b`: the tables whose entries B's indices choose.
    pub(crate) tables_of_b: Option<MemoryOp>,
    pub(crate) scales: Option<BlockScales>,
    /// Rows of the masks of lanes that are not written.
    pub(crate) disabled_lanes: Vec<u32>,
    /// The predicate that is true if the product is added to D, and a flag that inverts it.
    pub(crate) adds: (u32, bool),
    /// D is divided by two to this power first.
    pub(crate) shift_d: u32,
    /// 64-bit row of the zero-column mask.
    pub(crate) zeros: Option<u32>,
}

/// Place of A.
#[derive(Clone, Debug)]
pub(crate) enum FactorA {
    /// 64-bit row of its descriptor.
    Shared(u32),
    Tensor(Box<MemoryOp>),
}

/// Block scales of A and B.
#[derive(Clone, Debug)]
pub(crate) struct BlockScales {
    pub(crate) a: MemoryOp,
    pub(crate) b: MemoryOp,
    /// Factors of one row or column.
    pub(crate) factors: u32,
}
