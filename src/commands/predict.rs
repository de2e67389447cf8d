//! `gpucast predict`: the main job. Execute and count, or read counts; then predict with each model
//! for each GPU.

use std::sync::Arc;

use gpucast_model::{
    Gpu, GpuLibrary, Model, ModelError, Prediction, Reference, WhatIf, predict_with_reference,
};

use crate::cli::Predict;
use crate::cost_model;
use crate::failure::{Failure, Report};
use crate::gpu_argument::{self, TARGET};
use crate::input::calibration;
use crate::model_choice::{self, Chosen};
use crate::render::diagnostic;
use crate::render::output::Output;
use crate::render::prediction::{self, Declined, KernelView, PredictionView};
use crate::sources::{self, Execution, Source};
use crate::{published, what_if};

/// A GPU on which the time is known: given, or to be looked up.
pub(crate) struct Measured {
    gpu: Gpu,
    milliseconds: Option<f64>,
}

/// Counts, and the GPUs that are predicted from them.
struct Group {
    sources: Vec<Source>,
    gpus: Vec<Gpu>,
}

pub(crate) fn run(arguments: Predict) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let mut models = model_choice::read(&arguments.models.model)?;
    model_choice::refine(&mut models, &arguments.refinements.refine)?;
    let what_ifs = what_if::read(&arguments.what_if)?;
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &arguments.gpus.gpu)?;
    let measured = arguments
        .reference
        .as_deref()
        .map(|text| reference(text, |name| gpu_argument::find(&library, name)))
        .transpose()?;
    let cost_models = cost_model::read(&arguments.cost_model, &arguments.names)?.map(Arc::new);
    let mut output = Output::open(arguments.output.output.clone())?;
    let groups = groups(&arguments, &library, gpus, &models)?;
    let kernels = groups
        .into_iter()
        .flat_map(|Group { sources, gpus }| {
            sources.into_iter().map(move |source| (source, gpus.clone()))
        })
        .map(|(mut source, gpus)| {
            source.conditions.cost_models.clone_from(&cost_models);
            predict(&models, source, &gpus, measured.as_ref(), &what_ifs)
        })
        .collect::<Result<Vec<KernelView>, Report>>()?;
    let kernels = left_with_predictions(kernels)?;
    output.write(&prediction::document(&kernels, arguments.output.format)?)
}

/// Counts once for all GPUs, or with `--count-on target` for each.
fn groups(
    arguments: &Predict,
    library: &GpuLibrary,
    gpus: Vec<Gpu>,
    models: &[Chosen],
) -> Result<Vec<Group>, Failure> {
    let input = match (&arguments.from_metrics, &arguments.input) {
        (Some(path), _) => {
            if let Some(option) = arguments.launch.first_of_execution() {
                let message =
                    format!("{option} describes an execution, and --from-metrics is none");
                return Err(Failure::Usage(Report::new(message)));
            }
            let sources = sources::from_metrics(path, arguments.launch.kernel.as_deref())?;
            return Ok(vec![Group { sources, gpus }]);
        }
        (None, Some(input)) => input,
        (None, None) => {
            return Err(Failure::Usage(Report::new("give a KERNEL or --from-metrics FILE")));
        }
    };
    let offload = arguments.calibration.as_deref().map(calibration::offload).transpose()?;
    let offload = offload.map(Arc::new);
    let execution = Execution {
        input,
        launch: &arguments.launch,
        machine: &arguments.machine,
        execution: &arguments.execution,
        stages: model_choice::reads_stages(models),
        offload: offload.as_ref(),
        // Without a calibration they would be of no use.
        features: model_choice::reads_features(models) && !arguments.cost_model.is_empty(),
        format: arguments.output.format,
    };
    if arguments.count_on != TARGET {
        let counting_gpu = gpu_argument::find(library, &arguments.count_on)?;
        return Ok(vec![Group { sources: sources::executed(&execution, &counting_gpu)?, gpus }]);
    }
    // A GPU that cannot count is refused before another one has been executed for.
    for gpu in &gpus {
        gpu_argument::device_model(gpu)?;
    }
    let own =
        |gpu: Gpu| Ok(Group { sources: sources::executed(&execution, &gpu)?, gpus: vec![gpu] });
    gpus.into_iter().map(own).collect()
}

/// Reads `GPU` or `GPU=MS`.
fn reference(text: &str, find: impl Fn(&str) -> Result<Gpu, Report>) -> Result<Measured, Failure> {
    let Some((name, time)) = text.split_once('=') else {
        return Ok(Measured { gpu: find(text)?, milliseconds: None });
    };
    match time.parse::<f64>() {
        Ok(time) if time.is_finite() && time > 0.0 => {
            Ok(Measured { gpu: find(name)?, milliseconds: Some(time) })
        }
        _ => Err(Failure::Usage(
            Report::new(format!("`{time}` is not a time in milliseconds"))
                .hint("write --reference gtx-480=3.25"),
        )),
    }
}

