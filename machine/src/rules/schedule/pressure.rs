//! The registers that an order of machine instructions keeps at the same time.
//!
//! A value has its register from the instruction that makes it to the last that uses it. The walk
//! is the usual backward one: from the uses of a block's values to the blocks before it.

use std::collections::{HashMap, HashSet};

use super::super::graph::{Graph, Op, Register};
use super::control::Ordered;
use super::depend::{Body, Origin};
use super::node::result_words;

/// The most words of 32 bits that live values take at the same time.
pub(super) fn most_words(graph: &Graph<'_>, blocks: &[Ordered]) -> u32 {
    let at_end = live_at_end(blocks);
    let of_block = blocks.iter().zip(&at_end).map(|(block, live)| {
        let mut walk = Walk { graph, body: &block.body, live: HashMap::new(), now: 0, most: 0 };
        walk.block(block, live)
    });
    of_block.max().unwrap_or(0)
}

/// By block, the registers whose values blocks behind it read.
fn live_at_end(blocks: &[Ordered]) -> Vec<HashSet<Register>> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); blocks.len()];
    let mut pending: Vec<(u32, Register)> = Vec::new();
    for (block, index) in blocks.iter().zip(0_u32..) {
        for &successor in &block.successors {
            before[successor as usize].push(index);
        }
        let reads = block.body.nodes.iter().flat_map(|node| &node.live_in);
        pending.extend(reads.map(|read| (index, read.register)));
    }
    let mut live: Vec<HashSet<Register>> = vec![HashSet::new(); blocks.len()];
    while let Some((block, register)) = pending.pop() {
        for &from in &before[block as usize] {
            if live[from as usize].insert(register) {
                let origins = origins(&blocks[from as usize].body, register);
                pending.extend(origins.into_iter().filter_map(|origin| match origin {
                    Origin::Before(register) => Some((from, register)),
                    Origin::Node(_) => None,
                }));
            }
        }
    }
    live
}

/// Where a register has its value from behind a block.
fn origins(body: &Body, register: Register) -> Vec<Origin> {
    match body.written.get(&register) {
        Some(origins) => origins.to_vec(),
        None => vec![Origin::Before(register)],
    }
}

struct Walk<'a, 'p> {
    graph: &'a Graph<'p>,
    body: &'a Body,
    live: HashMap<Value, u32>,
    now: u32,
    most: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Value {
    Node(u32),
    Before(Register),
}

impl Walk<'_, '_> {
    fn block(&mut self, block: &Ordered, at_end: &HashSet<Register>) -> u32 {
        for &register in at_end {
            for origin in origins(self.body, register) {
                self.read(match origin {
                    Origin::Node(node) => Value::Node(node),
                    Origin::Before(register) => Value::Before(register),
                });
            }
        }
        self.most = self.now;
        for &index in block.order.nodes.iter().rev() {
            let node = &self.body.nodes[index as usize];
            match self.live.remove(&Value::Node(index)) {
                Some(words) => self.now -= words,
                // What nobody reads takes its register all the same.
                None if node.has_result => self.most = self.most.max(self.now + node.words),
                None => {}
            }
            for source in &node.sources {
                self.read(Value::Node(source.node));
            }
            for read in &node.live_in {
                self.read(Value::Before(read.register));
            }
            self.most = self.most.max(self.now);
        }
        self.most
    }

    fn read(&mut self, value: Value) {
        let words = match value {
            Value::Node(node) => self.body.nodes[node as usize].words,
            Value::Before(register) => words_of(self.graph, register),
        };
        if self.live.insert(value, words).is_none() {
            self.now += words;
        }
    }
}

/// Words of a register, by the operations that write it.
fn words_of(graph: &Graph<'_>, register: Register) -> u32 {
    // A register that brings an operand has one.
    let Some(definitions) = graph.definitions.get(register.index()) else { return 1 };
    let of_one = |op: &Op<'_>| result_words(op).div_ceil(op.results.len().max(1) as u32);
    definitions.iter().map(|&index| of_one(graph.op(index))).max().unwrap_or(1)
}
