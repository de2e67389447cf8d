//! Predictions with the data beside them: measurements, refusals, and what-ifs.

pub mod protocol;
pub mod sensitivity;
pub mod together;
pub mod what_if;

use gpucast_counters::KernelProfile;
use gpucast_counters::definitions::{Basis, definition};
use gpucast_model::gpu::Clock;
use gpucast_model::sm_simulation::RECORDED_BLOCKS;
use gpucast_model::{
    CountingError, Gpu, Model, ModelError, Prediction, Reference, Warning, WhatIf,
    predict_with_reference,
};
use serde::Serialize;

use protocol::{Protocol, Stopwatch};
use what_if::WhatIfView;

use crate::choice::model_choice::{Answer, Chosen, Models};
use crate::comparison::distinct;
use crate::failure::{Failure, Report};
use crate::input::measurements::is_time;
use crate::inspection::MachineFacts;
use crate::published::{self, Measurement};
use crate::run::execute::Timing;
use crate::run::sources::Source;
use crate::run::supervisor::Supervisor;

/// A prediction with everything that is shown beside it.
#[derive(Clone, Serialize)]
#[non_exhaustive]
pub struct PredictionView {
    /// The prediction.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// The measured time beside it, where one is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Measurement>,
    /// Facts of machine code in the same container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_code: Option<MachineFacts>,
    /// Duration of the execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// How a time would have to be measured to be this one.
    pub measured_as: Protocol,
    /// The GPU.
    #[serde(skip)]
    pub gpu: Gpu,
    /// The model.
    #[serde(skip)]
    pub model: &'static dyn Model,
}

/// A model that cannot predict, and why.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Declined {
    /// The kernel.
    pub kernel: String,
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: &'static str,
    /// Reason why the model declines.
    pub reason: String,
}

/// The predictions of one kernel: by all models for a GPU, then for the next one.
#[derive(Clone)]
pub struct KernelView {
    /// The place of the KERNEL among those of the command, from 0 on.
    pub argument: usize,
    /// The place of the launch in its file, from 0 on.
    pub launch: usize,
    /// Launches of the file.
    pub launches: usize,
    /// The counts.
    pub profile: KernelProfile,
    /// Origin of the counts, in words.
    pub origin: String,
    /// The name under which measurements of the same counts are published.
    pub published: Option<String>,
    /// The predictions.
    pub predictions: Vec<PredictionView>,
    /// Models that declined.
    pub declined: Vec<Declined>,
    /// The what-ifs that were asked for; may be empty.
    pub what_ifs: Vec<WhatIfView>,
}

impl KernelView {
    /// The GPUs that were to be predicted from these counts, each once.
    pub fn gpus(&self) -> Vec<&str> {
        let predicted = self.predictions.iter().map(|view| view.prediction.gpu.as_str());
        distinct(predicted.chain(self.declined.iter().map(|refusal| refusal.gpu.as_str())))
    }
}

/// A GPU on which the time is known: given, or to be looked up.
pub struct Measured {
    gpu: Gpu,
    milliseconds: Option<f64>,
}

/// Reads `GPU` or `GPU=MS`.
///
/// # Errors
///
/// That of `find`, and [`Failure::Usage`] if the time is none.
pub fn reference(
    text: &str,
    find: impl Fn(&str) -> Result<Gpu, Report>,
) -> Result<Measured, Failure> {
    let Some((name, time)) = text.split_once('=') else {
        return Ok(Measured { gpu: find(text)?, milliseconds: None });
    };
    match time.parse::<f64>() {
        Ok(time) if is_time(time) => Ok(Measured { gpu: find(name)?, milliseconds: Some(time) }),
        _ => Err(Failure::Usage(
            Report::new(format!("`{time}` is not a time in milliseconds"))
                .hint("write --reference gtx-480=3.25"),
        )),
    }
}

/// The longest time that is predicted: of 2¹²⁸ events, the most that are counted, one in each
/// millisecond.
const MOST_PREDICTED_MS: f64 = 2.0 * (1_u128 << 127) as f64;

