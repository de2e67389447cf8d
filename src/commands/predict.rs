//! `gpucast predict`: the main job. Execute and count, or read counts; then predict with each model
//! for each GPU.

use std::sync::Arc;

use gpucast_forecast::choice::cost_model;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::input::{calibration, kernel_argument};
use gpucast_forecast::prediction::{
    KernelView, left_with_predictions, predict, reference, tell_stand_ins,
};
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_forecast::settings::{ExecutionSettings, LaunchOptions};
use gpucast_forecast::what_if;
use gpucast_forecast::{Kernel, Supervisor as _};
use gpucast_model::{Gpu, GpuLibrary, Needs};
use gpucast_render::prediction;

use crate::cli::Predict;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};
use crate::project;

/// Counts, and the GPUs that are predicted from them.
struct Group {
    sources: Vec<Source>,
    gpus: Vec<Gpu>,
}

pub(crate) fn run(arguments: Predict) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let models = models(&arguments)?;
    let what_ifs = what_if::read(&arguments.what_if)?;
    let library = gpu_argument::library()?;
    let clock = arguments.measurement.clock;
    let gpus = gpu_argument::find_all_at(&library, &arguments.gpus.gpu, clock)?;
    let measured = arguments
        .reference
        .as_deref()
        .map(|text| {
            let found = |name: &str| gpu_argument::find(&library, name);
            reference(text, |name| gpu_argument::at_clock(found(name)?, clock))
        })
        .transpose()?;
    let names = cost_model::read_names(&arguments.names.sizes, &arguments.names.tag)?;
    let cost_models = cost_model::read(&arguments.cost_model, names)?.map(Arc::new);
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let groups = groups(&arguments, &library, gpus, &models, &terminal)?;
    let kernels = groups
        .into_iter()
        .flat_map(|Group { sources, gpus }| {
            let launches = sources.len();
            let numbered = sources.into_iter().enumerate();
            numbered.map(move |(launch, source)| (launch, launches, source, gpus.clone()))
        })
        .map(|(launch, launches, mut source, gpus)| {
            source.conditions.cost_models.clone_from(&cost_models);
            source.conditions.timing = arguments.measurement.timing();
            let view = predict(&models, source, &gpus, measured.as_ref(), &what_ifs)?;
            Ok::<_, Report>(KernelView { launch, launches, ..view })
        })
        .collect::<Result<Vec<KernelView>, Report>>()?;
    let kernels = left_with_predictions(kernels, &terminal)?;
    tell_stand_ins(&kernels, &terminal);
    output.write(&prediction::document(&kernels, arguments.output.format)?)
}

/// The models. A profiler's file and a correction by a reference are the thesis's: its model reads
/// exactly such files, and equation 5.13 is about it.
fn models(arguments: &Predict) -> Result<Models, Failure> {
    let models = arguments.models.read(&arguments.refinements.refine)?;
    let is_thesis = arguments.from_metrics.is_some() || arguments.reference.is_some();
    Ok(if is_thesis { models.or_thesis() } else { models })
}

/// Counts once for GPUs whose counts are equal.
fn groups(
    arguments: &Predict,
    library: &GpuLibrary,
    gpus: Vec<Gpu>,
    models: &Models,
    terminal: &Terminal,
) -> Result<Vec<Group>, Failure> {
    let mut launch = LaunchOptions::from(&arguments.launch);
    launch.cuda.suggest_for(&gpus);
    if let Some(path) = &arguments.from_metrics {
        if let Some(option) = launch.first_of_execution() {
            let message = format!("{option} describes an execution, and --from-metrics is none");
            return Err(Failure::Usage(Report::new(message)));
        }
        let sources = sources::from_metrics(path, arguments.launch.kernel.as_deref())?;
        return Ok(vec![Group { sources, gpus }]);
    }
    let inputs = kernel_argument::expanded(&arguments.input, project::current().as_deref())?;
    // A kernel that cannot be read is refused before another one is executed.
    let kernels = inputs
        .iter()
        .map(|input| Kernel::open(input, &launch))
        .collect::<Result<Vec<Kernel>, _>>()?;
    let offload = arguments.calibration.as_deref().map(calibration::offload).transpose()?;
    let offload = offload.map(Arc::new);
    let count_on = CountOn::read(library, arguments.counting.count_on.as_deref())?;
    // A GPU that cannot count is refused before anything is executed.
    let groups = count_on.groups(gpus, models)?;
    if let [first, _, ..] = groups.as_slice() {
        terminal.note(&format!(
            "the kernel runs {} times, once for the counters of each kind of GPU; --count-on {} runs \
             it once",
            groups.len(),
            first.counting_gpu.name
        ));
    }
    let mut all = Vec::new();
    for (index, kernel) in kernels.iter().enumerate() {
        if kernels.len() > 1 {
            terminal.part(index, kernels.len());
        }
        for group in &groups {
            let counts = Counts {
                machine: (&arguments.machine).into(),
                execution: ExecutionSettings {
                    timing: arguments.execution.execution_time
                        || arguments.measurement.asks_for_execution(),
                    ..ExecutionSettings::from(&arguments.execution)
                },
                // Without a calibration features would be of no use.
                needs: Needs {
                    features: group.needs.features && !arguments.cost_model.is_empty(),
                    ..group.needs
                },
                offload: offload.clone(),
            };
            let sources = kernel.count_with(&group.counting_gpu, &counts, terminal)?;
            all.push(Group { sources, gpus: group.gpus.clone() });
        }
    }
    Ok(all)
}
