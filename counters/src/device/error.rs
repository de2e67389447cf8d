//! The reasons why a GPU cannot be counted on.

use thiserror::Error;

use gpucast_ptx_frontend::ComputeCapability;

/// A fault of a [`super::DeviceModel`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// A capability that NVIDIA never made, or that is newer than this program.
    #[error("nothing is known of compute capability {capability}")]
    UnknownCapability {
        /// The capability.
        capability: ComputeCapability,
    },
    /// A parameter that no GPU can have.
    #[error("the value {value} of `{field}` is impossible: {why}")]
    Impossible {
        /// The parameter, as [`super::DeviceModel`] or [`super::SmLimits`] names it.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The fault.
        why: &'static str,
    },
}
