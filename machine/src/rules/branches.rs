//! Control: branches, exits, and the instructions that bring lanes together again.

use gpucast_ptx_frontend::isa::Opcode;
use smallvec::{SmallVec, smallvec};

use super::code_place::CodePlace;
use super::family::{Constants, Convergence, Family};
use super::flow::{Dominators, uniform_registers};
use super::graph::{Graph, GuardedBy, Op};
use super::select::Selected;

/// The last operation of a block, if it is a branch.
pub(super) fn terminator(graph: &Graph<'_>, block: u32) -> Option<u32> {
    let block = &graph.blocks[block as usize];
    let last = block.end.checked_sub(1).filter(|last| *last >= block.first)?;
    let op = graph.op(last);
    let ends = matches!(op.opcode, Opcode::Bra | Opcode::BrxIdx | Opcode::Ret | Opcode::Exit);
    (ends && op.is_live()).then_some(last)
}

/// The block whose executions are those of `block`, which may have become part of it.
pub(super) fn home(graph: &Graph<'_>, block: u32) -> u32 {
    let mut at = block;
    while let Some(into) = graph.blocks[at as usize].merged_into {
        at = into;
    }
    at
}

/// An instruction of control, the operation that it is attributed to, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlInstruction {
    pub(super) selected: Selected,
    pub(super) operation: u32,
    pub(super) place: CodePlace,
}

/// Selects the instructions of control: branches, exits, and those that bring separated lanes
/// together.
pub(super) fn control(
    graph: &Graph<'_>,
    family: &Family,
    dominators: &Dominators,
    lanes_are_independent: bool,
) -> Vec<ControlInstruction> {
    let uniform = uniform_registers(graph);
    let mut instructions = Vec::new();
    // The operation that first separates the lanes which meet at each block.
    let mut separated: Vec<Option<u32>> = vec![None; graph.blocks.len()];
    for block in 0..graph.blocks.len() as u32 {
        for index in graph.blocks[block as usize].first..graph.blocks[block as usize].end {
            let op = graph.op(index);
            if !op.is_live() {
                continue;
            }
            let mut push = |selected, place| {
                instructions.push(ControlInstruction { selected, operation: index, place });
            };
            match op.opcode {
                Opcode::Call => push(Selected::new("CALL", 1), CodePlace::Operation),
                Opcode::Ret | Opcode::Exit => {
                    let runs_into = op.guard.is_none() && run_into(graph, block).is_some();
                    let place =
                        if runs_into { CodePlace::RunInto(block) } else { CodePlace::Operation };
                    push(Selected::new("EXIT", 1), place);
                }
                Opcode::BrxIdx => push(Selected::new("BRX", 3), CodePlace::Operation),
                // A block that only this branch leads to is placed behind it.
                Opcode::Bra if op.guard.is_none() && is_only_way(graph, block) => {}
                Opcode::Bra => {
                    let target = graph.blocks[block as usize].successors.first().copied();
                    let leaves = target.is_some_and(|target| only_exits(graph, target));
                    let name = if leaves { "EXIT" } else { "BRA" };
                    push(Selected::new(name, 1), CodePlace::Operation);
                    if leaves && family.pads {
                        push(Selected::new("NOP", padding(graph, index)), CodePlace::Operation);
                    }
                    let header =
                        target.filter(|&to| to <= block && dominators.dominates(to, block));
                    if let Some(header) = header.filter(|_| lanes_are_independent) {
                        for selected in catch_up(graph, family, dominators, header, block) {
                            push(selected, CodePlace::Operation);
                        }
                    }
                    if leaves || !separates(op.guard, &uniform) {
                        continue;
                    }
                    let meeting = graph.blocks[block as usize].reconvergence;
                    if let Some(meeting) = meeting.filter(|&at| !only_exits(graph, at)) {
                        separated[meeting as usize].get_or_insert(index);
                    }
                }
                _ => {}
            }
        }
    }
    for block in 0..graph.blocks.len() as u32 {
        let Some(branch) = terminator(graph, block) else { continue };
        if graph.op(branch).shared_by > 1 {
            let mut push = |mnemonic, count| {
                instructions.push(ControlInstruction {
                    selected: Selected::new(mnemonic, count),
                    operation: branch,
                    place: CodePlace::Entries(block),
                });
            };
            // Whether four, two and one iterations are left.
            push("BRA", 3);
            push("ISETP", 3);
            push("IADD", 2);
            push("PLOP3", 2);
        }
    }
    for (meeting, branch) in separated.iter().enumerate() {
        if let Some(branch) = *branch {
            converge(family, meeting as u32, branch, &mut instructions);
        }
    }
    instructions
}

/// `NOP`s before a guarded exit: one after the comparison, four if only a barrier stands before it
/// in its block (`ptxas` 12.9, sm_50).
fn padding(graph: &Graph<'_>, exit: u32) -> u32 {
    let block = graph.op(exit).block;
    let first = graph.blocks[block as usize].first;
    let guard = graph.op(exit).guard.and_then(|guard| graph.value(guard.predicate));
    let mut before = (first..exit).rev().filter(|&index| graph.op(index).is_live());
    if guard.is_some_and(|comparison| (first..exit).contains(&comparison)) && {
        let mut between = before.clone().take_while(|&index| Some(index) != guard);
        !between.any(|index| graph.op(index).opcode == Opcode::Bar)
    } {
        return 1;
    }
    if before.next().is_some_and(|index| graph.op(index).opcode == Opcode::Bar) { 4 } else { 0 }
}

