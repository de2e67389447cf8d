//! Warp-level matrix instructions: everything that the modifiers decide becomes tables here.

pub(super) mod fragment;
pub(super) mod multiply;
pub(super) mod warpgroup;

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::matrix_op::{MatrixOp, RowTransfer};
use super::super::op::{ALIGNED, Code, MEMBERS};
use super::super::side_tables;
use super::builder::{Builder, Lowered, Slot, Width, operand};
use super::memory;
use crate::access_kind::AccessKind;
use crate::semantics::matrix::Shape;
use crate::semantics::matrix::transfer::{Packing, RowFormat};

/// Waits for all lanes of the warp, then executes `op`.
fn emit(builder: &mut Builder<'_>, op: MatrixOp) {
    let everyone = builder.bits(u64::from(u32::MAX), Width::W32);
    builder.emit(Code::WarpSync, MEMBERS | ALIGNED, 0, [everyone, 0, 0]);
    let index = side_tables::add(&mut builder.tables.matrix_ops, op);
    builder.emit(Code::Matrix, 0, 0, [index, 0, 0]);
}

/// The extents that a modifier such as `.m16n8k16` states.
fn shape(instruction: &Instruction) -> Lowered<Shape> {
    let parse = |modifier: &M| {
        let (m, rest) = modifier.text().strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Shape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    };
    let shape = instruction.modifiers.iter().find_map(parse);
    shape.ok_or_else(|| "the shape is missing".to_owned())
}

/// Rows of the registers of an operand that is read.
pub(super) fn sources(builder: &mut Builder<'_>, operand: &Operand, ty: T) -> Lowered<Vec<u32>> {
    let elements = super::copy::elements(builder, operand);
    elements.iter().map(|element| builder.value(element, ty)).collect()
}

/// Rows of the registers of an operand that is written.
pub(super) fn destinations(
    builder: &mut Builder<'_>,
    operand: &Operand,
    width: Width,
) -> Lowered<Vec<u32>> {
    let elements = super::copy::elements(builder, operand);
    let row = |element: &Operand| {
        let (register, index) = match element {
            Operand::Register(register) => (*register, 0),
            Operand::Element(register, index) => (*register, *index),
            Operand::Sink => return Ok(builder.temporary(width)),
            other => return Err(format!("operand {other:?} cannot be written")),
        };
        match builder.slot_of(builder.function, register, index) {
            Slot::Row { row, bits } if bits == width.bits() => Ok(row),
            Slot::Row { bits, .. } => Err(format!(
                "a fragment's register has {bits} bits where {} are needed",
                width.bits()
            )),
            Slot::Predicate(_) => Err("a predicate cannot hold a fragment".to_owned()),
        }
    };
    elements.iter().map(row).collect()
}

/// `ldmatrix` and `stmatrix`.
pub(super) fn rows(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let store = instruction.opcode == Opcode::Stmatrix;
    let matrices = [(M::X2, 2), (M::X4, 4)];
    let matrices = matrices.into_iter().find(|&(x, _)| instruction.has(x)).map_or(1, |(_, n)| n);
    let format = if instruction.has(M::M16n16) {
        RowFormat::M16n16
    } else if instruction.has(M::M8n16) {
        RowFormat::M8n16
    } else if instruction.has(M::M16n8) {
        RowFormat::M16n8
    } else {
        RowFormat::M8n8B16 { transpose: instruction.has(M::Trans) }
    };
    let packing = if instruction.has(M::B6x16P32) {
        Packing::Six
    } else if instruction.has(M::B4x16P64) {
        Packing::Four
    } else if instruction.has(M::S4) {
        Packing::SignedFour
    } else {
        Packing::None
    };
    let (address, registers) = if store { (0, 1) } else { (1, 0) };
    let target = memory::target(builder, instruction, operand(instruction, address)?)?;
    let registers = operand(instruction, registers)?;
    let kind = if store { AccessKind::Store } else { AccessKind::Load };
    let lanes = u32::MAX >> (32 - matrices * format.rows());
    let row = if packing.row_bytes() == 8 { T::B64 } else { T::B128 };
    let mut access = memory::memory_op(builder, &target, kind, row);
    access.wide_registers = row == T::B64;
    if !access.moves {
        let (rows, places) = (Vec::new(), Vec::new());
        let transfer = RowTransfer { access, staging: 0, lanes, packing, rows, places };
        emit(builder, MatrixOp::Rows(Box::new(transfer)));
        return Ok(());
    }
    let rows = if store {
        sources(builder, registers, T::B32)?
    } else {
        destinations(builder, registers, Width::W32)?
    };
    if rows.len() as u32 != matrices * format.registers() {
        return Err(format!(
            "{} registers are given where {} are needed",
            rows.len(),
            matrices * format.registers()
        ));
    }
    let staging = builder.temporary(Width::of(row));
    access.rows[0] = Some(staging);
    let mut places = Vec::new();
    for matrix in 0..matrices {
        for register in 0..format.registers() {
            for lane in 0..32 {
                places.push([0, 1, 2, 3].map(|byte| {
                    let (row, byte) = format.place(lane, register, byte);
                    ((matrix * format.rows() + row) * 16 + byte) as u16
                }));
            }
        }
    }
    let transfer = RowTransfer { access, staging, lanes, packing, rows, places };
    emit(builder, MatrixOp::Rows(Box::new(transfer)));
    Ok(())
}

/// `movmatrix`.
pub(super) fn transpose(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    if !builder.computes {
        emit(builder, MatrixOp::CountedOnly);
        return Ok(());
    }
    let source = builder.value(operand(instruction, 1)?, T::B32)?;
    builder.define(operand(instruction, 0)?, T::B32, |builder, destination| {
        emit(builder, MatrixOp::Transpose { source, destination });
        Ok(())
    })
}
