//! What a GPU can do: a TOML file in which every figure has a unit and a source.
//!
//! ```toml
//! name = "my-gpu"
//! display_name = "My GPU"
//! sp_throughput = { value = 1940.80, unit = "GFLOPS", source = { benchmark = "own run" } }
//! ```
//!
//! A source is one of `datasheet`, `benchmark`, `derived` (with the name of the rule) or
//! `assumed`, and says where to look.

mod description;
mod error;
mod library;
mod parse;
pub mod quantity;
mod source;

pub use description::Gpu;
pub use error::{FieldError, GpuError, UnknownGpu};
pub use library::GpuLibrary;
pub use source::{Source, Sourced};
