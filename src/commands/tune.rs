//! `gpucast tune`: the configurations of a kernel, ranked by models.

mod cache;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::CudaOptions;
use gpucast_forecast::input::module_text;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::tune::kernel_tuner::{self, Entry};
use gpucast_forecast::tune::{Space, Tuning, ktt};
use gpucast_forecast::{Supervisor as _, number};
use gpucast_render::json;
use gpucast_render::tuning::{self, Tuned};
use gpucast_toolchain::compiler::CommandLine;

use crate::cli::tune::Tune;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal, diagnostic};
use crate::{interrupt, project, trust};
use cache::Cache;

pub(crate) fn run(arguments: &Tune) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let space = Space::read(&arguments.space)?;
    if let Some(program) = space.compile.as_ref().and_then(|words| words.first()) {
        trust::check_program(&arguments.space, space.text().as_bytes(), program)?;
    }
    let configurations = space.configurations()?;
    let models = arguments.prediction.models()?;
    let library = gpu_argument::library()?;
    let gpu = gpu_argument::find(&library, &arguments.gpu)?;
    let gpu = arguments.measurement.running().of(gpu)?;
    let count_on = arguments.prediction.count_on(&library)?;
    gpu_argument::device_model(count_on.of(&gpu, &models.of(&gpu)))?;
    let measured = arguments.measured.as_deref().map(|path| measured(path, &space)).transpose()?;
    let mut output = Output::open(arguments.output.output.clone())?;
    let mut of_ktt = arguments.ktt.clone().map(|path| Output::open(Some(path))).transpose()?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let mut cuda = CudaOptions::from(&arguments.cuda);
    cuda.suggest_for(std::slice::from_ref(&gpu));
    if let Some(words) = &space.compile {
        cuda.compiler = Some(Arc::new(CommandLine::new(words.clone(), interrupt::stop())));
    }
    let launch = LaunchOptions { cuda, project: project::current(), ..LaunchOptions::default() };
    let counts = Counts {
        machine: (&arguments.machine).into(),
        execution: (&arguments.execution).into(),
        ..Counts::default()
    };
    let tuning = Tuning {
        space: &space,
        gpu: &gpu,
        models: &models,
        count_on: &count_on,
        counts: &counts,
        timing: arguments.measurement.timing(),
        launch: &launch,
        supervisor: &terminal,
    };
    let model_names = tuning.models();
    let mut cache = match &arguments.cache {
        Some(path) => Some(Cache::open(path, &space, &gpu.display_name, &model_names)?),
        None => None,
    };
    let mut trials = Vec::new();
    for (index, configuration) in configurations.iter().enumerate() {
        let known = cache.as_ref().and_then(|cache| cache.trial(configuration));
        if let Some(trial) = known {
            trials.push(trial);
            continue;
        }
        terminal.part(index, configurations.len());
        match tuning.try_one(configuration) {
            Ok(trial) => {
                if let Some(cache) = &mut cache {
                    cache.add(&trial)?;
                }
                trials.push(trial);
            }
            Err(failure) => {
                let resume = match &arguments.cache {
                    Some(_) => "; the same command continues",
                    None => "; with --cache FILE it could be continued",
                };
                diagnostic::note(&format!(
                    "the tuning was stopped after {} of {} configurations{resume}",
                    number::count(trials.len() as u64),
                    number::count(configurations.len() as u64)
                ));
                return Err(failure.into());
            }
        }
    }
    if let Some(cache) = cache {
        cache.finish()?;
    }
    if let (Some(of_ktt), Some(&model)) = (&mut of_ktt, model_names.first()) {
        let now = SystemTime::now();
        let document = ktt::document(&space, &gpu.display_name, model, &trials, now);
        of_ktt.write(&json::document(&document)?)?;
    }
    let tuned = Tuned {
        space: &space,
        gpu: &gpu.name,
        models: &model_names,
        trials: &trials,
        measured: measured.as_ref(),
    };
    output.write(&tuning::document(&tuned, arguments.output.format, arguments.top)?)?;
    // Each configuration has said why it has no time.
    if trials.iter().any(|trial| trial.outcome.is_ok()) { Ok(()) } else { Err(Failure::Said) }
}

/// The measured times of another tuner's file, by the configurations' keys.
fn measured(path: &Path, space: &Space) -> Result<BTreeMap<String, f64>, Report> {
    let text = module_text::read_text(path)?;
    if let Ok(document) = serde_json::from_str(&text.text)
        && ktt::is_one(&document)
    {
        return ktt::read(&text.name, &document, space);
    }
    let file = kernel_tuner::read(&text.name, &text.text, space)?;
    let time = |(key, entry): (String, Entry)| Some((key, entry.time_ms?));
    Ok(file.entries.into_iter().filter_map(time).collect())
}
