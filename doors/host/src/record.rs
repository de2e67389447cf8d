//! Keeps the launches and copies of a program for its report.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gpucast_model::Gpu;

use crate::Error;
use crate::clock::{Engine, StreamId};
use crate::collection::LaunchMetrics;
use crate::device::CountingChoice;
use crate::predicted::Predicted;
use crate::report::{Copies, Direction, Found, KernelRow, LaunchRow, ProcessReport};
use crate::settings::Settings;
use crate::timeline::{Timeline, What};

/// The properties by which launches are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) function: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
}

/// A launch that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launched {
    pub(crate) shape: Shape,
    pub(crate) stream: StreamId,
    pub(crate) start_ms: f64,
    pub(crate) predicted: Option<Predicted>,
    /// True if it was counted itself.
    pub(crate) counted: bool,
    /// True if it was not executed, since its effect was known.
    pub(crate) repeated: bool,
    /// The number of its metrics, if it was profiled.
    pub(crate) profile: Option<usize>,
}

/// A copy that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    pub(crate) engine: Engine,
    pub(crate) bytes: u64,
    pub(crate) stream: StreamId,
    pub(crate) start_ms: f64,
    pub(crate) time_ms: f64,
}

/// The counted launches of one shape.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    count: u32,
    time_ms: f64,
    bound: Option<&'static str>,
}

/// A kernel's launches.
#[derive(Clone, Debug, Default)]
struct Total {
    launches: u64,
    counted: u64,
    repeated: u64,
    time_ms: f64,
    least_ms: Option<f64>,
    most_ms: f64,
    /// Time by bound.
    bounds: BTreeMap<&'static str, f64>,
    warnings: BTreeSet<&'static str>,
    declined: Option<String>,
}

/// Everything that the report is made of.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// By name.
    kernels: BTreeMap<String, Total>,
    samples: HashMap<Shape, Samples>,
    copies: BTreeMap<Engine, Copies>,
    launches: Option<Vec<LaunchRow>>,
    pub(crate) timeline: Option<Timeline>,
    /// By kernel and the error's name.
    faults: BTreeMap<(String, &'static str), Found>,
}

impl Record {
    pub(crate) fn new(lists_launches: bool, keeps_timeline: bool) -> Self {
        let launches = lists_launches.then(Vec::new);
        Self { launches, timeline: keeps_timeline.then(Timeline::default), ..Self::default() }
    }

    /// The mean time of a shape's counted launches, once there are enough.
    pub(crate) fn sampled(&self, shape: &Shape, enough: u32) -> Option<Predicted> {
        let samples = self.samples.get(shape).filter(|samples| samples.count >= enough.max(1))?;
        let time_ms = samples.time_ms / f64::from(samples.count);
        Some(Predicted { time_ms, bound: samples.bound? })
    }

    fn total(&mut self, kernel: &str) -> &mut Total {
        self.kernels.entry(kernel.to_owned()).or_default()
    }

    pub(crate) fn launched(&mut self, kernel: &str, launched: Launched) {
        let Launched { shape, stream, start_ms, predicted, counted, repeated, profile } = launched;
        let total = self.total(kernel);
        total.launches += 1;
        total.counted += u64::from(counted);
        total.repeated += u64::from(repeated);
        if let Some(Predicted { time_ms, bound }) = predicted {
            total.time_ms += time_ms;
            total.least_ms = Some(total.least_ms.map_or(time_ms, |least| least.min(time_ms)));
            total.most_ms = total.most_ms.max(time_ms);
            *total.bounds.entry(bound).or_default() += time_ms;
        }
        if let (Some(Predicted { time_ms, bound }), true) = (predicted, counted) {
            let samples = self.samples.entry(shape).or_default();
            samples.count += 1;
            samples.time_ms += time_ms;
            samples.bound = Some(bound);
        }
        if let Some(timeline) = &mut self.timeline {
            let what = What::Kernel {
                name: kernel.to_owned(),
                grid: shape.grid,
                block: shape.block,
                bound: predicted.map(|predicted| predicted.bound.to_owned()),
            };
            timeline.add(
                what,
                stream,
                start_ms,
                predicted.map_or(0.0, |predicted| predicted.time_ms),
            );
        }
        if let Some(launches) = &mut self.launches {
            launches.push(LaunchRow {
                kernel: kernel.to_owned(),
                grid: shape.grid,
                block: shape.block,
                shared_bytes: shape.shared_bytes,
                stream,
                start_ms,
                time_ms: predicted.map(|predicted| predicted.time_ms),
                bound: predicted.map(|predicted| predicted.bound.to_owned()),
                counted,
                profile,
            });
        }
    }

    pub(crate) fn warned(&mut self, kernel: &str, codes: impl Iterator<Item = &'static str>) {
        self.total(kernel).warnings.extend(codes);
    }

