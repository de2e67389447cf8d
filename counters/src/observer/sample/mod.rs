//! Counts of a launch of which a sample of CTAs is executed.
//!
//! | module | |
//! |---|---|
//! | `plan` | strata, and the CTAs that are drawn in them |
//! | [`crate::estimate`] | what the drawn CTAs say of all |
//! | [`crate::launch_profile`] | intervals, made of the estimate |
//!
//! Without caches a run is one CTA, since neighbours tell least of the rest. Requests of few CTAs
//! would find caches that are empty. With caches a run has some whole waves, and CTAs that count
//! for nothing fill the caches before it. How many these are follows from the sectors of some
//! CTAs, which are executed first.

mod plan;

use std::ops::Range;

use gpucast_interpreter::Samples;

use super::windows::{MOST_WARMING_SECTORS, WARMING};
use super::{Counter, through_caches};
use crate::estimate::{Columns, Ended, Estimate, Moved, RUNS_PER_STRATUM, Stratum, Sums};
use crate::hierarchy::{Hierarchy, L2};
use crate::recorder::CtaRecorder;
use plan::{Part, Plan, Random, Role, Sizes};

/// CTAs of a sample whose size nobody has chosen. A kind of CTA that makes up 0.3 % of the grid is
/// then among them with a probability of 95 %.
pub const DEFAULT_SAMPLE: u64 = 1024;

/// The fewest CTAs of a sample. Intervals of fewer would hold nearly anything.
pub const LEAST_SAMPLE: u64 = 16;

/// Strata where caches are modelled: runs are long, and each has to fill the caches first.
const STRATA_OF_CACHES: u64 = 4;

/// Waves of a run where caches are modelled. Its first CTAs begin together and its last ones end
/// alone, so that a run of one wave would be like no part of the grid.
const WAVES_OF_RUN: u64 = 4;

/// CTAs that are executed to find out what the requests of one take to fill the caches.
const PILOT: u64 = 32;

/// The size of a sample, and what its random numbers begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSize {
    /// CTAs that count. Where caches are modelled, it is rounded up to whole waves.
    pub ctas: u64,
    /// The same seed draws the same CTAs.
    pub seed: u64,
}

impl Default for SampleSize {
    fn default() -> Self {
        Self { ctas: DEFAULT_SAMPLE, seed: 0 }
    }
}

#[derive(Clone, Debug)]
enum Stage {
    /// Nobody has asked for CTAs yet.
    Unplanned,
    /// Some CTAs tell of their sectors.
    Pilot,
    /// The CTAs of the plan come.
    Drawn,
}

/// The sample of one launch.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    size: SampleSize,
    random: Random,
    stage: Stage,
    pilot_sectors: u64,
    plan: Plan,
    /// The part whose CTAs come, and those that are still to come.
    at: usize,
    left: u64,
    sums: Sums,
    columns: Columns,
    ends: Vec<Vec<f64>>,
    /// Counts of the runs of each stratum.
    runs: Vec<Vec<Vec<f64>>>,
    dirty_at_start: u64,
    dirty_before: u64,
    /// The fewest and the most dirty sectors after parts that count.
    left_dirty: [u64; 2],
    is_filled: bool,
}

impl Sample {
    pub(super) fn new(size: SampleSize, blocks: usize, guarded: usize) -> Self {
        Self {
            size,
            random: Random(size.seed),
            stage: Stage::Unplanned,
            pilot_sectors: 0,
            plan: Plan { parts: Vec::new(), strata: Vec::new() },
            at: 0,
            left: 0,
            sums: Sums::new(blocks, guarded),
            columns: Columns::new(blocks, guarded),
            ends: Vec::new(),
            runs: Vec::new(),
            dirty_at_start: 0,
            dirty_before: 0,
            left_dirty: [u64::MAX, 0],
            is_filled: true,
        }
    }

