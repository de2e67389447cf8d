//! The command line: every command, option and help text.

mod cuda;
mod early;
mod explore;
mod gpus;
pub(crate) mod names;
pub(crate) mod plot;
mod prediction;
pub(crate) mod report;
mod size;
mod words;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{
    Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::input::plan;
use gpucast_forecast::settings;
use gpucast_interpreter::{Options, Schedule};
use gpucast_ptx_frontend::container::Target;
use gpucast_render::profile::{By, SourceChoice};
use gpucast_render::{Format, TextOrJson};
use gpucast_sanitizer::Checks;

use crate::failure::Report;
use crate::project;

pub(crate) use early::Early;
pub(crate) use explore::{Compare, LaunchTemplate, Sensitivity, Sweep};
pub(crate) use gpus::{Derive, Gpus, Import, ImportFormat};
use prediction::{CountingOptions, GpuOptions, MeasurementOptions, ModelOptions, RefineOptions};

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
}

/// Reason why there is nothing to run.
pub(crate) enum Unparsed {
    /// The command line is at fault, or asks for help.
    CommandLine(clap::Error),
    /// The project file is at fault.
    Project(Report),
}

/// Reads the command line, with the defaults of the project.
pub(crate) fn parse(early: &Early) -> Result<Cli, Unparsed> {
    let found = if early.without_project { Ok(()) } else { project::read() };
    let read = found.and_then(|()| match project::current() {
        Some(project) => project::applied(Cli::command(), &project),
        None => Ok(Cli::command()),
    });
    let parsed = |command: clap::Command| {
        let matches = early.applied(command).try_get_matches()?;
        Cli::from_arg_matches(&matches)
    };
    match read {
        Ok(command) => parsed(command).map_err(Unparsed::CommandLine),
        // Whoever asks for help gets it, whatever the project says.
        Err(report) => match parsed(Cli::command()) {
            Err(error) if !error.use_stderr() => Err(Unparsed::CommandLine(error)),
            _ => Err(Unparsed::Project(report)),
        },
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Predict a kernel's time on one GPU or several
    Predict(Predict),
    /// Predict over a grid of kernels, sizes, GPUs, fields of GPUs and models
    Sweep(Sweep),
    /// Show how much each parameter of a GPU moves a kernel's time
    Sensitivity(Sensitivity),
    /// Compare predicted times with measured ones
    Compare(Compare),
    /// Execute a kernel and count what a hardware profiler would count
    Profile(Profile),
    /// Execute a kernel and check its results
    Run(Run),
    /// Draw predictions as SVG or PNG
    #[command(subcommand)]
    Plot(plot::Plot),
    /// Write everything about a kernel on GPUs into one HTML file
    Report(report::Report),
    /// Parse PTX, alone or in containers; show what each kernel uses and needs, and what could not
    /// be executed
    Check(Check),
    /// The GPUs that are known by name
    #[command(subcommand)]
    Gpus(Gpus),
    /// Fit a model to measurements
    #[command(subcommand)]
    Calibrate(Calibrate),
    /// The kernels that come with the program
    #[command(subcommand)]
    Corpus(Corpus),
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

/// What to execute.
#[derive(Debug, Args)]
pub(crate) struct KernelOptions {
    /// A corpus name (sgemm), a launch file (x.toml), a module (x.ptx, or x.cu, which is compiled),
    /// or a fatbin, object, library or executable with PTX inside
    #[arg(value_name = "KERNEL")]
    pub(crate) input: String,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,
}

/// The launch of a module, or the choice of a corpus kernel's files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct LaunchOptions {
    /// The kernel of a module, or of a file of counts: its name, mangled or not, a part that only
    /// one has, or a pattern with * and ?
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// CTAs of the grid, for a module
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extent)]
    pub(crate) grid: Option<[u32; 3]>,

    /// Threads of a CTA, for a module
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extent)]
    pub(crate) block: Option<[u32; 3]>,

    /// CTAs of a cluster, for a module; otherwise the kernel says, or there are no clusters
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extent)]
    pub(crate) cluster: Option<[u32; 3]>,

    /// Dynamic shared memory in bytes, for a module
    #[arg(long, value_name = "N")]
    pub(crate) shared_bytes: Option<u32>,

    /// An argument, for a module.
    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        value_name = "ARG",
        allow_hyphen_values = true,
        help = "An argument, for a module; repeat in order: u32:7, f32:1.5, buf:f32[1024], \
                buf:f32[1024]=uniform(-1,1,7), also =zero, =iota, =constant(x), =FILE.npy, \
                =FILE.bin; a structure by value: struct:{u32:5,f32:1.0,ptr:arg0} with its members \
                laid out as in C, or bytes:0x00ff10 in the order of memory"
    )]
    pub(crate) arg: Vec<String>,

    /// The PTX of a corpus kernel or a container, or the architecture that CUDA source is compiled
    /// for: sm_35, sm_80
    #[arg(long, value_name = "TARGET")]
    pub(crate) arch: Option<String>,

    /// The problem size of a corpus kernel
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Size>,

    /// The contents of the L2 when launches begin; a launch file may say it, too [default: keep]
    #[arg(long, value_name = "CONTENTS")]
    pub(crate) l2: Option<L2Choice>,

    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        value_name = "NAME=NUMBER",
        value_parser = parameter,
        help = "A value for one of the [parameters] of a launch file; repeat for more"
    )]
    pub(crate) param: Vec<(String, f64)>,

    /// Which caches keep loads that do not say it: what the kernel was compiled with
    /// [default: what the launch file says, or what the GPU's generation does]
    #[arg(long, value_name = "CACHES")]
    pub(crate) dlcm: Option<LoadCaching>,

    #[command(flatten)]
    pub(crate) cuda: cuda::CudaOptions,
}

