//! From a plan to counts: execution on the CPU, counters, machine code.
//!
//! ```text
//! Plan ──► execute ──► counting ──► sources (counts with what models need to know of them)
//!                         ▲
//!                      machine ◄── assembler (NVIDIA's, if the caller has one)
//! ```

pub mod assembler;
pub mod counting;
pub mod execute;
pub mod machine;
pub mod sources;
