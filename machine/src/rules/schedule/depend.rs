//! The instructions of a block and their dependences.
//!
//! Operations are read in order of the PTX. An operation that has no instruction passes on what it
//! reads. Values have no fixed register, so that only uses bind: an assembler renames.

use std::collections::HashMap;
use std::ops::Range;

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::ScalarType;
use gpucast_simulation::code::{AccessKind, Action};
use smallvec::SmallVec;

use super::super::Compiled;
use super::super::branches::{home, terminator};
use super::super::code_place::CodePlace;
use super::super::emit::{Emitted, Role};
use super::super::graph::{Arg, Graph, GuardedBy, Op, Register, State};
use super::constants::Banks;
use super::effects::{Effect, Memory, effect};
use super::latency::Use;
use super::layout::Content;
use super::node::{LiveIn, Node, Source, result_words};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An instruction of the block.
    Node(u32),
    /// A register before the block.
    Before(Register),
}

type Origins = SmallVec<[Origin; 2]>;

/// The instructions of a block in order of the PTX.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) nodes: Vec<Node>,
    /// Where each register that the block writes has its value from behind it.
    pub(super) written: HashMap<Register, Origins>,
}

/// The emitted instructions of a program by the places where they stand.
pub(super) struct Places<'c, 'p> {
    compiled: &'c Compiled<'p>,
    banks: &'c Banks<'c>,
    /// The instructions of each operation.
    of_operation: Vec<Range<u32>>,
    /// Instructions that stand at the start of each block besides those of its operations.
    at_start: HashMap<u32, Vec<u32>>,
    /// Instructions in front of unrolled loops.
    at_entry: HashMap<u32, Vec<u32>>,
    /// The queue of the requests of each operation.
    queues: &'c HashMap<u32, u32>,
    /// For each operation whose access became part of another one's, that one.
    leaders: HashMap<u32, u32>,
}

impl<'c, 'p> Places<'c, 'p> {
    pub(super) fn new(
        compiled: &'c Compiled<'p>,
        banks: &'c Banks<'c>,
        queues: &'c HashMap<u32, u32>,
    ) -> Self {
        let mut of_operation = vec![0..0; compiled.graph.ops.len()];
        let mut at_start: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut at_entry: HashMap<u32, Vec<u32>> = HashMap::new();
        for (index, emitted) in (0_u32..).zip(&compiled.emission.instructions) {
            let range = &mut of_operation[emitted.operation as usize];
            if range.start == range.end {
                *range = index..index + 1;
            }
            range.end = index + 1;
            match emitted.place {
                CodePlace::Operation | CodePlace::RunInto(_) => {}
                CodePlace::Block(block) | CodePlace::Meeting(block) => {
                    at_start.entry(block).or_default().push(index);
                }
                CodePlace::Entries(block) => at_entry.entry(block).or_default().push(index),
            }
        }
        let leaders = compiled
            .merged
            .iter()
            .flat_map(|access| access.followers.iter().map(|&follower| (follower, access.leader)))
            .collect();
        Self { compiled, banks, of_operation, at_start, at_entry, queues, leaders }
    }

    /// The instructions of a block.
    pub(super) fn body(&self, content: &Content) -> Body {
        let mut builder = Builder {
            places: self,
            body: Body::default(),
            memory: Memory::default(),
            behind_barrier: 0,
        };
        match content {
            Content::Entry(block) => builder.entry(*block),
            Content::Code { blocks, rounds } => {
                for round in 0..*rounds {
                    for &block in blocks {
                        builder.block(block, round, *rounds);
                    }
                }
            }
        }
        builder.body
    }

    fn graph(&self) -> &'c Graph<'p> {
        &self.compiled.graph
    }

    fn emitted(&self, index: u32) -> Emitted {
        self.compiled.emission.instructions[index as usize]
    }

    /// The register of our own that an instruction fills which brings an operand.
    fn register_of(&self, index: u32) -> Register {
        Register(self.graph().definitions.len() as u32 + index)
    }
}

struct Builder<'a, 'c, 'p> {
    places: &'a Places<'c, 'p>,
    body: Body,
    memory: Memory,
    /// The last barrier, or the start of the block.
    behind_barrier: u32,
}

