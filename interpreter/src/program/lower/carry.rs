//! Extended-precision arithmetic: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc` (9.7.2).
//!
//! The carry flag is a predicate of the function. Subtraction adds the complement: `sub` is
//! `a + !b + 1` and `subc` is `a + !b + CC.CF`. `CC.CF` is the carry out of these sums, so it is
//! set where nothing is borrowed, and chains may mix additions and subtractions.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::Instruction;

use super::super::op::Code;
use super::builder::{Builder, Lowered, Width, operand};

/// Lowers an instruction that reads or writes the carry flag.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let width = Width::of(ty);
    let wide = width == Width::W64;
    let subtract = matches!(instruction.opcode, Opcode::Sub | Opcode::Subc);
    let reads_carry = matches!(instruction.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
    let multiply = matches!(instruction.opcode, Opcode::Mad | Opcode::Madc);
    let carry = builder.carry();

    let mut a = builder.value(operand(instruction, 1)?, ty)?;
    let mut b = builder.value(operand(instruction, 2)?, ty)?;
    if multiply {
        let product = builder.temporary(width);
        let code = match (instruction.has(M::Hi), ty) {
            (false, _) if wide => Code::MulLo64,
            (false, _) => Code::MulLo32,
            (true, T::U32) => Code::MulHiU32,
            (true, T::S32) => Code::MulHiS32,
            (true, T::U64) => Code::MulHiU64,
            (true, _) => Code::MulHiS64,
        };
        builder.emit(code, 0, product, [a, b, 0]);
        a = product;
        b = builder.value(operand(instruction, 3)?, ty)?;
    }
    if subtract {
        let complement = builder.temporary(width);
        let code = if wide { Code::Not64 } else { Code::Not32 };
        builder.emit(code, 0, complement, [b, 0, 0]);
        b = complement;
    }
    let carry_in = builder.temporary_predicate();
    if reads_carry {
        builder.emit(Code::PredicateLogic, 3, carry_in, [carry, carry, 0]);
    } else {
        builder.emit(Code::PredicateConstant, u16::from(subtract), carry_in, [0; 3]);
    }
    if instruction.has(M::Cc) {
        let code = if wide { Code::CarryOut64 } else { Code::CarryOut32 };
        builder.emit(code, 0, carry, [a, b, carry_in]);
    }
    let code = if wide { Code::AddCarry64 } else { Code::AddCarry32 };
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        builder.emit(code, 0, row, [a, b, carry_in]);
        Ok(())
    })
}
