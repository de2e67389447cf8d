//! `gpucast diff`: its options.

use std::path::PathBuf;

use clap::Args;
use gpucast_render::difference::DifferenceFormat;
use gpucast_render::profile::SourceChoice;

use super::prediction::{CountingOptions, GpuOptions, MeasurementOptions, ModelOptions};
use super::{ExecutionOptions, LaunchOptions, MachineOptions, words};

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The kernel before: a corpus name, a launch file, a PTX module, or a container of PTX
    #[arg(value_name = "BEFORE")]
    pub(crate) before: String,

    /// The kernel after
    #[arg(value_name = "AFTER")]
    pub(crate) after: String,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    #[command(flatten)]
    pub(crate) models: ModelOptions,

    #[command(flatten)]
    pub(crate) measurement: MeasurementOptions,

    #[command(flatten)]
    pub(crate) counting: CountingOptions,

    /// End with exit status 1 if a time grows by more than this: slower:5%
    #[arg(long, help_heading = "Output", value_name = "CONDITION")]
    pub(crate) fail_if: Option<FailIf>,

    /// Whose lines are compared
    #[arg(long, help_heading = "Output", value_name = "SOURCE", default_value = "auto", value_parser = words::source())]
    pub(crate) source: SourceChoice,

    /// Where else the CUDA files lie that the PTX names; by default in or below its own folder
    #[arg(long, help_heading = "Output", value_name = "FOLDER")]
    pub(crate) source_root: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    /// The form of the result [default: html if the file is called so, otherwise text]
    #[arg(long, help_heading = "Output", value_name = "FORMAT", value_parser = words::difference_format())]
    pub(crate) format: Option<DifferenceFormat>,

    /// Write the result to a file
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Diff {
    /// The form that is asked for, or that the file's name asks for.
    pub(crate) fn format(&self) -> DifferenceFormat {
        let ending = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        self.format.unwrap_or(match ending {
            Some("html" | "htm") => DifferenceFormat::Html,
            Some("json") => DifferenceFormat::Json,
            _ => DifferenceFormat::Text,
        })
    }
}

/// A condition that makes a difference a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FailIf {
    /// The relative growth of a time that is still accepted.
    pub(crate) slower: f64,
}

impl std::str::FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_prefix("slower:").and_then(|rest| rest.strip_suffix('%'));
        match percent.and_then(|number| number.trim().parse::<f64>().ok()) {
            Some(percent) if percent.is_finite() && percent >= 0.0 => {
                Ok(Self { slower: percent / 100.0 })
            }
            _ => Err("write it like slower:5%".to_owned()),
        }
    }
}
