//! Options of `gpucast exec`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gpucast_host::settings;
use gpucast_interpreter::AsyncTiming;

use super::{MachineOptions, size};

/// What is done with a program's launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Execute them; they take no time
    Run,
    /// Count and predict each
    Count,
    /// Count and predict the first ones of each kernel and shape; the others take their mean time
    Sample,
}

impl From<Mode> for settings::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Run => Self::Run,
            Mode::Count => Self::Count,
            Mode::Sample => Self::Sample,
        }
    }
}

/// What a faulting access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnFault {
    /// End the launch; later calls fail, as on a GPU
    Stop,
    /// Report it and go on: loads out of bounds give zero, stores and atomics do nothing
    Report,
}

impl From<OnFault> for settings::OnFault {
    fn from(choice: OnFault) -> Self {
        match choice {
            OnFault::Stop => Self::Stop,
            OnFault::Report => Self::Report,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) program: Vec<String>,

    /// The GPU by name or TOML file
    #[arg(long, help_heading = "Prediction", value_name = "GPU", default_value = "h100-sxm")]
    pub(crate) gpu: String,

    /// The model that predicts [default: as for predict, sm-simulation from compute capability 5.0
    /// on, quantitative-roofline before it]
    #[arg(long, help_heading = "Prediction", value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// The part of each launch that is not the kernel's: back-to-back, events, framework, graph,
    /// ncu-cycles, ncu-duration, or kernel for none
    #[arg(long, help_heading = "Prediction", value_name = "HOW", default_value = "back-to-back")]
    pub(crate) timing: String,

    /// Gigabytes per second between host and device; copies take no time without it
    #[arg(long, help_heading = "Prediction", value_name = "GB/S")]
    pub(crate) link: Option<f64>,

    /// What is done with launches
    #[arg(long, help_heading = "Counts", value_name = "MODE", default_value = "count")]
    pub(crate) mode: Mode,

    /// Launches of each kernel and shape that --mode sample counts
    #[arg(long, help_heading = "Counts", value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) samples: u32,

    /// Count the kernels of this name, part of a name, or pattern with * and ? only
    #[arg(long, help_heading = "Counts", value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// The GPU whose counters are modelled, by name or TOML file; or target: those of --gpu
    /// [default: as for predict]
    #[arg(long, help_heading = "Counts", value_name = "GPU")]
    pub(crate) count_on: Option<String>,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    /// Check all launches instead of counting them: memory, race, init, sync, or all. Findings make
    /// the exit status 1
    #[arg(long, help_heading = "Checks", value_name = "CHECKS")]
    pub(crate) check: Option<String>,

    /// What an access out of bounds, a misaligned one or a store to read-only memory does. The exit
    /// status is 1 after a fault, unless the program has one of its own
    #[arg(long, help_heading = "Execution", value_name = "CHOICE", default_value = "stop")]
    pub(crate) on_fault: OnFault,

    /// When asynchronous copies and products end, which no correct program can tell: early, late,
    /// random, or random:SEED [default: as late as others can do without them, with data at once]
    #[arg(long = "async", help_heading = "Execution", value_name = "WHEN")]
    pub(crate) async_timing: Option<AsyncTiming>,

    /// Warp instructions after which a launch ends as endless
    #[arg(long, help_heading = "Execution", value_name = "N")]
    pub(crate) budget: Option<u64>,

    /// Write the report to a file, too: .json with every launch, .csv with a row for each launch,
    /// .html with the tables, .txt; .parquet in builds that have it
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Write calls, copies and kernels over the predicted time, for ui.perfetto.dev: .json for the
    /// Trace Event Format, else Perfetto's protobuf
    #[arg(long, help_heading = "Output", value_name = "FILE", conflicts_with = "check")]
    pub(crate) trace: Option<PathBuf>,

    /// The longest file of --trace; what comes later is left out
    #[arg(long, help_heading = "Output", value_name = "SIZE", default_value = "100MB",
          value_parser = size::bytes)]
    pub(crate) trace_limit: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Libraries {
    /// The folder, which is made if it does not exist
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    /// The major version of the CUDA that compiles the program
    #[arg(long, value_name = "VERSION", default_value_t = 13,
          value_parser = clap::value_parser!(u32).range(11..=13))]
    pub(crate) cuda: u32,
}
