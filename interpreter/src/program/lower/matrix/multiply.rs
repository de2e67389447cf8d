//! `wmma.mma`, `mma` and `mma.sp`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Immediate, Instruction, Operand};

use super::super::super::matrix_op::{
    Accumulator, Arithmetic, Fragment, MatrixOp, Multiply, Scale, Sparse,
};
use super::super::builder::{Builder, Lowered, Width, operand};
use super::{destinations, emit, shape, sources};
use crate::semantics::matrix::Shape;
use crate::semantics::matrix::element::Format;
use crate::semantics::matrix::fragment::{self, FragmentElement, quad_pairs};
use crate::semantics::matrix::product::BitOperation;
use crate::semantics::matrix::scale::ScaleFormat;
use crate::semantics::matrix::sparse::{Metadata, Sparsity};
use crate::semantics::rounding::Mode;

/// The types of D, A, B, C and of the block scales.
struct Types {
    d: T,
    a: T,
    b: T,
    c: T,
    scale: Option<T>,
}

fn types(instruction: &Instruction) -> Lowered<Types> {
    let types: Vec<T> = instruction.types().collect();
    match types[..] {
        // `wmma.mma` on halves names the accumulators only.
        [d, c] => Ok(Types { d, a: T::F16, b: T::F16, c, scale: None }),
        [d, a, b, c] => Ok(Types { d, a, b, c, scale: None }),
        [d, a, b, c, scale] => Ok(Types { d, a, b, c, scale: Some(scale) }),
        _ => Err("the types of the matrices are missing".to_owned()),
    }
}

/// The format of A's and B's elements.
pub(super) fn format(instruction: &Instruction, ty: T) -> Lowered<Format> {
    let packed = instruction.has(M::KindMxf4) || instruction.has(M::KindMxf4nvf4);
    Ok(match ty {
        T::F16 => Format::F16,
        T::Bf16 => Format::Bf16,
        T::Tf32 => Format::Tf32,
        T::F64 => Format::F64,
        T::E4m3 => Format::E4m3,
        T::E5m2 => Format::E5m2,
        T::E3m2 => Format::E3m2,
        T::E2m3 => Format::E2m3,
        T::E2m1 if packed => Format::E2m1,
        T::E2m1 => Format::E2m1InByte,
        T::U8 => Format::U8,
        T::S8 => Format::S8,
        T::U4 => Format::U4,
        T::S4 => Format::S4,
        T::B1 => Format::B1x32,
        other => return Err(format!("matrices of {} are not executed", other.text())),
    })
}

fn arithmetic(instruction: &Instruction, types: &Types) -> Lowered<Arithmetic> {
    let saturate = instruction.has(M::Satfinite);
    let accumulator = |ty| match ty {
        T::F16 => Ok(Accumulator::F16),
        T::F32 => Ok(Accumulator::F32),
        other => Err(format!("accumulators of {} are not executed", other.text())),
    };
    Ok(match types.a {
        T::F64 => {
            let modes = [(M::Rz, Mode::Zero), (M::Rm, Mode::Down), (M::Rp, Mode::Up)];
            let mode = modes.into_iter().find(|&(modifier, _)| instruction.has(modifier));
            Arithmetic::Double { mode: mode.map_or(Mode::NearestEven, |(_, mode)| mode) }
        }
        T::B1 if instruction.has(M::And) => Arithmetic::Bits { operation: BitOperation::And },
        T::B1 => Arithmetic::Bits { operation: BitOperation::Xor },
        T::U8 | T::S8 | T::U4 | T::S4 => Arithmetic::Integer { saturate },
        _ => Arithmetic::Float { c: accumulator(types.c)?, d: accumulator(types.d)?, saturate },
    })
}

/// A fragment in `rows`, of a matrix with `elements` elements in all: element `i` of `lane` lies at
/// index `place(lane, i)`.
fn fragment(
    mut rows: Vec<u32>,
    elements: u32,
    per_register: u32,
    place: impl Fn(u32, u32) -> u32,
) -> Lowered<Fragment> {
    let needed = elements / 32 / per_register;
    if (rows.len() as u32) < needed {
        return Err(format!("{} registers are given where {needed} are needed", rows.len()));
    }
    // The rest are copies.
    rows.truncate(needed as usize);
    let mut places = Vec::new();
    for register in 0..needed {
        for lane in 0..32 {
            for element in 0..per_register {
                places.push(place(lane, register * per_register + element) as u16);
            }
        }
    }
    let consecutive = |run: &[u16; 8]| run.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let has_runs = places.as_chunks::<8>().0.iter().all(consecutive);
    Ok(Fragment { rows, places, has_runs })
}

