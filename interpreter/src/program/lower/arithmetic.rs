//! Arithmetic, logic and selection: everything that maps registers to a register.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::op::Code;
use super::builder::{Builder, Lowered, Width, operand};

/// Picks the code of an integer type: u16 s16 u32 s32 u64 s64; untyped bits count as unsigned.
macro_rules! integer_code {
    ($ty:expr; $u16:ident $s16:ident $u32:ident $s32:ident $u64:ident $s64:ident) => {
        match $ty {
            T::U16 | T::B16 => Some(Code::$u16),
            T::S16 => Some(Code::$s16),
            T::U32 | T::B32 => Some(Code::$u32),
            T::S32 => Some(Code::$s32),
            T::U64 | T::B64 => Some(Code::$u64),
            T::S64 => Some(Code::$s64),
            _ => None,
        }
    };
}

/// Picks the code of a width: 16, 32 or 64 bits.
macro_rules! width_code {
    ($ty:expr; $w16:ident $w32:ident $w64:ident) => {
        match $ty.bytes() {
            2 => Some(Code::$w16),
            4 => Some(Code::$w32),
            8 => Some(Code::$w64),
            _ => None,
        }
    };
}

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

/// Emit `code` with `N` operands of the given types and a result of type `result`.
pub(super) fn map<const N: usize>(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    code: Code,
    n: u16,
    result: T,
    operands: [T; N],
) -> Lowered<()> {
    let mut rows = [0; 3];
    for (index, ty) in operands.into_iter().enumerate() {
        rows[index] = builder.value(operand(instruction, index + 1)?, ty)?;
    }
    builder.define(operand(instruction, 0)?, result, |builder, row| {
        builder.emit(code, n, row, rows);
        Ok(())
    })
}

/// As [`map`], then `code` of the result: saturation and the like.
fn map_then<const N: usize>(
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

fn unsupported(instruction: &Instruction) -> String {
    let modifiers: String = instruction.modifiers.iter().map(|m| format!(".{m}")).collect();
    format!("{}{modifiers} is not executed yet", instruction.opcode.text())
}

/// Lower an arithmetic, logic, shift or selection instruction.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let Some(ty) = instruction.types().next() else { return Err(unsupported(instruction)) };
    match ty {
        T::F32 => single(builder, instruction),
        T::F64 => double(builder, instruction),
        T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2 => half(builder, instruction, ty),
        T::Pred => predicate_logic(builder, instruction),
        T::F32x2 => packed_singles(builder, instruction),
        T::U8x4 | T::S8x4 => Err(unsupported(instruction)),
        _ => integer(builder, instruction, ty),
    }
}

