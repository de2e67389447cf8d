//! The counts that a CTA's recorder keeps of blocks, branches and memory instructions, and their
//! sums over a launch.
//!
//! What one CTA does fits 64 bits: it is executed. A CTA may count for more than 2⁶⁴ others, so
//! that sums have 128 bits. `N` is the type of a counter.

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

use crate::hierarchy::RowTraffic;

/// Adds a count to a sum.
#[inline]
pub(crate) fn add<M: Into<u128>>(total: &mut u128, count: M) {
    *total += count.into();
}

/// The executions of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockCount<N = u128> {
    pub(crate) warps: N,
    pub(crate) lanes: N,
}

impl<N> BlockCount<N> {
    /// Applies `each` to every count and the same one of `other`.
    #[inline]
    pub(crate) fn zip<M: Copy>(&mut self, other: &BlockCount<M>, each: &mut impl FnMut(&mut N, M)) {
        each(&mut self.warps, other.warps);
        each(&mut self.lanes, other.lanes);
    }
}

/// The decisions of the lanes of a conditional branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchCounts<N = u128> {
    /// Lanes that branched.
    pub taken_lanes: N,
    /// Executions by a warp of which some lanes branched and others did not.
    pub divergent: N,
}

impl<N> BranchCounts<N> {
    /// Applies `each` to every count and the same one of `other`.
    #[inline]
    pub(crate) fn zip<M: Copy>(
        &mut self,
        other: &BranchCounts<M>,
        each: &mut impl FnMut(&mut N, M),
    ) {
        each(&mut self.taken_lanes, other.taken_lanes);
        each(&mut self.divergent, other.divergent);
    }
}

/// The widths, in bytes of a lane, of accesses that an assembler makes of several narrower ones and
/// whose passes over banks are others than theirs. Less than four bytes take the passes of a word.
pub const WIDER_BYTES: [u32; 2] = [8, 16];

/// Passes over banks that accesses take as parts of wider ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WiderPasses<N = u128> {
    /// Passes over the banks.
    pub passes: N,
    /// Passes if no two lanes that are served together conflicted.
    pub conflict_free: N,
}

/// The accesses of one memory instruction to one state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCounts<N = u128> {
    /// The space; generic addresses are resolved.
    pub space: StateSpace,
    /// Load, store or update.
    pub kind: AccessKind,
    /// Executions by a warp with at least one lane that takes part.
    pub requests: N,
    /// Bytes that the lanes asked for, each lane's counted.
    pub requested_bytes: N,
    /// Sectors that each request moves, summed (global and local memory).
    pub sectors: N,
    /// Sectors that each request would move if its lanes accessed aligned, consecutive bytes; never
    /// more than it moves. Nsight Compute calls the sum ideal.
    pub ideal_sectors: N,
    /// The transactions of all requests, as the GPU's profiler counts them (global and local
    /// memory): [`crate::coalescing::TransactionRule`]. Of atomics and reductions, the distinct
    /// addresses.
    pub transactions: N,
    /// Passes over the banks (shared memory), or over distinct addresses (constant memory). For
    /// loads from global memory, passes over the banks of a first-level cache that shares them with
    /// shared memory. There are 32 of four bytes, as since capability 7.0, on every GPU.
    pub passes: N,
    /// The value of `passes` if no two lanes that are served together conflicted. `passes` over
    /// this is the conflict degree.
    pub conflict_free: N,
    /// Steps that atomics and reductions take if those of a request to the same address follow each
    /// other. They are the most lanes at one address, of each request, summed (CUDA C Programming
    /// Guide 4.2, section 4.1: such updates are serialised).
    pub update_steps: N,
    /// The passes of accesses of each of [`WIDER_BYTES`], aligned, that hold those of the lanes
    /// (shared memory). They are counted for widths that machine code has of the instruction, and
    /// are zero for all others.
    pub wider: [WiderPasses<N>; WIDER_BYTES.len()],
    /// The traffic of the sectors, once the caches have been replayed; `None` without caches.
    pub traffic: Option<RowTraffic>,
}

impl<N: Default> Default for MemoryCounts<N> {
    fn default() -> Self {
        Self {
            space: StateSpace::Global,
            kind: AccessKind::Load,
            requests: N::default(),
            requested_bytes: N::default(),
            sectors: N::default(),
            ideal_sectors: N::default(),
            transactions: N::default(),
            passes: N::default(),
            conflict_free: N::default(),
            update_steps: N::default(),
            wider: Default::default(),
            traffic: None,
        }
    }
}

impl MemoryCounts {
    /// Adds other counts of the same instruction and space.
    pub fn add<M: Copy + Into<u128>>(&mut self, other: &MemoryCounts<M>) {
        self.zip(other, &mut add);
        if let Some(traffic) = other.traffic {
            *self.traffic.get_or_insert_default() += traffic;
        }
    }
}

impl<N> MemoryCounts<N> {
    /// Applies `each` to every count and the same one of `other`, but for the traffic, and takes
    /// over what does not count.
    #[inline]
    pub(crate) fn zip<M: Copy>(
        &mut self,
        other: &MemoryCounts<M>,
        each: &mut impl FnMut(&mut N, M),
    ) {
        self.space = other.space;
        self.kind = other.kind;
        each(&mut self.requests, other.requests);
        each(&mut self.requested_bytes, other.requested_bytes);
        each(&mut self.sectors, other.sectors);
        each(&mut self.ideal_sectors, other.ideal_sectors);
        each(&mut self.transactions, other.transactions);
        each(&mut self.passes, other.passes);
        each(&mut self.conflict_free, other.conflict_free);
        each(&mut self.update_steps, other.update_steps);
        for (total, wider) in self.wider.iter_mut().zip(other.wider) {
            each(&mut total.passes, wider.passes);
            each(&mut total.conflict_free, wider.conflict_free);
        }
    }
}

/// True of accesses that change memory.
pub(crate) fn writes(kind: AccessKind) -> bool {
    match kind {
        AccessKind::Load | AccessKind::LoadReadOnly => false,
        AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => true,
    }
}
