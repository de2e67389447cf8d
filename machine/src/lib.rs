//! The GPU's own instructions that stand for the PTX of a kernel, and the executions of each.
//!
//! There are two back ends. Each makes a [`MachineProfile`], over which the metrics of
//! `gpucast-counters` are sums, and a [`Launch`] for the simulation of an SM.
//!
//! | back end | its source |
//! |---|---|
//! | [`ptxas`] | machine code that NVIDIA's assembler made of the kernel |
//! | [`rules`] | passes and tables of our own |
//!
//! Both know the classes of units that execute a mnemonic (`unit_class`). `replay` finds the ways
//! of recorded warps through the code of either. Nothing here runs a program or reads a file.
//!
//! `LaunchProfile::with_machine` recounts the metrics of instructions on a back end's rows and
//! keeps the PTX figures. An instruction's name decides its class; both back ends read one table
//! for that (`ptxas/isa/meaning`). The interpreter executes operations on literals for the rules
//! (`rules/passes/evaluate`), so that folding has one meaning.
//!
//! [`Launch`]: gpucast_simulation::launch::Launch
//! [`MachineProfile`]: gpucast_counters::machine::MachineProfile

mod bulk_copies;
pub mod ptxas;
mod replay;
pub mod rules;
mod tensor_memory;
mod unit_class;

pub use unit_class::unit_class;
