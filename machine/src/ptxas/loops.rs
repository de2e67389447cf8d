//! The loops of the PTX and the threads that came to each, from the counts of its branches.
//!
//! A loop that the assembler unrolled has several versions in machine code. The share of each
//! version in a thread's rounds depends on the rounds of one visit. Those are the executions
//! divided by the visits.

use gpucast_interpreter::Program;

/// For each PTX instruction, the visits of the innermost loop around it.
pub(super) struct Loops {
    visits: Vec<Option<u128>>,
    /// The block of each PTX instruction.
    blocks: Vec<u32>,
}

/// An edge of the PTX's control-flow graph that leads back to a loop's first block.
#[derive(Clone, Copy)]
struct BackEdge {
    from: usize,
    successor: usize,
    header: usize,
}

/// The lanes that issued a PTX instruction, and those for which its guard was true.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) issued: u128,
    pub(super) executed: u128,
}

impl Loops {
    /// Finds the loops of a program; `lanes` knows the counts of each instruction.
    pub(super) fn new(program: &Program, lanes: &dyn Fn(u32) -> Lanes) -> Self {
        let blocks = program.blocks();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (from, block) in blocks.iter().enumerate() {
            for &to in &block.successors {
                predecessors[to as usize].push(from);
            }
        }
        let edges = back_edges(program);
        let mut headers: Vec<usize> = edges.iter().map(|edge| edge.header).collect();
        headers.sort_unstable();
        headers.dedup();
        // The blocks of each loop with its visits, smallest loop first.
        let mut loops: Vec<(Vec<usize>, Option<u128>)> = headers
            .into_iter()
            .map(|header| {
                let own = || edges.iter().filter(move |edge| edge.header == header);
                let body = body(&predecessors, header, own().map(|edge| edge.from));
                let again: Option<u128> = own().map(|&edge| crossings(program, edge, lanes)).sum();
                let rounds = lanes(blocks[header].first_instruction).issued;
                (body, again.and_then(|again| rounds.checked_sub(again)))
            })
            .collect();
        loops.sort_by_key(|(body, _)| body.len());
        let mut visits = vec![None; program.instructions().len()];
        for (body, count) in loops.iter().rev() {
            for &block in body {
                let first = blocks[block].first_instruction as usize;
                let after = first + blocks[block].instruction_count as usize;
                if let Some(part) = visits.get_mut(first..after) {
                    part.fill(*count);
                }
            }
        }
        let mut block_of = vec![0; program.instructions().len()];
        for (number, block) in blocks.iter().enumerate() {
            let first = block.first_instruction as usize;
            if let Some(part) = block_of.get_mut(first..first + block.instruction_count as usize) {
                part.fill(number as u32);
            }
        }
        Self { visits, blocks: block_of }
    }

    /// The block of the PTX that an instruction is in.
    pub(super) fn block(&self, ptx: u32) -> u32 {
        self.blocks.get(ptx as usize).copied().unwrap_or_default()
    }

    /// The threads that came to the innermost loop around a PTX instruction.
    pub(super) fn visits(&self, ptx: u32) -> Option<u128> {
        self.visits.get(ptx as usize).copied().flatten().filter(|&visits| visits > 0)
    }
}

/// Edges that lead to a block that is being visited by a depth-first search.
fn back_edges(program: &Program) -> Vec<BackEdge> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let blocks = program.blocks();
    let mut state = vec![State::New; blocks.len()];
    let mut edges = Vec::new();
    for root in 0..blocks.len() {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        let mut path = vec![(root, 0)];
        while let Some((from, successor)) = path.last_mut() {
            let (from, next) = (*from, *successor);
            let Some(&to) = blocks[from].successors.get(next) else {
                state[from] = State::Done;
                path.pop();
                continue;
            };
            *successor += 1;
            let to = to as usize;
            match state[to] {
                State::Open => edges.push(BackEdge { from, successor: next, header: to }),
                State::New => {
                    state[to] = State::Open;
                    path.push((to, 0));
                }
                State::Done => {}
            }
        }
    }
    edges
}

/// The blocks from which a loop's back edges are reached without passing its first block.
fn body(
    predecessors: &[Vec<usize>],
    header: usize,
    ends: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let mut is_in = vec![false; predecessors.len()];
    is_in[header] = true;
    let mut open: Vec<usize> = ends.collect();
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut is_in[block], true) {
            open.extend(&predecessors[block]);
        }
    }
    (0..is_in.len()).filter(|&block| is_in[block]).collect()
}

/// Threads that went along an edge; `None` if the counts do not say.
fn crossings(program: &Program, edge: BackEdge, lanes: &dyn Fn(u32) -> Lanes) -> Option<u128> {
    let block = &program.blocks()[edge.from];
    let last = block.first_instruction + block.instruction_count.checked_sub(1)?;
    let counts = lanes(last);
    match (block.successors.len(), edge.successor) {
        (1, _) => Some(counts.issued),
        // The branch target comes first.
        (2, 0) => Some(counts.executed),
        (2, _) => counts.issued.checked_sub(counts.executed),
        _ => None,
    }
}
