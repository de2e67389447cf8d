//! Arguments of `gpucast gpus`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gpucast_render::TextOrJson;

use super::{OutputOptions, words};

#[derive(Debug, Subcommand)]
pub(crate) enum Gpus {
    /// List the GPUs that are known by name
    List {
        /// List only GPUs that each of these words is part of: of the name, the vendor, the
        /// architecture, or the compute capability
        #[arg(value_name = "WORD")]
        words: Vec<String>,

        #[command(flatten)]
        output: OutputOptions,
    },
    /// Show every figure of a GPU with its unit and source
    Show {
        /// A GPU's name or TOML file
        gpu: String,

        /// Change a field and what follows from it: memory_bandwidth=1.2x, sm_count=144,
        /// 'l2_size=96 MiB'; repeat it for several
        #[arg(long, value_name = "FIELD=VALUE", value_parser = change)]
        set: Vec<(String, String)>,

        /// The form of the result
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
        format: TextOrJson,

        /// Write the result to a file; a name that ends in json means --format json
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List the fields that a GPU's file may have, and what reads each
    Fields {
        /// List only fields whose names or meanings have each of these words
        #[arg(value_name = "WORD")]
        words: Vec<String>,

        #[command(flatten)]
        output: OutputOptions,
    },
    /// Write a GPU's file from a few numbers of a data sheet, or from another GPU
    Derive(Box<Derive>),
    /// Write a GPU's file from what mixbench, gpumembench, the Empirical Roofline Toolkit or
    /// deviceQuery printed
    Import(Import),
    /// Show what two GPUs differ in
    Diff {
        /// A GPU's name or TOML file
        #[arg(value_name = "GPU")]
        one: String,
        /// Another one
        #[arg(value_name = "GPU")]
        other: String,

        #[command(flatten)]
        output: OutputOptions,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Derive {
    /// Its name on the command line: lower case, with dashes
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,

    /// The vendor's name for it
    #[arg(long, value_name = "TEXT")]
    pub(crate) display_name: Option<String>,

    /// Start from this GPU, by name or TOML file
    #[arg(long, value_name = "GPU")]
    pub(crate) base: Option<String>,

    /// The CUDA compute capability, such as 8.9
    #[arg(long, value_name = "X.Y", required_unless_present = "base")]
    pub(crate) compute_capability: Option<String>,

    /// Streaming multiprocessors
    #[arg(long, value_name = "COUNT", required_unless_present = "base")]
    pub(crate) sm_count: Option<String>,

    /// The clock that it runs at: '1980 MHz'
    #[arg(long, value_name = "CLOCK", required_unless_present = "base")]
    pub(crate) clock: Option<String>,

    /// Bandwidth of device memory by the data sheet: '3.35 TB/s'
    #[arg(long, value_name = "BANDWIDTH", required_unless_present = "base")]
    pub(crate) memory_bandwidth: Option<String>,

    /// What device memory is made of, such as GDDR6X or HBM3: it decides how much of the bandwidth
    /// kernels get
    #[arg(long, value_name = "TYPE")]
    pub(crate) memory_type: Option<String>,

    /// Size of device memory: '80 GiB'
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_size: Option<String>,

    /// Size of the L2: '50 MiB'; counts need it
    #[arg(long, value_name = "SIZE")]
    pub(crate) l2_size: Option<String>,

    /// Any other field: 'fp64_rate=4'; repeat it for several
    #[arg(long, value_name = "FIELD=VALUE", value_parser = change)]
    pub(crate) set: Vec<(String, String)>,

    /// Where the numbers come from
    #[arg(long, value_name = "TEXT", default_value = "given to `gpucast gpus derive`")]
    pub(crate) source: String,

    /// Write only what was given, not what follows from it
    #[arg(long)]
    pub(crate) given_only: bool,

    /// Write the result to a file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// What the programs printed; several files of one GPU are put together
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// What printed it [default: found out]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,

    /// Its name on the command line [default: made of the device's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Which of the devices that deviceQuery lists [default: the first]
    #[arg(long, value_name = "INDEX")]
    pub(crate) device: Option<usize>,

    /// Write what follows from the figures, too
    #[arg(long)]
    pub(crate) complete: bool,

    /// Write the result to a file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// mixbench's table
    Mixbench,
    /// gpumembench's cachebench and shmembench
    Gpumembench,
    /// roofline.json of the Empirical Roofline Toolkit
    Ert,
    /// The CUDA sample
    DeviceQuery,
}

/// `FIELD=VALUE`.
fn change(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(field, value)| (field.trim().to_owned(), value.trim().to_owned()))
        .ok_or_else(|| "it must be FIELD=VALUE, such as memory_bandwidth=1.2x".to_owned())
}
