//! Constant folding, and strength reduction of products by powers of two.

use std::collections::HashSet;

use gpucast_ptx_frontend::isa::Opcode;

use super::super::graph::{Arg, Graph, Op, Part};
use super::evaluate::evaluate;

/// Computes operations with only literal arguments, and simplifies those with one.
pub(super) fn fold(graph: &mut Graph<'_>) {
    // A computed value can be a literal argument of later operations.
    while evaluate_all(graph) {
        super::copies::propagate(graph);
    }
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        if !op.is_live() || !op.is_integer() || op.result().is_none() {
            continue;
        }
        let simplified = simplify(op);
        let op = graph.op_mut(index);
        match simplified {
            Simplified::Same => {}
            Simplified::To(arg) => become_move(op, arg),
            Simplified::Shift(arg, by) => {
                op.opcode = Opcode::Shl;
                op.args.clear();
                op.args.extend([arg, Arg::Constant(by)]);
            }
        }
    }
}

/// Replaces operations on literals by their results. Returns true if there was one.
fn evaluate_all(graph: &mut Graph<'_>) -> bool {
    let mut any = false;
    // A guard is a register, whatever is known of it.
    let guard = |(index, op): (u32, &Op<'_>)| {
        let predicate = op.guard?.predicate;
        graph.uses(predicate).binary_search(&index).is_ok().then_some(predicate.index())
    };
    let guards: HashSet<usize> = (0..).zip(&graph.ops).filter_map(guard).collect();
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        let Some(result) = op.result().filter(|_| op.is_live()) else { continue };
        if let (Opcode::Selp, &[yes, no, Arg::Constant(chosen)]) = (op.opcode, op.args.as_slice()) {
            become_move(graph.op_mut(index), if chosen & 1 == 1 { yes } else { no });
            any = true;
            continue;
        }
        if guards.contains(&result.index()) {
            continue;
        }
        if let Some(value) = evaluate(op) {
            let op = graph.op_mut(index);
            op.ty = value.ty;
            become_move(op, Arg::Constant(value.bits));
            any = true;
        }
    }
    any
}

fn become_move(op: &mut Op<'_>, arg: Arg) {
    op.opcode = Opcode::Mov;
    op.part = Part::Low;
    op.args.clear();
    op.args.push(arg);
}

enum Simplified {
    Same,
    To(Arg),
    Shift(Arg, u64),
}

/// The literal cut to the operation's width.
fn cut(op: &Op<'_>, value: u64) -> u64 {
    if op.ty.bits() >= 64 { value } else { value & ((1 << op.ty.bits()) - 1) }
}

fn simplify(op: &Op<'_>) -> Simplified {
    use Opcode as O;
    let [left, right] = op.args.as_slice() else { return Simplified::Same };
    let low = op.part == Part::Low;
    if let (Arg::Constant(a), Arg::Constant(b), true) = (*left, *right, low) {
        let (a, b) = (cut(op, a), cut(op, b));
        let value = match op.opcode {
            O::Add => a.wrapping_add(b),
            O::Sub => a.wrapping_sub(b),
            O::Mul => a.wrapping_mul(b),
            O::Shl if b < u64::from(op.ty.bits()) => a << b,
            O::And => a & b,
            O::Or => a | b,
            O::Xor => a ^ b,
            _ => return Simplified::Same,
        };
        return Simplified::To(Arg::Constant(cut(op, value)));
    }
    let (arg, literal) = match (*left, *right) {
        (arg, Arg::Constant(literal)) => (arg, literal),
        (Arg::Constant(literal), arg) if op.opcode != O::Sub && op.opcode != O::Shl => {
            (arg, literal)
        }
        _ => return Simplified::Same,
    };
    let literal = cut(op, literal);
    match op.opcode {
        O::Add | O::Sub | O::Shl | O::Or | O::Xor if literal == 0 => Simplified::To(arg),
        O::Mul if low && literal == 1 => Simplified::To(arg),
        O::Mul | O::And if low && literal == 0 => Simplified::To(Arg::Constant(0)),
        O::Mul if low && literal.is_power_of_two() => {
            Simplified::Shift(arg, u64::from(literal.trailing_zeros()))
        }
        _ => Simplified::Same,
    }
}
