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
//! A miss of the value is a miss, even if the skipped CTAs might have left its line there. The L2
//! still holds what the windows before this one asked for. A line that is missing was therefore not
//! shared with them, and most such lines come in for the first time. The interval has both answers.
//!
//! Where a wave alone has more requests than are to be replayed, those for a sample of the lines
//! are ([`LineSample`]). Grids that are too small for windows, and most others, are replayed so
//! from the first CTA to the last.
//!
//! Dirty sectors are balanced: what a launch makes dirty is written to DRAM or dirty at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gpucast_interpreter::{AccessKind, CountOverflow, Windows};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Counter;
use crate::counts::MemoryCounts;
use crate::estimate::{Ended, Left, Unsure, Variant};
use crate::extrapolation::Extrapolation;
use crate::hierarchy::{
    CtaStream, FIRST_SINGLE_ROW, Hierarchy, L2, L2Traffic, LineSample, LocalTraffic, PARTS,
    PartTraffic, ROW_LIMIT, RowTraffic,
};
use crate::launch_profile::{Answer, Doubt};
use crate::recorder::CtaRecorder;
use crate::row_key::RowKey;
use crate::sparse::SparseRows;
use crate::table::BaseTable;
use crate::totals::Replay;
use crate::trace::LaunchTracer;

/// Windows between the first and the last one, at most: an odd number.
const MIDDLE_WINDOWS: u64 = 5;

/// Part by which sums of traffic may differ from window to window without making more windows.
const ALIKE: f64 = 0.005;

/// Sectors that the requests of CTAs before it ask for, over those of the L2: many are asked for
/// several times. These CTAs are not counted.
pub(super) const WARMING: u64 = 6;

/// How much of a launch's requests is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WindowSizes {
    /// Sectors that a window that counts asks for, at least.
    pub counted: u64,
    /// Those of the CTAs before it, at most in the first trial.
    pub warming: u64,
    /// The same, where the first trial leaves the L2 unfilled.
    pub most_warming: u64,
    /// Lines of all requests that are replayed, at most: more are sampled.
    pub lines: u64,
    /// True if a launch that has no more lines is replayed as a whole, and one of some times as
    /// many by a sample of its lines. Otherwise windows come first.
    pub only_if_large: bool,
}

impl WindowSizes {
    /// Lines that are replayed in two or three seconds of a core: each takes 60 to 100 ns. A launch
    /// of this size, such as a tiled product of 2560 × 2560 matrices, is replayed as a whole.
    pub const LINES: u64 = 1 << 25;
}

impl Default for WindowSizes {
    /// A few megabytes that count; and for the largest L2s several times as many as they hold.
    fn default() -> Self {
        Self {
            counted: 1 << 18,
            warming: 1 << 21,
            most_warming: 1 << 24,
            lines: Self::LINES,
            only_if_large: false,
        }
    }
}

/// The most lines of a launch whose requests are all looked at, over those that are replayed: a
/// look takes a fiftieth of the time.
const MOST_LOOKED_AT: u128 = 32;

/// Lines that come into an L2 to fill it, over those that it holds. They fall into sets at random:
/// of sets with 16 ways, one in 2,000 then gets fewer than 16.
const LINES_TO_FILL: f64 = 2.0;

/// The most times that CTAs are tried for the first warm part.
const TRIALS: u32 = 4;

/// The part that some CTAs play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// They fill the caches for those that follow.
    Warm,
    /// They count for themselves, as the first or the last ones do.
    Itself,
    /// They count for others, too.
    Middle,
}

/// Consecutive CTAs, and their part.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    ctas: Range<u64>,
    role: Role,
}

/// CTAs that went through the caches.
#[derive(Clone, Debug)]
struct Measured {
    role: Role,
    ctas: u64,
    /// Sectors of their requests, by row.
    sectors: SparseRows<u64>,
    left_out_sectors: u64,
    traffic: PartTraffic,
    /// Sectors that they made dirty.
    dirtied: u64,
    /// The lines that were replayed, if not all were.
    sampled: Option<Sampled>,
}

