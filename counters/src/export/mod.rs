//! Writes counts as profilers would have: files that scripts made for `nvprof` or `ncu` can read,
//! and [`crate::import`], too.
//!
//! Such a file has no place for the kind of a figure. It names its origin where a profiler names
//! the device or the process, so that nobody takes it for a measurement.

mod ncu;
mod nvprof;

use std::collections::BTreeMap;

use crate::definitions::Definition;
use crate::metric::{Metrics, Number};

pub use ncu::ncu_csv;
pub use nvprof::nvprof_csv;

/// The words after the name of the GPU in nvprof's column `Device`.
pub(crate) const MODELLED_DEVICE: &str = "modelled by gpucast";

/// The entry in Nsight Compute's column `Process Name`, or in `Host Name` where a program was
/// profiled.
pub const PROCESS: &str = "gpucast";

/// The GPU whose counters are modelled.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// Its name, such as `gtx-480`.
    pub name: &'a str,
    /// Its compute capability, such as `2.0`.
    pub capability: &'a str,
}

/// A launch with the counts of its repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's name as profilers write it: with its parameters, if it is a C++ function.
    pub kernel: &'a str,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Invocations of the launch.
    pub invocations: u64,
    /// Means over the invocations.
    pub mean: &'a Metrics,
    /// The least and the greatest value of each metric over the invocations; of those that are not
    /// there, both are the mean.
    pub ranges: &'a Ranges,
}

/// The least and the greatest value of metrics, by their nvprof name.
pub type Ranges = BTreeMap<String, (Number, Number)>;

/// Chooses the metrics that are written.
pub type Choice<'a> = &'a dyn Fn(&Definition) -> bool;

/// A field in quotes.
fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
