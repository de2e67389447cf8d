//! Local arrays that become registers.
//!
//! Local memory is a thread's own. Where every access to a local variable states its address,
//! each word of the variable can be a register, and its loads and stores cost nothing: `ptxas`
//! does so for arrays of up to 64 words, the most that were tried (12.9, sm_50, sm_80, sm_90). One
//! access whose address is computed, or an address that goes anywhere else, keeps the variable in
//! memory.

use std::collections::{HashMap, HashSet};

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::VariableId;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use super::super::graph::{Arg, Bank, Graph, Op, State};

/// Bytes of the longest variable that becomes registers.
const LONGEST: i64 = 64 * 4;

/// A place in a variable outside shared memory.
#[derive(Clone, Copy, Debug)]
struct Place {
    variable: VariableId,
    offset: i64,
}

/// Turns loads and stores of variables that fit into registers into nothing.
pub(super) fn promote(graph: &mut Graph<'_>) {
    let places = places(graph);
    let place_of = |arg: Arg| match arg {
        Arg::Bank(Bank::Address(variable, offset)) => Some(Place { variable, offset }),
        Arg::Register(register) => places[register.index()],
        _ => None,
    };
    let mut kept: HashSet<VariableId> = HashSet::new();
    let mut accesses: HashMap<VariableId, Vec<u32>> = HashMap::new();
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
        let base = op.memory.and_then(|memory| memory.base).and_then(place_of);
        let Some(place) = base else { continue };
        if fits(op, place) {
            accesses.entry(place.variable).or_default().push(index);
        } else {
            kept.insert(place.variable);
        }
    }
    for (_, indices) in accesses.into_iter().filter(|(variable, _)| !kept.contains(variable)) {
        for index in indices {
            graph.op_mut(index).state = State::Folded;
        }
    }
    graph.find_uses();
}

/// Whether an operation is a plain load or store of local memory near the variable's start.
fn fits(op: &Op<'_>, place: Place) -> bool {
    let Some(memory) = op.memory else { return false };
    let bytes = op.source.types().last().map_or(4, ScalarType::bytes);
    let elements = op.results.len().max(op.args.len()).max(1) as i64;
    let first = place.offset + memory.offset;
    matches!(op.opcode, Opcode::Ld | Opcode::St)
        && memory.space == Some(StateSpace::Local)
        && !op.has(Modifier::Volatile)
        && first >= 0
        && first + i64::from(bytes) * elements <= LONGEST
}

/// The place that each register holds the address of, if it is known.
fn places(graph: &Graph<'_>) -> Vec<Option<Place>> {
    let mut places: Vec<Option<Place>> = vec![None; graph.definitions.len()];
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        let Some(result) = op.result().filter(|&result| graph.value(result) == Some(index)) else {
            continue;
        };
        let place_of = |arg: &Arg| match arg {
            Arg::Bank(Bank::Address(variable, offset)) => {
                Some(Place { variable: *variable, offset: *offset })
            }
            Arg::Register(register) => places[register.index()],
            _ => None,
        };
        places[result.index()] = match (op.opcode, op.args.as_slice()) {
            (Opcode::Mov, [arg]) => place_of(arg),
            (Opcode::Add, [arg, Arg::Constant(by)]) => place_of(arg)
                .map(|place| Place { offset: place.offset.wrapping_add(*by as i64), ..place }),
            _ => None,
        };
    }
    places
}
