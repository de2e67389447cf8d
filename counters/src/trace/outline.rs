//! What a CTA says of itself that nobody chose to record.
//!
//! Which CTAs are long is known when they have ended. So each CTA keeps its warps' ways through the
//! blocks until then, and one of each class stays. Of its accesses there are counts by instruction.
//! Each request is taken for the mean of its instruction's.

use std::collections::{BTreeMap, HashMap};

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::launch::{Beside, Request};

use super::levels::LevelKey;
use super::plan::TracePlan;
use super::sample::space;
use super::{BlockVisit, CtaRecord, WarpRecord};
use crate::counts::MemoryCounts;
use crate::row_key::RowKey;
use crate::sparse::SparseRows;

/// Executions of blocks by all warps of a CTA, 8 bytes each, at most.
const MOST_VISITS: usize = 1 << 16;

/// The way of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    visits: Vec<BlockVisit>,
    left_out_instructions: u64,
}

/// The ways of a CTA's warps so far.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    warps: Vec<Way>,
    most: usize,
}

impl Ways {
    pub(super) fn new(warps: usize) -> Self {
        Self { warps: vec![Way::default(); warps], most: MOST_VISITS / warps.max(1) }
    }

    pub(super) fn clear(&mut self) {
        for way in &mut self.warps {
            way.visits.clear();
            way.left_out_instructions = 0;
        }
    }

    /// A warp enters a block.
    #[inline]
    pub(super) fn block(&mut self, warp: u32, block: u32, lanes: u32, instructions: u32) {
        let Some(way) = self.warps.get_mut(warp as usize) else { return };
        if way.visits.len() < self.most {
            way.visits.push(BlockVisit { block, lanes });
        } else {
            way.left_out_instructions += u64::from(instructions);
        }
    }

    /// True if no warp has entered a block.
    pub(super) fn is_empty(&self) -> bool {
        self.warps.iter().all(|way| way.visits.is_empty())
    }
}

/// The outline of a CTA: the ways of its warps, and the counts of its accesses.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    cta: u64,
    warps: Vec<Way>,
    counts: Vec<(u32, MemoryCounts<u64>)>,
}

impl Outline {
    /// That of the CTA at a place of the grid.
    pub(super) fn new(cta: u64, ways: &Ways, memory: &SparseRows<MemoryCounts<u64>>) -> Self {
        let counts = memory.iter().filter(|(_, counts)| counts.requests > 0);
        let counts = counts.map(|(key, counts)| (key, *counts)).collect();
        Self { cta, warps: ways.warps.clone(), counts }
    }

    /// The place of the CTA.
    pub(super) fn cta(&self) -> u64 {
        self.cta
    }

    /// Executions of blocks that it holds.
    pub(super) fn visits(&self) -> usize {
        self.warps.iter().map(|way| way.visits.len()).sum()
    }

    /// The record that it makes up for. `draw` gives the levels of sectors.
    pub(super) fn record(
        &self,
        plan: &TracePlan,
        mut draw: impl FnMut(LevelKey, u64) -> [u64; 3],
    ) -> CtaRecord {
        let mut of_block: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut means: BTreeMap<u32, Mean> = BTreeMap::new();
        for (key, counts) in &self.counts {
            let instruction = RowKey::of_index(*key).instruction();
            means.entry(instruction).or_default().add(counts);
        }
        let mut means: Vec<(u32, Mean)> = means.into_iter().collect();
        let all_visits = || self.warps.iter().flat_map(|way| &way.visits);
        for visit in all_visits() {
            let here = of_block.entry(visit.block).or_insert_with(|| {
                let is_here = |at: &usize| plan.is_in(means[*at].0, visit.block);
                (0..means.len()).filter(is_here).collect()
            });
            here.iter().for_each(|&at| means[at].1.visits += 1);
        }
        let warps = self.warps.iter().map(|way| {
            let mut requests: BTreeMap<u32, Vec<Request>> = BTreeMap::new();
            for visit in &way.visits {
                for &at in of_block.get(&visit.block).into_iter().flatten() {
                    let (instruction, mean) = &mut means[at];
                    if let Some(request) = mean.next(*instruction, visit.lanes, plan, &mut draw) {
                        requests.entry(*instruction).or_default().push(request);
                    }
                }
            }
            let left_out_instructions = way.left_out_instructions;
            WarpRecord { blocks: way.visits.clone(), requests, left_out_instructions }
        });
        CtaRecord { cta: self.cta, warps: warps.collect() }
    }
}

