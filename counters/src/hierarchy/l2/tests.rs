use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::replacement::Rank;
use super::*;

const LINES: u64 = (768 << 10) / 128;

const LRU: L2Geometry =
    L2Geometry { replacement: Replacement::Lru, fill_clocks: 0, ..L2Geometry::GTX_480 };

fn read_all(l2: &mut L2, lines: std::ops::Range<u64>) {
    for line in lines {
        l2.access(line, 0xF, 0xF, L2Operation::Read);
    }
}

#[test]
fn the_reference_gpu_has_its_size() {
    let geometry = L2Geometry::GTX_480;
    let lines = geometry.sets() as u64 * u64::from(geometry.ways * geometry.slices);
    assert_eq!(lines, LINES);
}

#[test]
fn a_stream_reads_each_sector_once() {
    for geometry in [LRU, L2Geometry::GTX_480] {
        let mut l2 = L2::new(geometry);
        read_all(&mut l2, 1000..1000 + 10 * LINES);
        assert_eq!(l2.traffic().dram_read_sectors, 40 * LINES);
        assert_eq!(l2.traffic().dram_write_sectors, 0);
    }
}

#[test]
fn what_fits_is_read_once() {
    for geometry in [LRU, L2Geometry::GTX_480] {
        let mut l2 = L2::new(geometry);
        for _ in 0..5 {
            read_all(&mut l2, 0..LINES);
        }
        let traffic = l2.traffic();
        assert_eq!(traffic.dram_read_sectors, 4 * LINES);
        assert_eq!((traffic.read_sectors, traffic.read_hit_sectors), (20 * LINES, 16 * LINES));
    }
}

#[test]
fn a_cycle_beyond_capacity_tells_policies_apart() {
    // The share of hits in a cycle over twice the capacity, after it has settled.
    let hits = |replacement| {
        let mut l2 = L2::new(L2Geometry { replacement, ..LRU });
        (0..20).for_each(|_| read_all(&mut l2, 0..2 * LINES));
        l2.take_traffic();
        (0..20).for_each(|_| read_all(&mut l2, 0..2 * LINES));
        let traffic = l2.traffic();
        traffic.read_hit_sectors as f64 / traffic.read_sectors as f64
    };
    assert_eq!(hits(Replacement::Lru), 0.0);
    assert_eq!(hits(Replacement::ReReference), 0.0);
    assert_eq!(hits(Replacement::NotRecentlyUsed), 0.0);
    // A line survives the misses until its next use with chance exp(−misses/lines); with cycles
    // of twice the lines that is h = exp(−2(1 − h)), whose solution is 0.203.
    let random = hits(Replacement::Random { seed: 1 });
    assert!((random - 0.203).abs() < 0.015, "{random}");
    // The best that can be done keeps half of the lines; all but one way of a set are kept at
    // most, since the new line must stand somewhere: (16 − 1)/32.
    for replacement in [
        Replacement::Bimodal { promote_every: 32 },
        Replacement::BimodalReReference { near_every: 32 },
    ] {
        let bimodal = hits(replacement);
        assert!((0.40..=0.469).contains(&bimodal), "{replacement:?}: {bimodal}");
    }
    // Of 32 sets of a slice one is set aside for the policy that keeps nothing.
    for replacement in [
        Replacement::DuelingInsertion { promote_every: 32 },
        Replacement::DuelingReReference { near_every: 32 },
    ] {
        let dueling = hits(replacement);
        assert!((0.38..=0.469).contains(&dueling), "{replacement:?}: {dueling}");
    }
}

#[test]
fn duels_choose_recency_where_recent_lines_come_back() {
    // Each line is read again when a third of the capacity was read for the first time and another
    // third for the second time, and then never: LRU still has it, bimodal insertion has thrown
    // it out as soon as its set missed again.
    let read_twice = |replacement| {
        let mut l2 = L2::new(L2Geometry { replacement, ..LRU });
        let distance = LINES / 3;
        for line in 0..40 * LINES {
            read_all(&mut l2, line..line + 1);
            if let Some(earlier) = line.checked_sub(distance) {
                read_all(&mut l2, earlier..earlier + 1);
            }
        }
        let traffic = l2.traffic();
        traffic.read_hit_sectors as f64 / traffic.read_sectors as f64
    };
    let plain = read_twice(Replacement::Lru);
    let bimodal = read_twice(Replacement::Bimodal { promote_every: 32 });
    let dueling = read_twice(Replacement::DuelingInsertion { promote_every: 32 });
    assert!(plain > 0.35 && bimodal < 0.15, "{plain} {bimodal}");
    assert!(dueling > 0.9 * plain, "{dueling} of {plain}");
}

