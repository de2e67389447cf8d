//! `tcgen05.ld`, `.ld.red`, `.ld.spcompress`, `.ld.red.spcompress` and `tcgen05.st`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode as O};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::super::tensor_memory_op::{
    Compression, ReducedValues, Reduction, TensorMemoryOp, Transfer,
};
use super::super::builder::{Builder, Lowered, Width, operand};
use super::super::copy::elements;
use super::super::matrix::{destinations, sources};
use super::{address, constant, emit_for_warp};
use crate::semantics::sparse_vector::Selection;
use crate::semantics::tensor_memory::fragment::Shape;

/// Places of the operands of a transfer.
struct Places {
    /// The registers of the cells, or of those that are kept.
    values: usize,
    /// The indices of those that are kept.
    metadata: Option<usize>,
    /// The result of the reduction.
    reduced: Option<usize>,
    address: usize,
}

impl Places {
    fn of(instruction: &Instruction, has_split: bool) -> Self {
        let (values, metadata, reduced, address) = match instruction.opcode {
            O::Tcgen05St => (if has_split { 2 } else { 1 }, None, None, 0),
            O::Tcgen05LdRed => (0, None, Some(1), 2),
            O::Tcgen05LdSpcompress => (1, Some(0), None, 2),
            O::Tcgen05LdRedSpcompress => (1, Some(0), Some(2), 3),
            _ => (0, None, None, 1),
        };
        Self { values, metadata, reduced, address }
    }
}

pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let is_store = instruction.opcode == O::Tcgen05St;
    let shapes = [
        (M::T32x32b, Shape::L32B32),
        (M::T16x64b, Shape::L16B64),
        (M::T16x128b, Shape::L16B128),
        (M::T16x256b, Shape::L16B256),
    ];
    let shape = shapes.into_iter().find(|&(modifier, _)| instruction.has(modifier));
    let places = Places::of(instruction, shape.is_none());
    let shape = match shape {
        Some((_, shape)) => shape,
        None => {
            let split = operand(instruction, places.address + 1)?;
            Shape::L16B32Twice { split: constant(split, "the distance of the halves")? }
        }
    };
    let repetitions =
        [M::X1, M::X2, M::X4, M::X8, M::X16, M::X32, M::X64, M::X128].into_iter().zip(0..);
    let repetitions = repetitions.into_iter().find(|&(modifier, _)| instruction.has(modifier));
    let repetitions = repetitions.map(|(_, log)| 1 << log).ok_or("the number is missing")?;
    let registers: u32 = shape.registers() * repetitions;
    let values = operand(instruction, places.values)?;
    let given = elements(builder, values).len() as u32;
    let needed = if places.metadata.is_some() { registers / 2 } else { registers };
    if given != needed {
        return Err(format!("{given} registers are given where {needed} are needed"));
    }
    let mut rows = match (builder.computes, is_store) {
        (false, _) => Vec::new(),
        (true, true) => sources(builder, values, T::B32)?,
        (true, false) => destinations(builder, values, Width::W32)?,
    };
    let compression = match places.metadata {
        Some(metadata) if builder.computes => Some(Compression {
            selection: Selection {
                least: instruction.has(M::Min),
                magnitudes: instruction.has(M::Abs),
            },
            metadata: destinations(builder, operand(instruction, metadata)?, Width::W32)?,
            kept: std::mem::take(&mut rows),
        }),
        _ => None,
    };
    let packed = instruction.has(M::PackB16) || instruction.has(M::UnpackB16);
    let address = address(builder, operand(instruction, places.address)?)?;
    let op = Transfer {
        address,
        shape,
        packed,
        is_store,
        rows,
        registers,
        reduction: None,
        compression,
    };
    match places.reduced {
        None => {
            emit_for_warp(builder, TensorMemoryOp::Transfer(Box::new(op)));
            Ok(())
        }
        Some(place) => reduce(builder, instruction, operand(instruction, place)?, op),
    }
}

/// A transfer that reduces as well.
fn reduce(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    result: &Operand,
    mut op: Transfer,
) -> Lowered<()> {
    let values = match instruction.types().next() {
        Some(T::U32) => ReducedValues::U32,
        Some(T::S32) => ReducedValues::S32,
        _ => {
            ReducedValues::F32 { magnitudes: instruction.has(M::Abs), nan: instruction.has(M::Nan) }
        }
    };
    let maximum = instruction.has(M::Max);
    builder.define(result, T::B32, |builder, row| {
        op.reduction = Some(Reduction { row, values, maximum });
        emit_for_warp(builder, TensorMemoryOp::Transfer(Box::new(op)));
        Ok(())
    })
}
