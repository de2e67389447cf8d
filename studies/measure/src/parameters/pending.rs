//! Accesses that wait: in the queue of a sub-core, and for device memory.
//!
//! Those that wait for memory are their rate times their latency.

use gpucast_collection::language::Kernel;

use super::memory::pass_loads;
use super::{Parameter, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, Stores};

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
    Parameter::field(
        "stored_sectors",
        "entry",
        "stores of all sub-cores before a chain of multiply-adds, by their number",
        stored,
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

/// The sectors that an SM stores without waiting for the L2 to take one.
///
/// All SMs store more than the L2 takes, and a chain behind the stores is longer than what waits.
/// So a pass is the chain and the wait of the last store. Some stores wait in the load-store path,
/// and some are under way there: as many as leave it in a number of clocks. The stores of one SM,
/// narrow and wide, tell both. What the L2 takes within its latency is on its way to it.
fn stored(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let narrow = burst(bench, 1, NARROW)?;
    let wide = burst(bench, 1, WIDE)?;
    let blocks = bench.facts().sm_count;
    let together = burst(bench, blocks, NARROW)?;
    if together.interval < 1.1 * narrow.interval {
        return Err(MeasureError::unfit("the L2 takes all that the SMs store"));
    }
    let in_clock = |burst: &Burst| 1.0 / burst.interval;
    let under_way = (narrow.free - wide.free) / (in_clock(&narrow) - in_clock(&wide));
    let in_path = narrow.free + under_way * (in_clock(&together) - in_clock(&narrow));
    let on_the_way = figure_of(bench, "l2_latency")? / together.interval;
    let warps = bench.capability("sub_partitions")?;
    // Entries are whole.
    let stores = together.free - in_path - on_the_way;
    Ok((stores * warps * kernels::STORED_SECTORS).round())
}

/// Words of a thread's store.
const NARROW: u64 = 1;
const WIDE: u64 = 4;

/// A burst of stores.
struct Burst {
    /// Clocks from a store of each sub-core to the next, where they wait.
    interval: f64,
    /// Stores of each sub-core that do not wait.
    free: f64,
}

fn burst(bench: &mut Bench<'_>, blocks: u64, width: u64) -> Result<Burst, MeasureError> {
    const FEW: u64 = 96;
    const MANY: u64 = 128;
    const CHAIN: u64 = 1024;
    let passes = Sizes { smaller: 8, larger: 24 };
    let warps = bench.capability("sub_partitions")? as u64;
    let mut clocks = |number| {
        bench.clocks(passes, How::default(), |passes| {
            let stores = Stores { blocks, warps, number, width, multiply_adds: CHAIN, passes };
            Ok(kernels::store_burst(stores))
        })
    };
    let (one, few, many) = (clocks(1)?, clocks(FEW)?, clocks(MANY)?);
    let interval = (many - few) / (MANY - FEW) as f64;
    let free = MANY as f64 - (many - one) / interval;
    if free > FEW as f64 {
        return Err(MeasureError::unfit("the SM takes all stores without a wait"));
    }
    Ok(Burst { interval, free })
}
