//! `gpucast tune`: the configurations of a kernel, ranked by models.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::CudaOptions;
use gpucast_forecast::input::module_text;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::tune::kernel_tuner::{self, Entry};
use gpucast_forecast::tune::{Configuration, Space, Trial, Tuning, ktt};
use gpucast_forecast::{Supervisor as _, number};
use gpucast_render::json;
use gpucast_render::tuning::{self, Tuned};
use gpucast_toolchain::compiler::CommandLine;

use crate::cli::tune::Tune;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal, diagnostic};
use crate::{interrupt, project};

pub(crate) fn run(arguments: &Tune) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let space = Space::read(&arguments.space)?;
    let configurations = space.configurations()?;
    let models = arguments.prediction.models()?;
    let library = gpu_argument::library()?;
    let gpu = gpu_argument::find(&library, &arguments.gpu)?;
    let gpu = gpu_argument::at_clock(gpu, arguments.measurement.clock)?;
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
                    cache.add(&space, &trial)?;
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

/// A cache file of Kernel Tuner that gets an entry for each configuration as it is tried.
struct Cache {
    path: PathBuf,
    file: File,
    /// The text that the file holds, without its end.
    length: u64,
    /// Entries that were there.
    entries: BTreeMap<String, Entry>,
    models: Vec<&'static str>,
}

impl Cache {
    /// Opens a file, or begins one.
    fn open(
        path: &Path,
        space: &Space,
        device: &str,
        models: &[&'static str],
    ) -> Result<Self, Failure> {
        let unwritten = |error: std::io::Error| Report::file("write", path, &error);
        let (text, entries) = if path.exists() {
            let there = module_text::read_text(path)?;
            let read = kernel_tuner::read(&there.name, &there.text, space)?;
            let is_measured = |entry: &Entry| entry.time_ms.is_some() && entry.by_model.is_empty();
            let of_others = if read.device != device {
                Some(format!("{} is of the GPU {}", path.display(), read.device))
            } else if read.entries.values().any(is_measured) {
                Some(format!("{} has times that were not predicted here", path.display()))
            } else {
                None
            };
            if let Some(message) = of_others {
                let hint = "name another file, or compare with this one by --measured";
                return Err(Report::new(message).hint(hint).into());
            }
            (kernel_tuner::without_end(&there.text), read.entries)
        } else {
            (kernel_tuner::header(space, device)?, BTreeMap::new())
        };
        fs::write(path, &text).map_err(unwritten)?;
        let file = File::options().append(true).open(path).map_err(unwritten)?;
        let (path, length) = (path.to_owned(), text.len() as u64);
        Ok(Self { path, file, length, entries, models: models.to_vec() })
    }

    /// What the file says of a configuration, if it has every model's time or a reason.
    fn trial(&self, configuration: &Configuration) -> Option<Trial> {
        let entry = self.entries.get(&configuration.key())?;
        entry.trial(configuration, &self.models)
    }

    fn add(&mut self, space: &Space, trial: &Trial) -> Result<(), Report> {
        self.write(&kernel_tuner::entry(space, trial, SystemTime::now()))
    }

    fn write(&mut self, text: &str) -> Result<(), Report> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| Report::file("write", &self.path, &error))?;
        self.length += text.len() as u64;
        Ok(())
    }

    /// Completes the file: the last entry has no comma.
    fn finish(mut self) -> Result<(), Report> {
        let comma = ",\n".len() as u64;
        let shorter = self.file.set_len(self.length - comma);
        shorter.map_err(|error| Report::file("write", &self.path, &error))?;
        self.write(kernel_tuner::END)
    }
}