/// The instructions before a loop with atomics goes round, so that lanes which wait for each other
/// make progress. Up to Ada all such loops have them; since Hopper, those whose result is read.
/// Volta also asks which lanes are there, unless the loop is one block that ends by the result
/// itself (`ptxas` 12.9).
fn catch_up(
    graph: &Graph<'_>,
    family: &Family,
    dominators: &Dominators,
    header: u32,
    latch: u32,
) -> SmallVec<[Selected; 6]> {
    let inside = (header..=latch).filter(|&block| dominators.dominates(header, block));
    let ops = inside.flat_map(|block| {
        let block = &graph.blocks[block as usize];
        (block.first..block.end).map(|index| graph.op(index))
    });
    let is_atomic = |op: &&Op<'_>| op.is_live() && matches!(op.opcode, Opcode::Atom | Opcode::Red);
    let users = |op: &Op<'_>| -> SmallVec<[Opcode; 4]> {
        let users = op.results.iter().flat_map(|result| graph.uses(*result));
        users.map(|&user| graph.op(user).opcode).collect()
    };
    let atomics: SmallVec<[SmallVec<[Opcode; 4]>; 2]> = ops.filter(is_atomic).map(users).collect();
    let others_go_on = Selected::new("YIELD", 1);
    if family.convergence != Convergence::Barrier || atomics.is_empty() {
        smallvec![]
    } else if family.gathers_lanes {
        let ends = |users: &SmallVec<[Opcode; 4]>| users.contains(&Opcode::Setp);
        if header == latch && atomics.iter().all(ends) {
            return smallvec![];
        }
        smallvec![
            Selected { is_idle: true, ..Selected::new("SHFL", 1) },
            Selected::new("VOTE", 2),
            others_go_on,
            Selected { is_idle: true, ..Selected::constant(4) },
            Selected::new("LOP3", 1),
            Selected::new("BRA", 1),
        ]
    } else if family.constants == Constants::Uniform && atomics.iter().all(SmallVec::is_empty) {
        smallvec![]
    } else {
        smallvec![others_go_on]
    }
}

/// Returns true if nothing else leads to the only successor of a block.
fn is_only_way(graph: &Graph<'_>, block: u32) -> bool {
    match graph.blocks[block as usize].successors.as_slice() {
        [next] => graph.blocks[*next as usize].predecessors.as_slice() == [block],
        _ => false,
    }
}

fn separates(guard: Option<GuardedBy>, uniform: &[bool]) -> bool {
    guard.is_some_and(|guard| !uniform[guard.predicate.index()])
}

/// Returns true if a block does nothing but end the kernel.
pub(super) fn only_exits(graph: &Graph<'_>, block: u32) -> bool {
    let this = &graph.blocks[block as usize];
    (this.first..this.end).all(|index| {
        let op = graph.op(index);
        !op.is_live() || matches!(op.opcode, Opcode::Ret | Opcode::Exit)
    }) && this.successors.is_empty()
        && this.end > this.first
}

/// The blocks in front of a loop of one block.
pub(super) fn outside_of(graph: &Graph<'_>, block: u32) -> SmallVec<[u32; 2]> {
    let predecessors = &graph.blocks[block as usize].predecessors;
    predecessors.iter().copied().filter(|&from| from != block).collect()
}

/// The blocks that run into one that only ends the kernel; `None` if its exit is for all that come
/// there. Branches to such a block end the kernel themselves.
pub(super) fn run_into(graph: &Graph<'_>, block: u32) -> Option<SmallVec<[u32; 2]>> {
    if !only_exits(graph, block) {
        return None;
    }
    let branched = |&from: &u32| {
        terminator(graph, from).is_some_and(|branch| {
            graph.op(branch).opcode == Opcode::Bra
                && graph.blocks[from as usize].successors.first() == Some(&block)
        })
    };
    let predecessors = &graph.blocks[block as usize].predecessors;
    if !predecessors.iter().any(branched) {
        return None;
    }
    Some(predecessors.iter().copied().filter(|from| !branched(from)).collect())
}

/// The instructions that bring the lanes which `branch` separates together at `meeting`.
fn converge(
    family: &Family,
    meeting: u32,
    branch: u32,
    instructions: &mut Vec<ControlInstruction>,
) {
    let mut push = |mnemonic, operation| {
        instructions.push(ControlInstruction {
            selected: Selected::new(mnemonic, 1),
            operation,
            place: CodePlace::Meeting(meeting),
        });
    };
    match family.convergence {
        Convergence::Suffix => push("SSY", branch),
        // Branches to the meeting place are `SYNC`s themselves; whoever runs into it needs one.
        Convergence::Sync => {
            push("SSY", branch);
            push("SYNC", branch);
        }
        Convergence::Barrier => {
            if family.saves_barrier {
                push("BMOV", branch);
            }
            push("BSSY", branch);
            push("BSYNC", branch);
        }
    }
}
