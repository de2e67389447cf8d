//! The whole hierarchy against definitions that share no code with it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::turns::Turns;
use super::*;
use crate::units::{LINE_BYTES, LineTouch};

/// A GPU of two SMs with two CTAs each, of two warps; no first-level caches; an L2 of one set.
fn tiny() -> HierarchyGeometry {
    HierarchyGeometry {
        sm_count: 2,
        resident_ctas: 4,
        warps_per_cta: 2,
        schedule: Schedule::LockstepWaves,
        l1: None,
        read_only: None,
        l2: L2Geometry {
            size_bytes: 16 * 128,
            slices: 1,
            ways: 16,
            replacement: Replacement::Lru,
            fill_clocks: 0,
            ..L2Geometry::GTX_480
        },
    }
}

/// An L1 of one set of four lines that keeps everything.
fn tiny_l1() -> L1Geometry {
    L1Geometry {
        size_bytes: 4 * 128,
        ways: 4,
        fill_bytes: 32,
        keeps: L1Loads { global: true, read_only: true, local: true },
        ..L1Geometry::FERMI
    }
}

#[derive(Clone, Copy, Debug)]
struct Event {
    time: u64,
    warp: u32,
    line: u64,
    sectors: u8,
    demand: Demand,
}

/// The line is the row, so that rows tell who missed.
fn stream(events: &[Event]) -> CtaStream {
    let mut stream = CtaStream::new(1 << 20);
    for event in events {
        let row = event.line as u32;
        stream.push(LineTouch { line: event.line, sectors: event.sectors, full: event.sectors });
        stream.close(Request::new(event.time, event.warp, row, event.demand));
        stream.reach(event.time);
    }
    stream
}

fn load(time: u64, warp: u32, line: u64) -> Event {
    Event { time, warp, line, sectors: 0xF, demand: Demand::Load }
}

fn replay(geometry: &HierarchyGeometry, ctas: &[Vec<Event>], batch: usize) -> (Rows, L2Traffic) {
    let mut hierarchy = Hierarchy::new(geometry);
    for ctas in ctas.chunks(batch) {
        let mut streams: Vec<_> = ctas.iter().map(|cta| stream(cta)).collect();
        hierarchy.collect(&mut streams.iter_mut().collect::<Vec<_>>());
        assert!(streams.iter().all(|stream| stream.sectors() == 0));
    }
    let (rows, l2) = hierarchy.finish(L2Contents::Keep);
    (rows.into_iter().collect(), l2.traffic())
}

type Rows = BTreeMap<u32, RowTraffic>;

/// The lines of all requests in the order in which they reach the L2.
fn order(ctas: &[Vec<Event>]) -> Vec<u64> {
    let mut merger = Merger::new(&tiny());
    for cta in ctas {
        let mut stream = stream(cta);
        stream.sort();
        merger.push(stream);
    }
    let (mut seen, mut queues) = (Vec::new(), merger.queues(1));
    while merger.fill(&mut queues, true) {
        let mut turns = Turns::default();
        let sent = turns.sort(queues.iter().map(|queues| queues.of(0)));
        seen.extend(sent.iter().map(|request| request.tag));
    }
    seen
}

#[test]
fn requests_are_ordered_by_time_then_warp_then_sm() {
    // CTAs 0 and 2 are on SM 0, 1 and 3 on SM 1; line 100·cta + 10·time + warp.
    let cta = |cta: u64, times: &[u64]| -> Vec<Event> {
        let warps = [0, 1].into_iter();
        let line = |time, warp: u32| 100 * cta + 10 * time + u64::from(warp);
        warps
            .flat_map(|warp| times.iter().map(move |&time| load(time, warp, line(time, warp))))
            .collect()
    };
    let ctas = [cta(1, &[0, 2]), cta(2, &[0]), cta(3, &[0, 1]), cta(4, &[2])];
    let expected = [
        100, 200, 101, 201, 300, 301, // time 0: SM 0 and 1 in turns, then the second CTAs
        310, 311, // time 1
        120, 121, 420, 421, // time 2
    ];
    assert_eq!(order(&ctas), expected);
}

