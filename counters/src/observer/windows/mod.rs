//! The traffic of a huge grid, from windows of it.
//!
//! ```text
//! grid    │first│·······│warm│middle│·······│warm│middle│·······│warm│last│
//! ```
//!
//! The classes of CTAs give all counts but the traffic. For that, the CTAs of some windows go
//! through the caches. The first and the last CTAs count for themselves. Each middle window counts
//! for the CTAs around it; before it, CTAs that count for nothing fill the caches. What a row's
//! requests cause is scaled by the row's sectors, which are known for the whole grid.
//!
//! Three middle windows come first. Two more lie between them where they differ.
//!
//! Nobody knows beforehand how many CTAs fill an L2, because several requests may ask for one
//! sector. So the first warm part is a trial. If it leaves sets unfilled, it is tried again with
//! more CTAs, and the warm parts of the other windows are as long.
//!
//! A set of an L2 whose policy looks further back than at the last use does not forget the jump
//! when it is filled: stores come and go in waves for a while. So the second half of the warm CTAs
//! is measured, too. As far as a window differs from them in what becomes dirty or hits, it may
//! still be from where it settles, to both sides.
//!
//! A miss of the value is a miss, even if the skipped CTAs might have left its line there. The L2
//! still holds what the windows before this one asked for. A line that is missing was therefore not
//! shared with them, and most such lines come in for the first time. The interval has both answers.
//!
//! Where a wave alone has more requests than are to be replayed, those for a sample of the lines
//! are ([`LineSample`]). Grids that are too small for windows, and most others, are replayed so
//! from the first CTA to the last.
//!
//! Dirty sectors are balanced: what a launch makes dirty is written to DRAM or dirty at its end.

mod cut;
mod pool;

use std::ops::Range;

pub(super) use cut::WARMING;
pub use cut::WindowSizes;
use cut::{Coming, Cut, Part, Role, chosen, cut};
use gpucast_interpreter::{CountOverflow, Windows};
use pool::{Measured, Pool, Pooled, RowSum, Sampled, are_alike};
use rayon::prelude::*;

use super::Counter;
use super::left_out::LeftOut;
use crate::counts::{MemoryCounts, writes};
use crate::estimate::{Ended, Left, Unsure, Variant};
use crate::hierarchy::{
    CtaStream, Estimated, FIRST_SINGLE_ROW, Hierarchy, L2, L2Traffic, LineSample, LocalTraffic,
    PARTS, RowTraffic, ScaledSectors,
};
use crate::launch_profile::{Answer, Doubt};
use crate::recorder::CtaRecorder;
use crate::row_key::RowKey;
use crate::sparse::SparseRows;
use crate::totals::Replay;
use crate::trace::LaunchTracer;

/// The windows of one launch.
#[derive(Clone, Debug)]
pub(super) struct WindowReplay {
    /// How many times as large the sums of counts may become.
    times: u64,
    size: WindowSizes,
    /// Empty until the windows were asked for, and if all CTAs are to be replayed.
    parts: Vec<Part>,
    /// Those that come later.
    coming: Coming,
    has_begun: bool,
    /// The part whose CTAs come.
    at: usize,
    /// The lines whose requests are replayed.
    lines: LineSample,
    /// The CTAs of that part so far.
    sectors: SparseRows<u64>,
    sampled_sectors: SparseRows<u64>,
    left_out: LeftOut,
    dirty_before: u64,
    /// Sectors of the whole L2.
    dirty_at_start: Estimated,
    measured: Vec<Measured>,
    /// True if the caches hold at the end what the last window alone brought in.
    is_filled: bool,
}

impl WindowReplay {
    /// Nothing yet; sums of counts may become `times` as large.
    pub(super) fn new(times: u64, size: WindowSizes) -> Self {
        Self {
            times,
            size,
            parts: Vec::new(),
            coming: Coming::default(),
            has_begun: false,
            at: 0,
            lines: LineSample::default(),
            sectors: SparseRows::new(0),
            sampled_sectors: SparseRows::new(0),
            left_out: LeftOut::default(),
            dirty_before: 0,
            dirty_at_start: Estimated::default(),
            measured: Vec::new(),
            is_filled: true,
        }
    }
}