/// `wmma.mma`, `mma` and `mma.sp`.
pub(in super::super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    if !builder.computes {
        emit(builder, MatrixOp::CountedOnly);
        return Ok(());
    }
    let types = types(instruction)?;
    let mut shape = shape(instruction)?;
    let (a_format, b_format) = (format(instruction, types.a)?, format(instruction, types.b)?);
    let sparse = instruction.opcode != Opcode::Mma && instruction.opcode != Opcode::WmmaMma;
    if a_format == Format::B1x32 {
        shape.k /= 32;
    }
    let quads = instruction.has(M::M8n8k4) && a_format == Format::F16;
    let products = if quads { 4 } else { 1 };
    let wide = a_format == Format::F64;
    let (register, width) = if wide { (T::F64, Width::W64) } else { (T::B32, Width::W32) };

    let d_rows = destinations(builder, operand(instruction, 0)?, width)?;
    let a_rows = sources(builder, operand(instruction, 1)?, register)?;
    let b_rows = sources(builder, operand(instruction, 2)?, register)?;
    let c_type = if types.c == T::F32 { T::F32 } else { register };
    let c_rows = sources(builder, operand(instruction, 3)?, c_type)?;

    let mut layouts = instruction.modifiers.iter().filter(|m| matches!(m, M::Row | M::Col));
    let column_major = [layouts.next(), layouts.next()].map(|layout| layout == Some(&M::Col));
    let index = |place: FragmentElement, rows: u32, columns: u32| {
        (place.product * rows + place.row) * columns + place.column
    };
    let stored = Shape { k: if sparse { shape.k / 2 } else { shape.k }, ..shape };
    let a = fragment(a_rows, products * shape.m * stored.k, a_format.per_register(), |lane, i| {
        match quads {
            true => index(quad_pairs::a(column_major[0], lane, i), shape.m, shape.k),
            false => {
                index(fragment::a(stored, a_format.per_register(), lane, i), shape.m, stored.k)
            }
        }
    })?;
    let b = fragment(b_rows, products * shape.k * shape.n, b_format.per_register(), |lane, i| {
        match quads {
            true => index(quad_pairs::b(column_major[1], lane, i), shape.k, shape.n),
            false => index(fragment::b(shape, b_format.per_register(), lane, i), shape.k, shape.n),
        }
    })?;
    let accumulator = |rows, ty: T| {
        let per_register = if ty == T::F16 { 2 } else { 1 };
        fragment(rows, products * shape.m * shape.n, per_register, |lane, i| {
            let place = match (quads, ty) {
                (true, T::F16) => quad_pairs::accumulator_f16(lane, i),
                (true, _) => quad_pairs::accumulator_f32(lane, i),
                (false, _) => fragment::accumulator(shape, lane, i),
            };
            index(place, shape.m, shape.n)
        })
    };
    let op = Multiply {
        shape,
        products,
        a,
        a_format,
        b,
        b_format,
        c: accumulator(c_rows, types.c)?,
        d: accumulator(d_rows, types.d)?,
        arithmetic: arithmetic(instruction, &types)?,
        sparse: if sparse {
            Some(metadata(builder, instruction, shape, a_format, 4)?)
        } else {
            None
        },
        scales: match types.scale {
            Some(ty) => Some(scales(builder, instruction, ty, if sparse { 6 } else { 4 })?),
            None => None,
        },
    };
    emit(builder, MatrixOp::Multiply(Box::new(op)));
    Ok(())
}

/// The metadata operands of `mma.sp` and the like, from operand `first` on.
pub(super) fn metadata(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    shape: Shape,
    format: Format,
    first: usize,
) -> Lowered<Sparse> {
    let sparsity = match format {
        Format::Tf32 => Sparsity::OneOfTwo,
        Format::U4 | Format::S4 | Format::E2m1 => Sparsity::PairsOfFour,
        _ => Sparsity::TwoOfFour,
    };
    let layout = Metadata {
        chunks: shape.k / sparsity.chunk(),
        rows_share_registers: format.per_register() <= 2,
    };
    let Operand::Immediate(Immediate::Integer(selector)) = *operand(instruction, first + 1)? else {
        return Err("the sparsity selector is not a constant".to_owned());
    };
    let selector = u32::try_from(selector).ok().filter(|&s| layout.is_selector_valid(s));
    let Some(selector) = selector else {
        let most = 4 / layout.lanes() - 1;
        return Err(format!("the sparsity selector of this form must be at most {most}"));
    };
    Ok(Sparse {
        metadata: builder.value(operand(instruction, first)?, T::B32)?,
        selector,
        layout,
        sparsity,
        ordered: instruction.opcode == Opcode::MmaSpOrderedMetadata,
    })
}

/// The operands of block scaling, from operand `first` on, checked against the manual's table 36.
fn scales(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    ty: T,
    first: usize,
) -> Lowered<[Scale; 2]> {
    let stated = [(M::ScaleVec1x, 1), (M::ScaleVec2x, 2), (M::ScaleVec4x, 4)];
    let stated = stated.into_iter().find(|&(m, _)| instruction.has(m)).map(|(_, blocks)| blocks);
    let format = match ty {
        T::Ue8m0 => ScaleFormat::Ue8m0,
        T::Ue4m3 => ScaleFormat::Ue4m3,
        other => return Err(format!("block scales of {} are not executed", other.text())),
    };
    let blocks = if instruction.has(M::KindMxf8f6f4) {
        stated.or(Some(1)).filter(|&blocks| blocks == 1 && format == ScaleFormat::Ue8m0)
    } else if instruction.has(M::KindMxf4) {
        stated.or(Some(2)).filter(|&blocks| blocks == 2 && format == ScaleFormat::Ue8m0)
    } else {
        stated.filter(|&blocks| blocks == 4 || blocks == 2 && format == ScaleFormat::Ue8m0)
    };
    let Some(blocks) = blocks else {
        return Err("PTX does not combine this kind with these block scales".to_owned());
    };
    let mut scale = |at: usize| {
        let data = builder.value(operand(instruction, at)?, T::B32)?;
        let selectors = sources(builder, operand(instruction, at + 1)?, T::U16)?;
        let [byte_id, thread_id] = selectors[..] else {
            return Err("a byte and a thread selector are needed".to_owned());
        };
        Ok(Scale { data, byte_id, thread_id, blocks, format })
    };
    Ok([scale(first)?, scale(first + 2)?])
}