#[test]
fn a_cta_starts_when_its_predecessor_ends() {
    // CTA 0 ends at once. CTA 1 ends with line 5, and CTA 4 begins with it.
    let ctas = [
        vec![load(0, 0, 1)],
        vec![load(5, 0, 2), load(6, 0, 5)],
        vec![load(5, 0, 3)],
        vec![load(5, 0, 4)],
        vec![load(0, 0, 5)],
    ];
    // An L2 of one line tells whether they follow each other.
    let rereads = |schedule| {
        let l2 = L2Geometry { size_bytes: 128, ways: 1, ..tiny().l2 };
        let (rows, _) = replay(&HierarchyGeometry { schedule, l2, ..tiny() }, &ctas, 5);
        rows[&5].dram_read_sectors
    };
    // In lockstep CTA 4 waits for the wave; otherwise it follows CTA 0 at time 1.
    assert_eq!(rereads(Schedule::LockstepWaves), 4);
    assert_eq!(rereads(Schedule::Drift), 8);
}

#[test]
fn fermi_keeps_global_loads_by_the_line_and_stores_evict_them() {
    let geometry = HierarchyGeometry {
        l1: Some(L1Geometry::FERMI),
        read_only: Some(L1Geometry::FERMI_TEXTURE),
        ..tiny()
    };
    let one = |time, line, demand| Event { time, warp: 0, line, sectors: 1, demand };
    let cta = vec![
        one(0, 1, Demand::Load),
        one(1, 1, Demand::Load),
        one(2, 1, Demand::Store),
        one(3, 1, Demand::Load),
        one(0, 2, Demand::LoadReadOnly),
        one(1, 2, Demand::LoadReadOnly),
        one(2, 2, Demand::Update),
        one(3, 2, Demand::LoadReadOnly),
    ];
    let (rows, traffic) = replay(&geometry, &[cta], 1);
    // Two misses of a line each and the store; all but the first miss hit in the L2, but for
    // the sector that was written before the L2 had read it.
    let global = RowTraffic {
        l1_hit_sectors: 1,
        l2_sectors: 9,
        l2_hit_sectors: 5,
        dram_read_sectors: 4,
        ..RowTraffic::default()
    };
    assert_eq!(rows[&1], global);
    // Two misses of a sector and the update.
    let read_only = RowTraffic {
        l1_hit_sectors: 1,
        l2_sectors: 3,
        l2_hit_sectors: 2,
        dram_read_sectors: 1,
        ..RowTraffic::default()
    };
    assert_eq!(rows[&2], read_only);
    assert_eq!((traffic.read_sectors, traffic.write_sectors, traffic.update_sectors), (10, 1, 1));
    // Other SMs have caches of their own.
    let apart = [vec![one(0, 1, Demand::Load)], vec![one(1, 1, Demand::Load)]];
    let (rows, _) = replay(&geometry, &apart, 2);
    assert_eq!(rows[&1].l1_hit_sectors, 0);
    assert_eq!(rows[&1].dram_read_sectors, 4);
}

#[test]
fn what_a_generation_does_not_keep_goes_to_the_l2() {
    let keeps = L1Loads { global: false, read_only: false, local: true };
    let kepler = L1Geometry { keeps, ..tiny_l1() };
    let geometry = HierarchyGeometry { l1: Some(kepler), ..tiny() };
    let twice = |demand| {
        let event = |time| Event { demand, ..load(time, 0, 1) };
        let (rows, _) = replay(&geometry, &[vec![event(0), event(1)]], 1);
        rows[&1].l1_hit_sectors
    };
    assert_eq!(twice(Demand::Load), 0);
    assert_eq!(twice(Demand::LoadReadOnly), 0);
    assert_eq!(twice(Demand::LocalLoad), 4);
}

#[test]
fn stores_to_global_memory_are_written_through() {
    for (stores, hits) in [(L1Stores::Evict, 0), (L1Stores::Update, 8), (L1Stores::Allocate, 8)] {
        let geometry = HierarchyGeometry { l1: Some(L1Geometry { stores, ..tiny_l1() }), ..tiny() };
        let store = |time, line| Event { demand: Demand::Store, ..load(time, 0, line) };
        let cta = vec![load(0, 0, 1), store(1, 1), load(2, 0, 1), store(3, 2), load(4, 0, 2)];
        let (rows, traffic) = replay(&geometry, &[cta], 1);
        assert_eq!(traffic.write_sectors, 8, "{stores:?}");
        // The store and the load after it hit, where the store leaves the line.
        assert_eq!(rows[&1].l1_hit_sectors, hits, "{stores:?}");
        let allocated = if stores == L1Stores::Allocate { 4 } else { 0 };
        assert_eq!(rows[&2].l1_hit_sectors, allocated, "{stores:?}");
    }
}