impl Windows for Counter {
    fn windows(&mut self) -> Result<Vec<Range<u64>>, CountOverflow> {
        let ctas = self.ctas_in_order();
        if let Some(windows) = self.windows.as_ref().filter(|windows| !windows.has_begun) {
            self.check_sums(windows.times)?;
        }
        let (Some(hierarchy), Some(windows)) = (&mut self.hierarchy, &mut self.windows) else {
            return Ok(Vec::new());
        };
        if windows.has_begun {
            return Ok(windows.next(hierarchy, self.tracer.as_mut(), &self.memory));
        }
        let sectors: u128 = self.memory.iter().map(|(_, counts)| counts.sectors).sum();
        let resident = self.resident as u64;
        let per_cta = sectors as f64 / ctas.max(1) as f64;
        let extent = (ctas, self.grid[0].into());
        let cut = cut(extent, resident, per_cta, hierarchy.l2_sectors(), windows.size);
        let caches = self.device.hierarchy(self.cta);
        let may_sample = RowKey::rows(self.code.instructions.len()) * PARTS as usize
            <= FIRST_SINGLE_ROW as usize;
        let smallest =
            if may_sample { LineSample::smallest(&caches) } else { LineSample::default() };
        let (cut, lines) = chosen(cut, (ctas, self.lines), smallest, windows.size);
        windows.lines = lines;
        windows.has_begun = true;
        windows.dirty_at_start = hierarchy.estimated_dirty();
        if !lines.is_whole() {
            *hierarchy = hierarchy.resized(&lines.caches(&caches));
        }
        windows.dirty_before = hierarchy.take_part().dirty_sectors;
        // Blocks are recorded in windows that come in any case.
        let mut recorded = Vec::new();
        if let Some(Cut { first, coming }) = cut {
            let windows_of = coming.middle.iter().chain(&coming.last);
            if coming.last.is_some() {
                recorded = [first.ctas.clone()].into();
                recorded.extend(windows_of.map(|window| window.counted.clone()));
            }
            windows.parts = [first].into();
            let trial = coming.middle.first().map(|middle| coming.warming.before(middle));
            windows.parts.extend(trial.into_iter().flatten());
            windows.coming = coming;
        }
        if windows.skips() {
            hierarchy.begin_windows();
        }
        if let Some(tracer) = &mut self.tracer {
            self.shape.trace = tracer.order(self.grid, &recorded);
            if self.shape.trace.is_none() {
                self.tracer = None;
            }
        }
        let all = 0..ctas;
        Ok(match windows.parts.as_slice() {
            [] => vec![all],
            parts => parts.iter().map(|part| part.ctas.clone()).collect(),
        })
    }
}

impl WindowReplay {
    /// True if CTAs come one by one, whose records are in the sums already.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// True if the traffic is that of windows.
    pub(super) fn is_cut(&self) -> bool {
        !self.parts.is_empty()
    }

    /// CTAs from `first` on come next.
    pub(super) fn end_parts(
        &mut self,
        first: u64,
        hierarchy: &mut Hierarchy,
        mut tracer: Option<&mut LaunchTracer>,
    ) {
        while self.parts.get(self.at).is_some_and(|part| !part.ctas.contains(&first)) {
            let end = self.parts.get(self.at).map(|part| part.ctas.end);
            self.end_part(hierarchy, tracer.as_deref_mut());
            if self.parts.get(self.at).is_some_and(|part| Some(part.ctas.start) != end) {
                self.begin_window(hierarchy);
            }
        }
    }

    /// The present part does not follow the one before.
    fn begin_window(&self, hierarchy: &mut Hierarchy) {
        let ctas = self.parts.get(self.at).map_or(0, |part| part.ctas.start);
        hierarchy.begin_window(self.turns_over(ctas, hierarchy.l2_lines()));
    }

