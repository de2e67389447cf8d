//! Constants: a load that hits, and those that no cache holds.

use super::memory::CHASE;
use super::{CLOCKS, Parameter, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels;

pub(super) const ALL: &[Parameter] = &[
    Parameter::field(
        "constant_latency",
        CLOCKS,
        "loads of one constant, less the sum between loads",
        |bench| hit(bench, 1),
    ),
    Parameter::field(
        "constant_far_latency",
        CLOCKS,
        "loads of constants a line of level 1.5 apart, less the sum between loads",
        |bench| {
            let stride = bench.capability("constant_far_line")?;
            miss(bench, stride as u64)
        },
    ),
    Parameter::field(
        "constant_near_latency",
        CLOCKS,
        "loads of constants a line apart, of which the first in each line of level 1.5 is far",
        |bench| {
            let line = bench.capability("constant_line")?;
            let lines = bench.capability("constant_far_line")? / line;
            let far = figure_of(bench, "constant_far_latency")?;
            Ok((lines * miss(bench, line as u64)? - far) / (lines - 1.0))
        },
    ),
];

/// Clocks of a load whose lanes have as many addresses, all in the cache.
pub(super) fn hit(bench: &mut Bench<'_>, addresses: u64) -> Result<f64, MeasureError> {
    let clocks = bench
        .clocks(CHASE, How::default(), |loads| Ok(kernels::constant_chase(addresses, 0, loads)))?;
    Ok(clocks - sum(bench)?)
}

/// Clocks of a load that is `stride` bytes behind the last one, all of them for the first time.
fn miss(bench: &mut Bench<'_>, stride: u64) -> Result<f64, MeasureError> {
    /// Bytes of the loads, of 64 KiB that a module may have.
    const BYTES: [u64; 2] = [16 << 10, 48 << 10];
    let [smaller, larger] = BYTES.map(|bytes| bytes / stride);
    let clocks = bench.clocks(Sizes { smaller, larger }, How::default(), |loads| {
        Ok(kernels::constant_chase(1, stride, loads))
    })?;
    Ok(clocks - sum(bench)?)
}

/// Clocks of the sum between a load and the next address: a chase in shared memory has it or not.
fn sum(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let clocks =
        bench.clocks(CHASE, How::default(), |loads| Ok(kernels::shared_chase_with_sum(loads)))?;
    Ok(clocks - figure_of(bench, "shared_latency")?)
}
