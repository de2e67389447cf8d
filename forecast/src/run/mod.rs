//! From a plan to counts: execution on the CPU, counters, machine code.
//!
//! ```text
//! Kernel ──► Plan ──► execute ──► counting ──► sources (counts and their conditions)
//!                         ▲
//!                      machine ◄── assembler (NVIDIA's, if the caller has one)
//! ```

pub mod assembler;
pub mod bench;
pub mod check;
pub mod counting;
mod cta_work;
pub mod execute;
pub mod expected;
mod fusable_products;
pub mod hazards;
mod instruction_facts;
pub mod kept;
mod kept_simulations;
pub mod kernel;
pub mod machine;
pub mod module;
pub mod profiling;
pub mod proposal;
mod repetitions;
mod reread_loads;
pub mod rung;
mod sliced;
pub mod sources;
pub mod supervisor;
mod textures;
mod trouble;
pub mod warp_steps;
pub mod warp_way;

pub use trouble::{cuda_file, cuda_line, fault_report};