    /// True if so many CTAs bring more lines into an L2 than it holds, as the windows so far do.
    fn turns_over(&self, ctas: u64, l2_lines: u64) -> bool {
        self.lines_of(ctas) > l2_lines
    }

    /// Lines that so many CTAs bring into the L2, as the windows so far do. Those that come again
    /// find theirs there.
    fn lines_of(&self, ctas: u64) -> u64 {
        let firsts = self.measured.iter().filter(|part| part.is_first);
        let (lines, of_ctas) = firsts
            .fold((0, 0), |(lines, ctas), part| (lines + part.traffic.newcomers, ctas + part.ctas));
        scaled(lines, ctas, of_ctas)
    }

    /// Dirty sectors of an L2 of some lines that is full of such lines as the windows brought in.
    fn dirty_of_full(&self, l2_lines: u64) -> u64 {
        let add = |sum: [u64; 2], part: &Measured| {
            [sum[0] + part.dirtied, sum[1] + part.traffic.newcomers]
        };
        let [dirtied, lines] = self.measured.iter().fold([0; 2], add);
        (dirtied as f64 / lines.max(1) as f64 * l2_lines as f64).round() as u64
    }

    /// True if some CTAs were skipped.
    fn skips(&self) -> bool {
        self.parts.len() > 1
    }

    /// The part of the launch's requests that was replayed.
    pub(super) fn replay(&self) -> Replay {
        let in_windows = self.skips();
        Replay::Sampled { in_windows, lines: self.lines.lines_of_group() }
    }

    /// Takes over CTAs of the present part, from `first` on.
    pub(super) fn collect(
        &mut self,
        first: u64,
        recorders: &mut [&mut CtaRecorder],
        hierarchy: &mut Hierarchy,
        tracer: Option<&LaunchTracer>,
    ) {
        for recorder in recorders.iter_mut() {
            for (key, counts) in recorder.memory.iter().filter(|(_, counts)| counts.sectors > 0) {
                *self.sectors.row(key) += counts.sectors;
            }
            self.left_out.note(recorder, tracer);
        }
        if !self.lines.is_whole() {
            self.thin(first, recorders, tracer);
        }
        let mut streams: Vec<&mut CtaStream> =
            recorders.iter_mut().map(|recorder| &mut recorder.stream).collect();
        hierarchy.collect(&mut streams);
    }

    /// Leaves requests for the sampled lines alone, and counts their sectors.
    fn thin(
        &mut self,
        first: u64,
        recorders: &mut [&mut CtaRecorder],
        tracer: Option<&LaunchTracer>,
    ) {
        let lines = self.lines;
        recorders
            .par_iter_mut()
            .enumerate()
            .for_each(|(index, recorder)| recorder.stream.thin(lines, first + index as u64));
        for recorder in recorders.iter() {
            for (row, sectors) in recorder.stream.sectors_of_rows() {
                let of_single = || tracer.and_then(|tracer| tracer.row_of_single(row));
                let row = match row {
                    row if row < FIRST_SINGLE_ROW => row,
                    single => of_single().map_or(single, |row| row * PARTS),
                };
                if row < FIRST_SINGLE_ROW {
                    *self.sampled_sectors.row(row) += sectors;
                }
            }
        }
    }

