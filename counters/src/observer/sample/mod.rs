//! Counts of a launch of which a sample of CTAs is executed.
//!
//! | module | |
//! |---|---|
//! | `plan` | strata, and the CTAs that are drawn in them |
//! | `population` | all CTAs of a launch, of which thousands of samples are drawn |
//! | `stand_ins` | neighbours of runs, where caches are modelled |
//! | [`crate::estimate`] | what the drawn CTAs say of all |
//! | [`crate::launch_profile`] | intervals, made of the estimate |
//!
//! Without caches a run is one CTA, since neighbours tell least of the rest. Requests of few CTAs
//! would find caches that are empty. With caches a run has some whole waves, and CTAs that count
//! for nothing fill the caches before it. How many these are follows from the sectors of some
//! CTAs, which are executed first.
//!
//! Requests of a run's CTAs mix with those of the CTAs before and after it, as they do in the
//! whole grid. The latter belong to no row, so that traffic by row is that of the run alone. Dirty
//! sectors and write-backs of local memory have no rows. They are those of the time from the start
//! of the run to that of the CTAs after it: such times follow each other without a gap.

mod plan;
mod population;
mod stand_ins;

use std::ops::Range;
use std::sync::Arc;

use gpucast_interpreter::Samples;

use super::left_out::through_caches;
use super::windows::{WARMING, WindowSizes, dirty_at_end, scaled};
use super::{BATCH, Counter};
use crate::estimate::{
    Columns, Ended, Estimate, Left, Moved, RUNS_PER_STRATUM, Stratum, Sums, Unsure,
};
use crate::hierarchy::{CtaStream, Estimated, Hierarchy, L2, ScaledSectors};
use crate::recorder::CtaRecorder;
use plan::{Part, Plan, Random, Role, Sizes};
pub use population::{Drawn, Population};
use stand_ins::{SharedLines, StandIns};

/// CTAs of a sample whose size nobody has chosen. A kind of CTA that makes up 0.3 % of the grid is
/// then among them with a probability of 95 %.
pub const DEFAULT_SAMPLE: u64 = 1024;

/// The fewest CTAs of a sample. Intervals of fewer would hold nearly anything.
pub const LEAST_SAMPLE: u64 = 16;

/// One of so many CTAs of a sample counts for itself at either end of the grid. Sorted work is
/// steepest there, so that two runs would say little of the last stratum. Edges differ, too.
const EACH_END: u64 = 32;

/// Strata where caches are modelled: runs are long, and each has to fill the caches first.
const STRATA_OF_CACHES: u64 = 4;

/// Waves of a run where caches are modelled, at least: whole ones, because CTAs share data with
/// those of their wave, and with the wave before.
const WAVES_OF_RUN: u64 = 2;

/// Groups of strata, at most. A round of the sample has a run of each.
const GROUPS: u64 = 16;

/// The fewest runs that tell how runs differ, where caches are modelled and runs are long.
const LEAST_RUNS_OF_CACHES: usize = 4;

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

/// A run that was executed.
#[derive(Clone, Debug)]
struct Run {
    stratum: usize,
    /// Its first CTA.
    start: u64,
    counts: Vec<f64>,
}

/// CTAs that count, whose last requests may still be under way.
#[derive(Clone, Debug)]
struct Counting {
    part: Part,
    sums: Sums,
    /// What they moved so far, if there are caches.
    moved: Option<Moved>,
}

/// The sample of one launch.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    size: SampleSize,
    random: Random,
    stage: Stage,
    pilot_sectors: u64,
    /// Lines that several CTAs of the pilot asked for.
    shared: SharedLines,
    /// CTAs around a run, if there are caches.
    stand_ins: Option<StandIns>,
    /// The CTAs that fill the caches, until all of them were executed.
    held: Vec<CtaStream>,
    plan: Plan,
    /// The part whose CTAs come, and those that are still to come.
    at: usize,
    left: u64,
    sums: Sums,
    counting: Option<Counting>,
    columns: Columns,
    ends: Vec<Vec<f64>>,
    /// In the order of execution.
    runs: Vec<Run>,
    dirty_at_start: Estimated,
    /// Lines that came into the L2 with runs, and the CTAs of those.
    newcomers: u64,
    newcomer_ctas: u64,
    /// Dirty sectors after each run.
    left_dirty: Vec<u64>,
    is_filled: bool,
    /// The caches after the last CTAs of the grid.
    at_end: Option<Arc<Hierarchy>>,
}

