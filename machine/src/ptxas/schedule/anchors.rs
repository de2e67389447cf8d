//! The PTX block that brings about each machine block.
//!
//! A machine block is *anchored* to the PTX block that most of its work stands for. It runs at a
//! fixed rate of that block's visits: a loop that was unrolled four times, once in four. A loop
//! that was made into several versions runs one version after the other. So each version has a
//! window of the visits that follow each other, as long as its share of the work.

use super::super::listing::Listing;
use super::solutions::{Executions, WarpCounts};
use crate::replay::{Follower, Nest, Plan, Rate};

/// The loops of both kinds of code.
#[derive(Clone, Copy)]
pub(super) struct Loops<'a> {
    pub(super) machine: &'a Nest,
    pub(super) ptx: &'a Nest,
}

/// The work of machine blocks by the PTX blocks that it stands for.
pub(super) struct Anchors {
    /// For each machine block: PTX block and weight of its instructions.
    weights: Vec<Vec<(u32, f64)>>,
    /// For each machine block, the blocks that lead to it and those that it leads to.
    neighbours: Vec<Vec<Neighbour>>,
}

/// A block at the other end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Neighbour {
    block: usize,
    /// True if the edge leads on, and not back to where a loop begins.
    is_onward: bool,
}

/// The weight of an instruction that only fetches an operand or controls, as of [`Listing`].
const LEAST_WEIGHT: f64 = 0.01;

impl Anchors {
    pub(super) fn new(listing: &Listing<'_>) -> Self {
        let blocks = &listing.code.blocks;
        let mut neighbours: Vec<Vec<Neighbour>> = vec![Vec::new(); blocks.len()];
        let mut after = neighbours.clone();
        for (from, block) in blocks.iter().enumerate() {
            let targets = block.edges.iter().filter_map(|edge| edge.to).chain(block.calls);
            for to in targets {
                let is_onward = from < to;
                neighbours[to].push(Neighbour { block: from, is_onward });
                after[from].push(Neighbour { block: to, is_onward });
            }
        }
        for (neighbours, after) in neighbours.iter_mut().zip(after) {
            neighbours.extend(after);
        }
        let weights = blocks
            .iter()
            .map(|block| {
                let mut weights: Vec<(u32, f64)> = Vec::new();
                for index in block.instructions.clone() {
                    let Some(ptx) = listing.ptx[index] else { continue };
                    let of = listing.loops.block(ptx);
                    let weight = listing.weight(index, ptx).max(LEAST_WEIGHT);
                    match weights.iter_mut().find(|(one, _)| *one == of) {
                        Some((_, sum)) => *sum += weight,
                        None => weights.push((of, weight)),
                    }
                }
                weights
            })
            .collect();
        Self { weights, neighbours }
    }

    /// The plan for warps with these executions.
    pub(super) fn plan(&self, executions: &Executions, loops: Loops<'_>) -> Plan {
        let Executions { warps, counts } = executions;
        let ptx_blocks = counts.len();
        let mut anchored: Vec<Vec<(u32, f64)>> = vec![Vec::new(); ptx_blocks];
        for (block, anchor) in self.anchors(warps, counts).into_iter().enumerate() {
            let Some(anchor) = anchor else { continue };
            let weight = self.weights[block].iter().find(|&&(one, _)| one == anchor);
            let work = weight.map_or(0.0, |&(_, weight)| weight) * warps[block] as f64;
            anchored[anchor as usize].push((block as u32, work));
        }
        let by_ptx_block = anchored
            .into_iter()
            .enumerate()
            .map(|(anchor, blocks)| {
                let windows = windows(&blocks, loops.machine, loops.ptx.depth(anchor));
                let followers = blocks.iter().zip(windows).map(|(&(block, _), window)| Follower {
                    block,
                    rate: Rate::Share {
                        executions: warps[block as usize],
                        visits: counts.visits(anchor),
                    },
                    start: window.0,
                    length: window.1,
                });
                followers.collect()
            })
            .collect();
        Plan { by_ptx_block }
    }