/// Requests of a sample of lines.
#[derive(Clone, Debug)]
struct Sampled {
    lines: LineSample,
    /// Their sectors, by row and part of the sample.
    sectors: SparseRows<u64>,
}

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
    left_out_sectors: u64,
    dirty_before: u64,
    dirty_at_start: u64,
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
            left_out_sectors: 0,
            dirty_before: 0,
            dirty_at_start: 0,
            measured: Vec::new(),
            is_filled: true,
        }
    }
}

/// CTAs that count, which others come before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    counted: Range<u64>,
    role: Role,
}

impl Window {
    /// The CTAs before it, and it.
    fn warmed(self, warming: &Warming) -> [Part; 2] {
        [warming.before(&self), Part { ctas: self.counted, role: self.role }]
    }
}

/// The CTAs that fill the caches before each window.
#[derive(Clone, Debug, Default, PartialEq)]
struct Warming {
    ctas: u64,
    most: u64,
    /// CTAs of a wave.
    resident: u64,
    /// How often they were tried.
    trials: u32,
    /// Those of the first trial, and the part of the caches that the last one filled.
    first: u64,
    filled: f64,
}

/// The least that a longer trial fills more than the one before, in parts of that, if it is of use.
/// Half as much again is the least that a trial is longer.
const FILLS_MORE: f64 = 0.1;

impl Warming {
    fn before(&self, window: &Window) -> Part {
        let first = window.counted.start.saturating_sub(self.ctas);
        Part { ctas: first..window.counted.start, role: Role::Warm }
    }

    /// More of them, where those so far have filled the part `filled` of the caches. False if there
    /// cannot be more.
    fn widen(&mut self, filled: f64) -> bool {
        self.trials += 1;
        if self.trials == 1 {
            self.first = self.ctas;
        } else if filled <= self.filled * (1.0 + FILLS_MORE) {
            // All that the CTAs ask for is there: data that fits the L2 never fills it.
            self.ctas = self.first;
            return false;
        }
        self.filled = filled;
        let wanted = self.ctas as f64 * (LINES_TO_FILL / filled.max(1e-3));
        let wanted = (wanted.ceil() as u64).next_multiple_of(self.resident).min(self.most);
        let is_more = wanted > self.ctas && self.trials < TRIALS;
        if is_more {
            self.ctas = wanted;
        }
        is_more
    }
}

/// Windows that wait until others were replayed.
#[derive(Clone, Debug, Default)]
struct Coming {
    warming: Warming,
    /// Some middle windows. The CTAs before the first one are on trial.
    middle: Vec<Window>,
    /// More of them, if those so far differ.
    more: Vec<Window>,
    /// The last CTAs.
    last: Option<Window>,
}

/// Windows of a grid.
#[derive(Clone, Debug)]
struct Cut {
    /// The first CTAs.
    first: Part,
    coming: Coming,
}

impl Cut {
    /// All CTAs as one window.
    fn whole(ctas: u64) -> Self {
        let first = Part { ctas: 0..ctas, role: Role::Itself };
        Self { first, coming: Coming::default() }
    }

    /// CTAs of all windows, as long as the first warm part suffices.
    fn ctas(&self) -> u64 {
        let Coming { warming, middle, more, last } = &self.coming;
        let windows = middle.iter().chain(more).chain(last);
        let counted: u64 =
            windows.map(|window| window.counted.end - window.counted.start + warming.ctas).sum();
        self.first.ctas.end - self.first.ctas.start + counted
    }
}

