//! Two predictions side by side: a kernel before and after a change.

use gpucast_counters::Metrics;
use serde::Serialize;

use crate::comparison::distinct;
use crate::failure::Report;
use crate::prediction::KernelView;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "gpucast.difference/1";

/// A time before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
}

impl TimeChange {
    fn new(gpu: &str, model: &'static str, before_ms: f64, after_ms: f64) -> Self {
        let change = after_ms / before_ms - 1.0;
        Self { gpu: gpu.to_owned(), model, before_ms, after_ms, change }
    }
}

/// A metric before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
            let of_launch = |launch: &LaunchChange| {
                let time = launch.times.iter().find(|one| one.gpu == gpu && one.model == model)?;
                Some((time.before_ms, time.after_ms))
            };
            let times: Option<Vec<(f64, f64)>> = launches.iter().map(of_launch).collect();
            let (before, after): (Vec<f64>, Vec<f64>) = times?.into_iter().unzip();
            Some(TimeChange::new(&gpu, model, before.iter().sum(), after.iter().sum()))
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
        Some(TimeChange::new(gpu, model, one.prediction.time_ms, other.prediction.time_ms))
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
