//! The timing of kernels on a device, in the clocks of its SMs.

use std::collections::BTreeMap;

use gpucast_collection::Target;
use gpucast_collection::language::{Kernel, Type};
use gpucast_model::Gpu;

use crate::conditions::Group;
use crate::device::{Device, Facts, Job};
use crate::error::MeasureError;
use crate::kernels::{self, LINKS};
use crate::runs::Run;
use crate::told::{self, CLOCK};
use crate::trials::{self, Trials};

/// A size and the next one, between which a slope is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) smaller: u64,
    pub(crate) larger: u64,
}

impl Sizes {
    /// Seconds of a unit of work.
    pub(crate) fn slope(
        self,
        smaller_seconds: f64,
        larger_seconds: f64,
    ) -> Result<f64, MeasureError> {
        let Self { smaller, larger } = self;
        if larger_seconds <= smaller_seconds {
            return Err(MeasureError::NoSlope { smaller, smaller_seconds, larger, larger_seconds });
        }
        Ok((larger_seconds - smaller_seconds) / (larger - smaller) as f64)
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    pub(crate) pointers: Option<u64>,
    pub(crate) is_cold: bool,
}

impl How {
    /// No cache holds the data when the kernel begins.
    pub(crate) const COLD: Self = Self { pointers: None, is_cold: true };
}

/// A job, and the least of its trials.
struct Timed {
    job: Job,
    seconds: f64,
}

/// The measurement of a device.
pub struct Bench<'a> {
    device: &'a mut dyn Device,
    trials: Trials,
    /// The GPU as far as its compute capability says it, if that is known.
    capability: Option<Gpu>,
    /// Every figure so far, by field. Some figures are made of others.
    figures: BTreeMap<&'static str, Result<f64, MeasureError>>,
    runs: Vec<Run>,
    /// Kernels that were timed already, with the least of their trials in seconds.
    timed: Vec<Timed>,
    groups: Vec<Group>,
    /// The field that is being measured.
    field: &'static str,
}

impl<'a> Bench<'a> {
    /// Measures a device by a number of trials.
    pub fn new(device: &'a mut dyn Device, trials: Trials) -> Self {
        let capability = Gpu::from_toml(&told::file("device", device.facts())).ok();
        let capability = capability.map(|gpu| gpu.completed());
        let figures = BTreeMap::new();
        let (runs, timed, groups) = (Vec::new(), Vec::new(), Vec::new());
        Self { device, trials, capability, figures, runs, timed, groups, field: "" }
    }

