//! The part of a cache that a window of the grid has filled anew.
//!
//! A replay that jumps to another window finds the lines of the window before. Those that the
//! skipped CTAs would have left there are not known. Once as many lines came into a set as it has
//! ways, what it holds is due to the window alone, if it gives up the least recently used. Until
//! then, a miss is *unsure*: the real set may have held the line. Source of the idea: Wood, Hill
//! and Kessler, "A model for estimating trace-sample miss ratios", SIGMETRICS 1991.
//!
//! Under other policies a set may keep a line although so many came: [`KeptLines`].
//!
//! Skipped CTAs bring in other lines, and those of earlier launches and windows give way. So it is
//! remembered which lines this window has asked for, and which this launch.

use std::ops::AddAssign;

use super::kept_lines::{KeptLines, Place};
use super::sums::RowSums;
use super::traffic::RowTraffic;

/// The sets of one slice that a window has filled, and its unsure misses.
#[derive(Clone, Debug)]
pub(super) struct Turnover {
    ways: u16,
    /// True after a jump to a window, until the launch ends.
    is_window: bool,
    /// True if the line of a set that was not used for longest gives way. Those that are known are
    /// then there in any case.
    keeps_latest: bool,
    /// Lines that came into each set since the window began, up to `ways`. If it is no window, the
    /// lines of the set that are known.
    lines: Vec<u16>,
    /// Sets that the window has filled.
    filled: usize,
    unsure: RowSums<RowTraffic>,
    /// Hits that may be misses.
    unsure_hits: RowSums<RowTraffic>,
    /// Evictions from sets that are not filled.
    evictions: UnsureEvictions,
    /// Who has asked for the line at each place.
    touched: Vec<AskedBy>,
    /// Lines that came in since they were last taken.
    newcomers: u64,
    /// If windows of a launch are replayed under a policy that may keep lines for long.
    kept: Option<KeptLines>,
}

/// The last one who asked for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AskedBy {
    /// Nobody whose requests were replayed. There may be a line of which nothing is known.
    Nobody,
    /// A launch or a copy before this launch.
    Others,
    /// A window of this launch before the present one.
    Launch,
    Window,
}

/// Evictions of lines that may have been others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnsureEvictions {
    /// The most lines that may have given way.
    pub(super) lines: u64,
    /// Dirty sectors of those that did.
    pub(super) written: u64,
}

impl AddAssign for UnsureEvictions {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.written += other.written;
    }
}

/// A request's line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    pub(super) tag: u64,
    pub(super) at: Place,
    /// True if it was not there.
    pub(super) is_new: bool,
    /// The line that gave way to it.
    pub(super) gave_way: u64,
    /// Dirty sectors of that.
    pub(super) evicted: u64,
}

/// Sectors of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    /// Those that were not there.
    pub(super) missed: u64,
    /// Those that came from DRAM.
    pub(super) read: u64,
    /// Those that were there, and would have come from DRAM otherwise.
    pub(super) found: u64,
}

impl Turnover {
    /// A launch begins with contents that are known.
    pub(super) fn with_known(mut self) -> Self {
        self.lines.fill(self.ways);
        self.filled = self.lines.len();
        self.touched.fill(AskedBy::Others);
        self
    }

    /// Windows of a launch begin. Under a policy other than LRU its lines may be kept for long.
    pub(super) fn with_kept(mut self) -> Self {
        self.kept = (!self.keeps_latest).then(|| KeptLines::new(self.lines.len(), self.ways));
        self
    }

    /// A window begins: nothing is sure about any set. `age` is that of a set.
    pub(super) fn after(mut self, age: impl Fn(usize) -> u32) -> Self {
        self.is_window = true;
        if let Some(kept) = &mut self.kept {
            kept.begin_window(age);
        }
        self.lines.fill(0);
        self.filled = 0;
        let of_window = self.touched.iter_mut().filter(|by| **by == AskedBy::Window);
        of_window.for_each(|by| *by = AskedBy::Launch);
        self
    }

    /// A launch ends. `is_known` tells of a place if what it holds is known.
    pub(super) fn end(&mut self, is_known: impl Fn(usize, AskedBy) -> bool) {
        let Self { ways, lines, touched, .. } = self;
        let of_sets = touched.chunks_exact_mut(usize::from(*ways));
        for (set, (lines, touched)) in lines.iter_mut().zip(of_sets).enumerate() {
            for (way, by) in touched.iter_mut().enumerate() {
                let is_known = is_known(set * usize::from(*ways) + way, *by);
                *by = if is_known { AskedBy::Others } else { AskedBy::Nobody };
            }
            *lines = touched.iter().filter(|by| **by == AskedBy::Others).count() as u16;
        }
        self.filled = self.lines.iter().filter(|&&lines| lines == self.ways).count();
        self.is_window = false;
        self.kept = None;
    }

