//! Two predictions side by side: a kernel before and after a change.

use gpucast_counters::Metrics;
use gpucast_model::{Prediction, duration};
use serde::Serialize;

use crate::comparison::distinct;
use crate::failure::Report;
use crate::prediction::KernelView;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "gpucast.difference/1";

/// A time before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TimeChange {
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: &'static str,
    /// The time before, in milliseconds.
    pub before_ms: f64,
    /// The time after, in milliseconds.
    pub after_ms: f64,
    /// The relative change: 0.05 if it takes 5 % longer.
    pub change: f64,
    /// The times for people: those below that of a launch have two digits.
    #[serde(skip)]
    pub texts: [String; 2],
}

impl TimeChange {
    fn of_launch(before: &Prediction, after: &Prediction) -> Self {
        Self {
            gpu: before.gpu.clone(),
            model: before.model,
            before_ms: before.time_ms,
            after_ms: after.time_ms,
            change: after.time_ms / before.time_ms - 1.0,
            texts: [before.time_text(), after.time_text()],
        }
    }

    /// The times of several launches together.
    fn total(times: &[&Self]) -> Option<Self> {
        let (first, rest) = times.split_first()?;
        if rest.is_empty() {
            return Some((*first).clone());
        }
        let before_ms: f64 = times.iter().map(|time| time.before_ms).sum();
        let after_ms: f64 = times.iter().map(|time| time.after_ms).sum();
        let change = after_ms / before_ms - 1.0;
        let texts = [duration(before_ms), duration(after_ms)];
        Some(Self { before_ms, after_ms, change, texts, ..(*first).clone() })
    }
}

/// A metric before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CountChange {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The value before; `None` if the metric was not counted.
    pub before: Option<f64>,
    /// The value after.
    pub after: Option<f64>,
}

impl CountChange {
    /// The relative change, if there was something before.
    #[must_use]
    pub fn change(&self) -> Option<f64> {
        let (before, after) = (self.before?, self.after?);
        (before != 0.0).then(|| after / before - 1.0)
    }

    /// Returns true if the values are the same.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.before == self.after
    }
}

/// A launch before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LaunchChange {
    /// The kernel before.
    pub before: String,
    /// The kernel after.
    pub after: String,
    /// The times by GPU and model; those that only one side has are left out.
    pub times: Vec<TimeChange>,
    /// All metrics of either side, in order of their names.
    pub counts: Vec<CountChange>,
}

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    schema: &'static str,
    /// The launches in their order.
    pub launches: Vec<LaunchChange>,
    /// The times of all launches together.
    pub totals: Vec<TimeChange>,
}

impl Difference {
    /// Puts the launches of two runs beside each other, the first beside the first.
    ///
    /// # Errors
    ///
    /// If one has more launches than the other, and if no model predicts both.
    pub fn of(before: &[KernelView], after: &[KernelView]) -> Result<Self, Report> {
        if before.len() != after.len() {
            let (before, after) = (before.len(), after.len());
            let message = format!("{before} launches stand against {after}");
            return Err(Report::new(message).hint("choose launches by --kernel"));
        }
        let launches: Vec<LaunchChange> =
            before.iter().zip(after).map(|(before, after)| launch(before, after)).collect();
        let keys = launches.iter().flat_map(|launch| &launch.times);
        let keys = distinct(keys.map(|time| (time.gpu.clone(), time.model)));
        let total = |(gpu, model): (String, &'static str)| {
            let is_meant = |time: &TimeChange| time.gpu == gpu && time.model == model;
            let of_launch = |launch: &LaunchChange| launch.times.iter().position(is_meant);
            let places: Option<Vec<usize>> = launches.iter().map(of_launch).collect();
            let times = launches.iter().zip(places?).map(|(launch, at)| &launch.times[at]);
            TimeChange::total(&times.collect::<Vec<&TimeChange>>())
        };
        let totals: Vec<TimeChange> = keys.into_iter().filter_map(total).collect();
        if totals.is_empty() {
            return Err(Report::new("no model predicts a time of both for the same GPU"));
        }
        Ok(Self { schema: SCHEMA, launches, totals })
    }

    /// The totals that grew by more than a fraction.
    pub fn slower_by(&self, fraction: f64) -> impl Iterator<Item = &TimeChange> {
        self.totals.iter().filter(move |total| total.change > fraction)
    }
}

fn launch(before: &KernelView, after: &KernelView) -> LaunchChange {
    let times = before.predictions.iter().filter_map(|one| {
        let (gpu, model) = (&one.prediction.gpu, one.prediction.model);
        let same = |other: &&crate::prediction::PredictionView| {
            other.prediction.gpu == *gpu && other.prediction.model == model
        };
        let other = after.predictions.iter().find(same)?;
        Some(TimeChange::of_launch(&one.prediction, &other.prediction))
    });
    LaunchChange {
        before: before.profile.kernel.clone(),
        after: after.profile.kernel.clone(),
        times: times.collect(),
        counts: counts(&before.profile.metrics, &after.profile.metrics),
    }
}

fn counts(before: &Metrics, after: &Metrics) -> Vec<CountChange> {
    let mut names: Vec<_> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &String| {
        let of = |metrics: &Metrics| metrics.get(name).map(|metric| metric.value.as_f64());
        let metric = before.get(name).or_else(|| after.get(name));
        CountChange {
            metric: name.clone(),
            unit: metric.map_or_else(String::new, |metric| metric.unit.to_owned()),
            before: of(before),
            after: of(after),
        }
    };
    names.into_iter().map(change).collect()
}
