//! `gpucast predict`: the main job. Execute and count, or read counts; then predict with each model
//! for each GPU.

use std::path::Path;
use std::sync::Arc;

use gpucast_advice::place::Places;
use gpucast_advice::{Advice, Depth, Known, advise};
use gpucast_forecast::choice::cost_model;
use gpucast_forecast::choice::count_on::{CountOn, Group};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{self, Models};
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::input::{calibration, cuda_source, kernel_argument};
use gpucast_forecast::parametric;
use gpucast_forecast::prediction::{
    KernelView, Measured, left_with_predictions, predict, reference, tell_stand_ins,
};
use gpucast_forecast::run::counting::{Counted, MOST_TOGETHER};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, CountingGpu, Counts, Launched, Source};
use gpucast_forecast::settings::{ExecutionSettings, LaunchOptions, RungChoice};
use gpucast_forecast::what_if;
use gpucast_forecast::{Kernel, Supervisor as _};
use gpucast_model::cost_model::CostModels;
use gpucast_model::{AskedTiming, Gpu, GpuLibrary, Needs, WhatIf};
use gpucast_render::prediction;

use super::limits::{self, LaunchLines, Limits};
use super::proposal;
use super::usual_gpu;
use crate::cli::{Predict, PredictionFormat};
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};
use crate::project;

/// Everything but the counts that predictions rest on.
struct Question<'a> {
    models: &'a Models,
    measured: Option<Measured>,
    what_ifs: &'a [WhatIf],
    cost_models: Option<Arc<CostModels>>,
    timing: AskedTiming,
}

impl Question<'_> {
    /// The predictions of the launch at a place, from its counts.
    fn predict(
        &self,
        source: &mut Source,
        gpus: &[Gpu],
        at: LaunchPlace,
    ) -> Result<KernelView, Report> {
        source.conditions.cost_models.clone_from(&self.cost_models);
        source.ask(self.timing);
        let view = predict(self.models, source, gpus, self.measured.as_ref(), self.what_ifs)?;
        let LaunchPlace { argument, launch, launches } = at;
        Ok(KernelView { argument, launch, launches, ..view })
    }

    /// True if a model reads features of kernels on one of the GPUs.
    fn reads_features(&self, gpus: &[Gpu]) -> bool {
        let cost_models = self.cost_models.as_deref();
        let reads = |gpu| model_choice::reads_features(&self.models.of(gpu), gpu, cost_models);
        gpus.iter().any(reads)
    }
}

/// The place of a launch in the command.
#[derive(Clone, Copy)]
struct LaunchPlace {
    argument: usize,
    launch: usize,
    launches: usize,
}

/// What is printed.
#[derive(Default)]
struct Answer {
    kernels: Vec<KernelView>,
    /// Advice on each launch, where it is asked for.
    advice: Vec<Advice>,
    /// The name of each KERNEL.
    names: Vec<String>,
    /// Lines, where broken limits are shown at theirs.
    lines: LaunchLines,
}

pub(crate) fn run(arguments: Predict) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let mut arguments = with_profile(arguments)?;
    arguments.execution.execution_time |= arguments.measurement.asks_for_execution();
    let models = models(&arguments)?;
    let what_ifs = what_if::read(&arguments.what_if)?;
    let library = gpu_argument::library()?;
    let running = arguments.measurement.running();
    let names = usual_gpu::or_usual(&arguments.gpus.gpu);
    let gpus = gpu_argument::find_all_running(&library, &names, running)?;
    let measured = arguments
        .reference
        .as_deref()
        .map(|text| {
            let found = |name: &str| gpu_argument::find(&library, name);
            reference(text, |name| running.of(found(name)?))
        })
        .transpose()?;
    let names = cost_model::read_names(&arguments.names.sizes, &arguments.names.tag)?;
    let question = Question {
        models: &models,
        measured,
        what_ifs: &what_ifs,
        cost_models: cost_model::read(&arguments.cost_model, names)?.map(Arc::new),
        timing: arguments.measurement.timing(),
    };
    let limits = Limits::read(&arguments.output)?;
    let mut output = Output::open(arguments.output.output.clone())?;
    let format = arguments.output.format;
    let terminal = Terminal::new(&arguments.execution, format.document())?;
    let answer = match &arguments.from_metrics {
        Some(path) => from_metrics(&arguments, path, &gpus, &question)?,
        None => executed(&arguments, &library, gpus, &question, &terminal)?,
    };
    // A launch without a time is held to limits, too; what refuses it is said first.
    let verdicts = limits.hold(&answer.names, &answer.kernels);
    let kernels = left_with_predictions(answer.kernels, &terminal)?;
    tell_stand_ins(&kernels, &terminal);
    let verdicts = verdicts?;
    output.write(&match format.marks() {
        Some(marks) => limits::document(&verdicts, answer.lines, marks)?,
        None => prediction::document(&kernels, &answer.advice, format.document())?,
    })?;
    limits::verdict(&verdicts)
}

