//! From a kernel to its forecast: counted launches, predicted times, sweeps, comparisons.
//!
//! ```text
//! choice (GPUs, models, metrics) ─────────────────────────────┐
//! input (KERNEL, launch, buffers) ──► Plan ──► run (execute, count) ──► Source ──► prediction
//!                                                │                         ├──► what_if
//!            supervisor (notes, progress, stop) ◄┘                         ├──► sweep, tune
//!                                                              published ──┴──► comparison
//! ```
//!
//! This crate does everything that the program `gpucast` can do, for callers who are programs
//! themselves. It knows no command line, prints nothing and reads no environment. It reads the
//! files that a caller names, and writes the stores and the caches that a caller opens. Everything
//! that may take long reports to a [`Supervisor`], who can also end it.
//!
//! Errors are [`Failure`]s made of [`Report`]s: a sentence, a place in a text, facts and a hint.
//!
//! | module | task |
//! |---|---|
//! | `input` | turns what the user names into a `Plan` |
//! | `run` | executes a `Plan` and returns counts; `kept` stores them from run to run |
//! | `choice` | resolves names of GPUs, models and metrics, and whose counters are modelled |
//! | `prediction`, `what_if` | bring models and counts together |
//! | `sweep`, `comparison`, `published` | grids of predictions; predictions beside measured times |
//! | `sweep/shared` | one sweep by many processes, through a `Store` |
//! | `calibration` | samples for the parameters of a cost model |
//! | `parametric` | counts as formulas in the sizes of a problem |
//! | `tune` | configurations of a kernel, ranked |
//! | `inspection` | reads a kernel without executing it |
//! | `nsight` | a launch under Nsight Compute's names of metrics |
//!
//! Every command counts once for each group of GPUs with equal device models, and
//! `run/counting/together` executes once for up to four such groups. Models ask for simulations by
//! a trait that the conditions of a prediction carry. So they know of no files, and nothing is
//! simulated twice.

pub mod calibration;
pub mod choice;
pub mod comparison;
pub mod compiler;
pub mod cuda_text;
pub mod difference;
pub mod failure;
pub mod input;
pub mod inspection;
pub mod nsight;
pub mod number;
pub mod parametric;
pub mod prediction;
pub mod prelude;
pub mod published;
pub mod run;
pub mod settings;
pub mod store;
pub mod sweep;
pub mod tune;

pub use failure::{Anchor, Failure, Report, SourceText};
pub use input::typed::{Argument, BufferArgument};
pub use prediction::what_if;
pub use run::kernel::Kernel;
pub use run::supervisor::{Alone, Supervisor};
pub use run::{cuda_file, cuda_line, fault_report};
pub use settings::LaunchOptions;
