//! Requests that are counted and not replayed, because a CTA's stream holds no more.
//!
//! They are taken to be served as those of their instruction that were replayed. That is a guess:
//! the end of a CTA may touch what its beginning did not. So each metric has an interval of what
//! else may be. All that was left out hits the first level, or the L2, or comes from DRAM.
//! A request that was left out also brings in its sectors and drives out as many. So many sectors
//! of others may hit that missed, or miss that hit. In windows that is so of the launch that they
//! stand for.

use std::ops::AddAssign;

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::types::StateSpace;

use super::Counter;
use crate::counts::{MemoryCounts, writes};
use crate::estimate::Variant;
use crate::hierarchy::{CtaStream, Hierarchy, L2Traffic, LocalTraffic, PartialWrites, RowTraffic};
use crate::launch_profile::{Answer, Doubt};
use crate::recorder::CtaRecorder;
use crate::sparse::SparseRows;
use crate::trace::LaunchTracer;

/// The sectors of requests that were left out.
#[derive(Clone, Debug)]
pub(super) struct LeftOut {
    pub(super) sectors: u64,
    /// By row of the base table.
    rows: SparseRows<u64>,
}

impl Default for LeftOut {
    fn default() -> Self {
        Self { sectors: 0, rows: SparseRows::new(0) }
    }
}

/// What became of the requests that were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The same as of the others of their row.
    AsOthers,
    FirstLevel,
    SecondLevel,
    Dram,
}

/// The extremes that an interval holds.
const EXTREMES: [Fate; 3] = [Fate::FirstLevel, Fate::SecondLevel, Fate::Dram];

/// The traffic of all requests that were replayed.
#[derive(Clone)]
pub(super) struct Replayed {
    pub(super) rows: SparseRows<RowTraffic>,
    pub(super) l2: L2Traffic,
}

impl LeftOut {
    /// Sends the requests of CTAs through the caches, but for those that were too many to be kept.
    pub(super) fn through_caches(
        &mut self,
        recorders: &mut [&mut CtaRecorder],
        hierarchy: &mut Hierarchy,
        tracer: Option<&LaunchTracer>,
    ) {
        recorders.iter_mut().for_each(|recorder| self.note(recorder, tracer));
        through_caches(recorders, hierarchy);
    }

    /// What was left out of a launch, where so much was left out of some parts. Each has the
    /// sectors of its requests, by row.
    pub(super) fn of_launch<'a>(
        memory: &SparseRows<MemoryCounts>,
        parts: impl Iterator<Item = (&'a SparseRows<u64>, &'a Self)> + Clone,
    ) -> Self {
        let mut all = Self::default();
        for (key, counts) in memory.iter().filter(|(_, counts)| counts.sectors > 0) {
            let mut of_parts = Part::default();
            for (sectors, left_out) in parts.clone() {
                of_parts += left_out.part(key, sectors.get(key).copied().unwrap_or_default());
            }
            let left = counts.sectors as f64 * part(of_parts.all - of_parts.kept, of_parts.all);
            if left > 0.0 {
                *all.rows.row(key) = left.round() as u64;
                all.sectors += left.round() as u64;
            }
        }
        all
    }

    /// Sectors of a row that has so many, and those of them that were kept.
    pub(super) fn part(&self, key: u32, sectors: u64) -> Part {
        let all = sectors as f64;
        Part { kept: (all - self.of_row(key)).max(0.0), all }
    }

    /// Takes note of what a CTA's stream left out, before the stream goes.
    pub(super) fn note(&mut self, recorder: &mut CtaRecorder, tracer: Option<&LaunchTracer>) {
        let left_out = recorder.stream.take_left_out_sectors();
        if left_out == 0 {
            return;
        }
        self.sectors += left_out;
        for (key, counts) in recorder.memory.iter().filter(|(_, counts)| counts.sectors > 0) {
            *self.rows.row(key) += counts.sectors;
        }
        for (row, kept) in recorder.stream.sectors_of_rows() {
            let single = tracer.and_then(|tracer| tracer.row_of_single(row));
            if let Some(sectors) = self.rows.find(single.unwrap_or(row)) {
                *sectors = sectors.saturating_sub(kept);
            }
        }
    }

    fn of_row(&self, key: u32) -> f64 {
        self.rows.get(key).map_or(0.0, |&sectors| sectors as f64)
    }
}

