//! Memory operands: the width of an address, and the space of a named variable.

use super::operands::Context;
use super::{Misfit, misfit};
use crate::isa::{Form, Opcode, OperandShape};
use crate::module::{Address, AddressBase, Operand};
use crate::types::StateSpace;

/// Name in the rows for an address in tensor memory.
const TENSOR_ADDRESS: &str = "taddr";

impl Context<'_, '_> {
    /// Numbers are addresses in local memory only. A register that holds an address is an
    /// integer; generic and global addresses are as
    /// wide as `.address_size` says, the other spaces' also fit 32 bits.
    pub(super) fn address(&self, shape: &OperandShape, address: &Address) -> Result<(), Misfit> {
        let space = self.modifiers.iter().find_map(|modifier| modifier.as_space());
        let id = match address.base {
            AddressBase::Register(id) => id,
            AddressBase::Variable(_) => return Ok(()),
            AddressBase::Absolute if space == Some(StateSpace::Local) => return Ok(()),
            AddressBase::Absolute => {
                return Err(Misfit {
                    message: "a number is an address in .local memory only".to_owned(),
                    hint: Some("put it into a register with `mov` first".to_owned()),
                });
            }
        };
        let register = self.register(id);
        if !self.is_pointer(id) || register.vector > 1 {
            return Err(misfit(format!(
                "`{}` is {}; an address is an integer of 32 or 64 bits",
                register.name, register.ty
            )));
        }
        let bits = register.ty.bits();
        // Tensor memory has addresses of its own (manual, section 9.7.16.1).
        if shape.name == TENSOR_ADDRESS {
            return match bits {
                32 => Ok(()),
                _ => Err(misfit(format!(
                    "`{}` has {bits} bits, but addresses in tensor memory have 32",
                    register.name
                ))),
            };
        }
        let short = matches!(
            space,
            Some(StateSpace::Shared | StateSpace::Local | StateSpace::Const | StateSpace::Param)
        );
        // Instructions on shared memory name several spaces or none; only the plain ones are
        // sure to need the full width.
        let spaces = self.modifiers.iter().filter(|modifier| modifier.as_space().is_some()).count();
        let plain = self.types.len() == 1
            && spaces <= 1
            && (space.is_none() || space == Some(StateSpace::Global));
        if bits == 32 && self.resolver.module.address_bits == 64 && plain && !short {
            return Err(misfit(format!(
                "`{}` has 32 bits, but addresses have 64 here",
                register.name
            )));
        }
        Ok(())
    }

    /// A named variable must be in the space that the instruction accesses.
    pub(super) fn check_spaces(
        &self,
        form: &Form,
        operands: &[Operand],
    ) -> Result<(), (usize, Misfit)> {
        if !matches!(
            form.opcode,
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red
        ) {
            return Ok(());
        }
        let space = self.modifiers.iter().find_map(|modifier| modifier.as_space());
        for (index, operand) in operands.iter().enumerate() {
            let Operand::Address(Address { base: AddressBase::Variable(id), .. }) = operand else {
                continue;
            };
            let variable = &self.resolver.module.variables[id.index()];
            match space {
                Some(space) if space != variable.space => {
                    let message = format!(
                        "`{}` is in .{} memory, not in .{}",
                        variable.name,
                        variable.space.text(),
                        space.text()
                    );
                    return Err((index, misfit(message)));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