fn integer(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let high = instruction.has(M::Hi);
    let wide = instruction.has(M::Wide);
    let sat = instruction.has(M::Sat);
    let wide_type = || match ty {
        T::U16 => T::U32,
        T::S16 => T::S32,
        T::U32 => T::U64,
        _ => T::S64,
    };
    let binary = |code: Option<Code>| code.map(|code| (code, 2));
    let ternary = |code: Option<Code>| code.map(|code| (code, 3));
    let unary = |code: Option<Code>| code.map(|code| (code, 1));
    let code = match instruction.opcode {
        Opcode::Add | Opcode::Sub if instruction.has(M::Cc) => {
            return super::carry::lower(builder, instruction, ty);
        }
        Opcode::Addc | Opcode::Subc | Opcode::Madc => {
            return super::carry::lower(builder, instruction, ty);
        }
        Opcode::Mad if instruction.has(M::Cc) => {
            return super::carry::lower(builder, instruction, ty);
        }
        Opcode::Add if matches!(ty, T::U16x2 | T::S16x2) => binary(Some(Code::Add16x2)),
        Opcode::Sub | Opcode::Neg if matches!(ty, T::U16x2 | T::S16x2) => None,
        Opcode::Add if sat => binary(Some(Code::AddSatS32)),
        Opcode::Add => binary(width_code!(ty; Add16 Add32 Add64)),
        Opcode::Sub if sat => binary(Some(Code::SubSatS32)),
        Opcode::Sub => binary(width_code!(ty; Sub16 Sub32 Sub64)),
        Opcode::Mul if wide => {
            let code = match ty {
                T::U16 => Code::MulWideU16,
                T::S16 => Code::MulWideS16,
                T::U32 => Code::MulWideU32,
                _ => Code::MulWideS32,
            };
            return map(builder, instruction, code, 0, wide_type(), [ty, ty]);
        }
        Opcode::Mul if high => {
            binary(integer_code!(ty; MulHiU16 MulHiS16 MulHiU32 MulHiS32 MulHiU64 MulHiS64))
        }
        Opcode::Mul => binary(width_code!(ty; MulLo16 MulLo32 MulLo64)),
        Opcode::Mad if wide => {
            let code = match ty {
                T::U16 => Code::MadWideU16,
                T::S16 => Code::MadWideS16,
                T::U32 => Code::MadWideU32,
                _ => Code::MadWideS32,
            };
            return map(builder, instruction, code, 0, wide_type(), [ty, ty, wide_type()]);
        }
        Opcode::Mad if high && sat => ternary(Some(Code::MadHiSatS32)),
        Opcode::Mad if high => {
            ternary(integer_code!(ty; MadHiU16 MadHiS16 MadHiU32 MadHiS32 MadHiU64 MadHiS64))
        }
        Opcode::Mad => ternary(width_code!(ty; MadLo16 MadLo32 MadLo64)),
        Opcode::Mul24 => binary(Some(match (ty, high) {
            (T::U32, false) => Code::Mul24LoU32,
            (T::U32, true) => Code::Mul24HiU32,
            (_, false) => Code::Mul24LoS32,
            (_, true) => Code::Mul24HiS32,
        })),
        Opcode::Mad24 => ternary(Some(match (ty, high) {
            (T::S32, true) if sat => Code::Mad24HiSatS32,
            (T::U32, false) => Code::Mad24LoU32,
            (T::U32, true) => Code::Mad24HiU32,
            (_, false) => Code::Mad24LoS32,
            (_, true) => Code::Mad24HiS32,
        })),
        Opcode::Sad => ternary(integer_code!(ty; SadU16 SadS16 SadU32 SadS32 SadU64 SadS64)),
        Opcode::Div => binary(integer_code!(ty; DivU16 DivS16 DivU32 DivS32 DivU64 DivS64)),
        Opcode::Rem => binary(integer_code!(ty; RemU16 RemS16 RemU32 RemS32 RemU64 RemS64)),
        Opcode::Min | Opcode::Max if matches!(ty, T::U16x2 | T::S16x2) => {
            let max = instruction.opcode == Opcode::Max;
            binary(Some(match (ty, max, instruction.has(M::Relu)) {
                (T::U16x2, false, _) => Code::MinU16x2,
                (T::U16x2, true, _) => Code::MaxU16x2,
                (_, false, false) => Code::MinS16x2,
                (_, true, false) => Code::MaxS16x2,
                (_, false, true) => Code::MinReluS16x2,
                (_, true, true) => Code::MaxReluS16x2,
            }))
        }
        Opcode::Min if instruction.has(M::Relu) => binary(Some(Code::MinReluS32)),
        Opcode::Max if instruction.has(M::Relu) => binary(Some(Code::MaxReluS32)),
        Opcode::Min => binary(integer_code!(ty; MinU16 MinS16 MinU32 MinS32 MinU64 MinS64)),
        Opcode::Max => binary(integer_code!(ty; MaxU16 MaxS16 MaxU32 MaxS32 MaxU64 MaxS64)),
        Opcode::Abs => unary(width_code!(ty; AbsS16 AbsS32 AbsS64)),
        Opcode::Neg => unary(width_code!(ty; NegS16 NegS32 NegS64)),
        Opcode::And => binary(width_code!(ty; And16 And32 And64)),
        Opcode::Or => binary(width_code!(ty; Or16 Or32 Or64)),
        Opcode::Xor => binary(width_code!(ty; Xor16 Xor32 Xor64)),
        Opcode::Not => unary(width_code!(ty; Not16 Not32 Not64)),
        Opcode::Cnot => unary(width_code!(ty; Cnot16 Cnot32 Cnot64)),
        Opcode::Shl => {
            let code =
                width_code!(ty; Shl16 Shl32 Shl64).ok_or_else(|| unsupported(instruction))?;
            return map(builder, instruction, code, 0, ty, [ty, T::U32]);
        }
        Opcode::Shr => {
            let code = integer_code!(ty; ShrU16 ShrS16 ShrU32 ShrS32 ShrU64 ShrS64);
            let code = code.ok_or_else(|| unsupported(instruction))?;
            return map(builder, instruction, code, 0, ty, [ty, T::U32]);
        }
        Opcode::Shf => ternary(Some(match (instruction.has(M::L), instruction.has(M::Wrap)) {
            (true, false) => Code::ShfLClamp,
            (true, true) => Code::ShfLWrap,
            (false, false) => Code::ShfRClamp,
            (false, true) => Code::ShfRWrap,
        })),
        Opcode::Lop3 => return lop3(builder, instruction),
        Opcode::Prmt => ternary(Some(prmt_code(instruction))),
        Opcode::Popc | Opcode::Clz => {
            let code = match (instruction.opcode, Width::of(ty)) {
                (Opcode::Popc, Width::W32) => Code::Popc32,
                (Opcode::Popc, _) => Code::Popc64,
                (_, Width::W32) => Code::Clz32,
                _ => Code::Clz64,
            };
            return map(builder, instruction, code, 0, T::U32, [ty]);
        }
        Opcode::Brev => unary(Some(match Width::of(ty) {
            Width::W32 => Code::Brev32,
            _ => Code::Brev64,
        })),
        Opcode::Bfind => {
            let code = match (ty, instruction.has(M::Shiftamt)) {
                (T::U32, false) => Code::BfindU32,
                (T::S32, false) => Code::BfindS32,
                (T::U64, false) => Code::BfindU64,
                (_, false) => Code::BfindS64,
                (T::U32, true) => Code::BfindShiftU32,
                (T::S32, true) => Code::BfindShiftS32,
                (T::U64, true) => Code::BfindShiftU64,
                (_, true) => Code::BfindShiftS64,
            };
            return map(builder, instruction, code, 0, T::U32, [ty]);
        }
        Opcode::Bfe => {
            let code = match ty {
                T::U32 => Code::BfeU32,
                T::S32 => Code::BfeS32,
                T::U64 => Code::BfeU64,
                _ => Code::BfeS64,
            };
            return map(builder, instruction, code, 0, ty, [ty, T::U32, T::U32]);
        }
        Opcode::Bfi => return bfi(builder, instruction, ty),
        Opcode::Fns => {
            return map(builder, instruction, Code::Fns, 0, ty, [ty, ty, T::S32]);
        }
        Opcode::Bmsk => binary(Some(match instruction.has(M::Wrap) {
            false => Code::BmskClamp,
            true => Code::BmskWrap,
        })),
        Opcode::Szext => binary(Some(match (ty, instruction.has(M::Wrap)) {
            (T::U32, false) => Code::SzextClampU32,
            (T::U32, true) => Code::SzextWrapU32,
            (_, false) => Code::SzextClampS32,
            (_, true) => Code::SzextWrapS32,
        })),
        Opcode::Dp4a | Opcode::Dp2a => ternary(Some(dot_product_code(instruction))),
        Opcode::Selp => return select(builder, instruction, ty),
        Opcode::Slct => return select_by_sign(builder, instruction, ty),
        _ => None,
    };
    match code {
        Some((code, 1)) => map(builder, instruction, code, 0, ty, [ty]),
        Some((code, 2)) => {
            if instruction.operands.len() > 3 {
                // The three-input forms of min and max.
                return three_input(builder, instruction, code, ty);
            }
            map(builder, instruction, code, 0, ty, [ty, ty])
        }
        Some((code, _)) => map(builder, instruction, code, 0, ty, [ty, ty, ty]),
        None => Err(unsupported(instruction)),
    }
}

