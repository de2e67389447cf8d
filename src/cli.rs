//! The command line: every command, option and help text.

pub(crate) mod advise;
pub(crate) mod bench;
mod calibrate;
pub(crate) mod classroom;
mod confined;
mod counts;
mod cuda;
pub(crate) mod diff;
mod early;
pub(crate) mod exec;
pub(crate) mod explain;
mod explore;
mod gpus;
pub(crate) mod judge;
pub(crate) mod kernels;
pub(crate) mod lab;
mod limits;
pub(crate) mod names;
pub(crate) mod ncu;
mod options;
pub(crate) mod plot;
mod prediction;
pub(crate) mod report;
pub(crate) mod serve;
pub(crate) mod shared_sweep;
mod size;
mod sweep_grid;
pub(crate) mod trace;
pub(crate) mod trust;
pub(crate) mod tune;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{
    Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_interpreter::AsyncTiming;
use gpucast_render::TextOrJson;
use gpucast_render::profile::{By, SourceChoice};
use gpucast_sanitizer::Checks;

use crate::failure::Report;
use crate::project::{self, Guarded};

pub(crate) use calibrate::{Calibrate, CalibrateCost, CalibrateOffload, ScaleChoice};
pub(crate) use confined::{ConfinedOptions, ErrorFormat};
pub(crate) use counts::Counts;
pub(crate) use early::Early;
pub(crate) use explore::{Compare, Sensitivity, Sweep};
pub(crate) use gpus::{Derive, Gpus, Import, ImportFormat};
pub(crate) use limits::LimitedOutput;
use options::with_formulas;
pub(crate) use options::{
    CacheChoice, CountingChoice, ExecutionOptions, KernelOptions, LaunchOptions, MachineOptions,
    OutputOptions, Size,
};
pub(crate) use prediction::MeasurementOptions;
use prediction::{CountingOptions, GpuOptions, ModelOptions, RefineOptions};
pub(crate) use sweep_grid::{LaunchTemplate, SweepGrid};
pub(crate) use words::{PredictionFormat, RunFormat};

/// Forecasts how fast a CUDA kernel runs on a GPU that you do not have.
///
/// It executes the kernel's PTX on the CPU, counts what a hardware profiler would count, and
/// feeds the counts into published analytical models.
#[derive(Debug, Parser)]
#[command(
    name = "gpucast",
    version = env!("GPUCAST_VERSION"),
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit status: 0 done, 1 the input is at fault, 2 wrong usage."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// CPU threads to execute with
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Say nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say what is used and how long it takes
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Colours of errors and help
    #[allow(dead_code, reason = "`Early` has read it; here it is only allowed to be there")]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,

    /// Ignore gpucast.toml of this folder and of those above
    #[allow(dead_code, reason = "`Early` has read it; here it is only allowed to be there")]
    #[arg(long, global = true)]
    no_project: bool,

    #[command(flatten)]
    pub(crate) confined: ConfinedOptions,
}

/// Reason why there is nothing to run.
pub(crate) enum Unparsed {
    /// The command line is at fault, or asks for help.
    CommandLine(clap::Error),
    /// The project file is at fault.
    Project(Report),
}

/// The name under which the program is `gpucast ncu`.
const PROFILER: &str = "ncu";

/// The words of the command line. Called as `ncu`, the program is its command of that name.
pub(crate) fn given_words() -> Vec<OsString> {
    as_profiler(std::env::args_os().collect())
}

fn as_profiler(mut words: Vec<OsString>) -> Vec<OsString> {
    let called = words.first().map(PathBuf::from);
    if called.and_then(|path| Some(path.file_name()? == PROFILER)) == Some(true) {
        words.splice(..1, ["gpucast", PROFILER].map(OsString::from));
        // There, the short option asks for the version.
        if words.get(2).is_some_and(|word| word == "-v") {
            words[2] = "--version".into();
        }
    }
    words
}

