//! Traffic of launches through the caches, and requests that are left out of them.

use gpucast_interpreter::Windows as _;

use super::*;

#[test]
fn a_copy_moves_each_sector_once() {
    let mut counter = Counter::for_code(copy_code(), &launch(1000, 256), 0, DeviceModel::GTX_480);
    run(&mut counter, 1000, |cta, recorder| {
        for warp in 0..8 {
            let at = (cta * 8 + u64::from(warp)) * 128;
            recorder.block(warp, 0, !0);
            recorder.access(&words(LOAD, warp, 0, 0x1000_0000 + at));
            recorder.access(&words(STORE, warp, 1, 0x2000_0000 + at));
        }
    });
    let (profile, _) = counter.finish();
    for (metric, expected) in [
        ("dram_read_transactions", 32_000),
        ("dram_write_transactions", 32_000),
        ("dram_write_bytes", 1_024_000),
        ("l2_read_transactions", 32_000),
        ("global_load_requests", 8_000),
        ("gld_transactions", 8_000),
        ("global_load_sectors", 32_000),
        ("gst_transactions", 8_000),
        ("ptx_global_store_bytes", 1_024_000),
        ("inst_executed", 16_000),
        ("ptx_thread_inst_executed", 512_000),
        ("inst_compute_ld_st", 512_000),
    ] {
        assert_eq!(count(&profile, metric), expected, "{metric}");
    }
    assert_eq!(profile.metrics["gld_efficiency"].value, Number::Real(100.0));
    // The traffic stands with the instruction that caused it.
    let loads = &profile.table.rows[LOAD as usize].memory;
    assert_eq!(loads.len(), 1);
    assert_eq!((loads[0].sectors, loads[0].traffic.unwrap().dram_read_sectors), (32_000, 32_000));
    assert_eq!(profile.table.rows[STORE as usize].memory[0].traffic.unwrap().dram_read_sectors, 0);
}

/// A GTX 480 whose L2 has another policy.
fn gtx_480(replacement: Replacement) -> DeviceModel {
    let l2 = L2Geometry { replacement, ..L2Geometry::GTX_480 };
    DeviceModel { l2, ..DeviceModel::GTX_480 }
}

/// Every CTA reads the same `lines` lines.
fn rereads(lines: u64) -> u128 {
    let device = gtx_480(Replacement::Lru);
    let mut counter = Counter::for_code(copy_code(), &launch(45, 1024), 0, device);
    run(&mut counter, 45, |_, recorder| {
        for line in 0..lines {
            recorder.access(&words(LOAD, (line % 32) as u32, line / 32, 0x1000_0000 + line * 128));
        }
    });
    count(&counter.finish().0, "dram_read_transactions")
}

#[test]
fn ctas_of_a_wave_share_what_they_read_and_waves_share_what_fits() {
    // 768 KB are 6144 lines. Three waves of 15 CTAs.
    assert_eq!(rereads(4_000), 4 * 4_000);
    // Twice the capacity: within a wave in step all CTAs meet, but LRU keeps nothing for the next.
    assert_eq!(rereads(12_288), 3 * 4 * 12_288);
}

/// The global accesses of the thesis's SGEMM (appendix; 1280 × 640 times 640 × 640, tiles of 32):
/// DRAM reads and writes.
fn sgemm(replacement: Replacement) -> (u128, u128) {
    let device = gtx_480(replacement);
    let mut counter = Counter::for_code(copy_code(), &launch(20 * 40, 1024), 8192, device);
    assert_eq!(counter.wave(), 15);
    let (a, b, c) = (0x1000_0000, 0x2000_0000, 0x3000_0000);
    let pitch = 640 * 4;
    run(&mut counter, 20 * 40, |cta, recorder| {
        let (column, row) = (cta % 20 * 128, cta / 20 * 32);
        for warp in 0..32 {
            for tile in 0..20 {
                let (warp, time) = (warp as u32, tile * 300);
                let in_tile = tile * 32 + u64::from(warp);
                let of_a = a + (row + u64::from(warp)) * pitch + tile * 128;
                recorder.access(&words(LOAD, warp, time, of_a));
                recorder.access(&words(LOAD, warp, time + 3, b + in_tile * pitch + column));
            }
            recorder.access(&words(STORE, warp as u32, 6000, c + (row + warp) * pitch + column));
        }
    });
    let (profile, _) = counter.finish();
    let count = |name| count(&profile, name);
    (count("dram_read_transactions"), count("dram_write_transactions"))
}

