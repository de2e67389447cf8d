//! `mbarrier` and `cp.async.mbarrier.arrive`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::Instruction;

use super::super::asynchronous::{Arrival, MbarrierAction, MbarrierOp, PhaseWait};
use super::super::op::Code;
use super::builder::{Builder, Lowered, Width, operand};
use super::memory;
use crate::observer::AccessKind;
use crate::semantics::mbarrier::{MAX_COUNT, PENDING_SHIFT};

/// Any instruction that accesses an mbarrier object.
pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    use MbarrierAction as A;
    match instruction.opcode {
        Opcode::MbarrierInit => {
            let count = builder.value(operand(instruction, 1)?, T::U32)?;
            emit(builder, instruction, 0, AccessKind::Store, A::Init { count }, 0)
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
    let value = match instruction.operands.get(2) {
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
    let phase = builder.value(operand(instruction, 2)?, ty)?;
    // A time limit is a hint in nanoseconds, of which there are none here.
    let suspends = instruction.opcode == Opcode::MbarrierTryWait;
    let predicate = builder.predicate_destination(operand(instruction, 0)?)?;
    let action = MbarrierAction::Wait(PhaseWait { phase, parity, suspends });
    emit(builder, instruction, 1, AccessKind::Load, action, predicate)
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
    let stated = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    let object = memory::address(builder, instruction, address, stated, kind, T::B64)?;
    let index = builder.mbarrier_ops.len() as u32;
    builder.mbarrier_ops.push(MbarrierOp { object, action });
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
