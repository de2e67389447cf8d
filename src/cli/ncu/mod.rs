//! Options of `gpucast ncu`: those of Nsight Compute's command line, and a few of ours.

mod others;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gpucast_host::collection;
use gpucast_render::ncu;

pub(crate) use others::OtherOptions;

use super::MachineOptions;

/// A page that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    /// Sections with labelled metrics
    Details,
    /// All metrics by name
    Raw,
    /// Each PTX instruction with counts and stalls
    Source,
    /// The program and the GPU
    Session,
}

impl From<Page> for ncu::Page {
    fn from(page: Page) -> Self {
        match page {
            Page::Details => Self::Details,
            Page::Raw => Self::Raw,
            Page::Source => Self::Source,
            Page::Session => Self::Session,
        }
    }
}

/// The launches whose values are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Summary {
    /// None
    None,
    /// All of the GPU
    PerGpu,
    /// Those of a kernel
    PerKernel,
    /// Those of a range of NVTX; ranges are not followed
    PerNvtx,
}

/// The form of kernels' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameBase {
    /// Without namespaces, template arguments and parameters
    Function,
    /// The C++ name
    Demangled,
    /// The name in the module
    Mangled,
}

impl From<NameBase> for collection::NameBase {
    fn from(base: NameBase) -> Self {
        match base {
            NameBase::Function => Self::Function,
            NameBase::Demangled => Self::Demangled,
            NameBase::Mangled => Self::Mangled,
        }
    }
}

/// What metrics are called on the details page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricName {
    /// The label
    Label,
    /// The metric's name
    Name,
    /// Both
    LabelName,
}

impl From<MetricName> for ncu::MetricName {
    fn from(name: MetricName) -> Self {
        match name {
            MetricName::Label => Self::Label,
            MetricName::Name => Self::Name,
            MetricName::LabelName => Self::Both,
        }
    }
}

/// The tables of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Details {
    /// The header
    Header,
    /// Header and body
    Body,
    /// Header and body
    All,
}

/// Units of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Units {
    /// Scaled
    Auto,
    /// As they are
    Base,
}

/// The processes whose launches are profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetProcesses {
    /// The program's own
    ApplicationOnly,
    /// Those that it starts, too
    All,
}

/// What happens to caches before a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheControl {
    /// They are emptied
    All,
    /// They stay as the launch before left them
    None,
}

/// The clock of the SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockControl {
    /// The clock that the vendor guarantees
    Base,
    /// The clock in the GPU's file, mostly that of the data sheet's boost
    #[value(alias = "reset")]
    None,
    /// The boost clock of the data sheet
    #[value(alias = "force-boost")]
    Boost,
}

/// A choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Yes
    #[value(aliases = ["yes", "1", "true"])]
    On,
    /// No
    #[value(aliases = ["no", "0", "false"])]
    Off,
}

#[derive(Debug, Args)]
#[command(after_help = "Other options of Nsight Compute are accepted. Those that would change a \
                        result are answered by a note, or refused.")]
