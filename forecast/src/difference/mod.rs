//! Two predictions side by side: a kernel before and after a change.

mod baseline;
mod bound;
mod condition;
mod limit;

use std::collections::BTreeMap;

use gpucast_model::duration;
use serde::Serialize;

use crate::comparison::distinct;
use crate::failure::Report;
use crate::prediction::{KernelView, together};

pub use baseline::read as read_baseline;
pub use condition::{Broken, Condition};
pub use limit::{Exceeded, exceeded};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "gpucast.difference/1";

/// What is compared of a launch, be it counted now or earlier.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaunchFigures {
    /// The kernel.
    pub kernel: String,
    /// Values of metrics with their units, by the metrics' names.
    pub metrics: BTreeMap<String, (f64, String)>,
    /// The predicted times.
    pub times: Vec<Time>,
}

impl LaunchFigures {
    /// The longest of the times in milliseconds; 0 if there is none.
    #[must_use]
    pub fn longest_ms(&self) -> f64 {
        self.times.iter().map(|time| time.ms).fold(0.0, f64::max)
    }
}

/// What is compared of a KERNEL.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Its launches in their order.
    pub launches: Vec<LaunchFigures>,
    /// The times of all of them, where they are several: as one measurement around all shows them.
    pub together: Vec<Time>,
}

impl Figures {
    /// Those of one KERNEL that was counted.
    #[must_use]
    pub fn of(kernels: &[KernelView]) -> Self {
        let together = together::totals(kernels).into_iter().map(|total| Time {
            gpu: total.gpu.to_owned(),
            model: total.model.to_owned(),
            ms: total.time_ms,
            text: duration(total.time_ms),
        });
        // GPUs that are counted apart have a view each, and a launch has the counts of the first.
        let mut launches: BTreeMap<usize, LaunchFigures> = BTreeMap::new();
        for view in kernels {
            let figures = LaunchFigures::from(view);
            match launches.get_mut(&view.launch) {
                Some(first) => first.times.extend(figures.times),
                None => {
                    launches.insert(view.launch, figures);
                }
            }
        }
        Self { launches: launches.into_values().collect(), together: together.collect() }
    }

    /// Those of each KERNEL of a command.
    #[must_use]
    pub fn of_each(kernels: &[KernelView]) -> Vec<Self> {
        kernels.chunk_by(|one, next| one.argument == next.argument).map(Self::of).collect()
    }

    /// The times of all launches together, where a model predicts each of them.
    #[must_use]
    pub fn totals(&self) -> Vec<Time> {
        let keys = self.launches.iter().flat_map(|launch| &launch.times);
        let keys = distinct(keys.map(|time| (time.gpu.as_str(), time.model.as_str())));
        let total = |(gpu, model): (&str, &str)| {
            let is_meant = |time: &&Time| time.gpu == gpu && time.model == model;
            let of_launch = |launch: &LaunchFigures| launch.times.iter().find(is_meant).cloned();
            let mut times = self.launches.iter().map(of_launch).collect::<Option<Vec<Time>>>()?;
            if let ([_, _, ..], Some(together)) = (&*times, self.together(gpu, model)) {
                return Some(together.clone());
            }
            let ms = times.iter().map(|time| time.ms).sum();
            let first = times.swap_remove(0);
            Some(if times.is_empty() { first } else { Time { ms, text: duration(ms), ..first } })
        };
        keys.into_iter().filter_map(total).collect()
    }

    /// The GPUs that have some time and are none of `known`.
    fn gpus_without(&self, known: &[&str]) -> Vec<&str> {
        let times = self.launches.iter().flat_map(|launch| &launch.times);
        let gpus = distinct(times.map(|time| time.gpu.as_str()));
        gpus.into_iter().filter(|gpu| !known.contains(gpu)).collect()
    }

    fn together(&self, gpu: &str, model: &str) -> Option<&Time> {
        self.together.iter().find(|time| time.gpu == gpu && time.model == model)
    }
}

impl From<&KernelView> for LaunchFigures {
    fn from(view: &KernelView) -> Self {
        let metrics = view.profile.metrics.iter();
        let metrics = metrics
            .map(|(name, metric)| (name.clone(), (metric.value.as_f64(), metric.unit.to_owned())));
        let times = view.predictions.iter().map(|prediction| Time {
            gpu: prediction.prediction.gpu.clone(),
            model: prediction.prediction.model.to_owned(),
            ms: prediction.prediction.time_ms,
            text: prediction.prediction.time_text(),
        });
        let kernel = view.profile.kernel.clone();
        Self { kernel, metrics: metrics.collect(), times: times.collect() }
    }
}

