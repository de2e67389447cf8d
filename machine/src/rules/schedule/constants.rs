//! The constants that instructions read.

use gpucast_interpreter::Program;
use gpucast_simulation::code::Constant;

use super::super::emit::{Emitted, Role};
use super::super::family::{Constants, Family};
use super::super::graph::{Arg, Bank, Op};

/// The bank of launch parameters and dimensions.
const LAUNCH_BANK: u32 = 0;
/// The bank of addresses of variables.
const ADDRESS_BANK: u32 = 4;
/// Numbers from here on stand for variables, each of which is taken to have lines of its own.
const FIRST_VARIABLE: u32 = 32;
/// Bytes between the descriptor of global memory and the kernel's parameters on Ampere and Ada.
const DESCRIPTOR_BYTES: u32 = 0x48;

/// The layout of constants on one architecture.
pub(super) struct Banks<'p> {
    program: &'p Program,
    pub(super) family: &'p Family,
    /// The offset of the first kernel parameter.
    parameters_at: u32,
}

impl<'p> Banks<'p> {
    /// The layout on the architecture `sm`, as `ptxas` has it.
    pub(super) fn new(program: &'p Program, family: &'p Family, sm: u32) -> Self {
        let parameters_at = match sm {
            0..30 => 0x20,
            30..70 => 0x140,
            70..90 => 0x160,
            90..100 => 0x210,
            _ => 0x380,
        };
        Self { program, family, parameters_at }
    }

    /// The constant that an instruction of an operation reads.
    pub(super) fn constant(&self, op: &Op<'_>, emitted: &Emitted) -> Option<Constant> {
        let mnemonic = emitted.selected.mnemonic;
        let is_load = matches!(mnemonic, "LDC" | "ULDC");
        match emitted.role {
            Role::Bring => match emitted.brings {
                Some(Arg::Bank(bank)) => Some(self.place(bank)),
                _ => None,
            },
            // Where constants are loaded into registers, others read those.
            Role::Own if is_load || self.family.constants == Constants::Direct => {
                op.args.iter().find_map(|arg| match arg {
                    Arg::Bank(bank) => Some(self.place(*bank)),
                    _ => None,
                })
            }
            Role::Preamble => match mnemonic {
                "ULDC" => {
                    let offset = self.parameters_at.saturating_sub(DESCRIPTOR_BYTES);
                    Some(Constant { bank: LAUNCH_BANK, offset })
                }
                // The stack pointer is near the dimensions.
                "MOV" | "LDC" => Some(Constant { bank: LAUNCH_BANK, offset: 0 }),
                _ => None,
            },
            Role::Own | Role::Control | Role::Wait => None,
        }
    }

    fn place(&self, bank: Bank) -> Constant {
        let offset = |offset: i64| u32::try_from(offset).unwrap_or(0);
        match bank {
            Bank::Launch(_) => Constant { bank: LAUNCH_BANK, offset: 0 },
            Bank::Address(variable, _) => Constant { bank: ADDRESS_BANK, offset: 8 * variable.0 },
            Bank::Variable(variable, at) => match self.program.parameter_offset(variable) {
                Some(start) => {
                    let start = self.parameters_at + u32::try_from(start).unwrap_or(0);
                    Constant { bank: LAUNCH_BANK, offset: start.saturating_add(offset(at)) }
                }
                None => Constant { bank: FIRST_VARIABLE + variable.0, offset: offset(at) },
            },
        }
    }
}
