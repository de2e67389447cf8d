//! The video instructions (manual, 9.7.18).

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::op::{Code, video};
use super::builder::{Builder, Lowered, Width, operand};
use crate::semantics::video::{MultiplyAdd, Operation, Simd};

/// The operation of an instruction, whatever its number of lanes.
fn operation(instruction: &Instruction) -> Option<Operation> {
    use Opcode as O;
    Some(match instruction.opcode {
        O::Vadd | O::Vadd2 | O::Vadd4 => Operation::Add,
        O::Vsub | O::Vsub2 | O::Vsub4 => Operation::Subtract,
        O::Vavrg2 | O::Vavrg4 => Operation::Average,
        O::Vabsdiff | O::Vabsdiff2 | O::Vabsdiff4 => Operation::AbsoluteDifference,
        O::Vmin | O::Vmin2 | O::Vmin4 => Operation::Minimum,
        O::Vmax | O::Vmax2 | O::Vmax4 => Operation::Maximum,
        O::Vset | O::Vset2 | O::Vset4 => instruction.modifiers.iter().find_map(|modifier| {
            Some(match modifier {
                M::Eq => Operation::Equal,
                M::Ne => Operation::NotEqual,
                M::Lt => Operation::Less,
                M::Le => Operation::LessOrEqual,
                M::Gt => Operation::Greater,
                M::Ge => Operation::GreaterOrEqual,
                _ => return None,
            })
        })?,
        _ => return None,
    })
}

/// Returns the signedness of the operands `a` and `b` and of the result; true is signed.
fn signs(instruction: &Instruction) -> [bool; 3] {
    let types: Vec<bool> = instruction.types().map(T::is_signed).collect();
    match types[..] {
        // The result of a comparison has no type. The assembler takes the first one for it.
        [a, b] => [a, b, a],
        [result, a, b, ..] => [a, b, result],
        _ => [false; 3],
    }
}

/// The register of an operand that may select a part of it, and the part.
fn select(operand: &Operand, signed: bool) -> Lowered<(Operand, video::Part)> {
    let whole =
        |operand: &Operand| (operand.clone(), video::Part { position: 0, bits: 32, signed });
    match operand {
        Operand::Part { register, index, bytes } if index * bytes < 4 => {
            let bits = 8 * u32::from(*bytes);
            let part = video::Part { position: u32::from(*index) * bits, bits, signed };
            Ok((Operand::Register(*register), part))
        }
        Operand::Part { .. } => Err("a register has no such part".to_owned()),
        Operand::Lanes { .. } => Err("a single byte or half-word is needed here".to_owned()),
        operand => Ok(whole(operand)),
    }
}

