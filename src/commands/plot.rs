//! `gpucast plot`: pictures of predictions, and of one warp.

mod warp;

use std::ffi::OsStr;
use std::path::Path;
use std::slice::from_ref;

use gpucast_forecast::Kernel;
use gpucast_forecast::choice::count_on::{CountOn, OF_THESIS};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{Chosen, Models};
use gpucast_forecast::input::{kernel_argument, module_text};
use gpucast_forecast::prediction::KernelView;
use gpucast_forecast::prediction::{left_with_predictions, predict, tell_stand_ins};
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_model::{Gpu, HierarchicalRoofline};
use gpucast_plot::axis::Kind;
use gpucast_plot::{DrawError, Scene, Theme, png, svg};
use gpucast_render::{Format, pictures};

use super::{trace, usual_gpu};
use crate::cli::plot::{
    PictureOptions, Plot, PlotKernels, PlotMix, PlotOccupancy, PlotPredictions, PlotQuadrantSplit,
    PlotSensitivity, PlotSweep, PlotTimeline, ScaleChoice, ThemeChoice,
};
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};
use crate::project;

pub(crate) fn run(command: Plot) -> Result<(), Failure> {
    match command {
        Plot::Roofline(arguments) => roofline(&arguments),
        Plot::QuadrantSplit(arguments) => quadrant_split(&arguments),
        Plot::Breakdown(arguments) => breakdown(&arguments),
        Plot::Stages(arguments) => stages(&arguments),
        Plot::Mix(arguments) => mix(&arguments),
        Plot::Sweep(arguments) => sweep(&arguments),
        Plot::Sensitivity(arguments) => sensitivity(&arguments),
        Plot::Errors(arguments) => errors(&arguments),
        Plot::Occupancy(arguments) => occupancy(&arguments),
        Plot::Access(arguments) => warp::accesses(&arguments, warp::Memory::Global),
        Plot::Banks(arguments) => warp::accesses(&arguments, warp::Memory::Shared),
        Plot::Divergence(arguments) => warp::divergence(&arguments),
        Plot::Timeline(arguments) => timeline(&arguments),
    }
}

fn roofline(arguments: &PlotPredictions) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    // The traffic of all levels of memory, where the counts have it.
    let further = Chosen::one_of_all(&HierarchicalRoofline);
    let models = arguments.models.read(&[])?.with(further);
    let kernels = predictions_by(models, arguments)?;
    let scene = pictures::roofline::scene(&kernels, file.title());
    file.write(scene)
}

fn quadrant_split(arguments: &PlotQuadrantSplit) -> Result<(), Failure> {
    let PlotQuadrantSplit { predictions: arguments, scale } = arguments;
    let file = File::open(&arguments.picture)?;
    let scale = match scale {
        ScaleChoice::Linear => Kind::Linear,
        ScaleChoice::Log => Kind::Logarithmic,
    };
    let kernels = predictions(arguments)?;
    let scene = pictures::quadrant_split::scene(&kernels, scale, file.title());
    file.write(scene)
}

fn breakdown(arguments: &PlotPredictions) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let kernels = predictions(arguments)?;
    let scene = pictures::breakdown::scene(&kernels, file.title());
    file.write(scene)
}

fn stages(arguments: &PlotPredictions) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let kernels = predictions(arguments)?;
    let mut predictions = kernels.iter().flat_map(|kernel| &kernel.predictions);
    if predictions.all(|view| view.prediction.parts.len() < 2) {
        return Err(without_stages(&kernels).into());
    }
    let scene = pictures::stages::scene(&kernels, file.title());
    file.write(scene)
}

/// Why no prediction tells stages apart, and what to do about it.
fn without_stages(kernels: &[KernelView]) -> Report {
    let predictions = kernels.iter().flat_map(|kernel| &kernel.predictions);
    let analyses = predictions.filter_map(|view| view.prediction.detail.component());
    match analyses.map(|analysis| analysis.stages.len()).max() {
        None => Report::new("no prediction tells stages apart")
            .hint("--model component-throughput does"),
        Some(0 | 1) => Report::new("no barrier parts the kernel: it is one stage")
            .hint("`gpucast plot breakdown` shows the kernel as a whole"),
        Some(several) => Report::new(format!(
            "the {several} stages have no times of their own: an SM holds several blocks, whose \
             stages overlap"
        ))
        .hint(
            "`gpucast plot breakdown` shows the kernel as a whole; a GPU whose SMs hold one block, \
             as sgemm's on a gtx-480, tells stages apart",
        ),
    }
}

fn mix(arguments: &PlotMix) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let count_on = arguments.kernels.counting.count_on.as_deref().unwrap_or(OF_THESIS);
    let counting_gpu = gpu_argument::find(&gpu_argument::library()?, count_on)?;
    let terminal = Terminal::new(&arguments.kernels.execution, Format::Text)?;
    let sources = counts(&arguments.kernels, &[], &counting_gpu, &Counts::default(), &terminal)?;
    let scene = pictures::mix::scene(&sources, file.title());
    file.write(scene)
}

fn occupancy(arguments: &PlotOccupancy) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &usual_gpu::or_usual(&arguments.gpus.gpu))?;
    let terminal = Terminal::new(&arguments.kernels.execution, Format::Text)?;
    // Occupancy follows from the launch and its registers, which each GPU's own code decides.
    let mut scenes = Vec::new();
    for gpu in &gpus {
        let sources =
            counts(&arguments.kernels, from_ref(gpu), gpu, &Counts::default(), &terminal)?;
        let scene = pictures::occupancy::scene(&sources, gpu, file.title());
        scenes.push(scene.map_err(|error| Report::new(error.to_string()))?);
    }
    file.write(Ok(Scene::stacked(scenes)))
}

