//! Arithmetic on halves and on packed pairs of them (manual, 9.7.4; from other types, 9.7.5).

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::Instruction;

use super::super::op::Code;
use super::builder::{Builder, Lowered, Width, operand};
use super::float::extremum_flags;
use super::mapping::{map, map_then, rounding, three_input, unsupported};

/// Picks the code of a half type: f16, f16x2, bf16, bf16x2.
macro_rules! half_code {
    ($ty:expr; $f16:ident $f16x2:ident $bf16:ident $bf16x2:ident) => {
        match $ty {
            T::F16 => Code::$f16,
            T::F16x2 => Code::$f16x2,
            T::Bf16 => Code::$bf16,
            _ => Code::$bf16x2,
        }
    };
}

/// Lowers arithmetic on a half type.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let relu = instruction.has(M::Relu);
    let nan = instruction.has(M::Nan);
    let ftz = instruction.has(M::Ftz);
    let is_f16 = matches!(ty, T::F16 | T::F16x2);
    match instruction.types().find(|&other| other != ty) {
        Some(T::F32x2) => return from_singles(builder, instruction, ty),
        Some(other) => return other_half(builder, instruction, ty, other),
        None => {}
    }
    if instruction.has(M::XorSign) {
        let code = match instruction.opcode {
            Opcode::Min => {
                half_code!(ty; MinXorsignF16 MinXorsignF16x2 MinXorsignBf16 MinXorsignBf16x2)
            }
            _ => half_code!(ty; MaxXorsignF16 MaxXorsignF16x2 MaxXorsignBf16 MaxXorsignBf16x2),
        };
        return map(builder, instruction, code, extremum_flags(instruction), ty, [ty, ty]);
    }
    let (code, operands) = match instruction.opcode {
        Opcode::Add if ftz && is_f16 => {
            (half_code!(ty; AddFtzF16 AddFtzF16x2 AddBf16 AddBf16x2), 2)
        }
        Opcode::Add => (half_code!(ty; AddF16 AddF16x2 AddBf16 AddBf16x2), 2),
        Opcode::Sub if ftz && is_f16 => {
            (half_code!(ty; SubFtzF16 SubFtzF16x2 SubBf16 SubBf16x2), 2)
        }
        Opcode::Sub => (half_code!(ty; SubF16 SubF16x2 SubBf16 SubBf16x2), 2),
        Opcode::Mul if ftz && is_f16 => {
            (half_code!(ty; MulFtzF16 MulFtzF16x2 MulBf16 MulBf16x2), 2)
        }
        Opcode::Mul => (half_code!(ty; MulF16 MulF16x2 MulBf16 MulBf16x2), 2),
        Opcode::Fma if relu && instruction.has(M::Oob) => {
            (half_code!(ty; FmaOobReluF16 FmaOobReluF16x2 FmaOobReluBf16 FmaOobReluBf16x2), 3)
        }
        Opcode::Fma if instruction.has(M::Oob) => {
            (half_code!(ty; FmaOobF16 FmaOobF16x2 FmaOobBf16 FmaOobBf16x2), 3)
        }
        Opcode::Fma if relu && ftz && is_f16 => {
            (half_code!(ty; FmaReluFtzF16 FmaReluFtzF16x2 FmaReluBf16 FmaReluBf16x2), 3)
        }
        Opcode::Fma if relu => {
            (half_code!(ty; FmaReluF16 FmaReluF16x2 FmaReluBf16 FmaReluBf16x2), 3)
        }
        Opcode::Fma if ftz && is_f16 => {
            (half_code!(ty; FmaFtzF16 FmaFtzF16x2 FmaBf16 FmaBf16x2), 3)
        }
        Opcode::Fma => (half_code!(ty; FmaF16 FmaF16x2 FmaBf16 FmaBf16x2), 3),
        Opcode::Neg if ftz && is_f16 => {
            (half_code!(ty; NegFtzF16 NegFtzF16x2 NegBf16 NegBf16x2), 1)
        }
        Opcode::Neg => (half_code!(ty; NegF16 NegF16x2 NegBf16 NegBf16x2), 1),
        Opcode::Abs if ftz && is_f16 => {
            (half_code!(ty; AbsFtzF16 AbsFtzF16x2 AbsBf16 AbsBf16x2), 1)
        }
        Opcode::Abs => (half_code!(ty; AbsF16 AbsF16x2 AbsBf16 AbsBf16x2), 1),
        Opcode::Min if ftz && nan && is_f16 => {
            (half_code!(ty; MinNanFtzF16 MinNanFtzF16x2 MinNanBf16 MinNanBf16x2), 2)
        }
        Opcode::Min if ftz && is_f16 => {
            (half_code!(ty; MinFtzF16 MinFtzF16x2 MinBf16 MinBf16x2), 2)
        }
        Opcode::Min if nan => (half_code!(ty; MinNanF16 MinNanF16x2 MinNanBf16 MinNanBf16x2), 2),
        Opcode::Min => (half_code!(ty; MinF16 MinF16x2 MinBf16 MinBf16x2), 2),
        Opcode::Max if ftz && nan && is_f16 => {
            (half_code!(ty; MaxNanFtzF16 MaxNanFtzF16x2 MaxNanBf16 MaxNanBf16x2), 2)
        }
        Opcode::Max if ftz && is_f16 => {
            (half_code!(ty; MaxFtzF16 MaxFtzF16x2 MaxBf16 MaxBf16x2), 2)
        }
        Opcode::Max if nan => (half_code!(ty; MaxNanF16 MaxNanF16x2 MaxNanBf16 MaxNanBf16x2), 2),
        Opcode::Max => (half_code!(ty; MaxF16 MaxF16x2 MaxBf16 MaxBf16x2), 2),
        // The bf16 forms exist with `.ftz` only, the f16 forms without.
        Opcode::Ex2 => {
            (half_code!(ty; Ex2ApproxF16 Ex2ApproxF16x2 Ex2ApproxFtzBf16 Ex2ApproxFtzBf16x2), 1)
        }
        Opcode::Tanh => {
            (half_code!(ty; TanhApproxF16 TanhApproxF16x2 TanhApproxBf16 TanhApproxBf16x2), 1)
        }
        _ => return Err(unsupported(instruction)),
    };
    let then = match (instruction.has(M::Sat), ty) {
        (false, _) => None,
        (true, T::F16) => Some(Code::SatF16),
        (true, T::F16x2) => Some(Code::SatF16x2),
        (true, _) => return Err(unsupported(instruction)),
    };
    match operands {
        1 => map_then::<1>(builder, instruction, (code, 0), ty, then),
        2 if instruction.operands.len() > 3 => three_input(builder, instruction, code, ty),
        2 => map_then::<2>(builder, instruction, (code, 0), ty, then),
        _ => map_then::<3>(builder, instruction, (code, 0), ty, then),
    }
}

