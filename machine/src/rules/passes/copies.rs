//! Copies: moves, conversions of addresses to a space, and conversions that change no bit.

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace, TypeKind};

use super::super::graph::{Arg, Graph, Op, Register, State};

/// Replaces reads of copies by reads of the original.
pub(super) fn propagate(graph: &mut Graph<'_>) {
    let mut replacement: Vec<Option<Arg>> = vec![None; graph.definitions.len()];
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        if !op.is_live() || op.guard.is_some() {
            continue;
        }
        // A move of several parameters, or of a vector: element by element.
        if op.opcode == Opcode::Mov && op.results.len() == op.args.len() && !op.results.is_empty() {
            let pairs: Vec<_> = op.results.iter().copied().zip(op.args.iter().copied()).collect();
            let mut all = true;
            for (result, arg) in pairs {
                let arg = resolve(&replacement, arg);
                let is_value = graph.value(result) == Some(index) && arg != Arg::Register(result);
                if is_value && may_replace(graph, index, result, arg) {
                    replacement[result.index()] = Some(arg);
                } else {
                    all = false;
                }
            }
            if all {
                graph.op_mut(index).state = State::Dead;
            }
        } else if let (Some(result), [arg]) = (op.result(), op.args.as_slice())
            && is_copy(op)
            && graph.value(result) == Some(index)
            && resolve(&replacement, *arg) != Arg::Register(result)
            && may_replace(graph, index, result, resolve(&replacement, *arg))
        {
            replacement[result.index()] = Some(resolve(&replacement, *arg));
            graph.op_mut(index).state = State::Dead;
        }
    }
    graph.replace(|register| replacement[register.index()]);
}

/// The argument that replaces `arg` so far. If registers are copied from each other in a circle, as
/// uninitialised ones can be, one of them stays.
fn resolve(replacement: &[Option<Arg>], mut arg: Arg) -> Arg {
    while let Arg::Register(register) = arg {
        match replacement[register.index()] {
            Some(new) => arg = new,
            None => break,
        }
    }
    arg
}

/// Returns true if an operation leaves the bits as they are.
fn is_copy(op: &Op<'_>) -> bool {
    match op.opcode {
        // Conversions from and to generic addresses of global memory change nothing.
        Opcode::Cvta => {
            op.source.modifiers.iter().any(|m| m.as_space() == Some(StateSpace::Global))
        }
        Opcode::Cvt => is_free_conversion(op),
        _ => false,
    }
}

/// Conversions between integers that only drop high bits, or between equal widths.
fn is_free_conversion(op: &Op<'_>) -> bool {
    let mut types = op.source.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else { return false };
    let integer = |ty: ScalarType| {
        matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits)
    };
    integer(to)
        && integer(from)
        && to.bits() <= from.bits()
        && to.bits() >= 16
        && !op.has(Modifier::Sat)
}

/// Returns true if `result` can be read from `arg` wherever it is read.
fn may_replace(graph: &Graph<'_>, index: u32, result: Register, arg: Arg) -> bool {
    match arg {
        Arg::Constant(_) | Arg::Bank(_) | Arg::Shared(_) => true,
        Arg::Special(_) => false,
        Arg::Register(from) if graph.value(from).is_some() => true,
        Arg::Register(from) => variable_keeps(graph, index, result, from),
    }
}

/// Returns true if the variable `from` still holds the copied value at every read of the copy. All
/// reads must stand in the block of the copy, before the variable changes.
fn variable_keeps(graph: &Graph<'_>, index: u32, result: Register, from: Register) -> bool {
    let block = graph.op(index).block;
    let last = graph.uses(result).iter().copied().max().unwrap_or(index);
    let inside = graph.uses(result).iter().all(|&user| graph.op(user).block == block);
    let changes = graph.definitions[from.index()].iter();
    inside && last >= index && !changes.clone().any(|&change| change > index && change < last)
}
