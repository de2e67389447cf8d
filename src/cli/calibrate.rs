//! The arguments of `gpucast calibrate`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gpucast_render::TextOrJson;

use super::kernels::Condition;
use super::options::{ExecutionOptions, L2Choice, MachineOptions};
use super::{FeatureNames, words};

#[derive(Debug, Subcommand)]
pub(crate) enum Calibrate {
    /// Transfers and execution of an offloaded kernel (Velho et al. 2013)
    Offload(CalibrateOffload),
    /// A cost model: an expression in features of kernels (Stevens and Kloeckner 2020)
    Cost(Box<CalibrateCost>),
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateCost {
    /// CSV with a line for each measured kernel: time_s or time_ms, and kernel (a corpus name or
    /// launch file, whose features are gathered by executing it) or a column for each feature of
    /// the model; size (small or paper) and name besides
    #[arg(value_name = "SAMPLES", required_unless_present = "measure", conflicts_with = "measure")]
    pub(crate) samples: Option<PathBuf>,

    /// Make the samples: the kernels that tags choose, as in `gpucast kernels generate`, each timed
    /// by what --on names. Several sets are united
    #[arg(long, value_name = "TAGS")]
    pub(crate) measure: Vec<String>,

    /// How a generator's tags must fit those of --measure
    #[arg(
        long = "match",
        value_name = "CONDITION",
        default_value = "superset",
        requires = "measure"
    )]
    pub(crate) condition: Condition,

    /// What times the kernels of --measure: a GPU of this computer by its number, such as device:0,
    /// or a model and its GPU, such as sm-simulation:titan-v
    #[arg(long, value_name = "WHAT", requires = "measure", conflicts_with = "gpu")]
    pub(crate) on: Option<String>,

    /// The contents of the L2 when a kernel of --measure begins [default: what a launch file says,
    /// and cold otherwise]
    #[arg(long, value_name = "CONTENTS", requires = "measure")]
    pub(crate) l2: Option<L2Choice>,

    /// Trials of each kernel on a device, whose mean counts
    #[arg(long, value_name = "N", default_value = "60", requires = "measure")]
    pub(crate) trials: NonZeroU32,

    /// Trials before these that do not count
    #[arg(long, value_name = "N", default_value = "2", requires = "measure")]
    pub(crate) warm_up: u32,

    /// The model, such as "p_madd * f_op_float32_madd + p_launch * f_sync_kernel_launch"; it may
    /// use the named expressions of --like
    #[arg(long, value_name = "EXPRESSION", required_unless_present = "like")]
    pub(crate) model: Option<String>,

    /// The model and the named expressions of a model file, whatever its parameters; --model
    /// replaces the model
    #[arg(long, value_name = "FILE")]
    pub(crate) like: Option<String>,

    /// The GPU that was measured, by name or TOML file
    #[arg(long, value_name = "GPU", required_unless_present = "measure")]
    pub(crate) gpu: Option<String>,

    /// What makes short and long measurements count alike
    #[arg(long, value_name = "WHAT", default_value = "features")]
    pub(crate) scale: ScaleChoice,

    /// Where a parameter starts, instead of the usual places
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) start: Vec<String>,

    /// The confidence of margins, between 0 and 1
    #[arg(long, value_name = "FRACTION", default_value = "0.95", value_parser = confidence)]
    pub(crate) confidence: f64,

    /// Write the calibrated model to a file, for `gpucast predict --cost-model`
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) names: FeatureNames,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    /// The form of the result
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,

    /// Write the result to a file; a name that ends in json means --format json
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What is divided by the measured times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScaleChoice {
    /// Features, as the paper does; in models that are not linear this changes the model
    Features,
    /// Residuals: the model stays what it is
    Residuals,
    /// Nothing: long times count most
    None,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateOffload {
    /// CSV with the columns dispatch_bytes, operations, collect_bytes, and either dispatch_s,
    /// execute_s, collect_s or time_s
    #[arg(value_name = "SAMPLES")]
    pub(crate) samples: PathBuf,

    /// The GPU that was measured, by name or TOML file, so that predictions for it use its speed
    #[arg(long, value_name = "GPU")]
    pub(crate) gpu: Option<String>,

    /// Fit to each N-th sample, the first among them, and evaluate on the others
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) every: u16,

    /// The confidence of intervals, between 0 and 1
    #[arg(long, value_name = "FRACTION", default_value = "0.95", value_parser = confidence)]
    pub(crate) confidence: f64,

    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,

    /// Write the result to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Reads a fraction between 0 and 1.
fn confidence(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(fraction) if 0.0 < fraction && fraction < 1.0 => Ok(fraction),
        _ => Err("a confidence lies between 0 and 1, such as 0.95".to_owned()),
    }
}