/// `min d, a, b, c` as two operations.
fn three_input(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    code: Code,
    ty: T,
) -> Lowered<()> {
    let [a, b, c] = [1, 2, 3].map(|index| operand(instruction, index));
    let (a, b, c) = (builder.value(a?, ty)?, builder.value(b?, ty)?, builder.value(c?, ty)?);
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        let between = builder.temporary(Width::of(ty));
        builder.emit(code, 0, between, [a, b, 0]);
        builder.emit(code, 0, row, [between, c, 0]);
        Ok(())
    })
}

fn lop3(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    if instruction.operands.len() != 5 || matches!(instruction.operands[0], Operand::Pair(_)) {
        return Err(unsupported(instruction));
    }
    let Operand::Immediate(table) = instruction.operands[4] else {
        return Err(unsupported(instruction));
    };
    let table = super::builder::immediate_bits(table, T::U32) as u16 & 0xff;
    map(builder, instruction, Code::Lop3, table, T::B32, [T::B32; 3])
}

fn prmt_code(instruction: &Instruction) -> Code {
    let modes = [
        (M::F4e, Code::PrmtF4E),
        (M::B4e, Code::PrmtB4E),
        (M::Rc8, Code::PrmtRc8),
        (M::Ecl, Code::PrmtEcl),
        (M::Ecr, Code::PrmtEcr),
        (M::Rc16, Code::PrmtRc16),
    ];
    modes.into_iter().find(|&(mode, _)| instruction.has(mode)).map_or(Code::Prmt, |(_, code)| code)
}

