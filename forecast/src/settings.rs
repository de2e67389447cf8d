//! Settings of runs as plain data: the choices of a command line or another caller.

use std::path::PathBuf;

use gpucast_interpreter::Options;
use gpucast_ptx_frontend::container::Target;
use serde::{Deserialize, Serialize};

pub use crate::input::options::{LaunchOptions, LoadCaching, Size};
pub use crate::run::rung::RungChoice;

/// Settings of the execution.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExecutionSettings {
    /// Limits and the order of CTAs.
    pub options: Options,
    /// True if results say how long the execution took.
    pub timing: bool,
    /// How much is executed where only counts are wanted.
    pub counting: RungChoice,
}

/// Settings by which PTX becomes machine instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineSettings {
    /// Source of the machine instructions that the PTX becomes.
    pub machine: MachineChoice,
    /// The architecture of the machine code. By default it is that of the GPU whose counters are
    /// modelled, or the nearest later one that the PTX and the assembler allow.
    pub machine_target: Option<Target>,
    /// The assembler; by default the supervisor's [`Toolchain`](crate::run::assembler::Toolchain)
    /// looks for one.
    pub ptxas: Option<PathBuf>,
}

/// Source of machine instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineChoice {
    /// NVIDIA's assembler where there is one, else the built-in rules.
    #[default]
    Auto,
    /// NVIDIA's assembler.
    Ptxas,
    /// The built-in rules.
    Rules,
    /// Nothing: PTX instructions alone are counted.
    None,
}
