//! A sample of the lines of memory, and caches that are as much smaller.
//!
//! A wave of CTAs with long loops has more requests than can be replayed, and a part of its time
//! would not show what the next wave finds in the L2. So the requests for some lines are replayed
//! from the first to the last. Caches with as many fewer sets serve them as the whole caches serve
//! all lines: a line meets as many others in its set, and as much comes between two of its uses.
//!
//! Sources: sets in samples are those of Kessler, Hill and Wood, "A comparison of trace-sampling
//! techniques for multi-megabyte caches", IEEE Transactions on Computers 43, 1994: they err less
//! than stretches of time. Lines by a hash, and smaller caches for them, are those of Waldspurger
//! et al., "Efficient MRC construction with SHARDS", FAST 2015.
//!
//! Consecutive lines make groups. Of each group one line is drawn, at a place that a hash decides,
//! and the group's number stands for it. So neighbours are neighbours in the smaller caches, too.
//! Lines that are drawn belong to a few *parts*. How the parts differ says how unsure the sample
//! is.

use super::l1::L1Geometry;
use super::l2::L2Geometry;
use super::{HierarchyGeometry, PARTS};
use crate::units::LINE_BYTES;

/// Lines of a first-level cache that are left at least. The distances at which lines come again
/// are then known to a fifth, the inverse of a root.
const LEAST_LINES: u64 = 24;

/// Sets of an L2 that are left at least, in each slice: as many as duel for two policies.
const LEAST_SETS: u64 = 32;

/// Bits of a group's number where salts matter.
const SALT_SHIFT: u32 = 17;

/// One line of each group of consecutive lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineSample {
    /// Lines of a group, as a power of two.
    log: u32,
}

/// A line that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// The line that stands for it in smaller caches.
    pub(crate) line: u64,
    /// Its part of the sample.
    pub(crate) part: u32,
}

impl LineSample {
    /// The largest sample with at most `most` of `lines` requested lines.
    pub(crate) fn of(lines: u128, most: u128) -> Self {
        let groups = lines.div_ceil(most.max(1)).clamp(1, 1 << 20);
        Self { log: groups.next_power_of_two().ilog2() }
    }

    /// The larger of two samples.
    pub(crate) fn or_larger(self, other: Self) -> Self {
        Self { log: self.log.min(other.log) }
    }

    /// It, or all lines: to look at all requests and to replay half of them takes as long as to
    /// replay them all.
    pub(crate) fn if_it_pays(self) -> Self {
        if self.lines_of_group() > 2 { self } else { Self::default() }
    }

    /// The smallest sample that the caches allow.
    pub(crate) fn smallest(caches: &HierarchyGeometry) -> Self {
        let firsts = [caches.l1, caches.read_only].into_iter().flatten();
        let L2Geometry { size_bytes, line_bytes, ways, .. } = caches.l2;
        // Larger lines would be cut into parts that are sampled, and others.
        if line_bytes > LINE_BYTES || firsts.clone().any(|l1| l1.line_bytes > LINE_BYTES) {
            return Self::default();
        }
        let halvings = |size: u64, least: u64| (size / least.max(1)).max(1).ilog2();
        let of_l1 = |l1: L1Geometry| halvings(l1.size_bytes, LEAST_LINES * l1.line_bytes);
        let set = line_bytes * u64::from(ways.max(1));
        let of_l2 = (size_bytes > 0).then(|| halvings(size_bytes, LEAST_SETS * set));
        Self { log: firsts.map(of_l1).chain(of_l2).min().unwrap_or(0) }
    }

    /// Lines of a group, of which one is drawn.
    pub(crate) fn lines_of_group(self) -> u64 {
        1 << self.log
    }

    /// True if all lines are drawn.
    pub(crate) fn is_whole(self) -> bool {
        self.log == 0
    }

    /// What stands for a line, if it is drawn. Samples with other salts draw other lines.
    #[inline]
    pub(crate) fn draw(self, line: u64, salt: u64) -> Option<Drawn> {
        let group = line >> self.log;
        // Multiplicative hashing, as of places: its highest bits are the best.
        let salted = group ^ salt << SALT_SHIFT;
        let hash = salted.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (place, rest) = (hash.unbounded_shr(u64::BITS - self.log), hash << self.log);
        let part = (rest >> (u64::BITS - PARTS.ilog2())) as u32;
        (line & (self.lines_of_group() - 1) == place).then_some(Drawn { line: group, part })
    }

