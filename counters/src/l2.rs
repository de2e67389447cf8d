//! A sectored write-back second-level cache, and what it asks of DRAM.
//!
//! A line (a tag) holds several 32-byte sectors, each with its own valid and dirty bit; only
//! sectors move. A read of a sector that is not there is one DRAM read transaction. A write
//! allocates its line; a sector that is written as a whole needs no fill. When a line is
//! evicted, and at the end of a kernel, each dirty sector is one DRAM write transaction. Atomics
//! and reductions are done at the cache: they read the sector and leave it dirty.
//!
//! The cache is one array of sets. Real ones are cut into slices by a hash of the address that
//! vendors do not publish; here the set of a line is
//!
//! ```text
//! set = (line + R·⌊line / sets⌋) mod sets,    R = the odd number next to sets / φ
//! ```
//!
//! which spreads any run of `sets` consecutive lines evenly, as the hardware does, and keeps rows
//! whose pitch is a power of two from falling onto the same sets.

use crate::coalescing::{LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE};

/// Which line of a set gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// The one that was not used for longest.
    Lru,
    /// As [`Replacement::Lru`], but a new line starts out as the next victim, except each
    /// `promote_every`-th one of a set, which starts out as the most recently used: bimodal
    /// insertion, Qureshi et al., "Adaptive Insertion Policies for High Performance Caching",
    /// ISCA 2007. It keeps part of a working set that cycles through more than the cache.
    Bimodal {
        /// 1 is LRU; 32 is the paper's choice.
        promote_every: u32,
    },
}

/// What a write to part of a sector does when the sector is not in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartialWrites {
    /// The sector is read from DRAM first (boards with ECC).
    Fill,
    /// Byte masks remember what was written; DRAM is read only if the sector is read later.
    ///
    /// Boards without ECC do this: nvprof shows 262 157 sectors read on a GTX 680 for Rodinia's
    /// hotspot on a 1024² grid, whose inputs are 262 144 sectors and whose stores come in runs
    /// of 48 bytes. Approximation: a sector that was pieced together by several partial writes
    /// still counts one fill when it is read.
    Masked,
}

/// Size and habits of a second-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2Geometry {
    /// Data capacity.
    pub size_bytes: u64,
    /// Bytes of one line: 32, 64, 128 or 256.
    pub line_bytes: u64,
    /// Lines of one set.
    pub ways: u32,
    /// Which line of a set gives way.
    pub replacement: Replacement,
    /// What writing a part of a sector costs.
    pub partial_writes: PartialWrites,
}

impl L2Geometry {
    /// The GTX 480's: 768 KB with lines of 128 bytes and 4 sectors.
    ///
    /// NVIDIA publishes the size (Fermi white paper) and the line; 8 ways are assumed, as
    /// GPGPU-Sim's configuration of that GPU does (12 sub-partitions of 64 sets × 128 bytes × 8
    /// ways, LRU). The board has no ECC.
    pub const GTX_480: Self = Self {
        size_bytes: 768 << 10,
        line_bytes: 128,
        ways: 8,
        replacement: Replacement::Lru,
        partial_writes: PartialWrites::Masked,
    };

    fn sets(&self) -> u64 {
        (self.size_bytes / self.line_bytes() / u64::from(self.ways.max(1))).max(1)
    }

    /// The line size rounded to one that the cache can have.
    fn line_bytes(&self) -> u64 {
        self.line_bytes.next_power_of_two().clamp(SECTOR_BYTES, 256)
    }
}

/// What a request does to the sectors that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Operation {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Atomics and reductions.
    Update,
}

/// Sectors that a cache served, and what it asked of DRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L2Traffic {
    /// Sectors that loads asked for.
    pub read_sectors: u64,
    /// Sectors that stores wrote, in whole or in part.
    pub write_sectors: u64,
    /// Sectors that atomics and reductions touched.
    pub update_sectors: u64,
    /// DRAM read transactions.
    pub dram_read_sectors: u64,
    /// DRAM write transactions.
    pub dram_write_sectors: u64,
}