/// The compiler's option -dlcm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoadCaching {
    /// All caches
    Ca,
    /// The L2 only
    Cg,
}

impl From<&LaunchOptions> for settings::LaunchOptions {
    fn from(options: &LaunchOptions) -> Self {
        Self {
            kernel: options.kernel.clone(),
            grid: options.grid,
            block: options.block,
            cluster: options.cluster,
            shared_bytes: options.shared_bytes,
            arg: options.arg.clone(),
            arch: options.arch.clone(),
            size: options.size.map(Into::into),
            l2: options.l2.map(Into::into),
            param: options.param.clone(),
            dlcm: options.dlcm.map(|caching| match caching {
                LoadCaching::Ca => plan::LoadCaching::Ca,
                LoadCaching::Cg => plan::LoadCaching::Cg,
            }),
            cuda: (&options.cuda).into(),
            project: project::current(),
        }
    }
}

/// The contents of the L2 when launches begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum L2Choice {
    /// Nothing, and what a launch leaves dirty is not counted: as Nsight Compute measures
    Cold,
    /// What the launch before left, as in a program and under nvprof
    Keep,
    /// The same, and before the first launch what the host's copies left
    Warm,
}

impl From<L2Choice> for L2Contents {
    fn from(choice: L2Choice) -> Self {
        match choice {
            L2Choice::Cold => Self::Cold,
            L2Choice::Keep => Self::Keep,
            L2Choice::Warm => Self::Warm,
        }
    }
}

/// A corpus kernel's problem size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Size {
    /// Runs in well under a second
    Small,
    /// The size of the publication
    Paper,
}

impl From<Size> for settings::Size {
    fn from(size: Size) -> Self {
        match size {
            Size::Small => Self::Small,
            Size::Paper => Self::Paper,
        }
    }
}

/// The path of an assembler, which must be a file.
fn assembler(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_file() { Ok(path) } else { Err("there is no such file".to_owned()) }
}

/// `NAME=NUMBER`.
fn parameter(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=NUMBER")?;
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((name.trim().to_owned(), number)),
        _ => Err(format!("`{value}` is not a number")),
    }
}

/// How to execute.
#[derive(Debug, Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct ExecutionOptions {
    /// Warp instructions after which a launch is given up as endless [default: 4294967296]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget: Option<u64>,

    /// Seconds after which launches are given up, whatever they execute
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time_limit: Option<u64>,

    /// The order of CTAs
    #[arg(long, value_name = "ORDER", default_value = "automatic")]
    pub(crate) schedule: ScheduleChoice,

    /// Size of the device heap that malloc() in kernels takes from, in bytes or as 64MiB [default:
    /// 8MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::bytes)]
    pub(crate) heap: Option<u64>,

    /// Size of each thread's stack, for recursive functions and alloca, in bytes or as 64KiB
    /// [default: 16KiB]
    #[arg(long, value_name = "SIZE", value_parser = size::bytes_of_stack)]
    pub(crate) stack: Option<u32>,

    /// Write what printf() in kernels prints to a file instead of the standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) print_to: Option<PathBuf>,

    /// Add execution seconds and thread instructions per second to the result
    #[arg(long)]
    pub(crate) execution_time: bool,
}

impl From<&ExecutionOptions> for settings::ExecutionSettings {
    fn from(options: &ExecutionOptions) -> Self {
        let defaults = Options::default();
        let timing = options.execution_time;
        let options = Options {
            heap_bytes: options.heap.unwrap_or(defaults.heap_bytes),
            stack_bytes: options.stack.unwrap_or(defaults.stack_bytes),
            instruction_budget: options.budget.unwrap_or(defaults.instruction_budget),
            deadline: options
                .time_limit
                .and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds))),
            schedule: match options.schedule {
                ScheduleChoice::Automatic => Schedule::Automatic,
                ScheduleChoice::Ordered => Schedule::Ordered,
                ScheduleChoice::Parallel => Schedule::Parallel,
            },
            ..defaults
        };
        Self { options, timing }
    }
}

