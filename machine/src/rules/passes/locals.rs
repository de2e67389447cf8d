//! Local arrays that become registers.
//!
//! Local memory is a thread's own. If every access to a local variable states its address, each
//! word of the variable can be a register. Its loads and stores then cost nothing.
//!
//! If a thread chooses the place, `ptxas` compares the address with that of each place and moves
//! the words of the one that fits. Outside of loops it does so for arrays of up to 64 words, the
//! most that were tried. Inside of a loop it weighs the places of all loads against the
//! instructions of the loop. 68 loops were tried (12.9, sm_75 and sm_90, up to 80 words). Arrays
//! were in registers where the loads had fewer places than 0.55 of the instructions, and in memory
//! otherwise. The exceptions: two just above that limit, and three of a long loop on sm_90. Arrays
//! of 64 words and more stayed in memory in any loop.
//!
//! In a loop that is unrolled completely, each copy states its place.
//!
//! An address that goes anywhere else keeps the variable in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::VariableId;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use super::super::flow::{Dominators, innermost_loops};
use super::super::graph::{Arg, Bank, Choice, Graph, Op, Register, State};
use super::unroll;

/// Words of the longest variable that becomes registers.
const LONGEST: u32 = 64;
/// The same for a variable whose words a loop chooses: between 48, which did, and 64.
const LONGEST_IN_LOOP: u32 = 63;
/// The loads of a loop whose arrays are registers have fewer places than this part of its
/// instructions.
const MOST_PLACES: f64 = 0.55;

/// An address in a variable outside shared memory.
#[derive(Clone, Copy, Debug)]
struct VariableAddress {
    variable: VariableId,
    /// The byte, if it is known beforehand.
    offset: Option<i64>,
}

/// The accesses to one variable.
#[derive(Clone, Debug, Default)]
struct Accesses {
    /// Operations that state the word.
    stated: Vec<u32>,
    /// Operations whose word the thread chooses.
    chosen: Vec<u32>,
    /// One past the last byte that is stated.
    end: i64,
    /// Blocks of loops that are unrolled completely, so that their accesses state the word.
    unrolled: BTreeSet<u32>,
}

impl Accesses {
    /// Accesses to a pointer that a loop advances state their word once the loop is unrolled.
    fn state_unrolled(&mut self, graph: &Graph<'_>, loops: &HashMap<u32, u32>) {
        let advances = |index: u32| {
            let op = graph.op(index);
            let Some(Arg::Register(base)) = op.memory.and_then(|memory| memory.base) else {
                return false;
            };
            let here = |&step: &u32| graph.op(step).block == op.block;
            loops.contains_key(&op.block) && graph.definitions[base.index()].iter().any(here)
        };
        let (stated, chosen): (Vec<u32>, Vec<u32>) =
            self.chosen.iter().copied().partition(|&index| advances(index));
        self.unrolled.extend(stated.iter().map(|&index| graph.op(index).block));
        self.stated.extend(stated);
        self.chosen = chosen;
    }
}

/// Takes the control out of a loop of one block that is unrolled completely.
fn drop_control(graph: &mut Graph<'_>, block: u32, trips: u32) {
    for index in graph.blocks[block as usize].first..graph.blocks[block as usize].end {
        if graph.op(index).is_live() && unroll::is_loop_control(graph, index) {
            graph.op_mut(index).shared_by = trips;
        }
    }
}

