//! The kernels of a sweep in all their sizes, and their counts.

use std::path::PathBuf;
use std::sync::Arc;

use gpucast_model::{Gpu, Timing};

use super::{Cell, Point};
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

/// A case that has been counted.
pub(super) struct Counted<'a> {
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
    /// Settings by which launches are executed and counted.
    pub counts: &'a Counts,
    /// The GPU whose counters are modelled; none for each point's own.
    pub count_on: Option<&'a Gpu>,
    /// The way of measuring whose fixed part is added.
    pub timing: Option<Timing>,
    /// Caller that is told of the runs' progress.
    pub supervisor: &'a dyn Supervisor,
}

/// Counts a case, once for all points unless each point counts for itself.
///
/// # Errors
///
/// Only [`Failure::Stopped`], and faults that somebody explains: no other case would avoid them.
pub(super) fn count<'a>(
    case: &'a Case,
    points: &[Point],
    counting: &Counting<'_>,
) -> Result<Vec<Counted<'a>>, Failure> {
    let counted = |point, sources| Counted { case, point, sources };
    match counting.count_on {
        Some(gpu) => Ok(vec![counted(None, one(case, gpu, counting)?)]),
        None => points
            .iter()
            .enumerate()
            .map(|(at, point)| {
                let sources = match &point.gpu {
                    Ok(gpu) => one(case, gpu, counting)?,
                    Err(reason) => Err(reason.clone()),
                };
                Ok(counted(Some(at), sources))
            })
            .collect(),
    }
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
        Ok(CaseSource::Execution { input, launch }) => Kernel::open(input, launch)
            .and_then(|kernel| kernel.count_with(gpu, counting.counts, counting.supervisor)),
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
