//! Counts of the GPU's own instructions.
//!
//! A back end gives the machine instructions that stand for the PTX of a kernel, and the executions
//! of each. The metrics that a profiler takes at machine level are sums over its rows. The back
//! ends themselves are the crate `gpucast-machine`.

mod accesses;
pub mod architecture;
mod local;
mod shared;
mod summary;

use std::borrow::Cow;

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

use crate::foreign::{Access, Class, optional_space};
use crate::metric::Kind;
use crate::operation::Flops;
pub use local::LocalAccesses;
pub use shared::SharedPasses;
pub(crate) use shared::shared_passes;

/// The origin of machine instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackEnd {
    /// NVIDIA's assembler translated the kernel; its machine code was read.
    Ptxas {
        /// The assembler's version, such as `13.5`.
        version: String,
    },
    /// Built-in passes and expansion tables.
    Rules,
}

/// The memory access of a machine instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineAccess {
    /// The space; `None` if the instruction takes generic addresses.
    #[serde(with = "optional_space")]
    pub space: Option<StateSpace>,
    /// Load, store, atomic or reduction.
    #[serde(with = "Access")]
    pub kind: AccessKind,
    /// Bytes of one lane.
    pub bytes: u32,
}

/// Facts about the accesses of machine code that are known before a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownAccesses {
    /// PTX instructions whose accesses to local memory it keeps in registers.
    pub local_in_registers: Vec<u32>,
    /// PTX instructions for which it has wider accesses to shared memory than theirs.
    pub shared_widths: Vec<SharedWidth>,
}

/// The width of an access to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedWidth {
    /// The PTX instruction that it stands for, an index into the program's instructions.
    pub instruction: u32,
    /// Bytes of one lane.
    pub bytes: u32,
}

/// One machine instruction, or several of a kind that stand for the same PTX instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineRow {
    /// The mnemonic as the vendor's disassembler writes it, such as `FFMA`.
    pub mnemonic: Cow<'static, str>,
    /// The class that a profiler counts it as.
    #[serde(with = "Class")]
    pub class: InstructionClass,
    /// Its floating-point operations.
    pub flops: Option<Flops>,
    /// Its access to memory.
    pub access: Option<MachineAccess>,
    /// The PTX instruction that it stands for, an index into the program's instructions.
    pub instruction: Option<u32>,
    /// Times that a warp issued it.
    pub warp_executions: u128,
    /// Times that a lane issued it, guard true or not.
    pub issued_lanes: u128,
    /// Times that a thread executed it: its guard was true.
    pub thread_executions: u128,
}

/// The machine instructions of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineProfile {
    /// The back end that they come from.
    pub back_end: BackEnd,
    /// The kind of its figures: estimated if rules made them, or machine code and PTX do not agree.
    pub kind: Kind,
    /// The architecture, such as `sm_50`.
    pub target: String,
    /// Registers of a thread, if the back end knows them.
    pub registers_per_thread: Option<u32>,
    /// The instructions.
    pub rows: Vec<MachineRow>,
    /// The approximations that were made, in sentences; empty if there were none.
    pub notes: Vec<String>,
}
