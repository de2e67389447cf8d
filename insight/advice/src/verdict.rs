//! The time to believe, the resource that bounds it, and the line that costs most.

use gpucast_model::{Bound, Detail, Prediction, TimeInterval, Warning};
use gpucast_simulation::states::State;
use serde::Serialize;

use crate::place::LineShare;

/// The answer in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The time of all invocations in milliseconds, by the model of the headline.
    pub time_ms: f64,
    /// The interval that the time of 4 of 5 measured kernels lies in, if the model has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeInterval>,
    /// The reason why a simulation has no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_declined_because: Option<String>,
    /// The model of the headline.
    pub model: &'static str,
    /// The resource that most of the time is spent on.
    pub bound: Bound,
    /// What the issue slots are spent on, largest first, if the simulation says so.
    pub spent: Vec<Spent>,
    /// The line that costs most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costliest: Option<Costliest>,
    /// The times of all models.
    pub models: Vec<ModelTime>,
    /// The reason for which the GPU refuses the launch, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// True if the time is shorter than its launch, so that two digits say all.
    #[serde(skip)]
    pub is_rough: bool,
}

/// The line that costs most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costliest {
    /// The line, with its share.
    #[serde(flatten)]
    pub place: LineShare,
    /// The quantity that it has the share of, in words.
    pub share_of: &'static str,
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// Nsight Compute's name of the state.
    pub state: &'static str,
    /// In words.
    pub text: &'static str,
    /// The share of the time.
    pub share: f64,
}

/// A model's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelTime {
    /// The model.
    pub model: &'static str,
    /// Its time in milliseconds.
    pub time_ms: f64,
    /// Its bound.
    pub bound: Bound,
    /// The time with the work that it leaves out, where one of its own warnings gives it.
    #[serde(skip)]
    pub with_left_out_ms: Option<f64>,
    /// True if one of its own warnings says that the time would be much longer.
    pub leaves_out: bool,
    /// True if the time is shorter than its launch, so that two digits say all.
    #[serde(skip)]
    pub is_rough: bool,
}

/// Shares of the time below this are not named.
const LEAST_SPENT: f64 = 0.05;

/// The prediction that the verdict rests on: that of the preferred model, else the simulation's if
/// there is one, otherwise the slowest. A model that warns of work that it leaves out is not
/// believed while others are there. The preferred model is the GPU's default, as everywhere.
#[must_use]
pub fn headline<'p>(predictions: &'p [Prediction], preferred: &str) -> Option<&'p Prediction> {
    let is_preferred = |one: &&Prediction| preferred == one.model;
    let preferred = predictions
        .iter()
        .find(is_preferred)
        .filter(|prediction| left_out_ms(prediction).is_none());
    let simulated = predictions.iter().find(|prediction| prediction.detail.simulation().is_some());
    let slowest = |credible: bool| {
        let those =
            predictions.iter().filter(|prediction| left_out_ms(prediction).is_none() || !credible);
        those.max_by(|a, b| a.time_ms.total_cmp(&b.time_ms))
    };
    preferred.or(simulated).or_else(|| slowest(true)).or_else(|| slowest(false))
}

/// The time that a prediction's warning says it would be with what the model leaves out.
fn left_out_ms(prediction: &Prediction) -> Option<f64> {
    let times = prediction.warnings.iter().filter_map(|warning| match warning {
        Warning::LeftOut { milliseconds, .. } => Some(*milliseconds),
        _ => None,
    });
    times.max_by(f64::total_cmp)
}

impl Verdict {
    /// The verdict of some predictions of one launch on one GPU. `headline` is one of them.
    #[must_use]
    pub fn new(
        headline: &Prediction,
        predictions: &[Prediction],
        costliest: Option<Costliest>,
    ) -> Self {
        let time_ms = headline.time_ms;
        let analysis = headline.detail.simulation();
        let models = others(headline, predictions)
            .map(|prediction| ModelTime {
                model: prediction.model,
                time_ms: prediction.time_ms,
                with_left_out_ms: left_out_ms(prediction),
                bound: prediction.bound,
                leaves_out: left_out_ms(prediction).is_some(),
                is_rough: prediction.is_below_launch(),
            })
            .collect();
        let spent = analysis.map_or_else(Vec::new, |analysis| {
            let named = analysis.shares().into_iter().filter(|(_, share)| *share >= LEAST_SPENT);
            named.map(|(state, share)| spent(state, share)).collect()
        });
        let (model, bound) = (headline.model, headline.bound);
        let is_rough = headline.is_below_launch();
        let refusal = headline.refusal();
        let interval = headline.interval.clone();
        let interval_declined_because = headline.interval_declined_because.clone();
        Self {
            time_ms,
            interval,
            interval_declined_because,
            model,
            bound,
            spent,
            costliest,
            models,
            refusal,
            is_rough,
        }
    }
}

/// The predictions that say something besides the headline. The interval model rests on the same
/// record as the simulation, which warns where they differ.
fn others<'p>(
    headline: &Prediction,
    predictions: &'p [Prediction],
) -> impl Iterator<Item = &'p Prediction> {
    let is_simulated = headline.detail.simulation().is_some();
    let repeats =
        move |one: &&Prediction| is_simulated && matches!(one.detail, Detail::Interval(_));
    predictions.iter().filter(move |prediction| !repeats(prediction))
}

fn spent(state: State, share: f64) -> Spent {
    Spent { state: state.name(), text: state.text(), share }
}
