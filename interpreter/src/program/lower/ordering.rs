//! Can a kernel tell in which order its CTAs run?
//!
//! CTAs run in parallel only where their order cannot be seen: no atomic on global memory returns a
//! value that something reads, the reductions commute, and nothing waits for another CTA. The
//! answer is read off the code, so it errs on the side of order.

use gpucast_ptx_frontend::isa::{Access, Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{AddressBase, Operand, RegisterId};

use super::super::StaticInstruction;
use super::super::asynchronous::{Direction, TensorOp};
use super::super::memory_op::{AtomicOperation, MemoryOp, Space};
use super::builder::Builder;
use crate::access_kind::AccessKind;

/// Returns true if anything reads the result of an atomic. Compilers write `atom` with a register
/// that nothing reads where CUDA ignores the result of `atomicAdd`.
fn returns_something(instructions: &[StaticInstruction], op: &MemoryOp) -> bool {
    let atomic = &instructions[op.instruction as usize];
    let Some(Operand::Register(result)) = atomic.instruction.operands.first() else { return true };
    let of_function =
        instructions.iter().filter(|instruction| instruction.function == atomic.function);
    of_function.map(|found| &found.instruction).any(|user| {
        let guarded = user.guard.is_some_and(|guard| guard.register == *result);
        let shapes = &user.form.form().operands;
        let reads = |(position, operand): (usize, &Operand)| {
            let written = shapes.get(position).is_some_and(|shape| shape.access == Access::Write);
            // A whole register that is only written is no use of it; everything else may be one.
            !(written && matches!(operand, Operand::Register(_))) && mentions(operand, *result)
        };
        guarded || user.operands.iter().enumerate().any(reads)
    })
}

/// Returns true if an operand has a register anywhere in it.
fn mentions(operand: &Operand, register: RegisterId) -> bool {
    match operand {
        Operand::Register(id)
        | Operand::Negated(id)
        | Operand::Element(id, _)
        | Operand::Part { register: id, .. }
        | Operand::Lanes { register: id, .. } => *id == register,
        Operand::Negative(inner) => mentions(inner, register),
        Operand::Address(address) => {
            matches!(address.base, AddressBase::Register(id) if id == register)
        }
        Operand::Vector(parts) | Operand::List(parts) | Operand::Indexed(parts) => {
            parts.iter().any(|part| mentions(part, register))
        }
        Operand::Pair(pair) => pair.iter().any(|part| mentions(part, register)),
        Operand::Immediate(_)
        | Operand::Special(_)
        | Operand::Variable(..)
        | Operand::Function(_)
        | Operand::Label(_)
        | Operand::Targets(_)
        | Operand::Prototype(_)
        | Operand::Sink => false,
    }
}

/// Returns the reason why the CTAs of a program must run in order, if they must.
pub(super) fn reason(instructions: &[StaticInstruction], builder: &Builder<'_>) -> Option<String> {
    let bulk = builder.tables.bulk_ops.iter().map(|op| &op.destination);
    let ops = builder.tables.memory_ops.iter().chain(bulk);
    if builder.tables.runtime_calls.iter().any(|call| call.function.depends_on_order()) {
        return Some("what malloc returns depends on other CTAs".to_owned());
    }
    let reduces = |op: &TensorOp| match op {
        TensorOp::Copy(copy) => matches!(copy.direction, Direction::Reduce(_)),
        TensorOp::Replace { .. } => false,
    };
    if builder.tables.tensor_ops.iter().any(reduces) {
        return Some(
            "the result of a reduction of tensors depends on the order of CTAs".to_owned(),
        );
    }
    let reduces_surface = |one: &&StaticInstruction| one.instruction.opcode == Opcode::Sured;
    let mut of_surfaces = instructions.iter().filter(reduces_surface);
    if let Some(first) = of_surfaces.next() {
        let modifiers = |one: &StaticInstruction| one.instruction.modifiers.clone();
        let alike = modifiers(first);
        if of_surfaces.any(|of_surface| modifiers(of_surface) != alike)
            || ops.clone().any(|op| op.atomic.is_some())
        {
            let line = first.line;
            return Some(format!("sured in line {line} and another reduction do not commute"));
        }
    }
    let outside_cta = |op: &&MemoryOp| matches!(op.space, Space::Global | Space::Generic);
    let at = |op: &MemoryOp| {
        let instruction = &instructions[op.instruction as usize];
        format!("{} in line {}", instruction.instruction.opcode.text(), instruction.line)
    };
    let mut reduction: Option<AtomicOperation> = None;
    for op in ops.filter(outside_cta) {
        if op.kind == AccessKind::Atomic && returns_something(instructions, op) {
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
