//! The reasons why a parameter is not measured.

use gpucast_collection::{TagError, Unfit};

use crate::device::DeviceError;

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

impl MeasureError {
    /// A parameter that kernels of this device do not show, with the reason.
    pub(crate) fn unfit(reason: impl Into<String>) -> Self {
        Self::Unfit(Unfit::new(reason.into()))
    }
}