/// Predicts with the models of each GPU.
pub fn predict(
    models: &Models,
    source: &Source,
    gpus: &[Gpu],
    measured: Option<&Measured>,
    what_ifs: &[WhatIf],
) -> Result<KernelView, Report> {
    let mut predictions = Vec::new();
    let mut declined = Vec::new();
    let mut first_refusal = None;
    for gpu in gpus {
        for chosen in models.of(gpu) {
            let refusal = match predict_one(&chosen, source, gpu, measured)? {
                Ok(Answer { value: prediction, .. }) if prediction.time_ms > MOST_PREDICTED_MS => {
                    let message = format!(
                        "{} predicts {:.0e} ms for kernel `{}` on `{}`: its counts or the GPU's \
                         figures are absurd",
                        prediction.model, prediction.time_ms, prediction.kernel, prediction.gpu
                    );
                    return Err(Report::new(message));
                }
                Ok(answer) => {
                    predictions.push(view(answer, source, gpu));
                    continue;
                }
                Err(refusal) => refusal,
            };
            let report = self::refusal(&refusal, source);
            // If one kernel of a file lacks an input, the others are still predicted.
            if (chosen.by_name && !source.one_of_several) || !refusal.is_lack() {
                return Err(report);
            }
            first_refusal.get_or_insert(report);
            declined.push(Declined {
                kernel: source.profile.kernel.clone(),
                gpu: gpu.name.clone(),
                model: chosen.model.name(),
                reason: reason(&refusal, source),
            });
        }
    }
    match first_refusal {
        // Nothing but reasons is no prediction.
        Some(report) if predictions.is_empty() && !source.one_of_several => Err(report),
        _ => {
            let what_ifs = what_if::evaluate(what_ifs, source, &predictions);
            Ok(KernelView {
                argument: 0,
                launch: 0,
                launches: 1,
                profile: source.profile.clone(),
                origin: source.origin.clone(),
                published: source.published.clone(),
                predictions,
                declined,
                what_ifs,
            })
        }
    }
}

/// The kernels that have a prediction; a note names each of the others and says why.
///
/// # Errors
///
/// If no kernel has a prediction, returns the reason of the first one.
pub fn left_with_predictions(
    kernels: Vec<KernelView>,
    supervisor: &dyn Supervisor,
) -> Result<Vec<KernelView>, Report> {
    let (predicted, refused): (Vec<KernelView>, Vec<KernelView>) =
        kernels.into_iter().partition(|kernel| !kernel.predictions.is_empty());
    let reason =
        |kernel: &KernelView| kernel.declined.first().map(|declined| declined.reason.clone());
    let reasons: Vec<String> = refused.iter().filter_map(reason).collect();
    match reasons.first() {
        Some(first) if predicted.is_empty() => {
            Err(Report::new(first.clone()).hint(OTHER_METRICS_OR_KERNELS))
        }
        _ => {
            for reason in &reasons {
                supervisor.note(&format!("left out: {reason}"));
            }
            Ok(predicted)
        }
    }
}

/// Advice for a kernel of a file whose counts do not suffice.
const OTHER_METRICS_OR_KERNELS: &str =
    "profile with these metrics, or choose other kernels with --kernel";

/// Tells where another model stands in for the default of a GPU.
pub fn tell_stand_ins(kernels: &[KernelView], supervisor: &dyn Supervisor) {
    let predictions = kernels.iter().flat_map(|kernel| &kernel.predictions);
    for Prediction { kernel, gpu, model, warnings, .. } in predictions.map(|view| &view.prediction)
    {
        for warning in warnings {
            if let Warning::DefaultDeclined { model: declined, reason } = warning {
                supervisor.note(&format!(
                    "{model} predicts kernel `{kernel}` on {gpu} in place of {declined}: {reason}"
                ));
            }
        }
    }
}

