//! The description of a GPU: a TOML file in which every figure has a unit and a source.
//!
//! ```toml
//! name = "my-gpu"
//! display_name = "My GPU"
//! sp_throughput = { value = 1940.80, unit = "GFLOPS", source = { benchmark = "own run" } }
//! ```
//!
//! Figures that shape counts (coalescing, banks, limits of an SM) may be left out. They follow from
//! the compute capability, and [`Gpu::device_model`] puts both together. An architect asks for 17
//! banks and sectors of 16 bytes with
//!
//! ```toml
//! shared_banks = { value = 17, unit = "bank", source = { assumed = "a prime number" } }
//! sector = { value = 16, unit = "B", source = { assumed = "half of today's" } }
//! ```
//!
//! A file may build on another GPU and give the differences; everything that follows, follows:
//!
//! ```toml
//! name = "h100-next"
//! base = "h100-sxm"
//! sm_count = 144
//! memory_bandwidth = "1.2x"
//! ```
//!
//! [`Gpu::completed`] fills the fields that a file leaves open by the [`RULES`].
//! [`Gpu::with_override`] changes a field and those that follow from it. [`import`] reads the
//! output of benchmarks. [`Gpu::at_clock`] runs the SMs at another clock.
//!
//! A source is one of `datasheet`, `benchmark`, `derived` (with the name of the rule) or
//! `assumed`, and says where to look.

mod clock;
mod derive;
mod description;
mod device;
mod error;
pub mod import;
mod library;
mod overrides;
mod parse;
mod power_limit;
pub mod quantity;
mod simulation;
mod slot;
mod source;
mod write;

pub use clock::{Clock, NoClock};
pub use derive::{ACHIEVED, Achieved, RULES, Rule, Spread};
pub use description::Gpu;
pub use error::{CountingError, FieldError, GpuError, MissingField, UnknownGpu};
pub use library::GpuLibrary;
pub use overrides::{Basis, Change, OverrideError};
pub use parse::FindBase;
pub use power_limit::{NoPower, PowerLimit};
pub use slot::Figure;
pub use source::{Source, Sourced};
