//! The kernels of a sweep in all their sizes, and their counts.

use std::path::PathBuf;
use std::sync::Arc;

use gpucast_counters::device::DeviceModel;
use gpucast_model::{Gpu, Needs, Timing};

use super::{Cell, Point};
use crate::choice::count_on::CountOn;
use crate::choice::model_choice::{self, Models};
use crate::failure::{Failure, Report};
use crate::run::kernel::Kernel;
use crate::run::sources::{self, Counts, Source};
use crate::run::supervisor::Supervisor;
use crate::settings::LaunchOptions;

/// Origin of a case's counts.
pub enum CaseSource {
    /// From executing a KERNEL.
    Execution {
        /// The KERNEL.
        input: String,
        /// Its launch, or the choice among its files.
        launch: Box<LaunchOptions>,
    },
    /// From a file.
    Metrics {
        /// The file.
        path: PathBuf,
        /// The kernel of it that is meant; none means all.
        kernel: Option<String>,
    },
}

/// A kernel in one size.
pub struct Case {
    /// As it was named on the command line.
    pub name: Arc<str>,
    /// Its size and parameters.
    pub labels: Vec<Cell>,
    /// The source to count, or the reason why there is none.
    pub source: Result<CaseSource, String>,
}

/// A case that has been counted for points whose counts are equal.
pub(super) struct Counted<'a> {
    /// The case.
    pub case: &'a Case,
    /// One for each launch, or why there is none.
    sources: Result<Vec<Source>, String>,
}

impl Counted<'_> {
    /// The launches with their numbers from 1 on; one `None` if there are none.
    pub(super) fn launches(&self) -> impl Iterator<Item = Option<(usize, &Source)>> {
        let sources = self.sources.as_deref().unwrap_or_default();
        let nothing = sources.is_empty().then_some(None);
        sources.iter().enumerate().map(|(at, source)| Some((at + 1, source))).chain(nothing)
    }

    /// Returns the reason why there are no counts.
    pub(super) fn failure(&self) -> &str {
        match &self.sources {
            Ok(_) => "it launches nothing",
            Err(reason) => reason,
        }
    }
}

/// Settings by which cases are counted.
pub struct Counting<'a> {
    /// Settings by which launches are executed and counted. The models say what else is recorded.
    pub counts: &'a Counts,
    /// The GPUs whose counters are modelled.
    pub count_on: &'a CountOn,
    /// The way of measuring whose fixed part is added.
    pub timing: Option<Timing>,
    /// Caller that is told of the runs' progress.
    pub supervisor: &'a dyn Supervisor,
}

/// Points with the same counts, which are taken once.
pub(super) struct Group {
    /// The GPU whose counters are modelled, or why there is none.
    gpu: Result<Gpu, String>,
    /// All of it that counts depend on, if it can be counted on.
    device: Option<DeviceModel>,
    /// The places of the points.
    pub points: Vec<usize>,
    needs: Needs,
}

/// The points in groups of equal counts. GPUs that cannot be are told off beside the first ones
/// that can.
pub(super) fn groups(points: &[Point], count_on: &CountOn, models: &Models) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut impossible = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let gpu = match &point.gpu {
            Ok(gpu) => gpu,
            Err(reason) => {
                impossible.push((at, reason));
                continue;
            }
        };
        let chosen = models.of(gpu);
        let counting_gpu = count_on.of(gpu, &chosen);
        let device = counting_gpu.device_model().ok();
        let needs = model_choice::needs(&chosen);
        match groups.iter_mut().find(|group| device.is_some() && group.device == device) {
            Some(group) => {
                group.points.push(at);
                group.needs = group.needs | needs;
            }
            None => groups.push(Group {
                gpu: Ok(counting_gpu.clone()),
                device,
                points: vec![at],
                needs,
            }),
        }
    }
    for (at, reason) in impossible {
        match groups.first_mut() {
            Some(group) => group.points.push(at),
            None => groups.push(Group {
                gpu: Err(reason.clone()),
                device: None,
                points: vec![at],
                needs: Needs::METRICS,
            }),
        }
    }
    groups
}

/// Counts a case for the points of a group.
///
/// # Errors
///
/// Only [`Failure::Stopped`], and faults that somebody explains: no other case would avoid them.
pub(super) fn count<'a>(
    case: &'a Case,
    group: &Group,
    counting: &Counting<'_>,
) -> Result<Counted<'a>, Failure> {
    let sources = match &group.gpu {
        Ok(gpu) => one(case, gpu, group, counting)?,
        Err(reason) => Err(reason.clone()),
    };
    Ok(Counted { case, sources })
}

fn one(
    case: &Case,
    gpu: &Gpu,
    group: &Group,
    counting: &Counting<'_>,
) -> Result<Result<Vec<Source>, String>, Failure> {
    let counted = match &case.source {
        Err(reason) => return Ok(Err(reason.clone())),
        Ok(CaseSource::Metrics { path, kernel }) => {
            sources::from_metrics(path, kernel.as_deref()).map_err(Failure::from)
        }
        Ok(CaseSource::Execution { input, launch }) => {
            let counts = Counts { needs: group.needs, ..counting.counts.clone() };
            Kernel::open(input, launch)
                .and_then(|kernel| kernel.count_with(gpu, &counts, counting.supervisor))
        }
    };
    match counted {
        Ok(mut sources) => {
            sources.iter_mut().for_each(|source| source.conditions.timing = counting.timing);
            Ok(Ok(sources))
        }
        Err(Failure::Input(reports)) => Ok(Err(in_one_line(&reports))),
        Err(Failure::Usage(report)) => Ok(Err(in_one_line(&[report]))),
        Err(failure @ (Failure::Explained | Failure::Stopped)) => Err(failure),
    }
}

/// Joins the reports and their places to one line.
pub(super) fn in_one_line(reports: &[Report]) -> String {
    let line = |report: &Report| match &report.anchor {
        Some(anchor) => {
            let text = &anchor.source.text;
            let before = text.get(..anchor.range.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            format!("{}:{line}: {}", anchor.source.name, report.message)
        }
        None => report.message.clone(),
    };
    let lines: Vec<String> = reports.iter().map(line).collect();
    lines.join("; ")
}
