//! One run of a side, watched.

use std::mem;

use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::check::{Check, CheckedLaunch};
use gpucast_forecast::run::execute::{self, Executed, Loaded, Watch};
use gpucast_forecast::{Failure, Report, Supervisor};
use gpucast_interpreter::{
    DeviceMemory, FaultKind, Launch, Options, Program, RunError, StopReason,
};
use gpucast_sanitizer::{Checks, Sanitizer};

use crate::footprint::{Footprint, FootprintObserver};

/// What a run came to.
pub struct Ran {
    /// Its end.
    pub end: End,
    /// The findings of each repetition of each launch.
    pub checked: Vec<CheckedLaunch>,
    /// What it did with buffers.
    pub footprint: Footprint,
    /// Instructions times active lanes, of the launches that ran to their ends.
    pub thread_instructions: u128,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// All launches ran.
    Finished,
    /// A launch came to a fault, or could not begin.
    Fault(Vec<Report>),
    /// A launch came to a fault that a finding explains.
    Explained,
    /// It executed more instructions than it may.
    PastLimit,
    /// The time of the judgement is over.
    OutOfTime,
}

impl Ran {
    /// No run at all.
    pub(crate) fn nothing() -> Self {
        let (checked, footprint) = (Vec::new(), Footprint::default());
        Self { end: End::Finished, checked, footprint, thread_instructions: 0 }
    }

    /// Returns true if it ended, and nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let found = |launch: &CheckedLaunch| !launch.findings.findings.is_empty();
        let has_conflict = self.footprint.conflicts().next().is_some();
        self.end == End::Finished && !self.checked.iter().any(found) && !has_conflict
    }
}

/// Runs all launches under all checks.
///
/// # Errors
///
/// [`Failure::Stopped`] if the supervisor says so.
pub fn run(
    plan: &Plan,
    loaded: &Loaded,
    memory: &mut DeviceMemory,
    options: &Options,
    supervisor: &dyn Supervisor,
) -> Result<Ran, Failure> {
    let checks = Checks::all();
    let options = Sanitizer::options(checks, *options);
    let mut watch = Watched::new(checks, plan, memory);
    let outcome = execute::execute(plan, loaded, memory, &options, supervisor, &mut watch);
    let timings = watch.check.finished.iter();
    let thread_instructions = timings.map(|(timing, _)| timing.thread_instructions).sum();
    let end = match outcome {
        Ok(()) => End::Finished,
        Err(Failure::Stopped) => return Err(Failure::Stopped),
        Err(_) if watch.limit.is_some() => watch.limit.unwrap_or(End::OutOfTime),
        Err(Failure::Explained) => End::Explained,
        Err(Failure::Input(reports)) => End::Fault(reports),
        Err(Failure::Usage(report)) => End::Fault(vec![report]),
    };
    let (checked, footprint) = (watch.check.checked, watch.footprint);
    Ok(Ran { end, checked, footprint, thread_instructions })
}

/// The sanitizer and the footprint at once.
struct Watched {
    check: Check,
    footprint: Footprint,
    /// The limit that ended the run.
    limit: Option<End>,
}

impl Watched {
    fn new(checks: Checks, plan: &Plan, memory: &DeviceMemory) -> Self {
        let footprint = Footprint::new(plan, memory);
        Self { check: Check::new(checks, plan, memory), footprint, limit: None }
    }
}

impl Watch for Watched {
    type Observer = (Sanitizer, FootprintObserver);

    fn notes_hazards(&self) -> bool {
        false
    }

    fn begin(&mut self, program: &Program, launch: &Launch) -> Self::Observer {
        let footprint = mem::take(&mut self.footprint);
        let footprint = FootprintObserver::new(footprint, program);
        (self.check.begin(program, launch), footprint)
    }

    fn end(
        &mut self,
        (sanitizer, footprint): Self::Observer,
        program: &Program,
        memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        self.footprint = footprint.footprint;
        self.check.end(sanitizer, program, memory)
    }

    fn failed(&mut self, (sanitizer, footprint): Self::Observer, error: &RunError) -> bool {
        self.footprint = footprint.footprint;
        self.limit = match error {
            RunError::Stopped { reason: StopReason::Deadline, .. } => Some(End::OutOfTime),
            RunError::Fault(fault) if matches!(fault.kind, FaultKind::BudgetExhausted { .. }) => {
                Some(End::PastLimit)
            }
            RunError::Stopped { .. } | RunError::Fault(_) | RunError::Launch(_) => None,
        };
        self.check.failed(sanitizer, error)
    }

    fn launched(&mut self, executed: Executed<'_>) {
        self.check.launched(executed);
    }
}
