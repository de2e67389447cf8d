//! Buffers of kernels: the types of their elements, their first contents, and files of values.
//!
//! ```text
//! scalar: types and bits ─┬─► init ◄── uniform: random numbers
//! npy ─► files ───────────┘    ▲
//!   replacement: files whole   └── corpus_values: generators and references
//! ```
//!
//! It is a crate of its own because gigabytes pass through it. It is compiled for speed, and the
//! crate that reads launch files is not.

pub mod corpus_values;
pub mod files;
pub mod init;
pub mod npy;
pub mod replacement;
pub mod scalar;
mod uniform;