#[test]
fn local_memory_is_written_back_when_its_line_gives_way_and_at_the_end() {
    let geometry = HierarchyGeometry { l1: Some(tiny_l1()), ..tiny() };
    let store = |line| Event { demand: Demand::LocalStore, ..load(line, 0, line) };
    let (rows, traffic) = replay(&geometry, &[(0..6).map(store).collect()], 1);
    // Six lines through a cache of four: two gave way, four were there at the end.
    assert_eq!((traffic.write_sectors, traffic.dram_write_sectors), (24, 24));
    // Nobody knows any more who wrote them.
    assert_eq!(rows, Rows::new());
}

#[test]
fn lines_of_one_request_reach_the_l2_as_if_each_had_its_own() {
    let geometry = HierarchyGeometry { l1: Some(tiny_l1()), ..tiny() };
    let replay = |together: bool| {
        let mut stream = CtaStream::new(1 << 20);
        for (time, demand) in (0..).zip(Demand::ALL.iter().cycle().take(70)) {
            // Later warps come first, so that there is something to sort.
            let request = Request::new(time / 5, 9 - time as u32 % 5, time as u32 % 3, *demand);
            for line in 0..time % 6 {
                let (line, sectors) = ((time * line) % 23, 1 << (line % 4));
                stream.push(LineTouch { line, sectors, full: sectors });
                if !together {
                    stream.close(request);
                }
            }
            stream.close(request);
        }
        let mut hierarchy = Hierarchy::new(&geometry);
        let sectors = stream.sectors();
        hierarchy.collect(&mut [&mut stream]);
        let (rows, l2) = hierarchy.finish(L2Contents::Keep);
        (sectors, rows.into_iter().collect::<Rows>(), l2.traffic())
    };
    assert_eq!(replay(true), replay(false));
    assert_eq!(replay(true).0, (0..70).map(|time| time % 6).sum::<u64>());
}

#[test]
fn local_stores_reach_the_l2_at_once_or_with_their_line() {
    let store = |time, line| Event { demand: Demand::LocalStore, ..load(time, 0, line) };
    let reread = Event { demand: Demand::LocalLoad, ..load(2, 0, 1) };
    let ctas = [vec![store(0, 1), store(1, 1), reread]];
    for (local_stores, written) in [(LocalStores::WriteBack, 4), (LocalStores::WriteThrough, 8)] {
        let l1 = L1Geometry { local_stores, stores: L1Stores::Allocate, ..tiny_l1() };
        let (rows, traffic) = replay(&HierarchyGeometry { l1: Some(l1), ..tiny() }, &ctas, 1);
        assert_eq!(traffic.write_sectors, written, "{local_stores:?}");
        // The load finds what was stored, and DRAM gets it once.
        assert_eq!(traffic.read_sectors, 0, "{local_stores:?}");
        assert_eq!(traffic.dram_write_sectors, 4, "{local_stores:?}");
        // Only what is written back later has lost its instruction.
        let of_nobody = traffic.local.write_back_sectors;
        let of_rows = rows.values().map(|row| row.l2_sectors).sum::<u64>();
        assert_eq!((of_nobody + of_rows, of_nobody == 0), (written, written == 8));
        assert_eq!(traffic.local.dram_write_sectors, 4, "{local_stores:?}");
    }
}

/// The L2 after a launch of one CTA, with its traffic.
fn launched(contents: L2Contents, before: Option<L2>, cta: &[Event]) -> L2 {
    let mut hierarchy = Hierarchy::new(&tiny());
    if let Some(l2) = before {
        hierarchy = hierarchy.with_l2(l2);
    }
    hierarchy.collect(&mut [&mut stream(cta)]);
    hierarchy.finish(contents).1
}

fn store_line(line: u64) -> Event {
    Event { demand: Demand::Store, ..load(0, 0, line) }
}

#[test]
fn dirty_sectors_of_the_first_launch_count_as_written_unless_each_launch_finds_nothing() {
    for (contents, written) in [(L2Contents::Keep, 4), (L2Contents::Warm, 4), (L2Contents::Cold, 0)]
    {
        let mut copied = L2::new(tiny().l2);
        copied.copy_in(0, 128);
        for before in [None, Some(copied)] {
            let traffic = launched(contents, before, &[store_line(1)]).traffic();
            assert_eq!((traffic.dirty_sectors, traffic.dram_write_sectors), (4, written));
        }
        assert_eq!(L2Contents::by_name(contents.name()), Some(contents));
    }
}

