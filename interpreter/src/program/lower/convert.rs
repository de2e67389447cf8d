//! `cvt` (manual, 9.7.9.21).

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::Modifier as M;
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::op::Code;
use super::builder::{Builder, Lowered, Width, operand};
use super::mapping::rounding;

/// Picks the code of an integer type: u8 s8 u16 s16 u32 s32 u64 s64.
macro_rules! by_integer {
    ($ty:expr; $u8:ident $s8:ident $u16:ident $s16:ident $u32:ident $s32:ident $u64:ident $s64:ident) => {
        match $ty {
            T::U8 => Code::$u8,
            T::S8 => Code::$s8,
            T::U16 => Code::$u16,
            T::S16 => Code::$s16,
            T::U32 => Code::$u32,
            T::S32 => Code::$s32,
            T::U64 => Code::$u64,
            _ => Code::$s64,
        }
    };
}

fn is_integer(ty: T) -> bool {
    matches!(ty, T::U8 | T::S8 | T::U16 | T::S16 | T::U32 | T::S32 | T::U64 | T::S64)
}

/// Lowers `cvt`.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let mut types = instruction.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else {
        return Err("cvt needs two types".to_owned());
    };
    let unsupported =
        || Err(format!("cvt to {} from {} is not executed yet", to.text(), from.text()));
    if let Some(lowered) = super::narrow::lower(builder, instruction, to, from) {
        return lowered;
    }
    let source = builder.value(operand(instruction, 1)?, from)?;
    let destination = operand(instruction, 0)?;
    if is_integer(to) && is_integer(from) {
        return integers(builder, instruction, destination, source, to, from);
    }
    let n = rounding(instruction);
    let ftz = instruction.has(M::Ftz);
    let source = if ftz && from == T::F32 {
        let flushed = builder.temporary(Width::W32);
        builder.emit_unguarded(Code::FtzF32, flushed, [source, 0, 0]);
        flushed
    } else {
        source
    };
    let round_to_integer = instruction
        .modifiers
        .iter()
        .any(|modifier| matches!(modifier, M::Rni | M::Rzi | M::Rmi | M::Rpi));
    let n = n & 3;
    // Conversions of halves to integers and to integral values go through single precision, which
    // holds every half exactly.
    let code = match (from, to) {
        (T::F32, to) if is_integer(to) => float_to_integer(T::F32, to, n),
        (T::F64, to) if is_integer(to) => float_to_integer(T::F64, to, n),
        (T::F16 | T::Bf16, to) if is_integer(to) => {
            let single = builder.temporary(Width::W32);
            let widen = if from == T::F16 { Code::CvtF16ToF32 } else { Code::CvtBf16ToF32 };
            builder.emit_unguarded(widen, single, [source, 0, 0]);
            let code = float_to_integer(T::F32, to, n);
            return builder.define(destination, to, |builder, row| {
                builder.emit(code, n, row, [single, 0, 0]);
                Ok(())
            });
        }
        (from, T::F32) if is_integer(from) => match (n, from) {
            (0, T::U32) => Code::CvtU32ToF32,
            (0, T::S32) => Code::CvtS32ToF32,
            (0, T::U64) => Code::CvtU64ToF32,
            (0, T::S64) => Code::CvtS64ToF32,
            _ => by_integer!(from; CvtRoundedU8ToF32 CvtRoundedS8ToF32 CvtRoundedU16ToF32
                CvtRoundedS16ToF32 CvtRoundedU32ToF32 CvtRoundedS32ToF32 CvtRoundedU64ToF32
                CvtRoundedS64ToF32),
        },
        (from, T::F64) if is_integer(from) => match (n, from) {
            (0, T::U32) => Code::CvtU32ToF64,
            (0, T::S32) => Code::CvtS32ToF64,
            (0, T::U64) => Code::CvtU64ToF64,
            (0, T::S64) => Code::CvtS64ToF64,
            _ => by_integer!(from; CvtRoundedU8ToF64 CvtRoundedS8ToF64 CvtRoundedU16ToF64
                CvtRoundedS16ToF64 CvtRoundedU32ToF64 CvtRoundedS32ToF64 CvtRoundedU64ToF64
                CvtRoundedS64ToF64),
        },
        (from, T::F16) if is_integer(from) => by_integer!(from; CvtU8ToF16 CvtS8ToF16 CvtU16ToF16
            CvtS16ToF16 CvtU32ToF16 CvtS32ToF16 CvtU64ToF16 CvtS64ToF16),
        (from, T::Bf16) if is_integer(from) => by_integer!(from; CvtU8ToBf16 CvtS8ToBf16
            CvtU16ToBf16 CvtS16ToBf16 CvtU32ToBf16 CvtS32ToBf16 CvtU64ToBf16 CvtS64ToBf16),
        (T::F32, T::F32) if round_to_integer => Code::RoundF32,
        (T::F64, T::F64) if round_to_integer => Code::RoundF64,
        (T::F32, T::F32) => Code::Mov32,
        (T::F64, T::F64) => Code::Mov64,
        (T::F32, T::F64) => Code::CvtF32ToF64,
        (T::F64, T::F32) if n == 0 => Code::CvtF64ToF32,
        (T::F64, T::F32) => Code::CvtRoundedF64ToF32,
        (T::F16, T::F32) => Code::CvtF16ToF32,
        (T::Bf16, T::F32) => Code::CvtBf16ToF32,
        (T::F16, T::F64) => Code::CvtF16ToF64,
        (T::Bf16, T::F64) => Code::CvtBf16ToF64,
        (T::F32, T::F16) => Code::CvtF32ToF16,
        (T::F32, T::Bf16) => Code::CvtF32ToBf16,
        (T::F64, T::F16) => Code::CvtF64ToF16,
        (T::F64, T::Bf16) => Code::CvtF64ToBf16,
        (T::F16, T::F16) if round_to_integer => Code::RoundF16,
        (T::Bf16, T::Bf16) if round_to_integer => Code::RoundBf16,
        (T::F16, T::F16) => Code::Mov32,
        (T::F16, T::Bf16) => Code::CvtF16ToBf16,
        (T::Bf16, T::F16) => Code::CvtBf16ToF16,
        _ => return unsupported(),
    };
    let relu = instruction.has(M::Relu);
    let sat = instruction.has(M::Sat);
    let clamp = match to {
        T::F16 if relu => Some(Code::ReluF16),
        T::Bf16 if relu => Some(Code::ReluBf16),
        T::F32 if sat => Some(Code::SatF32),
        T::F64 if sat => Some(Code::SatF64),
        T::F16 if sat => Some(Code::SatF16),
        _ => None,
    };
    let flush = (to == T::F32 && ftz).then_some(Code::FtzF32);
    let sign = instruction.has(M::PositiveZero).then_some(Code::PositiveZero16);
    builder.define(destination, to, |builder, row| {
        builder.emit(code, n, row, [source, 0, 0]);
        for then in [flush, clamp, sign].into_iter().flatten() {
            builder.emit(then, 0, row, [row, 0, 0]);
        }
        Ok(())
    })
}