/// Cuts a grid of `ctas` CTAs, each of which asks for some sectors, into windows. `None` if they
/// would hold more than half of it.
fn cut(
    (ctas, width): (u64, u64),
    resident: u64,
    sectors_per_cta: f64,
    l2_sectors: u64,
    size: WindowSizes,
) -> Option<Cut> {
    // Whole rows of the grid, so that its edges have their share, where that is not much more.
    let rows = |ctas: u64| {
        let of_rows = ctas.next_multiple_of(width.max(1));
        if of_rows <= 2 * ctas { of_rows } else { ctas }
    };
    let of_sectors = |sectors: u64| (sectors as f64 / sectors_per_cta.max(1.0)).ceil() as u64;
    // Whole waves: CTAs that share data with those of their wave do so to the end.
    let resident = resident.max(1);
    let waves = |ctas: u64| ctas.max(1).next_multiple_of(resident);
    let counted = waves(rows(of_sectors(size.counted)));
    let warming = waves(of_sectors((WARMING * l2_sectors).min(size.warming)));
    let all = 2 * counted + warming + MIDDLE_WINDOWS * (warming + counted);
    if all > ctas / 2 {
        return None;
    }
    // Windows lie where the longest warm parts leave them apart and within half of the grid.
    let rest = (ctas / 2 - (2 + MIDDLE_WINDOWS) * counted).saturating_sub(resident);
    let most = rest / (1 + MIDDLE_WINDOWS);
    let most = most.min(of_sectors(size.most_warming)) / resident * resident;
    let most = most.max(warming);
    let mut middle = Vec::new();
    let mut more = Vec::new();
    let (from, to) = (counted, ctas - counted - most);
    for window in 0..MIDDLE_WINDOWS {
        let place = u128::from(to - from) * u128::from(2 * window + 1);
        let place = from + (place / u128::from(2 * MIDDLE_WINDOWS)) as u64;
        // By another wave each, so that windows do not all meet the same place of a pattern that
        // repeats from wave to wave.
        let first = place - (most + counted) / 2;
        let first = match width < (to - from) / MIDDLE_WINDOWS {
            // Rows end in some waves and not in others. So windows begin evenly along a row.
            true => {
                let slack = ((to - from) / MIDDLE_WINDOWS).saturating_sub(most + counted) / 2;
                let place = width * (window + 1) / (MIDDLE_WINDOWS + 1);
                begin_at(first - first % resident, most, (place, width), resident, slack)
            }
            false => first + window * resident,
        };
        let first = first.min(to - counted);
        let start = first - first % resident + most;
        let window_of = Window { counted: start..start + counted, role: Role::Middle };
        if window % 2 == 0 { &mut middle } else { &mut more }.push(window_of);
    }
    let start = ctas - counted - most;
    let start = start - start % resident + most;
    let last = Some(Window { counted: start..ctas, role: Role::Itself });
    let warming = Warming { ctas: warming, most, resident, ..Warming::default() };
    let first = Part { ctas: 0..counted, role: Role::Itself };
    Some(Cut { first, coming: Coming { warming, middle, more, last } })
}

/// The windows of a grid of `ctas` CTAs whose requests have so many `lines`, and the lines that are
/// replayed of them: none if all requests are.
fn chosen(
    cut: Option<Cut>,
    (ctas, lines): (u64, u128),
    smallest: LineSample,
    size: WindowSizes,
) -> (Option<Cut>, LineSample) {
    let most = u128::from(size.lines);
    let of = |lines: u128| LineSample::of(lines, most).or_larger(smallest);
    if size.only_if_large && lines <= most {
        return (None, LineSample::default());
    }
    let whole = of(lines);
    // Small caches allow small groups alone. Twice the lines are still better than windows.
    let is_enough = lines <= 2 * most * u128::from(whole.lines_of_group());
    let prefers_whole = size.only_if_large && is_enough && lines <= most * MOST_LOOKED_AT;
    match cut {
        Some(cut) if !prefers_whole => {
            let of_windows = lines * u128::from(cut.ctas()) / u128::from(ctas.max(1));
            (Some(cut), of(of_windows))
        }
        _ if whole.is_whole() => (None, whole),
        _ => (Some(Cut::whole(ctas)), whole),
    }
}

