//! `tcgen05`: instructions of tensor memory.

mod multiply;
mod transfer;

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode as O};
use gpucast_ptx_frontend::module::{Immediate, Instruction, Operand};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::asynchronous::MbarrierAction;
use super::super::memory_op::MemoryOp;
use super::super::op::{ALIGNED, Code, MEMBERS};
use super::super::side_tables;
use super::super::tensor_memory_op::{Allocate, CopyFromShared, ShiftRows, Spread, TensorMemoryOp};
use super::builder::{Builder, Lowered, Width, operand};
use super::{mbarrier, memory};
use crate::access_kind::AccessKind;
use crate::semantics::matrix::transfer::Packing;
use crate::semantics::tensor_memory::{CAPACITY, COLUMNS};

/// Any `tcgen05` instruction that does something.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    match instruction.opcode {
        O::Tcgen05Alloc => {
            let stated = Some(StateSpace::Shared).filter(|_| instruction.has(M::SharedCta));
            let kind = AccessKind::Store;
            let destination = memory::address(builder, instruction, 0, stated, kind, T::B32)?;
            let columns = builder.value(operand(instruction, 1)?, T::U32)?;
            let pair = instruction.has(M::CtaGroup2);
            let exclusive =
                instruction.has(M::Exclusive).then(|| most_columns(builder.module.target_sm));
            let op = Allocate { destination, columns, pair, exclusive };
            emit_for_warp(builder, TensorMemoryOp::Allocate(Box::new(op)));
        }
        O::Tcgen05Dealloc => {
            let address = builder.value(operand(instruction, 0)?, T::B32)?;
            let columns = builder.value(operand(instruction, 1)?, T::U32)?;
            let exclusive = instruction.has(M::Exclusive);
            emit_for_warp(builder, TensorMemoryOp::Free { address, columns, exclusive });
        }
        O::Tcgen05RelinquishAllocPermit => emit_for_warp(builder, TensorMemoryOp::Relinquish),
        O::Tcgen05Ld
        | O::Tcgen05LdRed
        | O::Tcgen05LdSpcompress
        | O::Tcgen05LdRedSpcompress
        | O::Tcgen05St => transfer::lower(builder, instruction)?,
        O::Tcgen05Cp => copy(builder, instruction)?,
        O::Tcgen05Shift => {
            let op = ShiftRows {
                address: address(builder, operand(instruction, 0)?)?,
                computes: builder.computes,
                pair: instruction.has(M::CtaGroup2),
            };
            emit(builder, TensorMemoryOp::Shift(Box::new(op)));
        }
        O::Tcgen05Commit => commit(builder, instruction)?,
        O::Tcgen05WaitLd => emit(builder, TensorMemoryOp::Wait { loads: true }),
        O::Tcgen05WaitSt => emit(builder, TensorMemoryOp::Wait { loads: false }),
        _ => multiply::lower(builder, instruction)?,
    }
    Ok(())
}

/// The most columns that an exclusive allocation may take on a target (table 58 of PTX ISA 9.4).
const fn most_columns(sm: u32) -> u32 {
    if sm == 107 { CAPACITY } else { COLUMNS }
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

/// `tcgen05.commit`.
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
    let (action, kind) = (MbarrierAction::Commit, AccessKind::Reduction);
    mbarrier::emit_to(builder, instruction, (0, multicast), kind, action, 0)
}

/// A mask of 16 ranks as one of 32.
fn widen(builder: &mut Builder<'_>, mask: u32) -> u32 {
    let (low, wide) = (builder.bits(0xffff, Width::W32), builder.temporary(Width::W32));
    builder.emit_unguarded(Code::And32, wide, [mask, low, 0]);
    wide
}
