//! `gpucast plot`: the options of each kind of picture.

use std::path::PathBuf;

use clap::{Arg, Args, Subcommand, ValueEnum};
use gpucast_forecast::choice::count_on::OF_THESIS;

use super::prediction::{CountingOptions, GpuOptions, ModelOptions, with_default};
use super::{ExecutionOptions, LaunchOptions, MachineOptions};

#[derive(Debug, Subcommand)]
pub(crate) enum Plot {
    /// Throughput over operational intensity, under the ceilings of each GPU
    #[command(mut_arg("model", of_thesis))]
    Roofline(PlotPredictions),
    /// Throughput over bandwidth: GPUs as points, the kernel as a half-line (Konstantinidis 2017,
    /// section 3.3)
    #[command(mut_arg("model", of_thesis))]
    QuadrantSplit(PlotQuadrantSplit),
    /// How long each resource is busy, for each kernel, GPU and model
    Breakdown(PlotPredictions),
    /// How long each resource is busy in each stage between barriers, where an SM holds one block
    #[command(mut_arg("model", |model| with_default(model, "component-throughput")))]
    Stages(PlotPredictions),
    /// Instructions by class
    #[command(mut_arg("count_on", |count_on| {
        let help = "The GPU whose counters are modelled, by name or TOML file";
        count_on.help(help).default_value(OF_THESIS)
    }))]
    Mix(PlotMix),
    /// The table of a sweep: lines, or a heat map
    Sweep(PlotSweep),
    /// The table of sensitivities: how much each figure of a GPU moves the time
    Sensitivity(PlotSensitivity),
    /// Predicted beside measured times, and their errors
    Errors(PlotPredictions),
}

/// `--model` of pictures that show the thesis's quantities.
fn of_thesis(model: Arg) -> Arg {
    with_default(model, "quantitative-roofline")
}

/// Kernels, or files of counts.
#[derive(Debug, Args)]
pub(crate) struct PlotKernels {
    /// Corpus names (sgemm), launch files (x.toml), PTX modules (x.ptx), or containers with PTX
    /// inside
    #[arg(value_name = "KERNEL", required_unless_present = "from_metrics")]
    pub(crate) inputs: Vec<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,

    /// Take counts from a metrics file or from the CSV of nvprof or ncu, too; repeat it for several
    #[arg(long, help_heading = "Counts", value_name = "FILE")]
    pub(crate) from_metrics: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) counting: CountingOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,
}

/// Kernels on GPUs.
#[derive(Debug, Args)]
pub(crate) struct PlotPredictions {
    #[command(flatten)]
    pub(crate) kernels: PlotKernels,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    #[command(flatten)]
    pub(crate) models: ModelOptions,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotMix {
    #[command(flatten)]
    pub(crate) kernels: PlotKernels,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotSweep {
    /// The CSV of `gpucast sweep`, or one with the same columns
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,

    /// The column along the x axis [default: the first swept one whose numbers vary]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: Option<String>,

    /// The column along the y axis: then the picture is a heat map
    #[arg(long, value_name = "COLUMN")]
    pub(crate) y: Option<String>,

    /// The column that is shown [default: time_ms]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) value: Option<String>,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotSensitivity {
    /// The CSV of `gpucast sensitivity`
    #[arg(value_name = "TABLE")]
    pub(crate) table: PathBuf,

    #[command(flatten)]
    pub(crate) picture: PictureOptions,
}

#[derive(Debug, Args)]
pub(crate) struct PlotQuadrantSplit {
    #[command(flatten)]
    pub(crate) predictions: PlotPredictions,

    /// How the axes run; logarithmic ones hold GPUs of very different sizes
    #[arg(long, help_heading = "Output", value_name = "SCALE", default_value = "linear")]
    pub(crate) scale: ScaleChoice,
}

/// How axes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleChoice {
    /// Equal differences are equally long
    Linear,
    /// Equal ratios are equally long
    Log,
}

/// What a picture looks like and where it goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PictureOptions {
    /// The picture's file; its ending, svg or png, says the format
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The colours
    #[arg(long, value_name = "THEME", default_value = "light")]
    pub(crate) theme: ThemeChoice,

    /// The title [default: what the picture shows]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

/// A picture's colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeChoice {
    /// For white paper
    Light,
    /// For dark screens
    Dark,
}
