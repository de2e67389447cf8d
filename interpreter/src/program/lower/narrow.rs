//! `cvt` to and from packed formats, its forms with `.satfinite` (manual, 9.7.10.24), and
//! arithmetic on four narrow numbers (9.7.6).
//!
//! A packed result of `cvt` takes its upper element from the first operand.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::op::{Code, narrow as flag, quad as field};
use super::builder::{Builder, Lowered, Width, operand};
use super::mapping::{convert_then, map, unsupported};
use crate::semantics::quad::{Elements, Operation};

/// Scales of one for both elements.
const UNIT_SCALES: u64 = 0x7f7f;

/// The modifiers of a conversion as the `n` of its operation.
fn flags(instruction: &Instruction) -> u16 {
    let all = [
        (M::Relu, flag::RELU),
        (M::Satfinite, flag::SATFINITE),
        (M::Rz, flag::RZ),
        (M::Rna, flag::RNA),
        (M::Rp, flag::RP),
        (M::PositiveZero, flag::PZO),
        (M::ScaledN1Ue8m0, flag::SCALED),
    ];
    all.iter().filter(|(modifier, _)| instruction.has(*modifier)).fold(0, |n, (_, flag)| n | flag)
}

/// The number of a format of 8 bits or fewer.
fn format(ty: T) -> Option<u16> {
    Some(match ty {
        T::E4m3x2 | T::E4m3x4 => flag::E4M3,
        T::E5m2x2 | T::E5m2x4 => flag::E5M2,
        T::E2m3x2 | T::E2m3x4 => flag::E2M3,
        T::E3m2x2 | T::E3m2x4 => flag::E3M2,
        T::E2m1x2 | T::E2m1x4 => flag::E2M1,
        T::Ue5m3x2 => flag::UE5M3,
        _ => return None,
    })
}

/// Lowers a conversion that is one of these, `None` if it is not.
pub(super) fn lower(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    to: T,
    from: T,
) -> Option<Lowered<()>> {
    let n = flags(instruction);
    let stochastic = instruction.has(M::Rs);
    // Narrow formats know `.pzo` themselves.
    let pzo = |code: Code| (n & flag::PZO != 0).then_some(code);
    let halves = n & !flag::PZO;
    Some(match (to, from) {
        (T::F16x2 | T::Bf16x2, T::F32) if stochastic => {
            let code = match to {
                T::F16x2 => Code::CvtX2StochasticF16,
                _ => Code::CvtX2StochasticBf16,
            };
            map(builder, instruction, code, n, T::B32, [T::F32, T::F32, T::B32])
        }
        (T::F16x2 | T::Bf16x2, T::F32) => {
            let code = match (to, halves) {
                (T::F16x2, 0) => Code::CvtX2F16,
                (T::F16x2, flag::RELU) => Code::CvtX2ReluF16,
                (T::F16x2, _) => Code::CvtX2ClampedF16,
                (_, 0) => Code::CvtX2Bf16,
                (_, flag::RELU) => Code::CvtX2ReluBf16,
                _ => Code::CvtX2ClampedBf16,
            };
            let then = pzo(Code::PositiveZero16x2);
            convert_then(builder, instruction, (code, n), T::B32, [T::F32, T::F32], then)
        }
        (T::F16 | T::Bf16, T::F32) if n & flag::SATFINITE != 0 => {
            let code = match to {
                T::F16 => Code::CvtClampedF16,
                _ => Code::CvtClampedBf16,
            };
            let then = pzo(Code::PositiveZero16);
            convert_then(builder, instruction, (code, n), to, [T::F32], then)
        }
        (T::Tf32, T::F32) => {
            let code = (Code::CvtF32ToTf32, n);
            convert_then(builder, instruction, code, T::B32, [T::F32], pzo(Code::PositiveZero32))
        }
        (T::Ue8m0x2, T::F32) => {
            map(builder, instruction, Code::CvtToUe8m0, n, T::B16, [T::F32, T::F32])
        }
        (T::Ue8m0x2, T::Bf16x2) => widened(builder, instruction, Code::CvtToUe8m0, n, None),
        (T::Bf16x2, T::Ue8m0x2) => {
            map(builder, instruction, Code::CvtUe8m0ToBf16x2, 0, T::B32, [T::B16])
        }
        (T::S2f6x2, T::F32) => {
            let sources = [operand(instruction, 1), operand(instruction, 2)];
            s2f6(builder, instruction, sources, n)
        }
        (T::S2f6x2, T::Bf16x2) => match scales(builder, instruction, 2) {
            Ok(scales) => widened(builder, instruction, Code::CvtToS2f6, n, Some(scales)),
            Err(reason) => Err(reason),
        },
        (T::Bf16x2, T::S2f6x2) => scaled(builder, instruction, Code::CvtS2f6ToBf16x2, n, T::B16),
        (to, from) => match (format(to), format(from)) {
            (Some(format), None) if stochastic => quad(builder, instruction, n | format, to),
            (Some(format), None) => {
                let n = n | format;
                let result = if to == T::E2m1x2 { T::B8 } else { T::B16 };
                match from {
                    T::F16x2 => one_scale(
                        builder,
                        instruction,
                        (Code::CvtHalvesToNarrow, n),
                        result,
                        [T::B32],
                    ),
                    T::Bf16x2 => {
                        let code = (Code::CvtHalvesToNarrow, n | flag::BF16);
                        one_scale(builder, instruction, code, result, [T::B32])
                    }
                    _ => {
                        let code = (Code::CvtToNarrow, n);
                        one_scale(builder, instruction, code, result, [T::F32, T::F32])
                    }
                }
            }
            (None, Some(format)) => {
                let n = n | format;
                let source = if from == T::E2m1x2 { T::B8 } else { T::B16 };
                match to {
                    T::F16x2 => {
                        map(builder, instruction, Code::CvtNarrowToF16x2, n, T::B32, [source])
                    }
                    _ => scaled(builder, instruction, Code::CvtNarrowToBf16x2, n, source),
                }
            }
            _ => return None,
        },
    })
}

