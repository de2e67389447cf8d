//! Blocks of machine code, and the blocks of PTX that they stand for.
//!
//! Blocks of PTX that have become guarded instructions, and blocks that follow their only
//! predecessor without a branch, belong to the block before them. An unrolled loop has a block for
//! one, two, three and four rounds.

use gpucast_ptx_frontend::isa::Opcode;
use smallvec::SmallVec;

use super::super::branches::{home, outside_of, run_into, terminator};
use super::super::graph::Graph;
use crate::replay::{Follower, Nest, Plan, Rate};

/// A block of machine code to be.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) content: Content,
    /// Blocks of machine code that control can go to.
    pub(super) successors: SmallVec<[u32; 4]>,
}

/// The instructions of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Those of blocks of PTX, one after the other, repeated for each round of a loop.
    Code {
        /// The blocks of PTX.
        blocks: SmallVec<[u32; 2]>,
        /// Rounds of the loop; 1 of others.
        rounds: u32,
    },
    /// Those in front of an unrolled loop.
    Entry(u32),
}

/// The machine code that an execution of a block of PTX stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// That of a block before it, which has been executed already.
    Absorbed,
    /// One block.
    Block(u32),
    /// One block, if a warp has run into it: who branches to it has ended.
    RunInto {
        block: u32,
        /// The blocks of PTX that run into it.
        from: SmallVec<[u32; 2]>,
    },
    /// A loop of one block.
    Loop {
        entry: u32,
        /// The blocks of one round, two, three and four.
        rounds: SmallVec<[u32; 4]>,
    },
}

impl Visit {
    /// The machine blocks that follow such visits. A loop takes whole turns of its unrolled rounds
    /// first, and then the rest.
    fn followers(&self) -> Vec<Follower> {
        let follower = |block, rate| Follower { block, rate, start: 0.0, length: 1.0 };
        match self {
            Self::Absorbed => Vec::new(),
            Self::Block(block) => vec![follower(*block, Rate::EACH)],
            Self::RunInto { block, from } => vec![follower(*block, Rate::Behind(from.clone()))],
            Self::Loop { entry, rounds } => {
                let most = rounds.len() as u64;
                let mut followers = vec![follower(*entry, Rate::OfRuns)];
                followers.extend(rounds.last().map(|&all| follower(all, Rate::OfRounds(most))));
                followers.extend((1..most).zip(rounds).map(|(rest, &block)| Follower {
                    start: 1.0,
                    ..follower(block, Rate::OfRest { rounds: most, rest })
                }));
                followers
            }
        }
    }
}

/// All blocks of machine code.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    /// For each block of PTX, the machine code that its executions stand for.
    pub(super) visits: Vec<Visit>,
}

impl Layout {
    pub(super) fn new(graph: &Graph<'_>) -> Self {
        let roots = roots(graph);
        let mut layout =
            Self { blocks: Vec::new(), visits: vec![Visit::Absorbed; graph.blocks.len()] };
        for root in 0..graph.blocks.len() as u32 {
            if roots[root as usize] != root {
                continue;
            }
            let members: SmallVec<[u32; 2]> =
                (root..graph.blocks.len() as u32).filter(|&b| roots[b as usize] == root).collect();
            let unrolled = terminator(graph, root).map_or(1, |branch| graph.op(branch).shared_by);
            layout.visits[root as usize] = if unrolled > 1 {
                let entry = layout.add(Content::Entry(root));
                let rounds = (1..=unrolled)
                    .map(|rounds| layout.add(Content::Code { blocks: members.clone(), rounds }))
                    .collect();
                Visit::Loop { entry, rounds }
            } else {
                let block = layout.add(Content::Code { blocks: members, rounds: 1 });
                match run_into(graph, root) {
                    Some(from) => {
                        let from = from.into_iter().map(|from| home(graph, from)).collect();
                        Visit::RunInto { block, from }
                    }
                    None => Visit::Block(block),
                }
            };
        }
        layout.connect(graph, &roots);
        layout
    }

    /// The plan of all warps.
    pub(super) fn plan(&self) -> Plan {
        Plan { by_ptx_block: self.visits.iter().map(Visit::followers).collect() }
    }

    /// The loops that were unrolled, each of one block of PTX.
    pub(super) fn unrolled(&self) -> Nest {
        let again = |(block, visit): (usize, &Visit)| match visit {
            Visit::Loop { .. } => vec![block],
            Visit::Absorbed | Visit::Block(_) | Visit::RunInto { .. } => Vec::new(),
        };
        Nest::new(&self.visits.iter().enumerate().map(again).collect::<Vec<_>>())
    }

    fn add(&mut self, content: Content) -> u32 {
        self.blocks.push(Block { content, successors: SmallVec::new() });
        self.blocks.len() as u32 - 1
    }

    /// Blocks that stand for a block of PTX, the first of them being entered from others.
    fn of(&self, block: u32) -> (Option<u32>, SmallVec<[u32; 4]>) {
        match &self.visits[block as usize] {
            Visit::Absorbed => (None, SmallVec::new()),
            Visit::Block(block) | Visit::RunInto { block, .. } => {
                (Some(*block), SmallVec::from_slice(&[*block]))
            }
            Visit::Loop { entry, rounds } => (Some(*entry), rounds.clone()),
        }
    }

    fn connect(&mut self, graph: &Graph<'_>, roots: &[u32]) {
        for (block, &root) in roots.iter().enumerate() {
            let (_, from) = self.of(root);
            for &next in &graph.blocks[block].successors {
                let to = roots[next as usize];
                let (entered, rounds) = self.of(to);
                let is_loop = matches!(self.visits[to as usize], Visit::Loop { .. });
                for &from in &from {
                    // Inside of an absorbed chain there is no edge.
                    if to == root && next != root {
                        continue;
                    }
                    let targets: SmallVec<[u32; 4]> = if is_loop && to == root {
                        rounds.clone()
                    } else {
                        entered.into_iter().collect()
                    };
                    self.edges(from, &targets);
                }
                if let (true, Some(entry)) = (is_loop, entered) {
                    self.edges(entry, &rounds);
                }
            }
        }
    }

    fn edges(&mut self, from: u32, targets: &[u32]) {
        let successors = &mut self.blocks[from as usize].successors;
        for target in targets {
            if !successors.contains(target) {
                successors.push(*target);
            }
        }
    }
}

/// For each block of PTX, the one whose machine code it is part of.
fn roots(graph: &Graph<'_>) -> Vec<u32> {
    let mut roots: Vec<u32> = Vec::with_capacity(graph.blocks.len());
    for block in 0..graph.blocks.len() as u32 {
        let before = home(graph, block);
        let root = if before < block {
            roots[before as usize]
        } else {
            match chained_to(graph, block) {
                Some(from) if from < block => roots[from as usize],
                _ => block,
            }
        };
        roots.push(root);
    }
    roots
}

/// The block that `block` always follows, if it is the only one before it.
fn chained_to(graph: &Graph<'_>, block: u32) -> Option<u32> {
    let [from] = graph.blocks[block as usize].predecessors.as_slice() else { return None };
    let from = home(graph, *from);
    let before = &graph.blocks[from as usize];
    let always = before.successors.as_slice() == [block];
    let calls = (before.first..before.end).any(|index| graph.op(index).opcode == Opcode::Call);
    let is_loop = outside_of(graph, block).is_empty();
    (always && !calls && !is_loop && from != block).then_some(from)
}
