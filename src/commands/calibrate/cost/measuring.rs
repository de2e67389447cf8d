//! Samples of measurement kernels: made by tags, executed, and timed by a model of a GPU.
//!
//! This is the road of Stevens and Klöckner 2020, figure 3, with a model in the place of the GPU.
//! The fitted parameters are then those of that model's GPU, not of the real one.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_collection::{Choice, Request, Target, Unfit};
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{Chosen, Models};
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::input::template::TemplateKernel;
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_model::cost_model::{Formula, Names, Sample};
use gpucast_model::{Gpu, GpuLibrary, ModelError, Needs};
use gpucast_render::table::wrapped;
use serde::Serialize;

use crate::cli::CalibrateCost;
use crate::commands::kernels;
use crate::failure::{Failure, Report, SourceText};
use crate::output::Terminal;

/// The kernels that are to be measured, and the model that times them.
pub(super) struct Measuring {
    /// The tags as they were given.
    tags: Vec<String>,
    kernels: Vec<Measured>,
    model: Chosen,
    gpu: Gpu,
    target: Target,
}

/// The measurement kernels of a calibration.
#[derive(Serialize)]
pub(super) struct Made {
    /// The tags as they were given.
    tags: Vec<String>,
    /// The model that gave the times.
    model: &'static str,
    gpu: String,
    /// Kernels that are samples.
    kernels: usize,
    left_out: Vec<LeftOut>,
}

/// A kernel that tags choose and that is no sample.
#[derive(Serialize)]
struct LeftOut {
    tags: String,
    reason: String,
}

/// A kernel that is to be measured.
enum Measured {
    /// One of the collection.
    Choice(Choice),
    /// One of the user's own generator.
    Own(TemplateKernel),
}

impl Measured {
    /// The tags that choose it alone.
    fn tags(&self) -> String {
        match self {
            Self::Choice(choice) => choice.tags(),
            Self::Own(kernel) => kernel.tags(),
        }
    }

    /// Its plan for a target, or the reason why there is none.
    fn plan(&self, target: Target) -> Result<Result<Plan, String>, Failure> {
        match self {
            Self::Own(kernel) => Ok(Ok(kernel.plan(Some(&target.to_string()))?)),
            Self::Choice(choice) => {
                let file = choice.file_name();
                let texts = match choice.texts(target, &format!("{file}.ptx")) {
                    Ok(texts) => texts,
                    Err(Unfit { reason }) => return Ok(Err(reason)),
                };
                let module = SourceText::new(format!("{file}.ptx"), texts.ptx);
                let launch = SourceText::new(format!("{file}.toml"), texts.launch);
                Ok(Ok(kernel_argument::of_texts(launch, module, Path::new(""), &[])?))
            }
        }
    }
}

/// A kernel as a sample, or the reason why it is none.
enum Outcome {
    Sample(Sample),
    LeftOut(String),
}

impl Measuring {
    /// Reads `--measure`, `--match` and `--on`.
    ///
    /// # Errors
    ///
    /// No `--on`, tags that choose nothing, and a model or GPU that is not known.
    pub(super) fn new(arguments: &CalibrateCost, library: &GpuLibrary) -> Result<Self, Failure> {
        let mut all: Vec<Measured> = Vec::new();
        for tags in &arguments.measure {
            let words: Vec<&str> = tags.split_whitespace().collect();
            let request = Request::parse(&words, arguments.condition.into());
            let request = request.map_err(kernels::report)?;
            let chosen: Vec<Measured> = match kernels::template::kernels(&request)? {
                Some(own) => own.kernels.into_iter().map(Measured::Own).collect(),
                None => {
                    let choices = request.choices().map_err(kernels::report)?;
                    choices.into_iter().map(Measured::Choice).collect()
                }
            };
            for kernel in chosen {
                // Two sets may choose the same kernel, which is still one sample.
                if all.iter().all(|other| other.tags() != kernel.tags()) {
                    all.push(kernel);
                }
            }
        }
        let Some(on) = &arguments.on else {
            let report = Report::new("kernels cannot be timed on a GPU yet");
            return Err(Failure::Usage(report.hint(
                "name a model that times them and its GPU, such as --on sm-simulation:titan-v",
            )));
        };
        let Some((model, gpu)) = on.split_once(':') else {
            let report = Report::new(format!("`{on}` is not a model and its GPU"));
            return Err(Failure::Usage(report.hint("write --on sm-simulation:titan-v")));
        };
        let gpu = gpu_argument::find(library, gpu)?;
        let [model] = Models::read(&[model.to_owned()], &[])?.of(&gpu)[..] else {
            let report = Report::new("a sample has one time, so one model gives it");
            return Err(Failure::Usage(report.hint("write --on sm-simulation:titan-v")));
        };
        if model.model.needs().features {
            let report = Report::new(format!("{} is what is calibrated", model.model.name()));
            return Err(Failure::Usage(report.hint("name a model that needs no calibration")));
        }
        let capability = gpu_argument::device_model(&gpu)?.capability;
        let target = Target::new(capability.major * 10 + capability.minor);
        Ok(Self { tags: arguments.measure.clone(), kernels: all, model, gpu, target })
    }