    /// True if CTAs of a sample come, and not those of the whole grid.
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self.stage, Stage::Unplanned)
    }

    /// Takes over CTAs that follow each other.
    pub(super) fn collect(
        &mut self,
        recorders: &mut [&mut CtaRecorder],
        hierarchy: Option<&mut Hierarchy>,
    ) {
        if matches!(self.stage, Stage::Pilot) {
            let sectors = |one: &&mut CtaRecorder| -> u64 {
                one.memory.iter().map(|(_, counts)| counts.sectors).sum()
            };
            self.pilot_sectors += recorders.iter().map(sectors).sum::<u64>();
            return;
        }
        let is_warming = self.plan.parts.get(self.at).is_some_and(|part| part.role == Role::Warm);
        if !is_warming {
            recorders.iter().for_each(|recorder| self.sums.add(recorder));
        }
        self.left = self.left.saturating_sub(recorders.len() as u64);
        match hierarchy {
            Some(hierarchy) => {
                self.sums.left_out_sectors += through_caches(recorders, hierarchy);
                if self.left == 0 {
                    self.end_part(Some(hierarchy));
                    self.begin_part(Some(hierarchy));
                }
            }
            None if self.left == 0 => {
                self.end_part(None);
                self.begin_part(None);
            }
            None => {}
        }
    }

    fn begin_part(&mut self, hierarchy: Option<&mut Hierarchy>) {
        let Some(Part { ctas, role }) = self.plan.parts.get(self.at) else { return };
        self.left = ctas.end - ctas.start;
        if let (Some(hierarchy), Role::Warm) = (hierarchy, role) {
            hierarchy.begin_window();
        }
    }

    fn end_part(&mut self, hierarchy: Option<&mut Hierarchy>) {
        let Some(&Part { role, .. }) = self.plan.parts.get(self.at) else { return };
        self.at += 1;
        let moved = hierarchy.map(|hierarchy| {
            let traffic = hierarchy.take_part();
            let dirtied = traffic.dirty_sectors + traffic.l2.dram_write_sectors;
            let dirtied = dirtied.saturating_sub(self.dirty_before);
            self.dirty_before = traffic.dirty_sectors;
            self.is_filled = traffic.is_filled;
            Moved { traffic, dirtied }
        });
        let fresh = Sums::new(self.sums.blocks.len(), self.sums.guarded_lanes.len());
        let sums = std::mem::replace(&mut self.sums, fresh);
        if role == Role::Warm {
            return;
        }
        let list = self.columns.list(&sums, moved.as_ref());
        match role {
            Role::Run(stratum) => self.runs[stratum].push(list),
            Role::Itself | Role::Warm => self.ends.push(list),
        }
        // Those after the first CTAs say nothing of the end.
        if let Some(Moved { traffic, .. }) = moved.filter(|_| self.at > 1) {
            let [least, most] = self.left_dirty;
            let dirty = traffic.dirty_sectors;
            self.left_dirty = [least.min(dirty), most.max(dirty)];
        }
    }
}

/// A number of CTAs as a reason names it.
fn too_many(sampled: u64, with: &str, ctas: u64) -> String {
    format!("a sample of {sampled} CTAs{with} is more than half of the grid's {ctas}")
}

impl Counter {
    /// The sizes of the sample, once the sectors of a pilot's CTA are known.
    fn sizes(&self, sample: &Sample, sectors_per_cta: f64) -> Result<Sizes, String> {
        let ctas = self.ctas_in_order();
        let wanted = sample.size.ctas.max(LEAST_SAMPLE);
        let Some(hierarchy) = &self.hierarchy else {
            let strata = (wanted - 2) / RUNS_PER_STRATUM as u64;
            let sizes = Sizes { ctas, strata, run: 1, end: 1, warming: 0 };
            let executed = sizes.executed();
            return match executed > ctas / 2 {
                true => Err(too_many(executed, "", ctas)),
                false => Ok(sizes),
            };
        };
        let wave = self.resident as u64;
        let runs = STRATA_OF_CACHES * RUNS_PER_STRATUM as u64;
        let run = wanted.saturating_sub(2 * wave).div_ceil(runs);
        let run = run.max(WAVES_OF_RUN * wave).next_multiple_of(wave);
        let sectors = (WARMING * hierarchy.l2_sectors()).min(MOST_WARMING_SECTORS);
        let warming = (sectors as f64 / sectors_per_cta.max(1.0)).ceil() as u64;
        let warming = warming.max(1).next_multiple_of(wave);
        let sizes = Sizes { ctas, strata: STRATA_OF_CACHES, run, end: wave, warming };
        let executed = sizes.executed();
        match executed > ctas / 2 {
            true => Err(too_many(executed, ", with those that fill the caches,", ctas)),
            false => Ok(sizes),
        }
    }