fn view(answer: Answer<Prediction>, source: &Source, gpu: &Gpu) -> PredictionView {
    let Answer { model, value: mut prediction, declined } = answer;
    prediction.warnings.extend(declined);
    // Published times are those of kernels, without transfers.
    let name = source.published.as_ref().filter(|_| !model.includes_transfers());
    let published =
        name.and_then(|name| published::measurement(name, &gpu.name, prediction.time_ms));
    PredictionView {
        gpu: as_run(gpu, &prediction),
        prediction,
        model,
        published,
        machine_code: source.machine_code.clone(),
        timing: source.timing,
        measured_as: Protocol {
            timing: match source.conditions.timing {
                _ if model.includes_launches() => Stopwatch::OfModel,
                Some(timing) => Stopwatch::As(timing),
                None => Stopwatch::Kernel,
            },
            l2: source.l2,
        },
    }
}

/// The GPU at the clock that a prediction stands at: a power limit may have lowered it.
fn as_run(gpu: &Gpu, prediction: &Prediction) -> Gpu {
    let limited = prediction.power_limit_w.and(prediction.clock_mhz);
    let slower = limited.and_then(|clock| gpu.at_clock(Clock::Megahertz(clock)).ok());
    slower.unwrap_or_else(|| gpu.clone())
}

/// The outer error is one of the command line, which no other model would avoid.
fn predict_one(
    chosen: &Chosen,
    source: &Source,
    gpu: &Gpu,
    measured: Option<&Measured>,
) -> Result<Result<Answer<Prediction>, ModelError>, Report> {
    let Source { profile, conditions, .. } = source;
    let Some(Measured { gpu: on, milliseconds }) = measured else {
        return Ok(chosen.answer(|model| model.predict(profile, gpu, conditions)));
    };
    if chosen.model.includes_transfers() {
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
    let corrected = |model| predict_with_reference(model, profile, gpu, conditions, &reference);
    Ok(chosen.answer(corrected))
}

/// The option that a refusal is due to, if counts without all requests in the caches are the
/// reason.
fn left_out_for(error: &ModelError, source: &Source) -> Option<String> {
    let lacks_blocks = |error: &ModelError| matches!(error, ModelError::MissingCondition { what, .. } if *what == RECORDED_BLOCKS);
    if let Some(reason) = source.without_blocks.filter(|_| lacks_blocks(error)) {
        return Some(reason.to_owned());
    }
    let is_of_caches = |name: &&'static str| {
        definition(name).is_some_and(|metric| metric.basis == Basis::CacheReplay)
    };
    let lacks = match error {
        ModelError::MissingMetrics { metrics, .. } => metrics.iter().any(is_of_caches),
        // Of what an execution gives, records of blocks alone need caches.
        _ => lacks_blocks(error),
    };
    (lacks && source.lacks_caches()).then(|| "`--caches none` leaves caches out".to_owned())
}

/// A model's refusal to predict from these counts, in one line.
#[must_use]
pub fn reason(error: &ModelError, source: &Source) -> String {
    match left_out_for(error, source) {
        Some(hint) => format!("{error}: {hint}"),
        None => error.to_string(),
    }
}

/// A model's refusal to predict from these counts, with advice.
#[must_use]
pub fn refusal(error: &ModelError, source: &Source) -> Report {
    let hint = match error {
        _ if left_out_for(error, source).is_some() => Some(match source.without_blocks {
            Some(_) => {
                "this model needs recorded blocks, and `--caches full` without a sample records them"
            }
            None => "`--caches none` leaves out what this model needs; `--caches full` counts it",
        }),
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
        ModelError::Uncountable { error: CountingError::UnknownCapability { .. }, .. } => Some(
            "give the GPU's file the newest capability that is known, or use a model that does not \
             count for the GPU",
        ),
        ModelError::Uncountable { .. } => Some("correct the figure in the GPU's file"),
        ModelError::MissingCondition { .. } => Some("execute the kernel here"),
        ModelError::OlderGeneration { .. } => Some("choose another model, or a newer GPU"),
        ModelError::NoCostModel | ModelError::OtherGpu { .. } => Some(
            "give a file for the GPU with --cost-model, as `gpucast calibrate cost` writes it; \
             `--cost-model stevens-matmul` holds for titan-v",
        ),
        ModelError::Feature { error, .. } => Some(error.hint()),
        _ => None,
    };
    Report::new(error.to_string()).maybe_hint(hint.map(str::to_owned))
}
