//! The operands of asynchronous instructions that do not fit into a micro-operation.

use super::memory_op::{AtomicOperation, MemoryOp};
use super::op::GuardPredicate;
use crate::tensor_map::{Element, Field, Im2colMode};

/// `cp.async`: from global memory to the CTA's own shared memory. Both addresses are memory
/// operations of the size that is copied.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) source: MemoryOp,
    pub(crate) destination: MemoryOp,
    pub(crate) extent: CopyExtent,
}

/// The part of its source that `cp.async` copies; the rest of the destination becomes zero.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CopyExtent {
    All,
    /// As many bytes as this row says.
    Bytes(u32),
    /// Everything where this predicate is false, nothing where it is true.
    Unless(GuardPredicate),
}

/// Operand values of [`Code::AsyncWait`](super::op::Code::AsyncWait): `n` is the action, `b` the
/// queue.
pub(crate) mod wait {
    /// Close the group of copies since the last commit.
    pub(crate) const COMMIT: u16 = 0;
    /// Wait for all but the latest `a` groups.
    pub(crate) const GROUPS: u16 = 1;
    /// Wait for all copies, in a group or not.
    pub(crate) const ALL: u16 = 2;

    /// The queue of `cp.async`.
    pub(crate) const COPIES: u32 = 0;
    /// The queue of bulk copies, which are done when they are issued: only the observer is told.
    pub(crate) const BULK: u32 = 1;
    /// The queue of `wgmma`, likewise.
    pub(crate) const WARPGROUP: u32 = 2;
}

/// An operation on an mbarrier object.
#[derive(Clone, Debug)]
pub(crate) struct MbarrierOp {
    /// The access to the object.
    pub(crate) object: MemoryOp,
    pub(crate) action: MbarrierAction,
    /// Row of a mask of the ranks whose objects at the same place are meant.
    pub(crate) multicast: Option<u32>,
}

/// An action on an mbarrier object. Counts are rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MbarrierAction {
    Init {
        count: u32,
        layout_v1: bool,
    },
    Invalidate,
    ExpectTx {
        bytes: u32,
    },
    CompleteTx {
        bytes: u32,
    },
    /// The operation's destination is the row of the state.
    Arrive(Arrival),
    /// `tcgen05.commit`: an arrival when the tensor cores are done.
    Commit,
    /// `cp.async.mbarrier.arrive`.
    ArriveWithCopies {
        /// `.noinc`: the arrival has been counted when the object was initialised.
        counted: bool,
    },
    /// The operation's destination is the predicate.
    Wait(PhaseWait),
    /// `mbarrier.check_layout`: the operation's destination is the predicate.
    CheckLayout {
        v1: bool,
    },
}

impl MbarrierAction {
    /// Returns true if it arrives when an asynchronous operation ends.
    pub(crate) fn is_asynchronous(&self) -> bool {
        matches!(self, Self::Commit | Self::ArriveWithCopies { .. })
    }

    /// Returns true if the object may be another CTA's, which may have exited.
    pub(crate) fn may_be_late(&self) -> bool {
        matches!(
            self,
            Self::Arrive(_) | Self::Commit | Self::ExpectTx { .. } | Self::CompleteTx { .. }
        )
    }
}

/// `mbarrier.arrive` and `mbarrier.arrive_drop`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Row of the number of arrivals; one if there is none.
    pub(crate) count: Option<u32>,
    /// Row of the bytes to expect.
    pub(crate) expect_tx: Option<u32>,
    pub(crate) drops: bool,
    pub(crate) must_not_complete: bool,
}

/// `mbarrier.test_wait` and `mbarrier.try_wait`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseWait {
    /// Row of the state (64 bits) or of the phase's parity (32 bits).
    pub(crate) phase: u32,
    pub(crate) parity: bool,
    /// True if the thread may be suspended: `try_wait`.
    pub(crate) suspends: bool,
}