    /// Executes the kernels: their features, and the times that the model gives them.
    ///
    /// # Errors
    ///
    /// A GPU that the model declines, and no kernel that is a sample.
    pub(super) fn samples(
        &self,
        formula: &Formula,
        names: &Names,
        arguments: &CalibrateCost,
    ) -> Result<(Vec<Sample>, Made), Failure> {
        let terminal = Terminal::without_notes(&arguments.execution)?;
        let counts = Counts {
            machine: (&arguments.machine).into(),
            execution: (&arguments.execution).into(),
            needs: self.model.model.needs() | Needs::FEATURES,
            ..Counts::default()
        };
        let mut samples = Vec::new();
        let mut left_out = Vec::new();
        for (index, kernel) in self.kernels.iter().enumerate() {
            if self.kernels.len() > 1 {
                terminal.part(index, self.kernels.len());
            }
            match self.sample(kernel, formula, names, &counts, &terminal)? {
                Outcome::Sample(sample) => samples.push(sample),
                Outcome::LeftOut(reason) => {
                    left_out.push(LeftOut { tags: kernel.tags(), reason });
                }
            }
        }
        if let (true, Some(first)) = (samples.is_empty(), left_out.first()) {
            return Err(Report::new(format!("{}: {}", first.tags, first.reason)).into());
        }
        let made = Made {
            tags: self.tags.clone(),
            model: self.model.model.name(),
            gpu: self.gpu.name.clone(),
            kernels: samples.len(),
            left_out,
        };
        Ok((samples, made))
    }

    fn sample(
        &self,
        kernel: &Measured,
        formula: &Formula,
        names: &Names,
        counts: &Counts,
        terminal: &Terminal,
    ) -> Result<Outcome, Failure> {
        let plan = match kernel.plan(self.target)? {
            Ok(plan) => plan,
            Err(reason) => return Ok(Outcome::LeftOut(reason)),
        };
        if plan.launches.len() > 1 {
            return Ok(Outcome::LeftOut("a sample has one launch".to_owned()));
        }
        let launched = sources::counted(&plan, &self.gpu, counts, terminal)?;
        let name = kernel.tags();
        let Some(source) = launched.into_iter().next() else {
            return Ok(Outcome::LeftOut("nothing is launched".to_owned()));
        };
        let prediction =
            match self.model.model.predict(&source.profile, &self.gpu, &source.conditions) {
                Ok(prediction) => prediction,
                // No other kernel will fare better.
                Err(error @ ModelError::OlderGeneration { .. }) => {
                    return Err(Report::new(error.to_string()).hint(OTHER_MODEL).into());
                }
                Err(error) => return Ok(Outcome::LeftOut(error.to_string())),
            };
        let gathered = source.conditions.features.as_deref().into_iter().flatten().next();
        let Some((gathered, _)) = gathered else {
            return Ok(Outcome::LeftOut("its features cannot be gathered".to_owned()));
        };
        let mut features = Vec::new();
        for feature in formula.features() {
            features.push(
                feature
                    .value(gathered, names)
                    .map_err(|error| Report::new(format!("{name}: {error}")).hint(error.hint()))?,
            );
        }
        Ok(Outcome::Sample(Sample { name, features, output: prediction.time_ms * 1e-3 }))
    }

    /// The GPU for which the calibration holds.
    pub(super) fn into_gpu(self) -> Gpu {
        self.gpu
    }
}

/// Advice for a GPU that a model declines.
const OTHER_MODEL: &str =
    "name a newer GPU, or another model, such as --on component-throughput:tesla-c2070";

impl Made {
    /// The origin of the parameters, for the model file.
    pub(super) fn origin(&self) -> String {
        let Self { model, gpu, kernels, tags, .. } = self;
        let tags = tags.join(" | ");
        format!("times by {model} for {gpu}, none measured: {kernels} kernels of {tags}")
    }

    /// How many kernels were measured and left out, and why.
    pub(super) fn described(&self) -> String {
        let Self { model, gpu, kernels, left_out, .. } = self;
        let word = if *kernels == 1 { "kernel" } else { "kernels" };
        let mut text = format!("{kernels} measurement {word}, timed by {model} for {gpu}.\n");
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for one in left_out {
            *reasons.entry(&one.reason).or_default() += 1;
        }
        for (reason, number) in reasons {
            text += &wrapped("left out: ", 10, 96, &format!("{number}, because {reason}"));
        }
        text.push('\n');
        text
    }
}