/// A 64-bit row with an extracted input.
fn input(builder: &mut Builder<'_>, operand: &Operand, signed: bool) -> Lowered<u32> {
    let (register, part) = select(operand, signed)?;
    let word = builder.value(&register, T::U32)?;
    let row = builder.temporary(Width::W64);
    builder.emit(Code::VideoExtract, part.encode(), row, [word, 0, 0]);
    Ok(row)
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`.
pub(super) fn scalar(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let [a_signed, b_signed, signed] = signs(instruction);
    let saturates = instruction.has(M::Sat);
    let a = input(builder, operand(instruction, 1)?, a_signed)?;
    let b = input(builder, operand(instruction, 2)?, b_signed)?;
    let wrap = if instruction.has(M::Wrap) { video::WRAP } else { 0 };
    let (code, n) = match (instruction.opcode, operation(instruction)) {
        (Opcode::Vshl, _) => (Code::VideoShl, wrap),
        (Opcode::Vshr, _) => (Code::VideoShr, wrap),
        (_, Some(operation)) => (Code::VideoPrimary, video::encode_operation(operation)),
        (_, None) => return Err("the comparison is missing".to_owned()),
    };
    let shifts = code != Code::VideoPrimary;
    let mut value = builder.temporary(Width::W64);
    builder.emit(code, n, value, [a, b, 0]);
    let (destination, part) = select(operand(instruction, 0)?, signed)?;
    if saturates {
        let n = part.encode() | if shifts { video::SHIFTED } else { 0 };
        let clamped = builder.temporary(Width::W64);
        builder.emit(Code::VideoSaturate, n, clamped, [value, 0, 0]);
        value = clamped;
    }
    // Sums, differences and clamped shifts reach the second stage as signed words, other values
    // with all their bits.
    let is_word = if shifts {
        saturates
    } else {
        matches!(operation(instruction), Some(Operation::Add | Operation::Subtract))
    };
    if let Some(code) = secondary(instruction, signed) {
        let c = input(builder, operand(instruction, 3)?, signed)?;
        if is_word {
            let word = builder.temporary(Width::W32);
            builder.emit(Code::Low32, 0, word, [value, 0, 0]);
            value = builder.temporary(Width::W64);
            builder.emit(Code::SignExtend32To64, 0, value, [word, 0, 0]);
        }
        let primary = std::mem::replace(&mut value, builder.temporary(Width::W64));
        builder.emit(code, 0, value, [primary, c, 0]);
    }
    if part.bits == 32 {
        return builder.define(&destination, T::U32, |builder, row| {
            builder.emit(Code::Low32, 0, row, [value, 0, 0]);
            Ok(())
        });
    }
    let c = builder.value(operand(instruction, 3)?, T::U32)?;
    builder.define(&destination, T::U32, |builder, row| {
        builder.emit(Code::VideoMerge, part.encode(), row, [value, c, 0]);
        Ok(())
    })
}

/// The code that combines the first stage's 64 bits with `c`, if the instruction does.
fn secondary(instruction: &Instruction, signed: bool) -> Option<Code> {
    instruction.modifiers.iter().find_map(|modifier| match (modifier, signed) {
        (M::Add, _) => Some(Code::Add64),
        (M::Min, true) => Some(Code::MinS64),
        (M::Max, true) => Some(Code::MaxS64),
        (M::Min, false) => Some(Code::MinU64),
        (M::Max, false) => Some(Code::MaxU64),
        _ => None,
    })
}

/// `vmad`.
pub(super) fn multiply_add(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let [a_signed, b_signed, _] = signs(instruction);
    let mut negated = [false; 3];
    let mut sources = Vec::new();
    for (index, negated) in negated.iter_mut().enumerate() {
        sources.push(match operand(instruction, index + 1)? {
            Operand::Negative(inner) => {
                *negated = true;
                (**inner).clone()
            }
            other => other.clone(),
        });
    }
    let [a, b, c] = &sources[..] else {
        return Err("vmad needs three operands".to_owned());
    };
    let plus_one = instruction.has(M::PlusOne);
    let [a_negated, b_negated, negate_addend] = negated;
    let negate_product = a_negated != b_negated;
    if plus_one && (a_negated || b_negated || negate_addend) {
        return Err("operands of vmad.po cannot be negated".to_owned());
    }
    if negate_product && negate_addend {
        return Err("vmad negates either its product or its addend".to_owned());
    }
    let how = MultiplyAdd {
        negate_product,
        negate_addend,
        plus_one,
        signed: a_signed || b_signed || negate_product || negate_addend,
        saturate: instruction.has(M::Sat),
        shift: match () {
            () if instruction.has(M::Shr7) => 7,
            () if instruction.has(M::Shr15) => 15,
            () => 0,
        },
    };
    let rows = [input(builder, a, a_signed)?, input(builder, b, b_signed)?];
    let c = builder.value(c, T::U32)?;
    builder.define(operand(instruction, 0)?, T::U32, |builder, row| {
        let n = video::encode_multiply_add(how);
        builder.emit(Code::VideoMad, n, row, [rows[0], rows[1], c]);
        Ok(())
    })
}

/// The lanes that take part, one bit for each, and the destination without them.
fn mask(operand: &Operand, bits: u32) -> Lowered<(Operand, u32)> {
    let all = (1 << (32 / bits)) - 1;
    let (register, lanes, bytes) = match operand {
        Operand::Part { register, index, bytes } => (*register, vec![*index], *bytes),
        Operand::Lanes { register, lanes, bytes } => (*register, lanes.to_vec(), *bytes),
        other => return Ok((other.clone(), all)),
    };
    let mask = lanes.iter().fold(0, |mask, &lane| mask | 1 << lane);
    if 8 * u32::from(bytes) != bits || mask & !all != 0 {
        return Err("the destination has no such lanes".to_owned());
    }
    Ok((Operand::Register(register), mask))
}

/// The operand's register and the selector for `prmt` of its lanes among those of `a` and `b`;
/// `default` if it selects none.
fn lanes(operand: &Operand, bits: u32, default: u64) -> Lowered<(Operand, u64)> {
    let Operand::Lanes { register, lanes, bytes } = operand else {
        return match operand {
            Operand::Part { .. } => Err("a selection for every lane is needed".to_owned()),
            other => Ok((other.clone(), default)),
        };
    };
    if 8 * u32::from(*bytes) != bits || lanes.len() as u32 != 32 / bits {
        return Err("a selection for every lane is needed".to_owned());
    }
    // Lanes are written from the highest down; each becomes one nibble for each of its bytes.
    let selector = lanes.iter().fold(0, |selector, &lane| {
        let lane = u64::from(lane);
        match bits {
            8 => selector << 4 | lane,
            _ => selector << 8 | (2 * lane + 1) << 4 | (2 * lane),
        }
    });
    Ok((Operand::Register(*register), selector))
}

/// The two- and four-lane instructions.
pub(super) fn simd(builder: &mut Builder<'_>, instruction: &Instruction, bits: u32) -> Lowered<()> {
    let operation = operation(instruction).ok_or("the comparison is missing")?;
    let (destination, mask) = mask(operand(instruction, 0)?, bits)?;
    let (a, a_lanes) = lanes(operand(instruction, 1)?, bits, 0x3210)?;
    let (b, b_lanes) = lanes(operand(instruction, 2)?, bits, 0x7654)?;
    let (a, b) = (builder.value(&a, T::U32)?, builder.value(&b, T::U32)?);
    let c = builder.value(operand(instruction, 3)?, T::U32)?;
    let [a, b] = [a_lanes, b_lanes].map(|selector| {
        let selector = builder.bits(selector, Width::W32);
        let row = builder.temporary(Width::W32);
        builder.emit(Code::Prmt, 0, row, [a, b, selector]);
        row
    });
    let how = Simd {
        operation,
        bits,
        signed: signs(instruction),
        saturate: instruction.has(M::Sat),
        accumulate: instruction.has(M::Add),
        mask,
    };
    builder.define(&destination, T::U32, |builder, row| {
        builder.emit(Code::VideoSimd, video::encode_simd(how), row, [a, b, c]);
        Ok(())
    })
}
