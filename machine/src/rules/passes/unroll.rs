//! Loop unrolling: the operations that iterations of a short counted loop share.
//!
//! `ptxas` unrolls a loop of one block by four if it counts with a literal step against a value
//! that no iteration changes. The loop must also be short enough, and no `.pragma "nounroll"` may
//! forbid it. This was seen with 12.9. The loop of the corpus's `sgemm-16` has about 50
//! instructions and is unrolled; that of `sgemm` has 85 and is not. The counter, its comparison,
//! the branch and pointers that advance by a literal then run once in four iterations. Iterations
//! that are left over are taken to be as cheap; the tests for them are counted with control.

use gpucast_ptx_frontend::isa::Opcode;

use super::super::family::Family;
use super::super::graph::{Arg, Graph, Register};
use super::super::select::select;

/// The iterations that become one.
const FACTOR: u32 = 4;
/// The most machine instructions of a loop that is unrolled: assumed, between the two loops above.
const LONGEST: u32 = 64;

/// Marks operations that are executed once for several iterations.
pub(super) fn unroll(graph: &mut Graph<'_>, family: &Family) {
    for block in 0..graph.blocks.len() as u32 {
        let this = &graph.blocks[block as usize];
        if !this.successors.contains(&block) || !is_counted(graph, block) {
            continue;
        }
        let body: Vec<u32> =
            (this.first..this.end).filter(|&index| graph.op(index).is_live()).collect();
        let length: u32 = body
            .iter()
            .flat_map(|&index| select(graph, family, index))
            .map(|selected| selected.count)
            .sum();
        if length > LONGEST {
            continue;
        }
        for index in body {
            let op = graph.op(index);
            let of_branch = op.opcode == Opcode::Bra || op.opcode == Opcode::Setp;
            if of_branch || op.result().is_some_and(|result| steps_by_literal(graph, index, result))
            {
                graph.op_mut(index).shared_by = FACTOR;
            }
        }
    }
}

/// Returns true if `index` is `x = x + literal`.
fn steps_by_literal(graph: &Graph<'_>, index: u32, result: Register) -> bool {
    let op = graph.op(index);
    let [left, right] = op.args.as_slice() else { return false };
    let own = Arg::Register(result);
    let literal = |arg: &Arg| matches!(arg, Arg::Constant(_));
    matches!(op.opcode, Opcode::Add | Opcode::Sub)
        && op.is_integer()
        && op.guard.is_none()
        && ((*left == own && literal(right)) || (*right == own && literal(left)))
}

/// Returns true if the loop's branch compares a counter with a value that no iteration changes.
fn is_counted(graph: &Graph<'_>, block: u32) -> bool {
    let this = &graph.blocks[block as usize];
    let Some(branch) = (this.first..this.end).rev().find(|&index| graph.op(index).is_live()) else {
        return false;
    };
    let op = graph.op(branch);
    let Some(guard) = op.guard.filter(|_| op.opcode == Opcode::Bra) else { return false };
    let inside = |index: u32| (this.first..this.end).contains(&index);
    let Some(comparison) = graph.value(guard.predicate).filter(|&index| inside(index)) else {
        return false;
    };
    let comparison = graph.op(comparison);
    let [counter, bound] = comparison.args.as_slice() else { return false };
    let counts = |arg: &Arg| match arg {
        Arg::Register(register) => graph.definitions[register.index()]
            .iter()
            .any(|&index| inside(index) && steps_by_literal(graph, index, *register)),
        _ => false,
    };
    let fixed = |arg: &Arg| match arg {
        Arg::Register(register) => {
            graph.definitions[register.index()].iter().all(|&index| !inside(index))
        }
        Arg::Constant(_) | Arg::Bank(_) | Arg::Shared(_) | Arg::Special(_) => true,
    };
    comparison.opcode == Opcode::Setp
        && comparison.is_integer()
        && ((counts(counter) && fixed(bound)) || (counts(bound) && fixed(counter)))
}