/// Predicts with each model for each GPU.
pub(crate) fn predict(
    models: &[Chosen],
    source: Source,
    gpus: &[Gpu],
    measured: Option<&Measured>,
    what_ifs: &[WhatIf],
) -> Result<KernelView, Report> {
    let mut predictions = Vec::new();
    let mut declined = Vec::new();
    let mut first_refusal = None;
    for gpu in gpus {
        for Chosen { model, by_name } in models {
            let refusal = match predict_one(*model, &source, gpu, measured)? {
                Ok(prediction) => {
                    predictions.push(view(prediction, *model, &source, gpu));
                    continue;
                }
                Err(refusal) => refusal,
            };
            let report = report_of(&refusal, &source);
            // What one kernel of a file lacks is no reason to leave the others out.
            if (*by_name && !source.one_of_several) || !refusal.is_lack() {
                return Err(report);
            }
            first_refusal.get_or_insert(report);
            declined.push(Declined {
                kernel: source.profile.kernel.clone(),
                gpu: gpu.name.clone(),
                model: model.name(),
                reason: refusal.to_string(),
            });
        }
    }
    match first_refusal {
        // Nothing but reasons is no prediction.
        Some(report) if predictions.is_empty() && !source.one_of_several => Err(report),
        _ => {
            let what_ifs = what_if::evaluate(what_ifs, &source, &predictions);
            let Source { profile, origin, published, .. } = source;
            Ok(KernelView { profile, origin, published, predictions, declined, what_ifs })
        }
    }
}

/// The kernels that have a prediction; a note names each of the others and says why.
///
/// # Errors
///
/// Why the first one has none, if none has one.
pub(crate) fn left_with_predictions(kernels: Vec<KernelView>) -> Result<Vec<KernelView>, Report> {
    let (predicted, refused): (Vec<KernelView>, Vec<KernelView>) =
        kernels.into_iter().partition(|kernel| !kernel.predictions.is_empty());
    let reason = |kernel: &KernelView| kernel.declined.first().map(|one| one.reason.clone());
    let reasons: Vec<String> = refused.iter().filter_map(reason).collect();
    match reasons.first() {
        Some(first) if predicted.is_empty() => {
            Err(Report::new(first.clone()).hint(OTHER_METRICS_OR_KERNELS))
        }
        _ => {
            for reason in &reasons {
                diagnostic::note(Some(&format!("left out: {reason}")));
            }
            Ok(predicted)
        }
    }
}

/// What to do about a kernel of a file whose counts do not suffice.
const OTHER_METRICS_OR_KERNELS: &str =
    "profile with these metrics, or choose other kernels with --kernel";

fn view(
    prediction: Prediction,
    model: &'static dyn Model,
    source: &Source,
    gpu: &Gpu,
) -> PredictionView {
    // What is published is the time of kernels.
    let name = source.published.as_ref().filter(|_| !model.includes_transfers());
    let published =
        name.and_then(|name| published::measurement(name, &gpu.name, prediction.time_ms));
    PredictionView {
        prediction,
        model,
        published,
        machine_code: source.machine_code.clone(),
        timing: source.timing,
        gpu: gpu.clone(),
    }
}

/// The outer error is one of the command line, which no other model would avoid.
fn predict_one(
    model: &dyn Model,
    source: &Source,
    gpu: &Gpu,
    measured: Option<&Measured>,
) -> Result<Result<Prediction, ModelError>, Report> {
    let Source { profile, conditions, .. } = source;
    let Some(Measured { gpu: on, milliseconds }) = measured else {
        return Ok(model.predict(profile, gpu, conditions));
    };
    if model.includes_transfers() {
        let what = "a reference time that includes transfers";
        return Ok(Err(ModelError::MissingCondition { kernel: profile.kernel.clone(), what }));
    }
    let published = source.published.as_deref();
    let looked_up = || published::measured(published?, &on.name).map(|(time, _)| time);
    let measured_ms = milliseconds.or_else(looked_up).ok_or_else(|| {
        Report::new(format!("no time of kernel {} on {} is published", profile.kernel, on.name))
            .hint(format!("give the time that you measured: --reference {}=MS", on.name))
    })?;
    let reference = Reference { gpu: on, measured_ms };
    Ok(predict_with_reference(model, profile, gpu, conditions, &reference))
}

fn report_of(error: &ModelError, source: &Source) -> Report {
    let hint = match error {
        ModelError::MissingMetrics { .. } if source.one_of_several => {
            Some(OTHER_METRICS_OR_KERNELS)
        }
        ModelError::MissingMetrics { metrics, .. } if metrics.len() > 1 => {
            Some("profile with these metrics, or execute the kernel here")
        }
        ModelError::MissingMetrics { .. } => {
            Some("profile with this metric, or execute the kernel here")
        }
        ModelError::MissingParameter { .. } => Some("add the figure to the GPU's file"),
        ModelError::MissingCondition { .. } => Some("execute the kernel here"),
        ModelError::NoCostModel | ModelError::OtherGpu { .. } => Some(
            "give a file for the GPU with --cost-model, as `gpucast calibrate cost` writes it; \
             `--cost-model stevens-matmul` holds for titan-v",
        ),
        ModelError::Feature { .. } => Some("give the sizes of the problem: --let n=2048"),
        _ => None,
    };
    Report::new(error.to_string()).maybe_hint(hint.map(str::to_owned))
}