    /// The CTAs to hear of next, where all so far have been.
    fn next(
        &mut self,
        hierarchy: &mut Hierarchy,
        mut tracer: Option<&mut LaunchTracer>,
        memory: &SparseRows<MemoryCounts>,
    ) -> Vec<Range<u64>> {
        while self.at < self.parts.len() {
            self.end_part(hierarchy, tracer.as_deref_mut());
        }
        let Coming { warming, middle, more, last } = &mut self.coming;
        let tried = self.measured.last().map(|part| &part.traffic);
        if let Some(first) = middle.first()
            && tried.is_some_and(|tried| !tried.is_filled && warming.widen(tried.filled))
        {
            self.parts.extend(warming.before(first));
            self.begin_window(hierarchy);
        } else if !middle.is_empty() {
            // The CTAs before the first one have just been.
            let trial = middle.first().map_or(0, |first| warming.before(first).count());
            let middle = std::mem::take(middle).into_iter();
            self.parts.extend(middle.flat_map(|window| window.warmed(warming)).skip(trial));
        } else if let Some(last) = last.take() {
            let of_middle = self.measured.iter().filter(|part| part.role == Role::Middle);
            if !are_alike(of_middle, memory) {
                let more = std::mem::take(more).into_iter();
                self.parts.extend(more.flat_map(|window| window.warmed(warming)));
            }
            self.parts.extend(last.warmed(warming));
            self.begin_window(hierarchy);
        }
        self.parts[self.at..].iter().map(|part| part.ctas.clone()).collect()
    }

    fn end_part(&mut self, hierarchy: &mut Hierarchy, tracer: Option<&mut LaunchTracer>) {
        let Some(Part { ctas, role }) = self.parts.get(self.at) else { return };
        let overlaps = |one: &Part| one.ctas.start < ctas.end && ctas.start < one.ctas.end;
        let is_first = !self.parts[..self.at].iter().any(overlaps);
        let mut traffic = hierarchy.take_part();
        let of_parts = (!self.lines.is_whole()).then(|| traffic.take_rows());
        match tracer {
            Some(tracer) => tracer.settle_part(&mut traffic),
            None => traffic.add_singles(),
        }
        if let Some(of_parts) = of_parts {
            // Rows of single requests belong to the first part.
            traffic.renumber_rows(|row| row * PARTS);
            traffic.add_rows(&of_parts);
        }
        let dirtied = traffic.dirty_sectors + traffic.l2.dram_write_sectors;
        let dirtied = dirtied.saturating_sub(self.dirty_before);
        self.dirty_before = traffic.dirty_sectors;
        traffic.dirty_sectors *= self.lines.lines_of_group();
        self.is_filled = traffic.is_filled;
        let sectors = std::mem::replace(&mut self.sampled_sectors, SparseRows::new(0));
        let lines = self.lines;
        self.measured.push(Measured {
            sampled: (!lines.is_whole()).then_some(Sampled { lines, sectors }),
            role: *role,
            ctas: ctas.end - ctas.start,
            is_first,
            sectors: std::mem::replace(&mut self.sectors, SparseRows::new(0)),
            left_out: std::mem::take(&mut self.left_out),
            unsure_dirtied: traffic.unsure_dirtied.all(),
            traffic,
            dirtied,
        });
        self.at += 1;
    }
}

/// The lines that some CTAs bring in, where those `of` others bring in so many.
pub(super) fn scaled(lines: u64, ctas: u64, of: u64) -> u64 {
    let scaled = u128::from(lines) * u128::from(ctas) / u128::from(of.max(1));
    scaled.try_into().unwrap_or(u64::MAX)
}

/// Dirty sectors that a launch leaves, of the value and of what else may be.
pub(super) fn dirty_at_end<'a>(
    value: &Variant,
    others: impl Iterator<Item = &'a Variant>,
) -> Estimated {
    let likely = value.l2.dirty_sectors;
    let one = Estimated { least: likely, likely, most: likely };
    others.map(|other| other.l2.dirty_sectors).fold(one, |all, other| Estimated {
        least: all.least.min(other),
        most: all.most.max(other),
        ..all
    })
}

/// The part of what was replayed that a variant does not know of.
#[derive(Clone, Copy, Debug)]
enum Without {
    Nothing,
    /// One of the middle windows.
    Window(usize),
    /// A part of the sampled lines.
    Lines(u32),
}

