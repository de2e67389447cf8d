//! The speed of the executor on this computer: launches that are run and counted again and again.
//!
//! A computer changes its clock and shares its cores. All ways of executing therefore take their
//! turns within a round, and ratios compare times of one round.

use std::num::{NonZeroU32, NonZeroUsize};

use gpucast_counters::{DeviceModel, SampleSize};
use gpucast_interpreter::Options;
use gpucast_model::Needs;
use serde::Serialize;

use crate::failure::{Failure, Report};
use crate::input::plan::Plan;
use crate::run::counting::{self, Counting, Extras};
use crate::run::execute::{self, Loaded, Timing, Unwatched};
use crate::run::machine::Machine;
use crate::run::rung::Rung;
use crate::run::supervisor::{Silent, Supervisor};
use crate::settings::{CacheChoice, MachineChoice, MachineSettings, RungChoice};

/// A way of executing the launches of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Everything is computed, and nobody counts.
    Run,
    /// Everything is computed and counted.
    Full,
    /// Everything is counted, and only that is computed on which counts depend.
    Slice,
    /// The same, and only for one CTA of each class.
    Classes,
    /// The counts are estimated from a sample of the CTAs, of the size that nobody has chosen.
    Sample,
}

impl Way {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Full => "full",
            Self::Slice => "slice",
            Self::Classes => "classes",
            Self::Sample => "sample",
        }
    }
}

/// The times of one way on a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The way.
    pub way: Way,
    /// True if counting also recorded the order of events in some CTAs.
    pub records: bool,
    /// Threads of the CPU that execute CTAs.
    pub threads: usize,
    /// Seconds of each round: all launches with their repetitions, counting included. The filling
    /// of buffers is not in them.
    pub seconds: Vec<f64>,
}

/// All ways of executing the launches of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bench {
    /// The argument that stands for the kernel.
    pub kernel: String,
    /// Instructions times the lanes that were active, of all launches.
    pub thread_instructions: u128,
    /// The reason why there is no slice, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_slice_because: Option<String>,
    /// The reason why CTAs do not fall into classes, if there is a slice and they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_classes_because: Option<String>,
    /// The reason why no sample is taken, if there is a slice and a launch is not sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_sample_because: Option<String>,
    /// The times.
    pub measurements: Vec<Measurement>,
}

/// The extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Rounds that are measured, after one that is not.
    pub rounds: NonZeroU32,
    /// Threads to measure with besides one.
    pub threads: NonZeroUsize,
    /// The GPU whose counters are modelled.
    pub device: DeviceModel,
    /// True if every way of counting takes a second turn, in which it also records the order of
    /// events in some CTAs, as simulations need it. Samples record nothing.
    pub records: bool,
    /// Limits and the order of CTAs.
    pub options: Options,
}

impl Measurement {
    /// The middle of the times, in seconds; the mean of both where two are in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        median(self.seconds.clone())
    }

    /// The difference between the longest and the shortest time, as a fraction of the median.
    #[must_use]
    pub fn spread(&self) -> f64 {
        let greatest = self.seconds.iter().copied().fold(f64::MIN, f64::max);
        let least = self.seconds.iter().copied().fold(f64::MAX, f64::min);
        (greatest - least) / self.median()
    }

    /// The median of this way's times over those of another in the same rounds.
    #[must_use]
    pub fn over(&self, other: &Self) -> f64 {
        median(self.seconds.iter().zip(&other.seconds).map(|(this, that)| this / that).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (Some(&upper), 0) => f64::midpoint(values[middle - 1], upper),
        (Some(&middle), _) => middle,
        (None, _) => f64::NAN,
    }
}

impl Bench {
    /// The times of a way on one thread, or on several; of turns that record, or of others.
    #[must_use]
    pub fn of(&self, way: Way, records: bool, several: bool) -> Option<&Measurement> {
        let is_asked = |one: &&Measurement| {
            one.way == way && one.records == records && (one.threads > 1) == several
        };
        self.measurements.iter().find(is_asked)
    }
}

