//! Options that several commands share: what is launched, how it is executed, and how PTX becomes
//! machine instructions.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::{EnumValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, ValueEnum};
use gpucast_counters::LEAST_SAMPLE;
use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::Argument;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::launch_template::extent;
use gpucast_forecast::input::plan::{self, Plan};
use gpucast_forecast::settings;
use gpucast_interpreter::{Options, Schedule};
use gpucast_model::Gpu;
use gpucast_ptx_frontend::container::Target;
use gpucast_render::Format;

use super::{cuda, size, words};
use crate::failure::{Failure, Report};
use crate::project;

/// What to execute.
#[derive(Debug, Args)]
pub(crate) struct KernelOptions {
    /// A corpus name (sgemm), a launch file (x.toml), a module (x.ptx, or x.cu, which is compiled),
    /// or a fatbin, object, library or executable with PTX inside
    ///
    /// Several kernels come one after the other. A pattern such as 'sgemm-*' stands for the
    /// project's and the corpus's kernels whose names fit it.
    #[arg(value_name = "KERNEL", required = true)]
    pub(crate) inputs: Vec<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,
}

impl KernelOptions {
    /// The kernels that are meant, each once.
    ///
    /// # Errors
    ///
    /// A pattern that fits nothing.
    pub(crate) fn expanded(&self) -> Result<Vec<String>, Report> {
        kernel_argument::expanded(&self.inputs, project::current().as_deref())
    }

