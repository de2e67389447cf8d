//! Parameters of a GPU, fitted to the times of measurement kernels.
//!
//! ```text
//! parameter ──► kernels of two sizes ──► Device (runs, times) ──► trials ──► figure
//! ```
//!
//! A parameter is the slope of a kernel's time over its size, so that fixed costs of a launch drop
//! out. The crate knows kernels and arithmetic. It runs nothing: a [`Device`] does, which is a GPU
//! behind its driver or whatever answers in its place.
//!
//! | module | idea |
//! |---|---|
//! | `device` | what runs kernels, and what it tells |
//! | `bench` | times of kernels, and slopes of these |
//! | `conditions` | clocks, temperature and power during a measurement |
//! | `trials` | the mean of trials, without anomalous ones |
//! | `runs` | raw data |
//! | `flush` | what takes a kernel's data out of the L2 |
//! | `told` | what the driver tells, as fields |
//! | `kernels` | kernels by what limits them |
//! | `parameters` | what is measured, by the part of the GPU |
//! | `gpu_file` | the file of a measured GPU |
//! | `stall_counts` | files that contradict machine code |

mod bench;
pub mod conditions;
pub mod device;
mod error;
mod flush;
pub mod gpu_file;
mod kernels;
pub mod parameters;
mod runs;
mod stall_counts;
mod told;
pub mod trials;

pub use gpucast_model::gpu::quantity::ComputeCapability;

pub use bench::Bench;
pub use device::{Device, DeviceError, Facts, Job};
pub use error::MeasureError;
pub use flush::flush;
pub use parameters::{Measured, Parameter};
pub use runs::Run;
pub use stall_counts::{OtherStallCount, other_stall_count};
pub use trials::Trials;