/// Executes a plan's launches in every way.
///
/// # Errors
///
/// Errors of a launch or of the kernel, threads that cannot be started, and [`Failure::Stopped`] if
/// the supervisor says so.
pub fn bench(
    kernel: &str,
    plan: &Plan,
    loaded: &Loaded,
    extent: &Extent,
    supervisor: &dyn Supervisor,
) -> Result<Bench, Failure> {
    let ptx_alone = MachineSettings { machine: MachineChoice::None, ..MachineSettings::default() };
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let machine = Machine::new(&ptx_alone, loaded, extent.device.capability, kernels, None)?;
    let executor = Executor { plan, loaded, extent, machine: &machine, supervisor };
    let several = extent.threads.get();
    let threads = if several > 1 { vec![1, several] } else { vec![1] };
    let pools = threads.iter().map(|&threads| pool(threads)).collect::<Result<Vec<_>, Report>>()?;

    // The first round warms up, and says what there is to measure.
    let Highest { no_slice_because, no_classes_because } = executor.highest()?;
    let no_sample_because = match &no_slice_because {
        Some(_) => None,
        None => executor.no_sample_because()?,
    };
    let mut turns = vec![Turn { way: Way::Run, records: false }];
    let mut counting = |way: Way| {
        turns.push(Turn { way, records: false });
        turns.extend((extent.records && way != Way::Sample).then_some(Turn { way, records: true }));
    };
    counting(Way::Full);
    if no_slice_because.is_none() {
        counting(Way::Slice);
        no_classes_because.is_none().then(|| counting(Way::Classes));
        no_sample_because.is_none().then(|| counting(Way::Sample));
    }
    let mut thread_instructions = 0;
    let measured = |(&Turn { way, records }, &threads): (&Turn, &usize)| Measurement {
        way,
        records,
        threads,
        seconds: Vec::new(),
    };
    let mut measurements: Vec<Measurement> = threads
        .iter()
        .flat_map(|threads| turns.iter().map(move |turn| (turn, threads)))
        .map(measured)
        .collect();
    for round in 0..=extent.rounds.get() {
        let pools = pools.iter().flat_map(|pool| turns.iter().map(move |_| pool));
        for (measurement, pool) in measurements.iter_mut().zip(pools) {
            let turn = Turn { way: measurement.way, records: measurement.records };
            let timings = pool.install(|| executor.timings(turn))?;
            if round > 0 {
                measurement.seconds.push(timings.iter().map(|timing| timing.execute_s).sum());
            } else if measurement.way == Way::Run {
                thread_instructions = timings.iter().map(|timing| timing.thread_instructions).sum();
            }
        }
    }
    Ok(Bench {
        kernel: kernel.to_owned(),
        thread_instructions,
        no_slice_because,
        no_classes_because,
        no_sample_because,
        measurements,
    })
}

fn pool(threads: usize) -> Result<rayon::ThreadPool, Report> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Report::new(format!("cannot start {threads} threads: {error}")))
}

/// A way, and if it records.
#[derive(Clone, Copy, Debug)]
struct Turn {
    way: Way,
    records: bool,
}

/// Executes the launches of a plan in one way or another.
struct Executor<'a> {
    plan: &'a Plan,
    loaded: &'a Loaded,
    extent: &'a Extent,
    machine: &'a Machine,
    supervisor: &'a dyn Supervisor,
}