    /// Another launch begins: what is known of a set stays so.
    pub(super) fn after_launch(mut self) -> Self {
        let of_others = self.touched.iter_mut().filter(|by| **by > AskedBy::Others);
        of_others.for_each(|by| *by = AskedBy::Others);
        self.unsure.clear();
        self.unsure_hits.clear();
        self.evictions = UnsureEvictions::default();
        self.newcomers = 0;
        self.kept = None;
        self
    }

    /// True if nothing is known of a part of the cache.
    pub(super) fn has_unknown(&self) -> bool {
        self.filled < self.lines.len()
    }

    /// Places whose lines this launch has asked for.
    pub(super) fn asked_for(&self) -> u64 {
        self.touched.iter().filter(|by| **by > AskedBy::Others).count() as u64
    }

    /// Lines of each set that are known.
    pub(super) fn known_lines(&self) -> &[u16] {
        &self.lines
    }

    /// A launch begins, and nothing is sure about any set.
    pub(super) fn new(sets: usize, ways: u32, keeps_latest: bool) -> Self {
        let ways = ways.clamp(1, u16::MAX.into()) as u16;
        Self {
            ways,
            is_window: false,
            keeps_latest,
            lines: vec![0; sets],
            filled: 0,
            unsure: RowSums::default(),
            unsure_hits: RowSums::default(),
            evictions: UnsureEvictions::default(),
            touched: vec![AskedBy::Nobody; sets * usize::from(ways)],
            newcomers: 0,
            kept: None,
        }
    }

    /// A request of `row` was served. Returns true if the real set may have held the line when this
    /// one did not.
    pub(super) fn note(&mut self, line: Touched, row: u32, served: Served) -> bool {
        let Touched { at: Place { set, place, .. }, is_new, evicted, .. } = line;
        let Some(touched) = self.touched.get_mut(place) else { return false };
        let before = std::mem::replace(touched, AskedBy::Window);
        self.newcomers += u64::from(is_new);
        let may_be_kept = self.note_kept(line, before);
        let Some(lines) = self.lines.get_mut(set) else { return false };
        let Served { missed, read, found } = served;
        if *lines == self.ways {
            if may_be_kept && missed > 0 {
                self.unsure.add(row, traffic(missed, read));
            }
            return may_be_kept;
        }
        if is_new && (self.is_window || before == AskedBy::Nobody) {
            *lines += 1;
            self.filled += usize::from(*lines == self.ways);
        }
        if missed > 0 {
            self.unsure.add(row, traffic(missed, read));
        }
        if self.is_window {
            return true;
        }
        // A line that another launch left may have given way to those of which nothing is known.
        let may_be_away = before == AskedBy::Others && !is_new && !self.keeps_latest;
        if may_be_away && found > 0 {
            self.unsure_hits.add(row, traffic(found, found));
        }
        self.evictions.lines += u64::from(is_new || may_be_away);
        self.evictions.written += evicted;
        true
    }

    /// Takes note of a line that a set may keep for long. Returns true if the real set may have
    /// kept it.
    fn note_kept(&mut self, line: Touched, before: AskedBy) -> bool {
        let Some(kept) = &mut self.kept else { return false };
        let Touched { tag, at, is_new, gave_way, .. } = line;
        match (self.is_window, is_new) {
            (true, true) => kept.miss(tag, gave_way, at),
            (false, _) if before != AskedBy::Window || is_new => kept.note(tag, at),
            (_, false) | (false, true) => kept.hit(at),
        }
        self.is_window && kept.may_be_older(at.place)
    }

    /// The part of the cache that the window has filled.
    pub(super) fn part_filled(&self) -> f64 {
        let lines: u64 = self.lines.iter().map(|&lines| u64::from(lines)).sum();
        lines as f64 / (self.lines.len() as f64 * f64::from(self.ways)).max(1.0)
    }

    /// Sets that the window has filled, and all.
    pub(super) fn sets(&self) -> (usize, usize) {
        (self.filled, self.lines.len())
    }

    /// The last one who asked for the line at a place.
    pub(super) fn asked_by(&self, place: usize) -> AskedBy {
        self.touched.get(place).copied().unwrap_or(AskedBy::Nobody)
    }

    /// Takes the number of lines that came in so far.
    pub(super) fn take_newcomers(&mut self) -> u64 {
        std::mem::take(&mut self.newcomers)
    }

    /// Takes the unsure misses so far: hits that they may be, and DRAM reads that those would not
    /// need.
    pub(super) fn take_unsure(&mut self, mut each: impl FnMut(u32, RowTraffic)) {
        self.unsure.iter().for_each(|(row, traffic)| each(row, *traffic));
        self.unsure.clear();
    }