/// To a narrow format from `N` operands, divided by the scale that follows them if `n` says so.
fn one_scale<const N: usize>(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    (code, n): (Code, u16),
    result: T,
    operands: [T; N],
) -> Lowered<()> {
    let mut rows = [0; 3];
    for (index, ty) in operands.into_iter().enumerate() {
        rows[index] = builder.value(operand(instruction, index + 1)?, ty)?;
    }
    if n & flag::SCALED != 0 {
        rows[N.min(2)] = builder.value(operand(instruction, N + 1)?, T::B8)?;
    }
    builder.define(operand(instruction, 0)?, result, |builder, row| {
        builder.emit(code, n, row, rows);
        Ok(())
    })
}

/// The row of the scales, which are operand `index` where the instruction has any.
fn scales(builder: &mut Builder<'_>, instruction: &Instruction, index: usize) -> Lowered<u32> {
    match instruction.operands.get(index) {
        Some(scales) => builder.value(scales, T::B16),
        None => Ok(builder.bits(UNIT_SCALES, Width::W32)),
    }
}

/// To `.bf16x2` from a packed pair with scales.
fn scaled(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    code: Code,
    n: u16,
    source: T,
) -> Lowered<()> {
    let pair = builder.value(operand(instruction, 1)?, source)?;
    let scales = scales(builder, instruction, 2)?;
    builder.define(operand(instruction, 0)?, T::B32, |builder, row| {
        builder.emit(code, n, row, [pair, scales, 0]);
        Ok(())
    })
}

/// To `.s2f6x2` from two singles with scales.
fn s2f6(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    [a, b]: [Lowered<&Operand>; 2],
    n: u16,
) -> Lowered<()> {
    let (a, b) = (builder.value(a?, T::F32)?, builder.value(b?, T::F32)?);
    let scales = scales(builder, instruction, 3)?;
    builder.define(operand(instruction, 0)?, T::B16, |builder, row| {
        builder.emit(Code::CvtToS2f6, n, row, [a, b, scales]);
        Ok(())
    })
}

/// From `.bf16x2` by way of two singles, which hold every `.bf16` exactly.
fn widened(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    code: Code,
    n: u16,
    scales: Option<u32>,
) -> Lowered<()> {
    let pair = builder.value(operand(instruction, 1)?, T::B32)?;
    let [a, b] = [Code::High16, Code::Low16].map(|part| {
        let half = builder.temporary(Width::W32);
        builder.emit_unguarded(part, half, [pair, 0, 0]);
        let single = builder.temporary(Width::W32);
        builder.emit_unguarded(Code::CvtBf16ToF32, single, [half, 0, 0]);
        single
    });
    builder.define(operand(instruction, 0)?, T::B16, |builder, row| {
        builder.emit(code, n, row, [a, b, scales.unwrap_or(0)]);
        Ok(())
    })
}

