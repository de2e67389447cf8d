//! Counts one CTA warp by warp, for its class.

use std::sync::{Arc, OnceLock};

use gpucast_interpreter::CtaStart;
use gpucast_interpreter::mixing::hashed;

use super::classes::ClassKey;
use super::outline::{Outline, Ways};
use super::plan::TracePlan;
use super::sample::CtaSample;
use crate::counts::{BlockCount, MemoryCounts};
use crate::sparse::SparseRows;

/// The part of a CTA's recorder that only a trace needs.
#[derive(Clone, Debug)]
pub(crate) struct CtaTracer {
    plan: Arc<TracePlan>,
    /// The executions of each block.
    blocks: Vec<BlockCount<u64>>,
    /// For each warp the sum of a random number of each block that it executes. Two warps have the
    /// same sum if they execute each block equally often, and hardly ever else.
    sums: Vec<u64>,
    /// Instructions that each warp issues.
    lengths: Vec<u64>,
    /// The ways of the warps, unless the CTA has a record.
    ways: Ways,
    /// The same for those that have seen what it has seen.
    shared: OnceLock<Arc<Ways>>,
    /// Those of another one, whose sights it has taken over.
    taken: Option<Arc<Ways>>,
}

impl CtaTracer {
    pub(crate) fn new(plan: Arc<TracePlan>) -> Self {
        let blocks = vec![BlockCount::default(); plan.blocks()];
        let warps = plan.warps_per_cta();
        let (sums, lengths, ways) = (vec![0; warps], vec![0; warps], Ways::new(warps));
        Self { plan, blocks, sums, lengths, ways, shared: OnceLock::new(), taken: None }
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.fill(BlockCount::default());
        self.sums.fill(0);
        self.lengths.fill(0);
        self.ways.clear();
        (self.shared, self.taken) = (OnceLock::new(), None);
    }

    /// The executions of each block.
    pub(crate) fn blocks(&self) -> &[BlockCount<u64>] {
        &self.blocks
    }

    /// The record that a CTA is to have, if it is one of those that have one.
    pub(crate) fn sample(&self, start: &CtaStart) -> Option<Box<CtaSample>> {
        let place = self.plan.place(start.cta)?;
        Some(Box::new(CtaSample::new(&self.plan, place, start)))
    }

    /// Returns true if a CTA is to have a record.
    pub(crate) fn samples(&self, cta: u64) -> bool {
        self.plan.place(cta).is_some()
    }

    /// Returns true if both have seen the same.
    pub(crate) fn counts_as(&self, other: &Self) -> bool {
        (&self.blocks, &self.sums) == (&other.blocks, &other.sums)
    }

    /// Sees what another one has seen.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.blocks.clone_from(&other.blocks);
        self.sums.clone_from(&other.sums);
        self.lengths.clone_from(&other.lengths);
        let ways = other.shared.get_or_init(|| Arc::new(other.ways.clone()));
        self.taken = Some(Arc::clone(ways));
    }

    /// A warp enters a block.
    #[inline]
    pub(crate) fn block(
        &mut self,
        warp: u32,
        block: u32,
        lanes: u32,
        sample: Option<&mut Box<CtaSample>>,
    ) {
        let Some(count) = self.blocks.get_mut(block as usize) else { return };
        count.warps += 1;
        count.lanes += u64::from(lanes.count_ones());
        let facts = self.plan.block(block);
        if let Some(sum) = self.sums.get_mut(warp as usize) {
            *sum = sum.wrapping_add(facts.number);
        }
        if let Some(length) = self.lengths.get_mut(warp as usize) {
            *length += u64::from(facts.instructions);
        }
        match sample {
            Some(sample) => sample.block(warp, block, lanes, facts.instructions),
            None => self.ways.block(warp, block, lanes, facts.instructions),
        }
    }

    /// The outline of the CTA at a place of the grid; none if it has a record.
    pub(super) fn outline(
        &self,
        cta: u64,
        memory: &SparseRows<MemoryCounts<u64>>,
    ) -> Option<Outline> {
        let ways = self.taken.as_deref().unwrap_or(&self.ways);
        (!ways.is_empty()).then(|| Outline::new(cta, ways, memory))
    }

    /// The class of the CTA.
    pub(super) fn class(&self) -> ClassKey {
        let digest = self.sums.iter().fold(0, |digest, &sum| hashed(digest ^ sum));
        let instructions = |(block, count): (usize, &BlockCount<u64>)| {
            count.warps * u64::from(self.plan.block(block as u32).instructions)
        };
        let warp_instructions = self.blocks.iter().enumerate().map(instructions).sum();
        let longest_warp = self.lengths.iter().copied().max().unwrap_or(0);
        ClassKey { digest, warp_instructions, longest_warp }
    }
}
