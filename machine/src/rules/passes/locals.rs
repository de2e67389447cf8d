//! Local arrays that become registers.
//!
//! Local memory is a thread's own. If every access to a local variable states its address, each
//! word of the variable can be a register. Its loads and stores then cost nothing. If a thread
//! chooses the word, `ptxas` compares its index with that of each word and moves the one that fits.
//! It does so for arrays of up to 64 words, the most that were tried. It also does so inside of
//! loops of up to four (12.9, sm_50, sm_80 and sm_90). An address that goes anywhere else keeps the
//! variable in memory.

use std::collections::{HashMap, HashSet};

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::VariableId;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use super::super::flow::{Dominators, outside_of_loops};
use super::super::graph::{Arg, Bank, Graph, Op, State};

/// Words of the longest variable that becomes registers.
const LONGEST: u32 = 64;
/// The most words of a variable whose words a loop chooses.
const LONGEST_IN_LOOP: u32 = 4;

/// An address in a variable outside shared memory.
#[derive(Clone, Copy, Debug)]
struct Place {
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
}

/// Turns loads and stores of variables that fit into registers into nothing, or into comparisons
/// and moves.
pub(super) fn promote(graph: &mut Graph<'_>, dominators: &Dominators) {
    let places = places(graph);
    let place_of = |arg: Arg| match arg {
        Arg::Bank(Bank::Address(variable, offset)) => {
            Some(Place { variable, offset: Some(offset) })
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
    let outside = outside_of_loops(graph, dominators);
    for (variable, accesses) in variables {
        let words = u32::try_from(accesses.end).unwrap_or(u32::MAX).div_ceil(4);
        let longest = |&index: &u32| {
            let block = graph.op(index).block;
            if outside[block as usize] == block { LONGEST } else { LONGEST_IN_LOOP }
        };
        let limit = accesses.chosen.iter().map(longest).min().unwrap_or(LONGEST);
        if !kept.contains(&variable) && (1..=limit).contains(&words) {
            become_registers(graph, &accesses, words);
        }
    }
    graph.find_uses();
}

fn become_registers(graph: &mut Graph<'_>, accesses: &Accesses, words: u32) {
    for &index in &accesses.stated {
        graph.op_mut(index).state = State::Folded;
    }
    for &index in &accesses.chosen {
        // The operation compares the index, and makes no address of it.
        let base = graph.op(index).memory.and_then(|memory| memory.base);
        if let Some(sum) = base.and_then(|base| graph.value_of(base)) {
            graph.op_mut(sum).state = State::Folded;
        }
        graph.op_mut(index).chosen_of = words;
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
fn places(graph: &Graph<'_>) -> Vec<Option<Place>> {
    let mut places: Vec<Option<Place>> = vec![None; graph.definitions.len()];
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        let Some(result) = op.result().filter(|&result| graph.value(result) == Some(index)) else {
            continue;
        };
        let place_of = |arg: &Arg| match arg {
            Arg::Bank(Bank::Address(variable, offset)) => {
                Some(Place { variable: *variable, offset: Some(*offset) })
            }
            Arg::Register(register) => places[register.index()],
            _ => None,
        };
        let place = match (op.opcode, op.args.as_slice()) {
            (Opcode::Mov, [arg]) => place_of(arg),
            (Opcode::Add, [arg, Arg::Constant(by)]) => place_of(arg).map(|place| Place {
                offset: place.offset.map(|offset| offset.wrapping_add(*by as i64)),
                ..place
            }),
            (Opcode::Add, [left, right]) => match (place_of(left), place_of(right)) {
                (Some(place), None) | (None, Some(place)) => Some(Place { offset: None, ..place }),
                _ => None,
            },
            _ => None,
        };
        places[result.index()] = place;
    }
    places
}
