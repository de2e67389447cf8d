//! Tuning: which configuration of a kernel is fast, by the models, without the GPU.
//!
//! ```text
//! space.toml ──► Space ──► configurations ──► launch file and macros ──► counts ──► times
//!                                              Kernel Tuner's and KTT's files ◄──┴──► ranks
//! ```
//!
//! A [`Space`] names a launch file, values of its parameters, and constraints. Each configuration
//! is compiled, executed and predicted by itself, so that any of them can be left out or taken from
//! a file.
//!
//! [`standing`] says which configurations a ranking cannot tell apart, and which few to measure.
//!
//! The cache file is the only state of a tuning, so a killed one goes on from it. Times have twelve
//! digits, which survive such a file.

mod cache;
mod date;
pub mod kernel_tuner;
pub mod ktt;
mod measured;
pub mod ranks;
mod space;
pub mod standing;
mod trial;
mod tried;

pub use cache::Cache;
pub use measured::measured;
pub use space::{Configuration, Parameter, Space};
pub use trial::{ModelTime, Trial, TriedLaunch, Trouble, Tuning};