/// A profile in the place of the kernel is a file of counts: it stands for `--from-metrics`.
fn with_profile(mut arguments: Predict) -> Result<Predict, Failure> {
    let is_profile = |input: &str| {
        Path::new(input).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
    };
    let Some(profile) = arguments.input.iter().find(|input| is_profile(input)) else {
        return Ok(arguments);
    };
    let usage = |message| Err(Failure::Usage(Report::new(message)));
    if arguments.input.len() > 1 {
        return usage(format!("{profile} is a file of counts, which stands alone"));
    }
    if arguments.counting.count_on.is_some() {
        return usage("--count-on describes an execution, and a file of counts is none".to_owned());
    }
    arguments.from_metrics = Some(profile.into());
    arguments.input.clear();
    Ok(arguments)
}

/// The models. A profiler's file and a correction by a reference are the thesis's: its model reads
/// exactly such files, and equation 5.13 is about it.
fn models(arguments: &Predict) -> Result<Models, Failure> {
    let models = arguments.models.read(&arguments.refinements.refine)?;
    let is_thesis = arguments.from_metrics.is_some() || arguments.reference.is_some();
    Ok(if is_thesis { models.or_thesis() } else { models })
}

/// Predictions from the counts of a file.
fn from_metrics(
    arguments: &Predict,
    path: &Path,
    gpus: &[Gpu],
    question: &Question<'_>,
) -> Result<Answer, Failure> {
    if let Some(option) = LaunchOptions::from(&arguments.launch).first_of_execution() {
        let message = format!("{option} describes an execution, and a file of counts is none");
        return Err(Failure::Usage(Report::new(message)));
    }
    let mut sources = sources::from_metrics(path, arguments.launch.kernel.as_deref())?;
    let launches = sources.len();
    let kernels = sources
        .iter_mut()
        .enumerate()
        .map(|(launch, source)| {
            question.predict(source, gpus, LaunchPlace { argument: 0, launch, launches })
        })
        .collect::<Result<Vec<KernelView>, Report>>()?;
    Ok(Answer { kernels, names: vec![path.display().to_string()], ..Answer::default() })
}

/// Predictions from executions, one for GPUs whose counts are equal.
fn executed(
    arguments: &Predict,
    library: &GpuLibrary,
    gpus: Vec<Gpu>,
    question: &Question<'_>,
    terminal: &Terminal,
) -> Result<Answer, Failure> {
    let models = question.models;
    let mut launch = arguments.launch.on(&gpus);
    let inputs = kernel_argument::expanded(&arguments.input, project::current().as_deref())?;
    // A kernel that cannot be read is refused before another one is executed.
    let is_text = arguments.output.format == PredictionFormat::Text;
    let kernels = match inputs.as_slice() {
        [input] if is_text => vec![opened(input, &mut launch)?],
        inputs => {
            let kernels = inputs.iter().map(|input| Kernel::open(input, &launch));
            kernels.collect::<Result<Vec<Kernel>, _>>()?
        }
    };
    let offload = arguments.calibration.as_deref().map(calibration::offload).transpose()?;
    let offload = offload.map(Arc::new);
    let count_on = CountOn::read(library, arguments.counting.count_on.as_deref())?;
    let is_advised = is_advised(arguments, question, &gpus, &kernels);
    // A GPU that cannot count is refused before anything is executed.
    let groups = count_on.groups(gpus, models)?;
    if let [first, _, ..] = groups.as_slice() {
        terminal.note(&format!(
            "the kernel is counted {} times, once for the counters of each kind of GPU; --count-on {} \
             counts it once",
            groups.len(),
            first.counting_gpu.name
        ));
    }
    let needs =
        |group: &Group| Needs { features: question.reads_features(&group.gpus), ..group.needs };
    let mut answer = Answer::default();
    for (argument, kernel) in kernels.iter().enumerate() {
        if kernels.len() > 1 {
            terminal.part(argument, kernels.len());
        }
        let plan = kernel.plan();
        let loaded = module::load(plan)?;
        let counts = Counts {
            machine: (&arguments.machine).into(),
            execution: ExecutionSettings {
                timing: arguments.execution.execution_time,
                ..ExecutionSettings::from(&arguments.execution)
            },
            needs: Needs::METRICS,
            offload: offload.clone(),
        };
        let counting = Counting { kernel, input: &inputs[argument], launch: &launch };
        // Counts are large, so that those of a few groups are held.
        for groups in groups.chunks(MOST_TOGETHER) {
            let on: Vec<CountingGpu<'_>> = groups
                .iter()
                .map(|group| CountingGpu { gpu: &group.counting_gpu, needs: needs(group) })
                .collect();
            for (group, launched) in
                groups.iter().zip(counting.launched(&loaded, &on, &counts, terminal)?)
            {
                let mut launched = launched?;
                let launches = launched.len();
                for (launch, one) in launched.iter_mut().enumerate() {
                    let at = LaunchPlace { argument, launch, launches };
                    let view = question.predict(&mut one.source, &group.gpus, at)?;
                    if let ([gpu], true) = (group.gpus.as_slice(), is_advised) {
                        let files = cuda_source::files(plan, &loaded.module, None);
                        let places = Places { files: &files, loaded: &loaded };
                        let known =
                            Known { predictions: &view.predictions, depth: Depth::OneModel };
                        answer.advice.push(advise(plan, places, one, launch, gpu, known)?);
                    }
                    if arguments.output.format.marks().is_some() {
                        let files = cuda_source::files(plan, &loaded.module, None);
                        let lines =
                            || limits::lines(&group.counting_gpu, &loaded, &files, &one.counted);
                        // Counts for other GPUs stand at the same lines.
                        answer.lines.entry((argument, launch)).or_insert_with(lines);
                    }
                    answer.kernels.push(view);
                }
            }
        }
    }
    answer.names = inputs;
    Ok(answer)
}