/// A cycle over twice the capacity: whole lines that an L1 fetches are kept in part, as SGEMM's
/// are; sectors are not, as Rodinia's k-means measures on a GTX 480.
#[test]
fn a_cycle_keeps_whole_lines_and_no_sectors() {
    let hits = |operation| {
        let mut l2 = L2::new(L2Geometry::GTX_480);
        for line in (0..20).flat_map(|_| 0..2 * LINES) {
            l2.access(line, 0xF, 0xF, operation);
        }
        let traffic = l2.traffic();
        traffic.read_hit_sectors as f64 / traffic.read_sectors as f64
    };
    assert_eq!(hits(L2Operation::Read), 0.0);
    assert!(hits(L2Operation::ReadLine) > 0.35);
}

#[test]
fn a_copy_leaves_what_fits_and_nothing_dirty() {
    let mut l2 = L2::new(L2Geometry::GTX_480);
    // 100 bytes from byte 16 on: sectors 0 to 3 of line 0, of which 1 and 2 as a whole.
    l2.copy_in(16, 100);
    l2.take_traffic();
    assert_eq!(l2.access(0, 0b0110, 0, L2Operation::Read), 0);
    assert_eq!(l2.access(0, 0b1001, 0, L2Operation::Read), 2);
    l2.copy_in(0x10_0000, 300 << 10);
    l2.take_traffic();
    read_all(&mut l2, 0x10_0000 / 128..(0x10_0000 + (300 << 10)) / 128);
    l2.end_launch(L2Contents::Cold);
    let traffic = l2.traffic();
    assert_eq!(traffic.read_hit_sectors, (300 << 10) / 32);
    assert_eq!((traffic.dirty_sectors, traffic.dram_write_sectors), (0, 0));
}

#[test]
fn requests_that_meet_a_line_on_its_way_are_no_reuse() {
    // One set of two ways. Lines 0 and 1 are read, 0 again at once or after the fill, then 2.
    let survives = |reread_after: u64| {
        let geometry = L2Geometry { size_bytes: 256, ways: 2, slices: 1, fill_clocks: 40, ..LRU };
        let mut l2 = L2::new(geometry);
        read_all(&mut l2, 0..2);
        // Line 1 passes the time.
        for _ in 0..reread_after / 4 {
            read_all(&mut l2, 1..2);
        }
        read_all(&mut l2, 0..1);
        read_all(&mut l2, 2..3);
        l2.access(0, 0xF, 0xF, L2Operation::Read) == 0
    };
    assert!(!survives(8));
    assert!(survives(80));
}

#[test]
fn written_sectors_reach_dram_once_at_the_end() {
    // The results of the thesis's SGEMM: 1280 × 640 floats, table 4.9.
    let mut l2 = L2::new(L2Geometry::GTX_480);
    for line in 0..1280 * 640 * 4 / 128 {
        l2.access(line, 0xF, 0xF, L2Operation::Write);
    }
    l2.flush();
    l2.flush();
    let expected = L2Traffic {
        write_sectors: 102_400,
        write_hit_sectors: 102_400,
        dram_write_sectors: 102_400,
        ..L2Traffic::default()
    };
    assert_eq!(l2.traffic(), expected);
}

