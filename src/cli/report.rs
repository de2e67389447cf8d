//! `gpucast report`: its options.

use std::path::PathBuf;

use clap::Args;
use gpucast_render::profile::SourceChoice;

use super::prediction::{CountingOptions, GpuOptions, MeasurementOptions, ModelOptions};
use super::{ExecutionOptions, KernelOptions, MachineOptions, words};

#[derive(Debug, Args)]
#[command(mut_arg("model", |model| super::prediction::with_default(model, "all")))]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) kernel: KernelOptions,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    #[command(flatten)]
    pub(crate) models: ModelOptions,

    #[command(flatten)]
    pub(crate) measurement: MeasurementOptions,

    #[command(flatten)]
    pub(crate) counting: CountingOptions,

    /// Whose lines are annotated
    #[arg(long, help_heading = "Output", value_name = "SOURCE", default_value = "auto", value_parser = words::source())]
    pub(crate) source: SourceChoice,

    /// Where else the CUDA files lie that the PTX names; by default in or below its own folder
    #[arg(long, help_heading = "Output", value_name = "FOLDER")]
    pub(crate) source_root: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    /// The HTML file
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: PathBuf,
}
