//! The atomics by which CTAs take work from each other.
//!
//! A persistent kernel asks a counter for its next tile until there is none left:
//! `while ((tile = atomicAdd(&next, 1)) < tiles)`. Which CTA gets which tile depends on who asks
//! when. The atomic is therefore told from others by what its value decides. It adds to global
//! memory within a loop, and a branch on its value leaves that loop. Values are followed through
//! registers and shared memory, by which one thread tells its block. An atomic that only says where
//! to write, one that asks once, and a lock take no work.

use std::ops::Range;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::isa::Opcode;

use super::super::memory_op::{AtomicOperation, MemoryOp, Space};
use super::super::{Block, StaticInstruction};
use super::values::flow::{Flow, Nodes, ValuePlace};

/// The atomics that take work, as indices into `instructions`, in ascending order.
pub(super) fn atomics(
    module: &Module,
    instructions: &[StaticInstruction],
    blocks: &[Block],
    ops: &[MemoryOp],
) -> Vec<u32> {
    let counts = |op: &&MemoryOp| {
        let adds = |operation| {
            use AtomicOperation as A;
            matches!(operation, A::Add | A::Increment | A::Decrement)
        };
        let returns = instructions[op.instruction as usize].instruction.opcode == Opcode::Atom;
        let outside_cta = matches!(op.space, Space::Global | Space::Generic);
        returns && outside_cta && op.atomic.as_ref().is_some_and(|atomic| adds(atomic.operation))
    };
    let mut candidates: Vec<u32> = ops.iter().filter(counts).map(|op| op.instruction).collect();
    if candidates.is_empty() {
        return candidates;
    }
    candidates.sort_unstable();
    candidates.dedup();
    let nodes = Nodes::new(module, instructions);
    let flows: Vec<Flow> =
        instructions.iter().map(|instruction| Flow::of(&nodes, instruction)).collect();
    candidates.retain(|&atomic| {
        let again = Again::of(blocks, atomic);
        again.is_loop && {
            let values = reached(&nodes, &flows, atomic as usize);
            blocks.iter().enumerate().any(|(at, block)| {
                again.is_left_at(at, block)
                    && decisions(block, instructions)
                        .any(|index| flows[index].decides.iter().any(|&to| values[to as usize]))
            })
        }
    });
    candidates
}

/// The instructions of a block.
fn range(block: &Block) -> Range<usize> {
    let first = block.first_instruction as usize;
    first..first + block.instruction_count as usize
}

/// The instructions of a block that say where its threads go on.
fn decisions<'a>(
    block: &Block,
    instructions: &'a [StaticInstruction],
) -> impl Iterator<Item = usize> + use<'a> {
    range(block).filter(|&index| {
        matches!(
            instructions[index].instruction.opcode,
            Opcode::Bra | Opcode::BrxIdx | Opcode::Ret | Opcode::Exit
        )
    })
}

/// The nodes that the value of an instruction may reach within its CTA.
fn reached(nodes: &Nodes, flows: &[Flow], from: usize) -> Vec<bool> {
    let mut reached = vec![false; nodes.count()];
    let inside = |to: &&u32| **to != nodes.of(ValuePlace::Global);
    flows[from].to.iter().filter(inside).for_each(|&to| reached[to as usize] = true);
    loop {
        let mut changed = false;
        for flow in flows.iter().filter(|flow| !flow.from.is_empty()) {
            if flow.from.iter().any(|&from| reached[from as usize]) {
                for &to in flow.to.iter().filter(inside) {
                    changed |= !std::mem::replace(&mut reached[to as usize], true);
                }
            }
        }
        if !changed {
            return reached;
        }
    }
}

/// The ways that lead back to an instruction.
struct Again {
    /// True of the blocks from whose end control may come to it.
    leads: Vec<bool>,
    /// True of the blocks to which control may come from it.
    follows: Vec<bool>,
    is_loop: bool,
}