    /// The PTX block that each machine block is anchored to; `None` for those that never run.
    fn anchors(&self, warps: &[u64], counts: &WarpCounts) -> Vec<Option<u32>> {
        let mut anchors: Vec<Option<u32>> = warps
            .iter()
            .zip(&self.weights)
            .map(|(&executions, weights)| {
                let fit = |block: u32| match counts.visits(block as usize) {
                    0 => 0.0,
                    visits if visits == executions => 4.0,
                    // It holds several copies, or was moved out of a loop.
                    visits if visits > executions => 1.0,
                    // It holds more than this block, which a predicate guards now.
                    _ => 0.05,
                };
                let fits = weights.iter().map(|&(block, weight)| (block, weight * fit(block)));
                fits.filter(|&(_, fit)| fit > 0.0 && executions > 0)
                    .reduce(|best, one| if one.1 > best.1 { one } else { best })
                    .map(|(block, _)| block)
            })
            .collect();
        self.spread(warps, &mut anchors);
        // The rest runs when the warp begins.
        for (anchor, &executions) in anchors.iter_mut().zip(warps) {
            if anchor.is_none() && executions > 0 {
                *anchor = Some(0);
            }
        }
        anchors
    }

    /// Blocks that stand for nothing run when their neighbours do, those that lead to them first.
    /// Neighbours that run as often, and not behind an edge back, go before all others. They are
    /// in the same round of a loop.
    fn spread(&self, warps: &[u64], anchors: &mut [Option<u32>]) {
        let is_alike =
            |block: usize, other: Neighbour| other.is_onward && warps[block] == warps[other.block];
        while self.spread_once(warps, anchors, is_alike)
            || self.spread_once(warps, anchors, |_, _| true)
        {}
    }

    /// Gives blocks the anchors of the first neighbours that `may` lend theirs. Returns false if
    /// none got one.
    fn spread_once(
        &self,
        warps: &[u64],
        anchors: &mut [Option<u32>],
        may: impl Fn(usize, Neighbour) -> bool,
    ) -> bool {
        let mut changed = false;
        for block in 0..anchors.len() {
            if anchors[block].is_some() || warps[block] == 0 {
                continue;
            }
            let lenders = self.neighbours[block].iter().filter(|&&other| may(block, other));
            let known = lenders.filter_map(|other| anchors[other.block]).next();
            changed |= known.is_some();
            anchors[block] = known;
        }
        changed
    }
}

/// Start and length of the window of each block, with its work; blocks of a loop share one.
///
/// The PTX block has `depth` loops around it. Those inside of as many loops of the machine code are
/// the assembler's own, such as the election of a lane for a bulk copy. They are no versions.
fn windows(blocks: &[(u32, f64)], nest: &Nest, depth: usize) -> Vec<(f64, f64)> {
    // Versions in order of their code, each a loop or a block outside of loops.
    let mut versions: Vec<(Option<u32>, f64)> = Vec::new();
    let mut version_of = Vec::with_capacity(blocks.len());
    for &(block, work) in blocks {
        let innermost = nest.innermost_of(block as usize, depth);
        let same = |one: &(Option<u32>, f64)| innermost.is_some() && one.0 == innermost;
        let version = versions.iter().position(same).unwrap_or_else(|| {
            versions.push((innermost, 0.0));
            versions.len() - 1
        });
        versions[version].1 += work;
        version_of.push(version);
    }
    let all: f64 = versions.iter().map(|&(_, work)| work).sum();
    let mut start = 0.0;
    let windows: Vec<(f64, f64)> = versions
        .iter()
        .map(|&(_, work)| {
            let length = if all > 0.0 { work / all } else { 0.0 };
            start += length;
            (start - length, length)
        })
        .collect();
    version_of.into_iter().map(|version| windows[version]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_loop_follow_each_other() {
        // Block 1 is a loop of its own, 2 and 3 are another one; 0 and 4 are in none.
        let nest = Nest::new(&[vec![1, 2], vec![1, 2], vec![3], vec![2, 4], vec![]]);
        let blocks = [(0, 0.0), (1, 6.0), (2, 1.0), (3, 1.0), (4, 0.0)];
        let expected = [(0.0, 0.0), (0.0, 0.75), (0.75, 0.25), (0.75, 0.25), (1.0, 0.0)];
        assert_eq!(windows(&blocks, &nest, 1), expected);
    }

    #[test]
    fn a_loop_of_the_assemblers_inside_of_the_ptxs_is_no_version() {
        // Blocks 1 to 3 are a loop of the PTX; 2 repeats until a lane is elected.
        let nest = Nest::new(&[vec![1], vec![2], vec![2, 3], vec![1, 4], vec![]]);
        let blocks = [(1, 3.0), (2, 2.0), (3, 1.0)];
        assert_eq!(windows(&blocks, &nest, 1), [(0.0, 1.0); 3]);
        // With two loops of the PTX around it, the inner one would be a version of the inner loop.
        let apart = windows(&blocks, &nest, 2);
        assert!(apart[0] != apart[1] && apart[0] == apart[2], "{apart:?}");
    }
}