#[test]
fn parts_of_sectors_are_filled_at_once_or_when_read() {
    // A write that needs nothing from DRAM is a hit.
    for (partial_writes, at_write, at_read, write_hits) in
        [(PartialWrites::Fill, 2, 0, 4), (PartialWrites::Masked, 0, 2, 6)]
    {
        let mut l2 = L2::new(L2Geometry { partial_writes, ..L2Geometry::GTX_480 });
        // Sector 1 as a whole, sectors 0 and 2 in part.
        assert_eq!(l2.access(7, 0b0111, 0b0010, L2Operation::Write), at_write);
        assert_eq!(l2.access(7, 0b0111, 0b0111, L2Operation::Read), at_read);
        assert_eq!(l2.access(7, 0b0111, 0b0111, L2Operation::Read), 0);
        assert_eq!(l2.access(7, 0b0111, 0, L2Operation::Write), 0);
        l2.flush();
        assert_eq!(l2.traffic().dram_write_sectors, 3);
        assert_eq!((l2.traffic().write_sectors, l2.traffic().write_hit_sectors), (6, write_hits));
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
        update_hit_sectors: 99,
        dram_read_sectors: 1,
        dram_write_sectors: 1,
        ..L2Traffic::default()
    };
    assert_eq!(l2.traffic(), expected);
}

#[test]
fn fills_bring_in_as_much_as_the_gpu_promotes() {
    for (fill_bytes, first, second) in [(32, 1, 1), (64, 2, 0), (128, 4, 0)] {
        let mut l2 = L2::new(L2Geometry { fill_bytes, ..LRU });
        assert_eq!(l2.access(0, 0b0010, 0, L2Operation::Read), first);
        assert_eq!(l2.access(0, 0b0001, 0, L2Operation::Read), second);
    }
    // What was written stays as it is: three sectors are read beside it.
    let mut l2 = L2::new(L2Geometry { fill_bytes: 128, ..LRU });
    l2.access(0, 0b1000, 0b1000, L2Operation::Write);
    assert_eq!(l2.access(0, 0b0010, 0, L2Operation::Read), 3);
}

#[test]
fn sectors_of_16_bytes_move_half_as_much_for_scattered_words() {
    let sparse = |sector_bytes| {
        let mut l2 = L2::new(L2Geometry { sector_bytes, fill_bytes: sector_bytes, ..LRU });
        (0..1000).for_each(|line| {
            l2.access(line, 1, 0, L2Operation::Read);
        });
        l2.traffic().dram_read_sectors * sector_bytes
    };
    assert_eq!(sparse(16), 16_000);
    assert_eq!(sparse(32), 32_000);
    // And what fits in bytes fits, whatever the sectors.
    let mut l2 = L2::new(L2Geometry { sector_bytes: 16, fill_bytes: 16, ..LRU });
    for _ in 0..2 {
        (0..LINES).for_each(|line| {
            l2.access(line, 0xFF, 0xFF, L2Operation::Read);
        });
    }
    assert_eq!(l2.traffic().dram_read_sectors, 8 * LINES);
}

/// A set as its policy's paper describes it, line by line in a list; shares no code with the tags.
struct Naive {
    replacement: Replacement,
    ways: usize,
    /// Tag, policy state, valid, dirty; for recency policies the list is the recency order, the
    /// latest first, and for the others it is that of the ways.
    lines: Vec<(u64, u8, u8, u8)>,
    misses: u32,
    reads: u64,
    writes: u64,
}

impl Naive {
    fn access(&mut self, tag: u64, sectors: u8, op: L2Operation) {
        use Replacement::{Bimodal, Lru, NotRecentlyUsed};
        let by_recency = matches!(self.replacement, Lru | Bimodal { .. });
        let at = match self.lines.iter().position(|line| line.0 == tag) {
            Some(at) if by_recency => {
                let line = self.lines.remove(at);
                self.lines.insert(0, line);
                0
            }
            Some(at) => {
                self.lines[at].1 = 0;
                at
            }
            None => self.admit(tag, by_recency),
        };
        if self.replacement == NotRecentlyUsed {
            // State 1 is "not referenced".
            self.lines[at].1 = 0;
            if self.lines.len() == self.ways && self.lines.iter().all(|line| line.1 == 0) {
                self.lines.iter_mut().for_each(|line| line.1 = 1);
                self.lines[at].1 = 0;
            }
        }
        let line = &mut self.lines[at];
        if op != L2Operation::Write {
            self.reads += u64::from((sectors & !line.2).count_ones());
        }
        line.2 |= sectors;
        if op != L2Operation::Read {
            line.3 |= sectors;
        }
    }

