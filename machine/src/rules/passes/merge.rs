//! Access merging: accesses to consecutive places of shared memory become one, as `ptxas` does it.
//!
//! Loads are merged under three conditions (12.9, sm_50, sm_80 and sm_90). Their addresses have a
//! common base. They fill at least three quarters of an aligned window. No store, barrier or call
//! stands in between. Of the words 0 to 3, any three or four become one access of 128 bits. The
//! pairs 0 and 1 or 2 and 3 become one of 64 bits, and other pairs stay. The alignment of pointers
//! from parameters is not known, so that loads of global memory stay as they are.
//!
//! Stores fill their window whole. Neither a load of shared memory nor a store to another base, or
//! one that is narrower than the first, stands between them. The last one stores for all (12.9,
//! sm_70, sm_80 and sm_90).
//!
//! Vectors of bytes and half-words that fill words are merged as words are. Accesses of 16 bits
//! become one of 64 or 32, which is merged no further; `halves` says which. Accesses of bytes and
//! loads of two bytes stay (12.9, sm_80 and sm_90).

use gpucast_ptx_frontend::isa::{Effect, opcode_facts};
use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use smallvec::SmallVec;

use super::super::graph::{Arg, Graph, GuardedBy, Op, Part, State};
use super::halves::{self, HALF_WORD};

/// Accesses that became one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct MergedAccess {
    /// The operation that stands for all.
    pub(in super::super) leader: u32,
    /// The other operations.
    pub(in super::super) followers: SmallVec<[u32; 3]>,
    /// Bytes of one lane.
    pub(in super::super) bytes: u32,
}

/// An access that may be merged.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    index: u32,
    base: Option<Arg>,
    guard: Option<GuardedBy>,
    offset: i64,
    bytes: u32,
    is_store: bool,
}

impl Candidate {
    fn overlaps(&self, other: &Self) -> bool {
        let end = |one: &Self| one.offset + i64::from(one.bytes);
        self.offset < end(other) && other.offset < end(self)
    }

    /// Returns true if it may be merged with the collected ones: loads of any addresses may, and
    /// stores to different places of one base, none of which is narrower than the first.
    fn joins(&self, open: &[Self]) -> bool {
        let first = open.first().map_or(self.bytes, |first| first.bytes);
        let is_wide = self.bytes >= first && self.is_half() == (first == HALF_WORD);
        open.iter().all(|other| {
            let is_alike = (other.base, other.guard) == (self.base, self.guard);
            self.is_store == other.is_store
                && (!self.is_store || is_alike && is_wide && !self.overlaps(other))
        })
    }
}

/// Widths of merged accesses of one lane in bytes, widest first.
const WIDTHS: [u32; 3] = [16, 8, 4];

impl Candidate {
    const fn is_half(&self) -> bool {
        self.bytes == HALF_WORD
    }

    /// Returns true if accesses like it are merged to one of `width` bytes.
    const fn is_merged_to(&self, width: u32) -> bool {
        if self.is_half() { width <= 8 } else { width >= 8 }
    }
}

/// Bytes that accesses of one window fill, which stand in order of their offsets.
fn filled(members: &[Candidate]) -> u32 {
    let mut end = i64::MIN;
    let mut bytes = 0;
    for member in members {
        let start = member.offset.max(end);
        end = end.max(member.offset + i64::from(member.bytes));
        bytes += (end - start).max(0) as u32;
    }
    bytes
}
/// The depth, in operations, to which alignment is looked for.
const DEPTH: u32 = 8;

/// Merges the accesses that may be merged; followers are folded into their leaders.
pub(super) fn merge(graph: &mut Graph<'_>) -> Vec<MergedAccess> {
    let mut merged = Vec::new();
    for block in 0..graph.blocks.len() {
        let mut open: Vec<Candidate> = Vec::new();
        for index in graph.blocks[block].first..graph.blocks[block].end {
            let op = graph.op(index);
            if !op.is_live() {
                continue;
            }
            if let Some(candidate) = candidate(graph, index, op) {
                if !candidate.joins(&open) {
                    close(graph, &mut open, &mut merged);
                }
                open.push(candidate);
            } else if orders_memory(op, &open) {
                close(graph, &mut open, &mut merged);
            }
            // A variable that is written is another base from here on.
            let written = |candidate: &Candidate| {
                let op = graph.op(index);
                let base = match candidate.base {
                    Some(Arg::Register(register)) => Some(register),
                    _ => None,
                };
                let guard = candidate.guard.map(|guard| guard.predicate);
                op.results.iter().any(|result| Some(*result) == base || Some(*result) == guard)
            };
            if open.iter().any(written) {
                close(graph, &mut open, &mut merged);
            }
        }
        close(graph, &mut open, &mut merged);
    }
    graph.find_uses();
    merged
}

