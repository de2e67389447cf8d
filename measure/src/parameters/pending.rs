//! Accesses that wait: in the queue of a sub-core, and for device memory.
//!
//! Those that wait for memory are their rate times their latency.

use gpucast_collection::language::Kernel;

use super::memory::pass_loads;
use super::{Parameter, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels;

pub(super) const ALL: &[Parameter] = &[
    Parameter::field(
        "memory_queue",
        "entry",
        "loads of one warp from shared memory before a chain of multiply-adds, by their number",
        queue,
    ),
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

/// The loads that a warp issues without waiting for one of them, less those that are under way.
///
/// All lanes of a load are in one bank, so that loads leave the queue slowly. A chain behind them
/// takes longer than those in the queue. So a pass is the chain and the wait for a place in the
/// queue.
fn queue(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const FEW: u32 = 16;
    const MANY: u32 = 24;
    const CHAIN: u64 = 512;
    /// One load is among the banks, and one in the stage of addresses.
    const UNDER_WAY: f64 = 2.0;
    let sizes = Sizes { smaller: 32, larger: 96 };
    let mut clocks = |loads| {
        bench.clocks(sizes, How::default(), |passes| Ok(kernels::load_burst(loads, CHAIN, passes)))
    };
    let (one, few, many) = (clocks(1)?, clocks(FEW)?, clocks(MANY)?);
    let interval = (many - few) / f64::from(MANY - FEW);
    // Entries are whole. The stage of addresses is free some clocks before the banks are.
    Ok((f64::from(MANY) - (many - one) / interval - UNDER_WAY).round())
}