    fn admit(&mut self, tag: u64, by_recency: bool) -> usize {
        let is_full = self.lines.len() == self.ways;
        let fresh = match self.replacement {
            Replacement::BimodalReReference { near_every } => {
                self.misses += 1;
                if self.misses.is_multiple_of(near_every) { 2 } else { 3 }
            }
            Replacement::ReReference => 2,
            _ => 0,
        };
        if by_recency {
            if is_full {
                self.writes += u64::from(self.lines.pop().unwrap().3.count_ones());
                self.misses += 1;
            }
            let every = match self.replacement {
                Replacement::Bimodal { promote_every } => promote_every,
                _ => 1,
            };
            let place =
                if is_full && !self.misses.is_multiple_of(every) { self.lines.len() } else { 0 };
            self.lines.insert(place, (tag, 0, 0, 0));
            return place;
        }
        if !is_full {
            self.lines.push((tag, fresh, 0, 0));
            return self.lines.len() - 1;
        }
        let threshold = if self.replacement == Replacement::NotRecentlyUsed { 1 } else { 3 };
        let victim = loop {
            if let Some(victim) = self.lines.iter().position(|line| line.1 >= threshold) {
                break victim;
            }
            self.lines.iter_mut().for_each(|line| line.1 += 1);
        };
        self.writes += u64::from(self.lines[victim].3.count_ones());
        self.lines[victim] = (tag, fresh, 0, 0);
        victim
    }
}

proptest! {
    #[test]
    fn one_set_behaves_as_its_policy_is_described(
        requests in prop::collection::vec((0_u64..24, 1_u8..16, 0_usize..3), 1..600),
        log_line in 5_u32..9,
        replacement in prop::sample::select(vec![
            Replacement::Lru,
            Replacement::NotRecentlyUsed,
            Replacement::Bimodal { promote_every: 3 },
            Replacement::ReReference,
            Replacement::BimodalReReference { near_every: 3 },
        ]),
    ) {
        let line_bytes = 1_u64 << log_line;
        let geometry = L2Geometry {
            size_bytes: 8 * line_bytes, line_bytes, ways: 8, slices: 1, replacement, ..LRU
        };
        let mut l2 = L2::new(geometry);
        let (lines, misses) = (Vec::new(), 0);
        let mut naive = Naive { replacement, ways: 8, lines, misses, reads: 0, writes: 0 };
        for &(line, sectors, op) in &requests {
            let op = [L2Operation::Read, L2Operation::Write, L2Operation::Update][op];
            l2.access(line, sectors, sectors, op);
            // The sectors grouped by the cache's own line.
            let mut parts = BTreeMap::<u64, u8>::new();
            for sector in (0..4).filter(|s| sectors >> s & 1 == 1) {
                let byte = line * 128 + sector * 32;
                *parts.entry(byte / line_bytes).or_default() |= 1 << (byte % line_bytes / 32);
            }
            parts.into_iter().for_each(|(tag, sectors)| naive.access(tag, sectors, op));
        }
        prop_assert_eq!(l2.traffic().dram_read_sectors, naive.reads);
        prop_assert_eq!(l2.traffic().dram_write_sectors, naive.writes);
    }

    #[test]
    fn clients_choose_between_the_two_policies(
        lines in prop::collection::vec(0_u64..200, 1..600),
    ) {
        let reads = |replacement, operation| {
            let mut l2 = L2::new(L2Geometry { size_bytes: 64 * 128, replacement, ..LRU });
            lines.iter().for_each(|&line| { l2.access(line, 0xF, 0xF, operation); });
            l2.traffic()
        };
        let by_client = Replacement::ClientReReference { near_every: 4 };
        let dueling = Replacement::DuelingReReference { near_every: 4 };
        prop_assert_eq!(
            reads(by_client, L2Operation::Read),
            reads(Replacement::ReReference, L2Operation::Read)
        );
        prop_assert_eq!(
            reads(by_client, L2Operation::ReadLine),
            reads(dueling, L2Operation::ReadLine)
        );
    }

    #[test]
    fn of_two_ways_the_one_that_is_not_most_recent_is_the_least_recent(
        requests in prop::collection::vec(0_u64..12, 1..300),
        seed: u64,
    ) {
        let reads = |replacement| {
            let mut l2 = L2::new(L2Geometry { size_bytes: 1024, ways: 2, slices: 2, replacement, ..LRU });
            requests.iter().for_each(|&line| read_all(&mut l2, line..line + 1));
            l2.traffic()
        };
        prop_assert_eq!(reads(Replacement::NotMostRecent { seed }), reads(Replacement::Lru));
    }

    #[test]
    fn slices_and_sets_change_nothing_while_everything_fits(
        requests in prop::collection::vec((0_u64..64, 1_u8..16), 1..300),
        slices in 1_u32..8,
    ) {
        let mut touched = BTreeMap::<u64, u8>::new();
        // More ways than there are lines: no set can overflow.
        let mut l2 = L2::new(L2Geometry { size_bytes: 1 << 20, ways: 64, slices, ..LRU });
        for &(line, sectors) in &requests {
            l2.access(line * 1_000_003, sectors, 0, L2Operation::Read);
            *touched.entry(line).or_default() |= sectors;
        }
        let expected: u32 = touched.values().map(|sectors| sectors.count_ones()).sum();
        prop_assert_eq!(l2.traffic().dram_read_sectors, u64::from(expected));
    }
}

