//! `gpucast compare`: predicted times against measured ones.

use std::path::PathBuf;

use gpucast_corpus::published::metrics as published_counts;
use gpucast_forecast::Kernel;
use gpucast_forecast::choice::gpu_argument::{self, TARGET};
use gpucast_forecast::choice::model_choice::{self, Chosen};
use gpucast_forecast::comparison::{Comparison, Row};
use gpucast_forecast::input::measurements::{self, Measured};
use gpucast_forecast::input::{kernel_name, module_text};
use gpucast_forecast::published;
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_forecast::settings::{LaunchOptions, Size};
use gpucast_model::{Conditions, Gpu, GpuLibrary, Timing, Warning};
use gpucast_render::comparison;

use crate::cli::Compare;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

/// A measured time, wherever it comes from.
struct Time {
    counts: Origin,
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

/// Source of the counts; equal ones are taken once.
#[derive(Clone, Debug, PartialEq)]
enum Origin {
    Executed {
        input: String,
        size: Option<Size>,
        parameters: Vec<(String, f64)>,
        count_on: String,
    },
    File(PathBuf),
    Published(&'static str),
    /// A kernel that only its publication has.
    Nowhere,
}

pub(crate) fn run(arguments: Compare) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let mut models = model_choice::read(&arguments.prediction.models.model)?;
    model_choice::refine(&mut models, &arguments.prediction.refinements.refine)?;
    let library = gpu_argument::library()?;
    if arguments.prediction.count_on != TARGET {
        gpu_argument::find(&library, &arguments.prediction.count_on)?;
    }
    let times = match &arguments.measured {
        Some(path) => {
            let text = module_text::read_text(path)?;
            let measured = measurements::read(&text, path)?;
            let times = measured.into_iter().map(|one| of_file(one, &arguments, &library));
            times.collect::<Result<Vec<Time>, Report>>()?
        }
        None => of_publications(&arguments, &library),
    };
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::without_notes(&arguments.execution)?;
    let mut counted: Vec<(Origin, Result<Vec<Source>, String>)> = Vec::new();
    let mut rows = Vec::new();
    for time in &times {
        if !counted.iter().any(|(counts, _)| *counts == time.counts) {
            let sources = count(&time.counts, &arguments, &models, &library, &terminal)?;
            counted.push((time.counts.clone(), sources));
        }
        let sources = counted.iter().find(|(counts, _)| *counts == time.counts);
        if let Some((_, sources)) = sources {
            rows.extend(models.iter().map(|model| row(time, sources, model)));
        }
    }
    output.write(&comparison::document(&Comparison::new(rows), arguments.output.format)?)
}

fn of_file(one: Measured, arguments: &Compare, library: &GpuLibrary) -> Result<Time, Report> {
    let gpu = gpu_argument::find(library, &one.gpu)
        .and_then(|gpu| gpu_argument::at_clock(gpu, arguments.measurement.clock.or(one.clock)))
        .map_err(|report| match report.anchor {
            Some(_) => report,
            None => report.at(&one.anchor),
        })?;
    let label = match one.size {
        Some(Size::Small) => format!("{} (small)", one.kernel),
        Some(Size::Paper) | None => one.kernel.clone(),
    };
    let counts = match one.metrics {
        Some(path) => Origin::File(path),
        None => Origin::Executed {
            input: one.kernel,
            size: one.size,
            parameters: Vec::new(),
            count_on: counting_gpu(arguments, &one.gpu),
        },
    };
    Ok(Time {
        counts,
        label,
        function: one.function,
        gpu_name: gpu.name.clone(),
        gpu: Ok(gpu),
        measured_ms: one.measured_ms,
        timing: arguments.measurement.timing().or(one.timing),
        source: None,
    })
}

fn counting_gpu(arguments: &Compare, target: &str) -> String {
    match arguments.prediction.count_on.as_str() {
        TARGET => target.to_owned(),
        name => name.to_owned(),
    }
}

fn of_publications(arguments: &Compare, library: &GpuLibrary) -> Vec<Time> {
    let time = |time: &published::Published| {
        let counts = match time.entry {
            None => Origin::Nowhere,
            Some(entry) if arguments.published_counts => Origin::Published(entry),
            Some(entry) => Origin::Executed {
                input: entry.to_owned(),
                size: None,
                parameters: time.parameters.clone(),
                count_on: counting_gpu(arguments, &time.gpu),
            },
        };
        Time {
            counts,
            label: time.label(),
            function: None,
            gpu: gpu_argument::find(library, &time.gpu)
                .and_then(|gpu| {
                    gpu_argument::at_clock(gpu, arguments.measurement.clock.or(time.clock))
                })
                .map_err(|report| report.message),
            gpu_name: time.gpu.clone(),
            measured_ms: time.measured_ms,
            timing: arguments.measurement.timing().or(time.timing),
            source: Some(time.source.clone()),
        }
    };
    let words = arguments.published.as_deref().unwrap_or_default().to_lowercase();
    let is_meant = |one: &&published::Published| {
        let has_counts = || one.entry.is_none_or(|entry| published_counts(entry).is_some());
        one.source.to_lowercase().contains(&words) && (!arguments.published_counts || has_counts())
    };
    published::times().iter().filter(is_meant).map(time).collect()
}

/// The counts, or why there are none; the outer error is one that no other kernel would avoid.
fn count(
    counts: &Origin,
    arguments: &Compare,
    models: &[Chosen],
    library: &GpuLibrary,
    terminal: &Terminal,
) -> Result<Result<Vec<Source>, String>, Failure> {
    let counted = match counts {
        Origin::Nowhere => return Ok(Err("the corpus has no such kernel".to_owned())),
        Origin::File(path) => sources::from_metrics(path, None).map_err(Failure::from),
        Origin::Published(entry) => sources::from_publication(entry).map_err(Failure::from),
        Origin::Executed { input, size, parameters, count_on } => {
            let gpu = gpu_argument::find(library, count_on)?;
            // Other rows may name GPUs that can count.
            if let Err(report) = gpu_argument::device_model(&gpu) {
                return Ok(Err(report.message));
            }
            let param = parameters.clone();
            let launch = LaunchOptions { size: *size, param, ..LaunchOptions::default() };
            let counts = Counts {
                machine: (&arguments.machine).into(),
                execution: (&arguments.execution).into(),
                stages: model_choice::reads_stages(models),
                order: model_choice::reads_order(models),
                ..Counts::default()
            };
            let kernel = Kernel::open(input, &launch)?;
            kernel.count_with(&gpu, &counts, terminal).map_err(Failure::from)
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
        let predicted = chosen.model.predict(&source.profile, gpu, &conditions);
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
