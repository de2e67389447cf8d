//! Bulk copies of ranges, `st.bulk`, stores and reductions that signal an mbarrier, requests for
//! the work of other clusters, and cache policies.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode, SpecialRegister};
use gpucast_ptx_frontend::module::{Instruction, Operand};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::asynchronous::{BulkOp, BulkSize, MbarrierAction};
use super::super::memory_op::{Atomic, AtomicOperation, Space};
use super::super::op::Code;
use super::super::side_tables;
use super::async_copy::literal;
use super::builder::{Builder, Lowered, Width, operand};
use super::{mbarrier, memory};
use crate::access_kind::AccessKind;
use crate::tensor_map;

/// `cp.async.bulk`, `cp.reduce.async.bulk`, and both with `multimem`.
pub(super) fn copy(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let mut spaces = instruction.modifiers.iter().filter_map(|modifier| modifier.as_space());
    let (to, from) = (spaces.next(), spaces.next());
    // If data of a certain pattern is reported as not valid, later waits would have to say so.
    let reports = |modifier: &M| modifier.text().starts_with("mbarrier::report::validity");
    if instruction.modifiers.iter().any(reports) {
        return Err("reports about the data of bulk copies are not made yet".to_owned());
    }
    let reduction = reduction(instruction)?;
    let kind = if reduction.is_some() { AccessKind::Reduction } else { AccessKind::Store };
    let ty = reduction.map_or(T::B128, |(_, ty)| ty);
    let mut destination = memory::address(builder, instruction, 0, to, kind, ty)?;
    destination.atomic = reduction.map(|(operation, _)| Atomic {
        operation,
        operands: [0; 8],
        compare: None,
        destinations: [None; 8],
    });
    let source = memory::address(builder, instruction, 1, from, AccessKind::Load, T::B128)?;
    let size = builder.value(operand(instruction, 2)?, T::U32)?;
    let ignored = if instruction.has(M::IgnoreOob) {
        let [left, right] = [3, 4].map(|index| operand(instruction, index));
        Some([builder.value(left?, T::U32)?, builder.value(right?, T::U32)?])
    } else {
        None
    };
    let signals = instruction.has(M::MbarrierCompleteTxBytes);
    let mbarrier = if signals {
        let (stated, kind) = (Some(StateSpace::Shared), AccessKind::Reduction);
        let index = if ignored.is_some() { 5 } else { 3 };
        Some(memory::address(builder, instruction, index, stated, kind, T::B64)?)
    } else {
        None
    };
    let multicast = instruction.modifiers.iter().find_map(|modifier| match modifier {
        M::MulticastCluster | M::MulticastCluster16b => Some(T::U16),
        M::MulticastCluster32b => Some(T::U32),
        _ => None,
    });
    let multicast = match multicast {
        Some(ty) => Some(builder.value(operand(instruction, 4)?, ty)?),
        None => None,
    };
    let byte_mask = match instruction.operands.last() {
        Some(mask) if instruction.has(M::CpMask) => Some(builder.value(mask, T::U16)?),
        _ => None,
    };
    emit(
        builder,
        BulkOp {
            destination,
            source: Some(source),
            size: BulkSize { row: size, wide: false, multiple_of: 16 },
            mbarrier,
            multicast,
            byte_mask,
            ignored,
            own: signals && instruction.modifiers.iter().all(|&m| m != M::SharedCluster),
            once: false,
        },
    )
}

/// The reduction of `cp.reduce.async.bulk` and the like, and its type.
fn reduction(instruction: &Instruction) -> Lowered<Option<(AtomicOperation, T)>> {
    if matches!(instruction.opcode, Opcode::CpAsyncBulk | Opcode::MultimemCpAsyncBulk) {
        return Ok(None);
    }
    let ty = instruction.types().last().ok_or("the type is missing")?;
    let operation = AtomicOperation::of(instruction, ty)
        .ok_or_else(|| format!("this reduction of {} is not executed yet", ty.text()))?;
    Ok(Some((operation, ty)))
}

fn emit(builder: &mut Builder<'_>, op: BulkOp) -> Lowered<()> {
    // A variable's name says the space where the instruction names none. A copy that completes
    // on an mbarrier is held back as a place in shared memory.
    match op.destination.space {
        Space::Shared | Space::Generic => {}
        Space::Global if op.mbarrier.is_none() => {}
        _ => return Err("the destination must be in shared memory".to_owned()),
    }
    let index = side_tables::add(&mut builder.tables.bulk_ops, op);
    builder.emit(Code::Bulk, 0, 0, [index, 0, 0]);
    Ok(())
}