    /// The plans of the kernels that are meant, by their names.
    ///
    /// # Errors
    ///
    /// A pattern that fits nothing, or a kernel that cannot be read.
    pub(crate) fn plans(
        &self,
        launch: &settings::LaunchOptions,
    ) -> Result<Vec<(String, Plan)>, Failure> {
        let plan = |input: String| {
            let plan = kernel_argument::read(&input, launch)?;
            Ok((input, plan))
        };
        self.expanded()?.into_iter().map(plan).collect()
    }
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

impl LaunchOptions {
    /// The options of a launch that is asked about for these GPUs: CUDA is compiled for them.
    pub(crate) fn on(&self, gpus: &[Gpu]) -> settings::LaunchOptions {
        let mut options = settings::LaunchOptions::from(self);
        options.cuda.suggest_for(gpus);
        options
    }
}

impl From<&LaunchOptions> for settings::LaunchOptions {
    fn from(options: &LaunchOptions) -> Self {
        Self {
            kernel: options.kernel.clone(),
            grid: options.grid,
            block: options.block,
            cluster: options.cluster,
            shared_bytes: options.shared_bytes,
            arg: options.arg.iter().cloned().map(Argument::from).collect(),
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
    /// The same, and before the first launch all buffers, as far as they fit
    Warm,
    /// What an execution of the same launches left, clean and dirty, as in a loop around them
    Repeated,
    /// Lines of another buffer, dirty in part, as behind a flush by a fill (triton's do_bench)
    Overwritten,
}

impl From<L2Choice> for L2Contents {
    fn from(choice: L2Choice) -> Self {
        match choice {
            L2Choice::Cold => Self::Cold,
            L2Choice::Keep => Self::Keep,
            L2Choice::Warm => Self::Warm,
            L2Choice::Repeated => Self::Repeated,
            L2Choice::Overwritten => Self::Overwritten,
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
pub(super) fn assembler(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_file() { Ok(path) } else { Err("there is no such file".to_owned()) }
}

/// `NAME=NUMBER`.
pub(super) fn parameter(text: &str) -> Result<(String, f64), String> {
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
    /// Warp instructions after which a launch is given up as endless, or seconds after which all
    /// launches are, such as 30s; a sample of CTAs ends with what was executed by then [default:
    /// 4294967296]
    #[arg(long, value_name = "N", value_parser = budget)]
    pub(crate) budget: Option<Budget>,

    /// Seconds after which launches are given up, whatever they execute; a sample of CTAs ends with
    /// what was executed by then
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

    /// Count and simulate anew, and keep nothing for later runs
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// How much of each launch is executed to count it
    #[arg(
        long,
        value_name = "RUNG",
        default_value = "auto",
        value_parser = without_formulas()
    )]
    pub(crate) counting: CountingChoice,

    /// Estimate counts from a sample of so many CTAs where they do not fall into classes, or
    /// with --counting sample in any case [default there: 1024]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(LEAST_SAMPLE..))]
    pub(crate) ctas: Option<u64>,

    /// Which requests go through the modelled caches
    #[arg(long, value_name = "REQUESTS", default_value = "auto")]
    pub(crate) caches: CacheChoice,
}

/// Which requests go through the modelled caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheChoice {
    /// Those of every CTA of a launch that asks for 33 million lines of memory or fewer; of a
    /// larger one those for some of the lines, or of some windows of the grid, so that what depends
    /// on caches is estimated, with intervals
    Auto,
    /// Those of every CTA, however long that takes
    Full,
    /// Those of some windows of a large grid; what depends on caches is estimated, with intervals
    Windows,
    /// None, so that grids of any size are counted at once; what depends on caches is absent
    None,
}

impl From<CacheChoice> for settings::CacheChoice {
    fn from(choice: CacheChoice) -> Self {
        match choice {
            CacheChoice::Auto => Self::Auto,
            CacheChoice::Full => Self::Full,
            CacheChoice::Windows => Self::Windows,
            CacheChoice::None => Self::None,
        }
    }
}

/// How much of each launch is executed to count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountingChoice {
    /// The least that is proven to give the counts
    Auto,
    /// What counts depend on, for one CTA of each kind; it is an error where that is not proven to
    /// suffice
    Classes,
    /// What counts depend on; it is an error where that is not proven to suffice
    Slice,
    /// What counts depend on, for a sample of CTAs; counts are estimated, with intervals
    Sample,
    /// Everything, so that buffers have their contents
    Full,
    /// Nothing in most sizes: formulas that are found in some sizes, compared in others, and kept
    Formulas,
}

/// The rungs of commands that do not know of other sizes.
fn without_formulas() -> impl TypedValueParser<Value = CountingChoice> {
    let choices = CountingChoice::value_variants().iter().copied();
    let choices = choices.filter(|choice| *choice != CountingChoice::Formulas);
    let values: Vec<PossibleValue> =
        choices.filter_map(|choice| choice.to_possible_value()).collect();
    PossibleValuesParser::new(values).try_map(|name| CountingChoice::from_str(&name, false))
}

/// `--counting` of commands that may count by formulas.
pub(crate) fn with_formulas(counting: Arg) -> Arg {
    counting.value_parser(EnumValueParser::<CountingChoice>::new())
}

impl From<CountingChoice> for settings::RungChoice {
    fn from(choice: CountingChoice) -> Self {
        match choice {
            CountingChoice::Auto => Self::Auto,
            CountingChoice::Classes => Self::Classes,
            CountingChoice::Slice => Self::Slice,
            CountingChoice::Sample => Self::Sample,
            CountingChoice::Full => Self::Full,
            CountingChoice::Formulas => Self::Formulas,
        }
    }
}

impl From<&ExecutionOptions> for settings::ExecutionSettings {
    fn from(options: &ExecutionOptions) -> Self {
        let defaults = Options::default();
        let timing = options.execution_time;
        let (counting, caches) = (options.counting.into(), options.caches.into());
        let ctas = options.ctas;
        let options = Options {
            heap_bytes: options.heap.unwrap_or(defaults.heap_bytes),
            stack_bytes: options.stack.unwrap_or(defaults.stack_bytes),
            instruction_budget: match options.budget {
                Some(Budget::Instructions(instructions)) => instructions,
                Some(Budget::Seconds(_)) | None => defaults.instruction_budget,
            },
            deadline: options.seconds().and_then(|limit| Instant::now().checked_add(limit)),
            schedule: match options.schedule {
                ScheduleChoice::Automatic => Schedule::Automatic,
                ScheduleChoice::Ordered => Schedule::Ordered,
                ScheduleChoice::Parallel => Schedule::Parallel,
            },
            ..defaults
        };
        Self { options, timing, counting, ctas, caches }
    }
}

/// How much a launch may execute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    /// Warp instructions of one launch.
    Instructions(u64),
    /// The time of all launches.
    Seconds(Duration),
}

/// `4294967296`, or `30s`.
fn budget(text: &str) -> Result<Budget, String> {
    let wrong = || "write a number of warp instructions, or seconds as 30s".to_owned();
    match text.trim().strip_suffix('s') {
        Some(seconds) => {
            let seconds: f64 = seconds.trim().parse().map_err(|_| wrong())?;
            let limit = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
            if limit.is_zero() { Err(wrong()) } else { Ok(Budget::Seconds(limit)) }
        }
        None => match text.trim().parse() {
            Ok(0) | Err(_) => Err(wrong()),
            Ok(instructions) => Ok(Budget::Instructions(instructions)),
        },
    }
}

impl ExecutionOptions {
    /// The time after which launches are given up: the shorter one of two.
    fn seconds(&self) -> Option<Duration> {
        let budget = match self.budget {
            Some(Budget::Seconds(limit)) => Some(limit),
            Some(Budget::Instructions(_)) | None => None,
        };
        [budget, self.time_limit.map(Duration::from_secs)].into_iter().flatten().min()
    }

    /// Refuses a size of a sample where none is taken.
    ///
    /// # Errors
    ///
    /// A usage error that names the options.
    pub(crate) fn check_sample(&self) -> Result<(), Failure> {
        match (self.ctas, self.counting) {
            (None, _) | (_, CountingChoice::Auto | CountingChoice::Sample) => Ok(()),
            (
                Some(_),
                CountingChoice::Classes
                | CountingChoice::Slice
                | CountingChoice::Full
                | CountingChoice::Formulas,
            ) => {
                let report = Report::new("--ctas is the size of a sample, and none is taken");
                Err(Failure::Usage(report.hint("use --counting sample, or leave --counting out")))
            }
        }
    }
}

/// How PTX becomes machine instructions.
#[derive(Clone, Debug, Args)]
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

    /// Registers of a thread, as `-Xptxas -v` and profilers print them [default: those of the
    /// machine code]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=255))]
    pub(crate) registers: Option<u32>,
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
            registers: options.registers,
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