impl Counter {
    /// The table and the traffic from the windows, what they may be besides, and the L2.
    pub(super) fn settle_windows(
        &mut self,
        mut windows: WindowReplay,
        mut hierarchy: Hierarchy,
    ) -> (Variant, Doubt, L2) {
        while windows.at < windows.parts.len() {
            windows.end_part(&mut hierarchy, self.tracer.as_mut());
        }
        let times = windows.lines.lines_of_group();
        let capacity = hierarchy.l2_sectors() * times;
        let is_first = hierarchy.is_of_first_launch(self.contents);
        let lines = hierarchy.l2_lines();
        let (_, mut l2) = hierarchy.finish(self.contents);
        let last = l2.take_traffic();
        let middle = windows.measured.iter().filter(|part| part.role == Role::Middle);
        let dirty: Vec<u64> = middle.map(|part| part.traffic.dirty_sectors).collect();
        let of_line = match windows.lines.is_whole() {
            true => 0,
            false => times * (self.l2.line_bytes / self.l2.sector_bytes.max(1)),
        };
        let duellists = l2.dirty_of_duellists().into_iter().map(|dirty| dirty.times(times));
        let turns_over = windows.turns_over(self.ctas_in_order(), lines);
        let duellists = duellists.filter(|_| turns_over);
        let ended = Ended {
            dirty_at_start: windows.dirty_at_start,
            is_filled: windows.is_filled,
            unfilled: Some(windows.dirty_of_full(lines) * times),
            capacity,
            left: Left::of(&dirty, ScaledSectors { sectors: last.dirty_sectors * times, of_line })
                .or(duellists),
            is_first,
        };
        let measured = windows.measured.as_slice();
        let variant =
            |without: Without, unsure: Unsure| self.variant(measured, &ended, without, unsure);
        let middle = windows.measured.iter().filter(|part| part.role == Role::Middle).count();
        let parts = if windows.lines.is_whole() { 0 } else { PARTS };
        let answer = |unsure: Unsure| Answer {
            whole: variant(Without::Nothing, unsure),
            without_window: (0..middle).map(|at| variant(Without::Window(at), unsure)).collect(),
            without_lines: (0..parts).map(|part| variant(Without::Lines(part), unsure)).collect(),
        };
        let answers = Unsure::EXTREMES.map(answer);
        let value = variant(Without::Nothing, Unsure::VALUE);
        let parts = measured.iter().map(|part| (&part.sectors, &part.left_out));
        self.left_out = LeftOut::of_launch(&self.memory, parts);
        let fates = Unsure::EXTREMES.into_iter().flat_map(|unsure| {
            let (memory, l2) = self.traffic(measured, &ended, Without::Nothing, unsure);
            self.fates(&memory, l2)
        });
        let answers: Vec<Answer> = answers.into_iter().chain(fates.map(Answer::alone)).collect();
        let dirty = dirty_at_end(&value, answers.iter().map(|answer| &answer.whole));
        if !windows.lines.is_whole() {
            l2 = L2::unknown(self.l2, dirty, true);
        } else if windows.skips() {
            l2.end_windows(turns_over, windows.lines_of(self.ctas_in_order()), dirty);
        }
        // Bounds hold the value in any case.
        let answers = answers.into_iter().chain([Answer::alone(value.clone())]).collect();
        (value, Doubt::Replay(answers), l2)
    }

    /// The table and the traffic for an answer to what is unsure, from all that was replayed or
    /// from a part of it.
    fn variant(
        &self,
        measured: &[Measured],
        ended: &Ended,
        without: Without,
        unsure: Unsure,
    ) -> Variant {
        let (memory, l2) = self.traffic(measured, ended, without, unsure);
        Variant { table: self.table_of(&memory), l2 }
    }