    /// The caches that serve the lines of the sample.
    pub(crate) fn caches(self, all: &HierarchyGeometry) -> HierarchyGeometry {
        if self.is_whole() {
            return *all;
        }
        let l1 = |l1: L1Geometry| L1Geometry { size_bytes: l1.size_bytes >> self.log, ..l1 };
        HierarchyGeometry {
            l1: all.l1.map(l1),
            read_only: all.read_only.map(l1),
            l2: self.l2(all.l2),
            ..*all
        }
    }

    /// The part of the hits of a small L2 that may be misses of the whole one, and the other way
    /// round: so many lines meet in its sets by chance. Parts of the sample share that chance, so
    /// that they do not tell of it. It is the inverse root of the lines that the L2 keeps.
    pub(crate) fn scatter(self, all: &L2Geometry) -> f64 {
        let lines = (all.distinct_bytes() / all.line_bytes.max(1)) >> self.log;
        if self.is_whole() { 0.0 } else { 1.0 / (lines.max(1) as f64).sqrt() }
    }

    fn l2(self, all: L2Geometry) -> L2Geometry {
        let size_bytes = all.size_bytes >> self.log;
        let sets = (all.distinct_bytes() >> self.log)
            / (all.line_bytes.max(1) * u64::from(all.ways.max(1)));
        let slices = (sets / LEAST_SETS).clamp(1, all.slices.max(1).into()) as u32;
        // A slice has a clock of its own, which its sectors move.
        let fill_clocks = u64::from(all.fill_clocks) * u64::from(all.slices.max(1));
        let fill_clocks = (fill_clocks / u64::from(slices)) >> self.log;
        L2Geometry { size_bytes, slices, fill_clocks: fill_clocks as u32, ..all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_each_group_is_drawn_and_parts_are_alike() {
        for log in [1_u32, 4, 6] {
            let sample = LineSample { log };
            for stride in [1_u64, 3, 64, 128, 1 << 14] {
                let mut parts = [0_u64; PARTS as usize];
                let lines = 0..1 << 16;
                let drawn = lines.filter_map(|line| sample.draw(7 + line * stride, 0));
                drawn.for_each(|drawn| parts[drawn.part as usize] += 1);
                let expected = (1 << (16 - log)) / u64::from(PARTS);
                let is_near = |&drawn: &u64| drawn.abs_diff(expected) <= expected / 4;
                assert!(parts.iter().all(is_near), "{log} {stride}: {parts:?}");
            }
            let first = (0..1 << log).filter(|&line| sample.draw(line, 0).is_some());
            assert_eq!(first.count(), 1, "of the first group");
        }
        assert_eq!(LineSample::default().draw(77, 5).map(|drawn| drawn.line), Some(77));
    }

    #[test]
    fn caches_shrink_as_far_as_they_stay_caches() {
        let caches = HierarchyGeometry {
            sm_count: 15,
            resident_ctas: 15,
            warps_per_cta: 1,
            schedule: super::super::Schedule::Drift,
            l1: Some(L1Geometry { size_bytes: 16 << 10, ..L1Geometry::FERMI }),
            read_only: None,
            l2: L2Geometry::GTX_480,
        };
        let sample = LineSample::of(1 << 40, 1 << 20).or_larger(LineSample::smallest(&caches));
        assert_eq!(sample.lines_of_group(), 4, "128 lines of a first-level cache, 24 at least");
        let few = sample.caches(&caches);
        assert_eq!(few.l1.map(|l1| l1.size_bytes), Some(4 << 10));
        // 384 sets in 12 slices become 96 in 3, each as busy as it was.
        assert_eq!((few.l2.size_bytes, few.l2.slices, few.l2.fill_clocks), (192 << 10, 3, 188));
        // Of 6,144 lines 1,536 are left.
        assert!((sample.scatter(&caches.l2) - 1.0 / 1536.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(LineSample::default().scatter(&caches.l2), 0.0);
        assert_eq!(LineSample::of(1 << 20, 1 << 20), LineSample::default());
        assert_eq!(LineSample::of((1 << 20) + 1, 1 << 20).lines_of_group(), 2);
        let wide = L2Geometry { line_bytes: 256, ..L2Geometry::GTX_480 };
        assert!(LineSample::smallest(&HierarchyGeometry { l2: wide, ..caches }).is_whole());
    }
}
