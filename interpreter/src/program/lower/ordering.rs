//! Can a kernel tell in which order its CTAs run?
//!
//! CTAs run in parallel only where their order cannot be seen: no atomic on global memory returns
//! a value, the reductions commute, and nothing waits for another CTA. The answer is read off the
//! code, so it errs on the side of order.

use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};

use super::super::StaticInstruction;
use super::super::asynchronous::{Direction, TensorOp};
use super::super::memory_op::{AtomicOperation, MemoryOp, Space};
use super::builder::Builder;
use crate::observer::AccessKind;

/// Why the CTAs of a program must run in order, if they must.
pub(super) fn reason(instructions: &[StaticInstruction], builder: &Builder<'_>) -> Option<String> {
    let bulk = builder.bulk_ops.iter().map(|op| &op.destination);
    let ops = builder.memory_ops.iter().chain(bulk);
    if builder.runtime_calls.iter().any(|call| call.function.depends_on_order()) {
        return Some("what malloc returns depends on other CTAs".to_owned());
    }
    let reduces = |op: &TensorOp| match op {
        TensorOp::Copy(copy) => matches!(copy.direction, Direction::Reduce(_)),
        TensorOp::Replace { .. } => false,
    };
    if builder.tensor_ops.iter().any(reduces) {
        return Some(
            "the result of a reduction of tensors depends on the order of CTAs".to_owned(),
        );
    }
    let outside_cta = |op: &&MemoryOp| matches!(op.space, Space::Global | Space::Generic);
    let at = |op: &MemoryOp| {
        let instruction = &instructions[op.instruction as usize];
        format!("{} in line {}", instruction.instruction.opcode.text(), instruction.line)
    };
    let mut reduction: Option<AtomicOperation> = None;
    for op in ops.filter(outside_cta) {
        if op.kind == AccessKind::Atomic {
            return Some(format!("{} returns a value that depends on other CTAs", at(op)));
        }
        let Some(atomic) = &op.atomic else { continue };
        if !atomic.operation.commutes() {
            return Some(format!("the result of {} depends on the order of CTAs", at(op)));
        }
        if reduction.is_some_and(|other| other != atomic.operation) {
            return Some(format!("{} and another reduction do not commute", at(op)));
        }
        reduction = Some(atomic.operation);
    }
    let polls = |instruction: &&StaticInstruction| {
        let instruction = &instruction.instruction;
        let ordered = [M::Volatile, M::Acquire, M::Relaxed, M::Mmio];
        let local = instruction.modifiers.iter().any(|modifier| {
            use gpucast_ptx_frontend::types::StateSpace as S;
            matches!(modifier.as_space(), Some(S::Shared | S::Local | S::Const | S::Param))
        });
        let loads = matches!(instruction.opcode, Opcode::Ld | Opcode::MultimemLdReduce);
        loads && !local && ordered.iter().any(|&m| instruction.has(m))
    };
    instructions
        .iter()
        .find(polls)
        .map(|i| format!("the load in line {} may wait for another CTA", i.line))
}
