//! Branches that become guards.
//!
//! The longest skipped block was found with `ptxas` 11.8 (sm_35) and 12.9 (sm_50 to sm_120), by
//! kernels whose skipped blocks grow by an instruction at a time. Blocks without a load from global
//! memory are guarded up to 7 or 8 instructions on every generation, those with one up to 20. The
//! code behind the last block decides, too: a block whose load is waited for at once is branched
//! around. That is not modelled.

use gpucast_ptx_frontend::isa::{InstructionClass, Modifier, Opcode};
use gpucast_ptx_frontend::types::StateSpace;
use smallvec::SmallVec;

use super::branches::{only_exits, terminator};
use super::family::Family;
use super::flow::{Dominators, outside_of_loops};
use super::graph::{Graph, Op, State};
use super::select::{ConstantUses, Selected, select};

/// Turns short branches into guarded instructions, as long as there are some.
///
/// Guards the block that a branch skips instead of branching. The block must be the only one
/// skipped and have no other predecessor. It must hold no barrier, call or loop, and come to no
/// more machine instructions than the family's limit.
pub(super) fn guard_short_branches(
    graph: &mut Graph<'_>,
    family: &Family,
    dominators: &Dominators,
) {
    let surroundings = Surroundings {
        outside: outside_of_loops(graph, dominators),
        constants: ConstantUses::new(graph, family),
    };
    let mut parts = Parts::of(graph);
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..graph.blocks.len()).rev() {
            let Some(skipped) = skipped_block(graph, block as u32, family, &surroundings, &parts)
            else {
                continue;
            };
            let target = graph.blocks[skipped as usize].successors.clone();
            if let Some(branch) = terminator(graph, block as u32) {
                graph.op_mut(branch).state = State::Folded;
            }
            graph.blocks[skipped as usize].merged_into = Some(block as u32);
            parts.merged[block].push(skipped);
            for &after in &target {
                graph.blocks[after as usize].predecessors.retain(|from| *from != skipped);
            }
            graph.blocks[block].successors = target;
            changed = true;
        }
    }
}

/// The context that a block's cost depends on besides its own operations.
struct Surroundings {
    /// The closest block outside of all loops that leads to each block.
    outside: Vec<u32>,
    constants: ConstantUses,
}

/// The block that a branch at the end of `block` skips, if it can be guarded instead.
fn skipped_block(
    graph: &Graph<'_>,
    block: u32,
    family: &Family,
    surroundings: &Surroundings,
    parts: &Parts,
) -> Option<u32> {
    let branch = terminator(graph, block)?;
    let op = graph.op(branch);
    if op.opcode != Opcode::Bra || op.guard.is_none() || op.has_uniform_suffix() {
        return None;
    }
    let this = &graph.blocks[block as usize];
    let [target, next] = this.successors.as_slice() else { return None };
    if only_exits(graph, *target) {
        // A guarded exit does.
        return None;
    }
    let skipped = &graph.blocks[*next as usize];
    let lone = skipped.predecessors.as_slice() == [block]
        && skipped.successors.as_slice() == [*target]
        && *target != block
        && *next != block
        && terminator(graph, *next).is_none()
        && this.merged_into.is_none();
    if !lone {
        return None;
    }
    let members = parts.members(graph, *next);
    let branches = |selected: &Selected| selected.class == InstructionClass::Control;
    let simple = members.iter().all(|&index| {
        let op = graph.op(index);
        // Some divisions and roots branch around the call of their slow path.
        can_be_guarded(op) && !(op.is_live() && select(graph, family, index).iter().any(branches))
    });
    let mut cost = instructions(graph, &members, family);
    if surroundings.outside[*next as usize] == *next {
        // Those of a loop are in registers before it.
        cost += surroundings.constants.instructions(&members, graph, family);
    }
    (simple && cost <= limit(graph, &members, family)).then_some(*next)
}

/// The number of machine instructions that operations come to.
fn instructions(graph: &Graph<'_>, members: &[u32], family: &Family) -> u32 {
    let live = members.iter().filter(|index| graph.op(**index).is_live());
    live.flat_map(|&index| select(graph, family, index)).map(|selected| selected.count).sum()
}

/// The most that a block may cost. It is more if the block loads from global memory, and skips
/// nothing itself.
fn limit(graph: &Graph<'_>, members: &[u32], family: &Family) -> u32 {
    let ops = || members.iter().map(|&index| graph.op(index));
    let is_load = |op: &Op<'_>| {
        let space = op.memory.and_then(|memory| memory.space);
        op.is_live() && op.opcode == Opcode::Ld && space == Some(StateSpace::Global)
    };
    let is_one_block = ops().zip(ops().skip(1)).all(|(op, next)| op.block == next.block);
    if is_one_block && ops().any(is_load) {
        family.guarded_limit_of_loads
    } else {
        family.guarded_limit
    }
}

/// The blocks that have become part of each block.
struct Parts {
    merged: Vec<SmallVec<[u32; 1]>>,
}

impl Parts {
    fn of(graph: &Graph<'_>) -> Self {
        let mut merged = vec![SmallVec::new(); graph.blocks.len()];
        for (part, block) in (0..).zip(&graph.blocks) {
            if let Some(into) = block.merged_into {
                merged[into as usize].push(part);
            }
        }
        Self { merged }
    }

    /// The operations of a block and of those that have become part of it, in order of the text.
    fn members(&self, graph: &Graph<'_>, block: u32) -> Vec<u32> {
        let mut parts = vec![block];
        let mut next = 0;
        while let Some(&part) = parts.get(next) {
            parts.extend(&self.merged[part as usize]);
            next += 1;
        }
        parts.sort_unstable();
        let operations = |part: u32| {
            let part = &graph.blocks[part as usize];
            part.first..part.end
        };
        parts.into_iter().flat_map(operations).collect()
    }
}

fn can_be_guarded(op: &Op<'_>) -> bool {
    use Opcode as O;
    op.guard.is_none()
        && !matches!(
            op.opcode,
            O::Bar
                | O::Barrier
                | O::BarWarp
                | O::Call
                | O::Ret
                | O::Exit
                | O::Trap
                | O::Shfl
                | O::Vote
                | O::Match
                | O::Activemask
                | O::Redux
                | O::Elect
                | O::Mma
                | O::WmmaMma
        )
        || op.state == State::Folded
}

impl Op<'_> {
    fn has_uniform_suffix(&self) -> bool {
        self.has(Modifier::Uni)
    }
}
