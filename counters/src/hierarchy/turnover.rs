//! The part of a cache that a window of the grid has filled anew.
//!
//! A replay that jumps to another window finds the lines of the window before. Those that the
//! skipped CTAs would have left there are not known. Once as many lines came into a set as it has
//! ways, what it holds is due to the window alone, if it gives up the least recently used. Until
//! then, a miss is *unsure*: the real set may have held the line. Source of the idea: Wood, Hill
//! and Kessler, "A model for estimating trace-sample miss ratios", SIGMETRICS 1991.
//!
//! Skipped CTAs bring in other lines, and those of earlier launches and windows give way. So it is
//! remembered which lines this window has asked for, and which this launch.

use super::sums::RowSums;
use super::traffic::RowTraffic;

/// The sets of one slice that a window has filled, and its unsure misses.
#[derive(Clone, Debug)]
pub(super) struct Turnover {
    ways: u16,
    /// Lines that came into each set since the window began, up to `ways`.
    lines: Vec<u16>,
    /// Sets that the window has filled.
    filled: usize,
    unsure: RowSums<RowTraffic>,
    /// Who has asked for the line at each place.
    touched: Vec<AskedBy>,
    /// Lines that came in since they were last taken.
    newcomers: u64,
}

/// The last one who asked for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AskedBy {
    /// A launch or a copy before this launch.
    Others,
    /// A window of this launch before the present one.
    Launch,
    Window,
}

/// A request's line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touched {
    pub(super) set: usize,
    /// Its place in the cache.
    pub(super) place: usize,
    /// True if it was not there.
    pub(super) is_new: bool,
}

impl Turnover {
    /// A launch begins with contents that are known.
    pub(super) fn of_known(sets: usize, ways: u32) -> Self {
        let new = Self::new(sets, ways);
        Self { lines: vec![new.ways; sets], filled: sets, ..new }
    }

    /// A window begins: nothing is sure about any set.
    pub(super) fn after(mut self) -> Self {
        self.lines.fill(0);
        self.filled = 0;
        let of_window = self.touched.iter_mut().filter(|by| **by == AskedBy::Window);
        of_window.for_each(|by| *by = AskedBy::Launch);
        self
    }

    /// A launch begins, and nothing is sure about any set.
    pub(super) fn new(sets: usize, ways: u32) -> Self {
        let ways = ways.clamp(1, u16::MAX.into()) as u16;
        Self {
            ways,
            lines: vec![0; sets],
            filled: 0,
            unsure: RowSums::default(),
            touched: vec![AskedBy::Others; sets * usize::from(ways)],
            newcomers: 0,
        }
    }

    /// True if the real set may hold what this one does not.
    pub(super) fn is_unsure(&self, set: usize) -> bool {
        self.lines.get(set).is_some_and(|&lines| lines < self.ways)
    }

    /// A request of `row` missed `missed` sectors of a line, of which `read` came from DRAM.
    pub(super) fn note(&mut self, line: Touched, row: u32, (missed, read): (u64, u64)) {
        let Touched { set, place, is_new } = line;
        if let Some(touched) = self.touched.get_mut(place) {
            *touched = AskedBy::Window;
        }
        self.newcomers += u64::from(is_new);
        let Some(lines) = self.lines.get_mut(set) else { return };
        if *lines == self.ways {
            return;
        }
        if is_new {
            *lines += 1;
            self.filled += usize::from(*lines == self.ways);
        }
        if missed > 0 {
            let traffic = RowTraffic {
                l2_hit_sectors: missed,
                dram_read_sectors: read,
                ..RowTraffic::default()
            };
            self.unsure.add(row, traffic);
        }
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
        self.touched.get(place).copied().unwrap_or(AskedBy::Others)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_are_unsure_until_their_set_is_filled() {
        let mut turnover = Turnover::new(2, 2);
        let at = |place: usize, is_new: bool| Touched { set: place / 2, place, is_new };
        turnover.note(at(0, true), 7, (4, 4));
        turnover.note(at(0, false), 7, (1, 0));
        assert!(turnover.is_unsure(0));
        turnover.note(at(1, true), 7, (2, 2));
        // The set is full now.
        assert!(!turnover.is_unsure(0));
        turnover.note(at(1, true), 7, (4, 4));
        assert_eq!(turnover.part_filled(), 0.5);
        turnover.note(at(3, true), 9, (0, 0));
        let asked_by = |of: &Turnover| [0, 1, 2, 3].map(|place| of.asked_by(place));
        use AskedBy::{Launch, Others, Window};
        assert_eq!(asked_by(&turnover), [Window, Window, Others, Window]);
        assert_eq!([turnover.take_newcomers(), turnover.take_newcomers()], [4, 0]);
        assert_eq!(turnover.part_filled(), 0.75);
        assert_eq!(turnover.sets(), (1, 2));
        let mut unsure = Vec::new();
        turnover.take_unsure(|row, it| unsure.push((row, it.l2_hit_sectors, it.dram_read_sectors)));
        assert_eq!(unsure, [(7, 7, 6)]);
        turnover.take_unsure(|_, _| panic!("they were taken"));
        let mut turnover = turnover.after();
        assert_eq!((turnover.sets(), turnover.is_unsure(0)), ((0, 2), true));
        turnover.note(at(0, false), 7, (0, 0));
        assert_eq!(asked_by(&turnover), [Window, Launch, Others, Launch]);
        assert!(!Turnover::of_known(2, 2).is_unsure(1));
    }
}
