//! Instructions that are one operation of their operands, whatever their type.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::Modifier as M;
use gpucast_ptx_frontend::module::Instruction;

use super::super::op::Code;
use super::builder::{Builder, Lowered, Width, operand};

/// Rounding in bits 0 and 1 (rn rz rm rp), ftz in bit 2: the `n` of rounded operations.
pub(super) fn rounding(instruction: &Instruction) -> u16 {
    let rounding = instruction.modifiers.iter().find_map(|modifier| match modifier {
        M::Rn | M::Rni => Some(0),
        M::Rz | M::Rzi => Some(1),
        M::Rm | M::Rmi => Some(2),
        M::Rp | M::Rpi => Some(3),
        _ => None,
    });
    rounding.unwrap_or(0) | if instruction.has(M::Ftz) { 4 } else { 0 }
}

/// Emits `code` with `N` operands of the given types and a result of type `result`.
pub(super) fn map<const N: usize>(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    code: Code,
    n: u16,
    result: T,
    operands: [T; N],
) -> Lowered<()> {
    convert_then(builder, instruction, (code, n), result, operands, None)
}

/// As [`map`], then `then` of the result.
pub(super) fn convert_then<const N: usize>(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    (code, n): (Code, u16),
    result: T,
    operands: [T; N],
    then: Option<Code>,
) -> Lowered<()> {
    let mut rows = [0; 3];
    for (index, ty) in operands.into_iter().enumerate() {
        rows[index] = builder.value(operand(instruction, index + 1)?, ty)?;
    }
    builder.define(operand(instruction, 0)?, result, |builder, row| {
        builder.emit(code, n, row, rows);
        if let Some(then) = then {
            builder.emit(then, 0, row, [row, 0, 0]);
        }
        Ok(())
    })
}

/// As [`map`], then `code` of the result: saturation and the like.
pub(super) fn map_then<const N: usize>(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    (code, n): (Code, u16),
    ty: T,
    then: Option<Code>,
) -> Lowered<()> {
    let mut rows = [0; 3];
    for (index, row) in rows.iter_mut().enumerate().take(N) {
        *row = builder.value(operand(instruction, index + 1)?, ty)?;
    }
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        let Some(then) = then else {
            builder.emit(code, n, row, rows);
            return Ok(());
        };
        let between = builder.temporary(Width::of(ty));
        builder.emit(code, n, between, rows);
        builder.emit(then, 0, row, [between, 0, 0]);
        Ok(())
    })
}

/// The refusal of an instruction that has no operation.
pub(super) fn unsupported(instruction: &Instruction) -> String {
    let modifiers: String = instruction.modifiers.iter().map(|m| format!(".{m}")).collect();
    format!("{}{modifiers} is not executed yet", instruction.opcode.text())
}

/// `min d, a, b, c` as two operations, of magnitudes with `.abs`.
pub(super) fn three_input(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    code: Code,
    ty: T,
) -> Lowered<()> {
    let [a, b, c] = [1, 2, 3].map(|index| operand(instruction, index));
    let mut rows = [builder.value(a?, ty)?, builder.value(b?, ty)?, builder.value(c?, ty)?];
    if instruction.has(M::Abs) {
        for row in &mut rows {
            let magnitude = builder.temporary(Width::W32);
            builder.emit_unguarded(Code::AbsF32, magnitude, [*row, 0, 0]);
            *row = magnitude;
        }
    }
    let [a, b, c] = rows;
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        let between = builder.temporary(Width::of(ty));
        builder.emit(code, 0, between, [a, b, 0]);
        builder.emit(code, 0, row, [between, c, 0]);
        Ok(())
    })
}

/// `selp`.
pub(super) fn select(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let a = builder.value(operand(instruction, 1)?, ty)?;
    let b = builder.value(operand(instruction, 2)?, ty)?;
    let (predicate, negated) = builder.predicate(operand(instruction, 3)?)?;
    let code = if Width::of(ty) == Width::W32 { Code::Select32 } else { Code::Select64 };
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        builder.emit(code, u16::from(negated), row, [a, b, predicate]);
        Ok(())
    })
}

/// `slct`.
pub(super) fn select_by_sign(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    ty: T,
) -> Lowered<()> {
    let chooser = instruction.types().nth(1).unwrap_or(T::S32);
    let code = match (chooser, Width::of(ty)) {
        (T::F32, Width::W32) => Code::SlctF3232,
        (T::F32, _) => Code::SlctF3264,
        (_, Width::W32) => Code::SlctS3232,
        _ => Code::SlctS3264,
    };
    let a = builder.value(operand(instruction, 1)?, ty)?;
    let b = builder.value(operand(instruction, 2)?, ty)?;
    let mut c = builder.value(operand(instruction, 3)?, chooser)?;
    if chooser == T::F32 && instruction.has(M::Ftz) {
        let flushed = builder.temporary(Width::W32);
        builder.emit_unguarded(Code::FtzF32, flushed, [c, 0, 0]);
        c = flushed;
    }
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        builder.emit(code, 0, row, [a, b, c]);
        Ok(())
    })
}
