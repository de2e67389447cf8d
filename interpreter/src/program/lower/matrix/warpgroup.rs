//! `wgmma.mma_async` and `wgmma.mma_async.sp`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Immediate, Instruction, Operand};

use super::super::super::matrix_op::{
    Accumulator, Arithmetic, MatrixOp, WarpgroupA, WarpgroupMultiply,
};
use super::super::builder::{Builder, Lowered, Width, operand};
use super::super::copy::elements;
use super::multiply::{format, metadata};
use super::{destinations, emit, shape, sources};
use crate::semantics::matrix::element::Format;
use crate::semantics::matrix::product::BitOperation;
use crate::semantics::matrix::warpgroup::Major;

/// Rows of a warpgroup's product, and of one warp's part of it.
const ROWS: u32 = 64;
const ROWS_OF_WARP: u32 = 16;

/// `wgmma.fence`.
pub(in super::super) fn fence(builder: &mut Builder<'_>) {
    emit(builder, MatrixOp::WarpgroupFence);
}

/// `wgmma.mma_async` and `wgmma.mma_async.sp`.
pub(in super::super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let types: Vec<T> = instruction.types().collect();
    let [d_type, a_type, b_type] = types[..] else {
        return Err("the types of the matrices are missing".to_owned());
    };
    let mut shape = shape(instruction)?;
    if shape.m != ROWS {
        return Err("a warpgroup computes 64 rows".to_owned());
    }
    shape.m = ROWS_OF_WARP;
    let (a_format, b_format) = (format(instruction, a_type)?, format(instruction, b_type)?);
    if a_format == Format::B1x32 {
        shape.k /= 32;
    }
    let arithmetic = match (a_format, d_type) {
        (Format::B1x32, _) => Arithmetic::Bits { operation: BitOperation::And },
        (Format::U8 | Format::S8, _) => {
            Arithmetic::Integer { saturate: instruction.has(M::Satfinite) }
        }
        (_, ty) => {
            let d = if ty == T::F16 { Accumulator::F16 } else { Accumulator::F32 };
            Arithmetic::Float { c: d, d, saturate: false }
        }
    };
    let computes = builder.computes;
    let d = match computes {
        true => destinations(builder, operand(instruction, 0)?, Width::W32)?,
        // Nothing writes these.
        false => vec![0; elements(builder, operand(instruction, 0)?).len()],
    };
    let per_register = if d_type == T::F16 { 2 } else { 1 };
    let needed = shape.m * shape.n / 32 / per_register;
    if d.len() as u32 != needed {
        return Err(format!("{} registers are given where {needed} are needed", d.len()));
    }
    let a = operand(instruction, 1)?;
    let in_registers = elements(builder, a).len() > 1;
    let sparse = if instruction.opcode == Opcode::WgmmaMmaAsyncSp {
        Some(metadata(builder, instruction, shape, a_format, 3)?)
    } else {
        None
    };
    let scale_d = if sparse.is_some() { 5 } else { 3 };
    let mut immediates = instruction.operands.iter().skip(scale_d + 1).map(immediate);
    let mut next = || immediates.next().transpose();
    let (negate_a, negate_b) = (next()? == Some(-1), next()? == Some(-1));
    let major = |trans: Option<i64>| if trans == Some(1) { Major::MN } else { Major::K };
    let a = if in_registers && !computes {
        WarpgroupA::Registers([0; 4])
    } else if in_registers {
        let rows = sources(builder, a, T::B32)?;
        let rows = rows.try_into();
        WarpgroupA::Registers(rows.map_err(|_| "A needs four registers or a descriptor")?)
    } else {
        WarpgroupA::Descriptor { row: builder.value(a, T::B64)?, major: major(next()?) }
    };
    let b_major = major(next()?);
    let op = WarpgroupMultiply {
        instruction: builder.instruction,
        computes,
        shape,
        a,
        a_format,
        b: builder.value(operand(instruction, 2)?, T::B64)?,
        b_format,
        b_major,
        d,
        arithmetic,
        scale_d: builder.predicate(operand(instruction, scale_d)?)?,
        negate_a,
        negate_b,
        sparse,
    };
    emit(builder, MatrixOp::Warpgroup(Box::new(op)));
    Ok(())
}

/// A constant of the instruction: a sign, or whether a matrix is transposed.
fn immediate(operand: &Operand) -> Lowered<i64> {
    match operand {
        Operand::Immediate(Immediate::Integer(value)) => Ok(*value as i64),
        _ => Err("a sign or a transposition is not a constant".to_owned()),
    }
}
