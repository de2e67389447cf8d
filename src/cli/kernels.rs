//! The arguments of `gpucast kernels`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gpucast_collection::MatchCondition;
use gpucast_ptx_frontend::container::Target;
use gpucast_render::TextOrJson;

use super::{LaunchOptions, OutputOptions, words};

#[derive(Debug, Subcommand)]
pub(crate) enum Kernels {
    /// List the generators that tags choose
    List {
        #[command(flatten)]
        tags: Tags,

        #[command(flatten)]
        output: OutputOptions,
    },
    /// Show the arguments of generators, or the text of one kernel
    Show {
        #[command(flatten)]
        tags: Tags,

        /// The text that is shown; the tags must choose one kernel
        #[arg(long, value_name = "PART", default_value = "summary")]
        part: KernelPart,

        /// The architecture of the PTX
        #[arg(long, value_name = "TARGET", default_value = "sm_80", value_parser = target)]
        target: Target,
    },
    /// Write the kernels that tags choose into a folder, each with its launch file
    Generate(Generate),
    /// Remove arithmetic, work on the chip, and chosen accesses of global memory from a kernel
    Strip(Box<Strip>),
}

#[derive(Debug, Args)]
pub(crate) struct Strip {
    /// A corpus name, a launch file, or a module with its launch
    #[arg(value_name = "KERNEL")]
    pub(crate) input: String,

    /// Buffers whose accesses stay; those of all others go
    #[arg(long, value_name = "BUFFERS", value_delimiter = ',')]
    pub(crate) keep: Vec<String>,

    /// Buffers whose accesses go
    #[arg(long, value_name = "BUFFERS", value_delimiter = ',')]
    pub(crate) drop: Vec<String>,

    /// A folder for the PTX and its launch file; otherwise the PTX goes to the standard output
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    #[command(flatten)]
    pub(crate) tags: Tags,

    /// The architecture of the PTX
    #[arg(long, value_name = "TARGET", default_value = "sm_80", value_parser = target)]
    pub(crate) target: Target,

    /// Write CUDA beside the PTX
    #[arg(long)]
    pub(crate) cuda: bool,

    /// The folder, which is made if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: PathBuf,

    /// The form of the list of files
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,
}

/// Tags, and how those of generators must fit.
#[derive(Debug, Args)]
pub(crate) struct Tags {
    /// Tags of generators, such as matmul_sq, and values of their arguments: dtype:float32,
    /// n:1024,2048. Without a value, an argument takes its usual ones; a kernel is made for each
    /// combination. A launch file with parameters is a generator, too: own.toml n:1024,2048
    #[arg(value_name = "TAG")]
    pub(crate) tags: Vec<String>,

    /// How a generator's tags must fit the given ones
    #[arg(long = "match", value_name = "CONDITION", default_value = "superset")]
    pub(crate) condition: Condition,
}

/// How tags must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Condition {
    /// The generator's tags are the given ones
    Identical,
    /// All of the generator's tags are given
    Subset,
    /// The generator has all that are given
    Superset,
    /// The generator has one that is given
    Intersection,
}

impl From<Condition> for MatchCondition {
    fn from(condition: Condition) -> Self {
        match condition {
            Condition::Identical => Self::Identical,
            Condition::Subset => Self::Subset,
            Condition::Superset => Self::Superset,
            Condition::Intersection => Self::Intersection,
        }
    }
}

/// A part of a kernel that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelPart {
    /// The generators with their arguments
    Summary,
    /// The PTX
    Ptx,
    /// The CUDA source
    Cuda,
    /// The launch file
    Launch,
}

/// Reads the target of a kernel.
fn target(text: &str) -> Result<Target, String> {
    let target: Target = text.parse().map_err(|error| format!("{error}"))?;
    let newest = gpucast_ptx_frontend::isa::Since::NEWEST.target.sm;
    if (20..=newest).contains(&target.sm) {
        Ok(target)
    } else {
        Err(format!("kernels are written for sm_20 to sm_{newest}"))
    }
}
