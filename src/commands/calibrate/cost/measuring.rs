//! Samples of measurement kernels: made by tags, executed, and timed by a GPU or a model of one.
//!
//! This is the road of Stevens and Klöckner 2020, figure 3. Where a model stands in the place of
//! the GPU, the fitted parameters are those of that model's GPU, not of the real one.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_collection::{Choice, Request, Target, Unfit};
use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{Chosen, Models};
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::input::template::TemplateKernel;
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_measure::{Device as _, Trials, gpu_file, trials};
use gpucast_model::cost_model::{Formula, Names, Sample};
use gpucast_model::{Gpu, GpuLibrary, ModelError, Needs};
use gpucast_render::table::wrapped;
use gpucast_toolchain::driver;
use serde::Serialize;

use crate::cli::CalibrateCost;
use crate::commands::kernels;
use crate::failure::{Failure, Report, SourceText};
use crate::output::Terminal;

/// The kernels that are to be measured, and what times them.
pub(super) struct Measuring {
    /// The tags as they were given.
    tags: Vec<String>,
    kernels: Vec<Measured>,
    timer: Timer,
    gpu: Gpu,
    target: Target,
    /// The contents of the L2 when a kernel begins, if the user says them.
    l2: Option<L2Contents>,
}

/// What times kernels.
enum Timer {
    /// A model of a GPU.
    Model(Chosen),
    /// A GPU of this computer, by its number.
    Device { device: driver::Gpu, number: u32, trials: Trials },
}

impl Timer {
    /// Its name in results: that of a model, or `device:0`.
    fn name(&self) -> String {
        match self {
            Self::Model(model) => model.model.name().to_owned(),
            Self::Device { number, .. } => format!("{DEVICE}:{number}"),
        }
    }
}

/// The word of `--on` for a GPU of this computer.
const DEVICE: &str = "device";

/// The measurement kernels of a calibration.
#[derive(Serialize)]
pub(super) struct Made {
    /// The tags as they were given.
    tags: Vec<String>,
    /// The model that gave the times, or the device.
    model: String,
    gpu: String,
    /// Kernels that are samples.
    kernels: usize,
    /// Trials of a device that its means leave out as anomalous.
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<usize>,
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

/// A time, and the trials that it leaves out as anomalous.
struct Timed {
    seconds: f64,
    excluded: usize,
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
            let report = Report::new("nothing is said to time the kernels");
            return Err(Failure::Usage(report.hint(
                "name a GPU of this computer, such as --on device:0, or a model and its GPU, such as \
                 --on sm-simulation:titan-v",
            )));
        };
        let Some((timer, named)) = on.split_once(':') else {
            let report = Report::new(format!("`{on}` is neither a device nor a model and its GPU"));
            let hint = "write --on device:0 or --on sm-simulation:titan-v";
            return Err(Failure::Usage(report.hint(hint)));
        };
        let (timer, gpu) = match timer {
            DEVICE => of_device(named, arguments)?,
            model => of_model(model, gpu_argument::find(library, named)?)?,
        };
        let capability = gpu_argument::device_model(&gpu)?.capability;
        let target = Target::from(capability);
        let l2 = arguments.l2.map(Into::into);
        Ok(Self { tags: arguments.measure.clone(), kernels: all, timer, gpu, target, l2 })
    }

    /// Executes the kernels: their features, and the times that the model or device gives them.
    ///
    /// # Errors
    ///
    /// A GPU that the model declines, a device that fails, and no kernel that is a sample.
    pub(super) fn samples(
        &mut self,
        formula: &Formula,
        names: &Names,
        arguments: &CalibrateCost,
    ) -> Result<(Vec<Sample>, Made), Failure> {
        let terminal = Terminal::without_notes(&arguments.execution)?;
        let counts = Counts {
            machine: (&arguments.machine).into(),
            execution: (&arguments.execution).into(),
            needs: match &self.timer {
                Timer::Model(model) => model.model.needs() | Needs::FEATURES,
                Timer::Device { .. } => Needs::FEATURES,
            },
            ..Counts::default()
        };
        let (gpu, target, l2) = (&self.gpu, self.target, self.l2);
        let mut sampling = Sampling { timer: &mut self.timer, gpu, target, l2, excluded: 0 };
        let mut samples = Vec::new();
        let mut left_out = Vec::new();
        for (index, kernel) in self.kernels.iter().enumerate() {
            if self.kernels.len() > 1 {
                terminal.part(index, self.kernels.len());
            }
            match sampling.sample(kernel, formula, names, &counts, &terminal)? {
                Outcome::Sample(sample) => samples.push(sample),
                Outcome::LeftOut(reason) => {
                    left_out.push(LeftOut { tags: kernel.tags(), reason });
                }
            }
        }
        if let (true, Some(first)) = (samples.is_empty(), left_out.first()) {
            return Err(Report::new(format!("{}: {}", first.tags, first.reason)).into());
        }
        let excluded = sampling.excluded;
        let made = Made {
            tags: self.tags.clone(),
            model: self.timer.name(),
            gpu: self.gpu.name.clone(),
            kernels: samples.len(),
            excluded: matches!(self.timer, Timer::Device { .. }).then_some(excluded),
            left_out,
        };
        Ok((samples, made))
    }

    /// The GPU for which the calibration holds.
    pub(super) fn into_gpu(self) -> Gpu {
        self.gpu
    }
}

