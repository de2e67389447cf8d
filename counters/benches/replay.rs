//! How fast accesses are recorded, and how fast they are replayed through the caches.
//!
//! `cargo bench -p gpucast-counters`; the items of the group `record` are warp accesses, all
//! others sectors.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use gpucast_counters::hierarchy::{L2, L2Geometry, L2Operation};

fn main() {
    divan::main();
}

const LINES: u64 = (768 << 10) / 128;

/// Whole lines, from a working set of so many times the capacity.
#[divan::bench(args = [0.5, 2.0])]
fn l2_lines(bencher: Bencher<'_, '_>, capacity: f64) {
    let lines = (LINES as f64 * capacity) as u64;
    let mut l2 = L2::new(L2Geometry::GTX_480);
    bencher.counter(ItemsCount::new(lines * 4)).bench_local(|| {
        for line in 0..lines {
            black_box(l2.access(black_box(line), 0xF, 0xF, L2Operation::Read));
        }
    });
}

/// One sector of a line chosen at random, from four times the capacity.
#[divan::bench]
fn l2_random_sectors(bencher: Bencher<'_, '_>) {
    let mut l2 = L2::new(L2Geometry::GTX_480);
    let mut state = 1_u64;
    bencher.counter(ItemsCount::new(100_000_u64)).bench_local(|| {
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let line = (state >> 33) % (4 * LINES);
            black_box(l2.access(line, 1 << (state >> 62), 0, L2Operation::Read));
        }
    });
}

/// The whole way of a launch's requests: sorted, dealt, merged, through L1 and L2.
mod replay {
    use super::{Bencher, ItemsCount, black_box};
    use crate::record::recorder;
    use gpucast_counters::hierarchy::{CtaStream, Hierarchy, HierarchyGeometry, L2Contents};
    use gpucast_counters::{CtaShape, DeviceModel};
    use gpucast_interpreter::{Access, AccessKind, Pattern, Recorder};
    use gpucast_ptx_frontend::types::StateSpace;

    fn geometry(has_l1: bool) -> HierarchyGeometry {
        let mut geometry = DeviceModel::GTX_480.hierarchy(CtaShape {
            threads: 1024,
            shared_bytes: 8192,
            registers_per_thread: None,
        });
        if !has_l1 {
            (geometry.l1, geometry.read_only) = (None, None);
        }
        geometry
    }

    fn bench(bencher: Bencher<'_, '_>, streams: &[CtaStream], geometry: &HierarchyGeometry) {
        let sectors: u64 = streams.iter().map(CtaStream::sectors).sum();
        bencher
            .counter(ItemsCount::new(sectors))
            .with_inputs(|| (Hierarchy::new(geometry), streams.to_vec()))
            .bench_local_values(|(mut hierarchy, mut streams)| {
                for streams in streams.chunks_mut(60) {
                    hierarchy.collect(&mut streams.iter_mut().collect::<Vec<_>>());
                }
                black_box(hierarchy.finish(L2Contents::Keep))
            });
    }

    /// The loads of the thesis's SGEMM: whole lines, in tiles of 32 x 32.
    #[divan::bench(args = [false, true])]
    fn sgemm(bencher: Bencher<'_, '_>, has_l1: bool) {
        let streams: Vec<_> = (0..240)
            .map(|cta| {
                let mut recorder = recorder();
                for warp in 0..32 {
                    for tile in 0..20 {
                        let row_of_a = cta / 20 * 32 + warp;
                        let row_of_b = tile * 32 + warp;
                        let of_a = 0x1000_0000 + row_of_a * 2560 + tile * 128;
                        let of_b = 0x2000_0000 + row_of_b * 2560 + cta % 20 * 128;
                        for (instruction, address) in [(0, of_a), (1, of_b)] {
                            recorder.access(&Access {
                                instruction,
                                warp: warp as u32,
                                time: tile * 300 + u64::from(instruction),
                                space: StateSpace::Global,
                                kind: AccessKind::Load,
                                bytes_per_lane: 4,
                                mask: u32::MAX,
                                pattern: Pattern::Consecutive,
                                addresses: &[address; 32],
                                continues: false,
                                distances: None,
                            });
                        }
                    }
                }
                recorder.stream().clone()
            })
            .collect();
        bench(bencher, &streams, &geometry(has_l1));
    }

