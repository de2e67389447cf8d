//! `setp`, `set` and `testp` (manual, 9.7.6, 9.7.3.1).

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::op::{Code, compare};
use super::builder::{Builder, Lowered, Width, operand};

/// A comparison as an operation: its code, whether the operands swap, whether the result inverts.
struct Comparison {
    code: Code,
    swap: bool,
    invert: bool,
}

/// Picks the code of a type: u16 s16 u32 s32 u64 s64 f32 f64.
macro_rules! ordered_code {
    ($ty:expr; $u16:ident $s16:ident $u32:ident $s32:ident $u64:ident $s64:ident $f32:ident $f64:ident) => {
        match $ty {
            T::U16 | T::B16 => Code::$u16,
            T::S16 => Code::$s16,
            T::U32 | T::B32 => Code::$u32,
            T::S32 => Code::$s32,
            T::U64 | T::B64 => Code::$u64,
            T::S64 => Code::$s64,
            T::F32 => Code::$f32,
            T::F64 => Code::$f64,
            other => return Err(format!("there is no comparison of {}", other.text())),
        }
    };
}

fn comparison(operator: M, ty: T) -> Lowered<Comparison> {
    let float = matches!(ty, T::F32 | T::F64);
    let plain = |code| Comparison { code, swap: false, invert: false };
    let equal = |ty: T| -> Lowered<Code> {
        Ok(match (ty, ty.bytes()) {
            (T::F32, _) => Code::EqF32,
            (T::F64, _) => Code::EqF64,
            (_, 2) => Code::Eq16,
            (_, 4) => Code::Eq32,
            (_, 8) => Code::Eq64,
            _ => return Err(format!("there is no comparison of {}", ty.text())),
        })
    };
    let less = |ty: T| -> Lowered<Code> {
        Ok(ordered_code!(ty; LtU16 LtS16 LtU32 LtS32 LtU64 LtS64 LtF32 LtF64))
    };
    let less_equal = |ty: T| -> Lowered<Code> {
        Ok(ordered_code!(ty; LeU16 LeS16 LeU32 LeS32 LeU64 LeS64 LeF32 LeF64))
    };
    let of_float = |f32, f64| if ty == T::F32 { f32 } else { f64 };
    // An unordered comparison is the inverse of the opposite ordered one.
    Ok(match operator {
        M::Eq => plain(equal(ty)?),
        M::Ne if float => plain(of_float(Code::NeOrderedF32, Code::NeOrderedF64)),
        M::Ne => Comparison { code: equal(ty)?, swap: false, invert: true },
        M::Lt | M::Lo => plain(less(ty)?),
        M::Le | M::Ls => plain(less_equal(ty)?),
        M::Gt | M::Hi => Comparison { code: less(ty)?, swap: true, invert: false },
        M::Ge | M::Hs => Comparison { code: less_equal(ty)?, swap: true, invert: false },
        M::Equ => Comparison {
            code: of_float(Code::NeOrderedF32, Code::NeOrderedF64),
            swap: false,
            invert: true,
        },
        M::Neu => Comparison { code: equal(ty)?, swap: false, invert: true },
        M::Ltu => Comparison { code: less_equal(ty)?, swap: true, invert: true },
        M::Leu => Comparison { code: less(ty)?, swap: true, invert: true },
        M::Gtu => Comparison { code: less_equal(ty)?, swap: false, invert: true },
        M::Geu => Comparison { code: less(ty)?, swap: false, invert: true },
        M::Num => plain(of_float(Code::OrderedF32, Code::OrderedF64)),
        M::IsNan => Comparison {
            code: of_float(Code::OrderedF32, Code::OrderedF64),
            swap: false,
            invert: true,
        },
        other => return Err(format!(".{other} is not a comparison")),
    })
}

/// `.lo` and `.hi` say unsigned comparison whatever the type says; all others follow the type.
fn compared_type(operator: M, ty: T) -> T {
    match (operator, ty) {
        (M::Lo | M::Ls | M::Hi | M::Hs, T::S16) => T::U16,
        (M::Lo | M::Ls | M::Hi | M::Hs, T::S32) => T::U32,
        (M::Lo | M::Ls | M::Hi | M::Hs, T::S64) => T::U64,
        (_, ty) => ty,
    }
}

