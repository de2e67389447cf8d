//! `tcgen05`: instructions of tensor memory.

mod multiply;

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode as O};
use gpucast_ptx_frontend::module::{Immediate, Instruction, Operand};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::asynchronous::{Arrival, MbarrierAction};
use super::super::memory_op::MemoryOp;
use super::super::op::{ALIGNED, Code, MEMBERS};
use super::super::side_tables;
use super::super::tensor_memory_op::{
    Allocate, CopyFromShared, ReducedValues, Reduction, Spread, TensorMemoryOp, Transfer,
};
use super::builder::{Builder, Lowered, Width, operand};
use super::matrix::{destinations, sources};
use super::{mbarrier, memory};
use crate::access_kind::AccessKind;
use crate::semantics::matrix::transfer::Packing;
use crate::semantics::tensor_memory::fragment::Shape;

/// Any `tcgen05` instruction that does something.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    if instruction.has(M::Exclusive) {
        return Err("exclusive allocations are not executed yet".to_owned());
    }
    match instruction.opcode {
        O::Tcgen05Alloc => {
            let stated = Some(StateSpace::Shared).filter(|_| instruction.has(M::SharedCta));
            let kind = AccessKind::Store;
            let destination = memory::address(builder, instruction, 0, stated, kind, T::B32)?;
            let columns = builder.value(operand(instruction, 1)?, T::U32)?;
            let pair = instruction.has(M::CtaGroup2);
            let op = Allocate { destination, columns, pair };
            emit_for_warp(builder, TensorMemoryOp::Allocate(Box::new(op)));
        }
        O::Tcgen05Dealloc => {
            let address = builder.value(operand(instruction, 0)?, T::B32)?;
            let columns = builder.value(operand(instruction, 1)?, T::U32)?;
            emit_for_warp(builder, TensorMemoryOp::Free { address, columns });
        }
        O::Tcgen05RelinquishAllocPermit => emit_for_warp(builder, TensorMemoryOp::Relinquish),
        O::Tcgen05Ld | O::Tcgen05LdRed | O::Tcgen05St => transfer(builder, instruction)?,
        O::Tcgen05Cp => copy(builder, instruction)?,
        O::Tcgen05Commit => commit(builder, instruction)?,
        _ => multiply::lower(builder, instruction)?,
    }
    Ok(())
}

/// Waits for all lanes of the warp, then executes `op`.
fn emit_for_warp(builder: &mut Builder<'_>, op: TensorMemoryOp) {
    let everyone = builder.bits(u64::from(u32::MAX), Width::W32);
    builder.emit(Code::WarpSync, MEMBERS | ALIGNED, 0, [everyone, 0, 0]);
    emit(builder, op);
}

fn emit(builder: &mut Builder<'_>, op: TensorMemoryOp) {
    let index = side_tables::add(&mut builder.tables.tensor_memory_ops, op);
    builder.emit(Code::TensorMemory, 0, 0, [index, 0, 0]);
}

/// The making of an address of tensor memory.
fn address(builder: &mut Builder<'_>, operand: &Operand) -> Lowered<MemoryOp> {
    let space = Some(StateSpace::Shared);
    memory::address_of(builder, operand, space, AccessKind::Load, T::B32)
}

/// A constant operand that is no negative number.
fn constant(operand: &Operand, what: &str) -> Lowered<u32> {
    match operand {
        Operand::Immediate(Immediate::Integer(value)) => u32::try_from(*value).ok(),
        _ => None,
    }
    .ok_or_else(|| format!("{what} is not a constant"))
}

