//! Turns the events of an execution into the counts of a hardware profiler.
//!
//! ```text
//!              ┌── coalescing ── hierarchy ──┐
//! events ── recorder (one CTA)               ├── observer ── table ── totals ── definitions
//!              └── banks ────────────────────┘                              └─► LaunchProfile
//! ```
//!
//! A [`Counter`] watches one launch. Each CTA is counted by a recorder of its own: executions block
//! by block, accesses one by one. The counter adds them up in CTA order into the
//! [`table::BaseTable`], one row for each static instruction. It replays the accesses to memory
//! through the modelled caches. Every metric is a sum over that table. All metrics are defined in
//! one place, [`definitions`], under the names that nvprof and Nsight Compute give them. [`import`]
//! reads and [`export`] writes such profilers' files by the same definitions. A back end (the crate
//! `gpucast-machine`) may give the GPU's own instructions as a [`machine::MachineProfile`]. They
//! then take the place of PTX in the metrics of instructions. [`attribution`] adds up the table by
//! line, and a [`stages::StageCounter`] also cuts the counts of each CTA at its barriers. A
//! [`features::FeatureCounter`] recovers strides and footprints of accesses from their addresses. A
//! [`trace`] keeps the order of events of a few CTAs, and [`used_bytes`] how far a launch goes into
//! its buffers. The counts have names as [`cells`], so that formulas can stand for an execution.
//!
//! This crate knows instructions, accesses and caches. It does not know GPUs by name, but for the
//! one that published counts were taken on. Nor does it know prices in time or any performance
//! model: those read a [`KernelProfile`].
//!
//! | module | idea |
//! |---|---|
//! | `definitions` | the one table of metrics: values, vendors' names, import, export, the page |
//! | `recorder`, `observer` | counts of a CTA; the launch, its windows and samples |
//! | `device` | the table of compute capabilities, each parameter with its source |
//! | `coalescing`, `banks`, `hierarchy` | an access becomes lines, passes, and traffic of caches |
//! | `stages`, `attribution`, `features`, `trace` | counts between barriers, by line, by pattern, in order |
//! | `estimate`, `launch_profile` | what a part of the grid says of all, with intervals |
//! | `tally`, `cells` | sums of 128 bits over CTAs; counts that formulas stand for |
//! | `machine` | counts of machine instructions, which back ends fill in |
//!
//! A CTA's own counts have 64 bits, and sums over CTAs 128. Traffic of caches stays at 64 bits, and
//! larger counts are refused where it is scaled. A grid of 2⁶⁴ CTAs has no order, so nothing but
//! classes counts it.

pub mod attribution;
pub mod banks;
pub mod cache_operators;
pub mod cells;
pub mod coalescing;
mod code;
pub mod counts;
pub mod definitions;
pub mod device;
mod direction;
mod estimate;
pub mod export;

mod extrapolation;
pub mod features;
mod foreign;
pub mod hierarchy;
pub mod import;
pub mod integer_kind;
mod lane_access;
pub mod launch_profile;
pub mod machine;
pub mod metric;
pub mod observer;
pub mod occupancy;
pub mod operation;
mod patterns;
pub mod profile;

pub mod recorder;
pub mod refusal;
mod row_key;
mod sparse;
pub mod stages;
pub mod stored;
pub mod student;
pub mod table;
mod tally;
pub mod tensor;
pub mod throughput;
pub mod totals;
pub mod trace;
pub mod units;
pub mod used_bytes;

pub use gpucast_ptx_frontend::ComputeCapability;
pub use gpucast_ptx_frontend::isa::InstructionClass;

pub use device::{DeviceError, DeviceModel};
pub use integer_kind::IntegerKind;
pub use lane_access::{LaneAccess, LineMap};
pub use launch_profile::{LaunchProfile, LeveledMetric, PROFILE_SCHEMA};
pub use metric::{Kind, Level, MetricValue, Metrics, Number};
pub use observer::{
    Counter, DEFAULT_SAMPLE, Drawn, LEAST_SAMPLE, Population, SampleSize, WindowSizes,
};
pub use occupancy::{CtaShape, Limiter, Occupancy, RegisterRange, ThreadRegisters};
pub use profile::KernelProfile;
pub use refusal::{Extents, Refusal, RequestedLaunch};