#[test]
fn a_later_launch_writes_the_dirty_sectors_that_it_evicts() {
    let keep = L2Contents::Keep;
    let first = launched(keep, None, &[store_line(1)]);
    // It writes the same sectors again: nothing leaves the L2.
    let again = launched(keep, Some(first.clone()), &[store_line(1)]).traffic();
    assert_eq!((again.dirty_sectors, again.dram_write_sectors), (4, 0));
    // It reads others: the dirty ones stay.
    let reads = launched(keep, Some(first.clone()), &[load(0, 0, 2)]).traffic();
    assert_eq!((reads.dirty_sectors, reads.dram_write_sectors), (4, 0));
    // It reads more than the L2 holds: the dirty ones of the launch before are written now.
    let lines = 4 * tiny().l2.size_bytes / LINE_BYTES;
    let all: Vec<_> = (2..2 + lines).map(|line| load(line, 0, line)).collect();
    let streams = launched(keep, Some(first), &all).traffic();
    assert_eq!((streams.dirty_sectors, streams.dram_write_sectors), (0, 4));
}

#[test]
fn warps_have_local_memory_of_their_own_and_later_ctas_take_it_over() {
    let local = |warp| Event { demand: Demand::LocalLoad, ..load(0, warp, 7) };
    let cta = vec![local(0), local(1)];
    let (rows, _) = replay(&tiny(), &vec![cta.clone(); 4], 4);
    assert_eq!(rows[&7].dram_read_sectors, 4 * 2 * 4);
    let (rows, _) = replay(&tiny(), &vec![cta; 8], 3);
    assert_eq!((rows[&7].l2_sectors, rows[&7].dram_read_sectors), (64, 32));
}

#[test]
fn only_resident_ctas_are_held() {
    let mut hierarchy = Hierarchy::new(&HierarchyGeometry { schedule: Schedule::Drift, ..tiny() });
    for cta in 0..1000 {
        // Some are long, some are short.
        let events: Vec<_> =
            (0..10 + cta % 7).map(|time| load(time, 0, cta * 100 + time)).collect();
        hierarchy.collect(&mut [&mut stream(&events)]);
        assert!(hierarchy.merger.residents() <= 5, "CTA {cta}");
    }
    let (_, l2) = hierarchy.finish(L2Contents::Keep);
    let sectors: u64 = (0..1000).map(|cta| (10 + cta % 7) * 4).sum();
    assert_eq!(l2.traffic().read_sectors, sectors);
}

/// Everything again, without streams, merging or slices: all events of the grid in one list.
struct Naive {
    /// For each SM the lines of its L1, the latest first, with their valid sectors.
    l1: Vec<Vec<(u64, u8)>>,
    l2: Vec<(u64, u8, u8)>,
    rows: Rows,
    dram_writes: u64,
}

impl Naive {
    fn run(geometry: &HierarchyGeometry, ctas: &[Vec<Event>]) -> Self {
        let mut events = Vec::new();
        let slots = geometry.resident_ctas as usize;
        let mut ends = vec![0; slots];
        let mut wave_start = 0;
        for (index, cta) in ctas.iter().enumerate() {
            let length = cta.iter().map(|event| event.time + 1).max().unwrap_or(1);
            let (slot, start) = if geometry.schedule == Schedule::LockstepWaves {
                if index % slots == 0 {
                    wave_start = *ends.iter().max().unwrap();
                }
                (index % slots, wave_start)
            } else {
                let slot = (0..slots).min_by_key(|&slot| (ends[slot], slot)).unwrap();
                (slot, ends[slot])
            };
            ends[slot] = start + length;
            let (round, sm) = (slot as u32 / geometry.sm_count, slot as u32 % geometry.sm_count);
            for (number, event) in cta.iter().enumerate() {
                let place = round * geometry.warps_per_cta + event.warp;
                events.push(((start + event.time, place, sm, number), *event));
            }
        }
        events.sort_by_key(|(key, _)| *key);
        let mut naive = Self {
            l1: vec![Vec::new(); geometry.sm_count as usize],
            l2: Vec::new(),
            rows: Rows::new(),
            dram_writes: 0,
        };
        for ((_, _, sm, _), event) in events {
            naive.access(sm as usize, &event, geometry.l1.is_some());
        }
        naive.dram_writes +=
            naive.l2.iter().map(|line| u64::from(line.2.count_ones())).sum::<u64>();
        naive
    }