    /// Every lane loads a word from anywhere in 64 MB: one sector a line.
    #[divan::bench(args = [false, true])]
    fn scattered_words(bencher: Bencher<'_, '_>, has_l1: bool) {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            0x1000_0000 + (state >> 33) % (64 << 20) / 4 * 4
        };
        let streams: Vec<_> = (0..120)
            .map(|_| {
                let mut recorder = recorder();
                for access in 0..256 {
                    recorder.access(&Access {
                        instruction: 0,
                        warp: access as u32 % 32,
                        time: access / 32,
                        space: StateSpace::Global,
                        kind: AccessKind::Load,
                        bytes_per_lane: 4,
                        mask: u32::MAX,
                        pattern: Pattern::General,
                        addresses: &std::array::from_fn(|_| random()),
                        continues: false,
                        distances: None,
                    });
                }
                recorder.stream().clone()
            })
            .collect();
        bench(bencher, &streams, &geometry(has_l1));
    }
}

mod record {
    use super::{Bencher, ItemsCount, black_box};
    use gpucast_counters::DeviceModel;
    use gpucast_counters::recorder::{CtaRecorder, RecorderShape, Route};
    use gpucast_interpreter::{Access, AccessKind, Pattern, Recorder};
    use gpucast_ptx_frontend::types::StateSpace;

    /// A recorder that has seen nothing.
    pub(crate) fn recorder() -> CtaRecorder {
        CtaRecorder::new(&RecorderShape {
            routes: vec![Route::default(); 100].into(),
            blocks: 10,
            guarded: 0,
            coalescing: DeviceModel::GTX_480.coalescing,
            banks: DeviceModel::GTX_480.banks,
            constant_lanes: 32,
            stream_limit: 1 << 20,
            trace: None,
        })
    }

    const ACCESSES: u64 = 10_000;

    fn bench(bencher: Bencher<'_, '_>, space: StateSpace, pattern: Pattern, stride: u64) {
        let mut recorder = recorder();
        let addresses: [u64; 32] = std::array::from_fn(|lane| 0x10_0000 + lane as u64 * stride);
        bencher.counter(ItemsCount::new(ACCESSES)).bench_local(|| {
            recorder.clear();
            for time in 0..ACCESSES {
                recorder.access(black_box(&Access {
                    instruction: 7,
                    warp: 3,
                    time,
                    space,
                    kind: AccessKind::Load,
                    bytes_per_lane: 4,
                    mask: u32::MAX,
                    pattern,
                    addresses: &addresses,
                    continues: false,
                    distances: None,
                }));
            }
        });
    }

    #[divan::bench]
    fn shared_uniform(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Shared, Pattern::Uniform, 0);
    }

    #[divan::bench]
    fn shared_consecutive(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Shared, Pattern::Consecutive, 4);
    }

    #[divan::bench]
    fn shared_padded_column(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Shared, Pattern::General, 33 * 4);
    }

    #[divan::bench]
    fn shared_column(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Shared, Pattern::General, 32 * 4);
    }

    #[divan::bench]
    fn global_consecutive(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Global, Pattern::Consecutive, 4);
    }

    #[divan::bench]
    fn global_row(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Global, Pattern::General, 4);
    }

    #[divan::bench]
    fn global_column(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Global, Pattern::General, 4096);
    }

    #[divan::bench]
    fn local_word(bencher: Bencher<'_, '_>) {
        bench(bencher, StateSpace::Local, Pattern::Uniform, 0);
    }
}
