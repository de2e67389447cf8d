//! `gpucast compare`: predicted times against measured ones.

use std::path::PathBuf;

use gpucast_corpus::published::metrics as published_counts;
use gpucast_forecast::Kernel;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument::{self, Running};
use gpucast_forecast::choice::model_choice::{self, Chosen, Models};
use gpucast_forecast::comparison::{Comparison, Row};
use gpucast_forecast::input::measurements::{self, Measured};
use gpucast_forecast::input::{kernel_name, module_text};
use gpucast_forecast::published;
use gpucast_forecast::run::counting::MOST_TOGETHER;
use gpucast_forecast::run::sources::{self, CountingGpu, Counts, Source};
use gpucast_forecast::settings::{LaunchOptions, Size};
use gpucast_model::gpu::Clock;
use gpucast_model::{Conditions, Gpu, GpuLibrary, Timing, Warning};
use gpucast_render::comparison;
use gpucast_toolchain::compiler::plain_cuda;

use crate::cli::Compare;
use crate::failure::{Failure, Report};
use crate::interrupt;
use crate::output::{Output, Terminal};
use crate::project;

/// A measured time, wherever it comes from.
struct Time {
    counts: Origin,
    /// The models that predict it.
    models: Vec<Chosen>,
    /// Name of the kernel in the output.
    label: String,
    /// Function of the launch, if there are several launches.
    function: Option<String>,
    gpu: Result<Gpu, String>,
    gpu_name: String,
    measured_ms: f64,
    timing: Option<Timing>,
    source: Option<String>,
}

/// What is executed.
#[derive(PartialEq)]
struct Launched {
    input: String,
    size: Option<Size>,
    parameters: Vec<(String, f64)>,
}

/// Source of the counts; equal ones are taken once.
enum Origin {
    Executed {
        launched: Launched,
        /// The GPU whose counters are modelled.
        counting_gpu: Box<Gpu>,
    },
    File(PathBuf),
    Published(&'static str),
    /// A kernel that only its publication has.
    Nowhere,
}

impl Origin {
    /// Returns true if the counts are the same.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Executed { launched, counting_gpu },
                Self::Executed { launched: other, counting_gpu: other_gpu },
            ) => launched == other && counting_gpu.device_model() == other_gpu.device_model(),
            (Self::File(one), Self::File(other)) => one == other,
            (Self::Published(one), Self::Published(other)) => one == other,
            (Self::Nowhere, Self::Nowhere) => true,
            _ => false,
        }
    }

    /// Returns true if an execution for one GPU may serve the other, too.
    fn shares_execution(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Executed { launched, counting_gpu },
                Self::Executed { launched: other, counting_gpu: other_gpu },
            ) => {
                let gpus = [counting_gpu, other_gpu];
                launched == other && gpus.iter().all(|gpu| gpu.device_model().is_ok())
            }
            _ => false,
        }
    }
}

/// A time whose counts are asked for, and the models that read them.
struct Wanted<'a> {
    time: &'a Time,
    models: Vec<Chosen>,
}

/// The counts of a time, or why there are none; the outer error is one that no other kernel would
/// avoid.
type CountsOfTime = Result<Result<Vec<Source>, String>, Failure>;

pub(crate) fn run(arguments: Compare) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let library = gpu_argument::library()?;
    let choice = Choice {
        models: arguments.prediction.models()?,
        count_on: arguments.prediction.count_on(&library)?,
        arguments: &arguments,
        library: &library,
    };
    let times = match &arguments.measured {
        Some(path) => {
            let text = module_text::read_text(path)?;
            let measured = measurements::read(&text, path)?;
            let times = measured.into_iter().map(|one| choice.of_file(one));
            times.collect::<Result<Vec<Time>, Report>>()?
        }
        None => choice.of_publications()?,
    };
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::without_notes(&arguments.execution)?;
    // Times with the same counts are predicted together, and so are those of a few GPUs for which a
    // kernel is executed once: counts are large, and only those of one execution are kept.
    let times = times.as_slice();
    let mut rows: Vec<Option<Vec<Row>>> = times.iter().map(|_| None).collect();
    for at in 0..times.len() {
        if rows[at].is_some() {
            continue;
        }
        let mut kinds: Vec<usize> = vec![at];
        for (other, time) in times.iter().enumerate().skip(at + 1) {
            let is_counted = |&kind: &usize| times[kind].counts.is_same(&time.counts);
            if kinds.len() < MOST_TOGETHER
                && rows[other].is_none()
                && times[at].counts.shares_execution(&time.counts)
                && !kinds.iter().any(is_counted)
            {
                kinds.push(other);
            }
        }
        let same = |kind: usize| {
            let same = move |other: &usize| times[*other].counts.is_same(&times[kind].counts);
            (0..times.len()).filter(same)
        };
        let asked: Vec<Wanted<'_>> = kinds
            .iter()
            .map(|&kind| {
                let models = same(kind).flat_map(|other| times[other].models.clone());
                Wanted { time: &times[kind], models: models.collect() }
            })
            .collect();
        let counted = count_each(&asked, &arguments, &terminal)?;
        for (&kind, sources) in kinds.iter().zip(counted) {
            let sources = sources?;
            for other in same(kind) {
                let time = &times[other];
                let of_time = time.models.iter().map(|model| row(time, &sources, model));
                rows[other] = Some(of_time.collect());
            }
        }
    }
    let rows = rows.into_iter().flatten().flatten().collect();
    output.write(&comparison::document(&Comparison::new(rows), arguments.output.format)?)
}

