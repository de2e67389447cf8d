//! The back end `ptxas`: NVIDIA's assembler translates the kernel, and its machine code is read.
//!
//! ```text
//! PTX ── prepare ──► PTX, a `.loc` for each instruction ── ptxas (run by the caller) ──► cubin
//!                                                                                        │
//!        MachineProfile ◄── attribute ◄── flow ◄── code ◄── isa, line_table ◄── image ◄──┘
//! ```
//!
//! Each machine instruction knows by its injected line which PTX instruction it stands for, and the
//! base table knows that one's executions. If the assembler unrolled, duplicated, merged or moved
//! code, lines alone do not give the executions of each copy. `flow` finds them from the
//! conservation of threads over the machine's own control-flow graph.
//!
//! `schedule` makes the input of a simulation of time from the same facts and a trace: the code
//! with its scheduling fields, and the way of each recorded warp through it.
//!
//! This module reads bytes and runs nothing; who finds and starts the assembler is the caller.

mod agreement;
mod attribute;
mod code;
mod flow;
mod image;
mod isa;
mod known;
mod large;
mod line_table;
mod listing;
mod loops;
mod observe;
mod prepare;
mod rows;
mod schedule;
mod speculation;
mod spills;
#[cfg(test)]
mod tests;
mod updates;

pub use attribute::{attribute, examine};
pub(super) use isa::meaning;
#[cfg(test)]
pub(super) use isa::mnemonics;
pub use known::known_accesses;
pub use prepare::{Prepared, prepare};
pub use schedule::schedule;

/// The number of instructions of a kernel's machine code, with those of the functions it calls,
/// read as [`attribute`] reads them.
///
/// # Errors
///
/// If the image is damaged or does not hold the kernel, and if it has an instruction that the
/// tables do not know.
pub fn instruction_count(image: &[u8], kernel: &str) -> Result<usize, MachineError> {
    let image = image::Image::parse(image, kernel)?;
    line_table::LineTable::parse(&image.line_table, 1)?;
    Ok(code::Code::read(&image)?.instructions.len())
}

/// The reason why machine code could not be counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// The file is no cubin, or a damaged one.
    #[error("the machine code cannot be read: {reason}")]
    Image {
        /// The fault.
        reason: String,
    },
    /// The cubin does not hold the kernel.
    #[error("the machine code has no kernel named {name}")]
    NoKernel {
        /// The kernel.
        name: String,
    },
    /// Its table of source lines is damaged.
    #[error("the line table of the machine code cannot be read: {reason}")]
    LineTable {
        /// The fault.
        reason: String,
    },
    /// It was not assembled from the prepared text.
    #[error("the machine code of {kernel} does not say which PTX it comes from")]
    NoLines {
        /// The kernel.
        kernel: String,
    },
    /// The executions of the machine code could not be brought to agree with those of the PTX.
    #[error(
        "how often the machine code of {kernel} ran could not be found out: it accounts for {found} of {expected} operations and accesses"
    )]
    Unsolved {
        /// The kernel.
        kernel: String,
        /// Executions of threads that the machine code accounts for.
        found: u128,
        /// The executions of the PTX.
        expected: u128,
    },
    /// No table of opcodes for this architecture.
    #[error("the machine code is for {target}, whose encoding is not known")]
    UnknownTarget {
        /// The architecture.
        target: String,
    },
    /// The code cannot be simulated.
    #[error("the machine code of {kernel} cannot be simulated: {reason}")]
    NoSchedule {
        /// The kernel.
        kernel: String,
        /// What is missing.
        reason: &'static str,
    },
    /// Blocks of machine code were given executions that the PTX cannot explain.
    #[error(
        "how often the machine code of {kernel} ran contradicts the PTX: what stands for line {line} \
         (block at {offset:#x}) is counted {found} times, the line ran {expected} times"
    )]
    Contradiction {
        /// The kernel.
        kernel: String,
        /// The offset of the block in its function.
        offset: u64,
        /// The line of the PTX.
        line: u32,
        /// Executions by threads that were found for it.
        found: u128,
        /// The executions of the line.
        expected: u128,
    },
}
