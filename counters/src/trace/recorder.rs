//! Counts one CTA warp by warp, for its class.

use std::sync::Arc;

use gpucast_interpreter::CtaStart;
use gpucast_interpreter::mixing::hashed;

use super::classes::ClassKey;
use super::plan::TracePlan;
use super::sample::CtaSample;
use crate::counts::BlockCount;

/// The part of a CTA's recorder that only a trace needs.
#[derive(Clone, Debug)]
pub(crate) struct CtaTracer {
    plan: Arc<TracePlan>,
    /// The executions of each block.
    blocks: Vec<BlockCount<u64>>,
    /// For each warp the sum of a random number of each block that it executes. Two warps have the
    /// same sum if they execute each block equally often, and hardly ever else.
    sums: Vec<u64>,
}

impl CtaTracer {
    pub(crate) fn new(plan: Arc<TracePlan>) -> Self {
        let blocks = vec![BlockCount::default(); plan.blocks()];
        let sums = vec![0; plan.warps_per_cta()];
        Self { plan, blocks, sums }
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.fill(BlockCount::default());
        self.sums.fill(0);
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
        if let Some(sample) = sample {
            sample.block(warp, block, lanes, facts.instructions);
        }
    }

    /// The class of the CTA.
    pub(super) fn class(&self) -> ClassKey {
        let digest = self.sums.iter().fold(0, |digest, &sum| hashed(digest ^ sum));
        let instructions = |(block, count): (usize, &BlockCount<u64>)| {
            count.warps * u64::from(self.plan.block(block as u32).instructions)
        };
        let warp_instructions = self.blocks.iter().enumerate().map(instructions).sum();
        ClassKey { digest, warp_instructions }
    }
}
