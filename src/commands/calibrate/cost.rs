//! `gpucast calibrate cost`: the parameters of a cost model from measured times.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_forecast::Kernel;
use gpucast_forecast::choice::{cost_model, gpu_argument};
use gpucast_forecast::input::calibration::SCHEMA;
use gpucast_forecast::input::cost_samples::{self, CostSample, Measured};
use gpucast_forecast::input::module_text;
use gpucast_forecast::number;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{LaunchOptions, MachineChoice, MachineSettings};
use gpucast_model::cost_model::{
    Calibration, CalibrationError, CostModelFile, Feature, Formula, Names, Sample, Scale, Settings,
    calibrate,
};
use gpucast_model::{Gpu, GpuLibrary};
use gpucast_render::table::{Align, aligned, wrapped};
use gpucast_render::{TextOrJson, json};
use gpucast_toolchain::compiler::plain_cuda;
use serde::Serialize;

use crate::cli::{CalibrateCost, ScaleChoice};
use crate::failure::{Failure, Report, SourceText};
use crate::interrupt;
use crate::output::{Output, Terminal};
use crate::project;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    model: &'static str,
    gpu: &'a str,
    expression: &'a str,
    terms: &'a BTreeMap<String, String>,
    cost: &'a Calibration,
    negative: Vec<&'a str>,
}

/// A model without its parameters.
struct Form {
    text: String,
    terms: BTreeMap<String, String>,
    formula: Formula,
}

pub(super) fn run(arguments: &CalibrateCost) -> Result<(), Failure> {
    let form = form(arguments)?;
    let library = gpu_argument::library()?;
    let gpu = gpu_argument::find(&library, &arguments.gpu)?;
    let names = cost_model::read_names(&arguments.names.sizes, &arguments.names.tag)?;
    let start = cost_model::numbers("--start", &arguments.start)?;
    let source = module_text::read_text(&arguments.samples)?;
    let read = cost_samples::read(&source)?;
    // A file that cannot be written is better found before the executions than after them.
    let save = arguments.save.clone().map(|path| Output::open(Some(path))).transpose()?;
    let mut output = Output::open(arguments.output.clone())?;
    let gathering = Gathering {
        formula: &form.formula,
        names: &names,
        source: &source,
        library: &library,
        gpu: &gpu,
        arguments,
    };
    let samples = gathering.samples(&read)?;
    let scale = match arguments.scale {
        ScaleChoice::Features => Scale::Features,
        ScaleChoice::Residuals => Scale::Residuals,
        ScaleChoice::None => Scale::None,
    };
    let settings = Settings { scale, start, confidence: arguments.confidence };
    let calibration = calibrate(&form.formula, &samples, &settings).map_err(|error| {
        Report::new(format!("{}: {error}", source.name)).maybe_hint(hint(&error))
    })?;
    if let Some(mut save) = save {
        let origin = format!("{} measurements of {}", samples.len(), source.name);
        let file =
            CostModelFile::to_toml(&gpu.name, &origin, &form.text, &form.terms, &calibration);
        save.write(&file)?;
    }
    let text = match arguments.format {
        TextOrJson::Text => describe(&gpu, &form, &calibration),
        TextOrJson::Json => json::document(&Document {
            schema: SCHEMA,
            model: "cost-model",
            gpu: &gpu.name,
            expression: &form.text,
            terms: &form.terms,
            negative: calibration.negative().map(|one| one.name.as_str()).collect(),
            cost: &calibration,
        })?,
    };
    output.write(&text)
}

/// The model of `--model` or `--like`.
fn form(arguments: &CalibrateCost) -> Result<Form, Failure> {
    if let Some(name) = &arguments.like {
        let (file, _) = cost_model::file(name)?;
        return Ok(Form { text: file.text, terms: file.terms, formula: file.formula });
    }
    let text = arguments.model.clone().unwrap_or_default();
    let terms = BTreeMap::new();
    let formula = Formula::parse(&text, &terms).map_err(|error| {
        let source = SourceText::new("--model", text.as_str());
        source.report(error.range, error.message).maybe_hint(error.hint)
    })?;
    Ok(Form { text, terms, formula })
}

/// The sources of the features' values.
struct Gathering<'a> {
    formula: &'a Formula,
    names: &'a Names,
    source: &'a SourceText,
    library: &'a GpuLibrary,
    gpu: &'a Gpu,
    arguments: &'a CalibrateCost,
}