/// The accesses of an instruction of a CTA, and how many of them were told.
#[derive(Clone, Debug, Default)]
struct Mean {
    /// Executions of its block that are known.
    visits: u64,
    requests: u64,
    /// What all of its requests take.
    counts: MemoryCounts<u64>,
    /// Requests so far, over `visits`, and sums of what they took.
    owed: u64,
    told: Told,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    requests: u64,
    sectors: u64,
    passes: u64,
    serial: u64,
}

impl Mean {
    /// Adds a row of the instruction. A copy has one for each side, and its requests are those of
    /// the side with most.
    fn add(&mut self, row: &MemoryCounts<u64>) {
        self.requests = self.requests.max(row.requests);
        let sum = &mut self.counts;
        let is_outer = self.visits == 0 && row.sectors >= sum.sectors;
        if is_outer {
            (sum.space, sum.kind) = (row.space, row.kind);
        }
        sum.sectors += row.sectors;
        sum.requested_bytes = sum.requested_bytes.max(row.requested_bytes);
        sum.passes = sum.passes.max(row.passes);
        sum.update_steps += row.update_steps;
    }

    /// The request of the next execution of its block; `None` if no lane takes part. Of so many
    /// executions those with a request are spread evenly.
    fn next(
        &mut self,
        instruction: u32,
        lanes: u32,
        plan: &TracePlan,
        draw: &mut impl FnMut(LevelKey, u64) -> [u64; 3],
    ) -> Option<Request> {
        self.owed += self.requests.min(self.visits);
        if self.owed < self.visits.max(1) {
            return None;
        }
        self.owed -= self.visits;
        self.told.requests += 1;
        let part = |whole: u64, told: &mut u64| {
            // Sums so far are those of the mean, rounded.
            let until = u128::from(whole) * u128::from(self.told.requests);
            let until = (until / u128::from(self.requests.max(1))) as u64;
            let next = until.saturating_sub(*told);
            *told += next;
            next
        };
        let Told { mut sectors, mut passes, mut serial, .. } = self.told;
        let of_request = [
            part(self.counts.sectors, &mut sectors),
            part(self.counts.passes, &mut passes),
            part(self.counts.update_steps, &mut serial),
        ];
        self.told = Told { requests: self.told.requests, sectors, passes, serial };
        let [sectors, passes, serial] = of_request;
        let space = space(self.counts.space);
        let stays = self.counts.space == StateSpace::Local && plan.local_stores_stay();
        let [l1, l2, dram] = match self.counts.kind {
            _ if sectors == 0 => [0; 3],
            AccessKind::Store if stays => [sectors, 0, 0],
            AccessKind::Store => [0, sectors, 0],
            _ => draw(LevelKey::new(instruction, space), sectors),
        };
        let short = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
        // Sectors that lanes fill come in whole lines, others in lines of their own.
        let asked_for = self.counts.requested_bytes / self.requests.max(1);
        let is_dense = sectors * 32 <= 2 * asked_for;
        let lanes = lanes.count_ones() as u8;
        let lines = if is_dense { sectors.div_ceil(4) } else { sectors };
        Some(Request {
            space,
            lanes: lanes.max(1),
            lines: short(lines),
            passes: short(passes),
            serial: serial.clamp(1, 32) as u8,
            is_paired: false,
            l1_sectors: short(l1),
            l2_sectors: short(l2),
            dram_sectors: short(dram),
            fetched_ago: None,
            first_sector: None,
            beside: Beside::Nothing,
        })
    }
}