/// A kernel with its launch. If a file has one kernel and no launch is given, it is one that was
/// found by trying, and then `launch` becomes that one.
fn opened(input: &str, launch: &mut LaunchOptions) -> Result<Kernel, Failure> {
    let module = match Kernel::open(input, launch).map_err(Failure::from) {
        Err(Failure::Unlaunched(module)) if module.has_one_kernel() => module,
        outcome => return outcome,
    };
    let Some(found) = proposal::find(&module)? else {
        return Err(Failure::Usage(proposal::without(&module)));
    };
    proposal::tell(&module, &found);
    let kernel = Kernel::of_unlaunched(&module, &found.options)?;
    *launch = LaunchOptions { cuda: launch.cuda.clone(), ..found.options };
    Ok(kernel)
}

/// A kernel whose launches are counted.
struct Counting<'a> {
    kernel: &'a Kernel,
    /// As it was asked for.
    input: &'a str,
    launch: &'a LaunchOptions,
}

impl Counting<'_> {
    /// The counts of the launches on each GPU: by formulas that a sweep has kept, where these are
    /// asked for and say the size, else by executing.
    fn launched(
        &self,
        loaded: &Loaded,
        gpus: &[CountingGpu<'_>],
        counts: &Counts,
        terminal: &Terminal,
    ) -> Result<Vec<Result<Vec<Launched>, Failure>>, Failure> {
        let plan = self.kernel.plan();
        if counts.execution.counting != RungChoice::Formulas {
            return Ok(all_launched(plan, loaded, gpus, counts, terminal));
        }
        let mut all = Vec::new();
        for on in gpus {
            let counts = Counts { needs: on.needs, ..counts.clone() };
            match parametric::counted_by_kept(self.input, self.launch, on.gpu, &counts, terminal)? {
                Ok(counted) => {
                    plan.note.iter().for_each(|note| terminal.note(note));
                    let launched = |counted: Counted| Launched {
                        source: sources::of_counted(&counted, plan, on.gpu),
                        counted,
                    };
                    all.push(Ok(counted.into_iter().map(launched).collect()));
                }
                Err(because) => {
                    terminal.note(&format!("{} is executed: {because}", self.input));
                    let launched = sources::launched(plan, loaded, on.gpu, &counts, terminal);
                    all.push(launched.map_err(Failure::from));
                }
            }
        }
        Ok(all)
    }
}

/// The counts of the launches on each GPU, by executing.
fn all_launched(
    plan: &Plan,
    loaded: &Loaded,
    gpus: &[CountingGpu<'_>],
    counts: &Counts,
    terminal: &Terminal,
) -> Vec<Result<Vec<Launched>, Failure>> {
    let each = sources::launched_each(plan, loaded, gpus, counts, terminal);
    each.into_iter().map(|launched| launched.map_err(Failure::from)).collect()
}

/// Returns true if the answer begins with advice: text about one kernel on one GPU, by models of
/// the kernel alone. A correction and a way of measuring would change times but not gains.
fn is_advised(
    arguments: &Predict,
    question: &Question<'_>,
    gpus: &[Gpu],
    kernels: &[Kernel],
) -> bool {
    let is_alone = |kernel: &Kernel| question.timing.over(kernel.plan().timing).is_none();
    arguments.output.format == PredictionFormat::Text
        && kernels.len() == 1
        && matches!(gpus, [gpu] if gpu.device_model().is_ok())
        && arguments.reference.is_none()
        && arguments.calibration.is_none()
        && arguments.cost_model.is_empty()
        && kernels.iter().all(is_alone)
}
