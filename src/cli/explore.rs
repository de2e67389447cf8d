//! Options of the commands that look around a prediction: `sweep`, `sensitivity`, `compare`.

use std::path::PathBuf;

use clap::{Arg, Args};
use gpucast_render::sweep::TableFormat;

use super::prediction::{GpuOptions, MeasurementOptions};
use super::shared_sweep::SharedSweep;
use super::sweep_grid::{PredictionOptions, SweepGrid};
use super::{ExecutionOptions, LaunchOptions, MachineOptions, OutputOptions, words};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Sweep {
    /// Many processes, on one machine or on many
    #[command(subcommand)]
    pub(crate) shared: Option<SharedSweep>,

    #[command(flatten)]
    pub(crate) grid: SweepGrid,

    /// The form of the result [default: what the output file's name ends in, else text]
    #[arg(long, help_heading = "Output", value_name = "FORMAT", value_parser = words::table_format())]
    pub(crate) format: Option<TableFormat>,

    /// Write the result to a file; CSV and JSON get their rows as they come
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Continue a sweep that was stopped: keep the rows of the CSV file that --output names, and
    /// leave out the kernels and sizes that it has
    #[arg(long, help_heading = "Output", requires = "output")]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sensitivity {
    /// Corpus names, launch files, modules, or containers of one; a pattern such as 'sgemm-*'
    /// stands for the project's and the corpus's kernels whose names fit it
    #[arg(value_name = "KERNEL", required_unless_present = "from_metrics")]
    pub(crate) inputs: Vec<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    /// The step up and down, a fraction of each parameter
    #[arg(long, help_heading = "Prediction", value_name = "FRACTION", default_value = "1%", value_parser = step)]
    pub(crate) step: f64,

    /// The fields that are moved, separated by commas [default: all that are numbers]
    #[arg(long, help_heading = "Prediction", value_name = "FIELDS", value_delimiter = ',')]
    pub(crate) field: Vec<String>,

    /// Take counts from a metrics file or from the CSV of nvprof or ncu instead of executing
    #[arg(long, help_heading = "Prediction", value_name = "FILE", conflicts_with = "inputs")]
    pub(crate) from_metrics: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) prediction: PredictionOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

/// `0.01` or `1%`, above 0 and at most a half.
fn step(text: &str) -> Result<f64, String> {
    let (digits, scale) = match text.strip_suffix('%') {
        Some(digits) => (digits.trim(), 0.01),
        None => (text, 1.0),
    };
    match digits.parse::<f64>().map(|value| value * scale) {
        Ok(value) if (1e-6..=0.5).contains(&value) => Ok(value),
        _ => Err("a step is a fraction from 0.000001 to 0.5, such as 0.01 or 1%".to_owned()),
    }
}

/// `--caches` of comparisons with measurements: an estimate would be a further error.
fn of_comparisons(caches: Arg) -> Arg {
    caches.default_value("full")
}

#[derive(Debug, Args)]
#[command(mut_arg("caches", of_comparisons))]
pub(crate) struct Compare {
    /// CSV with the columns kernel, gpu, measured_ms, and where needed metrics, a file of counts,
    /// relative to this one; clock and timing, as the options
    #[arg(value_name = "MEASURED", required_unless_present = "published")]
    pub(crate) measured: Option<PathBuf>,

    /// Compare with the times that were published of corpus kernels; with WORDS, with those whose
    /// source has these words
    #[arg(
        long,
        value_name = "WORDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "measured"
    )]
    pub(crate) published: Option<String>,

    /// With --published, take the published counts too, instead of executing
    #[arg(long, requires = "published")]
    pub(crate) published_counts: bool,

    #[command(flatten)]
    pub(crate) prediction: PredictionOptions,

    #[command(flatten)]
    pub(crate) measurement: MeasurementOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}
