//! `gpucast calibrate cost`: the parameters of a cost model from samples, which a file gives or
//! measurement kernels make.

mod measuring;

use gpucast_forecast::calibration::{self, CostForm, Gathering, Made};
use gpucast_forecast::choice::{cost_model, gpu_argument};
use gpucast_forecast::input::{cost_samples, module_text};
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::LaunchOptions;
use gpucast_model::cost_model::{
    CostModelFile, Formula, Names, Sample, Scale, Settings, calibrate,
};
use gpucast_model::{Gpu, GpuLibrary};
use gpucast_render::calibration::{CostView, cost_document};
use gpucast_toolchain::compiler::plain_cuda;

use crate::cli::{CalibrateCost, ScaleChoice};
use crate::failure::{Failure, Report, SourceText};
use crate::output::{Output, Terminal};
use crate::{interrupt, project};

use measuring::Measuring;

/// What a calibration is made from.
struct Observations {
    gpu: Gpu,
    samples: Vec<Sample>,
    /// Their origin in a few words, for the model file.
    origin: String,
    /// The name that errors begin with.
    name: String,
    /// The measurement kernels, where the samples are theirs.
    made: Option<Made>,
}

pub(super) fn run(arguments: &CalibrateCost) -> Result<(), Failure> {
    let form = CostForm::new(arguments.model.as_deref(), arguments.like.as_deref())?;
    let library = gpu_argument::library()?;
    let names = cost_model::read_names(&arguments.names.sizes, &arguments.names.tag)?;
    let start = cost_model::numbers("--start", &arguments.start)?;
    let prepared = Prepared::new(arguments, &library)?;
    // A file that cannot be written is better found before the executions than after them.
    let save = arguments.save.clone().map(|path| Output::open(Some(path))).transpose()?;
    let mut output = Output::open(arguments.output.clone())?;
    let Observations { gpu, samples, origin, name, made } =
        prepared.observe(arguments, &library, &form.formula, &names)?;
    let scale = match arguments.scale {
        ScaleChoice::Features => Scale::Features,
        ScaleChoice::Residuals => Scale::Residuals,
        ScaleChoice::None => Scale::None,
    };
    let settings = Settings { scale, start, confidence: arguments.confidence };
    let calibration = calibrate(&form.formula, &samples, &settings).map_err(|error| {
        Report::new(format!("{name}: {error}")).maybe_hint(calibration::hint(&error))
    })?;
    if let Some(mut save) = save {
        let file =
            CostModelFile::to_toml(&gpu.name, &origin, &form.text, &form.terms, &calibration);
        save.write(&file)?;
    }
    let view = CostView { gpu: &gpu, form: &form, calibration: &calibration, made: made.as_ref() };
    output.write(&cost_document(view, arguments.format)?)
}

/// The source of samples, after everything that is cheap to refuse.
enum Prepared {
    /// A file of measured times.
    File { source: SourceText, read: Vec<cost_samples::CostSample>, gpu: Gpu },
    /// Kernels of the collection.
    Kernels(Measuring),
}

impl Prepared {
    fn new(arguments: &CalibrateCost, library: &GpuLibrary) -> Result<Self, Failure> {
        // The command line has one of both.
        let Some(samples) = &arguments.samples else {
            return Ok(Self::Kernels(Measuring::new(arguments, library)?));
        };
        let gpu = gpu_argument::find(library, arguments.gpu.as_deref().unwrap_or_default())?;
        let source = module_text::read_text(samples)?;
        let read = cost_samples::read(&source)?;
        Ok(Self::File { source, read, gpu })
    }

    /// Gathers features, and times where they are not measured.
    fn observe(
        self,
        arguments: &CalibrateCost,
        library: &GpuLibrary,
        formula: &Formula,
        names: &Names,
    ) -> Result<Observations, Failure> {
        let counts = || Counts {
            machine: (&arguments.machine).into(),
            execution: (&arguments.execution).into(),
            ..Counts::default()
        };
        match self {
            Self::File { source, read, gpu } => {
                let gathering = Gathering {
                    formula,
                    names,
                    source: &source,
                    library,
                    gpu: &gpu,
                    counts: &counts,
                    launch: &LaunchOptions {
                        cuda: plain_cuda(interrupt::stop()),
                        project: project::current(),
                        ..LaunchOptions::default()
                    },
                    supervisor: &Terminal::without_notes(&arguments.execution)?,
                };
                let samples = gathering.samples(&read)?;
                let origin = format!("{} measurements of {}", samples.len(), source.name);
                Ok(Observations { gpu, samples, origin, name: source.name.to_string(), made: None })
            }
            Self::Kernels(mut measuring) => {
                let (samples, made) = measuring.samples(formula, names, arguments, &counts())?;
                Ok(Observations {
                    samples,
                    origin: made.origin(),
                    name: "--measure".to_owned(),
                    made: Some(made),
                    gpu: measuring.gpu,
                })
            }
        }
    }
}
