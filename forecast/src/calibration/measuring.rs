//! Samples of kernels that are executed and timed by a GPU or a model of one.
//!
//! This is the road of Stevens and Klöckner 2020, figure 3. Where a model stands in the place of
//! the GPU, the fitted parameters are those of that model's GPU, not of the real one.

use gpucast_counters::hierarchy::L2Contents;
use gpucast_model::cost_model::{Formula, Names, Sample};
use gpucast_model::{Gpu, ModelError, Needs};
use serde::Serialize;

use crate::choice::model_choice::{Chosen, Models};
use crate::failure::{Failure, Report};
use crate::input::plan::Plan;
use crate::run::sources::{self, Counts, Source};
use crate::run::supervisor::Supervisor;

/// A kernel that is to be measured.
pub trait Measurable {
    /// The tags that choose it alone.
    fn tags(&self) -> String;

    /// Its plan, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// A kernel that cannot be read.
    fn plan(&self) -> Result<Result<Plan, String>, Failure>;
}

/// What times kernels: a model, or a GPU.
pub trait Timer {
    /// Its name in results.
    fn name(&self) -> String;

    /// What it reads beyond metrics.
    fn needs(&self) -> Needs;

    /// True if it measures, and may leave anomalous trials out.
    fn measures(&self) -> bool;

    /// The time of a launch, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// What no other kernel would avoid.
    fn time(&mut self, plan: &Plan, source: &Source) -> Result<Result<Timed, String>, Failure>;
}

/// A time, and the trials that it leaves out as anomalous.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// The time.
    pub seconds: f64,
    /// Trials.
    pub excluded: usize,
}

/// The measurement kernels of a calibration.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// The tags as they were given.
    pub tags: Vec<String>,
    /// The model that gave the times, or the device.
    pub model: String,
    /// The GPU for which the calibration holds.
    pub gpu: String,
    /// Kernels that are samples.
    pub kernels: usize,
    /// Trials of a device that its means leave out as anomalous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded: Option<usize>,
    /// The others.
    pub left_out: Vec<LeftOut>,
}

/// A kernel that tags choose and that is no sample.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The tags that choose it alone.
    pub tags: String,
    /// The reason.
    pub reason: String,
}

impl Made {
    /// The origin of the parameters, for the model file.
    pub fn origin(&self) -> String {
        let Self { model, gpu, kernels, tags, excluded, .. } = self;
        let tags = tags.join(" | ");
        let measured = if excluded.is_some() { "" } else { ", none measured" };
        format!("times by {model} for {gpu}{measured}: {kernels} kernels of {tags}")
    }
}

/// A model in the place of a GPU.
pub struct ModelTimer {
    chosen: Chosen,
    gpu: Gpu,
}

/// Advice for a GPU that a model declines.
const OTHER_MODEL: &str =
    "name a newer GPU, or another model, such as --on component-throughput:tesla-c2070";

impl ModelTimer {
    /// A model by its name, for a GPU.
    ///
    /// # Errors
    ///
    /// No model, several ones, and one that is to be calibrated itself.
    pub fn new(name: &str, gpu: Gpu) -> Result<Self, Failure> {
        let [chosen] = Models::read(&[name.to_owned()], &[])?.of(&gpu)[..] else {
            let report = Report::new("a sample has one time, so one model gives it");
            return Err(Failure::Usage(report.hint("write --on sm-simulation:titan-v")));
        };
        if chosen.model.needs().features {
            let report = Report::new(format!("{} is what is calibrated", chosen.model.name()));
            return Err(Failure::Usage(report.hint("name a model that needs no calibration")));
        }
        Ok(Self { chosen, gpu })
    }
}

impl Timer for ModelTimer {
    fn name(&self) -> String {
        self.chosen.model.name().to_owned()
    }

    fn needs(&self) -> Needs {
        self.chosen.model.needs()
    }

    fn measures(&self) -> bool {
        false
    }

    fn time(&mut self, _: &Plan, source: &Source) -> Result<Result<Timed, String>, Failure> {
        match self.chosen.model.time_ms(&source.profile, &self.gpu, &source.conditions) {
            Ok(time_ms) => Ok(Ok(Timed { seconds: time_ms * 1e-3, excluded: 0 })),
            // No other kernel will fare better.
            Err(error @ ModelError::OlderGeneration { .. }) => {
                Err(Report::new(error.to_string()).hint(OTHER_MODEL).into())
            }
            Err(error) => Ok(Err(error.to_string())),
        }
    }
}

