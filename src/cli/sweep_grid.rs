//! The grid of a sweep, which one process or many go through.

use std::path::PathBuf;

use clap::{Arg, Args};
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::choice::model_choice::{ModelWords, Models};
use gpucast_forecast::input::launch_template;
use gpucast_forecast::{Failure, LaunchOptions, Report};
use gpucast_model::{Gpu, GpuLibrary};

use super::cuda::CudaOptions;
use super::options::with_formulas;
use super::prediction::{
    CountingOptions, GpuOptions, MeasurementOptions, ModelOptions, RefineOptions,
};
use super::{ExecutionOptions, MachineOptions, Size};
use crate::project;

/// Which models predict, and from whose counts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct PredictionOptions {
    #[command(flatten)]
    pub(crate) models: ModelOptions,

    #[command(flatten)]
    pub(crate) refinements: RefineOptions,

    #[command(flatten)]
    pub(crate) counting: CountingOptions,
}

impl PredictionOptions {
    /// The choice of models, in words.
    pub(crate) fn words(&self) -> ModelWords {
        ModelWords {
            names: self.models.model.clone(),
            refinements: self.refinements.refine.clone(),
            or_thesis: false,
        }
    }

    /// The models, with those of `--refine`.
    pub(crate) fn models(&self) -> Result<Models, Failure> {
        self.models.read(&self.refinements.refine)
    }

    /// The GPUs whose counters are modelled.
    pub(crate) fn count_on(&self, library: &GpuLibrary) -> Result<CountOn, Report> {
        CountOn::read(library, self.counting.count_on.as_deref())
    }
}

/// `--model` of sweeps.
fn of_sweep(model: Arg) -> Arg {
    model.help(
        "Models, separated by commas, or all: then a model that lacks an input says so instead of \
         ending the command [default: as for predict, but quantitative-roofline with --gpu all, \
         which needs one execution of each kernel for all GPUs]",
    )
}

/// The grid of a sweep.
#[derive(Debug, Args)]
#[command(mut_arg("model", of_sweep), mut_arg("counting", with_formulas))]
pub(crate) struct SweepGrid {
    /// Corpus names, launch files, or a module; all stands for the whole corpus
    #[arg(value_name = "KERNEL", required_unless_present = "from_metrics")]
    pub(crate) input: Vec<String>,

    #[command(flatten)]
    pub(crate) launch: LaunchTemplate,

    /// Problem sizes of corpus kernels
    #[arg(long, help_heading = "Kernel", value_name = "SIZES", value_delimiter = ',')]
    pub(crate) size: Vec<Size>,

    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        help_heading = "Grid",
        value_name = "NAME=VALUES",
        help = "Values of a parameter, such as n=256..4096:x2; repeat for more. Launch files declare \
                parameters under [parameters] and use them as \"${n*n}\"; for a module, --grid, \
                --block, --arg and --shared-bytes use them as ${ceil(n/256)}"
    )]
    pub(crate) vary: Vec<String>,

    /// Values of a GPU's field, with everything that follows from it; repeat for more:
    /// memory_bandwidth=0.5x..2x:0.1x, sm_count=40..160:20, l2_size=4 MiB,8 MiB, sp_clock=1..2
    /// GHz:log5
    #[arg(long, help_heading = "Grid", value_name = "FIELD=VALUES")]
    pub(crate) set: Vec<String>,

    #[command(flatten)]
    pub(crate) gpus: GpuOptions,

    /// Take counts from a metrics file or from the CSV of nvprof or ncu instead of executing;
    /// repeat for more
    #[arg(long, help_heading = "Prediction", value_name = "FILE", conflicts_with = "input")]
    pub(crate) from_metrics: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) prediction: PredictionOptions,

    /// Give these metrics in place of times: all, nvprof, ncu, or a list of names, also with *
    /// and ?. Each GPU's own counters are modelled, unless --count-on names others
    #[arg(
        long,
        help_heading = "Prediction",
        value_name = "NAMES",
        value_parser = MetricChoice::parse,
        conflicts_with_all = ["from_metrics", "model", "refine"]
    )]
    pub(crate) metrics: Option<MetricChoice>,

    #[command(flatten)]
    pub(crate) measurement: MeasurementOptions,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,
}

/// The launch of a module with parameters in it, or the choice of a corpus kernel's files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct LaunchTemplate {
    /// The kernel of a module, or of a file of counts
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// CTAs of the grid, for a module
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) grid: Option<String>,

    /// Threads of a CTA, for a module
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) block: Option<String>,

    /// CTAs of a cluster, for a module
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) cluster: Option<String>,

    /// Dynamic shared memory in bytes, for a module
    #[arg(long, value_name = "N")]
    pub(crate) shared_bytes: Option<String>,

    /// An argument, for a module; repeat in order: see predict
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) arg: Vec<String>,

    /// The PTX of a corpus kernel or a container, or the architecture that CUDA source is compiled
    /// for: sm_35, sm_80
    #[arg(long, value_name = "TARGET")]
    pub(crate) arch: Option<String>,

    #[command(flatten)]
    pub(crate) cuda: CudaOptions,
}

impl LaunchTemplate {
    /// The library's form for sweeps over these GPUs: CUDA is compiled for them, and once.
    pub(crate) fn on(&self, gpus: &[Gpu]) -> launch_template::LaunchTemplate {
        let mut template = self.template();
        template.options.cuda.suggest_for(gpus);
        template.options.cuda = template.options.cuda.remembering();
        template
    }

    /// The library's form.
    pub(crate) fn template(&self) -> launch_template::LaunchTemplate {
        launch_template::LaunchTemplate {
            grid: self.grid.clone(),
            block: self.block.clone(),
            cluster: self.cluster.clone(),
            shared_bytes: self.shared_bytes.clone(),
            arguments: self.arg.clone(),
            options: LaunchOptions {
                kernel: self.kernel.clone(),
                arch: self.arch.clone(),
                cuda: (&self.cuda).into(),
                project: project::current(),
                ..LaunchOptions::default()
            },
        }
    }
}