/// How PTX becomes machine instructions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine code")]
pub(crate) struct MachineOptions {
    /// What says which machine instructions the PTX becomes
    #[arg(long, value_name = "BACK_END", default_value = "auto")]
    pub(crate) machine: MachineChoice,

    /// The architecture of the machine code [default: that of the GPU whose counters are modelled,
    /// or the nearest later one that the PTX and ptxas allow]
    #[arg(long, value_name = "TARGET", value_parser = gpucast_forecast::run::machine::read_target)]
    pub(crate) machine_target: Option<Target>,

    /// The assembler [default: searched in PATH, CUDA installations and Python packages]
    #[arg(long, value_name = "PATH", value_parser = assembler)]
    pub(crate) ptxas: Option<PathBuf>,
}

impl From<&MachineOptions> for settings::MachineSettings {
    fn from(options: &MachineOptions) -> Self {
        Self {
            machine: match options.machine {
                MachineChoice::Auto => settings::MachineChoice::Auto,
                MachineChoice::Ptxas => settings::MachineChoice::Ptxas,
                MachineChoice::Rules => settings::MachineChoice::Rules,
                MachineChoice::None => settings::MachineChoice::None,
            },
            machine_target: options.machine_target,
            ptxas: options.ptxas.clone(),
        }
    }
}

/// Where machine instructions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MachineChoice {
    /// NVIDIA's ptxas where one is found, else the built-in rules
    Auto,
    /// NVIDIA's ptxas
    Ptxas,
    /// The built-in rules
    Rules,
    /// Nothing: PTX instructions alone are counted
    None,
}

/// In which order CTAs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleChoice {
    /// In parallel unless the code shows that their order can be observed
    Automatic,
    /// One after the other
    Ordered,
    /// In parallel, whatever the code says
    Parallel,
}

/// Where the result goes and what it looks like.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputOptions {
    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::format())]
    pub(crate) format: Format,

    /// Write the result to a file; its name may say the form: x.json, x.csv
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// A corpus name (sgemm), a launch file (x.toml), a module (x.ptx, or x.cu, which is compiled),
    /// or a fatbin, object, library or executable with PTX inside
    ///
    /// Several kernels are predicted one after the other. A pattern such as 'sgemm-*' stands for
    /// the project's and the corpus's kernels whose names fit it.
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
    /// l2-hits=90%, dram-bytes=64e6
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
    pub(crate) output: OutputOptions,
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
pub(crate) struct Profile {
    /// As --execution-time
    #[arg(long, hide = true)]
    pub(crate) timing: bool,

    #[command(flatten)]
    pub(crate) kernel: KernelOptions,

    /// The GPU whose counters are modelled, by name or TOML file
    #[arg(long, help_heading = "Counts", value_name = "GPU", default_value = "gtx-480")]
    pub(crate) gpu: String,

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

    /// Write a buffer to FILE.npy or FILE.bin after the last launch; a module's buffers are named
    /// by the position of their argument: arg0, arg1, …
    #[arg(long, help_heading = "Output", value_name = "BUFFER=FILE")]
    pub(crate) dump: Vec<String>,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    /// The form of the result
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,

    /// Write the result to a file; a name that ends in json means --format json
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
    #[arg(value_name = "SAMPLES")]
    pub(crate) samples: PathBuf,

    /// The model, such as "p_madd * f_op_float32_madd + p_launch * f_sync_kernel_launch"
    #[arg(
        long,
        value_name = "EXPRESSION",
        required_unless_present = "like",
        conflicts_with = "like"
    )]
    pub(crate) model: Option<String>,

    /// The model and the named expressions of a model file, whatever its parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) like: Option<String>,

    /// The GPU that was measured, by name or TOML file
    #[arg(long, value_name = "GPU")]
    pub(crate) gpu: String,

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

/// Reads a fraction between 0 and 1.
fn confidence(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(fraction) if 0.0 < fraction && fraction < 1.0 => Ok(fraction),
        _ => Err("a confidence lies between 0 and 1, such as 0.95".to_owned()),
    }
}

/// Reads `x`, `x,y` or `x,y,z`.
pub(crate) fn extent(text: &str) -> Result<[u32; 3], String> {
    let mut extent = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("at most three numbers: x, y and z".to_owned());
    }
    for (place, part) in extent.iter_mut().zip(parts) {
        *place = match part.trim().parse() {
            Ok(0) | Err(_) => return Err(format!("`{part}` is not a positive whole number")),
            Ok(number) => number,
        };
    }
    Ok(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn extents_have_one_to_three_positive_numbers() {
        assert_eq!(extent("20"), Ok([20, 1, 1]));
        assert_eq!(extent("20,40"), Ok([20, 40, 1]));
        assert_eq!(extent("1,2,3"), Ok([1, 2, 3]));
        for wrong in ["", "0", "-1", "1,", "1,2,3,4", "4294967296", "x"] {
            assert!(extent(wrong).is_err(), "{wrong}");
        }
    }
}
