//! The executions of machine code by single warps.
//!
//! The conservation of threads holds for the threads of each warp alone. So its executions of
//! machine blocks follow from its visits of PTX blocks, as those of the launch follow from all.

use gpucast_counters::table::{BaseTable, Row};
use gpucast_counters::trace::WarpRecord;

use super::super::MachineError;
use super::super::agreement::{contradictions, is_tolerable};
use super::super::attribute::{Solved, solve};
use super::super::flow;
use super::super::listing::Listing;

/// The most kinds of warps that the machine code is solved for, and the most machine blocks of all
/// solutions together. Further kinds get shares of the launch's executions.
const MOST_SOLUTIONS: usize = 48;
const MOST_BLOCKS: usize = 4096;

/// How often a warp executed each block of the PTX. Equal counts have equal solutions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct WarpCounts {
    blocks: Vec<BlockCounts>,
}

/// A count of a launch with recorded CTAs. Its requests went through caches, whose traffic is
/// counted in 64 bits.
fn narrow(count: u128) -> u64 {
    count.try_into().unwrap_or(u64::MAX)
}

/// Executions of a block by one warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct BlockCounts {
    /// By the warp or parts of it.
    visits: u64,
    /// By its lanes.
    lanes: u64,
    /// Lanes that took the branch at its end.
    taken: u64,
}

impl WarpCounts {
    /// Counts a warp's visits. `successors` are those of the PTX's blocks, branch targets first.
    pub(super) fn new(record: &WarpRecord, successors: &[Vec<usize>]) -> Self {
        let mut blocks = vec![BlockCounts::default(); successors.len()];
        for (index, visit) in record.blocks.iter().enumerate() {
            let block = visit.block as usize;
            let Some(counts) = blocks.get_mut(block) else { continue };
            let lanes = u64::from(visit.lanes.count_ones());
            counts.visits += 1;
            counts.lanes += lanes;
            // Parts of a warp go on one after the other: the next visit is that of either side.
            let next = record.blocks.get(index + 1);
            let goes = next.map_or(0, |next| u64::from(next.lanes.count_ones()).min(lanes));
            counts.taken += match (&successors[block][..], next.map(|next| next.block as usize)) {
                (&[target, _], Some(next)) if next == target => goes,
                (&[_, after], Some(next)) if next == after => lanes - goes,
                _ => 0,
            };
        }
        Self { blocks }
    }

    /// Blocks of the PTX.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Times that the warp came to a block.
    pub(super) fn visits(&self, block: usize) -> u64 {
        self.blocks.get(block).map_or(0, |counts| counts.visits)
    }

    /// The counts of the launch as if one warp had executed it all.
    pub(super) fn of_launch(listing: &Listing<'_>) -> Self {
        let of_block = |block: &gpucast_interpreter::program::Block| {
            let row = listing.counts.get(&block.first_instruction);
            let visits = row.map_or(0, |row| narrow(row.warp_executions));
            let lanes = row.map_or(0, |row| narrow(row.issued_lanes));
            BlockCounts { visits, lanes, taken: 0 }
        };
        Self { blocks: listing.program.blocks().iter().map(of_block).collect() }
    }

    /// The base table of this warp alone. Of guarded instructions the launch's share of lanes
    /// takes part.
    fn table(&self, listing: &Listing<'_>) -> BaseTable {
        let mut rows = Vec::with_capacity(listing.counts.len());
        for (block, counts) in listing.program.blocks().iter().zip(&self.blocks) {
            let after = block.first_instruction + block.instruction_count;
            for instruction in block.first_instruction..after {
                let Some(of_launch) = listing.counts.get(&instruction) else { continue };
                let is_branch = instruction + 1 == after && block.successors.len() == 2;
                let share =
                    of_launch.thread_executions as f64 / of_launch.issued_lanes.max(1) as f64;
                rows.push(Row {
                    instruction,
                    description: of_launch.description,
                    warp_executions: counts.visits.into(),
                    issued_lanes: counts.lanes.into(),
                    thread_executions: match is_branch {
                        true => counts.taken.into(),
                        false => (counts.lanes as f64 * share).round() as u128,
                    },
                    branch: None,
                    memory: Vec::new(),
                    products: Vec::new(),
                });
            }
        }
        BaseTable { rows }
    }
}

/// Executions of each block of machine code by warps that executed the PTX `counts` times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Executions {
    pub(super) warps: Vec<u64>,
    pub(super) counts: WarpCounts,
}

/// Solutions for kinds of warps.
pub(super) struct Solutions<'l, 'a> {
    listing: &'l Listing<'a>,
    of_launch: Executions,
    /// Solutions that may still be tried.
    left: usize,
}

impl<'l, 'a> Solutions<'l, 'a> {
    pub(super) fn new(listing: &'l Listing<'a>) -> Result<Self, MachineError> {
        let Solved { solution, .. } = solve(listing)?;
        let counts = WarpCounts::of_launch(listing);
        let left = (MOST_BLOCKS / listing.code.blocks.len().max(1)).clamp(1, MOST_SOLUTIONS);
        let warps = solution.warps.into_iter().map(narrow).collect();
        let of_launch = Executions { warps, counts };
        Ok(Self { listing, of_launch, left })
    }

    /// The executions by all warps of the launch.
    pub(super) fn of_launch(&self) -> &Executions {
        &self.of_launch
    }

    /// The executions by a warp with these counts, if they can be found out from them.
    pub(super) fn of_warp(&mut self, counts: &WarpCounts) -> Option<Executions> {
        self.left = self.left.checked_sub(1)?;
        let table = counts.table(self.listing);
        let listing = self.listing.recount(&table);
        let observations = listing.observations();
        let is_cold = |block| listing.is_cold(block);
        let solution = flow::solve(listing.code, &observations, listing.entry(), &is_cold);
        let contradicted = contradictions(&listing, &observations, &solution);
        let executed = self.listing.code.blocks.iter().zip(&solution.lanes);
        let all = executed.map(|(block, lanes)| block.instructions.len() as u128 * lanes).sum();
        is_tolerable(&contradicted, all).then(|| Executions {
            warps: solution.warps.into_iter().map(narrow).collect(),
            counts: counts.clone(),
        })
    }
}