#[test]
fn sgemm_writes_exactly_and_reads_as_far_off_as_documented() {
    // Measured on a GTX 480 (thesis, table 4.9).
    const READS: f64 = 1_218_190.0;
    const WRITES: u128 = 102_400;
    let (reads, writes) = sgemm(Replacement::Lru);
    assert_eq!(writes, WRITES);
    // LRU keeps nothing of the 1.6 MB of B from one wave to the next: 1.85 times too many.
    assert!((reads as f64 / READS - 1.85).abs() < 0.01, "{reads}");
    // The reference GPU's policy keeps a good part.
    let (reads, writes) = sgemm(L2Geometry::GTX_480.replacement);
    assert_eq!(writes, WRITES);
    assert!((reads as f64 / READS - 1.0).abs() < 0.15, "{reads}");
}

#[test]
fn an_l2_that_is_kept_is_warm() {
    let read = |counter: &mut Counter| {
        run(counter, 1, |_, recorder| recorder.access(&words(LOAD, 0, 0, 0x1000)));
    };
    let new = || Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    let mut cold = new();
    read(&mut cold);
    let (profile, l2) = cold.finish();
    assert_eq!(count(&profile, "dram_read_transactions"), 4);
    for (contents, reads) in [(L2Contents::Keep, 0), (L2Contents::Warm, 0), (L2Contents::Cold, 4)] {
        let mut again = new().with_l2(contents, l2.clone());
        read(&mut again);
        let reads_again = count(&again.finish().0, "dram_read_transactions");
        assert_eq!(reads_again, reads, "{contents:?}");
    }
    // Another GPU's cache is no beginning.
    let l2_of_another = L2::new(L2Geometry { ways: 8, ..L2Geometry::GTX_480 });
    let mut other = new().with_l2(L2Contents::Keep, Some(l2_of_another));
    read(&mut other);
    assert_eq!(count(&other.finish().0, "dram_read_transactions"), 4);
}

/// The first level of a GTX 480 keeps loads of global memory, but for those that go past it.
#[test]
fn loads_with_an_operator_go_past_the_first_level() {
    for (past_l1, hits, at_l2) in [(false, 4, 4), (true, 0, 8)] {
        let code = Code {
            routes: [Route { past_l1, ..Route::default() }, Route::default()].into(),
            ..copy_code()
        };
        let mut counter = Counter::for_code(code, &launch(1, 32), 0, DeviceModel::GTX_480);
        run(&mut counter, 1, |_, recorder| {
            (0..2).for_each(|at| recorder.access(&words(LOAD, 0, at, 0x1000)));
        });
        let (profile, _) = counter.finish();
        let counts = profile.table.rows[LOAD as usize].memory[0];
        assert_eq!(
            (counts.traffic.unwrap().l1_hit_sectors, counts.traffic.unwrap().l2_sectors),
            (hits, at_l2),
            "{past_l1}"
        );
        // What goes past the cache reads none of its banks.
        assert_eq!(counts.passes, if past_l1 { 0 } else { 2 });
        assert_eq!(count(&profile, "dram_read_transactions"), 4);
    }
}

#[test]
fn requests_beyond_the_limit_are_extrapolated() {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    counter.shape.stream_limit = 100;
    run(&mut counter, 1, |_, recorder| {
        (0..400).for_each(|at| recorder.access(&words(LOAD, 0, at, 0x1000 + at * 128)));
    });
    let (profile, _) = counter.finish();
    assert_eq!(count(&profile, "dram_read_transactions"), 1600);
    assert_eq!(profile.metrics["dram_read_transactions"].kind, Kind::Estimated);
    assert_eq!(count(&profile, "l2_read_transactions"), 1600);
    assert_eq!(count(&profile, "global_load_sectors"), 1600);
}

