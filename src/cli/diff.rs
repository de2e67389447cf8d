//! `gpucast diff`: its options.

use std::path::PathBuf;

use clap::Args;
use gpucast_forecast::difference::Condition;
use gpucast_render::difference::DifferenceFormat;
use gpucast_render::profile::SourceChoice;

use super::prediction::{CountingOptions, GpuOptions, MeasurementOptions, ModelOptions};
use super::{ExecutionOptions, LaunchOptions, MachineOptions, words};

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The kernel before: a corpus name, a launch file, a PTX module, or a container of PTX; or a
    /// baseline, the .json that `predict -o base.json` wrote
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

    /// End with exit status 1 if a time grows by more than this, slower:5%, or a metric does,
    /// inst_executed:1%, or falls, branch_efficiency:-2%, or if the kernel after is beyond a value,
    /// 'time>120us'; repeat for more
    #[arg(long, help_heading = "Output", value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,

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

    /// The form of the result [default: that of a file's name, .html, .json, .md, .sarif or
    /// .xml (JUnit); otherwise text]
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
            Some("md") => DifferenceFormat::Markdown,
            Some("sarif") => DifferenceFormat::Sarif,
            Some("xml") => DifferenceFormat::Junit,
            _ => DifferenceFormat::Text,
        })
    }
}
