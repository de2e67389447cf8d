//! The operands of asynchronous instructions that do not fit into a micro-operation.

use super::memory_op::MemoryOp;
use super::op::GuardPredicate;

/// `cp.async`: from global memory to the CTA's own shared memory. Both addresses are memory
/// operations of the size that is copied.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) source: MemoryOp,
    pub(crate) destination: MemoryOp,
    pub(crate) extent: CopyExtent,
}

/// How much of its source `cp.async` copies; the rest of the destination becomes zero.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CopyExtent {
    All,
    /// As many bytes as this row says.
    Bytes(u32),
    /// Everything where this predicate is false, nothing where it is true.
    Unless(GuardPredicate),
}

/// What [`Code::AsyncWait`](super::op::Code::AsyncWait) does, in `n`.
pub(crate) mod wait {
    /// Close the group of copies since the last commit.
    pub(crate) const COMMIT: u16 = 0;
    /// Wait for all but the latest `a` groups.
    pub(crate) const GROUPS: u16 = 1;
    /// Wait for all copies, in a group or not.
    pub(crate) const ALL: u16 = 2;
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

/// What is done to an mbarrier object. Counts are rows.
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
    /// Whether the thread may be suspended: `try_wait`.
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
    /// Whether the destination must be the CTA's own.
    pub(crate) own: bool,
}

/// A size in a row of 32 or 64 bits, and what it must be a multiple of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkSize {
    pub(crate) row: u32,
    pub(crate) wide: bool,
    pub(crate) multiple_of: u32,
}
