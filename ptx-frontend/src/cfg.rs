//! The control-flow graph of a function: basic blocks, dominators, loops, reconvergence.
//!
//! A block ends behind every branch, `brx.idx`, `ret`, `exit` and `trap`, guarded or not, and
//! before every label that some branch can reach. A `call` does not end a block. A guarded
//! instruction that leaves the function continues with the next instruction where its guard is
//! false.

use std::ops::Range;

use petgraph::algo::dominators::{self, Dominators};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Reversed;
use smallvec::SmallVec;

use crate::isa::Opcode;
use crate::module::{Body, Instruction, LabelId, Operand, TargetList};

/// Index into [`ControlFlowGraph::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The index as a `usize`.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A maximal run of instructions that is entered at its beginning and left at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// The instructions, as indices into [`Body::instructions`]; empty only where a label
    /// stands at the very end of a body.
    pub instructions: Range<u32>,
    /// The blocks that control can go to. The branch target is first (for `brx.idx` all targets in
    /// order), then the next block. A block never lists the same successor twice.
    pub successors: SmallVec<[BlockId; 2]>,
    /// The blocks that list this one, in ascending order.
    pub predecessors: SmallVec<[BlockId; 2]>,
    /// True if control can leave the function at the end of this block.
    pub exits: bool,
}

/// A natural loop: the blocks that can reach a back edge without passing the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that every iteration enters through.
    pub header: BlockId,
    /// All blocks of the loop in ascending order, the header included.
    pub blocks: Vec<BlockId>,
    /// The innermost loop around this one, as an index into [`ControlFlowGraph::loops`].
    pub parent: Option<usize>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

/// Reason why a body has no control-flow graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CfgError {
    /// A branch whose target is not a label of the body.
    #[error("instruction {instruction} branches to something that is not a label")]
    NoTarget {
        /// Index of the branch.
        instruction: u32,
    },
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct ControlFlowGraph {
    blocks: Vec<BasicBlock>,
    reverse_post_order: Vec<BlockId>,
    /// Position in the reverse post-order; `u32::MAX` for unreachable blocks.
    order: Vec<u32>,
    immediate_dominators: Vec<Option<BlockId>>,
    immediate_post_dominators: Vec<Option<BlockId>>,
    loops: Vec<Loop>,
    /// The innermost loop of each block.
    loop_of: Vec<Option<usize>>,
}

impl ControlFlowGraph {
    /// Builds the graph of `body`.
    ///
    /// # Errors
    ///
    /// [`CfgError::NoTarget`] if a branch has no label; modules from
    /// [`load`](crate::load) never have such a branch.
    pub fn new(body: &Body) -> Result<Self, CfgError> {
        let blocks = build_blocks(body)?;
        let count = blocks.len();
        let reverse_post_order = reverse_post_order(&blocks, |_, _| 0);
        let mut order = vec![u32::MAX; count];
        for (position, block) in reverse_post_order.iter().enumerate() {
            order[block.index()] = position as u32;
        }
        let graph = graph_with_exit(&blocks, &order);
        let forward = dominators::simple_fast(&graph, NodeIndex::new(0));
        let exit = NodeIndex::new(count);
        let backward = dominators::simple_fast(Reversed(&graph), exit);
        let immediate = |tree: &Dominators<NodeIndex>, block: usize| {
            tree.immediate_dominator(NodeIndex::new(block))
                .filter(|dominator| dominator.index() < count)
                .map(|dominator| BlockId(dominator.index() as u32))
        };
        let mut cfg = Self {
            immediate_dominators: (0..count).map(|block| immediate(&forward, block)).collect(),
            immediate_post_dominators: (0..count)
                .map(|block| immediate(&backward, block))
                .collect(),
            blocks,
            reverse_post_order,
            order,
            loops: Vec::new(),
            loop_of: vec![None; count],
        };
        cfg.find_loops();
        cfg.keep_loops_together();
        Ok(cfg)
    }

    /// The blocks in order of the text; the first one is the entry.
    #[must_use]
    pub fn blocks(&self) -> &[BasicBlock] {
        &self.blocks
    }

    /// The block that holds an instruction.
    #[must_use]
    pub fn block_of(&self, instruction: u32) -> Option<BlockId> {
        let index = self.blocks.partition_point(|block| block.instructions.end <= instruction);
        let holds = self.blocks.get(index)?.instructions.contains(&instruction);
        holds.then_some(BlockId(index as u32))
    }

    /// The reachable blocks, each before its successors except along back edges. Every natural loop
    /// is in one piece: the blocks that follow a loop come behind all of its blocks.
    #[must_use]
    pub fn reverse_post_order(&self) -> &[BlockId] {
        &self.reverse_post_order
    }