impl Builder<'_, '_, '_> {
    fn block(&mut self, block: u32, round: u32, rounds: u32) {
        let graph = self.places.graph();
        if round == 0 {
            for &index in self.places.at_start.get(&block).into_iter().flatten() {
                self.plain(index);
            }
        }
        let this = &graph.blocks[block as usize];
        let guard = guard_of(graph, block);
        for index in this.first..this.end {
            let op = graph.op(index);
            if op.state == State::Dead || op.shared_by > 1 && round + 1 < rounds {
                continue;
            }
            self.operation(index, guard, round);
        }
    }

    /// Instructions that decide how often an unrolled loop goes round: comparisons, then branches.
    fn entry(&mut self, block: u32) {
        let indices = self.places.at_entry.get(&block).cloned().unwrap_or_default();
        let is_branch = |index: &u32| self.places.emitted(*index).selected.mnemonic == "BRA";
        let (branches, others): (Vec<u32>, Vec<u32>) = indices.into_iter().partition(is_branch);
        let mut compared = None;
        for index in others {
            for node in self.plain(index) {
                if self.body.nodes[node as usize].mnemonic == "ISETP" {
                    compared = Some(node);
                }
            }
        }
        for index in branches {
            for node in self.plain(index) {
                let sources = compared.map(|node| Source { node, by: Use::Guard });
                self.body.nodes[node as usize].sources.extend(sources);
            }
        }
    }

    /// Adds an instruction that no operand of its operation concerns.
    fn plain(&mut self, index: u32) -> Range<u32> {
        let nodes = self.add(index, None);
        let emitted = self.places.emitted(index);
        if emitted.role == Role::Bring {
            self.body
                .written
                .insert(self.places.register_of(index), nodes.clone().map(Origin::Node).collect());
            self.give_results(nodes.clone());
        }
        nodes
    }

    fn add(&mut self, index: u32, queue: Option<u32>) -> Range<u32> {
        let emitted = self.places.emitted(index);
        let first = self.body.nodes.len() as u32;
        for number in 0..emitted.selected.count {
            self.body.nodes.push(Node::new(
                self.places.graph(),
                self.places.banks,
                &emitted,
                number,
                queue,
            ));
        }
        first..self.body.nodes.len() as u32
    }

    /// Says how many registers the results of an operation take, which its last instructions have.
    fn takes_registers(&mut self, op: &Op<'_>, tails: &[u32]) {
        let share = result_words(op).div_ceil(tails.len().max(1) as u32);
        for &tail in tails {
            let node = &mut self.body.nodes[tail as usize];
            node.words = match node.action {
                Action::Access(access) if access.kind == AccessKind::Load => {
                    access.bytes.div_ceil(4).max(1)
                }
                _ => share,
            };
        }
    }

    fn give_results(&mut self, nodes: impl IntoIterator<Item = u32>) {
        for node in nodes {
            self.body.nodes[node as usize].has_result = true;
        }
    }

    fn operation(&mut self, index: u32, block_guard: Option<GuardedBy>, round: u32) {
        let graph = self.places.graph();
        let op = graph.op(index);
        if let Some(leader) = self.places.leaders.get(&index) {
            let origins = graph.op(*leader).results.first().map(|&result| self.origins(result));
            for &result in &op.results {
                self.body.written.insert(result, origins.clone().unwrap_or_default());
            }
            return;
        }
        let mut inputs: Vec<(Origin, Use)> = Vec::new();
        for read in reads(op, block_guard) {
            inputs.extend(self.origins(read.register).into_iter().map(|origin| (origin, read.by)));
        }
        for &bringer in &self.places.compiled.emission.brought[index as usize] {
            self.bring(bringer, index);
            let register = self.places.register_of(bringer);
            inputs.extend(self.origins(register).into_iter().map(|origin| (origin, Use::Data)));
        }
        // A guarded write leaves some lanes with the old value.
        let is_guarded = op.guard.is_some() || block_guard.is_some();
        for &result in &op.results {
            if is_guarded && graph.definitions[result.index()].len() > 1 {
                inputs.extend(self.origins(result).into_iter().map(|origin| (origin, Use::Data)));
            }
        }
        let (tails, has_own) = self.own(index, &inputs, round);
        self.control(index, &inputs);
        let mut origins: Origins = tails.iter().copied().map(Origin::Node).collect();
        if has_own {
            if !op.results.is_empty() {
                self.takes_registers(op, &tails);
                self.give_results(tails);
            }
        } else {
            origins = inputs.iter().map(|(origin, _)| *origin).collect();
            origins.dedup();
        }
        for &result in &op.results {
            self.body.written.insert(result, origins.clone());
        }
    }

    /// Adds the instructions that do what an operation does; returns those with the result, and
    /// true if there are any.
    fn own(
        &mut self,
        index: u32,
        inputs: &[(Origin, Use)],
        round: u32,
    ) -> (SmallVec<[u32; 4]>, bool) {
        let op = self.places.graph().op(index);
        let mut tails: SmallVec<[u32; 4]> = SmallVec::new();
        let mut has_own = false;
        for at in self.places.of_operation[index as usize].clone() {
            let emitted = self.places.emitted(at);
            if emitted.place != CodePlace::Operation
                || !matches!(emitted.role, Role::Own | Role::Wait)
            {
                continue;
            }
            let draws = draws(op, &emitted);
            let queue = draws.then(|| self.places.queues.get(&index).copied()).flatten();
            let nodes = self.add(at, queue);
            if emitted.role == Role::Wait {
                continue;
            }
            let is_parallel = is_parallel(&emitted);
            for node in nodes.clone() {
                self.order(node, &emitted, round);
                let is_head = is_parallel || node == nodes.start;
                if !is_head {
                    self.uses(node, &[node - 1]);
                } else if has_own {
                    self.uses(node, &tails);
                } else {
                    self.takes(node, inputs);
                }
            }
            tails = if is_parallel {
                nodes.collect()
            } else {
                nodes.end.checked_sub(1).into_iter().collect()
            };
            has_own = true;
        }
        (tails, has_own)
    }

    /// Adds the instructions of control that stand with an operation, those that leave last.
    fn control(&mut self, index: u32, inputs: &[(Origin, Use)]) {
        let range = self.places.of_operation[index as usize].clone();
        for leaves in [false, true] {
            for at in range.clone() {
                let emitted = self.places.emitted(at);
                let stands = matches!(emitted.place, CodePlace::Operation | CodePlace::RunInto(_));
                let is_jump = matches!(emitted.selected.mnemonic, "BRA" | "EXIT" | "BRX" | "CALL");
                if emitted.role != Role::Control || !stands || is_jump != leaves {
                    continue;
                }
                let nodes = self.add(at, None);
                if leaves {
                    self.takes(nodes.start, inputs);
                }
            }
        }
    }

    /// Adds an instruction that brings an operand, if it stands with this operation.
    fn bring(&mut self, index: u32, operation: u32) {
        let emitted = self.places.emitted(index);
        if emitted.operation == operation && emitted.place == CodePlace::Operation {
            self.plain(index);
        }
    }

    fn origins(&self, register: Register) -> Origins {
        match self.body.written.get(&register) {
            Some(origins) => origins.clone(),
            None => SmallVec::from_slice(&[Origin::Before(register)]),
        }
    }

    fn takes(&mut self, node: u32, inputs: &[(Origin, Use)]) {
        let node = &mut self.body.nodes[node as usize];
        for &(origin, by) in inputs {
            match origin {
                Origin::Node(source) => {
                    let source = Source { node: source, by };
                    if !node.sources.contains(&source) {
                        node.sources.push(source);
                    }
                }
                Origin::Before(register) => node.live_in.push(LiveIn { register, by }),
            }
        }
    }

    fn uses(&mut self, node: u32, sources: &[u32]) {
        self.give_results(sources.iter().copied());
        let sources = sources.iter().map(|&node| Source { node, by: Use::Data });
        self.body.nodes[node as usize].sources.extend(sources);
    }

    /// Keeps accesses to memory in their order where they must be.
    fn order(&mut self, node: u32, emitted: &Emitted, round: u32) {
        let graph = self.places.graph();
        let writers = |register| {
            let nodes = self.origins(register).into_iter().filter_map(|origin| match origin {
                Origin::Node(node) => Some(node),
                Origin::Before(_) => None,
            });
            nodes.collect()
        };
        let stepped = |register| i64::from(round) * step_of(graph, emitted.operation, register);
        let effect = effect(graph, emitted, writers, stepped);
        if effect != Effect::None {
            let after = self.memory.order(node, effect);
            self.body.nodes[node as usize].after.extend(after);
        }
        if self.body.nodes[node as usize].is_barrier() {
            // Nothing sinks below a barrier. What computes may rise above it.
            self.body.nodes[node as usize].after = (self.behind_barrier..node).collect();
            self.behind_barrier = node;
        }
    }
}