impl Executor<'_> {
    /// The durations of the launches.
    fn timings(&self, Turn { way, records }: Turn) -> Result<Vec<Timing>, Failure> {
        let Self { plan, loaded, extent, supervisor, .. } = *self;
        let rung = match way {
            Way::Run => {
                let mut memory = execute::memory(plan, loaded)?;
                let mut nothing = Unwatched::default();
                let options = &extent.options;
                execute::execute(plan, loaded, &mut memory, options, supervisor, &mut nothing)?;
                return Ok(nothing.finished.into_iter().map(|(timing, _)| timing).collect());
            }
            Way::Full => RungChoice::Full,
            Way::Slice => RungChoice::Slice,
            Way::Classes => RungChoice::Classes,
            Way::Sample => RungChoice::Sample,
        };
        let counted = self.counted(rung, records)?;
        Ok(counted.into_iter().map(|counted| counted.timing).collect())
    }

    fn counted(&self, rung: RungChoice, records: bool) -> Result<Vec<counting::Counted>, Failure> {
        let counting = Counting {
            device: self.extent.device,
            machine: self.machine,
            extras: Extras::of(if records { Needs::ORDER } else { Needs::METRICS }),
            rung,
            sample: (rung == RungChoice::Sample).then(SampleSize::default),
            caches: CacheChoice::Full,
            supervisor: self.supervisor,
        };
        counting::count(self.plan, self.loaded, &self.extent.options, &counting)
    }

    /// The reasons why counting does not execute less, if there are any.
    fn highest(&self) -> Result<Highest, Failure> {
        let mut highest = Highest::default();
        for counted in self.counted(RungChoice::Auto, false)? {
            let because = counted.counted_by.because.unwrap_or_default();
            match counted.counted_by.rung {
                Rung::Full => highest.no_slice_because.get_or_insert(because),
                Rung::Slice => highest.no_classes_because.get_or_insert(because),
                Rung::Classes | Rung::Sample | Rung::Formulas => continue,
            };
        }
        Ok(highest)
    }

    /// The reason why a launch is not sampled, if there is one.
    fn no_sample_because(&self) -> Result<Option<String>, Failure> {
        // The reason stands below the table.
        let silent = &Silent(self.supervisor);
        let trial = Executor { supervisor: silent, ..*self };
        let counted = trial.counted(RungChoice::Sample, false)?;
        let mut others =
            counted.into_iter().filter(|launch| launch.counted_by.rung != Rung::Sample);
        Ok(others.next().map(|launch| launch.counted_by.because.unwrap_or_default()))
    }
}

/// The reasons why ways of counting are not the least.
#[derive(Debug, Default)]
struct Highest {
    no_slice_because: Option<String>,
    no_classes_because: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::kernel_argument;
    use crate::run::module;
    use crate::run::supervisor::Alone;
    use crate::settings::{LaunchOptions, Size};

    fn of(seconds: &[f64]) -> Measurement {
        Measurement { way: Way::Run, records: false, threads: 1, seconds: seconds.to_vec() }
    }

    #[test]
    fn ratios_compare_times_of_one_round() {
        // The computer was twice as slow in the second round, and the ratio is the same.
        let (fast, slow) = (of(&[1.0, 2.0, 1.0]), of(&[3.0, 6.0, 3.0]));
        assert!((slow.over(&fast) - 3.0).abs() < 1e-12);
        assert!((fast.median() - 1.0).abs() < 1e-12);
        assert!((fast.spread() - 1.0).abs() < 1e-12);
        assert!((of(&[1.0, 4.0]).median() - 2.5).abs() < 1e-12);
    }

    #[test]
    fn every_way_is_measured_in_every_round() {
        let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
        let extent = Extent {
            rounds: NonZeroU32::new(2).unwrap(),
            threads: NonZeroUsize::new(2).unwrap(),
            device: DeviceModel::GTX_480,
            records: true,
            options: Options::default(),
        };
        let of = |kernel: &str| {
            let plan = kernel_argument::read(kernel, &options).unwrap();
            bench(kernel, &plan, &module::load(&plan).unwrap(), &extent, &Alone).unwrap()
        };
        let sgemm = of("sgemm");
        let turns: Vec<_> = sgemm
            .measurements
            .iter()
            .map(|measurement| (measurement.way, measurement.records, measurement.threads))
            .collect();
        let all = [
            (Way::Run, false),
            (Way::Full, false),
            (Way::Full, true),
            (Way::Slice, false),
            (Way::Slice, true),
        ];
        assert_eq!(turns[..5], all.map(|(way, records)| (way, records, 1)));
        assert_eq!(turns[5..], all.map(|(way, records)| (way, records, 2)));
        assert!(sgemm.measurements.iter().all(|measurement| measurement.seconds.len() == 2));
        assert!(sgemm.no_slice_because.is_none() && sgemm.no_classes_because.is_some());
        assert!(sgemm.thread_instructions > 0);
    }
}