/// The first CTA near `first` from which a window counts, after the warming ones, nearest to the
/// `place` in a row of some `width`. It lies whole waves and no more than `slack` away.
fn begin_at(
    first: u64,
    warming: u64,
    (place, width): (u64, u64),
    resident: u64,
    slack: u64,
) -> u64 {
    let (resident, width) = (resident.max(1), width.max(1));
    let distance = |first: u64| {
        let apart = ((first + warming) % width).abs_diff(place % width);
        apart.min(width - apart)
    };
    // Places repeat after as many waves as a row has CTAs.
    let waves = (slack / resident).min(width);
    let places = (0..=waves).flat_map(|wave| {
        [first.checked_sub(wave * resident), Some(first + wave * resident)].into_iter().flatten()
    });
    places.min_by_key(|&first| distance(first)).unwrap_or(first)
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
        if !lines.is_whole() {
            *hierarchy = Hierarchy::new(&lines.caches(&caches));
        }
        windows.has_begun = true;
        windows.dirty_at_start = hierarchy.take_part().dirty_sectors;
        windows.dirty_before = windows.dirty_at_start;
        // Blocks are recorded in windows that come in any case.
        let mut recorded = Vec::new();
        if let Some(Cut { first, coming }) = cut {
            let windows_of = coming.middle.iter().chain(&coming.last);
            if coming.last.is_some() {
                recorded = [first.ctas.clone()].into();
                recorded.extend(windows_of.map(|window| window.counted.clone()));
            }
            windows.parts = [first].into();
            windows.parts.extend(coming.middle.first().map(|one| coming.warming.before(one)));
            windows.coming = coming;
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
            self.end_part(hierarchy, tracer.as_deref_mut());
            if self.parts.get(self.at).is_some_and(|part| part.role == Role::Warm) {
                hierarchy.begin_window();
            }
        }
    }

    /// The part of the launch's requests that was replayed.
    pub(super) fn replay(&self) -> Replay {
        let in_windows = self.parts.len() > 1;
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
            self.left_out_sectors += recorder.stream.take_left_out_sectors();
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
            self.parts.push(warming.before(first));
            hierarchy.begin_window();
        } else if !middle.is_empty() {
            // The CTAs before the first one have just been.
            let middle = std::mem::take(middle).into_iter();
            self.parts.extend(middle.flat_map(|window| window.warmed(warming)).skip(1));
        } else if let Some(last) = last.take() {
            let of_middle = self.measured.iter().filter(|part| part.role == Role::Middle);
            if !are_alike(of_middle, memory) {
                let more = std::mem::take(more).into_iter();
                self.parts.extend(more.flat_map(|window| window.warmed(warming)));
            }
            self.parts.extend(last.warmed(warming));
            hierarchy.begin_window();
        }
        self.parts[self.at..].iter().map(|part| part.ctas.clone()).collect()
    }

    fn end_part(&mut self, hierarchy: &mut Hierarchy, tracer: Option<&mut LaunchTracer>) {
        let Some(Part { ctas, role }) = self.parts.get(self.at) else { return };
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
            sectors: std::mem::replace(&mut self.sectors, SparseRows::new(0)),
            left_out_sectors: std::mem::take(&mut self.left_out_sectors),
            traffic,
            dirtied,
        });
        self.at += 1;
    }
}