fn float_to_integer(from: T, to: T, n: u16) -> Code {
    match (from, n, to) {
        (T::F32, 1, T::U32) => Code::CvtRzU32FromF32,
        (T::F32, 1, T::S32) => Code::CvtRzS32FromF32,
        (T::F32, 1, T::U64) => Code::CvtRzU64FromF32,
        (T::F32, 1, T::S64) => Code::CvtRzS64FromF32,
        (T::F64, 1, T::U32) => Code::CvtRzU32FromF64,
        (T::F64, 1, T::S32) => Code::CvtRzS32FromF64,
        (T::F64, 1, T::U64) => Code::CvtRzU64FromF64,
        (T::F64, 1, T::S64) => Code::CvtRzS64FromF64,
        (T::F32, _, to) => by_integer!(to; CvtF32ToU8 CvtF32ToS8 CvtF32ToU16 CvtF32ToS16
            CvtF32ToU32 CvtF32ToS32 CvtF32ToU64 CvtF32ToS64),
        (_, _, to) => by_integer!(to; CvtF64ToU8 CvtF64ToS8 CvtF64ToU16 CvtF64ToS16 CvtF64ToU32
            CvtF64ToS32 CvtF64ToU64 CvtF64ToS64),
    }
}

/// Integer to integer: truncation or extension, saturating if asked.
fn integers(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    destination: &Operand,
    source: u32,
    to: T,
    from: T,
) -> Lowered<()> {
    if instruction.has(M::Sat) && to != from {
        let code = saturating(from, to);
        return builder.define(destination, to, |builder, row| {
            builder.emit(code, 0, row, [source, 0, 0]);
            Ok(())
        });
    }
    let code = match (from.bytes(), to.bytes(), from.is_signed()) {
        (from, to, _) if from == to && to == 8 => Code::Mov64,
        (8, _, _) => Code::Low32,
        (1, 8, true) => Code::SignExtend8To64,
        (2, 8, true) => Code::SignExtend16To64,
        (4, 8, true) => Code::SignExtend32To64,
        (1, 2, true) => Code::SignExtend8To16,
        (1, 4, true) => Code::SignExtend8To32,
        (2, 4, true) => Code::SignExtend16To32,
        (_, 8, _) => Code::ZeroExtend32,
        (1, _, _) => Code::ZeroExtend8,
        (2, _, _) => Code::ZeroExtend16,
        _ => Code::Mov32,
    };
    builder.define(destination, to, |builder, row| {
        let mut source = source;
        // A register may hold more bits than its type: cut before zero-extending to 64 bits.
        if code == Code::ZeroExtend32 && from.bytes() < 4 {
            let cut = builder.temporary(Width::W32);
            let narrow = if from.bytes() == 1 { Code::ZeroExtend8 } else { Code::ZeroExtend16 };
            builder.emit(narrow, 0, cut, [source, 0, 0]);
            source = cut;
        }
        builder.emit(code, 0, row, [source, 0, 0]);
        // A narrow result lies zero-extended in its row.
        let narrow = match to.bytes() {
            1 => Some(Code::ZeroExtend8),
            2 => Some(Code::ZeroExtend16),
            _ => None,
        };
        if let Some(narrow) = narrow {
            builder.emit(narrow, 0, row, [row, 0, 0]);
        }
        Ok(())
    })
}

