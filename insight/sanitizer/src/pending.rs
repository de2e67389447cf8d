//! Asynchronous operations that still read shared memory: bulk copies out of it, from their issue
//! until their own thread has waited for their group.
//!
//! The interpreter reads at the issue. On a GPU the reads may come as late as the wait. A write
//! before the wait therefore races with them, even one by the thread itself.

use std::collections::HashMap;

use gpucast_interpreter::{GroupQueue, GroupStep};

/// Bytes of the cells whose pending reads are counted.
const CELL: u64 = 16;

/// A thread's read that it has not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingRead {
    /// The thread of the cluster that issued it.
    pub(crate) thread: u32,
    pub(crate) instruction: u32,
    /// The CTA whose memory is read, and where.
    pub(crate) rank: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl PendingRead {
    fn cells(&self) -> impl Iterator<Item = (u32, u64)> {
        let rank = self.rank;
        cells(self.offset, self.bytes).map(move |cell| (rank, cell))
    }

    fn overlaps(&self, rank: u32, offset: u64, bytes: u64) -> bool {
        self.rank == rank && offset < self.offset + self.bytes && self.offset < offset + bytes
    }
}

/// All pending reads of a cluster.
#[derive(Debug, Default)]
pub(crate) struct PendingReads {
    /// In order of issue, with the group that each belongs to.
    queues: HashMap<(GroupQueue, u32), Groups>,
    /// Number of pending reads of each cell of each CTA, so that a write looks for one only where
    /// there is one.
    cells: HashMap<(u32, u64), u32>,
}

/// One thread's groups of one queue.
#[derive(Debug, Default)]
struct Groups {
    committed: u32,
    reads: Vec<(u32, PendingRead)>,
}

impl PendingReads {
    pub(crate) fn clear(&mut self) {
        self.queues.clear();
        self.cells.clear();
    }

    /// A read is issued.
    pub(crate) fn issue(&mut self, queue: GroupQueue, read: PendingRead) {
        let groups = self.queues.entry((queue, read.thread)).or_default();
        groups.reads.push((groups.committed, read));
        for cell in read.cells() {
            *self.cells.entry(cell).or_default() += 1;
        }
    }

    /// A thread commits a group, or waits: then `done` is told of the reads that are over.
    pub(crate) fn step(
        &mut self,
        queue: GroupQueue,
        thread: u32,
        step: GroupStep,
        mut done: impl FnMut(&PendingRead),
    ) {
        let left = match step {
            GroupStep::Commit => {
                self.queues.entry((queue, thread)).or_default().committed += 1;
                return;
            }
            GroupStep::Wait { left } => left,
        };
        let Some(groups) = self.queues.get_mut(&(queue, thread)) else { return };
        let committed = groups.committed;
        groups.reads.retain(|(group, read)| {
            // Operations in no group yet are not waited for.
            let waits = committed - group > left;
            if waits {
                for cell in read.cells() {
                    if let Some(count) = self.cells.get_mut(&cell) {
                        *count -= 1;
                    }
                }
                done(read);
            }
            !waits
        });
    }

    /// A pending read of some bytes, if there is one.
    pub(crate) fn of(&self, rank: u32, offset: u64, bytes: u64) -> Option<PendingRead> {
        if self.queues.is_empty()
            || cells(offset, bytes)
                .all(|cell| self.cells.get(&(rank, cell)).is_none_or(|&n| n == 0))
        {
            return None;
        }
        let reads = self.queues.values().flat_map(|groups| &groups.reads);
        let overlapping =
            reads.map(|(_, read)| *read).filter(|read| read.overlaps(rank, offset, bytes));
        // The order of a hash table must not show.
        overlapping.min_by_key(|read| (read.instruction, read.thread, read.offset))
    }
}

fn cells(offset: u64, bytes: u64) -> impl Iterator<Item = u64> {
    offset / CELL..offset.saturating_add(bytes).div_ceil(CELL)
}