fn dot_product_code(instruction: &Instruction) -> Code {
    let mut types = instruction.types();
    let signed = [types.next(), types.next()].map(|ty| ty.is_some_and(T::is_signed));
    let codes = match (instruction.opcode, instruction.has(M::Hi)) {
        (Opcode::Dp4a, _) => [Code::Dp4AUU, Code::Dp4AUS, Code::Dp4ASU, Code::Dp4ASS],
        (_, false) => [Code::Dp2ALoUU, Code::Dp2ALoUS, Code::Dp2ALoSU, Code::Dp2ALoSS],
        (_, true) => [Code::Dp2AHiUU, Code::Dp2AHiUS, Code::Dp2AHiSU, Code::Dp2AHiSS],
    };
    codes[usize::from(signed[0]) * 2 + usize::from(signed[1])]
}

/// `bfi` has four operands: position and length share a row.
fn bfi(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let a = builder.value(operand(instruction, 1)?, ty)?;
    let b = builder.value(operand(instruction, 2)?, ty)?;
    let position = builder.value(operand(instruction, 3)?, T::U32)?;
    let length = builder.value(operand(instruction, 4)?, T::U32)?;
    let field = builder.temporary(Width::W32);
    builder.emit_unguarded(Code::BitField, field, [position, length, 0]);
    let code = if Width::of(ty) == Width::W32 { Code::Bfi32 } else { Code::Bfi64 };
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        builder.emit(code, 0, row, [a, b, field]);
        Ok(())
    })
}

/// `selp`.
fn select(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
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
fn select_by_sign(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
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

/// `.f32x2`: the operation on the low and on the high words.
fn packed_singles(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
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
    let mut halves = [[0; 3]; 2];
    for index in 0..operands {
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

/// Logic on predicates.
fn predicate_logic(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let (a, a_negated) = builder.predicate(operand(instruction, 1)?)?;
    let (b, b_negated) = match instruction.opcode {
        Opcode::Not | Opcode::Mov => (a, false),
        _ => builder.predicate(operand(instruction, 2)?)?,
    };
    if a_negated || b_negated {
        return Err(unsupported(instruction));
    }
    let n = match instruction.opcode {
        Opcode::And => 0,
        Opcode::Or => 1,
        Opcode::Xor => 2,
        Opcode::Mov => 3,
        Opcode::Not => 4,
        _ => return Err(unsupported(instruction)),
    };
    let destination = builder.predicate_destination(operand(instruction, 0)?)?;
    builder.emit(Code::PredicateLogic, n, destination, [a, b, 0]);
    Ok(())
}

/// `ftz` picks between two codes.
fn flushed(ftz: bool, plain: Code, flush: Code) -> (Code, u16) {
    (if ftz { flush } else { plain }, 0)
}

fn single(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let n = rounding(instruction);
    let ftz = instruction.has(M::Ftz);
    let approx = instruction.has(M::Approx);
    let nan = instruction.has(M::Nan);
    let then = instruction.has(M::Sat).then_some(Code::SatF32);
    let mixed = instruction.types().nth(1).is_some_and(|ty| matches!(ty, T::F16 | T::Bf16));
    if mixed
        || instruction.has(M::XorSign)
        || (instruction.has(M::Abs) && instruction.opcode != Opcode::Abs)
    {
        return Err(unsupported(instruction));
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
    match operands {
        1 => map_then::<1>(builder, instruction, code, T::F32, then),
        2 if instruction.operands.len() > 3 => three_input(builder, instruction, code.0, T::F32),
        2 => map_then::<2>(builder, instruction, code, T::F32, then),
        _ => map_then::<3>(builder, instruction, code, T::F32, then),
    }
}

fn double(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
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

fn half(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let relu = instruction.has(M::Relu);
    let nan = instruction.has(M::Nan);
    let ftz = instruction.has(M::Ftz);
    let is_f16 = matches!(ty, T::F16 | T::F16x2);
    if instruction.has(M::XorSign) || instruction.has(M::Oob) {
        return Err(unsupported(instruction));
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