/// One line; within a set they stand in order of use, the latest first.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// The line's number, or [`EMPTY`].
    tag: u64,
    /// Sectors whose every byte is known.
    valid: u8,
    /// Sectors that DRAM has not seen.
    dirty: u8,
}

const EMPTY: u64 = u64::MAX;

/// The cache with its contents.
#[derive(Clone, Debug)]
pub struct L2 {
    geometry: L2Geometry,
    sets: u64,
    rotation: u64,
    sectors_per_line: u32,
    lines: Vec<Line>,
    /// Misses of each set, for [`Replacement::Bimodal`].
    misses: Vec<u32>,
    traffic: L2Traffic,
}

impl L2 {
    /// An empty cache.
    #[must_use]
    pub fn new(geometry: L2Geometry) -> Self {
        let sets = geometry.sets();
        let empty = Line { tag: EMPTY, valid: 0, dirty: 0 };
        Self {
            geometry,
            sets,
            rotation: (sets as f64 / 1.618_033_988_749_895) as u64 | 1,
            sectors_per_line: (geometry.line_bytes() / SECTOR_BYTES) as u32,
            lines: vec![empty; sets as usize * geometry.ways.max(1) as usize],
            misses: vec![0; sets as usize],
            traffic: L2Traffic::default(),
        }
    }

    /// Its size and habits.
    #[must_use]
    pub fn geometry(&self) -> &L2Geometry {
        &self.geometry
    }

    /// What happened since the cache was made or [`L2::take_traffic`] was called.
    #[must_use]
    pub fn traffic(&self) -> L2Traffic {
        self.traffic
    }

    /// Like [`L2::traffic`], and starts to count anew; the contents stay.
    pub fn take_traffic(&mut self) -> L2Traffic {
        std::mem::take(&mut self.traffic)
    }

    /// Serves the `sectors` of a 128-byte line ([`LINE_BYTES`], whatever the cache's own line
    /// is); `full` marks those of which every byte is touched. Returns the sectors that had to be
    /// read from DRAM.
    #[inline]
    pub fn access(&mut self, line: u64, sectors: u8, full: u8, operation: L2Operation) -> u32 {
        let count = u64::from(sectors.count_ones());
        match operation {
            L2Operation::Read => self.traffic.read_sectors += count,
            L2Operation::Write => self.traffic.write_sectors += count,
            L2Operation::Update => self.traffic.update_sectors += count,
        }
        let fills = if self.sectors_per_line == SECTORS_PER_LINE {
            self.access_line(line, sectors, full, operation)
        } else {
            self.access_other_line_size(line, sectors, full, operation)
        };
        self.traffic.dram_read_sectors += u64::from(fills);
        fills
    }

