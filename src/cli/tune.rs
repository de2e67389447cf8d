//! Options of `tune`.

use std::path::PathBuf;

use clap::Args;

use super::cuda::CudaOptions;
use super::sweep_grid::PredictionOptions;
use super::{ExecutionOptions, MachineOptions, MeasurementOptions, OutputOptions};

#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// A tuning space: a launch file, values of its parameters, and constraints
    #[arg(value_name = "SPACE")]
    pub(crate) space: PathBuf,

    /// The GPU, by name or TOML file
    #[arg(long, help_heading = "Prediction", value_name = "GPU")]
    pub(crate) gpu: String,

    #[command(flatten)]
    pub(crate) prediction: PredictionOptions,

    #[command(flatten)]
    pub(crate) measurement: MeasurementOptions,

    /// Keep each configuration in a cache file of Kernel Tuner as it is tried, and take those that
    /// the file has from it: so a stopped run goes on
    #[arg(long, help_heading = "Other tuners", value_name = "FILE")]
    pub(crate) cache: Option<PathBuf>,

    /// Compare with measured times: a cache file of Kernel Tuner, or a result file of KTT
    #[arg(long, help_heading = "Other tuners", value_name = "FILE")]
    pub(crate) measured: Option<PathBuf>,

    /// Write the first model's times as a result file of KTT, too
    #[arg(long, help_heading = "Other tuners", value_name = "FILE")]
    pub(crate) ktt: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) cuda: CudaOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,

    /// Configurations that text shows
    #[arg(long, help_heading = "Output", value_name = "N", default_value = "20")]
    pub(crate) top: usize,

    /// Configurations to propose for measuring
    #[arg(long, help_heading = "Output", value_name = "N", default_value = "5")]
    pub(crate) propose: usize,
}