    /// The same by row of accesses. Requests that were left out are as the others of their row.
    fn traffic(
        &self,
        measured: &[Measured],
        ended: &Ended,
        without: Without,
        unsure: Unsure,
    ) -> (SparseRows<MemoryCounts>, L2Traffic) {
        let (without, part) = match without {
            Without::Nothing => (None, None),
            Without::Window(window) => (Some(window), None),
            Without::Lines(part) => (None, Some(part)),
        };
        let pooled = Pooled { hits: unsure.hits, without: part };
        let sampled = measured.iter().find_map(|part| part.sampled.as_ref());
        let scatter = sampled.map_or(0.0, |sampled| sampled.lines.scatter(&self.l2));
        let ends = measured.iter().filter(|part| part.role == Role::Itself);
        let pairs = measured.windows(2).filter(|pair| pair[1].role == Role::Middle);
        let pairs = pairs.enumerate().filter(|(at, _)| Some(*at) != without);
        let pairs: Vec<&[Measured]> = pairs.map(|(_, pair)| pair).collect();
        let of_both = |pair: &&&[Measured]| pair[0].role == Role::Settling && pair[0].is_first;
        let [settling, settled] = [0, 1].map(|at| {
            let parts = pairs.iter().filter(of_both).map(|pair| &pair[at]);
            Pool::of(parts, &self.memory, pooled)
        });
        let ends = Pool::of(ends, &self.memory, pooled);
        let middle = Pool::of(pairs.iter().map(|pair| &pair[1]), &self.memory, pooled);
        // To neither side where the value is asked for.
        let [towards_hits, towards_writes] = match unsure {
            Unsure::VALUE => [0.0; 2],
            Unsure { hits, written } => [hits, written].map(|part| 2.0 * part - 1.0),
        };
        let mut memory = self.memory.clone();
        let mut l2 = L2Traffic::default();
        let mut stored = 0.0;
        for (key, counts) in self.memory.iter().filter(|(_, counts)| counts.sectors > 0) {
            let RowSum { sectors: of_ends, traffic } = ends.row(key);
            let rest = (counts.sectors as f64 - of_ends).max(0.0);
            let mut rate = middle.rate(key, &ends, unsure);
            let unsettled = towards_hits * settled.hits_beyond(&settling, key);
            let unsettled = unsettled.clamp(-rate[2], rate[3]);
            (rate[2], rate[3]) = (rate[2] + unsettled, rate[3] - unsettled);
            let mut sums: [f64; 4] = std::array::from_fn(|at| traffic[at] + rate[at] * rest);
            if !writes(counts.kind) {
                let [_, _, hits, read] = sums;
                // None of it where the value is asked for.
                let more_hits = match unsure {
                    Unsure::VALUE => 0.0,
                    Unsure { hits: most, .. } => scatter * (most * read - (1.0 - most) * hits),
                };
                sums[2] += more_hits;
                sums[3] -= more_hits;
            }
            let [l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors] =
                sums.map(|sum| sum.round().max(0.0) as u64);
            let traffic = RowTraffic {
                l1_hit_sectors,
                l2_sectors,
                l2_hit_sectors,
                dram_read_sectors,
                ..RowTraffic::default()
            };
            memory.row(key).traffic = Some(traffic);
            l2.add_row(counts.kind, &traffic);
            stored += if writes(counts.kind) { counts.sectors as f64 } else { 0.0 };
        }
        let ctas = (self.ctas_in_order() - ends.ctas) as f64 / middle.ctas.max(1) as f64;
        let local: [u64; 3] =
            std::array::from_fn(|at| (ends.local[at] + middle.local[at] * ctas).round() as u64);
        l2.write_sectors += local[0];
        l2.write_hit_sectors += local[1];
        let rest = (stored - ends.stored).max(0.0);
        let times = if middle.stored > 0.0 { rest / middle.stored } else { ctas };
        let unsettled = towards_writes * settled.dirtied_beyond(&settling) * middle.dirtied;
        let dirtied = ends.dirtied + (middle.dirtied + unsettled).max(0.0) * times;
        ended.balance(dirtied, unsure.written, &mut l2);
        l2.local = LocalTraffic {
            write_back_sectors: local[0],
            write_back_hit_sectors: local[1],
            dram_write_sectors: local[2].min(l2.dram_write_sectors),
            dirty_sectors: 0,
        };
        (memory, l2)
    }
}