    fn access_other_line_size(
        &mut self,
        line: u64,
        sectors: u8,
        full: u8,
        operation: L2Operation,
    ) -> u32 {
        let first_sector = line * (LINE_BYTES / SECTOR_BYTES);
        let own = u64::from(self.sectors_per_line);
        let mut fills = 0;
        let mut rest = sectors;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            let sector = first_sector + u64::from(bit);
            // The bits of the request that lie in the same line of this cache.
            let offset = (sector % own) as u32;
            let width = (self.sectors_per_line - offset).min(8 - bit);
            let part = (u32::from(u8::MAX) >> (8 - width)) << bit;
            let here = |mask: u8| ((u32::from(mask) & part) >> bit << offset) as u8;
            fills += self.access_line(sector / own, here(sectors), here(full), operation);
            rest &= !(part as u8);
        }
        fills
    }

    #[inline]
    fn access_line(&mut self, tag: u64, sectors: u8, full: u8, operation: L2Operation) -> u32 {
        let set = self.set_of(tag);
        let ways = self.geometry.ways.max(1) as usize;
        let lines = &mut self.lines[set * ways..(set + 1) * ways];
        let at = match lines.iter().position(|line| line.tag == tag) {
            Some(at) => {
                lines[..=at].rotate_right(1);
                0
            }
            None => {
                let victim = lines[ways - 1];
                self.traffic.dram_write_sectors += u64::from(victim.dirty.count_ones());
                lines[ways - 1] = Line { tag, valid: 0, dirty: 0 };
                let promote = match self.geometry.replacement {
                    Replacement::Lru => true,
                    Replacement::Bimodal { promote_every } => {
                        let misses = &mut self.misses[set];
                        *misses = misses.wrapping_add(1);
                        // An empty way is not a victim: the set fills up first.
                        victim.tag == EMPTY || misses.is_multiple_of(promote_every.max(1))
                    }
                };
                if promote {
                    lines.rotate_right(1);
                    0
                } else {
                    ways - 1
                }
            }
        };
        let line = &mut lines[at];
        let absent = sectors & !line.valid;
        match operation {
            L2Operation::Read => {
                line.valid |= sectors;
                absent.count_ones()
            }
            L2Operation::Update => {
                line.valid |= sectors;
                line.dirty |= sectors;
                absent.count_ones()
            }
            L2Operation::Write => {
                line.dirty |= sectors;
                match self.geometry.partial_writes {
                    PartialWrites::Fill => {
                        line.valid |= sectors;
                        (absent & !full).count_ones()
                    }
                    PartialWrites::Masked => {
                        line.valid |= full;
                        0
                    }
                }
            }
        }
    }

    #[inline]
    fn set_of(&self, tag: u64) -> usize {
        let turn = (tag / self.sets) % self.sets;
        ((tag % self.sets + turn * self.rotation) % self.sets) as usize
    }

    /// Writes back whatever is dirty; the contents stay, clean.
    pub fn flush(&mut self) {
        for line in &mut self.lines {
            self.traffic.dram_write_sectors += u64::from(line.dirty.count_ones());
            line.dirty = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const LINES: u64 = (768 << 10) / 128;

    fn read_all(l2: &mut L2, lines: std::ops::Range<u64>) {
        for line in lines {
            l2.access(line, 0xF, 0xF, L2Operation::Read);
        }
    }

    #[test]
    fn a_stream_reads_each_sector_once() {
        let mut l2 = L2::new(L2Geometry::GTX_480);
        read_all(&mut l2, 1000..1000 + 10 * LINES);
        assert_eq!(l2.traffic().dram_read_sectors, 40 * LINES);
        assert_eq!(l2.traffic().dram_write_sectors, 0);
    }

    #[test]
    fn what_fits_is_read_once() {
        let mut l2 = L2::new(L2Geometry::GTX_480);
        for _ in 0..5 {
            read_all(&mut l2, 0..LINES);
        }
        assert_eq!(l2.traffic().dram_read_sectors, 4 * LINES);
        assert_eq!(l2.traffic().read_sectors, 20 * LINES);
    }

    #[test]
    fn a_cycle_beyond_capacity_defeats_lru_but_not_bimodal_insertion() {
        let cycle = |replacement| {
            let mut l2 = L2::new(L2Geometry { replacement, ..L2Geometry::GTX_480 });
            for _ in 0..40 {
                read_all(&mut l2, 0..2 * LINES);
            }
            l2.traffic().dram_read_sectors
        };
        assert_eq!(cycle(Replacement::Lru), 40 * 8 * LINES);
        assert_eq!(cycle(Replacement::Bimodal { promote_every: 1 }), 40 * 8 * LINES);
        let bimodal = cycle(Replacement::Bimodal { promote_every: 32 });
        // At best half of the working set stays: 1 + 39 / 2 of 40 rounds.
        assert!(bimodal > 20 * 8 * LINES && bimodal < 25 * 8 * LINES, "{bimodal}");
    }

    #[test]
    fn rows_at_a_power_of_two_do_not_fall_onto_one_set() {
        let mut l2 = L2::new(L2Geometry::GTX_480);
        for _ in 0..2 {
            for row in 0..1024 {
                l2.access(row * 4096, 1, 1, L2Operation::Read);
            }
        }
        assert_eq!(l2.traffic().dram_read_sectors, 1024);
    }

    #[test]
    fn whole_sectors_are_written_once_and_not_filled() {
        let mut l2 = L2::new(L2Geometry::GTX_480);
        // The 1280 × 640 output of the thesis's SGEMM: 102 400 sectors (table 4.9).
        for line in 0..1280 * 640 * 4 / 128 {
            l2.access(line, 0xF, 0xF, L2Operation::Write);
        }
        l2.flush();
        l2.flush();
        let expected = L2Traffic {
            write_sectors: 102_400,
            dram_write_sectors: 102_400,
            ..L2Traffic::default()
        };
        assert_eq!(l2.traffic(), expected);
    }

    #[test]
    fn parts_of_sectors_are_filled_at_once_or_when_read() {
        for (partial_writes, at_write, at_read) in
            [(PartialWrites::Fill, 2, 0), (PartialWrites::Masked, 0, 2)]
        {
            let mut l2 = L2::new(L2Geometry { partial_writes, ..L2Geometry::GTX_480 });
            // Sector 1 as a whole, sectors 0 and 2 in part.
            assert_eq!(l2.access(7, 0b0111, 0b0010, L2Operation::Write), at_write);
            assert_eq!(l2.access(7, 0b0111, 0b0111, L2Operation::Read), at_read);
            assert_eq!(l2.access(7, 0b0111, 0b0111, L2Operation::Read), 0);
            l2.flush();
            assert_eq!(l2.traffic().dram_write_sectors, 3);
        }
    }

    #[test]
    fn updates_read_and_dirty_their_sector() {
        let mut l2 = L2::new(L2Geometry::GTX_480);
        for _ in 0..100 {
            l2.access(3, 0b1, 0, L2Operation::Update);
        }
        l2.flush();
        let expected = L2Traffic {
            update_sectors: 100,
            dram_read_sectors: 1,
            dram_write_sectors: 1,
            ..L2Traffic::default()
        };
        assert_eq!(l2.traffic(), expected);
    }

    /// A fully associative LRU cache with a map, which shares no code with the one above.
    #[derive(Default)]
    struct Naive {
        /// Tag → (time of use, valid, dirty).
        lines: BTreeMap<u64, (usize, u8, u8)>,
        reads: u64,
        writes: u64,
    }

    impl Naive {
        fn access(&mut self, now: usize, ways: usize, tag: u64, sectors: u8, op: L2Operation) {
            if !self.lines.contains_key(&tag) && self.lines.len() == ways {
                let (&oldest, _) = self.lines.iter().min_by_key(|(_, line)| line.0).unwrap();
                let (_, _, dirty) = self.lines.remove(&oldest).unwrap();
                self.writes += u64::from(dirty.count_ones());
            }
            let line = self.lines.entry(tag).or_insert((0, 0, 0));
            line.0 = now;
            if op != L2Operation::Write {
                self.reads += u64::from((sectors & !line.1).count_ones());
            }
            line.1 |= sectors;
            if op != L2Operation::Read {
                line.2 |= sectors;
            }
        }
    }

    proptest! {
        #[test]
        fn one_set_behaves_like_a_list_of_recently_used_lines(
            requests in prop::collection::vec((0_u64..24, 1_u8..16, 0_usize..3), 1..400),
            log_line in 5_u32..9,
        ) {
            let line_bytes = 1_u64 << log_line;
            let geometry = L2Geometry {
                size_bytes: 8 * line_bytes, line_bytes, ways: 8, ..L2Geometry::GTX_480
            };
            let mut l2 = L2::new(geometry);
            let mut naive = Naive::default();
            for (now, &(line, sectors, op)) in requests.iter().enumerate() {
                let op = [L2Operation::Read, L2Operation::Write, L2Operation::Update][op];
                l2.access(line, sectors, sectors, op);
                // Sector by sector, grouped by the cache's own line.
                for sector in (0..4).filter(|s| sectors >> s & 1 == 1) {
                    let byte = line * 128 + sector * 32;
                    let bit = 1 << (byte % line_bytes / 32);
                    naive.access(now * 4 + sector as usize, 8, byte / line_bytes, bit, op);
                }
            }
            prop_assert_eq!(l2.traffic().dram_read_sectors, naive.reads);
            prop_assert_eq!(l2.traffic().dram_write_sectors, naive.writes);
        }
    }
}