    pub(crate) fn declined(&mut self, kernel: &str, reason: &str) {
        self.total(kernel).declined.get_or_insert_with(|| reason.to_owned());
    }

    /// A launch of `kernel` had faulting accesses, or ended by a fault.
    pub(crate) fn faulted(
        &mut self,
        kernel: &str,
        error: Error,
        first: &dyn std::fmt::Display,
        occurrences: u64,
    ) {
        let kind = error.runtime_name();
        let fault = self.faults.entry((kernel.to_owned(), kind)).or_insert_with(|| Found {
            kernel: kernel.to_owned(),
            kind: kind.to_owned(),
            text: first.to_string(),
            launches: 0,
            occurrences: 0,
        });
        fault.launches += 1;
        fault.occurrences += occurrences;
    }

    pub(crate) fn copied(&mut self, copied: Copied) {
        let Copied { engine, bytes, stream, start_ms, time_ms } = copied;
        let direction = Direction::from(engine);
        if let Some(timeline) = &mut self.timeline {
            timeline.add(What::Copy { direction, bytes }, stream, start_ms, time_ms);
        }
        let none = Copies { direction, count: 0, bytes: 0, time_ms: 0.0 };
        let copies = self.copies.entry(engine).or_insert(none);
        copies.count += 1;
        copies.bytes += bytes;
        copies.time_ms += time_ms;
    }

    /// The report; kernels with the longest time come first.
    pub(crate) fn report(
        &self,
        settings: &Settings,
        counting: &CountingChoice,
        gpu: &Gpu,
        end_ms: f64,
        findings: Option<Vec<Found>>,
        profiles: Vec<LaunchMetrics>,
    ) -> ProcessReport {
        let all: f64 = self.kernels.values().map(|total| total.time_ms).sum();
        let row = |(name, total): (&String, &Total)| KernelRow {
            kernel: name.clone(),
            launches: total.launches,
            counted: total.counted,
            repeated: total.repeated,
            time_ms: total.least_ms.map(|_| total.time_ms),
            least_ms: total.least_ms,
            most_ms: total.least_ms.map(|_| total.most_ms),
            share: (all > 0.0).then(|| total.time_ms / all),
            bound: longest(&total.bounds).map(str::to_owned),
            warning_codes: total.warnings.iter().map(|&code| code.to_owned()).collect(),
            declined: total.declined.clone(),
        };
        let mut kernels: Vec<KernelRow> = self.kernels.iter().map(row).collect();
        kernels.sort_by(|a, b| b.time_ms.unwrap_or(0.0).total_cmp(&a.time_ms.unwrap_or(0.0)));
        ProcessReport {
            program: std::env::current_exe()
                .map(|path| path.display().to_string())
                .unwrap_or_default(),
            pid: std::process::id(),
            gpu: gpu.name.clone(),
            gpu_name: gpu.display_name.clone(),
            counted_on: counting.gpu.name.clone(),
            model: counting.chosen.model.name().to_owned(),
            timing: settings.timing.clone(),
            mode: settings.mode,
            end_ms,
            kernels,
            copies: self.copies.values().copied().collect(),
            findings,
            faults: self.faults.values().cloned().collect(),
            launches: self.launches.clone(),
            profiles,
            timeline: self.timeline.clone(),
        }
    }
}

/// The bound that most of the time is spent on.
fn longest(bounds: &BTreeMap<&'static str, f64>) -> Option<&'static str> {
    bounds.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(bound, _)| *bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_shape_are_sampled_until_there_are_enough() {
        let mut record = Record::new(true, false);
        let shape = Shape { function: 0, grid: [1; 3], block: [32, 1, 1], shared_bytes: 0 };
        let other = Shape { grid: [2, 1, 1], ..shape };
        let launched = |time_ms| Launched {
            shape,
            stream: 0,
            start_ms: 0.0,
            predicted: Some(Predicted { time_ms, bound: "memory" }),
            counted: true,
            repeated: false,
            profile: None,
        };
        record.launched("k", launched(1.0));
        assert_eq!(record.sampled(&shape, 2), None);
        record.launched("k", launched(3.0));
        let mean = Predicted { time_ms: 2.0, bound: "memory" };
        assert_eq!(record.sampled(&shape, 2), Some(mean));
        assert_eq!(record.sampled(&other, 2), None);
        record.launched("k", Launched { predicted: Some(mean), counted: false, ..launched(0.0) });
        let total = &record.kernels["k"];
        assert_eq!((total.launches, total.counted, total.time_ms), (3, 2, 6.0));
        assert_eq!((total.least_ms, total.most_ms), (Some(1.0), 3.0));
        assert_eq!(record.launches.unwrap().len(), 3);
    }
}
