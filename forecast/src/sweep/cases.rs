//! The kernels of a sweep in all their sizes, and their counts.

use std::path::PathBuf;
use std::sync::Arc;

use gpucast_counters::device::DeviceModel;
use gpucast_model::{AskedTiming, Gpu, Needs};

use super::{Answers, Cell, Point};
use crate::choice::count_on::CountOn;
use crate::choice::model_choice;
use crate::failure::Failure;
use crate::run::kernel::Kernel;
use crate::run::sources::{self, CountingGpu, Counts, Source};
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
        /// Its place among other sizes, if it may be counted by formulas.
        place: Option<InFamily>,
    },
    /// From a file.
    Metrics {
        /// The file.
        path: PathBuf,
        /// The kernel of it that is meant; none means all.
        kernel: Option<String>,
    },
}

/// The place of a case in its family.
#[derive(Clone, Debug, PartialEq)]
pub struct InFamily {
    /// The place of the family in their list.
    pub family: usize,
    /// The sizes of its parameters, in the order of their names.
    pub sizes: Vec<u64>,
}

/// A kernel in one size. `S` describes the source of its counts.
pub struct Case<S = CaseSource> {
    /// As it was named on the command line.
    pub name: Arc<str>,
    /// Its size and parameters.
    pub labels: Vec<Cell>,
    /// The source to count, or the reason why there is none.
    pub source: Result<S, String>,
}

/// A case that has been counted for points whose counts are equal.
pub(super) struct Counted<'a, S> {
    /// The case.
    pub case: &'a Case<S>,
    /// One for each launch, or why there is none.
    sources: Result<Vec<Source>, String>,
}

impl<S> Counted<'_, S> {
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
    /// The way of measuring.
    pub timing: AskedTiming,
    /// Caller that is told of the runs' progress.
    pub supervisor: &'a dyn Supervisor,
}

/// Points with the same counts, which are taken once.
pub struct Group {
    /// The GPU whose counters are modelled, or why there is none.
    pub(super) gpu: Result<Gpu, String>,
    /// All of it that counts depend on, if it can be counted on.
    pub(super) device: Option<DeviceModel>,
    /// The places of the points.
    pub(super) points: Vec<usize>,
    /// The inputs that their models read beyond metrics.
    pub(super) needs: Needs,
}

/// The points in groups of equal counts. GPUs that cannot be are told off beside the first ones
/// that can.
pub(super) fn groups(points: &[Point], count_on: &CountOn, answers: &Answers<'_>) -> Vec<Group> {
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
        let (counting_gpu, needs) = match answers {
            Answers::Times(models) => {
                let chosen = models.of(gpu);
                (count_on.of(gpu, &chosen), model_choice::needs(&chosen))
            }
            Answers::Metrics(_) => (count_on.of_counts(gpu), Needs::METRICS),
        };
        let device = counting_gpu.device_model().ok();
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

/// Origin of the counts of a grid's cases.
pub trait Origin<S> {
    /// Caller that is told of progress, and can end it.
    fn supervisor(&self) -> &dyn Supervisor;

    /// The counts of a case's launches for the points of a group, or why there are none.
    ///
    /// # Errors
    ///
    /// What ends the whole sweep: [`Failure::Stopped`], and faults that somebody explains.
    fn count(&self, case: &Case<S>, group: &Group) -> Result<Result<Vec<Source>, String>, Failure>;

    /// The same for several groups, in their order.
    ///
    /// # Errors
    ///
    /// As [`Origin::count`].
    fn count_each(
        &self,
        case: &Case<S>,
        groups: &[Group],
    ) -> Result<Vec<Result<Vec<Source>, String>>, Failure> {
        groups.iter().map(|group| self.count(case, group)).collect()
    }
}

/// Counts a case for the points of some groups, in their order.
///
/// # Errors
///
/// Those of the origin.
pub(super) fn count<'a, S>(
    case: &'a Case<S>,
    groups: &[Group],
    origin: &dyn Origin<S>,
) -> Result<Vec<Counted<'a, S>>, Failure> {
    let sources = origin.count_each(case, groups)?;
    Ok(sources.into_iter().map(|sources| Counted { case, sources }).collect())
}

impl Origin<CaseSource> for Counting<'_> {
    fn supervisor(&self) -> &dyn Supervisor {
        self.supervisor
    }

    fn count(&self, case: &Case, group: &Group) -> Result<Result<Vec<Source>, String>, Failure> {
        let gpu = match &group.gpu {
            Ok(gpu) => gpu,
            Err(reason) => return Ok(Err(reason.clone())),
        };
        let counted = match &case.source {
            Err(reason) => return Ok(Err(reason.clone())),
            Ok(CaseSource::Metrics { path, kernel }) => {
                sources::from_metrics(path, kernel.as_deref()).map_err(Failure::from)
            }
            Ok(CaseSource::Execution { input, launch, place: _ }) => {
                let counts = Counts { needs: group.needs, ..self.counts.clone() };
                Kernel::open(input, launch)
                    .map_err(Failure::from)
                    .and_then(|kernel| kernel.count_with(gpu, &counts, self.supervisor))
            }
        };
        self.told(counted)
    }

    fn count_each(
        &self,
        case: &Case,
        groups: &[Group],
    ) -> Result<Vec<Result<Vec<Source>, String>>, Failure> {
        let gpus: Option<Vec<CountingGpu<'_>>> = groups
            .iter()
            .map(|group| Some(CountingGpu { gpu: group.gpu.as_ref().ok()?, needs: group.needs }))
            .collect();
        if let (Ok(CaseSource::Execution { input, launch, place: _ }), Some(gpus @ [_, _, ..])) =
            (&case.source, gpus.as_deref())
            // What is wrong with a kernel is told of for each group.
            && let Ok(kernel) = Kernel::open(input, launch)
            && let Ok(each) = kernel.count_each(gpus, self.counts, self.supervisor)
        {
            return each.into_iter().map(|counted| self.told(counted)).collect();
        }
        groups.iter().map(|group| self.count(case, group)).collect()
    }
}

impl Counting<'_> {
    /// Counts with the way of measuring, or why there are none.
    fn told(
        &self,
        counted: Result<Vec<Source>, Failure>,
    ) -> Result<Result<Vec<Source>, String>, Failure> {
        match counted {
            Ok(mut sources) => {
                sources.iter_mut().for_each(|source| source.ask(self.timing));
                Ok(Ok(sources))
            }
            Err(failure) => failure.in_one_line().map(Err),
        }
    }
}