    fn access(&mut self, sm: usize, event: &Event, has_l1: bool) {
        let row = self.rows.entry(event.line as u32).or_default();
        let l1 = &mut self.l1[sm];
        let at = l1.iter().position(|line| line.0 == event.line);
        let mut sectors = event.sectors;
        if has_l1 && event.demand == Demand::Load {
            let mut line = at.map_or((event.line, 0), |at| l1.remove(at));
            row.l1_hit_sectors += u64::from((sectors & line.1).count_ones());
            sectors &= !line.1;
            line.1 |= sectors;
            l1.insert(0, line);
            l1.truncate(4);
        } else if let Some(at) = at {
            // Stores and atomics drop the line.
            l1.remove(at);
        }
        if sectors == 0 {
            return;
        }
        let at = self.l2.iter().position(|line| line.0 == event.line);
        let mut line = at.map_or((event.line, 0, 0), |at| self.l2.remove(at));
        let there = sectors & (line.1 | line.2);
        row.l2_sectors += u64::from(sectors.count_ones());
        // A store needs nothing from DRAM.
        let hits = if event.demand == Demand::Store { sectors } else { there };
        row.l2_hit_sectors += u64::from(hits.count_ones());
        if event.demand != Demand::Store {
            row.dram_read_sectors += u64::from((sectors & !line.1).count_ones());
        }
        line.1 |= sectors;
        if event.demand != Demand::Load {
            line.2 |= sectors;
        }
        self.l2.insert(0, line);
        if self.l2.len() > 16 {
            let (_, _, dirty) = self.l2.pop().unwrap();
            self.dram_writes += u64::from(dirty.count_ones());
        }
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let demand =
        prop::sample::select(vec![Demand::Load, Demand::Load, Demand::Store, Demand::Update]);
    let event = (0_u64..8, 0_u32..2, 0_u64..40, 1_u8..16, demand);
    prop::collection::vec(event, 0..12).prop_map(|events| {
        let mut events: Vec<_> = events
            .into_iter()
            .map(|(time, warp, line, sectors, demand)| Event { time, warp, line, sectors, demand })
            .collect();
        // A warp's clock does not go back.
        events.sort_by_key(|event| (event.warp, event.time));
        events
    })
}

proptest! {
    #[test]
    fn the_hierarchy_equals_one_list_of_all_events(
        ctas in prop::collection::vec(events(), 1..30),
        drifts: bool,
        has_l1: bool,
        batch in 1_usize..9,
    ) {
        let geometry = HierarchyGeometry {
            schedule: if drifts { Schedule::Drift } else { Schedule::LockstepWaves },
            l1: has_l1.then(tiny_l1),
            ..tiny()
        };
        let naive = Naive::run(&geometry, &ctas);
        let (mut rows, traffic) = replay(&geometry, &ctas, batch);
        rows.retain(|_, traffic| *traffic != RowTraffic::default());
        let mut expected = naive.rows;
        expected.retain(|_, traffic| *traffic != RowTraffic::default());
        prop_assert_eq!(rows, expected);
        prop_assert_eq!(traffic.dram_write_sectors, naive.dram_writes);
    }

    #[test]
    fn neither_threads_nor_batches_change_the_result(
        ctas in prop::collection::vec(events(), 1..60),
        schedule in prop::sample::select(vec![
            Schedule::LockstepWaves, Schedule::Drift, Schedule::Staggered,
        ]),
    ) {
        let l2 = L2Geometry {
            size_bytes: 24 * 128, slices: 3, ways: 4,
            replacement: Replacement::Random { seed: 9 }, ..L2Geometry::GTX_480
        };
        let geometry = HierarchyGeometry { schedule, l1: Some(tiny_l1()), l2, ..tiny() };
        let with = |threads, batch| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| replay(&geometry, &ctas, batch))
        };
        let expected = with(1, 1);
        prop_assert_eq!(&with(2, 7), &expected);
        prop_assert_eq!(&with(5, 60), &expected);
    }
}
