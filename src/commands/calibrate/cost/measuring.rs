//! The measurement kernels of a calibration, and what times them.

use std::path::Path;

use gpucast_collection::{Choice, Request, Target, Unfit};
use gpucast_forecast::calibration::{Made, Measurable, ModelTimer, Sampling, Timed, Timer};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::input::template::TemplateKernel;
use gpucast_forecast::run::sources::{Counts, Source};
use gpucast_measure::{Device as _, Trials, gpu_file, trials};
use gpucast_model::cost_model::{Formula, Names, Sample};
use gpucast_model::{Gpu, GpuLibrary, Needs};
use gpucast_toolchain::driver;

use crate::cli::CalibrateCost;
use crate::commands::kernels;
use crate::failure::{Failure, Report, SourceText};
use crate::output::Terminal;

/// The kernels that are to be measured, and what times them.
pub(super) struct Measuring {
    kernels: Vec<Measured>,
    timer: Box<dyn Timer>,
    pub(super) gpu: Gpu,
    target: Target,
}

/// The word of `--on` for a GPU of this computer.
const DEVICE: &str = "device";

/// A GPU of this computer, by its number.
struct DeviceTimer {
    device: driver::Gpu,
    number: u32,
    trials: Trials,
}

impl Timer for DeviceTimer {
    fn name(&self) -> String {
        format!("{DEVICE}:{}", self.number)
    }

    fn needs(&self) -> Needs {
        Needs::FEATURES
    }

    fn measures(&self) -> bool {
        true
    }

    fn time(
        &mut self,
        plan: &Plan,
        _: &Source,
    ) -> Result<Result<Timed, String>, gpucast_forecast::Failure> {
        let times = self.device.time_plan(plan, self.trials);
        let times = times.map_err(|error| Report::new(error.to_string()))?;
        let mean = trials::mean(&times);
        let timed = mean.map(|mean| Timed { seconds: mean.value, excluded: mean.excluded });
        Ok(timed.ok_or_else(|| "no trial was timed".to_owned()))
    }
}

/// A kernel that is to be measured.
enum Measured {
    /// One of the collection.
    Choice(Choice),
    /// One of the user's own generator.
    Own(TemplateKernel),
}

impl Measured {
    fn tags(&self) -> String {
        match self {
            Self::Choice(choice) => choice.tags(),
            Self::Own(kernel) => kernel.tags(),
        }
    }
}

/// A kernel for a target.
struct Targeted<'a> {
    kernel: &'a Measured,
    target: Target,
}

impl Measurable for Targeted<'_> {
    fn tags(&self) -> String {
        self.kernel.tags()
    }

    fn plan(&self) -> Result<Result<Plan, String>, gpucast_forecast::Failure> {
        match self.kernel {
            Measured::Own(kernel) => Ok(Ok(kernel.plan(Some(&self.target.to_string()))?)),
            Measured::Choice(choice) => {
                let file = choice.file_name();
                let texts = match choice.texts(self.target, &format!("{file}.ptx")) {
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

impl Measuring {
    /// Reads `--measure`, `--match` and `--on`.
    ///
    /// # Errors
    ///
    /// No `--on`, tags that choose nothing, and a model or GPU that is not known.
    pub(super) fn new(arguments: &CalibrateCost, library: &GpuLibrary) -> Result<Self, Failure> {
        let mut kernels: Vec<Measured> = Vec::new();
        for tags in &arguments.measure {
            let words: Vec<&str> = tags.split_whitespace().collect();
            let request = Request::parse(&words, arguments.condition.into());
            for kernel in chosen(&request.map_err(kernels::report)?)? {
                // Two sets may choose the same kernel, which is still one sample.
                if kernels.iter().all(|other| other.tags() != kernel.tags()) {
                    kernels.push(kernel);
                }
            }
        }
        let (timer, gpu) = timer(arguments, library)?;
        let target = Target::from(gpu_argument::device_model(&gpu)?.capability);
        Ok(Self { kernels, timer, gpu, target })
    }

    /// Executes the kernels: their features, and the times that the model or device gives them.
    ///
    /// # Errors
    ///
    /// Those of [`Sampling::samples`].
    pub(super) fn samples(
        &mut self,
        formula: &Formula,
        names: &Names,
        arguments: &CalibrateCost,
        counts: &Counts,
    ) -> Result<(Vec<Sample>, Made), Failure> {
        let target = self.target;
        let kernels: Vec<Targeted<'_>> =
            self.kernels.iter().map(|kernel| Targeted { kernel, target }).collect();
        let mut sampling = Sampling {
            formula,
            names,
            gpu: &self.gpu,
            timer: &mut *self.timer,
            l2: arguments.l2.map(Into::into),
            counts,
            supervisor: &Terminal::without_notes(&arguments.execution)?,
        };
        Ok(sampling.samples(&kernels, &arguments.measure)?)
    }
}

/// The kernels of tags.
fn chosen(request: &Request) -> Result<Vec<Measured>, Failure> {
    Ok(match kernels::template::kernels(request)? {
        Some(own) => own.kernels.into_iter().map(Measured::Own).collect(),
        None => {
            let choices = request.choices().map_err(kernels::report)?;
            choices.into_iter().map(Measured::Choice).collect()
        }
    })
}

/// What `--on` names, and its GPU.
fn timer(
    arguments: &CalibrateCost,
    library: &GpuLibrary,
) -> Result<(Box<dyn Timer>, Gpu), Failure> {
    let Some(on) = &arguments.on else {
        let report = Report::new("nothing is said to time the kernels");
        return Err(Failure::Usage(report.hint(
            "name a GPU of this computer, such as --on device:0, or a model and its GPU, such as \
             --on sm-simulation:titan-v",
        )));
    };
    match on.split_once(':') {
        None => {
            let report = Report::new(format!("`{on}` is neither a device nor a model and its GPU"));
            let hint = "write --on device:0 or --on sm-simulation:titan-v";
            Err(Failure::Usage(report.hint(hint)))
        }
        Some((DEVICE, number)) => of_device(number, arguments),
        Some((model, gpu)) => {
            let gpu = gpu_argument::find(library, gpu)?;
            Ok((Box::new(ModelTimer::new(model, gpu.clone())?), gpu))
        }
    }
}

/// A GPU of this computer by its number. What is known of it, its driver tells.
fn of_device(number: &str, arguments: &CalibrateCost) -> Result<(Box<dyn Timer>, Gpu), Failure> {
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
    Ok((Box::new(DeviceTimer { device, number, trials }), gpu))
}
