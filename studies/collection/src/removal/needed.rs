//! The instructions whose values branches, guards and addresses need.

use gpucast_ptx_frontend::dataflow::{Uses, registers_in};
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{Function, Instruction, Operand, RegisterId};
use gpucast_ptx_frontend::types::StateSpace;

use super::roots::Roots;
use super::{Action, RemovalError};

/// True for each instruction that must stay for its value.
pub(super) struct Needed {
    stays: Vec<bool>,
}

impl Needed {
    /// Goes backwards from what stays, without regard to the order of instructions: every
    /// instruction that writes a register that is read stays, too.
    ///
    /// # Errors
    ///
    /// A value that comes out of shared or local memory, whose contents go.
    pub(super) fn of(
        function: &Function,
        instructions: &[Instruction],
        actions: &[Action],
        roots: &Roots,
    ) -> Result<Self, RemovalError> {
        let mut writers = vec![Vec::new(); function.registers.len()];
        for (position, instruction) in instructions.iter().enumerate() {
            let uses = Uses::of(instruction);
            for register in uses.written.iter().chain(&uses.partly_written) {
                writers[register.index()].push(position);
            }
        }
        let mut stays = vec![false; instructions.len()];
        let mut read = vec![false; function.registers.len()];
        let mut open: Vec<RegisterId> = Vec::new();
        for (instruction, action) in instructions.iter().zip(actions) {
            open.extend(match action {
                Action::Control | Action::Atomic => Uses::of(instruction).read,
                Action::Load | Action::Store => of_addresses(instruction),
                Action::Other => Vec::new(),
            });
        }
        while let Some(register) = open.pop() {
            if std::mem::replace(&mut read[register.index()], true) {
                continue;
            }
            for &position in &writers[register.index()] {
                if !std::mem::replace(&mut stays[position], true) {
                    let instruction = &instructions[position];
                    check(instruction, roots)?;
                    open.extend(Uses::of(instruction).read);
                }
            }
        }
        Ok(Self { stays })
    }

    pub(super) fn contains(&self, position: usize) -> bool {
        self.stays.get(position).copied().unwrap_or_default()
    }
}

/// The registers of an access's guard and addresses.
fn of_addresses(instruction: &Instruction) -> Vec<RegisterId> {
    let is_address = |operand: &&Operand| matches!(operand, Operand::Address(_));
    let addresses = instruction.operands.iter().filter(is_address).flat_map(registers_in);
    addresses.chain(instruction.guard.map(|guard| guard.register)).collect()
}

/// Values of memory that is no longer filled are wrong.
fn check(instruction: &Instruction, roots: &Roots) -> Result<(), RemovalError> {
    let spaces: Vec<StateSpace> =
        instruction.modifiers.iter().filter_map(|modifier| modifier.as_space()).collect();
    let is_on_chip =
        spaces.iter().any(|space| matches!(space, StateSpace::Shared | StateSpace::Local));
    let is_access =
        matches!(instruction.opcode, Opcode::Ld | Opcode::Ldu | Opcode::Atom | Opcode::Ldmatrix);
    let is_unknown = is_access && spaces.is_empty() && roots.of_addresses(instruction).is_empty();
    if is_access && (is_on_chip || is_unknown) {
        return Err(RemovalError::Instruction {
            span: instruction.span,
            reason: "a branch or an address that stays depends on this load of shared or local \
                     memory"
                .to_owned(),
        });
    }
    Ok(())
}