pub(crate) struct Ncu {
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true)]
    pub(crate) program: Vec<String>,

    /// The GPU by name or TOML file [default: GPUCAST_GPU, or h100-sxm]
    #[arg(long, help_heading = "Prediction", value_name = "GPU")]
    pub(crate) gpu: Option<String>,

    /// The model that predicts [default: as for exec]
    #[arg(long, help_heading = "Prediction", value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// The fixed part of each duration, as for exec
    #[arg(long, help_heading = "Prediction", value_name = "HOW", default_value = "ncu-duration")]
    pub(crate) timing: String,

    /// Metrics by name, separated by commas; regex:EXPRESSION for all that fit; a name without a
    /// roll-up for all of its roll-ups
    #[arg(long, help_heading = "Metrics", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) metrics: Vec<String>,

    /// A section by identifier, or regex:EXPRESSION; may be repeated
    #[arg(long, help_heading = "Metrics", value_name = "SECTION", value_delimiter = ',')]
    pub(crate) section: Vec<String>,

    /// A set of sections: basic, detailed, full, roofline [default: basic]
    #[arg(long, help_heading = "Metrics", value_name = "SET")]
    pub(crate) set: Vec<String>,

    /// List the sections
    #[arg(long, help_heading = "Metrics")]
    pub(crate) list_sections: bool,

    /// List the sets
    #[arg(long, help_heading = "Metrics")]
    pub(crate) list_sets: bool,

    /// List the metrics
    #[arg(long, help_heading = "Metrics", alias = "list-metrics")]
    pub(crate) query_metrics: bool,

    /// Profile the kernels of this name, or regex:EXPRESSION
    #[arg(short, long, help_heading = "Launches", value_name = "NAME")]
    pub(crate) kernel_name: Option<String>,

    /// The form of the names that --kernel-name means
    #[arg(long, help_heading = "Launches", value_name = "BASE", default_value = "function")]
    pub(crate) kernel_name_base: NameBase,

    /// Launches as context:stream:name:invocation, parts of which may be empty; the name may begin
    /// with regex:
    #[arg(long, help_heading = "Launches", value_name = "ID")]
    pub(crate) kernel_id: Vec<String>,

    /// Launches of the chosen kernels that are passed by
    #[arg(short = 's', long, help_heading = "Launches", value_name = "N", default_value_t = 0)]
    pub(crate) launch_skip: u64,

    /// The most launches that are profiled
    #[arg(short = 'c', long, help_heading = "Launches", value_name = "N")]
    pub(crate) launch_count: Option<u64>,

    /// Launches of any kernel that are passed by before the first is looked at
    #[arg(long, help_heading = "Launches", value_name = "N", default_value_t = 0)]
    pub(crate) launch_skip_before_match: u64,

    /// The processes whose launches are profiled
    #[arg(long, help_heading = "Launches", value_name = "WHICH", default_value = "all")]
    pub(crate) target_processes: TargetProcesses,

    /// Profile from the beginning, or from cudaProfilerStart on
    #[arg(long, help_heading = "Launches", value_name = "CHOICE", default_value = "on")]
    pub(crate) profile_from_start: Switch,

    /// Devices whose launches are profiled; there is device 0 alone
    #[arg(long, help_heading = "Launches", value_name = "NUMBERS", value_delimiter = ',')]
    pub(crate) devices: Vec<u32>,

    /// The caches before each launch
    #[arg(long, help_heading = "Launches", value_name = "CHOICE", default_value = "all")]
    pub(crate) cache_control: CacheControl,

    /// The clock of the SMs
    #[arg(long, help_heading = "Prediction", value_name = "CHOICE", default_value = "base")]
    pub(crate) clock_control: ClockControl,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    /// Print CSV
    #[arg(long, help_heading = "Output")]
    pub(crate) csv: bool,

    /// The page [default: details, or none with --export]
    #[arg(long, help_heading = "Output", value_name = "PAGE")]
    pub(crate) page: Option<Page>,

    /// Print least, greatest and mean values
    #[arg(long, help_heading = "Output", value_name = "CHOICE", default_value = "none")]
    pub(crate) print_summary: Summary,

    /// Units
    #[arg(long, help_heading = "Output", value_name = "UNITS", default_value = "auto")]
    pub(crate) print_units: Units,

    /// Print counts with decimals, too
    #[arg(long, help_heading = "Output")]
    pub(crate) print_fp: bool,

    /// The form of kernels' names
    #[arg(long, help_heading = "Output", value_name = "BASE", default_value = "demangled")]
    pub(crate) print_kernel_base: NameBase,

    /// What metrics are called on the details page
    #[arg(long, help_heading = "Output", value_name = "CHOICE", default_value = "label")]
    pub(crate) print_metric_name: MetricName,

    /// The tables of sections
    #[arg(long, help_heading = "Output", value_name = "CHOICE", default_value = "header")]
    pub(crate) print_details: Details,

    /// Write what is printed to a file
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// Write a report, which --import reads; .ncu-rep is added to a name without an ending
    #[arg(short = 'o', long, help_heading = "Output", value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,

    /// Replace a report that is there
    #[arg(short, long, help_heading = "Output")]
    pub(crate) force_overwrite: bool,

    /// Read a report of gpucast instead of running a program
    #[arg(short, long, help_heading = "Output", value_name = "FILE", conflicts_with = "program")]
    pub(crate) import: Option<PathBuf>,

    /// Print the version
    #[arg(long)]
    pub(crate) version: bool,

    #[command(flatten)]
    pub(crate) others: OtherOptions,
}