impl Again {
    fn of(blocks: &[Block], instruction: u32) -> Self {
        let none = || vec![false; blocks.len()];
        let mut again = Self { leads: none(), follows: none(), is_loop: false };
        let holds = |block: &Block| range(block).contains(&(instruction as usize));
        let Some(own) = blocks.iter().position(holds) else { return again };
        let mut open = vec![own];
        while let Some(at) = open.pop() {
            for &next in &blocks[at].successors {
                if !std::mem::replace(&mut again.follows[next as usize], true) {
                    open.push(next as usize);
                }
            }
        }
        again.is_loop = again.follows[own];
        loop {
            let mut changed = false;
            for (at, block) in blocks.iter().enumerate().rev() {
                let leads = |&next: &u32| next as usize == own || again.leads[next as usize];
                if !again.leads[at] && block.successors.iter().any(leads) {
                    again.leads[at] = true;
                    changed = true;
                }
            }
            if !changed {
                return again;
            }
        }
    }

    /// Returns true if a block of the loop has a way out of it.
    fn is_left_at(&self, at: usize, block: &Block) -> bool {
        let ends = block.successors.len() < 2;
        self.holds(at) && (ends || block.successors.iter().any(|&next| !self.holds(next as usize)))
    }

    /// Returns true if a block belongs to the loop.
    fn holds(&self, at: usize) -> bool {
        self.follows[at] && self.leads[at]
    }
}

#[cfg(test)]
mod tests {
    use crate::program::Program;

    /// Lines of the atomics of a kernel with this body that take work; its first line is 1.
    fn taking(body: &str) -> Vec<u32> {
        let head = ".version 8.8 .target sm_90 .address_size 64 .visible .entry k(.param .u64 n) { \
                    .reg .b32 %r<8>; .reg .b64 %n; .reg .pred %p, %q; .shared .b32 s; \
                    ld.param.u64 %n, [n]; mov.u32 %r7, %tid.x;";
        let text = format!("{head}\n{body}\n}}");
        let module = gpucast_ptx_frontend::load(&text).unwrap_or_else(|all| panic!("{}", all[0]));
        let program = Program::new(&module, &text, "k").unwrap();
        let line = |&at: &u32| program.instructions[at as usize].line - 1;
        program.takes_work.iter().map(line).collect()
    }

    #[test]
    fn an_atomic_takes_work_if_its_value_ends_the_loop_that_it_stands_in() {
        let loops = "a:\natom.global.add.u32 %r0, [%n], 1;\nsetp.ge.u32 %p, %r0, 9;";
        assert_eq!(taking(&format!("{loops}\n@%p bra b;\nbra a;\nb: ret;")), [2]);
        assert_eq!(taking(&format!("{loops}\n@%p ret;\nbra a;")), [2]);
        // Without the value, or by a branch within the loop.
        assert_eq!(taking(&format!("{loops}\nsetp.ge.u32 %q, %r7, 9;\n@%q ret;\nbra a;")), [0; 0]);
        let within = "@%p bra c;\nadd.u32 %r7, %r7, 1;\nc: setp.ge.u32 %q, %r7, 9;";
        assert_eq!(taking(&format!("{loops}\n{within}\n@%q ret;\nbra a;")), [0; 0]);
    }

    #[test]
    fn places_in_a_queue_the_last_block_and_locks_take_no_work() {
        let queue = "a:\natom.global.add.u32 %r0, [%n], 1;\nmul.wide.u32 %n, %r0, 4;\n\
                     st.global.u32 [%n], 1;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p, %r7, 9;\n\
                     @%p bra a;\nret;";
        assert_eq!(taking(queue), [0; 0]);
        let last = "atom.global.inc.u32 %r0, [%n], 9;\nsetp.ne.u32 %p, %r0, 9;\n@%p ret;\n\
                    st.global.u32 [%n], 1;\nret;";
        assert_eq!(taking(last), [0; 0]);
        let lock = "a:\natom.global.cas.b32 %r0, [%n], 0, 1;\nsetp.ne.u32 %p, %r0, 0;\n\
                    @%p bra a;\nret;";
        assert_eq!(taking(lock), [0; 0]);
    }
}
