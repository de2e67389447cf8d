//! What is predicted with what: the options that the commands of predictions share.

use clap::{Arg, Args, ValueEnum};
use gpucast_forecast::Failure;
use gpucast_forecast::choice::gpu_argument::Running;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_model::gpu::{Clock, PowerLimit};
use gpucast_model::{AskedTiming, Timing};

/// The GPUs that are predicted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct GpuOptions {
    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        value_name = "GPU",
        value_delimiter = ',',
        help = "GPUs by name or TOML file, or all; repeat it, or separate them by commas [default: \
                those of the environment variable GPUCAST_GPU, or h100-sxm]"
    )]
    pub(crate) gpu: Vec<String>,
}

/// The models that predict. Commands with another default say so by `mut_arg`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct ModelOptions {
    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help = "Models, separated by commas, or all: then a model that lacks an input says so instead \
                of ending the command [default: sm-simulation from compute capability 5.0 on, \
                quantitative-roofline before it, for counts from a file, and where a number of its \
                thesis is reproduced]"
    )]
    pub(crate) model: Vec<String>,
}

/// The GPU whose counters are modelled.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct CountingOptions {
    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        value_name = "GPU",
        help = "The GPU whose counters are modelled, by name or TOML file; or target: each GPU's own \
                counters [default: each GPU's own, but a gtx-480's where quantitative-roofline alone \
                predicts, as in its thesis]"
    )]
    pub(crate) count_on: Option<String>,
}

/// `--model` of a command whose default is no GPU's own.
pub(super) fn with_default(model: Arg, name: &'static str) -> Arg {
    let help = "Models, separated by commas, or all: then a model that lacks an input says so instead \
                of ending the command";
    model.help(help).default_value(name)
}

impl ModelOptions {
    /// The models, with those of `--refine`.
    pub(crate) fn read(&self, refinements: &[String]) -> Result<Models, Failure> {
        Models::read(&self.model, refinements)
    }
}

/// Refinements of the thesis's model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct RefineOptions {
    /// Add the model refined by the thesis's own proposals, separated by commas: separate-integers,
    /// wide-shared, bank-conflicts, constant-serialisation, divergence, launch-overhead,
    /// cache-bandwidth, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) refine: Vec<String>,
}

/// The way of measuring that a prediction is to match.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct MeasurementOptions {
    /// Predict the time that this way of measuring shows, with its own part and the last wave of
    /// blocks [default: what the launch file says, or the kernel alone as papers model it]; without
    /// a value, --execution-time
    #[arg(long, value_name = "HOW", num_args = 0..=1, default_missing_value = "execution")]
    pub(crate) timing: Option<TimingChoice>,

    /// The clock of the SMs: base, boost, or a number of megahertz; device memory keeps its own
    /// [default: sp_clock of the GPU's file]
    #[arg(long, value_name = "CLOCK")]
    pub(crate) clock: Option<Clock>,

    /// Predict each kernel at the clock that this power of the board leaves: watts such as 300W, or
    /// board for the data sheet's [default: no limit]
    #[arg(long, value_name = "WATTS")]
    pub(crate) power_limit: Option<PowerLimit>,
}

/// A way of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimingChoice {
    /// Not the GPU's time: that of the execution on this machine
    #[value(hide = true)]
    Execution,
    /// The kernel alone, whatever the launch file says
    Kernel,
    /// Elapsed cycles of Nsight Compute, over the clock
    NcuCycles,
    /// The duration of Nsight Compute
    NcuDuration,
    /// Two events around all launches of the file, in a busy queue
    Events,
    /// Many launches in a stream, over their number: with the gap between two
    BackToBack,
    /// Many launches in a graph, over their number: with the gap between two
    Graph,
    /// Two events around one call of a framework, in an empty queue
    Framework,
}

impl TimingChoice {
    /// The way of measuring on the GPU; the launch file's if the execution here is meant.
    fn on_gpu(self) -> AskedTiming {
        AskedTiming::As(match self {
            Self::Execution => return AskedTiming::OfFile,
            Self::Kernel => return AskedTiming::Kernel,
            Self::NcuCycles => Timing::NcuCycles,
            Self::NcuDuration => Timing::NcuDuration,
            Self::Events => Timing::Events,
            Self::BackToBack => Timing::BackToBack,
            Self::Graph => Timing::Graph,
            Self::Framework => Timing::Framework,
        })
    }
}

impl MeasurementOptions {
    /// The way of measuring that is asked for.
    pub(crate) fn timing(&self) -> AskedTiming {
        self.timing.map_or_else(AskedTiming::default, TimingChoice::on_gpu)
    }

    /// How GPUs run.
    pub(crate) fn running(&self) -> Running {
        Running { clock: self.clock, power_limit: self.power_limit }
    }

    /// True if the time of the execution on this machine is asked for.
    pub(crate) fn asks_for_execution(&self) -> bool {
        self.timing == Some(TimingChoice::Execution)
    }
}
