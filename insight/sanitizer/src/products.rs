//! Reads of shared memory by the tensor cores, for products of warpgroups and of tensor memory.
//!
//! They may come as late as the product ends. Whoever overwrites a tile must know that: by a wait
//! for the group of a warpgroup, or from the mbarrier of a `tcgen05.commit`. A group belongs to
//! its warpgroup (manual, `wgmma.commit_group`), so that one warp may wait for all four.

use std::collections::HashMap;

use crate::clocks::{Clocks, Stamp};
use crate::finding::Between;

/// Bytes of the cells whose last read is kept: matrices are read in rows of as many.
const CELL: u64 = 16;

/// Warps of a warpgroup.
const WARPS: u32 = 4;

/// A read of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductRead {
    pub(crate) instruction: u32,
    /// The thread of the cluster that issued the product.
    pub(crate) thread: u32,
    pub(crate) stamp: Stamp,
    /// What is missing where nothing orders a write after it.
    pub(crate) between: Between,
}

/// The last reads of a cluster's shared memory by its tensor cores.
#[derive(Debug, Default)]
pub(crate) struct ProductReads {
    /// By rank and number of the cell.
    cells: HashMap<(u32, u64), ProductRead>,
    /// The last product of each warpgroup of the cluster.
    warpgroups: HashMap<u32, Stamp>,
    /// The last product when each warp of the cluster committed its groups, if there was one.
    commits: HashMap<u32, Vec<Option<Stamp>>>,
}

impl ProductReads {
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.warpgroups.clear();
        self.commits.clear();
    }

    /// The time of a product that a warp issues with its warpgroup.
    pub(crate) fn of_warpgroup(&mut self, clocks: &mut Clocks, warp: u32) -> Stamp {
        let last = self.warpgroups.get(&(warp / WARPS)).map(|stamp| stamp.owner);
        let agent = last.unwrap_or_else(|| clocks.new_agent());
        let stamp = clocks.agent_acts(agent);
        self.warpgroups.insert(warp / WARPS, stamp);
        stamp
    }

    /// A warp commits the products since its last commit to a group.
    pub(crate) fn commit(&mut self, warp: u32) {
        let last = self.warpgroups.get(&(warp / WARPS)).copied();
        self.commits.entry(warp).or_default().push(last);
    }

    /// The last product that is over when a warp waits until `left` of its groups are left.
    pub(crate) fn waited(&self, warp: u32, left: u32) -> Option<Stamp> {
        let commits = self.commits.get(&warp)?;
        *commits.get(commits.len().checked_sub(left as usize + 1)?)?
    }

    /// Bytes of the CTA of a rank are read.
    pub(crate) fn read(&mut self, rank: u32, offset: u64, bytes: u64, read: ProductRead) {
        for cell in cells(offset, bytes) {
            self.cells.insert((rank, cell), read);
        }
    }

    /// A read of some of these bytes that nothing orders before what `thread` does now.
    pub(crate) fn unordered(
        &self,
        clocks: &Clocks,
        thread: u32,
        (rank, offset, bytes): (u32, u64, u64),
    ) -> Option<ProductRead> {
        if self.cells.is_empty() {
            return None;
        }
        let reads = cells(offset, bytes).filter_map(|cell| self.cells.get(&(rank, cell)));
        reads.copied().find(|read| !clocks.ordered(read.stamp, thread))
    }
}

fn cells(offset: u64, bytes: u64) -> impl Iterator<Item = u64> {
    offset / CELL..offset.saturating_add(bytes).div_ceil(CELL)
}
