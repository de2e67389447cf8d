//! The kernels of a sweep in all their sizes, and their counts.

use std::path::PathBuf;
use std::sync::Arc;

use gpucast_model::Gpu;

use super::{Cell, Point};
use crate::failure::{Failure, Report};
use crate::run::sources::{self, Execution, Source};
use crate::settings::{ExecutionSettings, LaunchOptions, MachineSettings};
use crate::supervisor::Supervisor;

/// Where counts of a case come from.
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
    /// What to count, or why it cannot even be said.
    pub source: Result<CaseSource, String>,
}

/// A case that has been counted.
pub struct Counted<'a> {
    /// The case.
    pub case: &'a Case,
    /// The point whose own counters were modelled, if each has its own.
    pub point: Option<usize>,
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

    /// Why there are no counts.
    pub(super) fn failure(&self) -> &str {
        match &self.sources {
            Ok(_) => "it launches nothing",
            Err(reason) => reason,
        }
    }
}

/// How cases are counted.
pub struct Counting<'a> {
    /// How PTX becomes machine instructions.
    pub machine: &'a MachineSettings,
    /// Limits and the order of CTAs.
    pub execution: &'a ExecutionSettings,
    /// Whether a model reads the counts between barriers.
    pub stages: bool,
    /// The GPU whose counters are modelled; none for each point's own.
    pub count_on: Option<&'a Gpu>,
    /// Who hears of the runs.
    pub supervisor: &'a dyn Supervisor,
}

/// Counts each case, once for all points unless each point counts for itself.
///
/// # Errors
///
/// Only [`Failure::Stopped`], and faults that somebody explains: no other case would avoid them.
pub fn count<'a>(
    cases: &'a [Case],
    points: &[Point],
    counting: &Counting<'_>,
) -> Result<Vec<Counted<'a>>, Failure> {
    let mut all = Vec::new();
    for case in cases {
        match counting.count_on {
            Some(gpu) => {
                all.push(Counted { case, point: None, sources: one(case, gpu, counting)? });
            }
            None => {
                for (at, point) in points.iter().enumerate() {
                    let sources = match &point.gpu {
                        Ok(gpu) => one(case, gpu, counting)?,
                        Err(reason) => Err(reason.clone()),
                    };
                    all.push(Counted { case, point: Some(at), sources });
                }
            }
        }
    }
    Ok(all)
}

fn one(
    case: &Case,
    gpu: &Gpu,
    counting: &Counting<'_>,
) -> Result<Result<Vec<Source>, String>, Failure> {
    let counted = match &case.source {
        Err(reason) => return Ok(Err(reason.clone())),
        Ok(CaseSource::Metrics { path, kernel }) => {
            sources::from_metrics(path, kernel.as_deref()).map_err(Failure::from)
        }
        Ok(CaseSource::Execution { input, launch }) => {
            let execution = Execution {
                input,
                launch,
                machine: counting.machine,
                execution: counting.execution,
                stages: counting.stages,
                offload: None,
                features: false,
                supervisor: counting.supervisor,
            };
            sources::executed(&execution, gpu)
        }
    };
    match counted {
        Ok(sources) => Ok(Ok(sources)),
        Err(Failure::Input(reports)) => Ok(Err(in_one_line(&reports))),
        Err(Failure::Usage(report)) => Ok(Err(in_one_line(&[report]))),
        Err(failure @ (Failure::Explained | Failure::Stopped)) => Err(failure),
    }
}

/// What is wrong, with its places.
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
