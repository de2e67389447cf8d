//! The counts that a CTA's recorder keeps of blocks, branches and memory instructions.

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;

use crate::hierarchy::RowTraffic;

/// The executions of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockCount {
    pub(crate) warps: u64,
    pub(crate) lanes: u64,
}

impl BlockCount {
    /// Applies `each` to every count and the same one of `other`.
    #[inline]
    pub(crate) fn zip(&mut self, other: &Self, each: &mut impl FnMut(&mut u64, u64)) {
        each(&mut self.warps, other.warps);
        each(&mut self.lanes, other.lanes);
    }
}

/// The decisions of the lanes of a conditional branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchCounts {
    /// Lanes that branched.
    pub taken_lanes: u64,
    /// Executions by a warp of which some lanes branched and others did not.
    pub divergent: u64,
}

impl BranchCounts {
    /// Applies `each` to every count and the same one of `other`.
    #[inline]
    pub(crate) fn zip(&mut self, other: &Self, each: &mut impl FnMut(&mut u64, u64)) {
        each(&mut self.taken_lanes, other.taken_lanes);
        each(&mut self.divergent, other.divergent);
    }
}

/// The accesses of one memory instruction to one state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCounts {
    /// The space; generic addresses are resolved.
    pub space: StateSpace,
    /// Load, store or update.
    pub kind: AccessKind,
    /// Executions by a warp with at least one lane that takes part.
    pub requests: u64,
    /// Bytes that the lanes asked for, each lane's counted.
    pub requested_bytes: u64,
    /// Sectors that each request moves, summed (global and local memory).
    pub sectors: u64,
    /// Sectors that each request would move if its lanes accessed aligned, consecutive bytes; never
    /// more than it moves. Nsight Compute calls the sum ideal.
    pub ideal_sectors: u64,
    /// The transactions of all requests, as the GPU's profiler counts them (global and local
    /// memory): [`crate::coalescing::TransactionRule`]. Of atomics and reductions, the distinct
    /// addresses.
    pub transactions: u64,
    /// Passes over the banks (shared memory), or over distinct addresses (constant memory). For
    /// loads from global memory, passes over the banks of a first-level cache that shares them with
    /// shared memory. There are 32 of four bytes, as since capability 7.0, on every GPU.
    pub passes: u64,
    /// The value of `passes` if no two lanes that are served together conflicted. `passes` over
    /// this is the conflict degree.
    pub conflict_free: u64,
    /// Steps that atomics and reductions take if those of a request to the same address follow each
    /// other. They are the most lanes at one address, of each request, summed (CUDA C Programming
    /// Guide 4.2, section 4.1: such updates are serialised).
    pub update_steps: u64,
    /// The traffic of the sectors, once the caches have been replayed; `None` without caches.
    pub traffic: Option<RowTraffic>,
}

impl Default for MemoryCounts {
    fn default() -> Self {
        Self {
            space: StateSpace::Global,
            kind: AccessKind::Load,
            requests: 0,
            requested_bytes: 0,
            sectors: 0,
            ideal_sectors: 0,
            transactions: 0,
            passes: 0,
            conflict_free: 0,
            update_steps: 0,
            traffic: None,
        }
    }
}

impl MemoryCounts {
    /// Adds other counts of the same instruction and space.
    pub fn add(&mut self, other: &Self) {
        self.zip(other, &mut |total, count| *total += count);
        if let Some(traffic) = other.traffic {
            *self.traffic.get_or_insert_default() += traffic;
        }
    }

    /// Applies `each` to every count and the same one of `other`, but for the traffic, and takes
    /// over what does not count.
    #[inline]
    pub(crate) fn zip(&mut self, other: &Self, each: &mut impl FnMut(&mut u64, u64)) {
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
    }

    /// Passes that conflicts of banks added (shared memory).
    #[must_use]
    pub fn conflict_passes(&self) -> u64 {
        self.passes.saturating_sub(self.conflict_free)
    }
}
