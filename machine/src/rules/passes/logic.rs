//! Logic: chains of two-input operations, and predicates that comparisons compute themselves.

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::types::ScalarType;
use smallvec::SmallVec;

use super::super::family::Family;
use super::super::graph::{Arg, Graph, Op, State};
use super::contract::keeps;

/// Folds operations that the family's instructions do in one step.
pub(super) fn fold(graph: &mut Graph<'_>, family: &Family) {
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        if !op.is_live() {
            continue;
        }
        if is_operand_modifier(graph, index) {
            graph.op_mut(index).state = State::Folded;
        } else if op.ty == ScalarType::Pred {
            predicate(graph, index);
        } else if is_logic(op) {
            while merge_logic(graph, index, family) {}
        } else if family.lop3_sets_predicate && compares_logic_with_zero(graph, index) {
            graph.op_mut(index).state = State::Folded;
        }
    }
    graph.find_uses();
}

/// Returns true if an operation changes the sign of a number that only arithmetic takes. Arithmetic
/// has operand modifiers for it.
fn is_operand_modifier(graph: &Graph<'_>, index: u32) -> bool {
    use Opcode as O;
    let op = graph.op(index);
    let Some(result) = op.result() else { return false };
    let ty = op.ty;
    let changes_sign = matches!(op.opcode, O::Neg | O::Abs)
        && matches!(ty, ScalarType::F32 | ScalarType::F64)
        && graph.value(result) == Some(index);
    let takes_modifiers = |&user: &u32| {
        let user_op = graph.op(user);
        let arithmetic = matches!(
            user_op.opcode,
            O::Add | O::Sub | O::Mul | O::Fma | O::Setp | O::Min | O::Max | O::Neg | O::Abs
        );
        // A selection of doubles takes them in halves.
        let selects = user_op.opcode == O::Selp && ty == ScalarType::F32;
        user_op.ty == ty && (arithmetic || selects) && keeps(graph, index, user)
    };
    changes_sign && !graph.uses(result).is_empty() && graph.uses(result).iter().all(takes_modifiers)
}

/// An operation on predicates: negations are operand modifiers, and a comparison combines its
/// result with one more predicate.
fn predicate(graph: &mut Graph<'_>, index: u32) {
    let op = graph.op(index);
    if op.opcode == Opcode::Not {
        graph.op_mut(index).state = State::Folded;
        return;
    }
    if !matches!(op.opcode, Opcode::And | Opcode::Or | Opcode::Xor) {
        return;
    }
    let comparison = op.args.iter().find_map(|&arg| {
        let comparison = graph.value_of(arg)?;
        let inner = graph.op(comparison);
        let once = inner.result().is_some_and(|result| graph.use_count(result) == 1);
        let plain = inner.opcode == Opcode::Setp && inner.is_live() && inner.args.len() == 2;
        (once && plain && keeps(graph, comparison, index)).then_some(comparison)
    });
    let Some(comparison) = comparison else { return };
    let inner = graph.op(comparison).clone();
    let op = graph.op_mut(index);
    let other = op.args.iter().copied().find(|arg| inner.result().map(Arg::Register) != Some(*arg));
    op.opcode = Opcode::Setp;
    op.ty = inner.ty;
    op.args = inner.args.clone();
    op.args.extend(other);
    graph.op_mut(comparison).state = State::Dead;
    graph.find_uses();
}

fn is_logic(op: &Op<'_>) -> bool {
    matches!(op.opcode, Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Lop3)
        && op.is_integer()
        && op.ty.bits() == 32
}

/// Folds one argument that is a logic operation itself. Returns true if one was found.
fn merge_logic(graph: &mut Graph<'_>, index: u32, family: &Family) -> bool {
    let op = graph.op(index);
    let found = op.args.iter().find_map(|&arg| {
        let inner = graph.value_of(arg)?;
        let inner_op = graph.op(inner);
        let once = inner_op.result().is_some_and(|result| graph.use_count(result) == 1);
        let mut inputs: SmallVec<[Arg; 4]> =
            op.args.iter().copied().filter(|other| *other != arg).collect();
        inputs.extend_from_slice(logic_inputs(inner_op));
        inputs.sort_unstable();
        inputs.dedup();
        // Without `LOP3` only an inverted operand is part of the instruction.
        let fits = inputs.len() <= if family.lop3 { 3 } else { 2 };
        let inverts = inner_op.opcode == Opcode::Not;
        (is_logic(inner_op)
            && inner_op.is_live()
            && once
            && fits
            && (family.lop3 || inverts)
            && keeps(graph, inner, index))
        .then_some((inner, inputs))
    });
    let Some((inner, inputs)) = found else { return false };
    graph.op_mut(inner).state = State::Dead;
    graph.op_mut(index).args = inputs;
    graph.find_uses();
    true
}

/// The inputs of a logic operation; the table of `lop3` is none.
fn logic_inputs<'a>(op: &'a Op<'_>) -> &'a [Arg] {
    let inputs = if op.opcode == Opcode::Lop3 { 3 } else { op.args.len() };
    &op.args[..inputs.min(op.args.len())]
}

/// Returns true if `index` asks if a logic result of the same block is zero.
fn compares_logic_with_zero(graph: &Graph<'_>, index: u32) -> bool {
    let op = graph.op(index);
    let equality = op.has(Modifier::Eq) || op.has(Modifier::Ne);
    let [arg, Arg::Constant(0)] = op.args.as_slice() else { return false };
    op.opcode == Opcode::Setp
        && equality
        && op.guard.is_none()
        && graph.value_of(*arg).is_some_and(|inner| {
            let inner_op = graph.op(inner);
            is_logic(inner_op) && inner_op.block == op.block && inner_op.is_live()
        })
}
