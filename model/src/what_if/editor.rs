//! Counts that are being changed, with a note of each change.

use std::sync::Arc;

use gpucast_counters::stages::Stages;
use gpucast_counters::{KernelProfile, Kind, MetricValue, Number};

use super::{Change, Changed};
use crate::predictor::Conditions;

pub(super) struct Editor {
    profile: KernelProfile,
    pub(super) conditions: Conditions,
    changes: Vec<Change>,
}

impl Editor {
    pub(super) fn new(profile: KernelProfile, conditions: Conditions) -> Self {
        Self { profile, conditions, changes: Vec::new() }
    }

    pub(super) fn finish(self) -> Changed {
        let Self { profile, conditions, changes } = self;
        Changed { profile, conditions, changes }
    }

    /// A metric of one invocation, if the counts have it and it is a number.
    pub(super) fn get(&self, metric: &str) -> Option<f64> {
        let value = self.profile.metrics.get(metric)?.value.as_f64();
        value.is_finite().then_some(value)
    }

    /// Changes a metric, if the counts have it and it is different.
    pub(super) fn set(&mut self, metric: &str, after: f64) {
        let Some(before) = self.get(metric) else { return };
        if before == after {
            return;
        }
        let unit = self.profile.metrics.get(metric).map_or("", |figure| figure.unit);
        self.follow(metric, after);
        self.note(metric, Some(before), after, unit);
    }

    /// Changes a metric that follows from others, which are noted.
    pub(super) fn follow(&mut self, metric: &str, after: f64) {
        if let Some(figure) = self.profile.metrics.get_mut(metric)
            && figure.value.as_f64() != after
        {
            let whole = after.fract() == 0.0 && (0.0..9e15).contains(&after);
            let value = if whole { Number::Count(after as u128) } else { Number::Real(after) };
            *figure = MetricValue { value, unit: figure.unit, kind: Kind::Estimated };
        }
    }

    /// Multiplies a metric that follows from others.
    pub(super) fn scale(&mut self, metric: &str, factor: f64) {
        if let Some(before) = self.get(metric) {
            self.follow(metric, before * factor);
        }
    }

    /// Writes a change down that is none of a metric.
    pub(super) fn note(
        &mut self,
        quantity: &str,
        before: Option<f64>,
        after: f64,
        unit: &'static str,
    ) {
        self.changes.push(Change { quantity: quantity.to_owned(), before, after, unit });
    }

    /// Changes the counts between barriers, if they are known.
    pub(super) fn stages(&mut self, change: impl FnOnce(&mut Stages)) {
        if let Some(stages) = &mut self.conditions.evidence.stages {
            change(Arc::make_mut(stages));
        }
    }
}
