//! Arithmetic on halves and on packed pairs of them (manual, 9.7.4).

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::Instruction;

use super::super::op::Code;
use super::arithmetic::{map, map_then, three_input, unsupported};
use super::builder::{Builder, Lowered};
use super::float::extremum_flags;

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

/// Lower arithmetic on a half type.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let relu = instruction.has(M::Relu);
    let nan = instruction.has(M::Nan);
    let ftz = instruction.has(M::Ftz);
    let is_f16 = matches!(ty, T::F16 | T::F16x2);
    if instruction.types().any(|other| other != ty) {
        return Err("halves from operands of other types are not computed yet".to_owned());
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
