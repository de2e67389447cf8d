//! `gpucast calibrate cost`: the parameters of a cost model from samples, which a file gives or
//! measurement kernels make.

mod gathering;
mod measuring;

use std::collections::BTreeMap;

use gpucast_forecast::choice::{cost_model, gpu_argument};
use gpucast_forecast::input::calibration::SCHEMA;
use gpucast_forecast::input::{cost_samples, module_text};
use gpucast_model::cost_model::{
    Calibration, CalibrationError, CostModelFile, Formula, Names, Sample, Scale, Settings,
    calibrate,
};
use gpucast_model::{Gpu, GpuLibrary};
use gpucast_render::calibration::{self as shown, CostForm};
use gpucast_render::{TextOrJson, json};
use serde::Serialize;

use crate::cli::{CalibrateCost, ScaleChoice};
use crate::failure::{Failure, Report, SourceText};
use crate::output::Output;

use gathering::Gathering;
use measuring::{Made, Measuring};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    model: &'static str,
    gpu: &'a str,
    expression: &'a str,
    terms: &'a BTreeMap<String, String>,
    /// The measurement kernels, where the samples are theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<&'a Made>,
    cost: &'a Calibration,
    negative: Vec<&'a str>,
}

/// A model without its parameters.
struct Form {
    text: String,
    terms: BTreeMap<String, String>,
    formula: Formula,
}

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
    let form = form(arguments)?;
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
    let calibration = calibrate(&form.formula, &samples, &settings)
        .map_err(|error| Report::new(format!("{name}: {error}")).maybe_hint(hint(&error)))?;
    if let Some(mut save) = save {
        let file =
            CostModelFile::to_toml(&gpu.name, &origin, &form.text, &form.terms, &calibration);
        save.write(&file)?;
    }
    let text = match arguments.format {
        TextOrJson::Text => {
            let Form { text, terms, formula } = &form;
            let table = shown::cost(&gpu, CostForm { text, terms, formula }, &calibration);
            made.as_ref().map(Made::described).unwrap_or_default() + &table
        }
        TextOrJson::Json => json::document(&Document {
            schema: SCHEMA,
            model: "cost-model",
            gpu: &gpu.name,
            expression: &form.text,
            terms: &form.terms,
            measured: made.as_ref(),
            negative: calibration.negative().map(|one| one.name.as_str()).collect(),
            cost: &calibration,
        })?,
    };
    output.write(&text)
}

/// The model of `--model`, with the named expressions of `--like`, or else the model of `--like`.
fn form(arguments: &CalibrateCost) -> Result<Form, Failure> {
    let mut terms = BTreeMap::new();
    if let Some(name) = &arguments.like {
        let (file, _) = cost_model::file(name)?;
        if arguments.model.is_none() {
            return Ok(Form { text: file.text, terms: file.terms, formula: file.formula });
        }
        terms = file.terms;
    }
    let text = arguments.model.clone().unwrap_or_default();
    let terms = used(&text, &terms);
    let formula = Formula::parse(&text, &terms).map_err(|error| {
        let source = SourceText::new("--model", text.as_str());
        source.report(error.range, error.message).maybe_hint(error.hint)
    })?;
    Ok(Form { text, terms, formula })
}

/// The expressions that a model names, and those that they name. The parameters of the others have
/// nothing to be calibrated by.
fn used(model: &str, terms: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut used = BTreeMap::new();
    let mut texts = vec![model];
    while let Some(text) = texts.pop() {
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if let Some(term) = terms.get(word)
                && used.insert(word.to_owned(), term.clone()).is_none()
            {
                texts.push(term);
            }
        }
    }
    used
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
        match self {
            Self::File { source, read, gpu } => {
                let gathering =
                    Gathering { formula, names, source: &source, library, gpu: &gpu, arguments };
                let samples = gathering.samples(&read)?;
                let origin = format!("{} measurements of {}", samples.len(), source.name);
                Ok(Observations { gpu, samples, origin, name: source.name.to_string(), made: None })
            }
            Self::Kernels(mut measuring) => {
                let (samples, made) = measuring.samples(formula, names, arguments)?;
                Ok(Observations {
                    samples,
                    origin: made.origin(),
                    name: "--measure".to_owned(),
                    made: Some(made),
                    gpu: measuring.into_gpu(),
                })
            }
        }
    }
}

fn hint(error: &CalibrationError) -> Option<String> {
    Some(match error {
        CalibrationError::TooFewSamples { .. } => {
            "measure more kernels: at least one for each parameter, better several".to_owned()
        }
        CalibrationError::AbsentFeature { .. } => {
            "measure a kernel that has it, or leave the feature out".to_owned()
        }
        CalibrationError::Dependent { .. } => {
            "measure kernels in which features vary, each in its own way".to_owned()
        }
        CalibrationError::Failed { .. } => {
            "start parameters near their values with --start p_x=1e-12".to_owned()
        }
        CalibrationError::NoParameters => "parameters begin with p_".to_owned(),
        CalibrationError::UnknownStart { .. } | CalibrationError::BadSample { .. } => return None,
    })
}