/// A predicted time of a launch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Time {
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: String,
    /// The time in milliseconds.
    pub ms: f64,
    /// The time for people.
    pub text: String,
}

/// A time before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TimeChange {
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: String,
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
    fn between(before: &Time, after: &Time) -> Self {
        Self {
            gpu: before.gpu.clone(),
            model: before.model.clone(),
            before_ms: before.ms,
            after_ms: after.ms,
            change: after.ms / before.ms - 1.0,
            texts: [before.text.clone(), after.text.clone()],
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
    pub fn of(before: &Figures, after: &Figures) -> Result<Self, Report> {
        let sides = [before, after];
        let [before, after] = sides.map(|side| side.launches.as_slice());
        if before.len() != after.len() {
            let (before, after) = (before.len(), after.len());
            let message = format!("{before} launches stand against {after}");
            return Err(Report::new(message).hint("choose launches by --kernel"));
        }
        let launches: Vec<LaunchChange> =
            before.iter().zip(after).map(|(before, after)| launch(before, after)).collect();
        let keys = launches.iter().flat_map(|launch| &launch.times);
        let keys = distinct(keys.map(|time| (time.gpu.clone(), time.model.clone())));
        let total = |(gpu, model): (String, String)| {
            if let [Some(before), Some(after)] = sides.map(|side| side.together(&gpu, &model)) {
                return Some(TimeChange::between(before, after));
            }
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

    /// The growth of each launch's time in milliseconds, where it grew most; 0 if none grew.
    #[must_use]
    pub fn growths(&self) -> Vec<f64> {
        let growth = |time: &TimeChange| time.after_ms - time.before_ms;
        let of_launch = |one: &LaunchChange| one.times.iter().map(growth).fold(0.0, f64::max);
        self.launches.iter().map(of_launch).collect()
    }
}

fn launch(before: &LaunchFigures, after: &LaunchFigures) -> LaunchChange {
    let times = before.times.iter().filter_map(|old| {
        let is_same = |new: &&Time| new.gpu == old.gpu && new.model == old.model;
        Some(TimeChange::between(old, after.times.iter().find(is_same)?))
    });
    LaunchChange {
        before: before.kernel.clone(),
        after: after.kernel.clone(),
        times: times.collect(),
        counts: counts(before, after),
    }
}

fn counts(before: &LaunchFigures, after: &LaunchFigures) -> Vec<CountChange> {
    let mut names: Vec<_> = before.metrics.keys().chain(after.metrics.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &String| {
        let (before, after) = (before.metrics.get(name), after.metrics.get(name));
        let value = |side: Option<&(f64, String)>| side.map(|(value, _)| *value);
        CountChange {
            metric: name.clone(),
            unit: before.or(after).map_or_else(String::new, |(_, unit)| unit.clone()),
            before: value(before),
            after: value(after),
        }
    };
    names.into_iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two launches whose time together is not the sum of both: one pair of events is around all.
    #[test]
    fn totals_are_those_of_one_measurement_around_all_launches() {
        let time = |ms: f64| Time {
            gpu: "h100-sxm".to_owned(),
            model: "sm-simulation".to_owned(),
            ms,
            text: duration(ms),
        };
        let launch = |ms: f64| LaunchFigures {
            kernel: "k".to_owned(),
            metrics: BTreeMap::new(),
            times: vec![time(ms)],
        };
        let figures = |each: [f64; 2], together: &[f64]| Figures {
            launches: each.map(launch).into(),
            together: together.iter().map(|&ms| time(ms)).collect(),
        };
        let (before, after) = (figures([3.0, 4.0], &[6.0]), figures([2.0, 2.0], &[3.0]));
        let total = |before: &Figures, after: &Figures| {
            let total = Difference::of(before, after).unwrap().totals.remove(0);
            [total.before_ms, total.after_ms, total.change]
        };
        assert_eq!(total(&before, &after), [6.0, 3.0, -0.5]);
        // A document of an older program has none: sums stand against sums.
        let older = figures([3.0, 4.0], &[]);
        assert_eq!(total(&older, &after)[..2], [7.0, 4.0]);
    }
}
