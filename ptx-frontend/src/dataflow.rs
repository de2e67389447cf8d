//! The registers that an instruction reads and writes.

use crate::isa::Access;
use crate::module::{Address, AddressBase, Instruction, Operand, RegisterId};

/// The registers that an instruction names, by their access.
///
/// Operands that were left out shift the shapes of those behind them. Results stand first, and none
/// of several results may be left out, so that places tell them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Read, by its guard and its addresses too.
    pub read: Vec<RegisterId>,
    /// Written as a whole, where the guard is true.
    pub written: Vec<RegisterId>,
    /// Vector registers of which it writes an element.
    pub partly_written: Vec<RegisterId>,
}

impl Uses {
    /// Those of an instruction.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Self {
        let mut uses = Self::default();
        uses.read.extend(instruction.guard.map(|guard| guard.register));
        let shapes = &instruction.form.form().operands;
        let results = results(instruction);
        for (index, operand) in instruction.operands.iter().enumerate() {
            let written = index < results;
            let accumulates =
                shapes.get(index).is_some_and(|shape| shape.access == Access::ReadWrite);
            if !written || matches!(operand, Operand::Address(_) | Operand::Indexed(_)) {
                collect(operand, &mut uses.read);
                continue;
            }
            collect(operand, &mut uses.written);
            elements(operand, &mut uses.partly_written);
            if accumulates {
                collect(operand, &mut uses.read);
            }
        }
        let Self { written, partly_written, .. } = &mut uses;
        written.retain(|register| !partly_written.contains(register));
        uses
    }
}

/// The number of operands that an instruction writes. They stand before all others.
#[must_use]
pub fn results(instruction: &Instruction) -> usize {
    let shapes = instruction.form.form().operands.iter();
    shapes.take_while(|shape| shape.access != Access::Read).count()
}

/// The registers that an operand consists of or contains.
#[must_use]
pub fn registers_in(operand: &Operand) -> Vec<RegisterId> {
    let mut registers = Vec::new();
    collect(operand, &mut registers);
    registers
}

/// The vector registers of which an operand names elements.
fn elements(operand: &Operand, registers: &mut Vec<RegisterId>) {
    match operand {
        Operand::Element(register, _) => registers.push(*register),
        Operand::Vector(operands) => operands.iter().for_each(|o| elements(o, registers)),
        Operand::Pair(pair) => pair.iter().for_each(|o| elements(o, registers)),
        _ => {}
    }
}

fn collect(operand: &Operand, registers: &mut Vec<RegisterId>) {
    match operand {
        Operand::Register(register)
        | Operand::Negated(register)
        | Operand::Element(register, _)
        | Operand::Part { register, .. }
        | Operand::Lanes { register, .. }
        | Operand::Address(Address { base: AddressBase::Register(register), .. }) => {
            registers.push(*register);
        }
        Operand::Vector(operands) | Operand::List(operands) | Operand::Indexed(operands) => {
            operands.iter().for_each(|operand| collect(operand, registers));
        }
        Operand::Negative(operand) => collect(operand, registers),
        Operand::Pair(pair) => pair.iter().for_each(|operand| collect(operand, registers)),
        Operand::Immediate(_)
        | Operand::Special(_)
        | Operand::Variable(..)
        | Operand::Function(_)
        | Operand::Label(_)
        | Operand::Address(_)
        | Operand::Sink
        | Operand::Targets(_)
        | Operand::Prototype(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers that the last instruction but `ret` reads, writes as a whole and in part, by
    /// their names.
    fn uses(instruction: &str) -> [String; 3] {
        let text = format!(
            ".version 9.4\n.target sm_107a\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred p;\n\
             .reg .b32 a, b, c, d, e;\n.reg .b64 x;\n.reg .v2 .f32 v;\n{instruction}\nret;\n}}\n"
        );
        let Ok(module) = crate::load(&text) else { panic!("{text}") };
        let function = &module.functions[0];
        let Some(body) = &function.body else { panic!("a body") };
        let uses = Uses::of(&body.instructions[0]);
        [uses.read, uses.written, uses.partly_written].map(|registers| {
            let names =
                registers.iter().map(|register| function.registers[register.index()].name.as_str());
            names.collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn guards_and_addresses_are_read_and_destinations_written() {
        assert_eq!(uses("add.s32 a, b, c;"), ["b c", "a", ""]);
        assert_eq!(uses("@p ld.global.b32 a, [x+4];"), ["p x", "a", ""]);
        assert_eq!(uses("st.global.b32 [x], a;"), ["x a", "", ""]);
        assert_eq!(uses("ld.global.v2.b32 {a, b}, [x];"), ["x", "a b", ""]);
        assert_eq!(uses("mov.f32 v.x, 0f3F800000;"), ["", "", "v"]);
        let text = "tcgen05.ld.red.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 {a}, {b, c}, d, [e];";
        assert_eq!(uses(text), ["e", "a b c d", ""]);
        assert_eq!(uses("spcompress.b16.b4.sp::2:4.x1 {a}, {b}, {c, d}, e;"), ["c d e", "a b", ""]);
    }
}
