//! Lines of an L2 of which nothing is known.
//!
//! After a launch of which a part was replayed, the L2 holds lines that other CTAs asked for. Such
//! lines have tags that nobody asks for. They take the room of the real ones, and give way to
//! others as those do. As many of their sectors are dirty as the launch is estimated to leave. Who
//! drives them out writes them.
//!
//! Under most policies the order in which they give way depends on what came before. So each line
//! that comes into a set with unknown ones may write as many sectors as a line has, or none.

use super::super::sectored::count;
use super::super::turnover::{AskedBy, UnsureEvictions};
use super::{L2, L2Geometry};

/// A number of sectors that is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimated<T = u64> {
    pub(crate) least: T,
    pub(crate) likely: T,
    pub(crate) most: T,
}

impl Estimated {
    /// Its numbers as real ones.
    pub(crate) fn real(self) -> Estimated<f64> {
        let Self { least, likely, most } = self;
        Estimated { least: least as f64, likely: likely as f64, most: most as f64 }
    }
}

/// How far dirty sectors may be fewer or more than they are here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DirtyDoubt {
    fewer: u64,
    more: u64,
}

impl DirtyDoubt {
    fn of(here: u64, dirty: Estimated) -> Self {
        Self { fewer: here.saturating_sub(dirty.least), more: dirty.most.saturating_sub(here) }
    }

    fn around(self, here: u64) -> Estimated {
        let Self { fewer, more } = self;
        Estimated { least: here.saturating_sub(fewer), likely: here, most: here + more }
    }
}

/// Sectors that a launch wrote to DRAM, and that it left dirty, where some lines that it found were
/// unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) written: Estimated,
    pub(crate) dirty: Estimated,
}

impl L2 {
    /// A cache of unknown lines with so many dirty sectors, which a launch has left, or else
    /// copies.
    pub(crate) fn unknown(geometry: L2Geometry, dirty: Estimated, is_of_a_launch: bool) -> Self {
        let mut l2 = Self::new(geometry);
        l2.is_of_a_launch = is_of_a_launch;
        let turnover = l2.turnover();
        for slice in &mut l2.slices {
            slice.turnover = Some(Box::new(turnover.clone()));
        }
        l2.fill(u64::MAX, dirty);
        l2
    }

    /// A launch of which a part was replayed has ended. It asked for so many lines, as far as they
    /// fit, and left so many sectors dirty. Where it `forgets` the parts before the last one, the
    /// CTAs that were skipped brought in other lines than theirs.
    pub(crate) fn end_windows(&mut self, forgets: bool, lines: u64, dirty: Estimated) {
        let least = if forgets { AskedBy::Window } else { AskedBy::Others };
        let mut held = 0;
        for slice in &mut self.slices {
            slice.changes();
            let first_local_tag = slice.first_local_tag;
            let Some(turnover) = &mut slice.turnover else { continue };
            let cache = &mut slice.cache;
            held += turnover.asked_for();
            let is_known = |place: usize| turnover.asked_by(place) >= least;
            cache.disguise(is_known, |way| tag(first_local_tag, way));
            turnover.end(|place, by| by >= least && cache.holds(place));
        }
        self.fill(if forgets { u64::MAX } else { lines.saturating_sub(held) }, dirty);
    }

    /// Puts so many unknown lines at most into places that hold nothing, evenly. Together with the
    /// known ones, all unknown lines have so many dirty sectors.
    fn fill(&mut self, lines: u64, dirty: Estimated) {
        let of_line = self.sectors_of_line();
        let empty: u64 = self.slices.iter().map(|slice| slice.cache.empty() as u64).sum();
        let [before, seen] = self.unknown_lines();
        let unseen = dirty.likely.saturating_sub(seen);
        let least = unseen.div_ceil(of_line).saturating_sub(before);
        let lines = lines.max(least).min(empty);
        let mut places = Shares::new(lines, empty);
        let mut shares = Shares::new(unseen.min((before + lines) * of_line), before + lines);
        for slice in &mut self.slices {
            slice.changes();
            let first_local_tag = slice.first_local_tag;
            let count = places.of(slice.cache.empty() as u64);
            slice.cache.fill(count, |way| tag(first_local_tag, way));
            slice.cache.dirty_anew(
                |tag| is_unknown(tag, first_local_tag),
                || ((1_u32 << shares.of(1).min(of_line)) - 1) as u16,
            );
        }
        self.dirty_doubt = DirtyDoubt::of(self.dirty_sectors(), dirty);
    }

    /// Its unknown lines, and the dirty sectors of the known ones.
    fn unknown_lines(&self) -> [u64; 2] {
        let [mut lines, mut dirty] = [0; 2];
        for slice in &self.slices {
            slice.cache.for_each(|line| match is_unknown(line.tag, slice.first_local_tag) {
                true => lines += 1,
                false => dirty += count(line.dirty),
            });
        }
        [lines, dirty]
    }