/// Bytes by which an unrolled loop advances an address each round.
fn step_of(graph: &Graph<'_>, operation: u32, register: Register) -> i64 {
    let block = graph.op(operation).block;
    let steps = graph.definitions[register.index()].iter().map(|&index| graph.op(index));
    let own = steps.filter(|op| op.block == block && op.shared_by > 1);
    own.filter_map(|op| {
        let literal = op.args.iter().find_map(|arg| match arg {
            Arg::Constant(bits) if op.ty.bits() <= 32 => Some(i64::from(*bits as u32 as i32)),
            Arg::Constant(bits) => Some(*bits as i64),
            _ => None,
        })?;
        Some(if op.opcode == Opcode::Sub { literal.wrapping_neg() } else { literal })
    })
    .next()
    .unwrap_or(0)
}

/// A register that an operation reads.
struct Read {
    register: Register,
    by: Use,
}

fn reads(op: &Op<'_>, block_guard: Option<GuardedBy>) -> impl Iterator<Item = Read> {
    let guards = [op.guard, block_guard].into_iter().flatten();
    let guards: SmallVec<[Register; 2]> = guards.map(|guard| guard.predicate).collect();
    let selects = matches!(op.opcode, Opcode::Selp) || op.ty == ScalarType::Pred;
    let by = if selects { Use::Selector } else { Use::Data };
    let own = guards.clone();
    let plain: SmallVec<[Register; 6]> =
        op.reads().filter(|register| !own.contains(register)).collect();
    let predicate = matches!(op.opcode, Opcode::Selp).then(|| op.args.last().copied()).flatten();
    let by_of = move |register: Register| match predicate {
        Some(Arg::Register(predicate)) if predicate != register => Use::Data,
        _ => by,
    };
    let plain = plain.into_iter().map(move |register| Read { register, by: by_of(register) });
    plain.chain(guards.into_iter().map(|register| Read { register, by: Use::Guard }))
}