    /// Takes the hits so far that may be misses, and the DRAM reads that those would need.
    pub(super) fn take_unsure_hits(&mut self, mut each: impl FnMut(u32, RowTraffic)) {
        self.unsure_hits.iter().for_each(|(row, traffic)| each(row, *traffic));
        self.unsure_hits.clear();
    }

    /// Evictions since the launch began from sets of which something is unknown.
    pub(super) fn evictions(&self) -> UnsureEvictions {
        self.evictions
    }
}

/// Sectors that hit or not, and their reads from DRAM.
fn traffic(l2_hit_sectors: u64, dram_read_sectors: u64) -> RowTraffic {
    RowTraffic { l2_hit_sectors, dram_read_sectors, ..RowTraffic::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: usize, is_new: bool) -> Touched {
        let at = Place { set: place / 2, place, age: 0 };
        Touched { tag: 0, at, is_new, gave_way: 0, evicted: if is_new { 3 } else { 0 } }
    }

    fn served(missed: u64, read: u64, found: u64) -> Served {
        Served { missed, read, found }
    }

    fn asked_by(turnover: &Turnover) -> [AskedBy; 4] {
        [0, 1, 2, 3].map(|place| turnover.asked_by(place))
    }

    fn unsure(turnover: &mut Turnover) -> [Vec<(u32, u64, u64)>; 2] {
        let [mut misses, mut hits] = [Vec::new(), Vec::new()];
        let of = |row: u32, it: RowTraffic| (row, it.l2_hit_sectors, it.dram_read_sectors);
        turnover.take_unsure(|row, it| misses.push(of(row, it)));
        turnover.take_unsure_hits(|row, it| hits.push(of(row, it)));
        [misses, hits]
    }

    #[test]
    fn misses_are_unsure_until_their_set_is_filled() {
        use AskedBy::{Launch, Nobody, Window};
        let mut turnover = Turnover::new(2, 2, false).after(|_| 0);
        assert!(turnover.note(at(0, true), 7, served(4, 4, 0)));
        turnover.note(at(0, false), 7, served(1, 0, 3));
        assert!(turnover.note(at(1, true), 7, served(2, 2, 0)));
        // The set is full now.
        assert!(!turnover.note(at(1, true), 7, served(4, 4, 0)));
        assert_eq!(turnover.part_filled(), 0.5);
        turnover.note(at(3, true), 9, served(0, 0, 0));
        assert_eq!(asked_by(&turnover), [Window, Window, Nobody, Window]);
        assert_eq!([turnover.take_newcomers(), turnover.take_newcomers()], [4, 0]);
        assert_eq!(turnover.part_filled(), 0.75);
        assert_eq!(turnover.sets(), (1, 2));
        assert_eq!(unsure(&mut turnover), [vec![(7, 7, 6)], vec![]]);
        assert_eq!(unsure(&mut turnover), [vec![], vec![]], "they were taken");
        let mut turnover = turnover.after(|_| 0);
        assert_eq!(turnover.sets(), (0, 2));
        assert!(turnover.note(at(0, false), 7, served(0, 0, 4)));
        assert_eq!(asked_by(&turnover), [Window, Launch, Nobody, Launch]);
        let mut known = Turnover::new(2, 2, false).with_known();
        assert!(!known.note(at(2, true), 7, served(4, 4, 0)));
    }

    /// A set holds a known line and an unknown one, until another one comes for the latter.
    #[test]
    fn a_set_is_unsure_after_a_launch_while_it_holds_unknown_lines() {
        use AskedBy::{Nobody, Others};
        for keeps_latest in [false, true] {
            let mut turnover = Turnover::new(2, 2, keeps_latest).after(|_| 0);
            for place in [0, 2, 3] {
                turnover.note(at(place, true), 7, served(1, 1, 0));
            }
            turnover.end(|place, by| place != 2 && by == AskedBy::Window);
            let mut turnover = turnover.after_launch();
            assert_eq!(asked_by(&turnover), [Others, Nobody, Nobody, Others]);
            assert_eq!((turnover.known_lines(), turnover.has_unknown()), (&[1, 1][..], true));
            turnover.note(at(0, false), 8, served(0, 0, 4));
            // The launch itself has asked for it.
            turnover.note(at(0, false), 8, served(0, 0, 4));
            turnover.note(at(1, true), 8, served(2, 2, 0));
            assert!(!turnover.note(at(0, true), 8, served(4, 4, 0)));
            assert_eq!(turnover.sets(), (1, 2));
            let hits = if keeps_latest { vec![] } else { vec![(8, 4, 4)] };
            assert_eq!(unsure(&mut turnover), [vec![(8, 2, 2)], hits]);
            let lines = if keeps_latest { 1 } else { 2 };
            assert_eq!(turnover.evictions(), UnsureEvictions { lines, written: 3 });
        }
    }
}