/// Sends the requests of CTAs through the caches. Returns the sectors of requests that were too
/// many to be kept.
pub(super) fn through_caches(recorders: &mut [&mut CtaRecorder], hierarchy: &mut Hierarchy) -> u64 {
    let left_out =
        recorders.iter_mut().map(|recorder| recorder.stream.take_left_out_sectors()).sum();
    let mut streams: Vec<&mut CtaStream> =
        recorders.iter_mut().map(|recorder| &mut recorder.stream).collect();
    hierarchy.collect(&mut streams);
    left_out
}

/// Sectors of which a part was kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub(super) kept: f64,
    pub(super) all: f64,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.all += other.all;
    }
}

impl Part {
    /// What all cause, where the kept ones cause so much.
    fn scaled(self, of_kept: u64) -> u64 {
        if self.kept > 0.0 {
            (of_kept as f64 * self.all / self.kept).round() as u64
        } else {
            of_kept
        }
    }

    /// What the kept ones cause, where all cause so much.
    fn of_all(self, of_all: u64) -> u64 {
        if self.all > 0.0 { (of_all as f64 * self.kept / self.all).round() as u64 } else { of_all }
    }

    /// Sectors that were not kept.
    fn rest(self) -> u64 {
        (self.all - self.kept) as u64
    }
}

/// A part of some sectors, at most all of them.
fn part(sectors: f64, all: f64) -> f64 {
    if all > 0.0 { (sectors / all).min(1.0) } else { 0.0 }
}

impl Counter {
    /// The traffic of all requests as it most likely is, and as it may be: each fate of what was
    /// left out, and each of `others`, which the replayed requests may have caused, too.
    pub(super) fn settle_left_out(
        &mut self,
        replayed: &Replayed,
        others: &[Replayed],
    ) -> (L2Traffic, Doubt) {
        let variant = |replayed: &Replayed, fate: Fate| {
            let (memory, l2) = self.with_left_out(replayed, fate);
            (Variant { table: self.table_of(&memory), l2 }, memory)
        };
        let all = std::iter::once(replayed).chain(others);
        let answers =
            all.flat_map(|replay| EXTREMES.map(|fate| Answer::alone(variant(replay, fate).0)));
        let answers: Vec<Answer> = answers.collect();
        let (likely, memory) = variant(replayed, Fate::AsOthers);
        self.memory = memory;
        // Bounds hold the value in any case.
        let doubt = [Answer::alone(likely.clone())].into_iter().chain(answers).collect();
        (likely.l2, Doubt::Replay(doubt))
    }

    /// What else all requests may cause, where those that were kept and those that are like them
    /// cause the traffic of `memory` and `l2`: each fate of what was left out.
    pub(super) fn fates(&self, memory: &SparseRows<MemoryCounts>, l2: L2Traffic) -> Vec<Variant> {
        if self.left_out.sectors == 0 {
            return Vec::new();
        }
        let kept = self.kept_part(memory, l2);
        let variant = |fate: Fate| {
            let (memory, l2) = self.with_left_out(&kept, fate);
            Variant { table: self.table_of(&memory), l2 }
        };
        EXTREMES.map(variant).into()
    }