/// The condition of a block that has become guarded instructions: that of the branch around it.
fn guard_of(graph: &Graph<'_>, block: u32) -> Option<GuardedBy> {
    let into = graph.blocks[block as usize].merged_into.filter(|_| home(graph, block) != block)?;
    if terminator(graph, into).is_some() {
        return None;
    }
    let this = &graph.blocks[into as usize];
    let branches = (this.first..this.end).rev().map(|index| graph.op(index));
    branches.filter(|op| op.opcode == Opcode::Bra).find_map(|op| op.guard)
}

/// Returns true if the requests of an operation are those of an emitted instruction: of several
/// kinds of access that stand for it, the last is its own.
pub(super) fn draws(op: &Op<'_>, emitted: &Emitted) -> bool {
    let is_helper =
        matches!(op.opcode, Opcode::Atom | Opcode::Red) && emitted.selected.mnemonic == "LDS";
    emitted.role == Role::Own && !is_helper
}

/// Returns true if instructions of a kind do not use each other's results.
fn is_parallel(emitted: &Emitted) -> bool {
    emitted.selected.access.is_some()
        || matches!(
            emitted.selected.mnemonic,
            "MOV" | "LOP" | "LOP3" | "SEL" | "FSEL" | "S2R" | "HMMA" | "PRMT"
        )
}
