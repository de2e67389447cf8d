//! The parameters and variables that addresses are made from, whatever the order of instructions.

use std::collections::BTreeSet;

use gpucast_ptx_frontend::dataflow::{Uses, registers_in};
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{
    Address, AddressBase, Function, Instruction, Module, Operand, RegisterId, VariableId,
};
use gpucast_ptx_frontend::types::{StateSpace, TypeKind};

/// The variables behind each register's value.
pub(super) struct Roots {
    of: Vec<BTreeSet<VariableId>>,
}

impl Roots {
    pub(super) fn of(module: &Module, function: &Function, instructions: &[Instruction]) -> Self {
        let mut roots = Self { of: vec![BTreeSet::new(); function.registers.len()] };
        let mut changed = true;
        while changed {
            changed = false;
            for instruction in instructions {
                let found = roots.of_value(module, instruction);
                let uses = Uses::of(instruction);
                for register in uses.written.iter().chain(&uses.partly_written) {
                    let own = &mut roots.of[register.index()];
                    let before = own.len();
                    own.extend(&found);
                    changed |= own.len() > before;
                }
            }
        }
        roots
    }

    /// The variables that the addresses of an instruction are made from.
    pub(super) fn of_addresses(&self, instruction: &Instruction) -> BTreeSet<VariableId> {
        let mut found = BTreeSet::new();
        for operand in &instruction.operands {
            match operand {
                Operand::Address(Address { base: AddressBase::Register(register), .. }) => {
                    found.extend(self.of_register(*register));
                }
                Operand::Address(Address { base: AddressBase::Variable(variable), .. }) => {
                    found.insert(*variable);
                }
                Operand::Indexed(_) => {
                    let registers = registers_in(operand).into_iter();
                    registers.for_each(|register| found.extend(self.of_register(register)));
                }
                _ => {}
            }
        }
        found
    }

    fn of_register(&self, register: RegisterId) -> &BTreeSet<VariableId> {
        &self.of[register.index()]
    }

    /// The variables behind the values that an instruction writes.
    fn of_value(&self, module: &Module, instruction: &Instruction) -> BTreeSet<VariableId> {
        let is_float = || instruction.types().any(|ty| ty.kind() == TypeKind::Float);
        match instruction.opcode {
            // A loaded parameter is itself; what memory holds is not known.
            Opcode::Ld | Opcode::Ldu => {
                let of_parameter = |variable: &VariableId| {
                    module.variables[variable.index()].space == StateSpace::Param
                };
                let mut found = BTreeSet::new();
                for operand in &instruction.operands {
                    if let Operand::Address(Address {
                        base: AddressBase::Variable(variable), ..
                    }) = operand
                        && of_parameter(variable)
                    {
                        found.insert(*variable);
                    }
                }
                found
            }
            // A product is no address, but its addend may be one.
            Opcode::Mul | Opcode::Mul24 | Opcode::Setp | Opcode::Set => BTreeSet::new(),
            Opcode::Mad | Opcode::Mad24 => self.of_operands(instruction.operands.last()),
            Opcode::Cvt if is_float() => BTreeSet::new(),
            _ => self.of_operands(instruction.operands.iter().skip(1)),
        }
    }

    fn of_operands<'i>(
        &self,
        operands: impl IntoIterator<Item = &'i Operand>,
    ) -> BTreeSet<VariableId> {
        let mut found = BTreeSet::new();
        for operand in operands {
            if let Operand::Variable(variable, _) = operand {
                found.insert(*variable);
            }
            for register in registers_in(operand) {
                found.extend(self.of_register(register));
            }
        }
        found
    }
}