/// Reads the command line, with the defaults of the project.
pub(crate) fn parse(early: &Early) -> Result<Cli, Unparsed> {
    let found = if early.without_project { Ok(()) } else { project::read() };
    let read = found.and_then(|()| match project::current() {
        Some(project) => project::applied(Cli::command(), &project),
        None => Ok((Cli::command(), Vec::new())),
    });
    let parsed = |command: clap::Command, guarded: &[Guarded]| {
        let mut command = early.applied(command);
        let matches = command.try_get_matches_from_mut(given_words());
        let matches = matches.map_err(Unparsed::CommandLine)?;
        if let Some(project) = project::current() {
            project::check(guarded, &project, &command, &matches).map_err(Unparsed::Project)?;
        }
        Cli::from_arg_matches(&matches).map_err(Unparsed::CommandLine)
    };
    match read {
        Ok((command, guarded)) => parsed(command, &guarded),
        // Whoever asks for help gets it, whatever the project says.
        Err(report) => match parsed(Cli::command(), &[]) {
            Err(Unparsed::CommandLine(error)) if !error.use_stderr() => {
                Err(Unparsed::CommandLine(error))
            }
            _ => Err(Unparsed::Project(report)),
        },
    }
}

/// What is wrong with a command line, without the usage below it.
pub(crate) fn report(error: &clap::Error) -> Report {
    let text = error.render().to_string();
    let text = text.split("\n\nUsage:").next().unwrap_or_default();
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    Report::new(text.strip_prefix("error: ").unwrap_or(text).trim())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Predict a kernel's time on one GPU or several
    Predict(Predict),
    /// Say what is slow in a kernel, where, why, and what to change
    Advise(advise::Advise),
    /// Predict over a grid of kernels, sizes, GPUs, fields of GPUs and models
    Sweep(Box<Sweep>),
    /// Rank the configurations of a kernel by predicted times
    Tune(Box<tune::Tune>),
    /// Show how much each parameter of a GPU moves a kernel's time
    Sensitivity(Sensitivity),
    /// Compare predicted times with measured ones
    Compare(Compare),
    /// Compare two kernels, or two versions of one: times, counts and lines side by side
    Diff(diff::Diff),
    /// Judge a kernel by a reference: is it right, safe, and faster?
    Judge(Box<judge::Judge>),
    /// Execute a kernel and count what a hardware profiler would count
    Profile(Profile),
    /// Write a timeline of a simulated kernel: what each warp issued, waited for, and for whom
    Trace(Box<trace::Trace>),
    /// Find how a kernel's counts depend on the sizes of its problem, as formulas
    Counts(Box<Counts>),
    /// Execute a kernel and check its results
    Run(Run),
    /// Run a program that uses CUDA, on a GPU that is not there; then print a table of its launches
    Exec(exec::Exec),
    /// Profile a program on a GPU that is not there, with the options and pages of Nsight Compute
    Ncu(Box<ncu::Ncu>),
    /// Write the libraries with which a CUDA program is linked for `gpucast exec`
    ///
    /// nvcc -L FOLDER then takes the shared runtime, even without -cudart shared. The folder has a
    /// program `ncu`, too, which is `gpucast ncu`.
    Libraries(exec::Libraries),
    /// Measure a GPU, or how fast this computer executes kernels and what counting costs
    Bench(bench::Bench),
    /// Draw predictions as SVG or PNG
    #[command(subcommand)]
    Plot(plot::Plot),
    /// Write everything about a kernel on GPUs into one HTML file
    Report(report::Report),
    /// Parse PTX, alone or in containers; show what each kernel uses and needs, and what could not
    /// be executed
    Check(Check),
    /// Say what a code, a metric, a rule of advice or a field of a GPU means
    Explain(explain::Explain),
    /// Answer for programs and agents until it is stopped: HTTP with JSON, or MCP
    ///
    /// It runs the program gpucast-serve, which lies beside this one. `gpucast serve -- --help`
    /// shows its options.
    Serve(serve::Serve),
    /// Answer a question of the classroom's page, which `serve` asks
    #[command(hide = true)]
    Classroom(classroom::Classroom),
    /// The GPUs that are known by name
    #[command(subcommand)]
    Gpus(Gpus),
    /// Fit a model to measurements
    #[command(subcommand)]
    Calibrate(Calibrate),
    /// The kernels that come with the program
    #[command(subcommand)]
    Corpus(Corpus),
    /// Tasks for classes: kernels to mend and to make fast, checked and graded without a GPU
    #[command(subcommand)]
    Lab(lab::Lab),
    /// The kernels that measure one thing each: made for any GPU, chosen by tags
    #[command(subcommand)]
    Kernels(kernels::Kernels),
    /// Let a file name programs to run and places to write: a gpucast.toml, or a tuning space
    ///
    /// The record has the file's path and the hash of its contents: an edited file must be trusted
    /// anew.
    Trust(trust::Trust),
    /// Say which tools are found here, what each adds, and how to get the rest
    ///
    /// Nothing of it is needed: PTX, predictions and everything else run without.
    Doctor,
    /// Write the script by which a shell completes commands, options and names
    ///
    /// For bash: gpucast completions bash > ~/.local/share/bash-completion/completions/gpucast
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::aot::Shell,
    },
    /// Write the manual pages: this program's, or with --out those of all commands
    Man {
        /// The folder for all pages, which is made if it does not exist
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(mut_arg("counting", with_formulas))]
pub(crate) struct Predict {
    /// A corpus name (sgemm), a launch file (x.toml), a module (x.ptx, or x.cu, which is compiled),
    /// or a fatbin, object, library or executable with PTX inside
    ///
    /// Several kernels are predicted one after the other. A pattern such as 'sgemm-*' stands for
    /// the project's and the corpus's kernels whose names fit it. A profile (x.json) is read as by
    /// --from-metrics.
    #[arg(value_name = "KERNEL", required_unless_present = "from_metrics")]
    pub(crate) input: Vec<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    /// Take counts from a metrics file or from the CSV of nvprof or ncu instead of executing
    #[arg(
        long,
        help_heading = "Prediction",
        value_name = "FILE",
        conflicts_with_all = ["input", "count_on"]
    )]
    pub(crate) from_metrics: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) models: ModelOptions,

    #[command(flatten)]
    pub(crate) refinements: RefineOptions,

    #[command(flatten)]
    pub(crate) measurement: MeasurementOptions,

    /// Predict as if something were different, each change alone and all together, separated by
    /// commas: no-bank-conflicts, perfect-coalescing, fma, no-divergence, occupancy=50%,
    /// l2-hits=90%, dram-bytes=64e6, no-local-memory, single-precision, no-barriers, no-contention,
    /// independent-instructions, fast-arithmetic, vector-accesses, hoisted-accesses, merged-loads,
    /// tiled-loads, tensor-cores, spread-blocks=132, even-waves=132, merged-blocks=4, shuffles,
    /// block-atomics
    #[arg(long, help_heading = "Prediction", value_name = "CHANGES", value_delimiter = ',')]
    pub(crate) what_if: Vec<String>,

    /// What `calibrate offload --format json` wrote: transfers are then predicted, too, by the
    /// model offload
    #[arg(long, help_heading = "Prediction", value_name = "FILE", conflicts_with = "from_metrics")]
    pub(crate) calibration: Option<PathBuf>,

    /// Correct times by how far the model is off on this GPU; the time measured there is the
    /// published one unless it is given
    #[arg(long, help_heading = "Prediction", value_name = "GPU[=MS]")]
    pub(crate) reference: Option<String>,

    /// A calibrated model for cost-model: a file that `gpucast calibrate cost` wrote, or
    /// stevens-matmul; repeat it for several GPUs
    #[arg(long, help_heading = "Prediction", value_name = "FILE")]
    pub(crate) cost_model: Vec<String>,

    #[command(flatten)]
    pub(crate) names: FeatureNames,

    #[command(flatten)]
    pub(crate) counting: CountingOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: LimitedOutput,
}

