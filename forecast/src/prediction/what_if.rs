//! `--what-if`: predictions from counts as they would be.

use gpucast_model::what_if::{Change, apply};
use gpucast_model::{Bound, Conditions, Extent, ModelError, Prediction, WhatIf};
use rayon::prelude::*;
use serde::Serialize;

use super::PredictionView;
use crate::failure::{Failure, Report, suggest};
use crate::run::sources::Source;

/// One change of circumstances, or all together, and the models' results.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WhatIfView {
    /// The kernel.
    pub kernel: String,
    /// As it is written on the command line.
    pub what_if: String,
    /// Changes to the counts.
    pub changes: Vec<Change>,
    /// The outcome for each prediction.
    pub outcomes: Vec<Outcome>,
}

/// The result of one model on one GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: &'static str,
    /// The predicted time without the change.
    pub before_ms: f64,
    /// The predicted time with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<f64>,
    /// The limiting resource after the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// The time before over the time after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
    /// True if anything that the model computes is different.
    pub changed: bool,
    /// Reason why the model gives no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declined_because: Option<String>,
}

/// The changes of a command line.
pub fn read(texts: &[String]) -> Result<Vec<WhatIf>, Failure> {
    let mut what_ifs: Vec<WhatIf> = Vec::new();
    for text in texts {
        let what_if = text.parse::<WhatIf>().map_err(|error| {
            let name = text.split('=').next().unwrap_or_default();
            let hint = error.hint().or_else(|| suggest(name, WhatIf::NAMES));
            Failure::Usage(Report::new(error.to_string()).maybe_hint(hint))
        })?;
        if let Some(other) = what_ifs.iter().find(|other| other.name() == what_if.name()) {
            let message = format!("--what-if has `{other}` and `{what_if}`");
            return Err(Failure::Usage(Report::new(message).hint("ask for one after the other")));
        }
        what_ifs.push(what_if);
    }
    Ok(what_ifs)
}

/// Each change alone, then all together if there are several.
pub fn evaluate(
    what_ifs: &[WhatIf],
    source: &Source,
    predictions: &[PredictionView],
) -> Vec<WhatIfView> {
    let mut groups: Vec<&[WhatIf]> = what_ifs.chunks(1).collect();
    if what_ifs.len() > 1 {
        groups.push(what_ifs);
    }
    if groups.is_empty() {
        return Vec::new();
    }
    // Nobody reads intervals and warnings.
    let conditions = Conditions { extent: Extent::WithoutWarnings, ..source.conditions.clone() };
    let before = predictions
        .par_iter()
        .map(|view| view.model.predict(&source.profile, &view.gpu, &conditions))
        .collect::<Vec<_>>();
    let one = |group| one(group, source, &conditions, predictions, &before);
    groups.into_par_iter().map(one).collect()
}

/// `before` holds the predictions without the change.
fn one(
    group: &[WhatIf],
    source: &Source,
    conditions: &Conditions,
    predictions: &[PredictionView],
    before: &[Result<Prediction, ModelError>],
) -> WhatIfView {
    let names: Vec<String> = group.iter().map(WhatIf::to_string).collect();
    let changed = apply(group, &source.profile, conditions);
    let outcome = |(view, before): (&PredictionView, &Result<Prediction, ModelError>)| {
        let before_ms = view.prediction.time_ms;
        let (gpu, model) = (view.gpu.name.clone(), view.prediction.model);
        let nothing = Outcome {
            gpu,
            model,
            before_ms,
            time_ms: None,
            bound: None,
            speed_up: None,
            changed: false,
            declined_because: None,
        };
        // A correction by a reference is a factor of the time, and leaves the speed-up as it is.
        let after = view.model.predict(&changed.profile, &view.gpu, &changed.conditions);
        match (before, &after) {
            (Ok(before), Ok(after)) => {
                let speed_up = before.time_ms / after.time_ms;
                Outcome {
                    time_ms: Some(before_ms / speed_up),
                    bound: Some(after.bound),
                    speed_up: Some(speed_up),
                    changed: (&before.parameters, &before.intermediate, &before.parts)
                        != (&after.parameters, &after.intermediate, &after.parts),
                    ..nothing
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                Outcome { declined_because: Some(error.to_string()), ..nothing }
            }
        }
    };
    WhatIfView {
        kernel: source.profile.kernel.clone(),
        what_if: names.join(","),
        outcomes: predictions.iter().zip(before).map(outcome).collect(),
        changes: changed.changes,
    }
}
