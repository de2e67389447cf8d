//! Predictions with a cause and without it.

use gpucast_counters::KernelProfile;
use gpucast_model::what_if::apply;
use gpucast_model::{Conditions, Gpu, Model, Prediction, Timing, WhatIf};
use serde::Serialize;

/// The question that is put to the models.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// Other circumstances: see [`gpucast_model::what_if`].
    WhatIf(Vec<WhatIf>),
    /// Launches one after the other, against the same work in so few that their cost vanishes.
    Launches,
    /// No model can see the cause; the text says why.
    Unseen(&'static str),
}

impl Trial {
    /// The options that ask the same of `predict`; `None` if nothing is asked.
    #[must_use]
    pub fn option(&self) -> Option<String> {
        match self {
            Self::WhatIf(what_ifs) => {
                let names: Vec<String> = what_ifs.iter().map(WhatIf::to_string).collect();
                Some(format!("--what-if {}", names.join(",")))
            }
            Self::Launches => Some(format!("--timing {}", Timing::BackToBack.name())),
            Self::Unseen(_) => None,
        }
    }
}

/// What a model makes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The model.
    pub model: &'static str,
    /// The time before over the time after.
    pub speed_up: f64,
    /// True if anything that the model computes is different.
    pub sees: bool,
}

/// A gain below this is none: times of the simulation have an interval of about as much either way,
/// from the spread of published latencies and bandwidths.
pub const LEAST_GAIN: f64 = 1.05;

/// The outcome of a trial for each model that has a prediction.
#[must_use]
pub fn outcomes(
    trial: &Trial,
    models: &[(&'static dyn Model, &Prediction)],
    profile: &KernelProfile,
    conditions: &Conditions,
    gpu: &Gpu,
) -> Vec<Outcome> {
    match trial {
        Trial::Unseen(_) => Vec::new(),
        Trial::WhatIf(what_ifs) => {
            let changed = apply(what_ifs, profile, conditions);
            let outcome = |(model, before): &(&'static dyn Model, &Prediction)| {
                let after_ms = if model.reads_the_same(conditions, &changed.conditions) {
                    before.time_ms
                } else {
                    model.time_ms(&changed.profile, gpu, &changed.conditions).ok()?
                };
                Some(outcome(before.model, before.time_ms, after_ms))
            };
            models.iter().filter_map(outcome).collect()
        }
        Trial::Launches => {
            let launched = Conditions { timing: Some(Timing::BackToBack), ..conditions.clone() };
            let outcome = |(model, after): &(&'static dyn Model, &Prediction)| {
                let before_ms = model.time_ms(profile, gpu, &launched).ok()?;
                Some(outcome(after.model, before_ms, after.time_ms))
            };
            models.iter().filter_map(outcome).collect()
        }
    }
}

fn outcome(model: &'static str, before_ms: f64, after_ms: f64) -> Outcome {
    let speed_up = before_ms / after_ms.max(f64::MIN_POSITIVE);
    Outcome { model, speed_up, sees: (speed_up - 1.0).abs() > 1e-6 }
}