    /// The traffic of those requests of a launch that were kept, or would have been.
    fn kept_part(&self, memory: &SparseRows<MemoryCounts>, l2: L2Traffic) -> Replayed {
        let mut rows = SparseRows::new(0);
        let [mut before, mut after] = [L2Traffic::default(); 2];
        let (mut stored, mut local) = (Part::default(), Part::default());
        for (key, counts) in memory.iter().filter(|(_, counts)| counts.sectors > 0) {
            let Some(traffic) = counts.traffic else { continue };
            let all = counts.sectors as f64;
            let of_row = Part { kept: (all - self.left_out.of_row(key)).max(0.0), all };
            let kept = |sectors: u64| of_row.of_all(sectors);
            let of_kept = RowTraffic {
                l1_hit_sectors: kept(traffic.l1_hit_sectors),
                l2_sectors: kept(traffic.l2_sectors),
                l2_hit_sectors: kept(traffic.l2_hit_sectors),
                dram_read_sectors: kept(traffic.dram_read_sectors),
                ..traffic
            };
            before.add_row(counts.kind, &traffic);
            after.add_row(counts.kind, &of_kept);
            *rows.row(key) = of_kept;
            if writes(counts.kind) {
                stored += of_row;
                if counts.space == StateSpace::Local {
                    local += of_row;
                }
            }
        }
        let mut l2 = l2.replaced(&before, &after);
        l2.dram_write_sectors = stored.of_all(l2.dram_write_sectors);
        let written_back = local.of_all(l2.local.write_back_sectors);
        let left = l2.local.write_back_sectors - written_back;
        (l2.write_sectors, l2.write_hit_sectors) =
            (l2.write_sectors.saturating_sub(left), l2.write_hit_sectors.saturating_sub(left));
        l2.local.write_back_sectors = written_back;
        l2.local.write_back_hit_sectors = local.of_all(l2.local.write_back_hit_sectors);
        l2.local.dram_write_sectors = local.of_all(l2.local.dram_write_sectors);
        Replayed { rows, l2 }
    }

    fn with_left_out(
        &self,
        replayed: &Replayed,
        fate: Fate,
    ) -> (SparseRows<MemoryCounts>, L2Traffic) {
        let sums = Sums::of(&replayed.rows);
        let others = self.left_out.sectors as f64;
        let mut memory = self.memory.clone();
        let mut rows = L2Traffic::default();
        let mut before = L2Traffic::default();
        let (mut stored, mut local) = (Part::default(), Part::default());
        for (key, counts) in self.memory.iter().filter(|(_, counts)| counts.sectors > 0) {
            let known = replayed.rows.get(key).copied().unwrap_or_default();
            let left = self.left_out.of_row(key);
            let kept = (counts.sectors as f64 - left).max(0.0);
            // A store is written through, whatever is there.
            let changed = match counts.kind {
                AccessKind::Store => list(&known),
                _ => sums.changed(&known, others, fate),
            };
            let rest = self.rate(&sums, &known, kept, counts.kind, fate);
            let sum = |at: usize| (changed[at] + rest[at] * left).round().max(0.0) as u64;
            let traffic = RowTraffic {
                l1_hit_sectors: sum(0),
                l2_sectors: sum(1),
                l2_hit_sectors: sum(2),
                dram_read_sectors: sum(3),
                ..known
            };
            if writes(counts.kind) {
                stored += Part { kept, all: counts.sectors as f64 };
                if counts.space == StateSpace::Local {
                    local += Part { kept, all: counts.sectors as f64 };
                }
            }
            before.add_row(counts.kind, &known);
            rows.add_row(counts.kind, &traffic);
            memory.row(key).traffic = Some(traffic);
        }
        let mut l2 = replayed.l2.replaced(&before, &rows);
        let left_out = self.left_out.sectors;
        [l2.dram_write_sectors, l2.dirty_sectors] =
            [l2.dram_write_sectors, l2.dirty_sectors].map(|sectors| match fate {
                Fate::AsOthers => stored.scaled(sectors),
                Fate::FirstLevel | Fate::SecondLevel => sectors.saturating_sub(left_out),
                // Each may drive out what is then written once more.
                Fate::Dram => sectors + stored.rest() + left_out,
            });
        let capacity = self.l2.distinct_bytes() / self.l2.sector_bytes.max(1);
        l2.dirty_sectors = l2.dirty_sectors.min(capacity);
        let LocalTraffic { write_back_sectors, dram_write_sectors, .. } = l2.local;
        let [written_back, of_dram] = [write_back_sectors, dram_write_sectors].map(|sectors| {
            let all = match fate {
                Fate::AsOthers => local.scaled(sectors),
                Fate::FirstLevel | Fate::SecondLevel => sectors,
                Fate::Dram => sectors + local.rest(),
            };
            all - sectors
        });
        l2.local.write_back_sectors += written_back;
        l2.local.write_back_hit_sectors += written_back;
        l2.local.dram_write_sectors += of_dram;
        l2.write_sectors += written_back;
        l2.write_hit_sectors += written_back;
        (memory, l2)
    }