/// A kernel as a sample, or the reason why it is none.
enum Outcome {
    Sample(Sample),
    LeftOut(String),
}

/// The making of samples.
pub struct Sampling<'a> {
    /// The formula whose features are gathered.
    pub formula: &'a Formula,
    /// The names that its features use.
    pub names: &'a Names,
    /// The GPU for which the calibration holds.
    pub gpu: &'a Gpu,
    /// What times kernels.
    pub timer: &'a mut dyn Timer,
    /// The contents of the L2 when a kernel begins, if somebody says them.
    pub l2: Option<L2Contents>,
    /// The machine code and the limits of executions.
    pub counts: &'a Counts,
    /// Hears of progress and can end the executions.
    pub supervisor: &'a dyn Supervisor,
}

impl Sampling<'_> {
    /// Executes the kernels that `tags` chose: their features, and the times of the timer.
    ///
    /// # Errors
    ///
    /// A GPU that the model declines, a device that fails, and no kernel that is a sample.
    pub fn samples(
        &mut self,
        kernels: &[impl Measurable],
        tags: &[String],
    ) -> Result<(Vec<Sample>, Made), Failure> {
        let mut samples = Vec::new();
        let mut left_out = Vec::new();
        let mut excluded = 0;
        for (index, kernel) in kernels.iter().enumerate() {
            if kernels.len() > 1 {
                self.supervisor.part(index, kernels.len());
            }
            match self.sample(kernel, &mut excluded)? {
                Outcome::Sample(sample) => samples.push(sample),
                Outcome::LeftOut(reason) => left_out.push(LeftOut { tags: kernel.tags(), reason }),
            }
        }
        if let (true, Some(first)) = (samples.is_empty(), left_out.first()) {
            return Err(Report::new(format!("{}: {}", first.tags, first.reason)).into());
        }
        let made = Made {
            tags: tags.to_vec(),
            model: self.timer.name(),
            gpu: self.gpu.name.clone(),
            kernels: samples.len(),
            excluded: self.timer.measures().then_some(excluded),
            left_out,
        };
        Ok((samples, made))
    }

    /// One kernel. `all_excluded` are the trials that were left out.
    fn sample(
        &mut self,
        kernel: &impl Measurable,
        all_excluded: &mut usize,
    ) -> Result<Outcome, Failure> {
        let mut plan = match kernel.plan()? {
            Ok(plan) => plan,
            Err(reason) => return Ok(Outcome::LeftOut(reason)),
        };
        plan.l2 = self.l2.unwrap_or(match plan.l2 {
            // A device and a model would keep different things: the trial before, and nothing.
            L2Contents::Keep => L2Contents::Cold,
            said => said,
        });
        if plan.launches.len() > 1 {
            return Ok(Outcome::LeftOut("a sample has one launch".to_owned()));
        }
        let needs = self.timer.needs() | Needs::FEATURES;
        let counts = Counts { needs, ..self.counts.clone() };
        let launched = sources::counted(&plan, self.gpu, &counts, self.supervisor)?;
        let name = kernel.tags();
        let Some(source) = launched.into_iter().next() else {
            return Ok(Outcome::LeftOut("nothing is launched".to_owned()));
        };
        let Timed { seconds, excluded } = match self.timer.time(&plan, &source)? {
            Ok(timed) => timed,
            Err(reason) => return Ok(Outcome::LeftOut(reason)),
        };
        *all_excluded += excluded;
        let gathered = source.conditions.evidence.features.as_deref().into_iter().flatten().next();
        let Some((gathered, _)) = gathered else {
            return Ok(Outcome::LeftOut("its features cannot be gathered".to_owned()));
        };
        let mut features = Vec::new();
        for feature in self.formula.features() {
            features.push(
                feature
                    .value(gathered, self.names)
                    .map_err(|error| Report::new(format!("{name}: {error}")).hint(error.hint()))?,
            );
        }
        Ok(Outcome::Sample(Sample { name, features, output: seconds }))
    }
}
