//! Facts from control flow: dominance, and the values that are the same in all lanes.

use gpucast_ptx_frontend::isa::{Effect, SpecialRegister, opcode_facts};

use super::graph::{Arg, Graph};

/// The closest dominator of each block, by the algorithm of Cooper, Harvey and Kennedy (2001).
///
/// Blocks come in reverse post-order, function by function; the first block of a function is its
/// own dominator.
#[derive(Clone, Debug)]
pub(super) struct Dominators {
    immediate: Vec<u32>,
}

impl Dominators {
    pub(super) fn new(graph: &Graph<'_>) -> Self {
        let count = graph.blocks.len();
        let mut immediate: Vec<Option<u32>> = vec![None; count];
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..count {
                let before = |&&other: &&u32| immediate[other as usize].is_some();
                let predecessors = &graph.blocks[block].predecessors;
                let mut known = predecessors.iter().filter(before);
                let new = match known.next() {
                    None => block as u32,
                    Some(_) if is_entry(graph, block) => block as u32,
                    Some(&first) => {
                        known.fold(first, |left, &right| common(&immediate, left, right))
                    }
                };
                if immediate[block] != Some(new) {
                    immediate[block] = Some(new);
                    changed = true;
                }
            }
        }
        let own = |(block, immediate): (usize, &Option<u32>)| immediate.unwrap_or(block as u32);
        Self { immediate: immediate.iter().enumerate().map(own).collect() }
    }

    /// Returns true if every path to `block` passes `dominator`.
    pub(super) fn dominates(&self, dominator: u32, block: u32) -> bool {
        let mut at = block;
        loop {
            if at == dominator {
                return true;
            }
            let up = self.immediate[at as usize];
            if up == at || up < dominator {
                return up == dominator;
            }
            at = up;
        }
    }
}

/// Returns true if a function begins at `block`: no block before it leads there.
fn is_entry(graph: &Graph<'_>, block: usize) -> bool {
    graph.blocks[block].predecessors.iter().all(|&from| from as usize >= block)
}

/// The closest block that dominates both.
fn common(immediate: &[Option<u32>], mut left: u32, mut right: u32) -> u32 {
    while left != right {
        let (higher, lower) = if left > right { (&mut left, right) } else { (&mut right, left) };
        let up = immediate[*higher as usize].unwrap_or(lower);
        if up == *higher {
            return lower;
        }
        *higher = up;
    }
    left
}

/// For each block, the closest one outside of all loops that dominates it. A compiler puts
/// loop-invariant code there.
pub(super) fn outside_of_loops(graph: &Graph<'_>, dominators: &Dominators) -> Vec<u32> {
    let count = graph.blocks.len();
    let mut in_loop = vec![false; count];
    for latch in 0..count as u32 {
        for &header in &graph.blocks[latch as usize].successors {
            // A back edge; blocks of a natural loop are numbered from its header to its latch.
            if header <= latch && dominators.dominates(header, latch) {
                for block in header..=latch {
                    in_loop[block as usize] |= dominators.dominates(header, block);
                }
            }
        }
    }
    (0..count as u32)
        .map(|block| {
            let mut at = block;
            while in_loop[at as usize] && dominators.immediate[at as usize] != at {
                at = dominators.immediate[at as usize];
            }
            at
        })
        .collect()
}

/// For each block, the blocks of the shortest loop that it is in; none outside of loops.
pub(super) fn innermost_loops(graph: &Graph<'_>, dominators: &Dominators) -> Vec<Vec<u32>> {
    let mut innermost: Vec<Vec<u32>> = vec![Vec::new(); graph.blocks.len()];
    for latch in 0..graph.blocks.len() as u32 {
        for &header in &graph.blocks[latch as usize].successors {
            if header > latch || !dominators.dominates(header, latch) {
                continue;
            }
            let blocks: Vec<u32> =
                (header..=latch).filter(|&block| dominators.dominates(header, block)).collect();
            for &block in &blocks {
                let known = &mut innermost[block as usize];
                if known.is_empty() || blocks.len() < known.len() {
                    known.clone_from(&blocks);
                }
            }
        }
    }
    innermost
}

/// Returns the registers that hold the same value in all lanes of a warp.
///
/// A register is uniform if everything that it is computed from is: constants, parameters, launch
/// dimensions and the CTA's index. The analysis starts from "all are" and takes back those that
/// depend on a lane, so that loop counters stay uniform. Control that is not uniform does not make
/// a variable non-uniform here.
pub(super) fn uniform_registers(graph: &Graph<'_>) -> Vec<bool> {
    let mut uniform = vec![true; graph.definitions.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for op in &graph.ops {
            let is_uniform = (op.results.is_empty()
                || matches!(opcode_facts(op.opcode).effect, Effect::Value | Effect::Carry))
                && op.args.iter().all(|arg| match arg {
                    Arg::Register(register) => uniform[register.index()],
                    Arg::Special(special) => is_uniform_special(*special),
                    Arg::Constant(_) | Arg::Bank(_) | Arg::Shared(_) => true,
                })
                && op.guard.is_none_or(|guard| uniform[guard.predicate.index()]);
            if is_uniform {
                continue;
            }
            for result in &op.results {
                changed |= std::mem::replace(&mut uniform[result.index()], false);
            }
        }
    }
    uniform
}

fn is_uniform_special(special: SpecialRegister) -> bool {
    use SpecialRegister as S;
    matches!(special, S::Ctaid(_) | S::Clusterid(_) | S::ClusterCtaid(_) | S::ClusterCtarank)
}
