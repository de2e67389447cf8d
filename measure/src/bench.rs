//! The timing of kernels on a device, in the clocks of its SMs.

use gpucast_collection::language::Kernel;
use gpucast_collection::{TagError, Unfit};

use crate::device::{Device, DeviceError, Facts, Job};
use crate::trials::{self, Trials};

/// The reason why a parameter was not measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeasureError {
    /// The device failed; nothing else will succeed.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// No such kernel exists for the device.
    #[error("{0}")]
    Unfit(#[from] Unfit),
    /// Tags that no generator has.
    #[error("{0}")]
    Tags(#[from] TagError),
    /// The larger kernel took no longer than the smaller one.
    #[error(
        "{larger} units of work took {larger_seconds} s, and {smaller} took {smaller_seconds} s"
    )]
    NoSlope {
        /// Work of the smaller kernel.
        smaller: u64,
        /// Its time.
        smaller_seconds: f64,
        /// Work of the larger kernel.
        larger: u64,
        /// Its time.
        larger_seconds: f64,
    },
    /// The device timed no trial.
    #[error("no trial was timed")]
    NoTrial,
}

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

/// The measurement of a device.
pub struct Bench<'a> {
    device: &'a mut dyn Device,
    trials: Trials,
    excluded: usize,
}

impl<'a> Bench<'a> {
    /// Measures a device by a number of trials.
    pub fn new(device: &'a mut dyn Device, trials: Trials) -> Self {
        Self { device, trials, excluded: 0 }
    }

    /// What the driver tells of the device.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.device.facts()
    }

    /// The number of trials that were excluded since the last call.
    pub(crate) fn take_excluded(&mut self) -> usize {
        std::mem::take(&mut self.excluded)
    }

    /// Seconds of a kernel's launches: the mean over trials.
    pub(crate) fn seconds(
        &mut self,
        kernel: Kernel,
        how: How,
        launches: u32,
    ) -> Result<f64, MeasureError> {
        let How { pointers, is_cold } = how;
        let Trials { warm_up, timed } = self.trials;
        let job = Job { kernel, pointers, is_cold, launches, warm_up, trials: timed };
        let times = self.device.time(&job)?;
        let mean = trials::mean(&times).ok_or(MeasureError::NoTrial)?;
        self.excluded += mean.excluded;
        Ok(mean.value)
    }

    /// Seconds that a unit of work takes: the slope between two sizes of a kernel.
    pub(crate) fn slope(
        &mut self,
        sizes: Sizes,
        how: How,
        kernel: impl Fn(u64) -> Result<Kernel, MeasureError>,
    ) -> Result<f64, MeasureError> {
        let Sizes { smaller, larger } = sizes;
        let smaller_seconds = self.seconds(kernel(smaller)?, how, 1)?;
        let larger_seconds = self.seconds(kernel(larger)?, how, 1)?;
        sizes.slope(smaller_seconds, larger_seconds)
    }

    /// The same slope in clocks of the SMs.
    pub(crate) fn clocks(
        &mut self,
        sizes: Sizes,
        how: How,
        kernel: impl Fn(u64) -> Result<Kernel, MeasureError>,
    ) -> Result<f64, MeasureError> {
        let clocks = self.facts().clock_mhz * 1e6;
        Ok(self.slope(sizes, how, kernel)? * clocks)
    }
}
