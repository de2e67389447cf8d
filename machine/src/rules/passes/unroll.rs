//! Loop unrolling: the operations that iterations of a short counted loop share.
//!
//! `ptxas` unrolls a loop of one block by four if it counts with a literal step against a value
//! that no iteration changes. The loop must also be short enough, and no `.pragma "nounroll"` may
//! forbid it. This was seen with 12.9. The loop of the corpus's `sgemm-16` has about 50
//! instructions and is unrolled; that of `sgemm` has 85 and is not. The counter, its comparison,
//! the branch and pointers that advance by a literal then run once in four iterations. Iterations
//! that are left over are taken to be as cheap; the tests for them are counted with control.

use gpucast_ptx_frontend::isa::{Modifier, Opcode};

use super::super::family::Family;
use super::super::graph::{Arg, Graph, Op, Register};
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
            if is_loop_control(graph, index) && graph.op(index).shared_by == 1 {
                graph.op_mut(index).shared_by = FACTOR;
            }
        }
    }
}

/// The most instructions that a loop of one block becomes where `ptxas` unrolls it completely. It
/// did so with all of 15 loops of up to so many, and not with all longer ones (12.9, sm_75 and
/// sm_90).
const LONGEST_UNROLLED: u64 = 640;

/// The iterations of a loop of one block that `ptxas` unrolls completely; `None` if it does not, or
/// if their number is not known beforehand.
pub(super) fn completely(graph: &Graph<'_>, block: u32) -> Option<u32> {
    let this = &graph.blocks[block as usize];
    if !this.successors.contains(&block) || !is_counted(graph, block) {
        return None;
    }
    let inside = |index: u32| (this.first..this.end).contains(&index);
    let live = (this.first..this.end).filter(|&index| graph.op(index).is_live());
    let branch = graph.op(live.clone().next_back()?);
    let comparison = graph.op(graph.value(branch.guard?.predicate)?);
    let [Arg::Register(counter), Arg::Constant(bound)] = *comparison.args.as_slice() else {
        return None;
    };
    let (own, starts): (Vec<u32>, Vec<u32>) =
        graph.definitions[counter.index()].iter().copied().partition(|&index| inside(index));
    let ([step], [start]) = (own.as_slice(), starts.as_slice()) else { return None };
    let (step, start) = (graph.op(*step), graph.op(*start));
    let signed = |value: u64| match comparison.ty.bits() {
        64 => value as i64,
        _ => i64::from(value as i32),
    };
    let by = signed(step.args.iter().find_map(constant)?);
    let by = if step.opcode == Opcode::Sub { by.checked_neg()? } else { by };
    let from = match start {
        Op { opcode: Opcode::Mov, args, .. } => signed(args.first().and_then(constant)?),
        _ => return None,
    };
    let distance = signed(bound).checked_sub(from)?;
    // A loop that ends where the counter equals a bound meets it; one that ends behind it may not.
    let is_short_step = distance.checked_rem(by)? != 0;
    let includes_bound = comparison.has(Modifier::Le) || comparison.has(Modifier::Ge);
    if is_short_step && comparison.has(Modifier::Ne) {
        return None;
    }
    let further = i64::from(is_short_step || includes_bound);
    let trips = distance.checked_div(by)?.checked_add(further)?;
    let trips = u64::try_from(trips).ok().filter(|&trips| trips > 0)?;
    let is_short = trips.saturating_mul(live.count() as u64) <= LONGEST_UNROLLED;
    is_short.then_some(trips as u32)
}

/// The operations of a loop that its iterations do not need once they are written one by one.
pub(super) fn is_loop_control(graph: &Graph<'_>, index: u32) -> bool {
    let op = graph.op(index);
    let of_branch = op.opcode == Opcode::Bra || op.opcode == Opcode::Setp;
    of_branch || op.result().is_some_and(|result| steps_by_literal(graph, index, result))
}

fn constant(arg: &Arg) -> Option<u64> {
    match arg {
        Arg::Constant(value) => Some(*value),
        _ => None,
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
