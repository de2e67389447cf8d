//! How fast accesses are recorded and replayed through the L2.
//!
//! `cargo bench -p gpucast-counters`; the items of the last group are warp accesses, those of the
//! first sectors.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use gpucast_counters::l2::{L2, L2Geometry, L2Operation};

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

mod record {
    use super::{Bencher, ItemsCount, black_box};
    use gpucast_counters::banks::BankGeometry;
    use gpucast_counters::recorder::{CtaRecorder, RecorderShape};
    use gpucast_interpreter::{Access, AccessKind, Pattern, Recorder};
    use gpucast_ptx_frontend::types::StateSpace;

    const ACCESSES: u64 = 10_000;

    fn bench(bencher: Bencher<'_, '_>, space: StateSpace, pattern: Pattern, stride: u64) {
        let mut recorder = CtaRecorder::new(&RecorderShape {
            instructions: 100,
            blocks: 10,
            guarded: 0,
            banks: BankGeometry::CAPABILITY_2,
            stream_limit: 1 << 20,
        });
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
