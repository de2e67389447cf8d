//! Tests if the executions of the PTX can explain those of the machine code.
//!
//! An assembler moves, merges and copies instructions, so that no single line has to agree with the
//! block that it stands in. But a block may run more often than every line in it says, with no line
//! to bear it out. Such a block has been given the executions of other code.

use super::flow::{Observation, Solution};
use super::large::rounding;
use super::listing::Listing;
use super::observe::LEAST_TO_BEAR_OUT;

/// A block whose executions no line explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contradiction {
    /// The offset of the block in its function.
    pub(super) offset: u64,
    /// The PTX line that contradicts it most.
    pub(super) line: u32,
    /// Executions by threads of the machine code that stands for the line.
    pub(super) found: u128,
    /// The executions of the line.
    pub(super) expected: u128,
    /// Executions by threads of all instructions of the block.
    pub(super) executions: u128,
}

/// Of this many executed instructions, one may be in a block that contradicts the PTX.
const MOST_CONTRADICTED: u128 = 20;

/// Returns true if few of all `executed` instructions are in contradicted blocks.
pub(super) fn is_tolerable(contradicted: &[Contradiction], executed: u128) -> bool {
    let executions: u128 = contradicted.iter().map(|found| found.executions).sum();
    executions.saturating_mul(MOST_CONTRADICTED) <= executed
}

/// Blocks that contradict the PTX, the one with most executions first.
pub(super) fn contradictions(
    listing: &Listing<'_>,
    observations: &[Observation],
    solution: &Solution,
) -> Vec<Contradiction> {
    let mut is_borne_out = vec![false; solution.lanes.len()];
    let mut worst: Vec<Option<(&Observation, u128)>> = vec![None; solution.lanes.len()];
    let mut falls_short = vec![false; solution.lanes.len()];
    for observation in observations {
        let found = observation.executions(solution) as u128;
        for &(block, _) in &observation.copies {
            let apart = observation.copies.len() as u128 + rounding(observation.lanes);
            let is_same = found.abs_diff(observation.lanes) <= apart;
            is_borne_out[block] |= observation.weight >= LEAST_TO_BEAR_OUT && is_same;
            falls_short[block] |= found < observation.lanes;
            let excess = |line: &Observation, found: u128| found.saturating_sub(line.lanes);
            if observation.is_firm
                && worst[block]
                    .is_none_or(|(line, other)| excess(line, other) < excess(observation, found))
            {
                worst[block] = Some((observation, found));
            }
        }
    }
    let mut found: Vec<Contradiction> = worst
        .into_iter()
        .enumerate()
        .filter(|&(block, _)| !is_borne_out[block] && !falls_short[block])
        .filter_map(|(block, line)| {
            let (line, found) = line.filter(|&(line, found)| found > line.lanes)?;
            let instructions = &listing.code.blocks[block].instructions;
            Some(Contradiction {
                offset: listing.code.instructions[instructions.start].offset,
                line: listing.line_of(block, line),
                found,
                expected: line.lanes,
                executions: solution.lanes[block] * instructions.len() as u128,
            })
        })
        .collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.executions));
    found
}

impl Listing<'_> {
    /// A line of PTX that `observation` comes from.
    fn line_of(&self, block: usize, observation: &Observation) -> u32 {
        let is_one = |ptx: &u32| {
            self.counts.get(ptx).is_some_and(|row| row.issued_lanes == observation.lanes)
        };
        let mut of_block = self.code.blocks[block].instructions.clone();
        let ptx = of_block.find_map(|index| self.ptx[index].filter(is_one));
        ptx.map_or(0, |ptx| self.program.instructions()[ptx as usize].line)
    }
}
