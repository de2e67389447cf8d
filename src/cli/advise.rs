//! `gpucast advise`: its options.

use std::path::PathBuf;

use clap::Args;
use gpucast_render::TextOrJson;

use super::prediction::GpuOptions;
use super::{ExecutionOptions, KernelOptions, MachineOptions, words};

#[derive(Debug, Args)]
pub(crate) struct Advise {
    #[command(flatten)]
    pub(crate) kernel: KernelOptions,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    /// Where else the CUDA files lie that the PTX names; by default in or below its own folder
    #[arg(long, help_heading = "Output", value_name = "FOLDER")]
    pub(crate) source_root: Option<PathBuf>,

    /// The form of the result
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,

    /// Write the result to a file
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
