//! Accesses that wait for device memory: their number is their rate times their latency.

use gpucast_collection::language::{Caching, Kernel};

use super::{Parameter, SECTOR_BYTES, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, LOADS, Reading, VECTOR_BYTES, WARP_LOADS};

pub(super) const ALL: &[Parameter] = &[
    Parameter::field(
        "pending_sectors",
        "entry",
        "vectors of 16 bytes from device memory by one SM, times its latency",
        |bench| {
            let bytes = (THREADS * LOADS * VECTOR_BYTES) as f64;
            let rate = rate(bench, |passes| {
                let bytes = (THREADS * LOADS * VECTOR_BYTES * passes).next_power_of_two();
                let caching = Caching::SecondLevel;
                kernels::vectors(Reading { caching, bytes, blocks: 1, threads: THREADS, passes })
            })?;
            Ok(rate * bytes / SECTOR_BYTES * figure_of(bench, "memory_latency")?)
        },
    ),
    Parameter::field(
        "pending_accesses",
        "entry",
        "loads of single words from device memory by one SM, times its latency",
        |bench| {
            let loads = THREADS / WARP * WARP_LOADS;
            let rate = rate(bench, |passes| kernels::single_sectors(THREADS, passes))?;
            Ok(rate * loads as f64 * figure_of(bench, "memory_latency")?)
        },
    ),
];

/// Threads of a warp.
const WARP: u64 = 32;

/// Threads of the block: their loads are more than may wait.
const THREADS: u64 = 1024;

/// Passes in a clock.
fn rate(bench: &mut Bench<'_>, kernel: impl Fn(u64) -> Kernel) -> Result<f64, MeasureError> {
    let sizes = Sizes { smaller: 8, larger: 24 };
    Ok(1.0 / bench.clocks(sizes, How::COLD, |passes| Ok(kernel(passes)))?)
}