    fn draw(&mut self, mut sample: Sample) -> Result<Vec<Range<u64>>, String> {
        let per_cta = sample.pilot_sectors as f64 / PILOT as f64;
        let sizes = self.sizes(&sample, per_cta)?;
        sample.plan = Plan::new(&sizes, &mut sample.random);
        sample.runs = vec![Vec::new(); sample.plan.strata.len()];
        sample.stage = Stage::Drawn;
        if let Some(hierarchy) = &mut self.hierarchy {
            sample.dirty_at_start = hierarchy.take_part().dirty_sectors;
            sample.dirty_before = sample.dirty_at_start;
        }
        sample.begin_part(self.hierarchy.as_mut());
        let ranges = sample.plan.parts.iter().map(|part| part.ctas.clone()).collect();
        self.sample = Some(sample);
        Ok(ranges)
    }

    /// What the sample says of all CTAs, and the L2 as it left it.
    pub(super) fn settle_sample(&mut self, sample: Sample) -> (Estimate, Option<L2>) {
        let hierarchy = self.hierarchy.take().map(|hierarchy| {
            let capacity = hierarchy.l2_sectors();
            let is_first = hierarchy.is_of_first_launch(self.contents);
            let (_, mut l2) = hierarchy.finish(self.contents);
            let dirty = l2.take_traffic().dirty_sectors;
            let [least, most] = sample.left_dirty;
            let ended = Ended {
                dirty_at_start: sample.dirty_at_start,
                is_filled: sample.is_filled,
                capacity,
                left: [least.min(dirty), most.max(dirty)],
                is_first,
            };
            (ended, l2)
        });
        let (ended, l2) = hierarchy.map_or((None, None), |(ended, l2)| (Some(ended), Some(l2)));
        (self.estimate(sample, ended), l2)
    }

    /// What the sample says of all CTAs; `ended` if requests went through caches.
    pub(super) fn estimate(&self, sample: Sample, ended: Option<Ended>) -> Estimate {
        let run = sample.plan.parts.iter().find(|part| matches!(part.role, Role::Run(_)));
        let run = run.map_or(1, |part| part.ctas.end - part.ctas.start) as f64;
        let strata = sample.plan.strata.iter().zip(sample.runs);
        let strata =
            strata.map(|(&ctas, executed)| Stratum { runs: ctas as f64 / run, executed }).collect();
        let longest = sample.ends.iter().map(Vec::len).max().unwrap_or_default();
        let mut ends = vec![0.0; longest];
        for list in &sample.ends {
            ends.iter_mut().zip(list).for_each(|(sum, count)| *sum += count);
        }
        let (code, columns) = (self.code.clone(), sample.columns);
        Estimate { code, columns, ends, strata, ended }
    }
}

impl Samples for Counter {
    fn next_ranges(&mut self) -> Result<Vec<Range<u64>>, String> {
        let Some(mut sample) = self.sample.take() else {
            return Err("nobody asked for a sample".to_owned());
        };
        let drawn = match sample.stage {
            Stage::Unplanned if self.hierarchy.is_some() => {
                // The least that it may be, before anything is executed.
                let ctas = self.ctas_in_order();
                self.sizes(&sample, f64::MAX).map(|_| {
                    let place =
                        |at: u64| (u128::from(ctas) * u128::from(at) / u128::from(PILOT)) as u64;
                    let of_range = |at: u64| {
                        let first = place(at) + sample.random.below(place(at + 1) - place(at));
                        first..first + 1
                    };
                    let ranges = (0..PILOT).map(of_range).collect();
                    sample.stage = Stage::Pilot;
                    ranges
                })
            }
            Stage::Unplanned | Stage::Pilot => return self.draw(sample),
            Stage::Drawn => Ok(Vec::new()),
        };
        if drawn.is_ok() {
            self.sample = Some(sample);
        }
        drawn
    }
}
