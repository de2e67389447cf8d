//! Options of the sweeps that many processes execute together.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use gpucast_forecast::sweep::shared::{Shard, USUAL_LEASE};
use gpucast_render::sweep::TableFormat;

use super::options::assembler;
use super::{SweepGrid, words};

#[derive(Debug, Subcommand)]
pub(crate) enum SharedSweep {
    /// Plan a sweep for many processes: store its kernels and the list of executions
    Plan(Box<PlanSweep>),
    /// Execute what a plan needs and nobody has executed; start it as often as you like, anywhere
    ///
    /// Exit status: 0 nothing is left, 75 the time of --max-seconds is over.
    Work(WorkSweep),
    /// Show how far a plan is
    Status(SweepStatus),
    /// Write the table of a plan, as one process would
    Merge(MergeSweep),
    /// Start workers as a job array
    Submit(SubmitSweep),
}

/// A plan and where it is.
#[derive(Debug, Args)]
pub(crate) struct StoredPlan {
    /// The store: a folder that all machines see, or with the build's feature `cloud` a place such
    /// as s3://BUCKET/PREFIX, gs://… or az://…
    #[arg(long, value_name = "PLACE")]
    pub(crate) store: String,

    /// The plan's name in the store
    #[arg(long, value_name = "NAME", default_value = "sweep")]
    pub(crate) plan: String,
}

#[derive(Debug, Args)]
pub(crate) struct PlanSweep {
    #[command(flatten)]
    pub(crate) plan: StoredPlan,

    /// Replace another plan of the same name; what is executed stays
    #[arg(long)]
    pub(crate) replace: bool,

    #[command(flatten)]
    pub(crate) grid: SweepGrid,
}

#[derive(Debug, Args)]
pub(crate) struct WorkSweep {
    #[command(flatten)]
    pub(crate) plan: StoredPlan,

    /// The worker's place among several, as 2/8: workers then begin at different executions
    #[arg(long, value_name = "NUMBER/ALL", value_parser = Shard::read)]
    pub(crate) shard: Option<Shard>,

    /// Stop after this time; the execution in hand is given back
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_seconds: Option<u64>,

    /// The time without a sign of life after which another worker's execution is taken over
    #[arg(long, value_name = "SECONDS", default_value_t = USUAL_LEASE.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) lease: u64,

    /// Execute again what failed
    #[arg(long)]
    pub(crate) retry: bool,

    /// The assembler; a plan names none [default: searched in PATH, CUDA installations and Python
    /// packages]
    #[arg(long, value_name = "PATH", value_parser = assembler)]
    pub(crate) ptxas: Option<PathBuf>,

    /// Write what printf() in kernels prints to a file instead of the standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) print_to: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SweepStatus {
    #[command(flatten)]
    pub(crate) plan: StoredPlan,
}

#[derive(Debug, Args)]
pub(crate) struct MergeSweep {
    #[command(flatten)]
    pub(crate) plan: StoredPlan,

    /// Write the rows that there are; the others say that they are not executed yet
    #[arg(long)]
    pub(crate) allow_missing: bool,

    /// The form of the result [default: what the output file's name ends in, else text]
    #[arg(long, value_name = "FORMAT", value_parser = words::table_format())]
    pub(crate) format: Option<TableFormat>,

    /// Write the result to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitSweep {
    #[command(flatten)]
    pub(crate) plan: StoredPlan,

    /// By Slurm's sbatch
    #[arg(long, required = true)]
    pub(crate) slurm: bool,

    /// Tasks of the array, each a worker
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) array: NonZeroU32,

    /// Cores of a task
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) cores: NonZeroU32,

    /// The limit of a task's time, as sbatch takes it: 02:00:00
    #[arg(long, value_name = "TIME", value_parser = one_line)]
    pub(crate) time: Option<String>,

    /// The partition
    #[arg(long, value_name = "NAME", value_parser = one_line)]
    pub(crate) partition: Option<String>,

    /// Print the script instead of submitting it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Further options of sbatch, as -- --account=abc
    #[arg(last = true, value_name = "OPTION", value_parser = one_line)]
    pub(crate) options: Vec<String>,
}

/// A value that stays on its line of a script: behind a line break it would be a command.
fn one_line(text: &str) -> Result<String, String> {
    match text.contains(char::is_control) {
        true => Err("it has a line break or another control character".to_owned()),
        false => Ok(text.to_owned()),
    }
}
