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
//!
//! Parsing recovers at the next statement and reports all errors of a file. The AST keeps what the
//! printer needs: print ∘ parse is the identity up to white space. The `Module` keeps what analyses
//! need: indices instead of names. `load` resolves each function as it is parsed, so the whole tree
//! of a large module is never held.
//!
//! | module | idea |
//! |---|---|
//! | `lexer`, `parser`, `ast`, `printer` | the text and its tree |
//! | `isa` | the one table: rows in the manual's notation, combinations, textures, samples, facts |
//! | `resolver` | names, operands and types; `check`, a file a topic; `prelude` of operands |
//! | `cfg`, `dataflow`, `liveness` | control flow; registers read, written, and still needed |
//! | `inlining` | from a library's line to the user's |
//! | `usage` | static needs of a kernel, which `gpucast check` shows |
//! | `container` | PTX inside of fatbins, objects and executables |

pub mod ast;
mod capability;
pub mod cfg;
pub mod container;
pub mod dataflow;
mod hash;
pub mod inlining;
pub mod isa;
pub mod liveness;
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