/// True if windows have the same traffic, or nearly so: what a sector causes in each, and what
/// becomes dirty.
fn are_alike<'a>(
    windows: impl Iterator<Item = &'a Measured>,
    memory: &SparseRows<MemoryCounts>,
) -> bool {
    let rates = |window: &'a Measured| {
        let pool = Pool::of(std::iter::once(window), memory, Pooled::default());
        let RowSum { sectors, traffic: [l1, l2, hits, reads] } = pool.all;
        [l1, l2, hits, reads, pool.dirtied].map(|sum| sum / sectors.max(1.0))
    };
    let rates: Vec<[f64; 5]> = windows.map(rates).collect();
    (0..5).all(|at| {
        let of_windows = rates.iter().map(|rates| rates[at]);
        let least = of_windows.clone().fold(f64::INFINITY, f64::min);
        let most = of_windows.fold(0.0, f64::max);
        most - least <= ALIKE * most
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

/// Traffic of some CTAs together.
#[derive(Debug)]
struct Pool {
    ctas: u64,
    rows: BTreeMap<u32, RowSum>,
    all: RowSum,
    dirtied: f64,
    /// Sectors that stores and atomics took to the L2.
    stored: f64,
    local: [f64; 3],
}

/// Requests of one row, and what they caused.
#[derive(Clone, Copy, Debug, Default)]
struct RowSum {
    sectors: f64,
    /// Of L1 hits, to the L2, of L2 hits, from DRAM.
    traffic: [f64; 4],
}

/// The part of a measurement that is pooled.
#[derive(Clone, Copy, Debug, Default)]
struct Pooled {
    /// The part of unsure misses that are hits.
    hits: f64,
    /// The part of sampled lines that is left out.
    without: Option<u32>,
}

impl Measured {
    /// The requests of each row, as far as anything is known of what they caused.
    fn rows(&self, pooled: Pooled) -> BTreeMap<u32, RowSum> {
        let Some(sampled) = &self.sampled else { return self.all_rows(pooled.hits) };
        let is_in = |row: u32| row < FIRST_SINGLE_ROW && pooled.without != Some(row % PARTS);
        let mut rows = BTreeMap::<u32, RowSum>::new();
        for (row, &sectors) in sampled.sectors.iter().filter(|(row, _)| is_in(*row)) {
            rows.entry(row / PARTS).or_default().sectors += sectors as f64;
        }
        let PartTraffic { rows: traffic, unsure, .. } = &self.traffic;
        for (row, traffic) in traffic.iter().filter(|(row, _)| is_in(*row)) {
            rows.entry(row / PARTS).or_default().add(sums(*traffic));
        }
        for (row, unsure) in unsure.iter().filter(|(row, _)| is_in(*row)) {
            rows.entry(row / PARTS).or_default().add(as_hits(*unsure, pooled.hits));
        }
        rows.retain(|_, row| row.sectors > 0.0);
        // What they stand for.
        for (key, &all) in self.sectors.iter() {
            if let Some(row) = rows.get_mut(&key) {
                let times = all as f64 / row.sectors;
                row.traffic.iter_mut().for_each(|sum| *sum *= times);
                row.sectors = all as f64;
            }
        }
        rows
    }

    fn all_rows(&self, hits: f64) -> BTreeMap<u32, RowSum> {
        let scale = self.scale();
        let mut rows = BTreeMap::<u32, RowSum>::new();
        for (key, &sectors) in self.sectors.iter() {
            rows.entry(key).or_default().sectors += sectors as f64;
        }
        let is_of_one = |key: u32| key < ROW_LIMIT;
        for (key, &traffic) in self.traffic.rows.iter().filter(|(key, _)| is_of_one(*key)) {
            rows.entry(key).or_default().add(sums(scale.row(traffic)));
        }
        for (key, &unsure) in self.traffic.unsure.iter().filter(|(key, _)| is_of_one(*key)) {
            rows.entry(key).or_default().add(as_hits(scale.row(unsure), hits));
        }
        rows
    }

    /// From the requests that were kept to all of those whose lines are sampled.
    fn scale(&self) -> Extrapolation {
        let sectors: u64 = self.sectors.iter().map(|(_, sectors)| sectors).sum();
        Extrapolation::new(sectors.into(), self.left_out_sectors)
    }

    /// Sectors that it made dirty. Rows that write are those of `is_written`.
    fn dirtied(&self, pooled: Pooled, is_written: impl Fn(u32) -> bool) -> f64 {
        let Some(Sampled { lines, sectors }) = &self.sampled else {
            return self.scale().scale(self.dirtied) as f64;
        };
        let is_in = |part: u32| pooled.without != Some(part);
        let dirtied = self.traffic.dirtied.by_rows.iter().zip(0..);
        let dirtied: u64 =
            dirtied.filter(|(_, part)| is_in(*part)).map(|(sectors, _)| sectors).sum();
        let all = self.sectors.iter().filter(|(key, _)| is_written(*key));
        let all: u64 = all.map(|(_, sectors)| sectors).sum();
        let seen = sectors.iter().filter(|(row, _)| is_in(row % PARTS) && is_written(row / PARTS));
        let seen: u64 = seen.map(|(_, sectors)| sectors).sum();
        let of_rows = dirtied as f64 * all as f64 / seen.max(1) as f64;
        let by_write_backs = self.traffic.dirtied.by_write_backs * lines.lines_of_group();
        of_rows + by_write_backs as f64
    }

    /// Lines of local memory that first-level caches wrote back.
    fn local(&self) -> LocalTraffic {
        let times = self.sampled.as_ref().map_or(1, |sampled| sampled.lines.lines_of_group());
        let local = self.scale().total(self.traffic.l2).local;
        LocalTraffic {
            write_back_sectors: local.write_back_sectors * times,
            write_back_hit_sectors: local.write_back_hit_sectors * times,
            dram_write_sectors: local.dram_write_sectors * times,
            ..local
        }
    }
}

fn sums(traffic: RowTraffic) -> [f64; 4] {
    let RowTraffic { l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors } = traffic;
    [l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors].map(|sectors| sectors as f64)
}

/// What changes if the part `hits` of unsure misses are hits.
fn as_hits(unsure: RowTraffic, hits: f64) -> [f64; 4] {
    let [_, _, of_l2, read] = sums(unsure);
    [0.0, 0.0, hits * of_l2, -hits * read]
}

impl RowSum {
    fn add(&mut self, traffic: [f64; 4]) {
        self.traffic.iter_mut().zip(traffic).for_each(|(sum, sectors)| *sum += sectors);
    }

    /// What a sector causes, if anything is known of it.
    fn rate(&self) -> Option<[f64; 4]> {
        (self.sectors > 0.0).then(|| self.traffic.map(|sum| sum / self.sectors))
    }
}

impl Pool {
    /// The traffic of `parts`.
    fn of<'a>(
        parts: impl Iterator<Item = &'a Measured>,
        memory: &SparseRows<MemoryCounts>,
        pooled: Pooled,
    ) -> Self {
        let mut pool = Self {
            ctas: 0,
            rows: BTreeMap::new(),
            all: RowSum::default(),
            dirtied: 0.0,
            stored: 0.0,
            local: [0.0; 3],
        };
        let written: BTreeSet<u32> = memory
            .iter()
            .filter(|(_, counts)| writes(counts.kind) && counts.sectors > 0)
            .map(|(key, _)| key)
            .collect();
        for part in parts {
            pool.ctas += part.ctas;
            pool.dirtied += part.dirtied(pooled, |key| written.contains(&key));
            for (key, row) in part.rows(pooled) {
                for sum in [pool.rows.entry(key).or_default(), &mut pool.all] {
                    sum.sectors += row.sectors;
                    sum.add(row.traffic);
                }
            }
            let local = part.local();
            pool.local[0] += local.write_back_sectors as f64;
            pool.local[1] += local.write_back_hit_sectors as f64;
            pool.local[2] += local.dram_write_sectors as f64;
        }
        let stored = written.iter().filter_map(|key| pool.rows.get(key));
        pool.stored = stored.map(|row| row.sectors).sum();
        pool
    }

    /// The requests of a row.
    fn row(&self, key: u32) -> RowSum {
        self.rows.get(&key).copied().unwrap_or_default()
    }

    /// What one sector of a row causes: as here, or as in `other`. Where nothing is known of the
    /// row, it is the mean of all rows, or one of the extremes.
    fn rate(&self, key: u32, other: &Self, unsure: Unsure) -> [f64; 4] {
        let known = self.row(key).rate().or_else(|| other.row(key).rate());
        known.unwrap_or_else(|| match unsure {
            Unsure::VALUE => self.all.rate().or_else(|| other.all.rate()).unwrap_or_default(),
            Unsure { hits, .. } => [0.0, 1.0, hits, 1.0 - hits],
        })
    }
}

fn writes(kind: AccessKind) -> bool {
    match kind {
        AccessKind::Load | AccessKind::LoadReadOnly => false,
        AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => true,
    }
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
        let (_, mut l2) = hierarchy.finish(self.contents);
        let last = l2.take_traffic();
        let middle = windows.measured.iter().filter(|part| part.role == Role::Middle);
        let dirty: Vec<u64> = middle.map(|part| part.traffic.dirty_sectors).collect();
        let ended = Ended {
            dirty_at_start: windows.dirty_at_start * times,
            is_filled: windows.is_filled,
            capacity,
            left: Left::of(&dirty, last.dirty_sectors * times),
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
        let doubt = Doubt::Replay(Box::new(Unsure::EXTREMES.map(answer)));
        (variant(Without::Nothing, Unsure::VALUE), doubt, l2)
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
        let (without, part) = match without {
            Without::Nothing => (None, None),
            Without::Window(window) => (Some(window), None),
            Without::Lines(part) => (None, Some(part)),
        };
        let pooled = Pooled { hits: unsure.hits, without: part };
        let sampled = measured.iter().find_map(|part| part.sampled.as_ref());
        let scatter = sampled.map_or(0.0, |sampled| sampled.lines.scatter(&self.l2));
        let ends = measured.iter().filter(|part| part.role == Role::Itself);
        let middle = measured.iter().filter(|part| part.role == Role::Middle);
        let middle = middle.enumerate().filter(|(at, _)| Some(*at) != without);
        let ends = Pool::of(ends, &self.memory, pooled);
        let middle = Pool::of(middle.map(|(_, part)| part), &self.memory, pooled);
        let mut memory = self.memory.clone();
        let mut l2 = L2Traffic::default();
        let mut stored = 0.0;
        for (key, counts) in self.memory.iter().filter(|(_, counts)| counts.sectors > 0) {
            let RowSum { sectors: of_ends, traffic } = ends.row(key);
            let rest = (counts.sectors as f64 - of_ends).max(0.0);
            let rate = middle.rate(key, &ends, unsure);
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
            let traffic =
                RowTraffic { l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors };
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
        let dirtied = ends.dirtied + middle.dirtied * times;
        ended.balance(dirtied, unsure.written, &mut l2);
        l2.local = LocalTraffic {
            write_back_sectors: local[0],
            write_back_hit_sectors: local[1],
            dram_write_sectors: local[2].min(l2.dram_write_sectors),
            dirty_sectors: 0,
        };
        Variant { table: self.table_of(&memory), l2 }
    }

    fn table_of(&self, memory: &SparseRows<MemoryCounts>) -> BaseTable {
        let (blocks, lanes) = (&self.blocks, &self.guarded_lanes);
        self.code.table(blocks, lanes, &self.branches, memory, &self.products, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lie_apart_in_order_and_within_the_grid() {
        for (ctas, width, resident, per_cta, l2) in [
            (1 << 20, 1 << 20, 90, 16.0, 24_576),
            (65_536, 256, 90, 8192.0, 24_576),
            (1 << 40, 1 << 20, 2112, 1.0, 1 << 20),
            (100_000_000, 10_000, 1, 0.0, 0),
        ] {
            let size = WindowSizes::default();
            let Cut { first, coming } = cut((ctas, width), resident, per_cta, l2, size).unwrap();
            let Coming { mut warming, middle, more, last } = coming;
            assert_eq!((middle.len(), more.len()), (3, 2), "of {MIDDLE_WINDOWS}");
            assert_eq!((first.ctas.start, first.role), (0, Role::Itself));
            // Those that come later lie between those that came before, however long warm parts
            // become.
            for _ in 0..2 {
                let windows = middle.iter().chain(&more).chain(&last).cloned();
                let mut parts: Vec<Part> =
                    windows.flat_map(|window| window.warmed(&warming)).collect();
                parts.push(first.clone());
                parts.sort_by_key(|part| part.ctas.start);
                assert_eq!(parts.last().unwrap().ctas.end, ctas);
                assert!(parts.windows(2).all(|pair| pair[0].ctas.end <= pair[1].ctas.start));
                let held: u64 = parts.iter().map(|part| part.ctas.end - part.ctas.start).sum();
                assert!(held <= ctas / 2);
                for part in &parts {
                    assert!(part.ctas.end - part.ctas.start >= resident);
                }
                warming.ctas = warming.most;
            }
        }
        let size = WindowSizes::default();
        assert!(cut((1000, 1000), 90, 16.0, 24_576, size).is_none());
    }

    #[test]
    fn warm_parts_widen_by_what_they_leave_unfilled_until_they_may_not() {
        let fresh = Warming { ctas: 100, most: 1000, resident: 10, ..Warming::default() };
        let mut warming = fresh.clone();
        assert!(warming.widen(0.5));
        assert_eq!(warming.ctas, 400);
        assert!(warming.widen(0.8));
        assert_eq!(warming.ctas, 1000, "the most");
        assert!(!warming.widen(0.9));
        let mut always = Warming { most: u64::MAX / 4, ..fresh };
        let filled = (1..10).map(|trial| 0.09 * f64::from(trial));
        assert_eq!(filled.map(|part| always.widen(part)).filter(|more| *more).count(), 3);
        assert_eq!(TRIALS, 4);
    }

    /// Data of which a tenth of the L2 is full, however many CTAs ask for it.
    #[test]
    fn warm_parts_that_can_fill_no_more_are_as_short_as_at_first() {
        let mut warming = Warming { ctas: 100, most: 10_000, resident: 10, ..Warming::default() };
        assert!(warming.widen(0.1));
        assert_eq!(warming.ctas, 2000);
        assert!(!warming.widen(0.105));
        assert_eq!(warming.ctas, 100);
    }

    /// 1,024 lines are replayed at most; caches allow one of 16.
    #[test]
    fn launches_are_replayed_as_wholes_by_lines_or_in_windows() {
        let size = WindowSizes { lines: 1 << 10, ..WindowSizes::default() };
        let auto = WindowSizes { only_if_large: true, ..size };
        let smallest = LineSample::of(16, 1);
        let windows = || {
            let warming = Warming { ctas: 10, ..Warming::default() };
            let last = Some(Window { counted: 90..100, role: Role::Itself });
            let coming = Coming { warming, last, ..Coming::default() };
            Cut { first: Part { ctas: 0..10, role: Role::Itself }, coming }
        };
        let how = |cut, lines: u128, size| {
            let (cut, sample) = chosen(cut, (100, lines), smallest, size);
            let kind = match cut {
                None => "whole",
                Some(Cut { coming: Coming { last: None, .. }, .. }) => "lines",
                Some(_) => "windows",
            };
            (kind, sample.lines_of_group())
        };
        assert_eq!(how(Some(windows()), 1 << 10, auto), ("whole", 1));
        assert_eq!(how(Some(windows()), 1 << 10, size), ("windows", 1));
        assert_eq!(how(None, 1 << 10, size), ("whole", 1));
        assert_eq!(how(Some(windows()), 1 << 13, auto), ("lines", 8));
        // Three tenths of the grid.
        assert_eq!(how(Some(windows()), 1 << 13, size), ("windows", 4));
        assert_eq!(how(Some(windows()), 1 << 20, auto), ("windows", 16));
        assert_eq!(how(None, 1 << 20, auto), ("lines", 16));
    }

    /// A wave of 90 CTAs begins anywhere in a row of 128, and comes to the end of it or not.
    #[test]
    fn windows_begin_evenly_along_rows() {
        let size = WindowSizes::default();
        let Cut { coming: Coming { middle, more, .. }, .. } =
            cut((16_384, 128), 90, 8192.0, 24_576, size).unwrap();
        let places = |windows: &[Window]| -> Vec<u64> {
            windows.iter().map(|window| window.counted.start % 128).collect()
        };
        let near = |places: Vec<u64>, expected: &[u64]| {
            places.iter().zip(expected).all(|(place, expected)| place.abs_diff(*expected) <= 8)
        };
        assert!(near(places(&middle), &[21, 64, 106]), "{:?}", places(&middle));
        assert!(near(places(&more), &[42, 85]), "{:?}", places(&more));
    }
}