/// What says which models predict a time from whose counts.
struct Choice<'a> {
    models: Models,
    count_on: CountOn,
    arguments: &'a Compare,
    library: &'a GpuLibrary,
}

impl Choice<'_> {
    /// How the GPU of a time runs that was measured at some clock.
    fn running(&self, measured_at: Option<Clock>) -> Running {
        let asked = self.arguments.measurement.running();
        Running { clock: asked.clock.or(measured_at), ..asked }
    }

    fn of_file(&self, one: Measured) -> Result<Time, Report> {
        let Self { arguments, library, .. } = self;
        let gpu = gpu_argument::find(library, &one.gpu)
            .and_then(|gpu| self.running(one.clock).of(gpu))
            .map_err(|report| match report.anchor {
                Some(_) => report,
                None => report.at(&one.anchor),
            })?;
        let label = match one.size {
            Some(Size::Small) => format!("{} (small)", one.kernel),
            Some(Size::Paper) | None => one.kernel.clone(),
        };
        let (counts, models) = match one.metrics {
            // Counts of a file have no order of events, which the simulation needs.
            Some(path) => (Origin::File(path), self.models.clone().or_thesis()),
            None => {
                let counts = Launched { input: one.kernel, size: one.size, parameters: Vec::new() };
                (self.executed(counts, &gpu, &self.models), self.models.clone())
            }
        };
        Ok(Time {
            counts,
            models: models.of(&gpu),
            label,
            function: one.function,
            gpu_name: gpu.name.clone(),
            gpu: Ok(gpu),
            measured_ms: one.measured_ms,
            timing: arguments.measurement.timing().or(one.timing),
            source: None,
        })
    }

    /// The counts of a kernel as `models` need them for a GPU.
    fn executed(&self, launched: Launched, gpu: &Gpu, models: &Models) -> Origin {
        let counting_gpu = self.count_on.of(gpu, &models.of(gpu));
        Origin::Executed { launched, counting_gpu: counting_gpu.clone().into() }
    }

    /// The times that were published. Where the thesis printed one, its prediction is reproduced,
    /// too, unless a model is named.
    fn of_publications(&self) -> Result<Vec<Time>, Report> {
        let Self { arguments, library, .. } = self;
        let time = |time: &published::Published| {
            let gpu = gpu_argument::find(library, &time.gpu)?;
            let models = match time.is_of_thesis || arguments.published_counts {
                true => self.models.clone().or_thesis(),
                false => self.models.clone(),
            };
            let counts = match time.entry {
                None => Origin::Nowhere,
                Some(entry) if arguments.published_counts => Origin::Published(entry),
                Some(entry) => {
                    let (input, parameters) = (entry.to_owned(), time.parameters.clone());
                    self.executed(Launched { input, size: None, parameters }, &gpu, &models)
                }
            };
            Ok(Time {
                counts,
                models: models.of(&gpu),
                label: time.label(),
                function: None,
                gpu: self.running(time.clock).of(gpu).map_err(|report| report.message),
                gpu_name: time.gpu.clone(),
                measured_ms: time.measured_ms,
                timing: arguments.measurement.timing().or(time.timing),
                source: Some(time.source.clone()),
            })
        };
        let words = arguments.published.as_deref().unwrap_or_default().to_lowercase();
        let is_meant = |one: &&published::Published| {
            let has_counts = || one.entry.is_none_or(|entry| published_counts(entry).is_some());
            one.source.to_lowercase().contains(&words)
                && (!arguments.published_counts || has_counts())
        };
        published::times().iter().filter(is_meant).map(time).collect()
    }
}

