//! A launch's metrics over its repetitions: means, ranges, and what stands for all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_counters::export::Ranges;
use gpucast_counters::features::Features;
use gpucast_counters::launch_profile::Intervals;
use gpucast_counters::stages::Stages;
use gpucast_counters::{LaunchProfile, Metrics, Number};
use gpucast_model::sm_simulation::Invocations;
use gpucast_model::{Evidence, InstructionFacts};
use gpucast_simulation::launch::Launch as SimulatedLaunch;

/// The counts of one repetition of a launch.
#[derive(Clone)]
pub(super) struct Repetition {
    pub(super) profile: LaunchProfile,
    pub(super) stages: Option<Stages>,
    pub(super) features: Option<Features>,
    pub(super) simulation: Option<Arc<SimulatedLaunch>>,
    pub(super) instructions: Option<Arc<InstructionFacts>>,
}

impl Repetition {
    /// The counts alone.
    pub(super) fn new(profile: LaunchProfile, stages: Option<Stages>) -> Self {
        Self { profile, stages, features: None, simulation: None, instructions: None }
    }

    /// The same without what a trace adds.
    pub(super) fn untraced(&self) -> Self {
        let mut untraced = Self { simulation: None, instructions: None, ..self.clone() };
        untraced.profile.trace = None;
        untraced
    }
}

/// The mean of profiles of the same launch.
#[derive(Default)]
pub(super) struct Mean {
    /// The first profile, to which the tables of the others are added.
    first: Option<LaunchProfile>,
    stages: Option<Stages>,
    features: Option<Vec<(Features, u64)>>,
    /// The first repetition, and the second one, which stands for all later ones.
    simulation: Vec<Invocations>,
    instructions: Option<Arc<InstructionFacts>>,
    invocations: u64,
    metrics: Sums,
    ptx_metrics: Sums,
    /// Sums of the bounds of estimated metrics.
    intervals: Intervals,
}

/// All repetitions of a launch together.
pub(super) struct Repeated {
    pub(super) profile: LaunchProfile,
    pub(super) ranges: Ranges,
    pub(super) evidence: Evidence,
}

/// Sums of metrics over repetitions.
#[derive(Default)]
struct Sums(BTreeMap<String, Sum>);

/// The sum of a metric over repetitions, exact as long as it is one of counts.
#[derive(Default)]
struct Sum {
    counts: u128,
    reals: f64,
    /// Number of values that were reals.
    real_values: u64,
    values: u64,
    range: Option<(Number, Number)>,
}

impl Sum {
    fn add(&mut self, number: Number) {
        self.values += 1;
        match number {
            Number::Count(count) => self.counts += count,
            Number::Real(real) => {
                self.reals += real;
                self.real_values += 1;
            }
        }
        let (least, greatest) = self.range.unwrap_or((number, number));
        let below = number.as_f64() < least.as_f64();
        let above = number.as_f64() > greatest.as_f64();
        self.range =
            Some((if below { number } else { least }, if above { number } else { greatest }));
    }

    fn mean(&self) -> Number {
        let values = u128::from(self.values.max(1));
        if self.real_values == 0 && self.counts.is_multiple_of(values) {
            Number::Count(self.counts / values)
        } else {
            Number::Real((self.counts as f64 + self.reals) / values as f64)
        }
    }
}

impl Sums {
    fn add(&mut self, metrics: &Metrics) {
        for (name, metric) in metrics {
            self.0.entry(name.clone()).or_default().add(metric.value);
        }
    }

    fn put_means(&self, metrics: &mut Metrics) {
        for (name, metric) in metrics {
            if let Some(sum) = self.0.get(name) {
                metric.value = sum.mean();
            }
        }
    }

    fn ranges(self) -> Ranges {
        self.0.into_iter().filter_map(|(name, sum)| Some((name, sum.range?))).collect()
    }
}

impl Mean {
    /// Repetitions so far.
    pub(super) fn invocations(&self) -> u64 {
        self.invocations
    }

    /// Returns true if the order of events in the next repetition is needed.
    pub(super) fn is_traced(&self) -> bool {
        self.invocations < 2
    }

    pub(super) fn add(&mut self, repetition: Repetition) {
        let Repetition { profile, stages, features, simulation, instructions } = repetition;
        match (simulation, self.simulation.last_mut()) {
            (Some(launch), _) => {
                let covered: u64 = self.simulation.iter().map(|part| part.count).sum();
                let count = self.invocations + 1 - covered;
                self.simulation.push(Invocations { launch, count });
            }
            (None, Some(last)) => last.count += 1,
            (None, None) => {}
        }
        self.instructions = self.instructions.take().or(instructions);
        if let Some(features) = features {
            let all = self.features.get_or_insert_default();
            match all.last_mut() {
                Some((last, times)) if *last == features => *times += 1,
                _ => all.push((features, 1)),
            }
        }
        self.invocations += 1;
        self.metrics.add(&profile.metrics);
        for (name, [least, most]) in &profile.intervals {
            let sums = self.intervals.entry(name.clone()).or_default();
            (sums[0], sums[1]) = (sums[0] + least, sums[1] + most);
        }
        self.ptx_metrics.add(&profile.ptx_metrics);
        match (&mut self.stages, stages) {
            (Some(all), Some(stages)) => all.add(&stages.stages, stages.merged),
            (all @ None, stages) => *all = stages,
            (Some(_), None) => {}
        }
        let Some(first) = &mut self.first else {
            self.first = Some(profile);
            return;
        };
        // A ratio that has no value in the first repetition may have one in another.
        for (name, metric) in profile.metrics {
            first.metrics.entry(name).or_insert(metric);
        }
        for (name, metric) in profile.ptx_metrics {
            first.ptx_metrics.entry(name).or_insert(metric);
        }
        for (total, row) in first.table.rows.iter_mut().zip(&profile.table.rows) {
            total.add(row);
        }
        if let (Some(total), Some(machine)) = (&mut first.machine, &profile.machine) {
            total.add(machine);
        }
    }

    pub(super) fn finish(self) -> Option<Repeated> {
        let mut profile = self.first?;
        profile.invocations = self.invocations;
        let times = self.invocations as f64;
        let mean = |(name, sums): (String, [f64; 2])| (name, sums.map(|sum| sum / times));
        profile.intervals = self.intervals.into_iter().map(mean).collect();
        self.metrics.put_means(&mut profile.metrics);
        self.ptx_metrics.put_means(&mut profile.ptx_metrics);
        let evidence = Evidence {
            stages: self.stages.map(Arc::new),
            features: self.features.map(Arc::new),
            simulation: (!self.simulation.is_empty()).then(|| Arc::new(self.simulation)),
            simulator: None,
            orders: None,
            instructions: self.instructions,
        };
        Some(Repeated { profile, ranges: self.metrics.ranges(), evidence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_counts_stay_counts_where_they_are_whole() {
        let summary = |numbers: &[Number]| {
            let mut sum = Sum::default();
            numbers.iter().for_each(|&number| sum.add(number));
            (sum.mean(), sum.range)
        };
        let (count, real) = (Number::Count, Number::Real);
        let (mean, range) = summary(&[count(u128::MAX / 2), count(u128::MAX / 2)]);
        assert_eq!(
            (mean, range),
            (count(u128::MAX / 2), Some((count(u128::MAX / 2), count(u128::MAX / 2))))
        );
        assert_eq!(summary(&[count(2), count(1)]), (real(1.5), Some((count(1), count(2)))));
        assert_eq!(summary(&[real(50.0), real(100.0)]).0, real(75.0));
    }
}