    /// What a sector of a row that was left out causes: of L1 hits, to the L2, of L2 hits, from
    /// DRAM.
    fn rate(
        &self,
        sums: &Sums,
        known: &RowTraffic,
        kept: f64,
        kind: AccessKind,
        fate: Fate,
    ) -> [f64; 4] {
        // A miss brings in as many sectors at most.
        let hierarchy = self.device.hierarchy(self.cta);
        let sector = self.l2.sector_bytes.max(1);
        let of_l1 = hierarchy.l1.map_or(1, |l1| l1.fill_bytes.div_ceil(sector)).max(1) as f64;
        let of_l2 = self.l2.fill_bytes.div_ceil(sector).max(1) as f64;
        let is_written = writes(kind);
        let of_l1 = if is_written { 1.0 } else { of_l1 };
        match fate {
            Fate::AsOthers if kept > 0.0 => list(known).map(|sum| sum / kept),
            Fate::AsOthers => sums.rate(),
            Fate::FirstLevel if is_written => [1.0, 1.0, 1.0, 0.0],
            Fate::FirstLevel => [1.0, 0.0, 0.0, 0.0],
            Fate::SecondLevel => [0.0, of_l1, of_l1, 0.0],
            Fate::Dram if kind == AccessKind::Store => match self.l2.partial_writes {
                PartialWrites::Masked => [0.0, 1.0, 1.0, 0.0],
                PartialWrites::Fill => [0.0, 1.0, 0.0, 1.0],
            },
            Fate::Dram => [0.0, of_l1, 0.0, of_l1 * of_l2],
        }
    }
}

fn list(traffic: &RowTraffic) -> [f64; 4] {
    let RowTraffic { l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors, .. } = traffic;
    [l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors].map(|sectors| *sectors as f64)
}

/// The traffic of all rows together.
struct Sums([f64; 4]);

impl Sums {
    fn of(rows: &SparseRows<RowTraffic>) -> Self {
        let mut sums = [0.0; 4];
        for (_, traffic) in rows.iter() {
            sums.iter_mut().zip(list(traffic)).for_each(|(sum, sectors)| *sum += sectors);
        }
        Self(sums)
    }

    /// What a sector causes in the mean, if nothing is known of its row.
    fn rate(&self) -> [f64; 4] {
        let Self([l1, l2, ..]) = self;
        let all = (l1 + l2).max(1.0);
        self.0.map(|sum| sum / all)
    }

    /// The traffic of a row if as many sectors as were left out changed the level that serves them:
    /// each row has its part of those.
    fn changed(&self, row: &RowTraffic, others: f64, fate: Fate) -> [f64; 4] {
        let [l1, l2, hits, reads] = list(row);
        let Self([all_l1, _, all_hits, all_reads]) = self;
        match fate {
            Fate::AsOthers => [l1, l2, hits, reads],
            Fate::FirstLevel | Fate::SecondLevel => {
                let more = reads * part(others, *all_reads);
                [l1, l2, (hits + more).min(l2), reads - more]
            }
            Fate::Dram => {
                let of_l1 = l1 * part(others, *all_l1);
                let of_l2 = hits * part(others, *all_hits);
                [l1 - of_l1, l2 + of_l1, hits - of_l2, reads + of_l1 + of_l2]
            }
        }
    }
}
