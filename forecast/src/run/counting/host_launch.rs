//! Launches of host programs, which own the memory and need the values.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use gpucast_counters::Counter;
use gpucast_counters::export::Ranges;
use gpucast_counters::features::FeatureCounter;
use gpucast_counters::hierarchy::{L2, L2Contents};
use gpucast_counters::stages::StageCounter;
use gpucast_interpreter::{
    Buffers, DeviceMemory, Host, Launch, NoObserver, Observer, Options, Program, RunError, Several,
    Silent, Slicer, Summary,
};
use gpucast_model::Evidence;
use gpucast_model::sm_simulation::Invocations;

use super::invocation::{counter, per_ptx, repetition};
use super::observer::{Counts, Launching};
use super::{Counted, Counting, Extras, effort};
use crate::failure::Failure;
use crate::input::loaded::Loaded;
use crate::run::execute::Timing;
use crate::run::rung::CountedBy;

/// A launch of a host program, in memory that the program owns.
pub struct HostLaunch<'a> {
    /// The kernel, in the instance of its module.
    pub program: &'a Program,
    /// What one CTA of each class executes to count the launch ([`stand_in`]), if there is that.
    /// The launch itself is then executed without counters.
    pub stand_in: Option<&'a Program>,
    /// Its extents and arguments.
    pub launch: &'a Launch,
    /// Limits and the order of CTAs.
    pub options: &'a Options,
    /// Hears what the kernel prints.
    pub host: &'a dyn Host,
    /// What it finds in the L2, and whether lines that it leaves dirty count as written.
    pub found: L2Contents,
}

/// Reason why a launch of a host program has no counts.
#[derive(Debug, thiserror::Error)]
pub enum HostLaunchError {
    /// It did not run to its end.
    #[error(transparent)]
    Run(Box<RunError>),
    /// There are no machine instructions for it.
    #[error(transparent)]
    Machine(#[from] Failure),
}

impl From<RunError> for HostLaunchError {
    fn from(error: RunError) -> Self {
        Self::Run(Box::new(error))
    }
}

impl HostLaunch<'_> {
    /// Executes the launch without counting.
    ///
    /// # Errors
    ///
    /// A launch that is impossible, or a fault of the kernel.
    pub fn run<O: Observer>(
        &self,
        memory: &mut DeviceMemory,
        observer: &mut O,
    ) -> Result<Summary, RunError> {
        let Self { program, launch, options, host, .. } = *self;
        gpucast_interpreter::run(program, launch, memory, observer, options, host)
    }

    /// Executes the launch and counts it. `l2` is the L2 as the launch before left it, and as this
    /// launch leaves it. An observer `beside` the counters sees the same execution.
    ///
    /// # Errors
    ///
    /// A launch that is impossible, a fault of the kernel, or a kernel without machine code where
    /// the caller insists on it.
    pub fn count<B: Observer>(
        &self,
        memory: &mut DeviceMemory,
        counting: &Counting<'_>,
        l2: &mut Option<L2>,
        beside: &mut Option<B>,
    ) -> Result<Counted, HostLaunchError> {
        let Extras { stages, features, .. } = counting.extras;
        match (stages, features) {
            (false, false) => self.count_with::<Counter, B>(memory, counting, l2, beside),
            (true, false) => self.count_with::<StageCounter, B>(memory, counting, l2, beside),
            (false, true) => {
                self.count_with::<(Counter, FeatureCounter), B>(memory, counting, l2, beside)
            }
            (true, true) => {
                self.count_with::<(StageCounter, FeatureCounter), B>(memory, counting, l2, beside)
            }
        }
    }

    fn count_with<C: Counts, B: Observer>(
        &self,
        memory: &mut DeviceMemory,
        counting: &Counting<'_>,
        l2: &mut Option<L2>,
        beside: &mut Option<B>,
    ) -> Result<Counted, HostLaunchError> {
        let started = Instant::now();
        let before = (self.found, l2.take());
        let mut counter: C =
            counter(counting, self.program, self.launch, before, true, per_ptx(counting));
        let mut counted_by = CountedBy::full("the host program needs the values");
        let summary = match beside.take() {
            None => {
                let classes;
                (counter, classes) = self.by_classes(counter, memory, counting)?;
                match classes {
                    Some(classes) => {
                        counted_by = CountedBy::classes(classes);
                        self.run(memory, &mut NoObserver)?
                    }
                    None => self.run(memory, &mut counter)?,
                }
            }
            Some(other) => {
                let mut both = (counter, other);
                let summary = self.run(memory, &mut both);
                *beside = Some(both.1);
                counter = both.0;
                summary?
            }
        };
        let (counts, after) = repetition(counting, counter, self.program, memory)?;
        *l2 = after;
        let once = |launch| Arc::new(vec![Invocations { launch, count: 1 }]);
        Ok(Counted {
            profile: counts.profile,
            ranges: Ranges::default(),
            evidence: Evidence {
                stages: counts.stages.map(Arc::new),
                features: counts.features.map(|features| Arc::new(vec![(features, 1)])),
                simulation: counts.simulation.map(once),
                simulator: None,
                orders: None,
                instructions: counts.instructions,
            },
            timing: Timing::since(started, summary.issued_lanes),
            ordered_because: summary.ordered_because,
            watched: summary.watched,
            machine_code: None,
            transfers: None,
            buffers_sha256: BTreeMap::new(),
            counted_by,
        })
    }

    /// Counts the launch by classes of CTAs, if it has a stand-in, and says how many there are. The
    /// counter has heard nothing if there are none.
    fn by_classes<C: Counts>(
        &self,
        counter: C,
        memory: &mut DeviceMemory,
        counting: &Counting<'_>,
    ) -> Result<(C, Option<usize>), HostLaunchError> {
        let Self { launch, options, .. } = *self;
        let (Some(program), Some(effort)) = (self.stand_in, effort(counting.rung)) else {
            return Ok((counter, None));
        };
        if effort.allows(launch.ctas()).is_err() {
            return Ok((counter, None));
        }
        let (host, caches, times) = (&Silent, counting.caches, per_ptx(counting));
        let launching = Launching { program, launch, memory, options, host, effort, caches, times };
        let mut alone = Several::new(vec![counter]);
        let counted = C::by_classes(&mut alone, launching)?;
        let counter = alone.into_each().pop().ok_or(Failure::Explained)?;
        Ok((counter, counted.ok().map(|counted| counted.classes)))
    }
}

/// The part of a kernel that one CTA executes to count all CTAs of its class, for launches of a
/// host program: it reads nothing from device memory, and changes nothing. `None` if a kernel has
/// no such part, or does more than to change memory.
#[must_use]
pub fn stand_in(loaded: &Loaded, program: &Program) -> Option<Program> {
    let (module, text) = (&loaded.module, &loaded.source.text);
    if !program.only_changes_memory() || !program.counts_ignore_contents(module) {
        return None;
    }
    let slicer = Slicer::new(module, program);
    let slice = slicer.slice(&slicer.distinct(), &Buffers::default());
    program.sliced(module, text, &slice).ok()?.followed().ok()
}