impl Gathering<'_> {
    fn samples(&self, read: &[CostSample]) -> Result<Vec<Sample>, Failure> {
        // Kernels that are measured several times are executed once.
        let mut executed: BTreeMap<&Measured, Vec<f64>> = BTreeMap::new();
        let mut samples = Vec::new();
        for sample in read {
            let mut features = vec![None; self.formula.features().len()];
            for (feature, value) in &sample.features {
                let place = self.formula.features().iter().position(|one| one == feature);
                if let Some(place) = place {
                    features[place] = Some(*value);
                }
            }
            if features.contains(&None) {
                let Some(measured) = &sample.measured else {
                    return Err(self.lacks(sample, &features).into());
                };
                if !executed.contains_key(measured) {
                    executed.insert(measured, self.execute(sample, measured)?);
                }
                for (feature, value) in features.iter_mut().zip(&executed[measured]) {
                    feature.get_or_insert(*value);
                }
            }
            samples.push(Sample {
                name: sample.name.clone(),
                features: features.into_iter().map(Option::unwrap_or_default).collect(),
                output: sample.seconds,
            });
        }
        Ok(samples)
    }

    fn lacks(&self, sample: &CostSample, features: &[Option<f64>]) -> Report {
        let lacking = self.formula.features().iter().zip(features);
        let name = lacking
            .filter(|(_, value)| value.is_none())
            .map(|(feature, _)| feature.to_string())
            .next()
            .unwrap_or_default();
        let message = format!("this sample has no `{name}`, and no kernel to gather it from");
        self.source
            .report(sample.range.clone(), message)
            .hint("add a column for the feature, or a column `kernel`")
    }

    /// The features of a kernel, from executing it.
    fn execute(&self, sample: &CostSample, measured: &Measured) -> Result<Vec<f64>, Failure> {
        let folder = self.arguments.samples.parent().unwrap_or(Path::new(""));
        let beside = folder.join(&measured.kernel);
        let input = match beside.exists() {
            true => beside.to_string_lossy().into_owned(),
            false => measured.kernel.clone(),
        };
        let launch = LaunchOptions {
            size: measured.size,
            cuda: plain_cuda(interrupt::stop()),
            project: project::current(),
            ..LaunchOptions::default()
        };
        let counts = Counts {
            machine: MachineSettings { machine: MachineChoice::None, ..MachineSettings::default() },
            execution: (&self.arguments.execution).into(),
            features: true,
            ..Counts::default()
        };
        let terminal = Terminal::without_notes(&self.arguments.execution)?;
        let kernel = Kernel::open(&input, &launch)?;
        // Features do not depend on the counting GPU; one that is not known to count will do.
        let counting = gpu_argument::device_model(self.gpu).is_ok();
        let fallback = gpu_argument::find(self.library, "gtx-480")?;
        let counting_gpu = if counting { self.gpu } else { &fallback };
        let sources = kernel.count_with(counting_gpu, &counts, &terminal)?;
        let launches: Vec<_> = sources
            .iter()
            .filter_map(|source| source.conditions.features.as_deref())
            .flatten()
            .collect();
        let [(features, 1)] = launches.as_slice() else {
            let message =
                format!("{} makes several launches; a sample is the time of one", measured.kernel);
            return Err(self.source.report(sample.range.clone(), message).into());
        };
        let value = |feature: &Feature| {
            feature.value(features, self.names).map_err(|error| {
                self.source
                    .report(sample.range.clone(), error.to_string())
                    .hint("give sizes with --let n=2048, or a column for the feature")
                    .into()
            })
        };
        self.formula.features().iter().map(value).collect()
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

/// Samples that are shown one by one; the JSON has all.
const MOST_SAMPLES: usize = 40;

/// The parameters and samples as tables.
fn describe(gpu: &Gpu, form: &Form, calibration: &Calibration) -> String {
    use Align::{Left, Right};
    let percent = number::percent(calibration.confidence);
    let header = ["parameter", "value", "standard error", "", &format!("± {percent}")];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for parameter in &calibration.parameters {
        let relative = parameter.standard_error.map_or_else(String::new, |error| {
            format!("({})", number::percent((error / parameter.value).abs()))
        });
        let error = |error: Option<f64>| {
            error.map_or_else(|| "not determined".to_owned(), |error| format!("{error:.2e}"))
        };
        rows.push(vec![
            parameter.name.clone(),
            format!("{:.4e}", parameter.value),
            error(parameter.standard_error),
            relative,
            error(parameter.margin),
        ]);
    }
    let mut text = wrapped("cost-model: ", 12, 96, &form.text);
    for (name, term) in &form.terms {
        text += &wrapped(&format!("{name} = "), 12, 96, term);
    }
    text += &format!("Stevens and Klöckner 2020, section 7.2, on {}\n\n", gpu.name);
    text += &aligned(2, &[Left, Right, Right, Right, Right], &rows);
    text += &format!(
        "\nResidual {} with {} degrees of freedom (scaled: {}); {}.\n\
         Relative errors: geometric mean {}, mean {}, worst {}.\n",
        number::real(calibration.residual),
        calibration.degrees_of_freedom,
        calibration.scale.name(),
        calibration.termination,
        number::percent(calibration.geometric_mean_error),
        number::percent(calibration.mean_error),
        number::percent(calibration.worst_error),
    );
    for parameter in calibration.negative() {
        let sentence = format!(
            "{} is negative: no work makes a kernel faster (section 4), so the model or the \
             samples do not explain the times.",
            parameter.name
        );
        text += &wrapped("Warning: ", 9, 96, &sentence);
    }
    let mut rows = vec![["sample", "measured", "modelled", "error"].map(str::to_owned).to_vec()];
    for sample in calibration.samples.iter().take(MOST_SAMPLES) {
        rows.push(vec![
            sample.name.clone(),
            format!("{:.4e} s", sample.measured),
            format!("{:.4e} s", sample.modelled),
            number::percent(sample.error),
        ]);
    }
    text.push('\n');
    text += &aligned(2, &[Left, Right, Right, Right], &rows);
    if let Some(more) = calibration.samples.len().checked_sub(MOST_SAMPLES).filter(|&more| more > 0)
    {
        text += &format!("  and {more} more\n");
    }
    text
}
