//! `mbarrier` and `cp.async.mbarrier.arrive`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::asynchronous::{Arrival, MbarrierAction, MbarrierOp, PhaseWait};
use super::super::op::Code;
use super::super::side_tables;
use super::builder::{Builder, Lowered, Width, operand};
use super::memory;
use crate::access_kind::AccessKind;
use crate::semantics::mbarrier::{MAX_COUNT, PENDING_SHIFT};

/// Any instruction that accesses an mbarrier object.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    use MbarrierAction as A;
    match instruction.opcode {
        Opcode::MbarrierInit => {
            let count = builder.value(operand(instruction, 1)?, T::U32)?;
            let action = A::Init { count, layout_v1: instruction.has(M::LayoutV1) };
            emit(builder, instruction, 0, AccessKind::Store, action, 0)
        }
        Opcode::MbarrierCheckLayout => {
            let predicate = builder.predicate_destination(operand(instruction, 0)?)?;
            let action = A::CheckLayout { v1: instruction.has(M::LayoutV1) };
            emit(builder, instruction, 1, AccessKind::Load, action, predicate)
        }
        Opcode::MbarrierInval => emit(builder, instruction, 0, AccessKind::Store, A::Invalidate, 0),
        Opcode::MbarrierExpectTx => {
            let bytes = builder.value(operand(instruction, 1)?, T::U32)?;
            emit(builder, instruction, 0, AccessKind::Reduction, A::ExpectTx { bytes }, 0)
        }
        Opcode::MbarrierCompleteTx => {
            let bytes = builder.value(operand(instruction, 1)?, T::U32)?;
            emit(builder, instruction, 0, AccessKind::Reduction, A::CompleteTx { bytes }, 0)
        }
        Opcode::CpAsyncMbarrierArrive => {
            let action = A::ArriveWithCopies { counted: instruction.has(M::NoInc) };
            emit(builder, instruction, 0, AccessKind::Reduction, action, 0)
        }
        Opcode::MbarrierArrive | Opcode::MbarrierArriveDrop => arrive(builder, instruction),
        _ => wait(builder, instruction),
    }
}

fn arrive(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    // The mask of a multicast comes last.
    let multicast = usize::from(instruction.has(M::MulticastCluster32b));
    let values = instruction.operands.len().saturating_sub(multicast);
    let value = match instruction.operands[..values].get(2) {
        Some(value) => Some(builder.value(value, T::U32)?),
        None => None,
    };
    let expects = instruction.has(M::ExpectTx);
    let arrival = Arrival {
        count: value.filter(|_| !expects),
        expect_tx: value.filter(|_| expects),
        drops: instruction.opcode == Opcode::MbarrierArriveDrop,
        must_not_complete: instruction.has(M::NoComplete),
    };
    builder.define(operand(instruction, 0)?, T::B64, |builder, row| {
        let action = MbarrierAction::Arrive(arrival);
        emit(builder, instruction, 1, AccessKind::Atomic, action, row)
    })
}

fn wait(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let parity = instruction.has(M::Parity);
    let ty = if parity { T::U32 } else { T::B64 };
    let is_address = |operand: &Operand| matches!(operand, Operand::Address(_));
    let address = instruction.operands.iter().position(is_address).ok_or("no address is given")?;
    let phase = builder.value(operand(instruction, address + 1)?, ty)?;
    // A time limit is a hint in nanoseconds, of which there are none here.
    let suspends = instruction.opcode == Opcode::MbarrierTryWait;
    let complete = match operand(instruction, 0)? {
        Operand::Pair(pair) => {
            // No copy fails here, so that none is reported and the conditional phases are the
            // primary ones.
            let report = builder.predicate_destination(&pair[1])?;
            builder.emit(Code::PredicateConstant, 0, report, [0; 3]);
            &pair[0]
        }
        complete => complete,
    };
    if address == 2 {
        let zero = builder.bits(0, Width::W32);
        builder.define(operand(instruction, 1)?, T::B8, |builder, row| {
            builder.emit(Code::Mov32, 0, row, [zero, 0, 0]);
            Ok(())
        })?;
    }
    let predicate = builder.predicate_destination(complete)?;
    let action = MbarrierAction::Wait(PhaseWait { phase, parity, suspends });
    emit(builder, instruction, address, AccessKind::Load, action, predicate)
}

/// An operation on the object at operand `address`.
pub(super) fn emit(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    address: usize,
    kind: AccessKind,
    action: MbarrierAction,
    destination: u32,
) -> Lowered<()> {
    let multicast = match instruction.operands.last() {
        Some(ranks) if instruction.has(M::MulticastCluster32b) => {
            Some(builder.value(ranks, T::U32)?)
        }
        _ => None,
    };
    emit_to(builder, instruction, (address, multicast), kind, action, destination)
}

/// As [`emit`], with the row of the ranks in a multicast.
pub(super) fn emit_to(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    (address, multicast): (usize, Option<u32>),
    kind: AccessKind,
    action: MbarrierAction,
    destination: u32,
) -> Lowered<()> {
    let stated = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    let object = memory::address(builder, instruction, address, stated, kind, T::B64)?;
    let index = side_tables::add(
        &mut builder.tables.mbarrier_ops,
        MbarrierOp { object, action, multicast },
    );
    builder.emit(Code::Mbarrier, 0, destination, [index, 0, 0]);
    Ok(())
}

/// `mbarrier.pending_count`: a field of the state.
pub(super) fn pending_count(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let state = builder.value(operand(instruction, 1)?, T::B64)?;
    let shift = builder.bits(u64::from(PENDING_SHIFT), Width::W32);
    let field = builder.bits(u64::from(MAX_COUNT), Width::W32);
    let (shifted, low) = (builder.temporary(Width::W64), builder.temporary(Width::W32));
    builder.emit_unguarded(Code::ShrU64, shifted, [state, shift, 0]);
    builder.emit_unguarded(Code::Low32, low, [shifted, 0, 0]);
    builder.define(operand(instruction, 0)?, T::B32, |builder, row| {
        builder.emit(Code::And32, 0, row, [low, field, 0]);
        Ok(())
    })
}