fn timeline(arguments: &PlotTimeline) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let selection = arguments.simulated.selection();
    trace::simulated(&arguments.simulated, |view| {
        let scene = gpucast_render::timeline::picture(view, &selection, file.title())?;
        file.write(Ok(scene))
    })
}

fn sweep(arguments: &PlotSweep) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let choice = pictures::sweep::Choice {
        x: arguments.x.as_deref(),
        y: arguments.y.as_deref(),
        value: arguments.value.as_deref(),
    };
    let table = module_text::read_text(&arguments.table)?;
    let scene = pictures::sweep::scene(&table, choice, file.title())?;
    file.write(scene)
}

fn sensitivity(arguments: &PlotSensitivity) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let table = module_text::read_text(&arguments.table)?;
    let scene = pictures::sensitivity::scene(&table, file.title())?;
    file.write(scene)
}

fn errors(arguments: &PlotPredictions) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let kernels = predictions(arguments)?;
    if kernels.iter().flat_map(|kernel| &kernel.predictions).all(|view| view.published.is_none()) {
        let report = Report::new("no prediction has a measured time beside it");
        let hint = "times of sgemm, sgemm-16, sor-red-black and lmsor are published, at full size and \
                    on the thesis's GPUs";
        return Err(report.hint(hint).into());
    }
    let scene = pictures::errors::scene(&kernels, file.title());
    file.write(scene)
}

/// The predictions of all kernels by all models for all GPUs.
fn predictions(arguments: &PlotPredictions) -> Result<Vec<KernelView>, Failure> {
    predictions_by(arguments.models.read(&[])?, arguments)
}

fn predictions_by(models: Models, arguments: &PlotPredictions) -> Result<Vec<KernelView>, Failure> {
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &usual_gpu::or_usual(&arguments.gpus.gpu))?;
    let kernels = &arguments.kernels;
    // Counts of a file have no order of events, which the simulation needs.
    let models = if kernels.from_metrics.is_empty() { models } else { models.or_thesis() };
    let count_on = CountOn::read(&library, kernels.counting.count_on.as_deref())?;
    let terminal = Terminal::new(&kernels.execution, Format::Text)?;
    // Where counts differ from GPU to GPU, each has views of its own.
    let mut views = Vec::new();
    for group in count_on.groups(gpus, &models)? {
        let extras = Counts { needs: group.needs, ..Counts::default() };
        let sources = counts(kernels, &group.gpus, &group.counting_gpu, &extras, &terminal)?;
        let predicted =
            sources.iter().map(|source| predict(&models, source, &group.gpus, None, &[]));
        let predicted = predicted.collect::<Result<Vec<KernelView>, Report>>()?;
        views.extend(left_with_predictions(predicted, &terminal)?);
    }
    tell_stand_ins(&views, &terminal);
    Ok(views)
}

/// The counts of all kernels, executed or read, in the order of the command line. CUDA is compiled
/// for `gpus`.
fn counts(
    kernels: &PlotKernels,
    gpus: &[Gpu],
    counting_gpu: &Gpu,
    extras: &Counts,
    terminal: &Terminal,
) -> Result<Vec<Source>, Failure> {
    let mut all = Vec::new();
    let launch = kernels.launch.on(gpus);
    let counts = Counts {
        machine: (&kernels.machine).into(),
        execution: (&kernels.execution).into(),
        ..extras.clone()
    };
    for input in &kernel_argument::expanded(&kernels.inputs, project::current().as_deref())? {
        let kernel = Kernel::open(input, &launch)?;
        all.extend(kernel.count_with(counting_gpu, &counts, terminal)?);
    }
    for path in &kernels.from_metrics {
        all.extend(sources::from_metrics(path, kernels.launch.kernel.as_deref())?);
    }
    Ok(all)
}

/// Encoding of a picture.
#[derive(Clone, Copy)]
enum Encoding {
    Svg,
    Png,
}

/// An open picture file.
struct File<'a> {
    output: Output,
    encoding: Encoding,
    options: &'a PictureOptions,
}

impl<'a> File<'a> {
    /// Opens the file before anything is executed.
    fn open(options: &'a PictureOptions) -> Result<Self, Failure> {
        let encoding = encoding(&options.output)?;
        Ok(Self { output: Output::open(Some(options.output.clone()))?, encoding, options })
    }

    fn title(&self) -> Option<&str> {
        self.options.title.as_deref()
    }

    fn write(mut self, scene: Result<Scene, DrawError>) -> Result<(), Failure> {
        let undrawable = |error: DrawError| Report::new(error.to_string());
        let scene = scene.map_err(undrawable)?;
        let theme = match self.options.theme {
            ThemeChoice::Light => Theme::Light,
            ThemeChoice::Dark => Theme::Dark,
        };
        let bytes = match self.encoding {
            Encoding::Svg => svg::write(&scene, theme).map(String::into_bytes),
            Encoding::Png => png::write(&scene, theme),
        };
        self.output.write_bytes(&bytes.map_err(undrawable)?)
    }
}

fn encoding(path: &Path) -> Result<Encoding, Failure> {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("svg") => Ok(Encoding::Svg),
        Some("png") => Ok(Encoding::Png),
        _ => Err(Failure::Usage(
            Report::new(format!("{} is neither an SVG nor a PNG file", path.display()))
                .hint("the file's ending says the format: -o picture.svg or -o picture.png"),
        )),
    }
}