/// A CTA reads a table of 256 lines at its start, and later 1,024 lines of its own and half of
/// them again; it writes each of them. Streams hold 300 lines: the table and a part of the rest.
/// Two more kernels never come to where the rest would miss, or hit.
#[test]
fn intervals_hold_what_requests_beyond_the_limit_cause() {
    type Requests = fn(u64) -> Vec<(u32, u64)>;
    let mixed: Requests = |cta| {
        let own = |at: u64| 0x100_0000 + (cta * 1024 + at) * 128;
        let table = (0..256).map(|at| (LOAD, 0x1000 + at * 128));
        let reads = (0..1024).map(|at| (LOAD, own(at)));
        let again = (0..512).map(|at| (LOAD, own(2 * at)));
        let writes = (0..1024).map(|at| (STORE, own(at)));
        table.chain(reads).chain(again).chain(writes).collect()
    };
    // The beginning misses and the rest hits, and the other way round.
    let late_hits: Requests = |cta| {
        let first = (0..300).map(|at| (LOAD, 0x100_0000 + (cta * 300 + at) * 128));
        first.chain((0..1000).map(|at| (LOAD, 0x1000 + at % 4 * 128))).collect()
    };
    let late_misses: Requests = |cta| {
        let first = (0..300).map(|at| (LOAD, 0x1000 + at % 4 * 128));
        first.chain((0..1000).map(|at| (LOAD, 0x100_0000 + (cta * 1000 + at) * 128))).collect()
    };
    let l2 = L2Geometry { partial_writes: PartialWrites::Fill, ..L2Geometry::GTX_480 };
    let filling = DeviceModel { l2, ..DeviceModel::GTX_480 };
    let mut tried = 0;
    for (name, requests) in
        [("mixed", mixed), ("late hits", late_hits), ("late misses", late_misses)]
    {
        for device in [DeviceModel::GTX_480, filling] {
            let profile = |limit: Option<usize>| {
                let mut counter = Counter::for_code(copy_code(), &launch(64, 32), 0, device);
                counter.shape.stream_limit = limit.unwrap_or(counter.shape.stream_limit);
                run(&mut counter, 64, |cta, recorder| {
                    for (time, (row, address)) in (0..).zip(requests(cta)) {
                        recorder.access(&words(row, 0, time, address));
                    }
                });
                counter.finish().0
            };
            let (full, cut) = (profile(None), profile(Some(300)));
            assert!(full.intervals.is_empty());
            for (metric, figure) in &full.metrics {
                let (truth, estimate) = (figure.value.as_f64(), cut.metrics[metric]);
                let Some(&[least, most]) = cut.intervals.get(metric) else {
                    assert_eq!(*figure, estimate, "{name}: {metric} is counted");
                    continue;
                };
                assert_eq!(estimate.kind, Kind::Estimated, "{metric}");
                assert!((least..=most).contains(&estimate.value.as_f64()), "{name}: {metric}");
                assert!(
                    (least..=most).contains(&truth),
                    "{name}: {metric} is {truth}, not {least} to {most}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "{tried}");
}

/// Of two instructions, the first one's requests are all replayed. They are not scaled.
#[test]
fn requests_that_were_all_replayed_are_not_extrapolated() {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    counter.shape.stream_limit = 100;
    run(&mut counter, 1, |_, recorder| {
        (0..50).for_each(|at| recorder.access(&words(LOAD, 0, at, 0x1000 + at * 128)));
        (50..150).for_each(|at| recorder.access(&words(STORE, 0, at, 0x10_0000 + at * 128)));
    });
    let (profile, _) = counter.finish();
    assert_eq!(count(&profile, "dram_read_transactions"), 200);
    assert_eq!(count(&profile, "l2_write_transactions"), 400);
    assert_eq!(count(&profile, "dram_write_transactions"), 400);
}

#[test]
fn without_an_l2_every_transaction_is_one_of_dram() {
    let (counts, profile) = counts_of(gpu(1, 3), &words(LOAD, 0, 0, 0x1000_0004));
    // Misaligned by a word: the first half-warp needs both halves of its segment; the second
    // one needs the upper half, and 32 bytes of the next segment.
    assert_eq!((counts.transactions, counts.sectors), (3, 4 + 2 + 1));
    assert_eq!(count(&profile, "dram_read_transactions"), 7);
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, gpu(1, 3));
    run(&mut counter, 1, |_, recorder| {
        for time in 0..3 {
            recorder.access(&words(STORE, 0, time, 0x2000_0000));
        }
    });
    let (profile, _) = counter.finish();
    assert_eq!(count(&profile, "dram_write_transactions"), 3 * 4);
    assert_eq!(count(&profile, "dram_read_transactions"), 0);
}

#[test]
fn sectors_of_16_bytes_move_half_as_much_for_scattered_words() {
    // A GPU whose misses read one sector.
    let mut device = gpu(8, 6);
    let addresses: [u64; 32] = std::array::from_fn(|lane| 0x1000_0000 + lane as u64 * 256);
    let access =
        Access { pattern: Pattern::General, addresses: &addresses, ..words(LOAD, 0, 0, 0) };
    let bytes = |device| count(&counts_of(device, &access).1, "dram_read_bytes");
    assert_eq!(bytes(device), 32 * 32);
    device.coalescing.sector = SectorSize::new(16).unwrap();
    assert_eq!(bytes(device), 32 * 16);
    // A line that is smaller than those of requests, and one that is larger.
    device.l2.line_bytes = 64;
    assert_eq!(bytes(device), 32 * 16);
    device.coalescing.sector = SectorSize::new(64).unwrap();
    device.l2.line_bytes = 256;
    assert_eq!(bytes(device), 32 * 64);
}

/// Runs a launch whose CTAs are all told of first, and of which windows then come.
fn run_in_windows(counter: &mut Counter, ctas: u64, cta: impl Fn(u64, &mut CtaRecorder)) {
    let mut recorder = counter.cta_recorder();
    for at in 0..ctas {
        cta(at, &mut recorder);
        let places = GridBox::whole([ctas as u32, 1, 1]);
        counter.tally(&mut recorder, 1, &places, &[None; 3]).unwrap();
        recorder.clear();
    }
    loop {
        let ranges = counter.windows().unwrap();
        if ranges.is_empty() {
            break;
        }
        for range in ranges {
            for first in range.clone().step_by(counter.wave()) {
                let wave = (range.end - first).min(counter.wave() as u64);
                let mut recorders: Vec<_> = (0..wave).map(|_| counter.cta_recorder()).collect();
                (first..).zip(&mut recorders).for_each(|(at, recorder)| cta(at, recorder));
                counter.collect(first, &mut recorders.iter_mut().collect::<Vec<_>>());
            }
        }
    }
}

/// Windows whose CTAs ask for more than is kept: the end of a CTA does otherwise than its
/// beginning. CTAs at the end of the grid do less.
#[test]
fn intervals_of_windows_hold_what_requests_beyond_the_limit_cause() {
    type Requests = fn(u64) -> Vec<(u32, u64)>;
    fn table(at: u64) -> (u32, u64) {
        (LOAD, 0x1000 + at % 4 * 128)
    }
    fn own(row: u32, cta: u64, at: u64) -> (u32, u64) {
        (row, 0x100_0000 + (cta * 256 + at) * 128)
    }
    let cases: [(&str, Requests); 3] = [
        ("late hits", |cta| {
            let first = (0..60).map(|at| own(LOAD, cta, at));
            first.chain((0..200).map(table)).collect()
        }),
        ("late misses", |cta| {
            let last = (0..200).map(|at| own(LOAD, cta, at));
            (0..60).map(table).chain(last).collect()
        }),
        ("late stores", |cta| {
            let stores = if cta < 900 { 150 } else { 10 };
            let loads = (0..80).map(|at| own(LOAD, cta, at));
            loads.chain((0..stores).map(|at| own(STORE, cta, at + 70))).collect()
        }),
    ];
    let l2 = L2Geometry { partial_writes: PartialWrites::Fill, ..L2Geometry::GTX_480 };
    let mut tried = 0;
    for (name, requests) in cases {
        for l2 in [L2Geometry::GTX_480, l2] {
            let device = DeviceModel { sm_count: 4, l2, ..DeviceModel::GTX_480 };
            let new = || Counter::for_code(copy_code(), &launch(1000, 32), 0, device);
            let tell = |cta: u64, recorder: &mut CtaRecorder| {
                for (time, (row, address)) in (0..).zip(requests(cta)) {
                    recorder.access(&words(row, 0, time, address));
                }
            };
            let mut full = new();
            run(&mut full, 1000, tell);
            let full = full.finish().0;
            assert!(full.intervals.is_empty());
            let all = WindowSizes::default();
            let size = WindowSizes { counted: 1, warming: 1, most_warming: 1, ..all };
            let mut cut = new().with_windows(1, size);
            cut.shape.stream_limit = 60;
            run_in_windows(&mut cut, 1000, tell);
            let cut = cut.finish().0;
            assert!(cut.is_of_windows(), "{name}");
            for (metric, figure) in &full.metrics {
                let (truth, estimate) = (figure.value.as_f64(), cut.metrics[metric]);
                let Some(&[least, most]) = cut.intervals.get(metric) else {
                    assert_eq!(*figure, estimate, "{name}: {metric} is counted");
                    continue;
                };
                assert!((least..=most).contains(&estimate.value.as_f64()), "{name}: {metric}");
                let about = 2.0 + 1e-3 * truth;
                assert!(
                    (least - about..=most + about).contains(&truth),
                    "{name}: {metric} is {truth}, not {least} to {most}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "{tried}");
}