    pub(super) fn sectors_of_line(&self) -> u64 {
        let L2Geometry { line_bytes, sector_bytes, .. } = self.geometry;
        (line_bytes / sector_bytes.max(1)).clamp(1, 16)
    }

    /// Its dirty sectors, as far as they are known.
    pub(in super::super) fn estimated_dirty(&mut self) -> Estimated {
        self.dirty_doubt.around(self.dirty_sectors())
    }

    /// True if nothing is known of some lines.
    pub(in super::super) fn has_unknown(&self) -> bool {
        let turnovers = self.slices.iter().filter_map(|slice| slice.turnover.as_ref());
        turnovers.into_iter().any(|turnover| turnover.has_unknown())
    }

    /// Ends a launch all of whose requests were replayed. `None` if it found nothing unknown.
    pub(crate) fn settle(&mut self) -> Option<Settled> {
        self.slices.iter().find_map(|slice| slice.turnover.as_ref())?;
        let mut evictions = UnsureEvictions::default();
        for turnover in self.slices.iter().filter_map(|slice| slice.turnover.as_ref()) {
            evictions += turnover.evictions();
        }
        let here = self.dirty_sectors();
        let settled = Change {
            before: self.dirty_doubt.around(self.dirty_at_start),
            after: here,
            written: self.traffic().dram_write_sectors,
            again: self.unsure_dirtied().all(),
            evictions,
            of_line: self.sectors_of_line(),
            capacity: self.geometry.distinct_bytes() / self.geometry.sector_bytes.max(1),
        }
        .settle();
        self.dirty_doubt = DirtyDoubt::of(here, settled.dirty);
        Some(settled)
    }
}

/// Dirty sectors of a cache during a launch.
#[derive(Clone, Copy, Debug)]
struct Change {
    before: Estimated,
    after: u64,
    written: u64,
    /// Sectors that became dirty and may have been before.
    again: u64,
    evictions: UnsureEvictions,
    of_line: u64,
    capacity: u64,
}

impl Change {
    fn settle(self) -> Settled {
        let Self { before, after, written, again, evictions, of_line, capacity } = self;
        let dirtied = (after + written).saturating_sub(before.likely);
        let known = written.saturating_sub(evictions.written);
        let most = (known + of_line * evictions.lines).min(before.most + dirtied);
        let written = Estimated { least: known, likely: written, most: most.max(written) };
        let fewest = (before.least + dirtied).saturating_sub(again + written.most);
        let most = (before.most + dirtied).saturating_sub(written.least).min(capacity);
        let dirty = Estimated { least: fewest.min(after), likely: after, most: most.max(after) };
        Settled { written, dirty }
    }
}

/// The tag of an unknown line: that of one of the last lines before local memory, where no buffer
/// lies.
fn tag(first_local_tag: u64, way: usize) -> u64 {
    first_local_tag - 1 - way as u64
}

/// True of tags of unknown lines.
fn is_unknown(tag: u64, first_local_tag: u64) -> bool {
    tag < first_local_tag && first_local_tag - tag <= MOST_WAYS
}

/// The most ways of a set.
const MOST_WAYS: u64 = u16::MAX as u64;

/// A sum that is handed out evenly to some parties.
#[derive(Clone, Copy, Debug)]
struct Shares {
    sum: u64,
    parties: u64,
    served: u64,
}

impl Shares {
    fn new(sum: u64, parties: u64) -> Self {
        Self { sum, parties, served: 0 }
    }

    /// The shares of the next `parties`.
    fn of(&mut self, parties: u64) -> u64 {
        let up_to = |served: u64| {
            (u128::from(self.sum) * u128::from(served) / u128::from(self.parties.max(1))) as u64
        };
        let before = up_to(self.served);
        self.served += parties;
        up_to(self.served) - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_their_sum() {
        let mut shares = Shares::new(10, 4);
        assert_eq!([1, 1, 2].map(|parties| shares.of(parties)), [2, 3, 5]);
        assert_eq!(Shares::new(5, 0).of(0), 0);
    }

    /// Of 100 sectors, 20 to 120 of which were dirty, three lines of unsure sets gave way with two
    /// of them, and a known line with four. Ten became dirty.
    #[test]
    fn each_line_that_comes_in_may_write_a_line_or_nothing() {
        let change = Change {
            before: Estimated { least: 20, likely: 100, most: 120 },
            after: 104,
            written: 6,
            again: 3,
            evictions: UnsureEvictions { lines: 3, written: 2 },
            of_line: 4,
            capacity: 1000,
        };
        let Settled { written, dirty } = change.settle();
        assert_eq!(written, Estimated { least: 4, likely: 6, most: 16 });
        assert_eq!(dirty, Estimated { least: 11, likely: 104, most: 126 });
        // What is written was dirty, and what is dirty fits.
        let full = Change { evictions: UnsureEvictions { lines: 99, written: 2 }, ..change };
        assert_eq!(full.settle().written.most, 130);
        assert_eq!(Change { capacity: 110, ..change }.settle().dirty.most, 110);
    }
}
