//! Single, double and mixed precision (manual, 9.7.3 and 9.7.5).

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::Instruction;

use super::super::op::{Code, extremum};
use super::builder::{Builder, Lowered, Width, operand};
use super::mapping::{map, map_then, rounding, select, select_by_sign, three_input, unsupported};

/// `ftz` picks between two codes.
fn flushed(ftz: bool, plain: Code, flush: Code) -> (Code, u16) {
    (if ftz { flush } else { plain }, 0)
}

/// Lowers `.f32` arithmetic, halves accumulated in `.f32` included.
pub(super) fn single(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let n = rounding(instruction);
    let ftz = instruction.has(M::Ftz);
    let approx = instruction.has(M::Approx);
    let nan = instruction.has(M::Nan);
    let then = instruction.has(M::Sat).then_some(Code::SatF32);
    if instruction.has(M::XorSign) {
        let code = match instruction.opcode {
            Opcode::Min => Code::MinXorsignF32,
            _ => Code::MaxXorsignF32,
        };
        let n = extremum_flags(instruction);
        return map(builder, instruction, code, n, T::F32, [T::F32, T::F32]);
    }
    // Round to nearest has codes of its own; other roundings share one that looks at `n`.
    let rounded = |plain, flush, other| match n & 3 {
        0 => flushed(ftz, plain, flush),
        _ => (other, n),
    };
    let (code, operands) = match instruction.opcode {
        Opcode::Add => (rounded(Code::AddF32, Code::AddFtzF32, Code::AddRoundedF32), 2),
        Opcode::Sub => (rounded(Code::SubF32, Code::SubFtzF32, Code::SubRoundedF32), 2),
        Opcode::Mul => (rounded(Code::MulF32, Code::MulFtzF32, Code::MulRoundedF32), 2),
        Opcode::Fma | Opcode::Mad => {
            (rounded(Code::FmaF32, Code::FmaFtzF32, Code::FmaRoundedF32), 3)
        }
        Opcode::Div if instruction.has(M::Full) => {
            (flushed(ftz, Code::DivFullApproxF32, Code::DivFullApproxFtzF32), 2)
        }
        Opcode::Div if approx => (flushed(ftz, Code::DivApproxF32, Code::DivApproxFtzF32), 2),
        Opcode::Div if n == 0 => ((Code::DivF32, 0), 2),
        Opcode::Div => ((Code::DivRoundedF32, n), 2),
        Opcode::Rcp if approx => (flushed(ftz, Code::RcpApproxF32, Code::RcpApproxFtzF32), 1),
        Opcode::Rcp if n == 0 => ((Code::RcpF32, 0), 1),
        Opcode::Rcp => ((Code::RcpRoundedF32, n), 1),
        Opcode::Sqrt if approx => (flushed(ftz, Code::SqrtApproxF32, Code::SqrtApproxFtzF32), 1),
        Opcode::Sqrt if n == 0 => ((Code::SqrtF32, 0), 1),
        Opcode::Sqrt => ((Code::SqrtRoundedF32, n), 1),
        Opcode::Rsqrt => (flushed(ftz, Code::RsqrtApproxF32, Code::RsqrtApproxFtzF32), 1),
        Opcode::Sin => (flushed(ftz, Code::SinApproxF32, Code::SinApproxFtzF32), 1),
        Opcode::Cos => (flushed(ftz, Code::CosApproxF32, Code::CosApproxFtzF32), 1),
        Opcode::Lg2 => (flushed(ftz, Code::Lg2ApproxF32, Code::Lg2ApproxFtzF32), 1),
        Opcode::Ex2 => (flushed(ftz, Code::Ex2ApproxF32, Code::Ex2ApproxFtzF32), 1),
        Opcode::Tanh => ((Code::TanhApproxF32, 0), 1),
        Opcode::Neg => (flushed(ftz, Code::NegF32, Code::NegFtzF32), 1),
        Opcode::Abs => (flushed(ftz, Code::AbsF32, Code::AbsFtzF32), 1),
        Opcode::Copysign => {
            // `copysign d, a, b` takes the sign of a and the magnitude of b.
            ((Code::CopysignF32, 0), 2)
        }
        Opcode::Min if nan => (flushed(ftz, Code::MinNanF32, Code::MinNanFtzF32), 2),
        Opcode::Min => (flushed(ftz, Code::MinF32, Code::MinFtzF32), 2),
        Opcode::Max if nan => (flushed(ftz, Code::MaxNanF32, Code::MaxNanFtzF32), 2),
        Opcode::Max => (flushed(ftz, Code::MaxF32, Code::MaxFtzF32), 2),
        Opcode::Selp => return select(builder, instruction, T::F32),
        Opcode::Slct => return select_by_sign(builder, instruction, T::F32),
        _ => return Err(unsupported(instruction)),
    };
    if let Some(halves @ (T::F16 | T::Bf16)) = instruction.types().nth(1) {
        return mixed(builder, instruction, code, halves, then);
    }
    match operands {
        1 => map_then::<1>(builder, instruction, code, T::F32, then),
        2 if instruction.operands.len() > 3 => three_input(builder, instruction, code.0, T::F32),
        2 => map_then::<2>(builder, instruction, code, T::F32, then),
        _ => map_then::<3>(builder, instruction, code, T::F32, then),
    }
}

