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

    /// Counts a launch by classes of CTAs, or returns the reason why it cannot.
    fn by_classes(
        &mut self,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError>;

    /// The same of several GPUs.
    fn several_by_classes(
        several: &mut Several<Self>,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run(several, Self::check_each)
    }

    /// [`Self::check`] of several GPUs.
    fn check_each(several: &Several<Self>, times: u64) -> Result<(), CountOverflow> {
        several.each().iter().try_for_each(|counter| counter.check(times))
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
    pub(super) fn run<O: Tally>(
        self,
        observer: &mut O,
        check_sums: impl FnOnce(&O, u64) -> Result<(), CountOverflow>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        let Self { program, launch, memory, options, host, effort, caches, times } = self;
        let counted = match caches {
            CacheChoice::Auto | CacheChoice::Full | CacheChoice::Windows => {
                return run_classes(program, launch, memory, observer, options, host, effort);
            }
            CacheChoice::None => {
                tally_classes(program, launch, memory, observer, options, host, effort)?
            }
        };
        if counted.is_ok() {
            check_sums(observer, times).map_err(LaunchError::Counts)?;
        }
        Ok(counted)
    }

    /// As [`Self::run`], with windows of the grid through the caches where that was chosen. The
    /// observer checks its sums before them.
    fn run_windows<O: Windows>(
        self,
        observer: &mut O,
        check_sums: impl FnOnce(&O, u64) -> Result<(), CountOverflow>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        match self.caches {
            CacheChoice::Full | CacheChoice::None => self.run(observer, check_sums),
            CacheChoice::Auto | CacheChoice::Windows => {
                let Self { program, launch, memory, options, host, effort, .. } = self;
                window_classes(program, launch, memory, observer, options, host, effort)
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
        &mut self,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run_windows(self, Self::check_sums)
    }

    fn several_by_classes(
        several: &mut Several<Self>,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run_windows(several, Self::check_each)
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
        &mut self,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run_windows(self, Self::check_sums)
    }

    fn several_by_classes(
        several: &mut Several<Self>,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run_windows(several, Self::check_each)
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

impl<C: Counts> Counts for (C, FeatureCounter) {
    fn around(counter: Counter, program: &Program, launch: &Launch) -> Self {
        (C::around(counter, program, launch), FeatureCounter::new(program, launch))
    }

    /// All requests go through the caches where windows were asked for: footprints need all CTAs.
    fn by_classes(
        &mut self,
        launching: Launching<'_>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        launching.run(self, Self::check)
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