impl Sample {
    pub(super) fn new(size: SampleSize, blocks: usize, guarded: usize) -> Self {
        Self {
            size,
            random: Random::new(size.seed),
            stage: Stage::Unplanned,
            pilot_sectors: 0,
            shared: SharedLines::default(),
            stand_ins: None,
            held: Vec::new(),
            plan: Plan::default(),
            at: 0,
            left: 0,
            sums: Sums::new(blocks, guarded),
            counting: None,
            columns: Columns::new(blocks, guarded),
            ends: Vec::new(),
            runs: Vec::new(),
            dirty_at_start: Estimated::default(),
            newcomers: 0,
            newcomer_ctas: 0,
            left_dirty: Vec::new(),
            is_filled: true,
            at_end: None,
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
            recorders.iter().for_each(|recorder| self.shared.note(&recorder.stream));
            return;
        }
        let role = self.plan.parts.get(self.at).map(|part| part.role);
        let counts = role.is_some_and(Role::counts);
        for recorder in recorders.iter_mut() {
            match counts {
                true => self.sums.add(recorder),
                false => recorder.stream.leave_rows(),
            }
        }
        self.left = self.left.saturating_sub(recorders.len() as u64);
        match hierarchy {
            Some(hierarchy) => {
                if let Some(stand_ins) = &mut self.stand_ins {
                    stand_ins.keep(recorders.iter().map(|recorder| &recorder.stream));
                }
                match role {
                    Some(Role::Warm) => self.held.extend(recorders.iter_mut().map(|recorder| {
                        let empty = CtaStream::new(recorder.stream.limit());
                        std::mem::replace(&mut recorder.stream, empty)
                    })),
                    Some(Role::First | Role::Last | Role::Run(_) | Role::Following) | None => {
                        let lengths = recorders.iter().map(|recorder| recorder.stream.length());
                        let longest = lengths.max().filter(|_| counts);
                        let left_out = through_caches(recorders, hierarchy);
                        self.sums.left_out_sectors += if counts { left_out } else { 0 };
                        if let Some(stand_ins) = &mut self.stand_ins {
                            stand_ins.dealt(recorders.len(), longest, hierarchy);
                        }
                    }
                }
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
            hierarchy.begin_window(false);
        }
        let follows = match role {
            Role::Following => true,
            Role::Run(_) | Role::Last => {
                self.at > 0 && self.plan.parts[self.at - 1].role == Role::Warm
            }
            Role::Warm | Role::First => false,
        };
        if let Some(stand_ins) = self.stand_ins.as_mut().filter(|_| !follows) {
            stand_ins.clear();
        }
    }

    fn end_part(&mut self, hierarchy: Option<&mut Hierarchy>) {
        let Some(part) = self.plan.parts.get(self.at).cloned() else { return };
        self.at += 1;
        match part.role {
            Role::Warm => {
                if let Some(hierarchy) = hierarchy {
                    self.warm(part.ctas.start, hierarchy);
                    // Nobody asks for it.
                    hierarchy.take_so_far();
                }
            }
            Role::Following => {
                let later = hierarchy.map(|hierarchy| {
                    if let Some(stand_ins) = &mut self.stand_ins {
                        stand_ins.come_after(hierarchy);
                    }
                    hierarchy.take_part()
                });
                let Some(mut counting) = self.counting.take() else { return };
                if let (Some(moved), Some(later)) = (&mut counting.moved, later) {
                    moved.traffic.add_rows(&later);
                    // Write-backs are those of all CTAs: as many were left to this run.
                    moved.dirtied += later.dirtied.of_rows();
                }
                self.settle_part(&counting);
            }
            Role::First | Role::Last | Role::Run(_) => self.end_counting(part, hierarchy),
        }
    }

    /// Fills the caches with the CTAs that are held, the first of which has the place `first`.
    fn warm(&mut self, first: u64, hierarchy: &mut Hierarchy) {
        if let Some(stand_ins) = &mut self.stand_ins {
            stand_ins.come_before(first, hierarchy);
            stand_ins.dealt(self.held.len(), None, hierarchy);
        }
        for streams in self.held.chunks_mut(BATCH) {
            hierarchy.collect(&mut streams.iter_mut().collect::<Vec<_>>());
        }
        self.held.clear();
    }

    fn end_counting(&mut self, part: Part, hierarchy: Option<&mut Hierarchy>) {
        let next = self.plan.parts.get(self.at);
        let is_followed = next.is_some_and(|next| next.role == Role::Following);
        let moved = hierarchy.map(|hierarchy| {
            let traffic = if is_followed { hierarchy.take_so_far() } else { hierarchy.take_part() };
            let dirtied = traffic.dirtied.of_rows() + traffic.dirtied.by_write_backs;
            if part.role == Role::Last {
                self.is_filled = traffic.is_filled;
                self.at_end = Some(Arc::new(hierarchy.clone()));
            }
            if let Role::Run(_) = part.role {
                self.left_dirty.push(traffic.dirty_sectors);
                self.newcomers += traffic.newcomers;
                self.newcomer_ctas += part.ctas.end - part.ctas.start;
            }
            Moved { traffic, dirtied }
        });
        let fresh = Sums::new(self.sums.blocks.len(), self.sums.guarded_lanes.len());
        let sums = std::mem::replace(&mut self.sums, fresh);
        let counting = Counting { part, sums, moved };
        match is_followed {
            true => self.counting = Some(counting),
            false => self.settle_part(&counting),
        }
    }

    fn settle_part(&mut self, Counting { part, sums, moved }: &Counting) {
        let counts = self.columns.list(sums, moved.as_ref());
        match part.role {
            Role::Run(stratum) => self.runs.push(Run { stratum, start: part.ctas.start, counts }),
            Role::First | Role::Last | Role::Warm | Role::Following => self.ends.push(counts),
        }
    }

    /// Ends the sample with the rounds that were executed, if they suffice; `least` runs do.
    fn end_early(&mut self, least: usize) -> bool {
        let rounds = self.plan.rounds_of(self.runs.len());
        let runs = self.plan.rounds.iter().take(rounds).sum::<usize>();
        // Two runs of each group tell how runs differ.
        let suffices = rounds >= RUNS_PER_STRATUM && runs >= least;
        if suffices {
            self.runs.truncate(runs);
        }
        suffices
    }

    /// The runs by stratum, or by group if not all of them were executed.
    fn strata(&mut self) -> Vec<Stratum> {
        let Plan { sizes, strata, rounds, .. } = &self.plan;
        let is_whole = self.runs.len() == rounds.iter().sum::<usize>();
        let place = |stratum: usize| if is_whole { stratum } else { sizes.group(stratum) };
        let count = if is_whole { strata.len() } else { sizes.groups as usize };
        let mut all = vec![Stratum { runs: 0.0, executed: Vec::new() }; count];
        for (stratum, &ctas) in strata.iter().enumerate() {
            all[place(stratum)].runs += ctas as f64 / sizes.run as f64;
        }
        self.runs.sort_by_key(|run| run.start);
        for Run { stratum, counts, .. } in self.runs.drain(..) {
            all[place(stratum)].executed.push(counts);
        }
        all
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
            let end = (wanted / EACH_END).max(1);
            let strata = (wanted - 2 * end) / RUNS_PER_STRATUM as u64;
            let groups = GROUPS.min(strata);
            let sizes = Sizes { ctas, strata, groups, run: 1, end, warming: 0, following: 0 };
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
        let sectors = (WARMING * hierarchy.l2_sectors()).min(WindowSizes::default().warming);
        let warming = (sectors as f64 / sectors_per_cta.max(1.0)).ceil() as u64;
        let warming = warming.max(1).next_multiple_of(wave);
        let sizes = Sizes {
            ctas,
            strata: STRATA_OF_CACHES,
            groups: 1,
            run,
            end: wave,
            warming,
            following: wave,
        };
        let executed = sizes.executed();
        match executed > ctas / 2 {
            true => Err(too_many(executed, ", with those that fill the caches,", ctas)),
            false => Ok(sizes),
        }
    }

    /// The fewest runs of a sample that was cut short.
    fn least_runs(&self) -> usize {
        match self.hierarchy {
            Some(_) => LEAST_RUNS_OF_CACHES,
            None => LEAST_SAMPLE as usize - 2,
        }
    }

    fn draw(&mut self, mut sample: Sample) -> Result<Vec<Range<u64>>, String> {
        let per_cta = sample.pilot_sectors as f64 / PILOT as f64;
        let sizes = self.sizes(&sample, per_cta)?;
        sample.plan = Plan::new(&sizes, &mut sample.random);
        sample.stage = Stage::Drawn;
        if let Some(hierarchy) = &mut self.hierarchy {
            sample.dirty_at_start = hierarchy.estimated_dirty();
            hierarchy.take_part();
            // What launches before this one have left is known until others take its place.
            hierarchy.begin_windows();
            let mut shared = std::mem::take(&mut sample.shared);
            shared.settle();
            let random = sample.random.clone();
            sample.stand_ins = Some(StandIns::new(shared, random, self.resident as u64));
        }
        sample.begin_part(self.hierarchy.as_mut());
        let ranges = sample.plan.parts.iter().map(|part| part.ctas.clone()).collect();
        self.sample = Some(sample);
        Ok(ranges)
    }

    /// What the sample says of all CTAs, and the L2 as it left it.
    pub(super) fn settle_sample(&mut self, mut sample: Sample) -> (Estimate, Option<L2>) {
        let (mut lines, mut l2_lines) = (0, 0);
        let hierarchy = self.hierarchy.take().map(|hierarchy| {
            lines = scaled(sample.newcomers, self.ctas_in_order(), sample.newcomer_ctas);
            l2_lines = hierarchy.l2_lines();
            let hierarchy = sample.at_end.take().map_or(hierarchy, Arc::unwrap_or_clone);
            let capacity = hierarchy.l2_sectors();
            let is_first = hierarchy.is_of_first_launch(self.contents);
            let (_, mut l2) = hierarchy.finish(self.contents);
            let dirty = l2.take_traffic().dirty_sectors;
            let duellists = l2.dirty_of_duellists().into_iter().filter(|_| lines > l2_lines);
            let ended = Ended {
                dirty_at_start: sample.dirty_at_start,
                is_filled: sample.is_filled,
                unfilled: None,
                capacity,
                left: Left::of(&sample.left_dirty, ScaledSectors { sectors: dirty, of_line: 0 })
                    .or(duellists),
                is_first,
            };
            (ended, l2)
        });
        let (ended, mut l2) = hierarchy.map_or((None, None), |(ended, l2)| (Some(ended), Some(l2)));
        let estimate = self.estimate(sample, ended);
        if let Some(l2) = &mut l2 {
            let others = Unsure::EXTREMES.map(|unsure| estimate.whole(unsure));
            let dirty = dirty_at_end(&estimate.whole(Unsure::VALUE), others.iter());
            l2.end_windows(lines > l2_lines, lines, dirty);
        }
        (estimate, l2)
    }

    /// What the sample says of all CTAs; `ended` if requests went through caches.
    pub(super) fn estimate(&self, mut sample: Sample, ended: Option<Ended>) -> Estimate {
        let strata = sample.strata();
        let longest = sample.ends.iter().map(Vec::len).max().unwrap_or_default();
        let mut ends = vec![0.0; longest];
        for list in &sample.ends {
            ends.iter_mut().zip(list).for_each(|(sum, count)| *sum += count);
        }
        let (code, columns) = (self.code.clone(), sample.columns);
        Estimate { code, columns, ends, strata, run: sample.plan.sizes.run, ended }
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

    fn may_end(&mut self) -> bool {
        let least = self.least_runs();
        self.sample.as_mut().is_some_and(|sample| sample.end_early(least))
    }
}