/// `add.rz`, `sub.rz` and `mul.rz` of `.f32x2`: each result is cut off to a half. Cutting off twice
/// is the same as once. `.ftz`, which `.f16x2` must have, flushes operands and result.
fn from_singles(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let code = match instruction.opcode {
        Opcode::Add => Code::AddRoundedF32,
        Opcode::Sub => Code::SubRoundedF32,
        Opcode::Mul => Code::MulRoundedF32,
        _ => return Err(unsupported(instruction)),
    };
    let narrow = if ty == T::F16x2 { Code::CvtF32ToF16 } else { Code::CvtF32ToBf16 };
    let n = rounding(instruction);
    let mut words = [[0; 3]; 2];
    for index in 0..2 {
        let pair = builder.value(operand(instruction, index + 1)?, T::B64)?;
        for (word, part) in words.iter_mut().zip([Code::Low32, Code::High32]) {
            word[index] = builder.temporary(Width::W32);
            builder.emit_unguarded(part, word[index], [pair, 0, 0]);
        }
    }
    builder.define(operand(instruction, 0)?, T::B32, |builder, row| {
        let [low, high] = words.map(|word| {
            let (single, half) = (builder.temporary(Width::W32), builder.temporary(Width::W32));
            builder.emit(code, n, single, word);
            builder.emit(narrow, n & 3, half, [single, 0, 0]);
            half
        });
        builder.emit(Code::Pack16, 0, row, [low, high, 0]);
        if instruction.has(M::Ftz) {
            builder.emit(Code::FtzF16x2, 0, row, [row, 0, 0]);
        }
        Ok(())
    })
}

/// `mul.f16x2.f16x2.bf16x2` and `mul.bf16x2.bf16x2.f16x2`: the second operand becomes the result's
/// type first, as the manual's pseudo-code says.
fn other_half(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    ty: T,
    other: T,
) -> Lowered<()> {
    let (convert, multiply) = match (instruction.opcode, ty, other) {
        (Opcode::Mul, T::F16x2, T::Bf16x2) => (Code::CvtBf16ToF16, Code::MulF16x2),
        (Opcode::Mul, T::Bf16x2, T::F16x2) => (Code::CvtF16ToBf16, Code::MulBf16x2),
        _ => return Err(unsupported(instruction)),
    };
    let a = builder.value(operand(instruction, 1)?, T::B32)?;
    let c = builder.value(operand(instruction, 2)?, T::B32)?;
    let [low, high] = [Code::Low16, Code::High16].map(|part| {
        let (half, converted) = (builder.temporary(Width::W32), builder.temporary(Width::W32));
        builder.emit_unguarded(part, half, [c, 0, 0]);
        builder.emit_unguarded(convert, converted, [half, 0, 0]);
        converted
    });
    let converted = builder.temporary(Width::W32);
    builder.emit_unguarded(Code::Pack16, converted, [low, high, 0]);
    builder.define(operand(instruction, 0)?, T::B32, |builder, row| {
        builder.emit(multiply, 0, row, [a, converted, 0]);
        Ok(())
    })
}
