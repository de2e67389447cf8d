//! One configuration: compiled, executed, and predicted by each model.

use gpucast_model::timing::MeasuredLaunches;
use gpucast_model::{AskedTiming, Gpu};
use serde::{Deserialize, Serialize};

use super::{Configuration, Space};
use crate::choice::count_on::CountOn;
use crate::choice::model_choice::{self, Models};
use crate::failure::Failure;
use crate::prediction::together::shown_ms;
use crate::run::kernel::Kernel;
use crate::run::sources::{Counts, Source};
use crate::run::supervisor::Supervisor;
use crate::settings::LaunchOptions;

/// Everything by which configurations are tried.
pub struct Tuning<'a> {
    /// The space.
    pub space: &'a Space,
    /// The GPU.
    pub gpu: &'a Gpu,
    /// The models.
    pub models: &'a Models,
    /// The GPU whose counters are modelled.
    pub count_on: &'a CountOn,
    /// Settings by which launches are executed and counted.
    pub counts: &'a Counts,
    /// The way of measuring whose fixed part is added.
    pub timing: AskedTiming,
    /// The compiler's options; macros of the configuration are added.
    pub launch: &'a LaunchOptions,
    /// Hears of progress and can end the tuning.
    pub supervisor: &'a dyn Supervisor,
}

/// The result of a configuration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// The configuration.
    pub configuration: Configuration,
    /// Its launches, as far as it came.
    pub launches: Vec<TriedLaunch>,
    /// The times by model, in the order of the models, or why there are none.
    pub outcome: Result<Vec<ModelTime>, Trouble>,
}

/// A launch of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TriedLaunch {
    /// The kernel.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
}

/// The time of a configuration by one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTime {
    /// The model.
    pub model: String,
    /// The time of all launches in milliseconds, to twelve digits; or why there is none.
    pub time_ms: Result<f64, String>,
}

/// Reason why a configuration has no times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It does not compile, or its launch makes no sense.
    Compilation(String),
    /// It does not run.
    Execution(String),
}

impl Trouble {
    /// The reason in words.
    pub fn reason(&self) -> &str {
        match self {
            Self::Compilation(reason) | Self::Execution(reason) => reason,
        }
    }
}

impl Trial {
    /// A configuration that was predicted elsewhere: its time in milliseconds by a model, or why it
    /// has none.
    pub fn of_time(
        configuration: Configuration,
        model: &str,
        time_ms: Result<f64, String>,
    ) -> Self {
        let outcome = match time_ms {
            Ok(time_ms) => Ok(vec![ModelTime { model: model.to_owned(), time_ms: Ok(time_ms) }]),
            Err(reason) => Err(Trouble::Execution(reason)),
        };
        Self { configuration, launches: Vec::new(), outcome }
    }

    /// The time by a model.
    pub fn time_ms(&self, model: &str) -> Option<f64> {
        let times = self.outcome.as_ref().ok()?;
        times.iter().find(|time| time.model == model)?.time_ms.as_ref().ok().copied()
    }
}

/// A time to twelve digits. More of them would not survive a file of text.
pub(super) fn rounded(time_ms: f64) -> f64 {
    format!("{time_ms:.11e}").parse().unwrap_or(time_ms)
}

impl Tuning<'_> {
    /// The names of the models, in order.
    pub fn models(&self) -> Vec<&'static str> {
        self.models.of(self.gpu).iter().map(|chosen| chosen.model.name()).collect()
    }

    /// Compiles, executes and predicts a configuration.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] if the supervisor says so, and what no other configuration would avoid.
    pub fn try_one(&self, configuration: &Configuration) -> Result<Trial, Failure> {
        let named = self.space.named(configuration);
        let mut launch = self.launch.clone();
        launch.param.extend(named.iter().map(|(name, &value)| (name.clone(), value)));
        let macros = named.iter().map(|(name, value)| format!("{name}={value}"));
        launch.cuda.parameters.extend(macros);
        let trial =
            |launches, outcome| Trial { configuration: configuration.clone(), launches, outcome };
        let kernel = match Kernel::open(&self.space.launch.display().to_string(), &launch) {
            Ok(kernel) => kernel,
            Err(failure) => {
                let trouble = Trouble::Compilation(Failure::from(failure).in_one_line()?);
                return Ok(trial(Vec::new(), Err(trouble)));
            }
        };
        let planned = kernel.plan().launches.iter();
        let launches = planned
            .map(|planned| TriedLaunch {
                kernel: planned.kernel.clone(),
                grid: planned.grid,
                block: planned.block,
            })
            .collect();
        let chosen = self.models.of(self.gpu);
        let needs = model_choice::needs(&chosen);
        let counts = Counts { needs, ..self.counts.clone() };
        let counting_gpu = self.count_on.of(self.gpu, &chosen);
        let mut sources = match kernel.count_with(counting_gpu, &counts, self.supervisor) {
            Ok(sources) => sources,
            Err(failure) => {
                let trouble = Trouble::Execution(failure.in_one_line()?);
                return Ok(trial(launches, Err(trouble)));
            }
        };
        let refused = |source: &Source| source.conditions.launch?.surely_refused_by(self.gpu);
        if let Some(refused) = sources.iter().find_map(refused) {
            return Ok(trial(launches, Err(Trouble::Execution(refused.to_string()))));
        }
        sources.iter_mut().for_each(|source| source.ask(self.timing));
        let timing = sources.first().and_then(|source| source.conditions.timing);
        let times = chosen
            .iter()
            .map(|entry| {
                let time = |source: &Source| {
                    entry
                        .answer(|model| {
                            model.time_ms(&source.profile, self.gpu, &source.conditions)
                        })
                        .map(|answer| MeasuredLaunches {
                            time_ms: answer.value,
                            launches: source.profile.invocations,
                        })
                        .map_err(|error| error.to_string())
                };
                let timing = timing.filter(|_| !entry.model.includes_launches());
                let times: Result<Vec<_>, String> = sources.iter().map(time).collect();
                let total = times.and_then(|times| match times.as_slice() {
                    [launch] => Ok(launch.time_ms),
                    launches => {
                        shown_ms(timing, self.gpu, launches).map_err(|error| error.to_string())
                    }
                });
                ModelTime { model: entry.model.name().to_owned(), time_ms: total.map(rounded) }
            })
            .collect();
        Ok(trial(launches, Ok(times)))
    }
}