/// `cvt.rs` from four singles: two pairs, each with 16 random bits of its own.
fn quad(builder: &mut Builder<'_>, instruction: &Instruction, n: u16, to: T) -> Lowered<()> {
    let Operand::Vector(sources) = operand(instruction, 1)? else {
        return Err("cvt to four elements needs four sources in braces".to_owned());
    };
    let mut rows = [0; 4];
    for (index, row) in rows.iter_mut().enumerate() {
        let source = sources.get(index).ok_or("cvt to four elements needs four sources")?;
        *row = builder.value(source, T::F32)?;
    }
    let random = builder.value(operand(instruction, 2)?, T::B32)?;
    // The bytes of the random bits that serve the upper pair and the lower one.
    let narrowest = to == T::E2m1x4;
    let selectors = if narrowest { [0x4431, 0x4420] } else { [0x4432, 0x4410] };
    let zero = builder.bits(0, Width::W32);
    let mut pairs = [0; 2];
    for (index, pair) in pairs.iter_mut().enumerate() {
        let selector = builder.bits(selectors[index], Width::W32);
        let bits = builder.temporary(Width::W32);
        builder.emit_unguarded(Code::Prmt, bits, [random, zero, selector]);
        *pair = builder.temporary(Width::W32);
        let operands = [rows[2 * index], rows[2 * index + 1], bits];
        builder.emit(Code::CvtStochasticToNarrow, n, *pair, operands);
    }
    let (code, result) = if narrowest { (Code::Pack8, T::B16) } else { (Code::Pack16, T::B32) };
    builder.define(operand(instruction, 0)?, result, |builder, row| {
        builder.emit(code, 0, row, [pairs[1], pairs[0], 0]);
        Ok(())
    })
}

/// `add`, `sub`, `mul` and `fma` with a result of type `to`, four numbers of 8 bits.
pub(super) fn quad_arithmetic(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    to: T,
) -> Lowered<()> {
    // Operands after the first type, which is that of the result and of the addend.
    let mut types = instruction.types().skip(1);
    let a = types.next().ok_or_else(|| unsupported(instruction))?;
    let (operation, b, c) = match instruction.opcode {
        Opcode::Add => (Operation::Add, None, Some(to)),
        Opcode::Sub => (Operation::Subtract, None, Some(to)),
        Opcode::Mul => (Operation::Multiply, types.next(), None),
        Opcode::Fma => (Operation::MultiplyAdd, types.next(), Some(to)),
        _ => return Err(unsupported(instruction)),
    };
    let formats = [elements(a)?, b.map_or(Ok(Elements::E4m3), elements)?];
    let mut index = 0;
    let rows = [Some(a), b, c].map(|ty| {
        let Some(ty) = ty else { return Ok(0) };
        index += 1;
        let register = if ty == T::E2m1x4 { T::B16 } else { T::B32 };
        builder.value(operand(instruction, index)?, register)
    });
    let [a, b, c] = rows;
    let rows = [a?, b?, c?];
    let flags = [(to == T::E5m2x4, field::E5M2), (instruction.has(M::Satfinite), field::SATFINITE)];
    let flags = flags.iter().filter(|(set, _)| *set).fold(0, |n, (_, flag)| n | flag);
    builder.define(operand(instruction, 0)?, T::B32, |builder, row| {
        builder.emit(Code::QuadArithmetic, field::encode(operation, formats) | flags, row, rows);
        Ok(())
    })
}

/// Returns the layout of a type's four elements in their register.
fn elements(ty: T) -> Lowered<Elements> {
    Ok(match ty {
        T::E4m3x4 => Elements::E4m3,
        T::E5m2x4 => Elements::E5m2,
        T::E2m3x4 => Elements::E2m3,
        T::E3m2x4 => Elements::E3m2,
        T::E2m1x4 => Elements::E2m1,
        T::E2m1p4x4 => Elements::PaddedE2m1,
        T::Ue8m0x4 => Elements::Ue8m0,
        other => return Err(format!("arithmetic on {} is not executed yet", other.text())),
    })
}

/// `cvt.pack`.
pub(super) fn pack(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let code = match instruction.types().next() {
        Some(T::U16) => Code::CvtPackU16,
        Some(T::S16) => Code::CvtPackS16,
        Some(T::U8) => Code::CvtPackU8,
        Some(T::S8) => Code::CvtPackS8,
        Some(T::U4) => Code::CvtPackU4,
        Some(T::S4) => Code::CvtPackS4,
        Some(T::U2) => Code::CvtPackU2,
        Some(T::S2) => Code::CvtPackS2,
        _ => return Err("cvt.pack has no form for these types".to_owned()),
    };
    match instruction.operands.len() {
        3 => map(builder, instruction, code, 0, T::B32, [T::S32, T::S32]),
        _ => map(builder, instruction, code, 0, T::B32, [T::S32, T::S32, T::B32]),
    }
}