/// Turns loads and stores of variables that fit into registers into nothing, or into comparisons
/// and moves.
///
/// `may_unroll` is true if the kernel leaves it to the compiler to unroll loops.
pub(super) fn promote(graph: &mut Graph<'_>, dominators: &Dominators, may_unroll: bool) {
    let places = places(graph);
    let place_of = |arg: Arg| match arg {
        Arg::Bank(Bank::Address(variable, offset)) => {
            Some(VariableAddress { variable, offset: Some(offset) })
        }
        Arg::Register(register) => places[register.index()],
        _ => None,
    };
    let mut kept: HashSet<VariableId> = HashSet::new();
    let mut variables: HashMap<VariableId, Accesses> = HashMap::new();
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        if !op.is_live() {
            continue;
        }
        // A derived place is known itself; every other operation may take an address anywhere.
        let derives = op.result().is_some_and(|result| places[result.index()].is_some());
        if !derives {
            kept.extend(op.args.iter().filter_map(|arg| place_of(*arg)).map(|p| p.variable));
        }
        let Some(memory) = op.memory else { continue };
        let Some(place) = memory.base.and_then(place_of) else { continue };
        if !is_plain(op) {
            kept.insert(place.variable);
            continue;
        }
        let accesses = variables.entry(place.variable).or_default();
        match place.offset {
            Some(offset) => {
                accesses.stated.push(index);
                accesses.end = accesses.end.max(offset + memory.offset + bytes(op));
            }
            None => accesses.chosen.push(index),
        }
    }
    let unrolled: HashMap<u32, u32> = (0..graph.blocks.len() as u32)
        .filter(|_| may_unroll)
        .filter_map(|block| Some((block, unroll::completely(graph, block)?)))
        .collect();
    let loops = innermost_loops(graph, dominators);
    for (variable, mut accesses) in variables {
        accesses.state_unrolled(graph, &unrolled);
        let words = u32::try_from(accesses.end).unwrap_or(u32::MAX).div_ceil(4);
        if kept.contains(&variable) || words == 0 || words > LONGEST {
            continue;
        }
        let choices = choices(graph, &accesses.chosen, 4 * words);
        let is_short = words <= LONGEST_IN_LOOP || !in_loop(&choices, graph, &loops);
        if is_short && is_worth_it(graph, &choices, &loops) {
            become_registers(graph, &accesses, &choices);
            for block in &accesses.unrolled {
                drop_control(graph, *block, unrolled[block]);
            }
        }
    }
    graph.find_uses();
}

/// The choice that each access to an array of `bytes` bytes is.
fn choices(graph: &Graph<'_>, accesses: &[u32], bytes: u32) -> Vec<(u32, Choice)> {
    // Accesses of a block to one base differ by what they add to it: they choose together.
    let mut groups: BTreeMap<(u32, Option<Register>), Vec<u32>> = BTreeMap::new();
    for &index in accesses {
        let op = graph.op(index);
        let base = op.memory.and_then(|memory| memory.base);
        let register = match base {
            Some(Arg::Register(register)) => Some(register),
            _ => None,
        };
        groups.entry((op.block, register)).or_default().push(index);
    }
    let mut choices = Vec::new();
    for group in groups.into_values() {
        let range = |&index: &u32| {
            let op = graph.op(index);
            let offset = op.memory.map_or(0, |memory| memory.offset);
            (offset, offset + self::bytes(op))
        };
        let first = group.iter().map(|index| range(index).0).min().unwrap_or(0);
        let end = group.iter().map(|index| range(index).1).max().unwrap_or(0);
        let widest = group.iter().map(|&index| self::bytes(graph.op(index))).max().unwrap_or(4);
        let free = (i64::from(bytes) - (end - first)).max(0);
        let places = u32::try_from(free / widest.max(4)).unwrap_or(u32::MAX - 1) + 1;
        for (at, &index) in group.iter().enumerate() {
            let words = u32::try_from(self::bytes(graph.op(index))).unwrap_or(4).div_ceil(4);
            choices.push((index, Choice { places, words, compares: at == 0 }));
        }
    }
    choices
}

/// Returns true if a loop makes one of the choices.
fn in_loop(choices: &[(u32, Choice)], graph: &Graph<'_>, loops: &[Vec<u32>]) -> bool {
    choices.iter().any(|(index, _)| !loops[graph.op(*index).block as usize].is_empty())
}

/// Returns true if the loads of no loop have too many places for its length.
fn is_worth_it(graph: &Graph<'_>, choices: &[(u32, Choice)], loops: &[Vec<u32>]) -> bool {
    // By the first block of the loop.
    let mut places: BTreeMap<u32, u32> = BTreeMap::new();
    for (index, choice) in choices {
        let op = graph.op(*index);
        if let Some(&header) = loops[op.block as usize].first()
            && op.opcode == Opcode::Ld
        {
            *places.entry(header).or_default() += choice.places;
        }
    }
    places.into_iter().all(|(header, places)| {
        let body = &loops[header as usize];
        let instructions = |&block: &u32| {
            let block = &graph.blocks[block as usize];
            let there = (block.first..block.end).filter(|&index| graph.op(index).is_live());
            there.count() as u32
        };
        let all: u32 = body.iter().map(instructions).sum();
        f64::from(places) < MOST_PLACES * f64::from(all)
    })
}