/// `cp.async.bulk`, `cp.reduce.async.bulk` and `st.bulk`. Each lane copies a range of its own.
#[derive(Clone, Debug)]
pub(crate) struct BulkOp {
    /// The access to the destination, with the reduction where there is one.
    pub(crate) destination: MemoryOp,
    /// Nothing is copied from nowhere: zeros.
    pub(crate) source: Option<MemoryOp>,
    /// Row of the size in bytes.
    pub(crate) size: BulkSize,
    /// The mbarrier that is told of the bytes.
    pub(crate) mbarrier: Option<MemoryOp>,
    /// Row of a mask of the ranks to copy to.
    pub(crate) multicast: Option<u32>,
    /// Row of a mask of the bytes that are copied of each sixteen.
    pub(crate) byte_mask: Option<u32>,
    /// Rows of the bytes at either end of the source that may lie outside memory.
    pub(crate) ignored: Option<[u32; 2]>,
    /// True if the destination must be the CTA's own.
    pub(crate) own: bool,
    /// True if the lanes of a warp do it together, once.
    pub(crate) once: bool,
}

impl BulkOp {
    /// Returns true if it copies from shared to global memory, of which only groups tell when that
    /// is done.
    pub(crate) fn is_store(&self) -> bool {
        let moves = self.destination.moves && self.source.is_some();
        moves
            && self.mbarrier.is_none()
            && self.destination.space == super::memory_op::Space::Global
    }
}

/// A size in a row of 32 or 64 bits, and the number of which it must be a multiple.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkSize {
    pub(crate) row: u32,
    pub(crate) wide: bool,
    pub(crate) multiple_of: u32,
}

/// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and `tensormap.replace`.
#[derive(Clone, Debug)]
pub(crate) enum TensorOp {
    Copy(Box<TensorCopy>),
    Replace {
        /// The access to the map.
        map: Box<MemoryOp>,
        field: Field,
        /// Row of the new value.
        value: u32,
        /// True if the row is one of 64 bits.
        wide: bool,
    },
}

/// A copy between a box of a tensor in global memory and shared memory.
#[derive(Clone, Debug)]
pub(crate) struct TensorCopy {
    /// Address of the tensor map.
    pub(crate) map: MemoryOp,
    /// Row of the 64-bit address that stands for the one in the map.
    pub(crate) global_address: Option<u32>,
    /// Sizes and strides that stand for those in the map.
    pub(crate) shape: Option<ShapeRows>,
    /// Dimensions that the map must have.
    pub(crate) rank: usize,
    pub(crate) boxes: Boxes,
    /// Rows of the coordinates.
    pub(crate) coordinates: Vec<u32>,
    /// Access to the tensor as the observer is told of it.
    pub(crate) global: MemoryOp,
    pub(crate) shared: MemoryOp,
    pub(crate) direction: Direction,
}

/// Rows of a tensor's sizes and strides (manual, "Tensor Attribute Override").
#[derive(Clone, Debug)]
pub(crate) struct ShapeRows {
    /// Elements of each dimension, 8 bits.
    pub(crate) sizes: Vec<u32>,
    /// The lower 32 bits of strides, in units of 16 bytes.
    pub(crate) lower_strides: Vec<u32>,
    /// Four further bits of each stride, from the lowest on; tensors of one dimension have none.
    pub(crate) upper_strides: Option<u32>,
}

/// The elements that a tensor's box holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boxes {
    Tile,
    /// `tile::gather4` and `tile::scatter4`.
    FourRows,
    /// The `im2col` modes.
    Pixels {
        mode: Im2colMode,
        /// Rows of the offsets into the filter, or of `wOffset`; none of those that are 0.
        offsets: [Option<u32>; 3],
        /// Row of `wHalo`.
        halo: Option<u32>,
    },
}

/// The destination of a tensor's elements.
#[derive(Clone, Debug)]
pub(crate) enum Direction {
    ToShared {
        mbarrier: Box<MemoryOp>,
        /// Row of a mask of the ranks to copy to.
        multicast: Option<u32>,
        /// True if the destination must be the CTA's own.
        own: bool,
        /// `.cta_group::2`: the mbarrier may be in another CTA than the destination.
        pair: bool,
    },
    ToGlobal,
    /// The operation on elements of each type that allows it, in the order of [`Element::ALL`].
    Reduce([Option<AtomicOperation>; Element::ALL.len()]),
}
