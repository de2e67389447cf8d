//! Integer arithmetic, logic and selection.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::op::{Code, compare};
use super::builder::{Builder, Lowered, Width, operand};
use super::mapping::{map, select, select_by_sign, three_input, unsupported};

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

/// Lowers an arithmetic, logic, shift or selection instruction.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let Some(ty) = instruction.types().next() else { return Err(unsupported(instruction)) };
    match ty {
        T::F32 => super::float::single(builder, instruction),
        T::F64 => super::float::double(builder, instruction),
        T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2 => super::half::lower(builder, instruction, ty),
        T::Pred => predicate_logic(builder, instruction),
        T::F32x2 => super::float::packed_singles(builder, instruction),
        T::U8x4 | T::S8x4 => bytes(builder, instruction, ty),
        T::E4m3x4 | T::E5m2x4 => super::narrow::quad_arithmetic(builder, instruction, ty),
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
        Opcode::Add if matches!(ty, T::U16x2 | T::S16x2) => binary(Some(match (sat, ty) {
            (false, _) => Code::Add16x2,
            (true, T::U16x2) => Code::AddSatU16x2,
            (true, _) => Code::AddSatS16x2,
        })),
        Opcode::Sub | Opcode::Neg if matches!(ty, T::U16x2 | T::S16x2) => None,
        Opcode::Add if sat && ty == T::U32 => binary(Some(Code::AddSatU32)),
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
        Opcode::Clmad if high => ternary(Some(Code::ClmadHi)),
        Opcode::Clmad => ternary(Some(Code::ClmadLo)),
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

fn lop3(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let Operand::Immediate(table) = *operand(instruction, 4)? else {
        return Err("the table of lop3 must be a constant".to_owned());
    };
    let table = super::builder::immediate_bits(table, T::U32) as u16 & 0xff;
    let Operand::Pair(pair) = operand(instruction, 0)? else {
        return map(builder, instruction, Code::Lop3, table, T::B32, [T::B32; 3]);
    };
    let mut rows = [0; 3];
    for (index, row) in rows.iter_mut().enumerate() {
        *row = builder.value(operand(instruction, index + 1)?, T::B32)?;
    }
    // The predicate is computed apart from the register, which may be one of the operands.
    let value = builder.temporary(Width::W32);
    builder.emit(Code::Lop3, table, value, rows);
    let (q, negated) = builder.predicate(operand(instruction, 5)?)?;
    let combine = if instruction.has(M::And) { compare::AND } else { compare::OR };
    let n = combine | if negated { compare::INVERT_C } else { 0 };
    let p = builder.predicate_destination(&pair[1])?;
    builder.emit(Code::NotZero32, n, p, [value, 0, q]);
    builder.define(&pair[0], T::B32, |builder, row| {
        builder.emit(Code::Mov32, 0, row, [value, 0, 0]);
        Ok(())
    })
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
    let (packed, code) = match Width::of(ty) {
        Width::W32 => (Code::BitField, Code::Bfi32),
        _ => (Code::BitFieldOf64, Code::Bfi64),
    };
    builder.emit_unguarded(packed, field, [position, length, 0]);
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        builder.emit(code, 0, row, [a, b, field]);
        Ok(())
    })
}

/// `.u8x4` and `.s8x4`.
fn bytes(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let (sat, relu) = (instruction.has(M::Sat), instruction.has(M::Relu));
    let code = match (instruction.opcode, ty) {
        (Opcode::Add, _) if !sat => Code::Add8x4,
        (Opcode::Add, T::U8x4) => Code::AddSatU8x4,
        (Opcode::Add, _) => Code::AddSatS8x4,
        (Opcode::Sub, _) if !sat => Code::Sub8x4,
        (Opcode::Sub, T::U8x4) => Code::SubSatU8x4,
        (Opcode::Sub, _) => Code::SubSatS8x4,
        (Opcode::Neg, _) => return map(builder, instruction, Code::NegS8x4, 0, ty, [ty]),
        (Opcode::Min, T::U8x4) => Code::MinU8x4,
        (Opcode::Min, _) if relu => Code::MinReluS8x4,
        (Opcode::Min, _) => Code::MinS8x4,
        (Opcode::Max, T::U8x4) => Code::MaxU8x4,
        (Opcode::Max, _) if relu => Code::MaxReluS8x4,
        (Opcode::Max, _) => Code::MaxS8x4,
        _ => return Err(unsupported(instruction)),
    };
    map(builder, instruction, code, 0, ty, [ty, ty])
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