/// What names in the features of a cost model stand for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Features")]
pub(crate) struct FeatureNames {
    /// The value of a size that conditions of features name, as n in lstrides:{0:<n}
    #[arg(long = "let", value_name = "NAME=VALUE")]
    pub(crate) sizes: Vec<String>,

    /// What a tag in features means: the loads or stores of a buffer, or both; buffers' own names,
    /// and these with LD and ST, are tags anyway
    #[arg(long, value_name = "NAME=BUFFER[:load|store]")]
    pub(crate) tag: Vec<String>,
}

#[derive(Debug, Args)]
#[command(mut_arg("counting", with_formulas))]
pub(crate) struct Profile {
    /// As --execution-time
    #[arg(long, hide = true)]
    pub(crate) timing: bool,

    #[command(flatten)]
    pub(crate) kernel: KernelOptions,

    /// The GPU whose counters are modelled, by name or TOML file [default: gtx-480]
    ///
    /// CUDA is compiled for one that is given.
    #[arg(long, help_heading = "Counts", value_name = "GPU")]
    pub(crate) gpu: Option<String>,

    /// Which metrics, by whose names: all; nvprof or ncu (CSV then looks like theirs); or a list of
    /// names of either, also with * and ?: flop_count_*,dram__sectors_read.sum
    #[arg(
        long,
        help_heading = "Counts",
        value_name = "NAMES",
        default_value = "all",
        value_parser = MetricChoice::parse
    )]
    pub(crate) metrics: MetricChoice,

    /// What a row of the result stands for
    #[arg(long, help_heading = "Counts", value_name = "ROW", default_value = "launch", value_parser = words::by())]
    pub(crate) by: By,

    /// With `--by line`: say where warps spend their time, by a simulation of an SM of the GPU
    #[arg(long, help_heading = "Counts")]
    pub(crate) stalls: bool,

    /// With `--by line`: show the inlined calls below the line that their counts belong to
    #[arg(long, help_heading = "Counts")]
    pub(crate) inlined: bool,

    /// Whose lines `--by line` shows
    #[arg(long, help_heading = "Counts", value_name = "SOURCE", default_value = "auto", value_parser = words::source())]
    pub(crate) source: SourceChoice,

    /// Where else the CUDA files lie that the PTX names; by default in or below its own folder
    #[arg(long, help_heading = "Counts", value_name = "FOLDER")]
    pub(crate) source_root: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// As --execution-time
    #[arg(long, hide = true)]
    pub(crate) timing: bool,

    #[command(flatten)]
    pub(crate) kernel: KernelOptions,

    /// Check while executing: memory, race, init, sync, or all. Findings make the exit status 1
    #[arg(long, help_heading = "Checks", value_name = "CHECKS")]
    pub(crate) check: Option<Checks>,

    /// When asynchronous copies and products end, which no correct program can tell: early, late,
    /// random, or random:SEED [default: as late as others can do without them, with data at once]
    #[arg(long = "async", help_heading = "Execution", value_name = "WHEN")]
    pub(crate) async_timing: Option<AsyncTiming>,

    /// Write a buffer to FILE.npy or FILE.bin after the last launch; a module's buffers are named
    /// by the position of their argument: arg0, arg1, …
    #[arg(long, help_heading = "Output", value_name = "BUFFER=FILE")]
    pub(crate) dump: Vec<String>,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    /// The form of the result
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "text", value_parser = words::run_format())]
    pub(crate) format: RunFormat,

    /// Write the result to a file; its name may say the form: x.json, x.sarif, x.xml (JUnit)
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// PTX files, CUDA source, or fatbins, objects, libraries and executables with PTX inside
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Look only at the kernels that this means: a name, mangled or not, a part of names, or a
    /// pattern with * and ?
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// Show for each instruction whether counting executes it, and why
    #[arg(long)]
    pub(crate) slice: bool,

    #[command(flatten)]
    pub(crate) cuda: cuda::CudaOptions,

    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,

    /// Write the result to a file; a name that ends in json means --format json
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Corpus {
    /// List all kernels
    List {
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Show a kernel's source, PTX, launch file or published counts
    Show {
        /// A kernel's name
        #[arg(value_name = "KERNEL")]
        name: String,
        /// Which of its files
        #[arg(long, value_name = "PART", default_value = "summary")]
        part: CorpusPart,
    },
    /// Write a kernel's files into a folder, ready to be changed and run
    Export {
        /// A kernel's name
        #[arg(value_name = "KERNEL")]
        name: String,
        /// The folder, which is made if it does not exist [default: the kernel's name]
        folder: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CorpusPart {
    /// What it is and what files it has
    Summary,
    /// The CUDA source
    Source,
    /// The PTX that the launch file uses
    Ptx,
    /// The launch file
    Launch,
    /// The published metrics
    Published,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn called_as_ncu_the_program_is_its_command() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        for (given, expected) in [
            ("gpucast exec p", "gpucast exec p"),
            ("/opt/bin/ncu --csv p -v", "gpucast ncu --csv p -v"),
            ("ncu -v", "gpucast ncu --version"),
        ] {
            assert_eq!(as_profiler(words(given)), words(expected));
        }
    }

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
