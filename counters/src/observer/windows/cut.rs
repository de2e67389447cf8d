//! Which CTAs of a grid go through the caches, and which lines of their requests.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::hierarchy::LineSample;

/// Windows between the first and the last one, at most: an odd number.
const MIDDLE_WINDOWS: u64 = 5;

/// Sectors that the requests of CTAs before it ask for, over those of the L2: many are asked for
/// several times. These CTAs are not counted.
pub(in crate::observer) const WARMING: u64 = 6;

/// How much of a launch's requests is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WindowSizes {
    /// Sectors that a window that counts asks for, at least.
    pub counted: u64,
    /// Those of the CTAs before it, at most in the first trial.
    pub warming: u64,
    /// The same, where the first trial leaves the L2 unfilled.
    pub most_warming: u64,
    /// Lines of a sample that are replayed, at most. Up to twice as many are replayed as a whole:
    /// to look at all and to replay half of them takes as long.
    pub lines: u64,
    /// True if a launch that has no more lines than that is replayed as a whole, and one of some
    /// times as many by a sample of its lines. Otherwise windows come first.
    pub only_if_large: bool,
}

impl WindowSizes {
    /// Lines that are replayed in one to three seconds of a core: each takes 30 to 100 ns. A tiled
    /// product of 2560 × 2560 matrices has as many.
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
pub(super) enum Role {
    /// They fill the caches for those that follow.
    Warm,
    /// They do so, too, and tell whether the caches have settled: a window that differs from them
    /// is not like those around it yet.
    Settling,
    /// They count for themselves, as the first or the last ones do.
    Itself,
    /// They count for others, too.
    Middle,
}

/// Consecutive CTAs, and their part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) ctas: Range<u64>,
    pub(super) role: Role,
}

/// CTAs that count, which others come before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) counted: Range<u64>,
    pub(super) role: Role,
}

impl Window {
    /// The CTAs before it, and it.
    pub(super) fn warmed(self, warming: &Warming) -> impl Iterator<Item = Part> + use<> {
        let counted = Part { ctas: self.counted.clone(), role: self.role };
        warming.before(&self).chain([counted])
    }
}

/// The CTAs that fill the caches before each window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Warming {
    pub(super) ctas: u64,
    pub(super) most: u64,
    /// CTAs of a wave.
    pub(super) resident: u64,
    /// How often they were tried.
    pub(super) trials: u32,
    /// Those of the first trial, and the part of the caches that the last one filled.
    pub(super) first: u64,
    pub(super) filled: f64,
}

/// The least that a longer trial fills more than the one before, in parts of that, if it is of use.
/// Half as much again is the least that a trial is longer.
const FILLS_MORE: f64 = 0.1;

impl Warming {
    /// The CTAs before a window. The second half of their waves is settling.
    pub(super) fn before(&self, window: &Window) -> impl Iterator<Item = Part> + use<> {
        let end = window.counted.start;
        let first = end.saturating_sub(self.ctas);
        let half = (end - first) / 2 / self.resident.max(1) * self.resident.max(1);
        let parts = [(Role::Warm, first..first + half), (Role::Settling, first + half..end)];
        let parts = parts.into_iter().filter(|(_, ctas)| !ctas.is_empty());
        parts.map(|(role, ctas)| Part { ctas, role })
    }

    /// More of them, where those so far have filled the part `filled` of the caches. False if there
    /// cannot be more.
    pub(super) fn widen(&mut self, filled: f64) -> bool {
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
pub(super) struct Coming {
    pub(super) warming: Warming,
    /// Some middle windows. The CTAs before the first one are on trial.
    pub(super) middle: Vec<Window>,
    /// More of them, if those so far differ.
    pub(super) more: Vec<Window>,
    /// The last CTAs.
    pub(super) last: Option<Window>,
}

/// Windows of a grid.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// The first CTAs.
    pub(super) first: Part,
    pub(super) coming: Coming,
}

impl Cut {
    /// All CTAs as one window.
    pub(super) fn whole(ctas: u64) -> Self {
        let first = Part { ctas: 0..ctas, role: Role::Itself };
        Self { first, coming: Coming::default() }
    }

    /// CTAs of all windows, as long as the first warm part suffices.
    pub(super) fn ctas(&self) -> u64 {
        let Coming { warming, middle, more, last } = &self.coming;
        let windows = middle.iter().chain(more).chain(last);
        let counted: u64 =
            windows.map(|window| window.counted.end - window.counted.start + warming.ctas).sum();
        self.first.ctas.end - self.first.ctas.start + counted
    }
}

/// Cuts a grid of `ctas` CTAs, each of which asks for some sectors, into windows. `None` if they
/// would hold more than half of it.
pub(super) fn cut(
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
pub(super) fn chosen(
    cut: Option<Cut>,
    (ctas, lines): (u64, u128),
    smallest: LineSample,
    size: WindowSizes,
) -> (Option<Cut>, LineSample) {
    let most = u128::from(size.lines);
    let of = |lines: u128| LineSample::of(lines, most).or_larger(smallest).if_it_pays();
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
                let before = |at: usize| at.checked_sub(1).map(|at| &parts[at]);
                for (at, part) in parts.iter().enumerate() {
                    if part.role == Role::Middle {
                        let settling = before(at).unwrap();
                        assert_eq!(settling.role, Role::Settling);
                        assert_eq!(settling.ctas.end, part.ctas.start);
                        // Half of the warm part, or the only wave of it.
                        let of_settling = settling.ctas.end - settling.ctas.start;
                        assert!(2 * of_settling >= warming.ctas, "{part:?}");
                    }
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
        assert_eq!(how(Some(windows()), 1 << 11, auto), ("whole", 1), "one line in 2 is no gain");
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