    /// Returns true if control can get to `block` from the entry.
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.order[block.index()] != u32::MAX
    }

    /// The blocks that control never gets to.
    pub fn unreachable(&self) -> impl Iterator<Item = BlockId> + '_ {
        (0..self.blocks.len() as u32).map(BlockId).filter(|&block| !self.is_reachable(block))
    }

    /// The closest block that every path from the entry to `block` passes; `None` for the
    /// entry and for unreachable blocks.
    #[must_use]
    pub fn immediate_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.immediate_dominators[block.index()]
    }

    /// The closest block that every path from `block` to the end of the function passes;
    /// `None` if there is none before the end, and for unreachable blocks.
    ///
    /// Endless loops have no path to the end; one is assumed to leave each of them from the
    /// block of the loop that comes last in reverse post-order.
    #[must_use]
    pub fn immediate_post_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.immediate_post_dominators[block.index()]
    }

    /// Returns the block at which the lanes that a branch at the end of `block` separates come
    /// together again. That is the immediate post-dominator if the block has several ways on. The
    /// result is `None` if the lanes meet at the end of the function only.
    #[must_use]
    pub fn reconvergence(&self, block: BlockId) -> Option<BlockId> {
        let this = &self.blocks[block.index()];
        let ways = this.successors.len() + usize::from(this.exits);
        if ways > 1 { self.immediate_post_dominator(block) } else { None }
    }

    /// Returns true if every path from the entry to `block` passes `dominator`.
    #[must_use]
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        let mut current = Some(block);
        while let Some(at) = current {
            if at == dominator {
                return true;
            }
            // Dominators come earlier in the order, so there is no need to go to the root.
            if self.order[at.index()] < self.order[dominator.index()] {
                return false;
            }
            current = self.immediate_dominator(at);
        }
        false
    }

    /// The natural loops, outer ones before the ones inside them. Cycles that are entered at
    /// several blocks (irreducible ones) are not natural loops and are not among them.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The innermost loop that holds `block`, as an index into [`Self::loops`].
    #[must_use]
    pub fn innermost_loop(&self, block: BlockId) -> Option<usize> {
        self.loop_of[block.index()]
    }

    fn find_loops(&mut self) {
        // One loop for each header, whatever the number of its back edges.
        let mut loops: Vec<Loop> = Vec::new();
        for &header in &self.reverse_post_order {
            let latches: Vec<BlockId> = self.blocks[header.index()]
                .predecessors
                .iter()
                .copied()
                .filter(|&latch| self.is_reachable(latch) && self.dominates(header, latch))
                .collect();
            if !latches.is_empty() {
                let blocks = self.loop_blocks(header, latches);
                loops.push(Loop { header, blocks, parent: None, depth: 1 });
            }
        }
        // Headers come in reverse post-order, so an outer loop precedes the ones inside it and
        // the last one to claim a block is the innermost.
        for index in 0..loops.len() {
            let header = loops[index].header;
            loops[index].parent = self.loop_of[header.index()];
            loops[index].depth = loops[index].parent.map_or(1, |parent| loops[parent].depth + 1);
            for &block in &loops[index].blocks {
                self.loop_of[block.index()] = Some(index);
            }
        }
        self.loops = loops;
    }

    /// Orders the blocks again so that the blocks behind a loop come after the whole loop. Lanes
    /// that are run in this order then wait behind a loop for those that are still inside.
    fn keep_loops_together(&mut self) {
        let order = reverse_post_order(&self.blocks, |from, to| {
            let mut common = self.loop_of[from.index()];
            while let Some(index) = common {
                if self.loops[index].blocks.binary_search(&to).is_ok() {
                    return self.loops[index].depth;
                }
                common = self.loops[index].parent;
            }
            0
        });
        for (position, block) in order.iter().enumerate() {
            self.order[block.index()] = position as u32;
        }
        self.reverse_post_order = order;
    }

    /// The blocks that reach `latches` without passing `header`, and the header.
    fn loop_blocks(&self, header: BlockId, latches: Vec<BlockId>) -> Vec<BlockId> {
        let mut inside = vec![header];
        let mut seen = vec![false; self.blocks.len()];
        seen[header.index()] = true;
        let mut open = latches;
        while let Some(block) = open.pop() {
            if !self.is_reachable(block) || std::mem::replace(&mut seen[block.index()], true) {
                continue;
            }
            inside.push(block);
            open.extend(&self.blocks[block.index()].predecessors);
        }
        inside.sort_unstable();
        inside
    }
}

/// Returns true if control may go elsewhere than to the next instruction.
const fn ends_block(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Bra | Opcode::BrxIdx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
}

/// The labels that an instruction can branch to.
fn targets(body: &Body, index: u32, instruction: &Instruction) -> Result<Vec<LabelId>, CfgError> {
    let no_target = CfgError::NoTarget { instruction: index };
    match instruction.opcode {
        Opcode::Bra => match instruction.operands.first() {
            Some(Operand::Label(label)) if label.index() < body.labels.len() => Ok(vec![*label]),
            _ => Err(no_target),
        },
        Opcode::BrxIdx => match instruction.operands.get(1) {
            Some(Operand::Targets(list)) => match body.target_lists.get(list.index()) {
                Some(TargetList::Labels(labels)) => Ok(labels.clone()),
                _ => Err(no_target),
            },
            _ => Err(no_target),
        },
        _ => Ok(Vec::new()),
    }
}