#[test]
fn equal_states_answer_alike_under_every_policy() {
    let policies = [
        Replacement::Lru,
        Replacement::Random { seed: 7 },
        Replacement::NotMostRecent { seed: 7 },
        Replacement::NotRecentlyUsed,
        Replacement::Bimodal { promote_every: 4 },
        Replacement::DuelingInsertion { promote_every: 4 },
        Replacement::ReReference,
        Replacement::DuelingReReference { near_every: 4 },
        Replacement::ClientReReference { near_every: 4 },
    ];
    // A loop that fits, and one that does not; writes that leave lines dirty.
    for (replacement, lines) in
        policies.into_iter().flat_map(|policy| [(policy, 60), (policy, 130)])
    {
        let geometry = L2Geometry { size_bytes: 96 * 128, slices: 2, ways: 4, replacement, ..LRU };
        let mut l2 = L2::new(L2Geometry { fill_clocks: 30, ..geometry });
        let mut seen = BTreeMap::new();
        let mut again = 0;
        for _ in 0..300 {
            let state = l2.state();
            assert_eq!(state, l2.clone().state());
            read_all(&mut l2, 0..lines);
            (0..lines / 4).for_each(|line| {
                l2.access(line, 3, 1, L2Operation::Write);
            });
            let answer = (l2.take_traffic(), l2.state());
            if let Some(before) = seen.insert(state.0, answer) {
                assert_eq!(before, answer, "{replacement:?}");
                again += 1;
            }
        }
        // Random victims come back to a state too late for this test.
        let is_random = matches!(replacement.rank(), Rank::Nothing | Rank::AnyButLast);
        assert!(again > 20 || is_random, "{replacement:?} {lines}: {again}");
    }
}

#[test]
fn states_tell_contents_apart() {
    let mut l2 = L2::new(L2Geometry { fill_clocks: 8, ..LRU });
    let mut states = vec![l2.state()];
    let mut step = |line, operation| {
        l2.access(line, 1, 1, operation);
        states.push(l2.state());
        l2.state()
    };
    step(1, L2Operation::Read);
    step(2, L2Operation::Read);
    let dirty = step(2, L2Operation::Write);
    // Lines lie in slices of their own; time passes in that of the request.
    let later: Vec<L2State> = (0..20).map(|_| step(2, L2Operation::Write)).collect();
    assert_ne!(later[0], dirty);
    assert_eq!(later[18], later[19]);
    l2.end_launch(L2Contents::Keep);
    assert_ne!(l2.state(), later[19]);
    states.truncate(4);
    states.sort_by_key(|state| state.0);
    states.dedup();
    assert_eq!(states.len(), 4);
}
