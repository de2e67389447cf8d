//! The user's input: kernels, launch files, arguments, buffers.
//!
//! ```text
//! project's name ► one of the following, with its launch
//! corpus name ─┐
//! launch file ─┼─► launch_file ──► resolve ──► Plan
//! PTX module  ─┤   argument ────────┘ contents of buffers: the crate `buffers`
//! CUDA source ─┤   (compiled by the caller's compiler)
//! container   ─┘   kernel_name: which PTX of it, which kernel     packed: Plan ⇄ bytes
//! ```

pub mod argument;
pub mod bounded;
mod buffer;
pub mod calibration;
mod command_line;
pub mod container;
pub mod cost_samples;
pub mod cuda_module;
pub mod cuda_source;
pub mod expectation;
pub mod expression;
pub mod kernel_argument;
pub mod kernel_name;
pub(crate) mod launch_file;
pub(crate) mod launch_shape;
pub mod launch_template;
pub mod launch_text;
mod load_caching;
pub mod loaded;
pub mod measurements;
pub mod module_listing;
pub mod module_text;
pub mod options;
pub mod packed;
pub mod plan;
mod pointer;
pub mod project;
pub mod reference_values;
mod resolve;
pub mod samples;
pub mod structure;
pub mod template;
mod tensor_map;
pub mod texture;
pub mod toml_report;
mod type_name;
pub mod typed;
pub mod unfilled;