/// Lowers `.f64` arithmetic.
pub(super) fn double(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let n = rounding(instruction);
    let rounded = |plain, other| if n & 3 == 0 { (plain, 0) } else { (other, n & 3) };
    let then = instruction.has(M::Sat).then_some(Code::SatF64);
    let approx = instruction.has(M::Approx);
    let (code, operands) = match instruction.opcode {
        Opcode::Add => (rounded(Code::AddF64, Code::AddRoundedF64), 2),
        Opcode::Sub => (rounded(Code::SubF64, Code::SubRoundedF64), 2),
        Opcode::Mul => (rounded(Code::MulF64, Code::MulRoundedF64), 2),
        Opcode::Fma | Opcode::Mad => (rounded(Code::FmaF64, Code::FmaRoundedF64), 3),
        Opcode::Div => (rounded(Code::DivF64, Code::DivRoundedF64), 2),
        Opcode::Rcp if approx => ((Code::RcpApproxFtzF64, 0), 1),
        Opcode::Rcp => (rounded(Code::RcpF64, Code::RcpRoundedF64), 1),
        Opcode::Sqrt => (rounded(Code::SqrtF64, Code::SqrtRoundedF64), 1),
        Opcode::Rsqrt if instruction.has(M::Ftz) => ((Code::RsqrtApproxFtzF64, 0), 1),
        Opcode::Rsqrt => ((Code::RsqrtApproxF64, 0), 1),
        Opcode::Neg => ((Code::NegF64, 0), 1),
        Opcode::Abs => ((Code::AbsF64, 0), 1),
        Opcode::Copysign => ((Code::CopysignF64, 0), 2),
        Opcode::Min => ((Code::MinF64, 0), 2),
        Opcode::Max => ((Code::MaxF64, 0), 2),
        Opcode::Selp => return select(builder, instruction, T::F64),
        Opcode::Slct => return select_by_sign(builder, instruction, T::F64),
        _ => return Err(unsupported(instruction)),
    };
    match operands {
        1 => map_then::<1>(builder, instruction, code, T::F64, then),
        2 => map_then::<2>(builder, instruction, code, T::F64, then),
        _ => map_then::<3>(builder, instruction, code, T::F64, then),
    }
}

/// `.f32x2`: the operation on the low and on the high words.
pub(super) fn packed_singles(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let n = rounding(instruction);
    let pick = |plain, flush, other| match n {
        0 => plain,
        4 => flush,
        _ => other,
    };
    let (code, operands) = match instruction.opcode {
        Opcode::Add => (pick(Code::AddF32, Code::AddFtzF32, Code::AddRoundedF32), 2),
        Opcode::Sub => (pick(Code::SubF32, Code::SubFtzF32, Code::SubRoundedF32), 2),
        Opcode::Mul => (pick(Code::MulF32, Code::MulFtzF32, Code::MulRoundedF32), 2),
        Opcode::Fma => (pick(Code::FmaF32, Code::FmaFtzF32, Code::FmaRoundedF32), 3),
        Opcode::Neg => (pick(Code::NegF32, Code::NegFtzF32, Code::NegF32), 1),
        _ => return Err(unsupported(instruction)),
    };
    let mixed = instruction.types().nth(1);
    let mut halves = [[0; 3]; 2];
    for index in 0..operands {
        if let (0, Some(ty)) = (index, mixed) {
            // The first operand is a pair of halves, which are exact in single precision.
            let pair = builder.value(operand(instruction, 1)?, T::B32)?;
            let widen = match ty {
                T::F16x2 => Code::CvtF16ToF32,
                T::Bf16x2 => Code::CvtBf16ToF32,
                _ => return Err(unsupported(instruction)),
            };
            for (half, part) in halves.iter_mut().zip([Code::Low16, Code::High16]) {
                let narrow = builder.temporary(Width::W32);
                builder.emit_unguarded(part, narrow, [pair, 0, 0]);
                half[0] = builder.temporary(Width::W32);
                builder.emit_unguarded(widen, half[0], [narrow, 0, 0]);
            }
            continue;
        }
        let pair = builder.value(operand(instruction, index + 1)?, T::B64)?;
        for (half, word) in halves.iter_mut().zip([Code::Low32, Code::High32]) {
            half[index] = builder.temporary(Width::W32);
            builder.emit_unguarded(word, half[index], [pair, 0, 0]);
        }
    }
    builder.define(operand(instruction, 0)?, T::B64, |builder, row| {
        let [low, high] = halves.map(|half| {
            let result = builder.temporary(Width::W32);
            builder.emit(code, n, result, half);
            result
        });
        builder.emit(Code::Pack32, 0, row, [low, high, 0]);
        Ok(())
    })
}

/// `.ftz` and `.NaN` of a minimum or maximum.
pub(super) fn extremum_flags(instruction: &Instruction) -> u16 {
    let flag = |modifier, flag| if instruction.has(modifier) { flag } else { 0 };
    flag(M::Ftz, extremum::FTZ) | flag(M::Nan, extremum::NAN)
}

/// `add`, `sub` and `fma` that take halves and accumulate in single precision (9.7.5). Halves are
/// exact in single precision.
fn mixed(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    (code, n): (Code, u16),
    halves: T,
    then: Option<Code>,
) -> Lowered<()> {
    let mut rows = [0; 3];
    let last = instruction.operands.len().saturating_sub(2).min(2);
    for (index, row) in rows.iter_mut().enumerate().take(last + 1) {
        let source = operand(instruction, index + 1)?;
        if index == last {
            *row = builder.value(source, T::F32)?;
            break;
        }
        let half = builder.value(source, halves)?;
        *row = builder.temporary(Width::W32);
        let widen = if halves == T::F16 { Code::CvtF16ToF32 } else { Code::CvtBf16ToF32 };
        builder.emit_unguarded(widen, *row, [half, 0, 0]);
    }
    builder.define(operand(instruction, 0)?, T::F32, |builder, row| {
        builder.emit(code, n, row, rows);
        if let Some(then) = then {
            builder.emit(then, 0, row, [row, 0, 0]);
        }
        Ok(())
    })
}