/// `tcgen05.ld`, `.ld.red` and `.st`.
fn transfer(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let is_store = instruction.opcode == O::Tcgen05St;
    let reduces = instruction.opcode == O::Tcgen05LdRed;
    let at = match (is_store, reduces) {
        (true, _) => 0,
        (_, false) => 1,
        (_, true) => 2,
    };
    let shapes = [
        (M::T32x32b, Shape::L32B32),
        (M::T16x64b, Shape::L16B64),
        (M::T16x128b, Shape::L16B128),
        (M::T16x256b, Shape::L16B256),
    ];
    let shape = match shapes.into_iter().find(|&(modifier, _)| instruction.has(modifier)) {
        Some((_, shape)) => shape,
        None => {
            let split = constant(operand(instruction, at + 1)?, "the distance of the halves")?;
            Shape::L16B32Twice { split }
        }
    };
    let repetitions =
        [M::X1, M::X2, M::X4, M::X8, M::X16, M::X32, M::X64, M::X128].into_iter().zip(0..);
    let repetitions = repetitions.into_iter().find(|&(modifier, _)| instruction.has(modifier));
    let repetitions = repetitions.map(|(_, log)| 1 << log).ok_or("the number is missing")?;
    let registers: u32 = shape.registers() * repetitions;
    let values = match (is_store, shape) {
        (false, _) => 0,
        (true, Shape::L16B32Twice { .. }) => 2,
        (true, _) => 1,
    };
    let values = operand(instruction, values)?;
    let given = memory::elements(builder, values).len() as u32;
    if given != registers {
        return Err(format!("{given} registers are given where {registers} are needed"));
    }
    let rows = match (builder.computes, is_store) {
        (false, _) => Vec::new(),
        (true, true) => sources(builder, values, T::B32)?,
        (true, false) => destinations(builder, values, Width::W32)?,
    };
    let packed = instruction.has(M::PackB16) || instruction.has(M::UnpackB16);
    let address = address(builder, operand(instruction, at)?)?;
    let mut op = Transfer { address, shape, packed, is_store, rows, registers, reduction: None };
    if !reduces {
        emit_for_warp(builder, TensorMemoryOp::Transfer(Box::new(op)));
        return Ok(());
    }
    let values = match instruction.types().next() {
        Some(T::F32) => {
            ReducedValues::F32 { magnitudes: instruction.has(M::Abs), nan: instruction.has(M::Nan) }
        }
        Some(T::U32) => ReducedValues::U32,
        _ => ReducedValues::S32,
    };
    let maximum = instruction.has(M::Max);
    builder.define(operand(instruction, 1)?, T::B32, |builder, row| {
        op.reduction = Some(Reduction { row, values, maximum });
        emit_for_warp(builder, TensorMemoryOp::Transfer(Box::new(op)));
        Ok(())
    })
}

/// `tcgen05.cp`.
fn copy(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let has = |modifier| instruction.has(modifier);
    let (rows, parts, spread) = if has(M::T128x256b) {
        (128, 2, Spread::Once)
    } else if has(M::T4x256b) {
        (4, 2, Spread::Quarters)
    } else if has(M::T128x128b) {
        (128, 1, Spread::Once)
    } else if has(M::T32x128b) {
        (32, 1, Spread::All)
    } else if has(M::Warpx2Rows0213) {
        (64, 1, Spread::Halves)
    } else {
        (64, 1, Spread::Neighbours)
    };
    let packing = if has(M::B6x16P32) {
        Packing::Six
    } else if has(M::B4x16P64) {
        Packing::Four
    } else {
        Packing::None
    };
    let op = CopyFromShared {
        instruction: builder.instruction,
        computes: builder.computes,
        address: address(builder, operand(instruction, 0)?)?,
        source: builder.value(operand(instruction, 1)?, T::B64)?,
        rows,
        parts,
        spread,
        packing,
        pair: has(M::CtaGroup2),
    };
    emit(builder, TensorMemoryOp::Copy(Box::new(op)));
    Ok(())
}

/// `tcgen05.commit`: everything before it is done, so that it arrives at once.
fn commit(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let multicast = [M::MulticastCluster, M::MulticastCluster16b, M::MulticastCluster32b];
    let multicast = if multicast.into_iter().any(|modifier| instruction.has(modifier)) {
        let wide = instruction.has(M::MulticastCluster32b);
        let ty = if wide { T::U32 } else { T::U16 };
        let mask = builder.value(operand(instruction, 1)?, ty)?;
        Some(if wide { mask } else { widen(builder, mask) })
    } else {
        None
    };
    let arrival = Arrival { count: None, expect_tx: None, drops: false, must_not_complete: false };
    let state = builder.temporary(Width::W64);
    let action = MbarrierAction::Arrive(arrival);
    let kind = AccessKind::Reduction;
    mbarrier::emit_to(builder, instruction, (0, multicast), kind, action, state)
}

/// A mask of 16 ranks as one of 32.
fn widen(builder: &mut Builder<'_>, mask: u32) -> u32 {
    let (low, wide) = (builder.bits(0xffff, Width::W32), builder.temporary(Width::W32));
    builder.emit_unguarded(Code::And32, wide, [mask, low, 0]);
    wide
}