/// A model by its name, and its GPU.
fn of_model(name: &str, gpu: Gpu) -> Result<(Timer, Gpu), Failure> {
    let [model] = Models::read(&[name.to_owned()], &[])?.of(&gpu)[..] else {
        let report = Report::new("a sample has one time, so one model gives it");
        return Err(Failure::Usage(report.hint("write --on sm-simulation:titan-v")));
    };
    if model.model.needs().features {
        let report = Report::new(format!("{} is what is calibrated", model.model.name()));
        return Err(Failure::Usage(report.hint("name a model that needs no calibration")));
    }
    Ok((Timer::Model(model), gpu))
}

/// A GPU of this computer by its number. What is known of it, its driver tells.
fn of_device(number: &str, arguments: &CalibrateCost) -> Result<(Timer, Gpu), Failure> {
    let Ok(number) = number.parse() else {
        let report = Report::new(format!("`{number}` is not the number of a GPU"));
        return Err(Failure::Usage(report.hint("write --on device:0")));
    };
    let failed = |error: String| Report::new(error);
    let device = driver::Gpu::open(number).map_err(|error| failed(error.to_string()))?;
    let facts = device.facts();
    let text = gpu_file::text(&gpu_file::name_of(&facts.name), facts, &[]);
    let gpu = gpu_file::gpu(&text).map_err(|error| failed(error.to_string()))?.completed();
    let trials = Trials { warm_up: arguments.warm_up, timed: arguments.trials.get() };
    Ok((Timer::Device { device, number, trials }, gpu))
}

/// The making of samples.
struct Sampling<'a> {
    timer: &'a mut Timer,
    gpu: &'a Gpu,
    target: Target,
    l2: Option<L2Contents>,
    /// Trials that were left out as anomalous.
    excluded: usize,
}

impl Sampling<'_> {
    fn sample(
        &mut self,
        kernel: &Measured,
        formula: &Formula,
        names: &Names,
        counts: &Counts,
        terminal: &Terminal,
    ) -> Result<Outcome, Failure> {
        let mut plan = match kernel.plan(self.target)? {
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
        let launched = sources::counted(&plan, self.gpu, counts, terminal)?;
        let name = kernel.tags();
        let Some(source) = launched.into_iter().next() else {
            return Ok(Outcome::LeftOut("nothing is launched".to_owned()));
        };
        let Timed { seconds, excluded } = match self.time(&plan, &source)? {
            Ok(timed) => timed,
            Err(reason) => return Ok(Outcome::LeftOut(reason)),
        };
        self.excluded += excluded;
        let gathered = source.conditions.evidence.features.as_deref().into_iter().flatten().next();
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
        Ok(Outcome::Sample(Sample { name, features, output: seconds }))
    }

    /// The time of a launch, or the reason why there is none.
    fn time(&mut self, plan: &Plan, source: &Source) -> Result<Result<Timed, String>, Failure> {
        match self.timer {
            Timer::Model(model) => {
                match model.model.time_ms(&source.profile, self.gpu, &source.conditions) {
                    Ok(time_ms) => Ok(Ok(Timed { seconds: time_ms * 1e-3, excluded: 0 })),
                    // No other kernel will fare better.
                    Err(error @ ModelError::OlderGeneration { .. }) => {
                        Err(Report::new(error.to_string()).hint(OTHER_MODEL).into())
                    }
                    Err(error) => Ok(Err(error.to_string())),
                }
            }
            Timer::Device { device, trials, .. } => {
                let times = device.time_plan(plan, *trials);
                let times = times.map_err(|error| Report::new(error.to_string()))?;
                let mean = trials::mean(&times);
                Ok(mean.map_or_else(
                    || Err("no trial was timed".to_owned()),
                    |mean| Ok(Timed { seconds: mean.value, excluded: mean.excluded }),
                ))
            }
        }
    }
}

/// Advice for a GPU that a model declines.
const OTHER_MODEL: &str =
    "name a newer GPU, or another model, such as --on component-throughput:tesla-c2070";

impl Made {
    /// The origin of the parameters, for the model file.
    pub(super) fn origin(&self) -> String {
        let Self { model, gpu, kernels, tags, excluded, .. } = self;
        let tags = tags.join(" | ");
        let measured = if excluded.is_some() { "" } else { ", none measured" };
        format!("times by {model} for {gpu}{measured}: {kernels} kernels of {tags}")
    }

    /// How many kernels were measured and left out, and why.
    pub(super) fn described(&self) -> String {
        let Self { model, gpu, kernels, left_out, excluded, .. } = self;
        let word = if *kernels == 1 { "kernel" } else { "kernels" };
        let mut text = format!("{kernels} measurement {word}, timed by {model} for {gpu}.\n");
        if let Some(excluded) = excluded.filter(|&excluded| excluded > 0) {
            text += &format!("{excluded} trials were left out as anomalous.\n");
        }
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
