//! The scheduling fields of ordered blocks: clocks between instructions, barriers and waits.
//!
//! Operands are taken to be read before anything overwrites them: an assembler has registers
//! enough to make read barriers rare, and they are left out.

use std::collections::{HashMap, HashSet};

use gpucast_simulation::code::{Action, Class, Control};
use smallvec::SmallVec;

use super::super::graph::Register;
use super::depend::{Body, Origin};
use super::latency::{BARRIER_RAISED, Latencies, Pipe};
use super::node::{COPIES, Node};
use super::order::Order;

/// A block whose instructions have an order.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) body: Body,
    pub(super) order: Order,
    /// Blocks that control can go to.
    pub(super) successors: SmallVec<[u32; 4]>,
}

/// The scheduling fields of all blocks, in their orders.
pub(super) fn controls(blocks: &[Ordered], latencies: &Latencies) -> Vec<Vec<Control>> {
    let clocks: Vec<Clocks> = blocks.iter().map(|block| Clocks::new(block, latencies)).collect();
    let mut controls: Vec<Vec<Control>> = (0..blocks.len())
        .map(|index| {
            let last = last_stall(blocks, &clocks, index, latencies);
            clocks[index].stalls(last)
        })
        .collect();
    Barriers::new(blocks, latencies).write(&mut controls);
    controls
}

/// The clocks in which the instructions of a block issue if no barrier holds them up.
struct Clocks {
    /// By place in the order.
    issued: Vec<u32>,
    /// By instruction.
    of_node: Vec<u32>,
    /// The first clock in which an instruction behind the block may issue.
    end: u32,
}

impl Clocks {
    fn new(block: &Ordered, latencies: &Latencies) -> Self {
        let nodes = &block.body.nodes;
        let mut of_node = vec![0; nodes.len()];
        let mut issued = Vec::with_capacity(nodes.len());
        let mut next = 0;
        let mut before: Option<u32> = None;
        let mut free_at = [0; Pipe::COUNT];
        for (place, &index) in block.order.nodes.iter().enumerate() {
            let node = &nodes[index as usize];
            let earliest = node.sources.iter().map(|source| {
                let producer = &nodes[source.node as usize];
                let clocks = latencies.between(producer.class, node.class, source.by);
                of_node[source.node as usize] + u32::from(clocks)
            });
            let pipe = Pipe::of(node.class) as usize;
            let earliest = earliest.max().unwrap_or(0).max(free_at[pipe]);
            let pair = before.filter(|&at| block.order.is_paired[place] && earliest <= at);
            let at = pair.unwrap_or_else(|| earliest.max(next));
            of_node[index as usize] = at;
            free_at[pipe] = at + u32::from(latencies.interval(node.class));
            issued.push(at);
            before = Some(at);
            next = next.max(at + u32::from(latencies.least_stall(node.class, node.is_barrier())));
        }
        Self { issued, of_node, end: next }
    }

    fn stalls(&self, last: u32) -> Vec<Control> {
        let next = self.issued.iter().skip(1).copied().chain([self.end + last]);
        let stalls = self.issued.iter().zip(next).map(|(&at, next)| next.saturating_sub(at));
        stalls
            .map(|stall| Control { stall: u8::try_from(stall).unwrap_or(u8::MAX), ..Control::NEXT })
            .collect()
    }
}

/// Clocks that a block has to wait at its end for the results that other blocks use.
fn last_stall(blocks: &[Ordered], clocks: &[Clocks], index: usize, latencies: &Latencies) -> u32 {
    let block = &blocks[index];
    let end = clocks[index].end;
    let longest = u32::from(latencies.longest());
    let mut stall = 0;
    for (&register, origins) in &block.body.written {
        for origin in origins {
            let Origin::Node(node) = *origin else { continue };
            let class = block.body.nodes[node as usize].class;
            let at = clocks[index].of_node[node as usize];
            if latencies.is_variable(class) || at + longest <= end {
                continue;
            }
            let search = Search { blocks, clocks, latencies, class, limit: at + longest - end };
            for (ready, offset) in search.uses(&block.successors, register) {
                stall = stall.max((at + u32::from(ready)).saturating_sub(end + offset));
            }
        }
    }
    stall
}

