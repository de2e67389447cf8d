//! Turns the events of an execution into what a hardware profiler would have counted.
//!
//! This crate knows instructions, accesses and caches. It does not know GPUs by name, their
//! prices in time, or any performance model: those read a [`KernelProfile`].

pub mod metric;
pub mod profile;

pub use metric::{Kind, MetricValue, Metrics, Number};
pub use profile::KernelProfile;
