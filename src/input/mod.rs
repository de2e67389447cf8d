//! What the user hands in: kernels, launch files, arguments, buffers.
//!
//! ```text
//! corpus name ─┐                     ┌─ init, uniform, files, npy: contents
//! launch file ─┼─► launch_file ──► resolve ──► Plan
//! PTX module  ─┤   argument ────────┘ scalar: types and bits
//! container   ─┘   kernel_name: which PTX of it, which kernel
//! ```

pub(crate) mod argument;
pub(crate) mod calibration;
mod command_line;
pub(crate) mod container;
pub(crate) mod cost_samples;
pub(crate) mod cuda_source;
pub(crate) mod expectation;
pub(crate) mod expression;
pub(crate) mod files;
pub(crate) mod init;
pub(crate) mod kernel_argument;
pub(crate) mod kernel_name;
mod launch_file;
pub(crate) mod measurements;
pub(crate) mod module_text;
mod npy;
pub(crate) mod plan;
pub(crate) mod reference_values;
mod resolve;
pub(crate) mod samples;
pub(crate) mod scalar;
pub(crate) mod structure;
mod tensor_map;
mod uniform;
