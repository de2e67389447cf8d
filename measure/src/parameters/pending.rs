//! Accesses that wait for device memory: their number is their rate times their latency.

use gpucast_collection::language::Kernel;

use super::memory::pass_loads;
use super::{Parameter, figure_of};
use crate::bench::{Bench, Sizes};
use crate::error::MeasureError;
use crate::kernels;

pub(super) const ALL: &[Parameter] = &[
    Parameter::field(
        "pending_sectors",
        "entry",
        "loads of a sector for each thread from device memory by one SM, times its latency",
        |bench| Ok(THREADS as f64 * waiting(bench, kernels::single_sectors)?),
    ),
    Parameter::field(
        "pending_accesses",
        "entry",
        "loads of a sector for each warp from device memory by one SM, times its latency",
        |bench| Ok(THREADS as f64 / WARP * waiting(bench, kernels::shared_sectors)?),
    ),
];

/// Threads of a warp.
const WARP: f64 = 32.0;

/// Threads of the block: their loads are more than may wait.
const THREADS: u64 = 1024;

/// Loads of a thread of the block that wait at a time. `kernel` takes threads, passes and the loads
/// of a pass.
fn waiting(
    bench: &mut Bench<'_>,
    kernel: impl Fn(u64, u64, u32) -> Kernel,
) -> Result<f64, MeasureError> {
    let passes = Sizes { smaller: 4, larger: 12 };
    let clocks = bench.clocks_of_cold_copy(pass_loads(THREADS), passes, |copies, passes| {
        Ok(kernel(THREADS, passes, copies))
    })?;
    Ok(figure_of(bench, "memory_latency")? / clocks)
}