fn become_registers(graph: &mut Graph<'_>, accesses: &Accesses, choices: &[(u32, Choice)]) {
    for &index in &accesses.stated {
        graph.op_mut(index).state = State::Folded;
    }
    for &(index, choice) in choices {
        // The operation compares the index, and makes no address of it.
        let base = graph.op(index).memory.and_then(|memory| memory.base);
        if let Some(sum) = base.and_then(|base| graph.value_of(base)) {
            graph.op_mut(sum).state = State::Folded;
        }
        graph.op_mut(index).choice = Some(choice);
    }
}

/// Returns true if an operation is a plain load or store of local memory.
fn is_plain(op: &Op<'_>) -> bool {
    matches!(op.opcode, Opcode::Ld | Opcode::St)
        && op.memory.is_some_and(|memory| memory.space == Some(StateSpace::Local))
        && !op.has(Modifier::Volatile)
}

/// Bytes that a lane accesses.
fn bytes(op: &Op<'_>) -> i64 {
    let element = op.source.types().last().map_or(4, ScalarType::bytes);
    i64::from(element) * op.results.len().max(op.args.len()).max(1) as i64
}

/// The place that each register holds the address of, if it is one of a variable.
fn places(graph: &Graph<'_>) -> Vec<Option<VariableAddress>> {
    let mut places: Vec<Option<VariableAddress>> = vec![None; graph.definitions.len()];
    // A pointer that a loop advances is known once its first value is.
    loop {
        let before = places.iter().flatten().count();
        for register in 0..places.len() {
            if places[register].is_none() {
                places[register] = place(graph, register, &places);
            }
        }
        if places.iter().flatten().count() == before {
            return places;
        }
    }
}

/// The place that a register holds the address of, from those that are known.
fn place(
    graph: &Graph<'_>,
    register: usize,
    places: &[Option<VariableAddress>],
) -> Option<VariableAddress> {
    let place_of = |arg: &Arg| match arg {
        Arg::Bank(Bank::Address(variable, offset)) => {
            Some(VariableAddress { variable: *variable, offset: Some(*offset) })
        }
        Arg::Register(register) => places[register.index()],
        _ => None,
    };
    let defined = |index: u32| {
        let op = graph.op(index);
        match (op.opcode, op.args.as_slice()) {
            // An address that becomes generic and local again is still known. An access by the
            // generic one keeps the variable in memory.
            (Opcode::Mov | Opcode::Cvta, [arg]) => place_of(arg),
            (Opcode::Add, [arg, Arg::Constant(by)]) => place_of(arg).map(|place| VariableAddress {
                offset: place.offset.map(|offset| offset.wrapping_add(*by as i64)),
                ..place
            }),
            (Opcode::Add, [left, right]) => match (place_of(left), place_of(right)) {
                (Some(place), None) | (None, Some(place)) => {
                    Some(VariableAddress { offset: None, ..place })
                }
                _ => None,
            },
            _ => None,
        }
    };
    let advances = |index: u32| {
        let op = graph.op(index);
        let own = |arg: &Arg| matches!(arg, Arg::Register(one) if one.index() == register);
        op.opcode == Opcode::Add
            && matches!(op.args.as_slice(), [arg, Arg::Constant(_)] if own(arg))
    };
    match graph.definitions[register].as_slice() {
        [_] => graph.value(Register(register as u32)).and_then(defined),
        several => {
            let (steps, starts): (Vec<u32>, Vec<u32>) =
                several.iter().copied().partition(|&index| advances(index));
            let mut starts = starts.into_iter().map(defined);
            let first = starts.next()??;
            let is_same = |place: Option<VariableAddress>| {
                place.is_some_and(|place| place.variable == first.variable)
            };
            (!steps.is_empty() && starts.all(is_same))
                .then_some(VariableAddress { offset: None, ..first })
        }
    }
}
