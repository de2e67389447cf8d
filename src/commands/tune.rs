//! `gpucast tune`: the configurations of a kernel, ranked by models.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::CudaOptions;
use gpucast_forecast::number;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::tune::{Cache, Parameter, Space, Trial, Tuning, ktt, measured};
use gpucast_render::tuning::{self, Tuned};
use gpucast_render::{Format, json};
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
    let output = Output::open(arguments.output.output.clone())?;
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
    let ranking = Arc::new(Mutex::new(Ranking {
        parameters: space.parameters.clone(),
        gpu: gpu.name.clone(),
        models: model_names.clone(),
        configurations: configurations.len(),
        trials: Vec::new(),
        measured,
        is_kept: cache.is_some(),
        form: Form {
            format: arguments.output.format,
            top: arguments.top,
            propose: arguments.propose,
        },
        output: Some(output),
    }));
    let early = Arc::clone(&ranking);
    interrupt::before_the_end(move || {
        // There is nobody left to hear of a failure.
        let _ = locked(&early).stopped();
    });
    let tried = tuning.try_all(&configurations, cache.as_mut(), |trial| {
        locked(&ranking).trials.push(trial);
    });
    let mut ranking = locked(&ranking);
    if let Err(failure) = tried {
        ranking.stopped()?;
        return Err(failure.into());
    }
    if let Some(cache) = cache {
        cache.finish()?;
    }
    if let (Some(of_ktt), Some(&model)) = (&mut of_ktt, model_names.first()) {
        let now = SystemTime::now();
        let document = ktt::document(&space, &gpu.display_name, model, &ranking.trials, now);
        of_ktt.write(&json::document(&document)?)?;
    }
    ranking.write()?;
    // Each configuration has said why it has no time.
    let has_time = ranking.trials.iter().any(|trial| trial.outcome.is_ok());
    if has_time { Ok(()) } else { Err(Failure::Said) }
}

/// What is known so far, to be written once: at the end, or when a signal ends the program.
struct Ranking {
    parameters: Vec<Parameter>,
    gpu: String,
    models: Vec<&'static str>,
    configurations: usize,
    trials: Vec<Trial>,
    measured: Option<BTreeMap<String, f64>>,
    /// True if a cache file has the trials, too.
    is_kept: bool,
    form: Form,
    /// Nothing once it is written.
    output: Option<Output>,
}

/// How the ranking is shown.
struct Form {
    format: Format,
    top: usize,
    propose: usize,
}

impl Ranking {
    fn write(&mut self) -> Result<(), Failure> {
        let Some(mut output) = self.output.take() else { return Ok(()) };
        let tuned = Tuned {
            parameters: &self.parameters,
            gpu: &self.gpu,
            models: &self.models,
            trials: &self.trials,
            configurations: self.configurations,
            propose: self.form.propose,
            measured: self.measured.as_ref(),
        };
        output.write(&tuning::document(&tuned, self.form.format, self.form.top)?)
    }

    /// Says how far the tuning came, and writes the ranking of what was tried.
    fn stopped(&mut self) -> Result<(), Failure> {
        if self.output.is_none() {
            return Ok(());
        }
        let resume = match self.is_kept {
            true => "; the same command continues",
            false => "; with --cache FILE it could be continued",
        };
        diagnostic::note(&format!(
            "the tuning was stopped after {} of {} configurations{resume}",
            number::count(self.trials.len() as u64),
            number::count(self.configurations as u64)
        ));
        if self.trials.is_empty() { Ok(()) } else { self.write() }
    }
}

fn locked(ranking: &Mutex<Ranking>) -> MutexGuard<'_, Ranking> {
    ranking.lock().unwrap_or_else(PoisonError::into_inner)
}
