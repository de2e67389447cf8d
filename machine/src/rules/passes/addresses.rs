//! Address folding: literal offsets become part of loads and stores.
//!
//! A literal is moved out of a sum if only addresses, or sums which only addresses use, take that
//! sum. The start of a shared array is such a literal if it is known beforehand.

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::StateSpace;

use super::super::family::Family;
use super::super::graph::{Arg, Graph, MemoryOperand, Op, Register};

/// Offsets have 24 bits with a sign (every generation since Fermi).
const OFFSET_BITS: u32 = 24;

/// Moves literal summands of addresses into the offsets.
pub(super) fn fold(graph: &mut Graph<'_>, family: &Family) {
    sink(graph, family);
    for index in 0..graph.ops.len() as u32 {
        if !graph.op(index).is_live() {
            continue;
        }
        while let Some(folded) = step(graph, graph.op(index), family) {
            graph.op_mut(index).memory = Some(folded);
        }
    }
    graph.find_uses();
}

/// One summand less, if the base is a sum with a literal.
fn step(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Option<MemoryOperand> {
    let memory = op.memory?;
    let shared = memory.space == Some(StateSpace::Shared);
    // If the window of shared memory is not known beforehand, its start is a register.
    let literal_base = shared && !family.shared_window;
    if let (Some(Arg::Shared(start)), true) = (memory.base, literal_base) {
        let offset = memory.offset.checked_add_unsigned(start)?;
        return Some(MemoryOperand { base: None, offset, ..memory });
    }
    let sum = graph.op(graph.value_of(memory.base?)?);
    let [left, right] = sum.args.as_slice() else { return None };
    if !sum.is_integer() || !matches!(sum.opcode, Opcode::Add | Opcode::Sub) {
        return None;
    }
    let bits = sum.ty.bits();
    let (base, literal) = match (*left, *right) {
        (base, Arg::Constant(literal)) => (base, sign_extended(literal, bits)),
        (Arg::Constant(literal), base) if sum.opcode == Opcode::Add => {
            (base, sign_extended(literal, bits))
        }
        (base, Arg::Shared(start)) | (Arg::Shared(start), base) if literal_base => {
            (base, start as i64)
        }
        _ => return None,
    };
    // A variable may have changed since the sum was taken.
    if matches!(base, Arg::Register(register) if graph.value(register).is_none()) {
        return None;
    }
    let literal = if sum.opcode == Opcode::Sub { literal.checked_neg()? } else { literal };
    let offset = memory.offset.checked_add(literal)?;
    let limit = 1_i64 << (OFFSET_BITS - 1);
    (-limit..limit).contains(&offset).then_some(MemoryOperand {
        base: Some(base),
        offset,
        ..memory
    })
}

/// Moves literals from sums into the offsets of all that use them.
fn sink(graph: &mut Graph<'_>, family: &Family) {
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        let (Some(result), [left, right]) = (op.result(), op.args.as_slice()) else { continue };
        let sum = op.opcode == Opcode::Add && op.is_live() && op.is_integer();
        if !sum || graph.value(result) != Some(index) || !only_addresses(graph, result, DEPTH) {
            continue;
        }
        let bits = op.ty.bits();
        let literal = |arg: Arg| match arg {
            Arg::Constant(literal) => Some(sign_extended(literal, bits)),
            Arg::Shared(start) if !family.shared_window => Some(start as i64),
            _ => None,
        };
        let (base, literal) = match (literal(*left), literal(*right)) {
            (None, Some(literal)) => (*left, literal),
            (Some(literal), None) => (*right, literal),
            _ => continue,
        };
        let is_variable =
            matches!(base, Arg::Register(register) if graph.value(register).is_none());
        let near = literal.unsigned_abs() < 1 << (OFFSET_BITS - 3);
        if is_variable || !near {
            continue;
        }
        add_to_addresses(graph, result, literal, DEPTH);
        let op = graph.op_mut(index);
        op.opcode = Opcode::Mov;
        op.args.clear();
        op.args.push(base);
    }
    super::copies::propagate(graph);
}

/// The most sums between a literal and the addresses that use it.
const DEPTH: u32 = 4;

/// Returns true if a value is used only as an address, or in sums that are.
fn only_addresses(graph: &Graph<'_>, register: Register, depth: u32) -> bool {
    let is_base = |op: &Op<'_>| {
        let memory = op.memory.filter(|memory| memory.base == Some(Arg::Register(register)));
        memory.is_some_and(|memory| memory.space.is_some())
            && !op.args.contains(&Arg::Register(register))
    };
    depth > 0
        && !graph.uses(register).is_empty()
        && graph.uses(register).iter().all(|&user| {
            let op = graph.op(user);
            let sum = op.opcode == Opcode::Add
                && op.is_integer()
                && op.args.iter().filter(|arg| **arg == Arg::Register(register)).count() == 1
                && op.guard.is_none();
            let onward = |result: Register| {
                graph.value(result) == Some(user) && only_addresses(graph, result, depth - 1)
            };
            is_base(op) || (sum && op.result().is_some_and(onward))
        })
}

fn add_to_addresses(graph: &mut Graph<'_>, register: Register, literal: i64, depth: u32) {
    for user in graph.uses(register).to_vec() {
        let op = graph.op_mut(user);
        if let Some(memory) = &mut op.memory {
            memory.offset = memory.offset.wrapping_add(literal);
        } else if let (Some(result), true) = (op.result(), depth > 0) {
            add_to_addresses(graph, result, literal, depth - 1);
        }
    }
}

fn sign_extended(literal: u64, bits: u32) -> i64 {
    if bits >= 64 { literal as i64 } else { i64::from(literal as u32 as i32) }
}