    /// What the driver tells of the device.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.device.facts()
    }

    /// Every run so far, in order.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The state of the device before and after the kernels of each figure so far. A figure that
    /// others are made of may stand within theirs.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The clock of the SMs in MHz that figures in clocks are computed with: the measured one, or
    /// the driver's if it could not be measured.
    ///
    /// # Errors
    ///
    /// A device that fails.
    pub fn clock_mhz(&mut self) -> Result<f64, MeasureError> {
        match self.figure(CLOCK, clock) {
            Err(error @ MeasureError::Device(_)) => Err(error),
            Err(_) => Ok(self.facts().clock_mhz),
            Ok(measured) => Ok(measured),
        }
    }

    /// The number of a field that follows from the compute capability.
    pub(crate) fn capability(&self, field: &str) -> Result<f64, MeasureError> {
        let capability = self.facts().compute_capability;
        self.capability.as_ref().and_then(|gpu| gpu.number(field)).ok_or_else(|| {
            MeasureError::unfit(format!("capability {capability} has no known {field}"))
        })
    }

    /// The figure of a field, which is measured once.
    pub(crate) fn figure(
        &mut self,
        field: &'static str,
        measure: fn(&mut Self) -> Result<f64, MeasureError>,
    ) -> Result<f64, MeasureError> {
        if let Some(known) = self.figures.get(field) {
            return known.clone();
        }
        let outer = std::mem::replace(&mut self.field, field);
        let (before, runs) = (self.device.state(), self.runs.len());
        let figure = measure(self);
        if let Some((before, after)) = before.zip(self.device.state())
            && self.runs.len() > runs
        {
            self.groups.push(Group { field, before, after });
        }
        self.field = outer;
        self.figures.insert(field, figure.clone());
        figure
    }

    /// Seconds of a kernel's launches: the least of the trials. `work` is the kernel's size. A
    /// kernel that was timed for another figure is not timed again.
    pub(crate) fn seconds(
        &mut self,
        kernel: Kernel,
        work: u64,
        how: How,
        launches: u32,
    ) -> Result<f64, MeasureError> {
        let fits = kernel.check_target(Target::from(self.facts().compute_capability));
        fits.map_err(|reason| MeasureError::unfit(format!("{}: {reason}", kernel.name)))?;
        let How { pointers, is_cold } = how;
        let Trials { warm_up, timed } = self.trials;
        let Kernel { ref name, grid, block, .. } = kernel;
        let (field, kernel_name) = (self.field, name.clone());
        let job = Job { kernel, pointers, is_cold, launches, warm_up, trials: timed };
        if let Some(timed) = self.timed.iter().find(|timed| timed.job == job) {
            return Ok(timed.seconds);
        }
        let seconds = self.device.time(&job)?;
        let excluded = trials::mean(&seconds).ok_or(MeasureError::NoTrial)?.excluded;
        let least = trials::least(&seconds).ok_or(MeasureError::NoTrial)?;
        self.runs.push(Run {
            field,
            kernel: kernel_name,
            work,
            grid,
            block,
            launches,
            is_cold,
            seconds,
            excluded,
        });
        self.timed.push(Timed { job, seconds: least });
        Ok(least)
    }

    /// Seconds that a unit of work takes: the slope between two sizes of a kernel.
    pub(crate) fn slope(
        &mut self,
        sizes: Sizes,
        how: How,
        kernel: impl Fn(u64) -> Result<Kernel, MeasureError>,
    ) -> Result<f64, MeasureError> {
        let Sizes { smaller, larger } = sizes;
        let smaller_seconds = self.seconds(kernel(smaller)?, smaller, how, 1)?;
        let larger_seconds = self.seconds(kernel(larger)?, larger, how, 1)?;
        sizes.slope(smaller_seconds, larger_seconds)
    }

    /// The same slope in clocks of the SMs.
    pub(crate) fn clocks(
        &mut self,
        sizes: Sizes,
        how: How,
        kernel: impl Fn(u64) -> Result<Kernel, MeasureError>,
    ) -> Result<f64, MeasureError> {
        let clocks = self.clock_mhz()? * 1e6;
        Ok(self.slope(sizes, how, kernel)? * clocks)
    }

    /// Seconds of a copy of what a loop repeats. `kernel` takes copies and passes. Loops of two
    /// lengths are compared, so that the counter and the jump drop out.
    pub(crate) fn seconds_of_copy(
        &mut self,
        [shorter, longer]: [u32; 2],
        passes: Sizes,
        how: How,
        kernel: impl Fn(u32, u64) -> Result<Kernel, MeasureError>,
    ) -> Result<f64, MeasureError> {
        let less = self.slope(passes, how, |passes| kernel(shorter, passes))?;
        let more = self.slope(passes, how, |passes| kernel(longer, passes))?;
        let copies = Sizes { smaller: shorter.into(), larger: longer.into() };
        copies.slope(less, more)
    }

    /// The same in clocks of the SMs.
    pub(crate) fn clocks_of_copy(
        &mut self,
        copies: [u32; 2],
        passes: Sizes,
        kernel: impl Fn(u32, u64) -> Result<Kernel, MeasureError>,
    ) -> Result<f64, MeasureError> {
        let clocks = self.clock_mhz()? * 1e6;
        Ok(self.seconds_of_copy(copies, passes, How::default(), kernel)? * clocks)
    }

    /// The same where no cache holds the data.
    pub(crate) fn clocks_of_cold_copy(
        &mut self,
        copies: [u32; 2],
        passes: Sizes,
        kernel: impl Fn(u32, u64) -> Result<Kernel, MeasureError>,
    ) -> Result<f64, MeasureError> {
        let clocks = self.clock_mhz()? * 1e6;
        Ok(self.seconds_of_copy(copies, passes, How::COLD, kernel)? * clocks)
    }
}

/// The clock under which a chain of additions takes the clocks that it is known to take.
///
/// Machine code carries the clocks between dependent instructions, so they are the same on every
/// GPU of a compute capability.
pub(crate) fn clock(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const ADDITION: &str = "add.rn.f32 $0, $0, 0f3F800000";
    let passes = Sizes { smaller: 128, larger: 2048 };
    let known = bench.capability("arithmetic_latency")?;
    let seconds = bench.seconds_of_copy(LINKS, passes, How::default(), |copies, passes| {
        Ok(kernels::chain(ADDITION, Type::F32, copies, passes))
    })?;
    Ok(known / seconds / 1e6)
}
