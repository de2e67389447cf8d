//! `gpucast tune`: the configurations of a kernel, ranked by models.

use std::sync::Arc;
use std::time::SystemTime;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::CudaOptions;
use gpucast_forecast::number;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::tune::{Cache, Space, Tuning, ktt, measured};
use gpucast_render::json;
use gpucast_render::tuning::{self, Tuned};
use gpucast_toolchain::compiler::CommandLine;

use crate::cli::tune::Tune;
use crate::failure::Failure;
use crate::output::{Output, Terminal, diagnostic};
use crate::{interrupt, project, trust};

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
    let tried = tuning.try_all(&configurations, cache.as_mut(), |trial| trials.push(trial));
    let tuned = Tuned {
        parameters: &space.parameters,
        gpu: &gpu.name,
        models: &model_names,
        trials: &trials,
        configurations: configurations.len(),
        propose: arguments.propose,
        measured: measured.as_ref(),
    };
    let ranking = tuning::document(&tuned, arguments.output.format, arguments.top)?;
    if let Err(failure) = tried {
        let resume = match &cache {
            Some(_) => "; the same command continues",
            None => "; with --cache FILE it could be continued",
        };
        diagnostic::note(&format!(
            "the tuning was stopped after {} of {} configurations{resume}",
            number::count(trials.len() as u64),
            number::count(configurations.len() as u64)
        ));
        if !trials.is_empty() {
            output.write(&ranking)?;
        }
        return Err(failure.into());
    }
    if let Some(cache) = cache {
        cache.finish()?;
    }
    if let (Some(of_ktt), Some(&model)) = (&mut of_ktt, model_names.first()) {
        let now = SystemTime::now();
        let document = ktt::document(&space, &gpu.display_name, model, &trials, now);
        of_ktt.write(&json::document(&document)?)?;
    }
    output.write(&ranking)?;
    // Each configuration has said why it has no time.
    if trials.iter().any(|trial| trial.outcome.is_ok()) { Ok(()) } else { Err(Failure::Said) }
}
