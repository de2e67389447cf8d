//! The warps of each block, which are not conserved at points of divergence.

use super::super::code::{Code, Source};
use super::system::same;
use super::{Observation, Solution};

impl Solution {
    /// The warps of each block.
    pub(super) fn find_warps(
        &mut self,
        code: &Code,
        observations: &[&Observation],
        entry_warps: u128,
    ) {
        let count = code.blocks.len();
        let mut warps: Vec<Option<u128>> =
            self.lanes.iter().map(|&lanes| (lanes == 0).then_some(0)).collect();
        // The strongest line that agrees decides; those of one block before those of several.
        for several in [false, true] {
            for observation in
                observations.iter().filter(|observation| (observation.copies.len() > 1) == several)
            {
                let sum = observation.executions(self);
                if sum == 0.0 || !same(sum, observation.lanes as f64) {
                    continue;
                }
                for &(block, _) in &observation.copies {
                    let share = self.lanes[block] as f64 / sum;
                    warps[block].get_or_insert((observation.warps as f64 * share).round() as u128);
                }
            }
        }
        if let Some((&root, _)) = code.roots.iter().find(|(_, source)| **source == Source::Kernel) {
            warps[root].get_or_insert(entry_warps);
        }
        self.spread_warps(code, &mut warps);
        for block in 0..count {
            if warps[block].is_none() {
                self.estimated_warps.push(block);
                warps[block] = self.warps_as_full_as_lines(block, observations);
            }
        }
        self.warps = warps
            .iter()
            .zip(&self.lanes)
            .map(|(warps, lanes)| warps.unwrap_or_else(|| lanes.div_ceil(32)))
            .collect();
    }

    /// The warps of a block if they are as full as those of the strongest line that it holds.
    fn warps_as_full_as_lines(&self, block: usize, observations: &[&Observation]) -> Option<u128> {
        let holds = |one: &&&Observation| {
            one.lanes > 0 && one.copies.iter().any(|&(other, _)| other == block)
        };
        let line = observations.iter().find(holds)?;
        let warps = self.lanes[block] as f64 * line.warps as f64 / line.lanes as f64;
        Some(warps.ceil() as u128)
    }

    /// If an edge joins a block to one with as many threads, the block is taken to have its warps.
    /// As a rule they are the same threads.
    fn spread_warps(&self, code: &Code, warps: &mut [Option<u128>]) {
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (from, block) in code.blocks.iter().enumerate() {
            edges.extend(block.edges.iter().filter_map(|edge| Some((from, edge.to?))));
            edges.extend(block.calls.map(|to| (from, to)));
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, to) in &edges {
                if self.lanes[from] != self.lanes[to] {
                    continue;
                }
                let known = match (warps[from], warps[to]) {
                    (Some(known), None) => (to, known),
                    (None, Some(known)) => (from, known),
                    _ => continue,
                };
                warps[known.0] = Some(known.1);
                changed = true;
            }
        }
    }
}
