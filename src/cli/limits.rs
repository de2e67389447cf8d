//! The result of a prediction, and the limits that it is held to: the options.

use std::path::PathBuf;

use clap::Args;
use gpucast_forecast::difference::Condition;

use super::words::{self, PredictionFormat};

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct LimitedOutput {
    /// An earlier result of the same kernels on the same GPUs, which `predict -o base.json` wrote;
    /// --fail-if then bounds changes
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    pub(crate) baseline: Option<PathBuf>,

    /// End with exit status 1 if a kernel's time or a metric is beyond this, 'time>120us',
    /// 'gld_efficiency<50', or has changed by more since --baseline, time:5%, inst_executed:1%;
    /// repeat for more
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,

    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::prediction_format())]
    pub(crate) format: PredictionFormat,

    /// Write the result to a file; its name may say the form: x.json, x.csv, x.sarif, x.xml
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
