//! The events of a launch that are recorded, decided before it begins.

use super::TraceLimits;
use super::choice::chosen_ctas;
use crate::hierarchy::{FIRST_SINGLE_ROW, NOBODY};
use gpucast_interpreter::mixing::hashed;

/// The facts about a launch that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedLaunch<'a> {
    pub(crate) grid: [u32; 3],
    pub(crate) warps_per_cta: u64,
    /// First instruction and number of instructions of each block.
    pub(crate) blocks: &'a [(u32, u32)],
    /// Rows of all instructions.
    pub(crate) rows: usize,
    /// True if stores to local memory stay in an L1.
    pub(crate) local_stores_stay: bool,
}

/// The facts about a block that recording needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockFacts {
    /// A random number of its own.
    pub(super) number: u64,
    pub(super) first: u32,
    pub(super) instructions: u32,
}

/// Decides before a launch which of its events are recorded.
#[derive(Clone, Debug)]
pub struct TracePlan {
    blocks: Vec<BlockFacts>,
    /// The CTAs that are recorded, in order of the grid.
    samples: Vec<u64>,
    warps_per_cta: usize,
    local_stores_stay: bool,
    limits: TraceLimits,
    /// Rows that the requests of all recorded CTAs may have of their own.
    single_rows: u32,
    /// Those of one recorded CTA.
    rows_per_cta: u32,
    /// Lines of one recorded CTA whose levels are recorded.
    lines_per_cta: u64,
}

impl TracePlan {
    pub(crate) fn new(limits: &TraceLimits, launch: &PlannedLaunch<'_>) -> Self {
        let block = |(index, &(first, instructions)): (usize, &(u32, u32))| BlockFacts {
            number: hashed(index as u64),
            first,
            instructions,
        };
        // Rows of a program that has so many are taken; levels are drawn then.
        let has_rows = launch.rows <= FIRST_SINGLE_ROW as usize;
        let plan = Self {
            blocks: launch.blocks.iter().enumerate().map(block).collect(),
            warps_per_cta: launch.warps_per_cta as usize,
            local_stores_stay: launch.local_stores_stay,
            limits: *limits,
            single_rows: if has_rows { NOBODY - FIRST_SINGLE_ROW } else { 0 },
            rows_per_cta: 0,
            lines_per_cta: 0,
            samples: Vec::new(),
        };
        plan.with_samples(chosen_ctas(launch.grid, limits.samples))
    }

    /// The same for other CTAs, in order of the grid. Each has an equal share of the limits.
    pub(super) fn with_samples(&self, samples: Vec<u64>) -> Self {
        let count = samples.len().max(1) as u64;
        Self {
            rows_per_cta: (u64::from(self.single_rows) / count) as u32,
            lines_per_cta: self.limits.lines / count,
            samples,
            ..self.clone()
        }
    }

    /// The limit of one warp, given that of all recorded CTAs.
    fn of_warp(&self, limit: u64) -> u64 {
        limit / self.samples.len().max(1) as u64 / self.warps_per_cta.max(1) as u64
    }

    pub(super) fn limits(&self) -> &TraceLimits {
        &self.limits
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The facts about a block of the program.
    #[inline]
    pub(super) fn block(&self, block: u32) -> BlockFacts {
        let none = BlockFacts { number: 0, first: 0, instructions: 0 };
        self.blocks.get(block as usize).copied().unwrap_or(none)
    }

    /// True if an instruction stands in a block.
    pub(super) fn is_in(&self, instruction: u32, block: u32) -> bool {
        let BlockFacts { first, instructions, .. } = self.block(block);
        instruction.wrapping_sub(first) < instructions
    }

    pub(super) fn warps_per_cta(&self) -> usize {
        self.warps_per_cta
    }

    /// The place of a CTA among those that are recorded, if it is.
    pub(super) fn place(&self, cta: u64) -> Option<u32> {
        self.samples.binary_search(&cta).ok().map(|place| place as u32)
    }

    pub(super) fn visits_per_warp(&self) -> u64 {
        self.of_warp(self.limits.visits)
    }

    pub(super) fn requests_per_warp(&self) -> u64 {
        self.of_warp(self.limits.requests)
    }

    pub(super) fn lines_per_cta(&self) -> u64 {
        self.lines_per_cta
    }

    pub(super) fn rows_per_cta(&self) -> usize {
        self.rows_per_cta as usize
    }

    /// The first row of the requests of a recorded CTA.
    pub(super) fn first_row(&self, place: u32) -> u32 {
        FIRST_SINGLE_ROW + place * self.rows_per_cta
    }

    /// The recorded CTA that a row belongs to, and the row's place among those of the CTA.
    pub(super) fn single(&self, row: u32) -> Option<(u32, u32)> {
        let at = row.checked_sub(FIRST_SINGLE_ROW)?;
        let place = at.checked_div(self.rows_per_cta)?;
        ((place as usize) < self.samples.len()).then(|| (place, at % self.rows_per_cta))
    }

    pub(super) fn local_stores_stay(&self) -> bool {
        self.local_stores_stay
    }
}