/// The search for uses of a register behind a block.
struct Search<'a> {
    blocks: &'a [Ordered],
    clocks: &'a [Clocks],
    latencies: &'a Latencies,
    /// The class of the instruction that made the value.
    class: Class,
    /// Clocks after which everything is there.
    limit: u32,
}

impl Search<'_> {
    /// The latency that each use needs, and the clocks from the block's end to it.
    fn uses(&self, successors: &[u32], register: Register) -> Vec<(u8, u32)> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let start: SmallVec<[Register; 2]> = [register].into_iter().collect();
        let mut open: Vec<(u32, u32, SmallVec<[Register; 2]>)> =
            successors.iter().map(|&next| (next, 0, start.clone())).collect();
        while let Some((index, offset, registers)) = open.pop() {
            if offset >= self.limit || !seen.insert((index, offset, registers.clone())) {
                continue;
            }
            let block = &self.blocks[index as usize];
            let clocks = &self.clocks[index as usize];
            for (&node, at) in block.order.nodes.iter().zip(&clocks.issued) {
                let node = &block.body.nodes[node as usize];
                for live_in in
                    node.live_in.iter().filter(|value| registers.contains(&value.register))
                {
                    let ready = self.latencies.between(self.class, node.class, live_in.by);
                    found.push((ready, offset + at));
                }
            }
            let mut passed: SmallVec<[Register; 2]> = registers
                .iter()
                .copied()
                .filter(|register| !block.body.written.contains_key(register))
                .collect();
            for (&to, origins) in &block.body.written {
                let copies = |origin: &Origin| matches!(origin, Origin::Before(from) if registers.contains(from));
                if origins.iter().any(copies) {
                    passed.push(to);
                }
            }
            passed.sort_unstable();
            let next = block.successors.iter();
            open.extend(next.map(|&next| (next, offset + clocks.end, passed.clone())));
        }
        found
    }
}

/// The barriers of a program.
struct Barriers<'a> {
    blocks: &'a [Ordered],
    /// For each block and instruction, its number among those whose results barriers announce.
    of_node: Vec<HashMap<u32, u32>>,
    /// The producers that may have written each register, over all blocks.
    writers: HashMap<Register, Vec<u32>>,
    /// The producers that may be outstanding where each block begins.
    entered: Vec<HashSet<u32>>,
    /// The barrier of each producer.
    barriers: Vec<u8>,
}

/// Barriers for results: all but the one of asynchronous copies.
const BARRIERS: u8 = COPIES;
/// The most of them for results that are outstanding from one block to another.
const BARRIERS_BETWEEN_BLOCKS: u8 = BARRIERS / 2;

impl<'a> Barriers<'a> {
    fn new(blocks: &'a [Ordered], latencies: &Latencies) -> Self {
        let mut count = 0;
        let mut of_node = Vec::with_capacity(blocks.len());
        for block in blocks {
            let mut own = HashMap::new();
            for &index in &block.order.nodes {
                if announces(&block.body.nodes[index as usize], latencies) {
                    own.insert(index, count);
                    count += 1;
                }
            }
            of_node.push(own);
        }
        let writers = writers(blocks, &of_node);
        let mut all = Self { blocks, of_node, writers, entered: Vec::new(), barriers: Vec::new() };
        all.entered = all.outstanding_at_entry();
        all.barriers = all.numbered(count);
        all
    }

    /// Barriers in turn. Results that are outstanding between blocks have barriers apart, so that
    /// nobody inside of a block waits for them instead of its own.
    fn numbered(&self, count: u32) -> Vec<u8> {
        let between: HashSet<u32> = self.entered.iter().flatten().copied().collect();
        let apart = u8::try_from(between.len()).unwrap_or(u8::MAX).min(BARRIERS_BETWEEN_BLOCKS);
        let mut next = [0, apart];
        let number = |producer: u32| {
            let is_inside = usize::from(!between.contains(&producer));
            let (first, end) = if is_inside == 1 { (apart, BARRIERS) } else { (0, apart) };
            let barrier = next[is_inside];
            next[is_inside] = if barrier + 1 == end { first } else { barrier + 1 };
            barrier
        };
        (0..count).map(number).collect()
    }

