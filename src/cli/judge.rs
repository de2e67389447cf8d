//! `gpucast judge`: its options.

use std::path::PathBuf;

use clap::Args;
use gpucast_forecast::LaunchOptions;
use gpucast_forecast::input::launch_template;
use gpucast_judge::Expected;
use gpucast_render::judgement::JudgementFormat;

use super::options::parameter;
use super::{LaunchTemplate, MachineOptions, MeasurementOptions, Size, size, words};

/// What exit statuses mean.
const STATUSES: &str = "Exit status: 0 faster, 10 wrong, 11 unsafe, 12 slower, 13 unsure; 1 the \
                        reference or a launch is at fault, 2 wrong usage.";

#[derive(Debug, Args)]
#[command(after_help = STATUSES)]
pub(crate) struct Judge {
    /// The kernel to judge: a module (x.cu, which is compiled, or x.ptx), a launch file, or a
    /// corpus name
    ///
    /// A module without --arg takes arguments, inputs and sizes of the reference's launch, and its
    /// grid and block unless they are given.
    #[arg(value_name = "CANDIDATE")]
    pub(crate) candidate: String,

    /// The kernel that is right: a launch file, a module, or a corpus name. What it writes is the
    /// answer
    #[arg(long, value_name = "KERNEL", required_unless_present = "expect")]
    pub(crate) reference: Option<String>,

    /// The values of a buffer with the given inputs, in FILE.npy or FILE.bin; repeat for more.
    /// Without --reference nothing else is compared, and the candidate's own launch gives inputs
    #[arg(long, value_name = "BUFFER=FILE", value_parser = expected)]
    pub(crate) expect: Vec<Expected>,

    #[command(flatten)]
    pub(crate) launch: LaunchTemplate,

    /// The reference's kernel, for a module [default: as --kernel]
    #[arg(long, help_heading = "Reference", value_name = "NAME")]
    pub(crate) reference_kernel: Option<String>,

    /// CTAs of the reference's grid, for a module [default: as --grid]
    #[arg(long, help_heading = "Reference", value_name = "X[,Y[,Z]]")]
    pub(crate) reference_grid: Option<String>,

    /// Threads of the reference's CTAs, for a module [default: as --block]
    #[arg(long, help_heading = "Reference", value_name = "X[,Y[,Z]]")]
    pub(crate) reference_block: Option<String>,

    /// Dynamic shared memory of the reference in bytes, for a module [default: none]
    #[arg(long, help_heading = "Reference", value_name = "N")]
    pub(crate) reference_shared_bytes: Option<String>,

    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        help_heading = "Inputs",
        value_name = "NAME=NUMBER",
        value_parser = parameter,
        help = "A value for one of the [parameters] of a launch file, or for ${NAME} in --grid, \
                --block, --arg and --shared-bytes; repeat for more. Values beside it are tried, too"
    )]
    pub(crate) param: Vec<(String, f64)>,

    /// The problem size of a corpus kernel
    #[arg(long, help_heading = "Inputs", value_name = "SIZE")]
    pub(crate) size: Option<Size>,

    /// Runs with different inputs at the given size; one more has outliers among its inputs
    #[arg(long, help_heading = "Inputs", value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,

    /// Try the given size alone, not those beside it
    #[arg(long, help_heading = "Inputs")]
    pub(crate) given_size_only: bool,

    /// A buffer that is a result; repeat for more [default: those that the reference's launch file
    /// has expectations of, or else all that the reference writes]
    #[arg(long, help_heading = "Results", value_name = "BUFFER")]
    pub(crate) result: Vec<String>,

    /// The relative tolerance of floating-point results [default: the reference's launch file's, or
    /// 1e-10 of f64, 1e-4 of f32, 5e-3 of f16, 4e-2 of bf16]
    #[arg(long, help_heading = "Results", value_name = "X", value_parser = tolerance)]
    pub(crate) rtol: Option<f64>,

    /// The absolute tolerance of floating-point results [default: the reference's launch file's, or
    /// a fiftieth of the relative one, times the root mean square of the buffer; half of it for
    /// f16 and bf16]
    #[arg(long, help_heading = "Results", value_name = "X", value_parser = tolerance)]
    pub(crate) atol: Option<f64>,

    /// The GPU on which both times are predicted, by name or TOML file; without one nobody asks for
    /// times, and a kernel that is right and safe is `unsure`
    #[arg(long, help_heading = "Prediction", value_name = "GPU")]
    pub(crate) gpu: Option<String>,

    #[command(flatten)]
    pub(crate) measurement: MeasurementOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    /// Seconds after which the judgement ends. The candidate is compiled and runs in a process of
    /// its own, without files but its inputs and without a network where the system can do that
    #[arg(long, help_heading = "Limits", value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) time_limit: u64,

    /// Memory that a run may take, in bytes or as 2GiB
    #[arg(long, help_heading = "Limits", value_name = "SIZE", default_value = "4GiB", value_parser = size::bytes)]
    pub(crate) memory_limit: u64,

    /// Where else the CUDA files lie that the PTX names; by default in or below its own folder
    #[arg(long, help_heading = "Output", value_name = "FOLDER")]
    pub(crate) source_root: Option<PathBuf>,

    /// The form of the result
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "text", value_parser = words::judgement_format())]
    pub(crate) format: JudgementFormat,

    /// Write the result to a file; its name may say the form: x.json, x.html
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Judge {
    /// The launch of a reference that is a module.
    pub(crate) fn reference_launch(&self) -> launch_template::LaunchTemplate {
        let own = self.launch.template();
        let or = |given: &Option<String>, own: Option<String>| given.clone().or(own);
        launch_template::LaunchTemplate {
            grid: or(&self.reference_grid, own.grid),
            block: or(&self.reference_block, own.block),
            cluster: None,
            shared_bytes: self.reference_shared_bytes.clone(),
            arguments: own.arguments,
            options: LaunchOptions {
                kernel: or(&self.reference_kernel, own.options.kernel),
                ..own.options
            },
        }
    }

    /// The options that name the reference alone. A launch file refuses those of a launch.
    pub(crate) fn reference_options(&self) -> launch_template::LaunchTemplate {
        let own = self.launch.template().options;
        launch_template::LaunchTemplate {
            grid: self.reference_grid.clone(),
            block: self.reference_block.clone(),
            cluster: None,
            shared_bytes: self.reference_shared_bytes.clone(),
            arguments: Vec::new(),
            options: LaunchOptions { kernel: self.reference_kernel.clone(), ..own },
        }
    }
}

/// `BUFFER=FILE`.
fn expected(text: &str) -> Result<Expected, String> {
    match text.split_once('=') {
        Some((buffer, file)) if !buffer.is_empty() && !file.is_empty() => {
            Ok(Expected { buffer: buffer.to_owned(), file: file.into() })
        }
        _ => Err("write --expect BUFFER=FILE.npy".to_owned()),
    }
}

/// A number that is not negative.
fn tolerance(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("a tolerance is a number that is not negative".to_owned()),
    }
}