fn saturating(from: T, to: T) -> Code {
    macro_rules! table {
        ($($from:ident: $($to:ident $code:ident),+;)+) => {
            match (from, to) {
                $($((T::$from, T::$to) => Code::$code,)+)+
                _ => if Width::of(to) == Width::W64 { Code::Mov64 } else { Code::Mov32 },
            }
        };
    }
    table! {
        U8: S8 CvtSatU8ToS8, U16 CvtSatU8ToU16, S16 CvtSatU8ToS16, U32 CvtSatU8ToU32,
            S32 CvtSatU8ToS32, U64 CvtSatU8ToU64, S64 CvtSatU8ToS64;
        S8: U8 CvtSatS8ToU8, U16 CvtSatS8ToU16, S16 CvtSatS8ToS16, U32 CvtSatS8ToU32,
            S32 CvtSatS8ToS32, U64 CvtSatS8ToU64, S64 CvtSatS8ToS64;
        U16: U8 CvtSatU16ToU8, S8 CvtSatU16ToS8, S16 CvtSatU16ToS16, U32 CvtSatU16ToU32,
            S32 CvtSatU16ToS32, U64 CvtSatU16ToU64, S64 CvtSatU16ToS64;
        S16: U8 CvtSatS16ToU8, S8 CvtSatS16ToS8, U16 CvtSatS16ToU16, U32 CvtSatS16ToU32,
            S32 CvtSatS16ToS32, U64 CvtSatS16ToU64, S64 CvtSatS16ToS64;
        U32: U8 CvtSatU32ToU8, S8 CvtSatU32ToS8, U16 CvtSatU32ToU16, S16 CvtSatU32ToS16,
            S32 CvtSatU32ToS32, U64 CvtSatU32ToU64, S64 CvtSatU32ToS64;
        S32: U8 CvtSatS32ToU8, S8 CvtSatS32ToS8, U16 CvtSatS32ToU16, S16 CvtSatS32ToS16,
            U32 CvtSatS32ToU32, U64 CvtSatS32ToU64, S64 CvtSatS32ToS64;
        U64: U8 CvtSatU64ToU8, S8 CvtSatU64ToS8, U16 CvtSatU64ToU16, S16 CvtSatU64ToS16,
            U32 CvtSatU64ToU32, S32 CvtSatU64ToS32, S64 CvtSatU64ToS64;
        S64: U8 CvtSatS64ToU8, S8 CvtSatS64ToS8, U16 CvtSatS64ToU16, S16 CvtSatS64ToS16,
            U32 CvtSatS64ToU32, S32 CvtSatS64ToS32, U64 CvtSatS64ToU64;
    }
}