/// The counts of one time, or of several that share an execution.
fn count_each(
    asked: &[Wanted<'_>],
    arguments: &Compare,
    terminal: &Terminal,
) -> Result<Vec<CountsOfTime>, Failure> {
    let counting_gpu = |one: &Wanted<'_>| match &one.time.counts {
        Origin::Executed { counting_gpu, .. } => Some(Gpu::clone(counting_gpu)),
        Origin::File(_) | Origin::Published(_) | Origin::Nowhere => None,
    };
    let gpus: Vec<Gpu> = asked.iter().filter_map(counting_gpu).collect();
    let launched = match asked {
        [Wanted { time, .. }, _, ..] => match &time.counts {
            Origin::Executed { launched, .. } => launched,
            Origin::File(_) | Origin::Published(_) | Origin::Nowhere => return Ok(Vec::new()),
        },
        few => return Ok(few.iter().map(|one| count(one, arguments, terminal)).collect()),
    };
    let on = |(gpu, one)| on(gpu, one);
    let on: Vec<CountingGpu<'_>> = gpus.iter().zip(asked).map(on).collect();
    let each = open(launched)?.count_each(&on, &settings(arguments), terminal)?;
    Ok(each.into_iter().map(|counted| counted.map(Ok).map_err(Failure::from)).collect())
}

/// The GPU whose counters are modelled for a time, with what its models read.
fn on<'a>(gpu: &'a Gpu, asked: &Wanted<'_>) -> CountingGpu<'a> {
    CountingGpu { gpu, needs: model_choice::needs(&asked.models) }
}

/// The kernel of a time.
fn open(launched: &Launched) -> Result<Kernel, Failure> {
    let Launched { input, size, parameters } = launched;
    let launch = LaunchOptions {
        size: *size,
        param: parameters.clone(),
        cuda: plain_cuda(interrupt::stop()),
        project: project::current(),
        ..LaunchOptions::default()
    };
    Ok(Kernel::open(input, &launch)?)
}

fn settings(arguments: &Compare) -> Counts {
    Counts {
        machine: (&arguments.machine).into(),
        execution: (&arguments.execution).into(),
        ..Counts::default()
    }
}

fn count(asked: &Wanted<'_>, arguments: &Compare, terminal: &Terminal) -> CountsOfTime {
    let counted = match &asked.time.counts {
        Origin::Nowhere => return Ok(Err("the corpus has no such kernel".to_owned())),
        Origin::File(path) => sources::from_metrics(path, None).map_err(Failure::from),
        Origin::Published(entry) => sources::from_publication(entry).map_err(Failure::from),
        Origin::Executed { launched, counting_gpu } => {
            // Other rows may name GPUs that can count.
            if let Err(report) = gpu_argument::device_model(counting_gpu) {
                return Ok(Err(report.message));
            }
            let CountingGpu { gpu, needs } = on(counting_gpu, asked);
            let counts = Counts { needs, ..settings(arguments) };
            open(launched)?.count_with(gpu, &counts, terminal).map_err(Failure::from)
        }
    };
    // A fault of a kernel is worth the same words as in `predict`.
    counted.map(Ok)
}

fn row(time: &Time, sources: &Result<Vec<Source>, String>, chosen: &Chosen) -> Row {
    let predicted = sources.as_ref().map_err(String::clone).and_then(|sources| {
        let source = launch(sources, time.function.as_deref())?;
        let gpu = time.gpu.as_ref().map_err(String::clone)?;
        let conditions = Conditions { timing: time.timing, ..source.conditions.clone() };
        let predicted = chosen.predict(&source.profile, gpu, &conditions);
        predicted.map_err(|error| error.to_string())
    });
    let mut row = Row {
        kernel: time.label.clone(),
        gpu: time.gpu_name.clone(),
        model: chosen.model.name(),
        measured_ms: time.measured_ms,
        predicted_ms: None,
        error: None,
        source: time.source.clone(),
        declined_because: None,
        warning_codes: Vec::new(),
    };
    match predicted {
        Ok(prediction) => {
            row.model = prediction.model;
            row.predicted_ms = Some(prediction.time_ms);
            row.error = row.pair().map(|pair| pair.error());
            row.warning_codes = prediction.warnings.iter().map(Warning::code).collect();
        }
        Err(reason) => row.declined_because = Some(reason),
    }
    row
}

/// The launch that was measured.
fn launch<'a>(sources: &'a [Source], function: Option<&str>) -> Result<&'a Source, String> {
    match (sources, function) {
        ([source], None) => Ok(source),
        (_, None) => Err(format!(
            "it launches {} kernels; a column `function` says which one was measured",
            sources.len()
        )),
        (sources, Some(function)) => {
            let names: Vec<&str> =
                sources.iter().map(|source| source.profile.kernel.as_str()).collect();
            let meant = kernel_name::meant(function, &names);
            let mut meant = sources.iter().filter(|it| meant.contains(&it.profile.kernel.as_str()));
            match (meant.next(), meant.next()) {
                (Some(source), None) => Ok(source),
                (None, _) => Err(format!("it launches no kernel `{function}`")),
                (Some(_), Some(_)) => Err(format!("it launches `{function}` several times")),
            }
        }
    }
}