fn build_blocks(body: &Body) -> Result<Vec<BasicBlock>, CfgError> {
    let count = body.instructions.len() as u32;
    let mut targets_of = Vec::new();
    let mut starts = vec![0_u32];
    for (index, instruction) in (0..).zip(&body.instructions) {
        if !ends_block(instruction.opcode) {
            continue;
        }
        let labels = targets(body, index, instruction)?;
        let targets: Vec<u32> =
            labels.iter().map(|label| body.labels[label.index()].instruction.min(count)).collect();
        starts.extend(&targets);
        if index + 1 < count {
            starts.push(index + 1);
        }
        targets_of.push((index, targets));
    }
    starts.sort_unstable();
    starts.dedup();
    let block_at = |instruction: u32| match starts.binary_search(&instruction) {
        Ok(block) => BlockId(block as u32),
        Err(next) => BlockId(next as u32 - 1),
    };
    let mut blocks: Vec<BasicBlock> = starts
        .iter()
        .enumerate()
        .map(|(block, &start)| {
            let end = starts.get(block + 1).copied().unwrap_or(count);
            let falls_through = block + 1 < starts.len();
            let next = BlockId(block as u32 + 1);
            BasicBlock {
                instructions: start..end,
                successors: falls_through.then_some(next).into_iter().collect(),
                predecessors: SmallVec::new(),
                exits: !falls_through,
            }
        })
        .collect();
    for (index, targets) in targets_of {
        let instruction = &body.instructions[index as usize];
        let block = &mut blocks[block_at(index).index()];
        let leaves = targets.is_empty() && instruction.opcode != Opcode::BrxIdx;
        let falls_through = instruction.guard.is_some();
        let next = block.successors.first().copied();
        // If the guard is false and nothing follows, control runs off the end.
        block.exits = leaves || (falls_through && next.is_none());
        block.successors.clear();
        for target in targets {
            let target = block_at(target);
            if !block.successors.contains(&target) {
                block.successors.push(target);
            }
        }
        if let Some(next) = next.filter(|next| falls_through && !block.successors.contains(next)) {
            block.successors.push(next);
        }
    }
    for index in 0..blocks.len() {
        for successor in blocks[index].successors.clone() {
            blocks[successor.index()].predecessors.push(BlockId(index as u32));
        }
    }
    Ok(blocks)
}

/// Depth first from the entry, without recursion. Of several successors those with the least
/// `depth` in common with their predecessor come last; among equals, a branch's target comes
/// behind its fall-through.
fn reverse_post_order(
    blocks: &[BasicBlock],
    depth: impl Fn(BlockId, BlockId) -> u32,
) -> Vec<BlockId> {
    let ordered = |block: BlockId| {
        let mut successors = blocks[block.index()].successors.clone();
        successors.sort_by_key(|&successor| depth(block, successor));
        successors
    };
    let mut order = Vec::with_capacity(blocks.len());
    let mut seen = vec![false; blocks.len()];
    let mut stack = vec![(BlockId(0), ordered(BlockId(0)), 0)];
    seen[0] = true;
    while let Some((block, successors, next)) = stack.pop() {
        // The block that is finished first comes last in the order.
        match successors.get(next).copied() {
            Some(successor) => {
                stack.push((block, successors, next + 1));
                if !std::mem::replace(&mut seen[successor.index()], true) {
                    stack.push((successor, ordered(successor), 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}

/// The reachable part of the graph, with a virtual exit as the last node.
fn graph_with_exit(blocks: &[BasicBlock], order: &[u32]) -> DiGraph<(), ()> {
    let mut graph = DiGraph::with_capacity(blocks.len() + 1, blocks.len() * 2);
    for _ in 0..=blocks.len() {
        graph.add_node(());
    }
    let exit = NodeIndex::new(blocks.len());
    for (index, block) in blocks.iter().enumerate().filter(|&(index, _)| order[index] != u32::MAX) {
        let node = NodeIndex::new(index);
        for successor in &block.successors {
            graph.add_edge(node, NodeIndex::new(successor.index()), ());
        }
        if block.exits {
            graph.add_edge(node, exit, ());
        }
    }
    // Blocks that never get to the exit are in endless loops. Let the one that is last in the
    // order leave, and look again: every pass serves at least one loop.
    let mut reaches = vec![false; blocks.len()];
    let mark = |from: usize, reaches: &mut Vec<bool>| {
        let mut open = vec![from];
        while let Some(block) = open.pop() {
            if order[block] != u32::MAX && !std::mem::replace(&mut reaches[block], true) {
                open.extend(
                    blocks[block].predecessors.iter().map(|predecessor| predecessor.index()),
                );
            }
        }
    };
    for (index, block) in blocks.iter().enumerate() {
        if block.exits {
            mark(index, &mut reaches);
        }
    }
    let mut by_order: Vec<usize> =
        (0..blocks.len()).filter(|&index| order[index] != u32::MAX).collect();
    by_order.sort_unstable_by_key(|&index| std::cmp::Reverse(order[index]));
    for index in by_order {
        if !reaches[index] {
            graph.add_edge(NodeIndex::new(index), exit, ());
            mark(index, &mut reaches);
        }
    }
    graph
}