/// `st.bulk`: zeros in the CTA's own shared memory.
pub(super) fn store(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    if literal(instruction, 2)? != 0 {
        return Err("st.bulk stores zeros only".to_owned());
    }
    let stated = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    let destination = memory::address(builder, instruction, 0, stated, AccessKind::Store, T::B64)?;
    let size = builder.value(operand(instruction, 1)?, T::B64)?;
    emit(
        builder,
        BulkOp {
            destination,
            source: None,
            size: BulkSize { row: size, wide: true, multiple_of: 8 },
            mbarrier: None,
            multicast: None,
            byte_mask: None,
            ignored: None,
            own: true,
            once: false,
        },
    )
}

/// `tensormap.cp_fenceproxy`: a warp copies a tensor map.
pub(super) fn copy_tensor_map(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let (to, from) = (Some(StateSpace::Global), Some(StateSpace::Shared));
    let destination = memory::address(builder, instruction, 0, to, AccessKind::Store, T::B128)?;
    let source = memory::address(builder, instruction, 1, from, AccessKind::Load, T::B128)?;
    let row = builder.bits(tensor_map::BYTES as u64, Width::W32);
    emit(
        builder,
        BulkOp {
            destination,
            source: Some(source),
            size: BulkSize { row, wide: false, multiple_of: tensor_map::BYTES as u32 },
            mbarrier: None,
            multicast: None,
            byte_mask: None,
            ignored: None,
            own: false,
            once: true,
        },
    )
}

/// `st.async`: a store, then the bytes are counted.
pub(super) fn store_async(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    memory::store(builder, instruction)?;
    signal(builder, instruction)
}

/// `red.async`: a reduction, then the bytes are counted.
pub(super) fn reduce_async(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    memory::atomic(builder, instruction)?;
    signal(builder, instruction)
}

/// Tells the mbarrier, if there is one, of the bytes that each lane has written.
fn signal(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    if !instruction.has(M::MbarrierCompleteTxBytes) {
        return Ok(());
    }
    let elements = match operand(instruction, 1)? {
        Operand::Vector(elements) => elements.len() as u64,
        _ if instruction.has(M::V4) => 4,
        _ if instruction.has(M::V2) => 2,
        _ => 1,
    };
    let ty = instruction.types().last().ok_or("the type is missing")?;
    let bytes = builder.bits(elements * u64::from(ty.bytes()), Width::W32);
    let action = MbarrierAction::CompleteTx { bytes };
    mbarrier::emit(builder, instruction, 2, AccessKind::Reduction, action, 0)
}

/// `clusterlaunchcontrol.try_cancel`: the request to take over the work of a cluster that has not
/// been launched yet. Here it always fails, as it may on a GPU, so that every CTA does its own
/// work: sixteen zero bytes are the answer, and the mbarrier is told of them. With
/// `.multicast::cluster::all`, each CTA of the cluster gets them at the same place.
pub(super) fn try_cancel(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let to_all = instruction.has(M::MulticastClusterAll);
    let stated = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    let destination = memory::address(builder, instruction, 0, stated, AccessKind::Store, T::B128)?;
    let mbarrier = memory::address(builder, instruction, 1, stated, AccessKind::Reduction, T::B64)?;
    let row = builder.bits(16, Width::W32);
    let multicast = match to_all {
        true => Some(all_ranks(builder)?),
        false => None,
    };
    emit(
        builder,
        BulkOp {
            destination,
            source: None,
            size: BulkSize { row, wide: false, multiple_of: 16 },
            mbarrier: Some(mbarrier),
            multicast,
            byte_mask: None,
            ignored: None,
            own: !to_all,
            once: false,
        },
    )
}

/// A mask of the ranks of the cluster's CTAs.
fn all_ranks(builder: &mut Builder<'_>) -> Lowered<u32> {
    let count = builder.value(&Operand::Special(SpecialRegister::ClusterNctarank), T::U32)?;
    let [beyond, mask] = [(); 2].map(|()| builder.temporary(Width::W32));
    let one = builder.bits(1, Width::W32);
    builder.emit_unguarded(Code::Shl32, beyond, [one, count, 0]);
    builder.emit_unguarded(Code::Sub32, mask, [beyond, one, 0]);
    Ok(mask)
}

/// `clusterlaunchcontrol.query_cancel` of an answer of [`try_cancel`]: nothing was cancelled, and
/// the coordinates of no CTA are zero.
pub(super) fn query_cancel(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let destination = operand(instruction, 0)?;
    if instruction.has(M::Pred) {
        let predicate = builder.predicate_destination(destination)?;
        builder.emit(Code::PredicateConstant, 0, predicate, [0; 3]);
        return Ok(());
    }
    let results = match destination {
        Operand::Vector(results) => &results[..],
        result => std::slice::from_ref(result),
    };
    let zero = builder.bits(0, Width::W32);
    for result in results.iter().filter(|result| **result != Operand::Sink) {
        builder.define(result, T::B32, |builder, row| {
            builder.emit(Code::Mov32, 0, row, [zero, 0, 0]);
            Ok(())
        })?;
    }
    Ok(())
}
