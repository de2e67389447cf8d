//! Options of `bench`.

use std::num::NonZeroU32;

use clap::Args;

use super::{ExecutionOptions, KernelOptions, OutputOptions};

/// Measures the executor on this computer.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) kernel: KernelOptions,

    /// Rounds to measure, after one that is not measured
    #[arg(long, help_heading = "Measurement", value_name = "N", default_value = "5")]
    pub(crate) rounds: NonZeroU32,

    /// The GPU whose counters are modelled, by name or TOML file
    #[arg(long, help_heading = "Measurement", value_name = "GPU", default_value = "gtx-480")]
    pub(crate) gpu: String,

    /// Record the order of events in some CTAs while counting, as sm-simulation needs it
    #[arg(long, help_heading = "Measurement")]
    pub(crate) record: bool,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}
