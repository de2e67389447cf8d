//! The part of a kernel's counts that a model needs.

use crate::metric::Metrics;

/// The counts of one kernel, from execution or from a profiler's file.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelProfile {
    /// The kernel's name.
    pub kernel: String,
    /// The number of invocations that the totals cover: totals are `metrics` times this.
    pub invocations: u64,
    /// The GPU that the counts were taken on, if they were measured: a library name.
    pub measured_on: Option<String>,
    /// Per-invocation metrics by their nvprof name.
    pub metrics: Metrics,
}