fn candidate(graph: &Graph<'_>, index: u32, op: &Op<'_>) -> Option<Candidate> {
    let memory = op.memory?;
    use Modifier::{Acquire, Relaxed, Release, Volatile};
    let is_store = op.opcode == Opcode::St;
    let plain = (is_store || op.opcode == Opcode::Ld)
        && memory.space == Some(StateSpace::Shared)
        && ![Volatile, Relaxed, Acquire, Release].iter().any(|&m| op.has(m));
    let element = op.source.types().last().map_or(4, ScalarType::bytes);
    let elements = if is_store { op.args.len() } else { op.results.len() };
    let bytes = element * elements as u32;
    let fits = match bytes {
        HALF_WORD => halves::may_merge(graph, op),
        4 | 8 => true,
        _ => false,
    };
    (plain && fits).then_some(Candidate {
        index,
        base: memory.base,
        guard: op.guard,
        offset: memory.offset,
        bytes,
        is_store,
    })
}

/// Returns true if the collected accesses to shared memory may not be moved across an operation
/// that is no candidate.
fn orders_memory(op: &Op<'_>, open: &[Candidate]) -> bool {
    use Opcode as O;
    let space = op.memory.and_then(|memory| memory.space);
    let may_be_shared = space.is_none_or(|space| space == StateSpace::Shared);
    match op.opcode {
        O::Ld | O::Ldu => may_be_shared && open.iter().any(|candidate| candidate.is_store),
        O::St | O::Atom | O::Red => may_be_shared,
        // Lanes that talk to each other may do so about memory.
        _ => !matches!(opcode_facts(op.opcode).effect, Effect::Value | Effect::Carry),
    }
}

/// Merges the accesses that have been collected: first to the widest access, then to narrower ones.
fn close(graph: &mut Graph<'_>, open: &mut Vec<Candidate>, merged: &mut Vec<MergedAccess>) {
    for width in WIDTHS {
        let window = |candidate: &Candidate| {
            let start = candidate.offset.div_euclid(i64::from(width));
            (candidate.base, candidate.guard, candidate.is_half(), start)
        };
        let place = |candidate: &Candidate| (window(candidate), candidate.offset, candidate.bytes);
        open.sort_by_key(place);
        open.dedup_by_key(|candidate| place(candidate));
        let mut rest = Vec::new();
        for members in open.chunk_by(|left, right| window(left) == window(right)) {
            let [first, ..] = members else { continue };
            let aligned = first
                .base
                .is_none_or(|base| zero_bits(graph, base, DEPTH) >= width.trailing_zeros());
            let least = if first.is_store { width } else { width / 4 * 3 };
            let fills = first.is_merged_to(width) && filled(members) >= least;
            if members.len() < 2 || !aligned || !fills {
                rest.extend_from_slice(members);
                continue;
            }
            let indices = members.iter().map(|member| member.index);
            let leader = if first.is_store { indices.clone().max() } else { indices.clone().min() };
            let leader = leader.unwrap_or(first.index);
            let followers: SmallVec<[u32; 3]> = indices.filter(|&index| index != leader).collect();
            for &follower in &followers {
                graph.op_mut(follower).state = State::Folded;
                if first.is_store {
                    // One access takes the values of all.
                    let values = std::mem::take(&mut graph.op_mut(follower).args);
                    graph.op_mut(leader).args.extend(values);
                }
            }
            merged.push(MergedAccess { leader, followers, bytes: width });
        }
        *open = rest;
    }
    open.clear();
}

/// The number of low bits of a value that are known to be zero.
fn zero_bits(graph: &Graph<'_>, arg: Arg, depth: u32) -> u32 {
    let register = match arg {
        Arg::Constant(0) => return u64::BITS,
        Arg::Constant(value) | Arg::Shared(value) => return value.trailing_zeros(),
        Arg::Bank(_) | Arg::Special(_) => return 0,
        Arg::Register(register) => register,
    };
    if depth == 0 {
        return 0;
    }
    let of = |op: u32| {
        let op = graph.op(op);
        let bits = |arg: &Arg| zero_bits(graph, *arg, depth - 1);
        if !op.is_integer() || op.part == Part::High {
            return 0;
        }
        match (op.opcode, op.args.as_slice()) {
            (Opcode::Shl, [arg, Arg::Constant(by)]) => bits(arg).saturating_add(*by as u32),
            (Opcode::Add | Opcode::Sub | Opcode::Or | Opcode::Xor, [left, right]) => {
                bits(left).min(bits(right))
            }
            (Opcode::And, [left, right]) => bits(left).max(bits(right)),
            (Opcode::Mul, [left, right]) => bits(left).saturating_add(bits(right)),
            (Opcode::Mad, [left, right, sum]) => {
                bits(left).saturating_add(bits(right)).min(bits(sum))
            }
            (Opcode::Mov, [arg]) => bits(arg),
            _ => 0,
        }
    };
    // A variable is as aligned as the least aligned of its definitions.
    let definitions = &graph.definitions[register.index()];
    let own = |&&op: &&u32| !graph.op(op).reads().any(|read| read == register);
    let from_outside = definitions.iter().filter(own).map(|&op| of(op)).min().unwrap_or(0);
    let steps = definitions.iter().filter(|op| !own(op)).map(|&op| {
        let op = graph.op(op);
        let step = op.args.iter().filter(|arg| **arg != Arg::Register(register));
        match op.opcode {
            Opcode::Add | Opcode::Sub => {
                step.map(|arg| zero_bits(graph, *arg, depth - 1)).min().unwrap_or(0)
            }
            _ => 0,
        }
    });
    steps.fold(from_outside, u32::min)
}
