//! The observers that count a launch, and the rungs on which each of them can.

use gpucast_counters::Counter;
use gpucast_counters::features::{Buffer, FeatureCounter};
use gpucast_counters::hierarchy::L2;
use gpucast_counters::stages::StageCounter;
use gpucast_interpreter::{
    ByClasses, BySample, ClassEffort, CountOverflow, DeviceMemory, Host, Launch, LaunchError,
    Options, Program, RunError, Several, Tally, Windows, run_classes, run_sample, tally_classes,
    window_classes,
};

use crate::run::repetitions::Repetition;
use crate::settings::CacheChoice;

/// Counts one repetition of a launch.
pub(super) trait Counts: Tally + Sized {
    /// Counts with a `counter` that is set up.
    fn around(counter: Counter, program: &Program, launch: &Launch) -> Self;

    /// Counts a launch by classes of CTAs, or returns the reason why it cannot. All requests go
    /// through the caches, unless the observer has windows.
    fn by_classes(
        counters: &mut Several<Self>,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run(counters)
    }

    /// Estimates the counts of a launch from a sample of its CTAs, or returns the reason why it
    /// cannot.
    fn by_sample(&mut self, sampling: Sampling<'_>) -> Result<Result<BySample, String>, RunError>;

    /// Checks that sums over counts fit, `times` as large as they are.
    fn check(&self, times: u64) -> Result<(), CountOverflow>;

    /// Returns the counts, and the L2 with its contents, if caches are modelled.
    fn end(self, memory: &DeviceMemory) -> (Repetition, Option<L2>);
}

/// A launch of a program that is executed for one CTA of each class.
pub(super) struct Launching<'a> {
    pub(super) program: &'a Program,
    pub(super) launch: &'a Launch,
    pub(super) memory: &'a mut DeviceMemory,
    pub(super) options: &'a Options,
    pub(super) host: &'a dyn Host,
    pub(super) effort: ClassEffort,
    pub(super) caches: CacheChoice,
    /// The factor by which sums may still grow: launches of the plan, and machine instructions for
    /// one of PTX.
    pub(super) times: u64,
}

impl Launching<'_> {
    fn run<C: Counts>(
        self,
        counters: &mut Several<C>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        let Self { program, launch, memory, options, host, effort, caches, times } = self;
        let counted = match caches {
            CacheChoice::Auto | CacheChoice::Full | CacheChoice::Windows => {
                return run_classes(program, launch, memory, counters, options, host, effort);
            }
            CacheChoice::None => {
                tally_classes(program, launch, memory, counters, options, host, effort)?
            }
        };
        if counted.is_ok() {
            let mut each = counters.each().iter();
            each.try_for_each(|counter| counter.check(times)).map_err(LaunchError::Counts)?;
        }
        Ok(counted)
    }

    /// As [`Self::run`], with windows of the grid through the caches where that was chosen. The
    /// counters check their sums before them.
    fn run_windows<C: Counts + Windows>(
        self,
        counters: &mut Several<C>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        match self.caches {
            CacheChoice::Full | CacheChoice::None => self.run(counters),
            CacheChoice::Auto | CacheChoice::Windows => {
                let Self { program, launch, memory, options, host, effort, .. } = self;
                window_classes(program, launch, memory, counters, options, host, effort)
            }
        }
    }
}

/// A launch of the program of a slice, of which a sample is executed.
pub(super) struct Sampling<'a> {
    pub(super) program: &'a Program,
    pub(super) launch: &'a Launch,
    pub(super) memory: &'a mut DeviceMemory,
    pub(super) options: &'a Options,
    pub(super) host: &'a dyn Host,
    /// As in [`Launching`].
    pub(super) times: u64,
}

/// Machine instructions that one PTX instruction is assumed to become at most, where sums are
/// checked before the machine instructions are counted.
pub(super) const MACHINE_PER_PTX: u64 = 256;

impl Counts for Counter {
    fn around(counter: Counter, _program: &Program, _launch: &Launch) -> Self {
        counter
    }

    fn by_classes(
        counters: &mut Several<Self>,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run_windows(counters)
    }

    fn by_sample(&mut self, sampling: Sampling<'_>) -> Result<Result<BySample, String>, RunError> {
        let Sampling { program, launch, memory, options, host, times } = sampling;
        let counted = run_sample(program, launch, memory, self, options, host)?;
        if counted.is_ok() {
            self.check_sums(times).map_err(LaunchError::Counts)?;
        }
        Ok(counted)
    }

    fn check(&self, times: u64) -> Result<(), CountOverflow> {
        self.check_sums(times)
    }

    fn end(self, _memory: &DeviceMemory) -> (Repetition, Option<L2>) {
        let (profile, l2) = self.finish();
        (Repetition::new(profile, None), l2)
    }
}

impl Counts for StageCounter {
    fn around(counter: Counter, program: &Program, _launch: &Launch) -> Self {
        StageCounter::around(counter, program)
    }

    fn by_classes(
        counters: &mut Several<Self>,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run_windows(counters)
    }

    fn by_sample(&mut self, _: Sampling<'_>) -> Result<Result<BySample, String>, RunError> {
        Ok(Err("counts between barriers are made of all CTAs".to_owned()))
    }

    fn check(&self, times: u64) -> Result<(), CountOverflow> {
        self.check_sums(times)
    }

    fn end(self, _memory: &DeviceMemory) -> (Repetition, Option<L2>) {
        let (profile, stages, l2) = self.finish();
        (Repetition::new(profile, Some(stages)), l2)
    }
}

/// Footprints need all CTAs, so that there are no windows.
impl<C: Counts> Counts for (C, FeatureCounter) {
    fn around(counter: Counter, program: &Program, launch: &Launch) -> Self {
        (C::around(counter, program, launch), FeatureCounter::new(program, launch))
    }

    fn by_sample(&mut self, _: Sampling<'_>) -> Result<Result<BySample, String>, RunError> {
        Ok(Err("features are made of the addresses of all CTAs".to_owned()))
    }

    fn check(&self, times: u64) -> Result<(), CountOverflow> {
        self.0.check(times)
    }

    fn end(self, memory: &DeviceMemory) -> (Repetition, Option<L2>) {
        let (counted, l2) = self.0.end(memory);
        let buffers: Vec<Buffer> = memory
            .buffers()
            .map(|(name, address, bytes)| Buffer { name: name.to_owned(), address, bytes })
            .collect();
        let features = self.1.finish(&counted.profile.table, &buffers);
        (Repetition { features: Some(features), ..counted }, l2)
    }
}
