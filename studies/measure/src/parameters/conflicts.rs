//! Costs of conflicts and strides: what a GPU takes, against fields and counting rules.

use gpucast_model::Gpu;

use super::memory::{WORDS_OF_SM, l1_loads, of_all_sms, pass_loads, shared_loads};
use super::{Parameter, SECTOR_BYTES, blocks, constants};
use crate::bench::{Bench, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, Loads, READERS, Spread};

/// Loads from shared memory by the stride of lanes: passes over the banks.
macro_rules! shared {
    ($field:literal, $stride:literal, $kernel:literal) => {
        Parameter::cost(
            $field,
            $kernel,
            |gpu| passes(gpu, $stride),
            |bench| {
                let spread = Spread::Stride($stride);
                let loads = Loads { blocks: blocks(bench), spread, ..WORDS_OF_SM };
                shared_loads(bench, "u32", loads)
            },
        )
    };
}

/// Loads of constants by the addresses of a warp: one clock for each.
macro_rules! constants {
    ($field:literal, $addresses:literal, $kernel:literal) => {
        Parameter::cost(
            $field,
            $kernel,
            |gpu| Some(gpu.number("constant_latency")? + $addresses as f64 - 1.0),
            |bench| constants::hit(bench, $addresses),
        )
    };
}

pub(super) const ALL: &[Parameter] = &[
    shared!("shared_stride_1", 1, "a warp's load from shared memory, words 1 apart"),
    shared!("shared_stride_2", 2, "a warp's load from shared memory, words 2 apart"),
    shared!("shared_stride_8", 8, "a warp's load from shared memory, words 8 apart"),
    shared!("shared_stride_32", 32, "a warp's load from shared memory, words 32 apart"),
    shared!("shared_stride_33", 33, "a warp's load from shared memory, words 33 apart"),
    Parameter::cost(
        "l1_stride_32",
        "a warp's load from the first-level cache, words 32 apart",
        |gpu| passes(gpu, WARP),
        |bench| {
            let spread = Spread::Stride(WARP);
            l1_loads(bench, Loads { spread, ..of_all_sms(bench) })
        },
    ),
    Parameter::cost(
        "l2_sector",
        "a sector of an SM from the L2 when all SMs load one for each thread",
        l2_sector_by_bandwidth,
        l2_sector,
    ),
    constants!("constant_addresses_4", 4, "a warp's load of constants at 4 addresses"),
    constants!("constant_addresses_32", 32, "a warp's load of constants at 32 addresses"),
];

/// Lanes of a warp, and banks.
const WARP: u64 = 32;

/// Clocks of the passes over 32 banks of four bytes for words that are `stride` apart.
fn passes(gpu: &Gpu, stride: u64) -> Option<f64> {
    const PASS_BYTES: f64 = 128.0;
    // A power of two goes into 32 as often as it can.
    let conflicts = stride & stride.wrapping_neg();
    let clocks = (PASS_BYTES / gpu.number("shared_bytes_rate")?).max(1.0);
    Some(conflicts.min(WARP) as f64 * clocks)
}

/// Clocks in which an SM's share of the L2's bandwidth is a sector.
fn l2_sector_by_bandwidth(gpu: &Gpu) -> Option<f64> {
    let clocks = gpu.number("sp_clock")? * 1e6;
    let bytes_of_sm = gpu.number("l2_bandwidth")? * 1e9 / gpu.number("sm_count")?;
    Some(SECTOR_BYTES * clocks / bytes_of_sm)
}

fn l2_sector(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let of_sm = 4;
    let blocks = bench.facts().sm_count * of_sm;
    let passes = Sizes { smaller: 4, larger: 12 };
    let clocks = bench.clocks_of_copy(pass_loads(READERS), passes, |copies, passes| {
        Ok(kernels::l2_loads(blocks, READERS, passes, copies))
    })?;
    Ok(clocks / (of_sm * READERS) as f64)
}
