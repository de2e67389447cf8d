//! Options of `bench`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

use super::{ExecutionOptions, KernelOptions, OutputOptions};

/// Measures the executor on this computer, or a GPU.
#[derive(Debug, Args)]
#[command(mut_arg("inputs", |kernel| kernel
    .required(false)
    .required_unless_present_any(["device", "compare"])
    // A changed argument goes behind the others.
    .index(1)))]
#[command(mut_arg("of_compiler", |words| words.index(2)))]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) kernel: KernelOptions,

    #[command(flatten)]
    pub(crate) device: DeviceOptions,

    /// Rounds to measure, after one that is not measured
    #[arg(long, help_heading = "Measurement", value_name = "N", default_value = "5")]
    pub(crate) rounds: NonZeroU32,

    /// The GPU whose counters are modelled, by name or TOML file
    #[arg(long, help_heading = "Measurement", value_name = "GPU", default_value = "gtx-480")]
    pub(crate) gpu: String,

    /// Measure every way of counting a second time while it records the order of events in some
    /// CTAs, as sm-simulation needs it
    #[arg(long, help_heading = "Measurement")]
    pub(crate) record: bool,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

/// The measurement of a GPU.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measurement of a GPU")]
pub(crate) struct DeviceOptions {
    /// Measure the GPU of this number by NVIDIA's driver, and write its file; with kernels, run
    /// these on it, check their results, and write their times
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,

    /// Show where a GPU of the library, by name or TOML file, differs from the measured one, which
    /// is number 0 without --device
    #[arg(long, value_name = "GPU")]
    pub(crate) compare: Option<String>,

    /// Do not compare what kernels leave with what their launch files expect; the references of
    /// large kernels take this computer long
    #[arg(long)]
    pub(crate) unchecked: bool,

    /// Fields to measure, separated by commas [default: all]
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', conflicts_with = "inputs")]
    pub(crate) only: Vec<String>,

    /// Trials of each kernel, the least of which counts
    #[arg(long, value_name = "N", default_value = "60")]
    pub(crate) trials: NonZeroU32,

    /// Trials before these that do not count
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) warm_up: u32,

    /// Write the GPU's file, too, where --compare writes a table
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    /// Write every kernel with its times, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) raw: Option<PathBuf>,

    /// The GPU's name in its file [default: made of the driver's]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

impl DeviceOptions {
    /// True if a GPU is to be measured.
    pub(crate) fn is_wanted(&self) -> bool {
        self.device.is_some() || self.compare.is_some()
    }
}