/// The operands of a comparison as rows of the type that is compared, which is the answer's last
/// part. Packed halves yield two pairs, the lower halves first; halves compare exactly as single
/// precision.
fn operands(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    ty: T,
) -> Lowered<(Vec<[u32; 2]>, T)> {
    let ftz = instruction.has(M::Ftz);
    let parts: &[Option<Code>] = match ty {
        T::F16x2 | T::Bf16x2 => &[Some(Code::Low16), Some(Code::High16)],
        _ => &[None],
    };
    let convert: &[Code] = match ty {
        T::F16 | T::F16x2 if ftz => &[Code::FtzF16, Code::CvtF16ToF32],
        T::F16 | T::F16x2 => &[Code::CvtF16ToF32],
        T::Bf16 | T::Bf16x2 => &[Code::CvtBf16ToF32],
        T::F32 if ftz => &[Code::FtzF32],
        _ => &[],
    };
    let mut pairs = vec![[0; 2]; parts.len()];
    for side in 0..2 {
        let source = builder.value(operand(instruction, side + 1)?, ty)?;
        for (pair, part) in pairs.iter_mut().zip(parts) {
            pair[side] = source;
            for &code in part.iter().chain(convert) {
                let converted = builder.temporary(Width::W32);
                builder.emit_unguarded(code, converted, [pair[side], 0, 0]);
                pair[side] = converted;
            }
        }
    }
    let compared = match ty {
        T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2 => T::F32,
        ty => ty,
    };
    Ok((pairs, compared))
}

/// A predicate that gets the comparison of the pair of operands `pair`, perhaps inverted.
struct Outcome {
    predicate: u32,
    inverted: bool,
    pair: usize,
}

/// Emits the comparison of operands 1 and 2 into each of `outcomes`.
fn compare_into(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    ty: T,
    outcomes: &[Outcome],
) -> Lowered<()> {
    let Some(&operator) = instruction.modifiers.first() else {
        return Err("the comparison operator is missing".to_owned());
    };
    let ty = compared_type(operator, ty);
    let (pairs, compared) = operands(builder, instruction, ty)?;
    let comparison = comparison(operator, compared)?;
    let mut n = 0;
    let mut combined = 0;
    let combine = instruction.modifiers.iter().find_map(|modifier| match modifier {
        M::And => Some(compare::AND),
        M::Or => Some(compare::OR),
        M::Xor => Some(compare::XOR),
        _ => None,
    });
    if let Some(combine) = combine {
        let (predicate, negated) = builder.predicate(operand(instruction, 3)?)?;
        combined = predicate;
        n |= combine | if negated { compare::INVERT_C } else { 0 };
    }
    // The second result must see the combining predicate as it was.
    if outcomes.len() > 1 && outcomes.iter().any(|outcome| outcome.predicate == combined) {
        let saved = builder.temporary_predicate();
        builder.emit(Code::PredicateLogic, 3, saved, [combined, combined, 0]);
        combined = saved;
    }
    for outcome in outcomes {
        let [mut a, mut b] = pairs[outcome.pair];
        if comparison.swap {
            std::mem::swap(&mut a, &mut b);
        }
        let invert = if comparison.invert != outcome.inverted { compare::INVERT } else { 0 };
        builder.emit(comparison.code, n | invert, outcome.predicate, [a, b, combined]);
    }
    Ok(())
}

/// `setp`.
pub(super) fn setp(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let Some(ty) = instruction.types().next() else {
        return Err("the type is missing".to_owned());
    };
    let packed = matches!(ty, T::F16x2 | T::Bf16x2);
    match operand(instruction, 0)? {
        Operand::Pair(pair) => {
            let p = builder.predicate_destination(&pair[0])?;
            let q = builder.predicate_destination(&pair[1])?;
            // Of packed halves, the second result is that of the upper ones.
            let first = Outcome { predicate: p, inverted: false, pair: 0 };
            let second = Outcome { predicate: q, inverted: !packed, pair: usize::from(packed) };
            compare_into(builder, instruction, ty, &[first, second])
        }
        destination => {
            let predicate = builder.predicate_destination(destination)?;
            let outcome = Outcome { predicate, inverted: false, pair: 0 };
            compare_into(builder, instruction, ty, &[outcome])
        }
    }
}

