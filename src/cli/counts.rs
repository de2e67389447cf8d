//! Options of `counts`.

use clap::{Arg, Args};
use gpucast_forecast::choice::metric_choice::MetricChoice;

use super::{ExecutionOptions, LaunchTemplate, MachineOptions, OutputOptions};

/// `--caches` of formulas: caches have none.
fn of_formulas(caches: Arg) -> Arg {
    caches.default_value("none")
}

#[derive(Debug, Args)]
#[command(mut_arg("caches", of_formulas))]
pub(crate) struct Counts {
    /// A launch file with parameters, or a module, whose options then use them; with --at, a JSON
    /// document of this command
    #[arg(value_name = "KERNEL", required_unless_present = "measure")]
    pub(crate) input: Option<String>,

    /// Tags that choose one measurement kernel, as in `gpucast kernels generate`; parameters are
    /// its sizes
    #[arg(long, value_name = "TAGS", conflicts_with = "input")]
    pub(crate) measure: Option<String>,

    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        required_unless_present = "at",
        help = "The parameters that formulas are in, separated by commas: n or n=FIRST..[LAST][:STEP], \
                such as n=64..4096:64. Launch files declare parameters under [parameters]; for a \
                module, --grid, --block, --arg and --shared-bytes use them as ${ceil(n/256)}"
    )]
    pub(crate) parametric: Vec<String>,

    // Everything else says how to find formulas, and they are found.
    #[arg(
        long,
        value_name = "SIZES",
        conflicts_with_all = [
            "parametric", "measure", "gpu", "machine", "machine_target", "ptxas",
            "registers", "budget",
            "time_limit", "schedule", "heap", "stack", "print_to", "execution_time", "counting",
            "ctas", "caches",
        ],
        help = "Evaluate the formulas of a JSON document in these sizes, and execute nothing: \
                n=640,m=1280, or n=FIRST..LAST[:STEP] for several; repeat it for more"
    )]
    pub(crate) at: Vec<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchTemplate,

    /// The GPU whose counters are modelled, by name or TOML file [default: gtx-480]
    ///
    /// CUDA is compiled for one that is given.
    #[arg(long, help_heading = "Counts", value_name = "GPU")]
    pub(crate) gpu: Option<String>,

    /// Which metrics: all, nvprof, ncu, or a list of names, also with * and ?
    #[arg(
        long,
        help_heading = "Counts",
        value_name = "NAMES",
        default_value = "all",
        value_parser = MetricChoice::parse
    )]
    pub(crate) metrics: MetricChoice,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}
