//! Loads and stores.

use gpucast_counters::machine::MachineAccess;
use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::{Modifier, Opcode, opcode_facts};
use gpucast_ptx_frontend::module::{Immediate, Operand};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use smallvec::smallvec;

use super::super::family::Family;
use super::super::graph::{Graph, Op};
use super::{Selected, Selection, atomics};

pub(super) fn select(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Selection {
    use Opcode as O;
    let space = op.memory.and_then(|memory| memory.space);
    if space == Some(StateSpace::Param) {
        // Arguments of device functions are passed in registers.
        return smallvec![];
    }
    let element = op.source.types().last().map_or(4, ScalarType::bytes);
    let access = |kind, bytes| Some(MachineAccess { space, kind, bytes });
    let one = |mnemonic, access| {
        let instruction = Selected::new(mnemonic, 1);
        smallvec![Selected { access, ..instruction }]
    };
    match op.opcode {
        O::Ld | O::Ldu => {
            let bytes = element * op.results.len().max(1) as u32;
            split(one(load(space), access(AccessKind::Load, bytes)), bytes)
        }
        O::St => {
            let bytes = element * op.args.len().max(1) as u32;
            split(one(store(space), access(AccessKind::Store, bytes)), bytes)
        }
        O::Atom | O::Red => atomics::select(graph, op, family, element),
        O::CpAsync => one("LDGSTS", Some(copy(op))),
        O::Ldmatrix => {
            let bytes = 4 * op.results.len() as u32;
            one("LDSM", access(AccessKind::Load, bytes))
        }
        O::Stmatrix => {
            let bytes = 4 * op.args.len() as u32;
            one("STSM", access(AccessKind::Store, bytes))
        }
        // A fragment is loaded and stored a register at a time.
        O::WmmaLoad => fragment(op, space, AccessKind::Load, op.results.len() as u32),
        O::WmmaStore => fragment(op, space, AccessKind::Store, op.args.len() as u32),
        O::Prefetch | O::Prefetchu => one("CCTL", None),
        other => {
            smallvec![Selected::new(opcode_facts(other).machine, 1)]
        }
    }
}

/// The side of `cp.async` that reads device memory; its memory operand is where it writes.
fn copy(op: &Op<'_>) -> MachineAccess {
    let bytes = match op.source.operands.get(2) {
        Some(Operand::Immediate(Immediate::Integer(bytes))) => u32::try_from(*bytes).unwrap_or(16),
        _ => 16,
    };
    MachineAccess { space: Some(StateSpace::Global), kind: AccessKind::Load, bytes }
}

fn load(space: Option<StateSpace>) -> &'static str {
    match space {
        Some(StateSpace::Global) => "LDG",
        Some(StateSpace::Shared) => "LDS",
        Some(StateSpace::Local) => "LDL",
        Some(StateSpace::Const) => "LDC",
        _ => "LD",
    }
}

fn store(space: Option<StateSpace>) -> &'static str {
    match space {
        Some(StateSpace::Global) => "STG",
        Some(StateSpace::Shared) => "STS",
        Some(StateSpace::Local) => "STL",
        _ => "ST",
    }
}

/// The accesses of a matrix fragment, and the addresses of its rows. The addresses take the lane's
/// row and column, then a sum for each further access that no offset reaches.
fn fragment(op: &Op<'_>, space: Option<StateSpace>, kind: AccessKind, registers: u32) -> Selection {
    let is_factor = !op.has(Modifier::MatrixC) && !op.has(Modifier::MatrixD);
    let element = op.source.types().last().map_or(16, ScalarType::bits);
    let shared = space == Some(StateSpace::Shared);
    // Factors' words of 8-bit elements that do not follow each other in memory are put together
    // from bytes.
    let is_transposed =
        op.has(if op.has(Modifier::ComponentB) { Modifier::Row } else { Modifier::Col });
    let gathers = is_factor && element == 8 && is_transposed && !shared;
    let (mnemonic, accesses) = match (kind, space) {
        // Four registers at a time (`LDSM`).
        (AccessKind::Load, Some(StateSpace::Shared)) => ("LDSM", registers.div_ceil(4)),
        (AccessKind::Load, _) => (load(space), if gathers { 4 * registers } else { registers }),
        _ => (store(space), registers),
    };
    // Rows of factors are as far apart as the stride says. That takes a 64-bit sum per row;
    // `IMAD.WIDE` does every other one.
    let far = is_factor && matches!(element, 8 | 32) && !shared;
    let sums = if far { (accesses.max(1) - 1) * 3 / 2 } else { 0 };
    let joins = if gathers { 3 * registers } else { 0 };
    let bytes = if gathers { 1 } else { 4 };
    let access = Some(MachineAccess { space, kind, bytes });
    smallvec![
        Selected { access, ..Selected::new(mnemonic, accesses.max(1)) },
        Selected::new("IMAD", 2 + sums + joins),
    ]
}

/// The widest access of one lane.
const WIDEST: u32 = 16;

/// Wider accesses than the machine has are several.
fn split(mut selection: Selection, bytes: u32) -> Selection {
    for selected in &mut selection {
        selected.count = bytes.div_ceil(WIDEST).max(1);
        if let Some(access) = &mut selected.access {
            access.bytes = bytes.min(WIDEST);
        }
    }
    selection
}
