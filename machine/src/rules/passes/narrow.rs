//! 64-bit arithmetic of which only the low half matters.
//!
//! PTX computes shared, local and constant addresses with 64 bits; the machine's addresses of these
//! spaces have 32 (24 on Fermi). Values that feed nothing but such addresses are computed with 32
//! bits. So are sums and products that are cut to 32 bits later.

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use super::super::graph::{Arg, Graph, MemoryOperand, Op, Part, Register, State};

/// Narrows the operations that may be narrowed.
pub(super) fn narrow(graph: &mut Graph<'_>) {
    let wide = wide_registers(graph);
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        let Some(result) = op.result() else { continue };
        if !op.is_live() || wide[result.index()] {
            continue;
        }
        if !can_narrow(op) {
            graph.op_mut(index).low_half_only = true;
            continue;
        }
        let op = graph.op_mut(index);
        match (op.opcode, op.part) {
            // The low half of a product of two 32-bit numbers.
            (Opcode::Mul | Opcode::Mad, Part::Wide) => op.part = Part::Low,
            (Opcode::Cvt, _) => op.opcode = Opcode::Mov,
            _ => {}
        }
        op.ty = ScalarType::B32;
    }
}

/// Returns true if an operation has a 64-bit integer result whose low half depends on the low
/// halves of its arguments only.
fn can_narrow(op: &Op<'_>) -> bool {
    use Opcode as O;
    if !op.is_integer() || op.result_bits() != 64 {
        return false;
    }
    match op.opcode {
        O::Add | O::Sub | O::Shl | O::And | O::Or | O::Xor | O::Not | O::Neg | O::Mov => true,
        O::Mul | O::Mad => op.part != Part::High,
        // From 32 bits; narrower sources still have to be extended.
        O::Cvt => op.source.types().nth(1).is_some_and(|from| from.bits() == 32),
        _ => false,
    }
}

/// The registers whose high half matters to someone.
fn wide_registers(graph: &Graph<'_>) -> Vec<bool> {
    let mut wide = vec![false; graph.definitions.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for op in graph.ops.iter().filter(|op| op.state != State::Dead) {
            let low_result = op.result().is_some_and(|result| !wide[result.index()]);
            if reads_high_halves(op) && !(can_narrow(op) && low_result) {
                for arg in &op.args {
                    changed |= mark(&mut wide, *arg);
                }
            }
            if let Some(base) = op.memory.filter(has_wide_address).and_then(|memory| memory.base) {
                changed |= mark(&mut wide, base);
            }
        }
    }
    wide
}

fn mark(wide: &mut [bool], arg: Arg) -> bool {
    match arg {
        Arg::Register(Register(index)) => !std::mem::replace(&mut wide[index as usize], true),
        _ => false,
    }
}

/// Returns true if the arguments of an operation have 64 bits.
fn reads_high_halves(op: &Op<'_>) -> bool {
    let read = if op.opcode == Opcode::Cvt { op.source.types().nth(1) } else { Some(op.ty) };
    read.is_none_or(|ty| ty.bits() > 32)
}

fn has_wide_address(memory: &MemoryOperand) -> bool {
    let narrow = [Some(StateSpace::Shared), Some(StateSpace::Local), Some(StateSpace::Const)];
    !narrow.contains(&memory.space)
}