    fn write(&self, controls: &mut [Vec<Control>]) {
        for (index, block) in self.blocks.iter().enumerate() {
            let mut outstanding = self.entered[index].clone();
            for (place, &node) in block.order.nodes.iter().enumerate() {
                let waited = self.step(index, node, &mut outstanding);
                let control = &mut controls[index][place];
                for producer in waited {
                    control.wait_mask |= 1 << self.barriers[producer as usize];
                }
                let own = self.of_node[index].get(&node);
                control.write_barrier = match own {
                    Some(&producer) => Some(self.barriers[producer as usize]),
                    None => {
                        let node = &block.body.nodes[node as usize];
                        matches!(node.action, Action::CommitCopies { .. }).then_some(COPIES)
                    }
                };
                let is_last = place + 1 == block.order.nodes.len();
                if control.write_barrier.is_some() && (is_last || own.is_none()) {
                    // The next instruction may wait for it.
                    control.stall = control.stall.max(BARRIER_RAISED);
                }
            }
        }
    }

    /// The producers that may be outstanding where each block begins.
    fn outstanding_at_entry(&self) -> Vec<HashSet<u32>> {
        let mut entered: Vec<HashSet<u32>> = vec![HashSet::new(); self.blocks.len()];
        let mut open: Vec<usize> = (0..self.blocks.len()).rev().collect();
        while let Some(index) = open.pop() {
            let mut outstanding = entered[index].clone();
            for &node in &self.blocks[index].order.nodes {
                self.step(index, node, &mut outstanding);
            }
            for &next in &self.blocks[index].successors {
                let into = &mut entered[next as usize];
                let before = into.len();
                into.extend(outstanding.iter().copied());
                if into.len() > before {
                    open.push(next as usize);
                }
            }
        }
        entered
    }

    /// Waits for what an instruction uses, and starts it; returns the producers it waits for.
    fn step(&self, block: usize, index: u32, outstanding: &mut HashSet<u32>) -> Vec<u32> {
        let node = &self.blocks[block].body.nodes[index as usize];
        let mut waited = Vec::new();
        if matches!(node.mnemonic, "CALL" | "RET") {
            // The callee may use anything.
            waited.extend(outstanding.drain());
        } else {
            let inside =
                node.sources.iter().filter_map(|source| self.of_node[block].get(&source.node));
            let before = node.live_in.iter().filter_map(|value| self.writers.get(&value.register));
            for &producer in inside.chain(before.flatten()) {
                if outstanding.remove(&producer) {
                    waited.push(producer);
                }
            }
        }
        if let Some(&producer) = self.of_node[block].get(&index) {
            outstanding.insert(producer);
        }
        waited
    }
}

/// Returns true if a barrier announces the result of an instruction.
fn announces(node: &Node, latencies: &Latencies) -> bool {
    let is_asynchronous = matches!(
        node.action,
        Action::Multiply { is_asynchronous: true, .. } | Action::CommitCopies { .. }
    );
    latencies.is_variable(node.class) && node.has_result && !is_asynchronous
}

/// The producers that may have written each register where some block ends.
fn writers(blocks: &[Ordered], of_node: &[HashMap<u32, u32>]) -> HashMap<Register, Vec<u32>> {
    let mut writers: HashMap<Register, Vec<u32>> = HashMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for (block, own) in blocks.iter().zip(of_node) {
            for (&register, origins) in &block.body.written {
                let mut new: Vec<u32> = Vec::new();
                for origin in origins {
                    match origin {
                        Origin::Node(node) => new.extend(own.get(node)),
                        Origin::Before(from) => {
                            new.extend(writers.get(from).into_iter().flatten());
                        }
                    }
                }
                if new.is_empty() {
                    continue;
                }
                let known = writers.entry(register).or_default();
                for producer in new {
                    if !known.contains(&producer) {
                        known.push(producer);
                        changed = true;
                    }
                }
            }
        }
    }
    writers
}
