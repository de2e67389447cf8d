//! Dead code: operations whose results nobody reads.

use gpucast_ptx_frontend::isa::{Effect, Modifier, opcode_facts};

use super::super::graph::{Graph, Op, State};

/// Removes operations without effect, until nothing more goes.
pub(super) fn remove(graph: &mut Graph<'_>) {
    loop {
        graph.find_uses();
        let dead: Vec<usize> = (0..graph.ops.len())
            .filter(|&index| {
                let op = &graph.ops[index];
                op.state != State::Dead
                    && is_pure(op)
                    && op.results.iter().all(|&result| only_feeds_itself(graph, index, result))
            })
            .collect();
        if dead.is_empty() {
            return;
        }
        for index in dead {
            graph.ops[index].state = State::Dead;
        }
    }
}

/// Returns true if only the operation itself reads its result, as with a counter that nobody reads.
fn only_feeds_itself(
    graph: &Graph<'_>,
    index: usize,
    result: super::super::graph::Register,
) -> bool {
    graph.uses(result).iter().all(|&user| user as usize == index)
}

/// Returns true if an operation does nothing but write its results.
pub(in super::super) fn is_pure(op: &Op<'_>) -> bool {
    use Modifier as M;
    if op.results.is_empty() || op.has(M::Cc) {
        // The carry flag is a result that somebody may read.
        return false;
    }
    match opcode_facts(op.opcode).effect {
        Effect::Value | Effect::Carry | Effect::Observation => true,
        Effect::Read => ![M::Volatile, M::Acquire].iter().any(|&modifier| op.has(modifier)),
        Effect::Lasting => false,
    }
}

/// Returns true if an operation's arguments alone decide its results, and it does nothing else.
pub(in super::super) fn is_value(op: &Op<'_>) -> bool {
    is_pure(op) && opcode_facts(op.opcode).effect == Effect::Value
}
