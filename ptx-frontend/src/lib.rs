//! From PTX text to a [`Module`] that an executor or an analysis can work on.
//!
//! ```text
//! &[u8] ── container ──► &str
//!
//! &str ── lexer ── parser ──► ast::File ── resolver ──► Module ── cfg ──► ControlFlowGraph
//!                    ▲            │            ▲
//!              isa (one table)  printer   isa (types, operand shapes)
//! ```
//!
//! This crate knows the language. It does not know execution, counters or GPUs, and it never
//! touches the file system: callers hand it text and get values and [`Diagnostic`]s back.

pub mod ast;
mod capability;
pub mod cfg;
pub mod container;
pub mod dataflow;
mod hash;
pub mod inlining;
pub mod isa;
pub mod module;
mod parser;
mod printer;
mod resolver;
pub mod source;
pub mod types;
pub mod usage;

pub use capability::{ComputeCapability, ParseCapabilityError};
pub use cfg::ControlFlowGraph;
pub use module::Module;
pub use parser::parse;
pub use resolver::{load, resolve};
pub use source::{Diagnostic, DiagnosticCode, Span};
pub use types::ScalarType;
pub use usage::Usage;
