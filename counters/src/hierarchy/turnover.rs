//! The part of a cache that a window of the grid has filled anew.
//!
//! A replay that jumps to another window finds the lines of the window before. Those that the
//! skipped CTAs would have left there are not known. Once as many lines came into a set as it has
//! ways, what it holds is due to the window alone, if it gives up the least recently used. Until
//! then, a miss is *unsure*: the real set may have held the line. Source of the idea: Wood, Hill
//! and Kessler, "A model for estimating trace-sample miss ratios", SIGMETRICS 1991.

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
}

impl Turnover {
    /// A window begins: nothing is sure about any set.
    pub(super) fn new(sets: usize, ways: u32) -> Self {
        let ways = ways.clamp(1, u16::MAX.into()) as u16;
        Self { ways, lines: vec![0; sets], filled: 0, unsure: RowSums::default() }
    }

    /// A request of `row` missed `missed` sectors in a set, of which `read` came from DRAM;
    /// `is_new` if its line was not there at all.
    pub(super) fn note(&mut self, set: usize, is_new: bool, row: u32, (missed, read): (u64, u64)) {
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
        turnover.note(0, true, 7, (4, 4));
        turnover.note(0, false, 7, (1, 0));
        turnover.note(0, true, 7, (2, 2));
        // The set is full now.
        turnover.note(0, true, 7, (4, 4));
        assert_eq!(turnover.part_filled(), 0.5);
        turnover.note(1, true, 9, (0, 0));
        assert_eq!(turnover.part_filled(), 0.75);
        assert_eq!(turnover.sets(), (1, 2));
        let mut unsure = Vec::new();
        turnover.take_unsure(|row, it| unsure.push((row, it.l2_hit_sectors, it.dram_read_sectors)));
        assert_eq!(unsure, [(7, 7, 6)]);
        turnover.take_unsure(|_, _| panic!("they were taken"));
    }
}