/// `set`: all ones or 1.0 where the comparison holds.
pub(super) fn set(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let mut types = instruction.types();
    let (result, ty) = match (types.next(), types.next()) {
        (Some(result), Some(ty)) => (result, ty),
        (Some(packed), None) => return set_packed(builder, instruction, packed),
        _ => return Err("set needs types".to_owned()),
    };
    let packed = matches!(ty, T::F16x2 | T::Bf16x2);
    let ones = match result {
        // Each half of the result is a mask of its own.
        T::U32 | T::S32 if packed => u64::from(u16::MAX),
        T::U32 | T::S32 => u64::from(u32::MAX),
        T::U16 | T::S16 => u64::from(u16::MAX),
        T::F32 => u64::from(1.0f32.to_bits()),
        T::F16 | T::F16x2 => 0x3c00,
        T::Bf16 | T::Bf16x2 => 0x3f80,
        other => return Err(format!("set has no {} result", other.text())),
    };
    let pairs = if packed { 2 } else { 1 };
    let outcomes: Vec<Outcome> = (0..pairs)
        .map(|pair| Outcome { predicate: builder.temporary_predicate(), inverted: false, pair })
        .collect();
    compare_into(builder, instruction, ty, &outcomes)?;
    let ones = builder.bits(ones, Width::W32);
    let zeros = builder.bits(0, Width::W32);
    builder.define(operand(instruction, 0)?, result, |builder, row| {
        let select = |builder: &mut Builder<'_>, row, outcome: &Outcome| {
            builder.emit(Code::Select32, 0, row, [ones, zeros, outcome.predicate]);
        };
        let [low, high] = &outcomes[..] else {
            outcomes.iter().for_each(|outcome| select(builder, row, outcome));
            return Ok(());
        };
        let halves = [low, high].map(|outcome| {
            let half = builder.temporary(Width::W32);
            select(builder, half, outcome);
            half
        });
        builder.emit(Code::Pack16, 0, row, [halves[0], halves[1], 0]);
        Ok(())
    })
}

/// `set` of packed integers: each element of the result is all ones where the comparison holds.
fn set_packed(builder: &mut Builder<'_>, instruction: &Instruction, ty: T) -> Lowered<()> {
    let (bits, extract, compared) = match ty {
        T::U8x4 => (8, Code::BfeU32, T::U32),
        T::S8x4 => (8, Code::BfeS32, T::S32),
        T::U16x2 => (16, Code::BfeU32, T::U32),
        T::S16x2 => (16, Code::BfeS32, T::S32),
        other => return Err(format!("set has no {} operands of its own", other.text())),
    };
    let Some(&operator) = instruction.modifiers.first() else {
        return Err("the comparison operator is missing".to_owned());
    };
    let comparison = comparison(operator, compared)?;
    let pair = [
        builder.value(operand(instruction, 1)?, T::B32)?,
        builder.value(operand(instruction, 2)?, T::B32)?,
    ];
    let length = builder.bits(bits, Width::W32);
    let zeros = builder.bits(0, Width::W32);
    let mut result = zeros;
    for first in (0..32).step_by(bits as usize) {
        let position = builder.bits(first, Width::W32);
        let [mut a, mut b] = pair.map(|source| {
            let element = builder.temporary(Width::W32);
            builder.emit_unguarded(extract, element, [source, position, length]);
            element
        });
        if comparison.swap {
            std::mem::swap(&mut a, &mut b);
        }
        let holds = builder.temporary_predicate();
        let invert = if comparison.invert { compare::INVERT } else { 0 };
        builder.emit(comparison.code, invert, holds, [a, b, 0]);
        let ones = builder.bits(((1 << bits) - 1) << first, Width::W32);
        let [mask, merged] = [builder.temporary(Width::W32), builder.temporary(Width::W32)];
        builder.emit(Code::Select32, 0, mask, [ones, zeros, holds]);
        builder.emit(Code::Or32, 0, merged, [result, mask, 0]);
        result = merged;
    }
    builder.define(operand(instruction, 0)?, T::B32, |builder, row| {
        builder.emit(Code::Mov32, 0, row, [result, 0, 0]);
        Ok(())
    })
}

/// `testp`.
pub(super) fn testp(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    debug_assert!(instruction.opcode == Opcode::Testp, "called for testp only");
    let ty = instruction.types().next().unwrap_or(T::F32);
    let class = instruction.modifiers.first().copied();
    let code = match (class, ty) {
        (Some(M::Finite), T::F32) => Code::TestFiniteF32,
        (Some(M::Finite), _) => Code::TestFiniteF64,
        (Some(M::Infinite), T::F32) => Code::TestInfiniteF32,
        (Some(M::Infinite), _) => Code::TestInfiniteF64,
        (Some(M::Number), T::F32) => Code::TestNumberF32,
        (Some(M::Number), _) => Code::TestNumberF64,
        (Some(M::Notanumber), T::F32) => Code::TestNotanumberF32,
        (Some(M::Notanumber), _) => Code::TestNotanumberF64,
        (Some(M::Normal), T::F32) => Code::TestNormalF32,
        (Some(M::Normal), _) => Code::TestNormalF64,
        (Some(M::Subnormal), T::F32) => Code::TestSubnormalF32,
        (Some(M::Subnormal), _) => Code::TestSubnormalF64,
        _ => return Err("unknown number class".to_owned()),
    };
    let a = builder.value(operand(instruction, 1)?, ty)?;
    let destination = builder.predicate_destination(operand(instruction, 0)?)?;
    builder.emit(code, 0, destination, [a, 0, 0]);
    Ok(())
}
