//! Parameters of a GPU, fitted to the times of measurement kernels.
//!
//! ```text
//! parameter ──► kernels of two sizes ──► Device (runs, times) ──► trials ──► figure
//! ```
//!
//! A parameter is the slope of a kernel's time over its size, so that fixed costs of a launch drop
//! out. The crate knows kernels and arithmetic. It runs nothing: a [`Device`] does, which is a GPU
//! behind its driver or whatever answers in its place.

mod bench;
pub mod device;
pub mod gpu_file;
mod kernels;
pub mod parameters;
pub mod trials;

pub use bench::{Bench, MeasureError};
pub use device::{Device, DeviceError, Facts, Job};
pub use parameters::{Measured, Parameter};
pub use trials::Trials;
