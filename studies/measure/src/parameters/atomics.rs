//! Atomics on shared memory and at the L2.

use super::memory::{CHASE_STRIDE, L2_CHASE_BYTES, mean_l2_latency};
use super::{BLOCKS_OF_SM, CLOCKS, Parameter, blocks};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, EXCHANGES, READERS};

pub(super) const ALL: &[Parameter] = &[
    Parameter::field(
        "shared_atomic_interval",
        CLOCKS,
        "exchanges in shared memory, all lanes at one address less each at its own",
        |bench| Ok((shared(bench, true)? - shared(bench, false)?) / OTHER_LANES),
    ),
    Parameter::field(
        "atomic_latency",
        CLOCKS,
        "additions of one thread that wait for each other, less the latency of the L2",
        |bench| Ok(chain(bench, 1)? - mean_l2_latency(bench)?),
    ),
    Parameter::field(
        "atomic_interval",
        CLOCKS,
        "additions of one warp at one address, less those of one thread",
        |bench| Ok((chain(bench, WARP)? - chain(bench, 1)?) / OTHER_LANES),
    ),
    Parameter::field(
        "atomic_rate",
        "/clk",
        "additions by all SMs, each lane to a word of its own",
        |bench| {
            const WORD_BYTES: f64 = 4.0;
            let blocks = bench.facts().sm_count * 4;
            let clocks = bench.clocks(PASSES, How::default(), |passes| {
                Ok(kernels::global_reductions(blocks, passes))
            })?;
            let words = (blocks * READERS * EXCHANGES) as f64;
            Ok(words * WORD_BYTES / super::SECTOR_BYTES / clocks)
        },
    ),
];

/// Threads of a warp.
const WARP: u64 = 32;

/// Lanes of a warp but the first.
const OTHER_LANES: f64 = (WARP - 1) as f64;

/// Passes of kernels that fill the device.
const PASSES: Sizes = Sizes { smaller: 16, larger: 48 };

/// Clocks of an addition at the L2 that waits for the last one, in the lines of the L2's chase.
fn chain(bench: &mut Bench<'_>, lanes: u64) -> Result<f64, MeasureError> {
    const COPIES: u32 = 64;
    // Passes of one round through the lines.
    let round = L2_CHASE_BYTES / CHASE_STRIDE / u64::from(COPIES);
    let passes = Sizes { smaller: round, larger: 2 * round };
    let how = How { pointers: Some(CHASE_STRIDE), is_cold: false };
    let clocks = bench.clocks(passes, how, |passes| {
        Ok(kernels::atomic_chain(lanes, COPIES, L2_CHASE_BYTES, passes))
    })?;
    Ok(clocks / f64::from(COPIES))
}

/// Clocks of an SM for an exchange of a warp in shared memory.
fn shared(bench: &mut Bench<'_>, is_shared: bool) -> Result<f64, MeasureError> {
    let blocks = blocks(bench);
    let clocks = bench.clocks(PASSES, How::default(), |passes| {
        Ok(kernels::shared_exchanges(is_shared, blocks, passes))
    })?;
    Ok(clocks / (BLOCKS_OF_SM * READERS / WARP * EXCHANGES) as f64)
}
