//! Watches an execution for errors that a GPU does not report.
//!
//! ```text
//!                      ┌─ roles: what each instruction's text says of order
//! events ─► recorder ──┼─ cluster ─► clocks (who knows of whom)
//!           (one CTA)  │         ├─► shadow (who wrote and read each byte of shared memory)
//!                      │         └─► tensor (the same for cells of tensor memory)
//!                      └─ device: what was written of buffers, the heap's blocks
//!               │
//!               └─► finding: what was found, as data; one for each kind and pair of instructions
//! ```
//!
//! [`Sanitizer`] is an [`Observer`] of one launch; a [`DeviceShadow`] goes from launch to launch.
//! [`HazardScan`] is one that looks for races for a short time, where nobody asked for checks.
//! Findings do not depend on the number of CPU threads. Each CTA is checked by itself (with the
//! others of its cluster), and the findings of CTAs are put together in their order.
//! `docs/sanitiser.md` defines what counts as synchronisation.
//!
//! The crate knows events and programs. It renders nothing.
//!
//! With `Options::skip_bad_accesses` the executor leaves bad accesses out and goes on, so that one
//! run finds several.

mod checks;
mod clocks;
mod cluster;
mod device;
pub mod finding;
mod launch;
mod pending;
mod products;
mod recorder;
mod roles;
mod scan;
mod shadow;
mod tensor;

use std::sync::Arc;

use gpucast_interpreter::{Fault, Launch, Observer, Options, Program};

pub use checks::{Check, Checks, UnknownCheck};
pub use device::{Buffer, DeviceShadow};
pub use finding::{Absence, Between, Example, Finding, Hazard, Kind, Party, Site, TouchedMemory};
pub use recorder::CtaChecker;
pub use scan::HazardScan;

use finding::{Collection, Key};
use launch::LaunchFacts;

/// The findings of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The findings by check, then in order of the text.
    pub findings: Vec<Finding>,
    /// Occurrences beyond the findings that are kept apart.
    pub dropped: u64,
    /// True if the fault that ended the launch is among the findings.
    pub explains_fault: bool,
}

/// Checks one launch.
#[derive(Debug)]
pub struct Sanitizer {
    launch: Arc<LaunchFacts>,
    found: Collection,
}

impl Sanitizer {
    /// For a launch of `program` on the memory that `device` shadows.
    #[must_use]
    pub fn new(
        program: &Program,
        launch: &Launch,
        checks: Checks,
        device: &Arc<DeviceShadow>,
    ) -> Self {
        Self::limited(program, launch, checks, device, u32::MAX)
    }

    /// The same, which looks at no more than the first accesses of each CTA to shared memory, of
    /// which each warp's counts as one.
    pub(crate) fn limited(
        program: &Program,
        launch: &Launch,
        checks: Checks,
        device: &Arc<DeviceShadow>,
        most_accesses: u32,
    ) -> Self {
        let mut launch = LaunchFacts::new(program, launch, checks, Arc::clone(device));
        launch.most_accesses = most_accesses;
        Self { launch: Arc::new(launch), found: Collection::default() }
    }

    /// The options of a run under these checks: accesses that the memory check reports do not end
    /// it.
    #[must_use]
    pub fn options(checks: Checks, options: Options) -> Options {
        Options { skip_bad_accesses: checks.has(Check::Memory), ..options }
    }

    /// Returns the findings, with the fault that ended the launch if a check is concerned with it.
    #[must_use]
    pub fn finish(mut self, fault: Option<&Fault>) -> Findings {
        self.launch.device.publish(&self.launch.writes);
        let mut explains_fault = false;
        if let Some(fault) = fault
            && let Some(kind) = Kind::of_fault(&fault.kind)
            && self.launch.checks.has(kind.check())
        {
            explains_fault = true;
            self.add_fault(fault, kind);
        }
        let dropped = self.found.dropped;
        Findings { findings: self.found.into_findings(), dropped, explains_fault }
    }

    fn add_fault(&mut self, fault: &Fault, kind: Kind) {
        let span = fault.instruction.as_ref().map(|site| site.span);
        let instruction = span.and_then(|span| self.launch.instruction_at(span));
        let instruction = instruction.unwrap_or(u32::MAX);
        let launch = &self.launch;
        self.found.add(Key { kind, instruction, other: None }, 1, || {
            let party = launch.party(fault.cta, instruction, None);
            Example {
                party: Party { thread: fault.thread, ..party },
                other: None,
                place: None,
                detail: Some(fault.kind.to_string()),
                is_fault: true,
            }
        });
    }
}

impl Observer for Sanitizer {
    type Recorder = CtaChecker;

    const WANTS_VALUES: bool = true;

    fn recorder(&self, _program: &Program) -> CtaChecker {
        CtaChecker::new(&self.launch)
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut CtaChecker]) {
        for recorder in recorders {
            self.found.append(&mut recorder.found);
        }
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut CtaChecker]) {
        for recorder in &mut *recorders {
            recorder.end();
        }
        self.collect(first_cta, recorders);
    }

    fn fresh(&self) -> Self {
        Self { launch: Arc::new(self.launch.fresh()), found: Collection::default() }
    }
}
