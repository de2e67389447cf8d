//! Registers that may be read before they are written.
//!
//! PTX leaves their value undefined; here it is zero in every CTA, so that results do not depend on
//! which CTA used the register file before. A register that is live at a function's entry may be
//! read before it is written.

use std::collections::HashSet;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::cfg::ControlFlowGraph;
use gpucast_ptx_frontend::dataflow::registers_in;
use gpucast_ptx_frontend::liveness::Liveness;
use gpucast_ptx_frontend::module::{Formal, FunctionId, Operand, RegisterId};

use super::builder::{Builder, Slot};

/// Registers live at the entry of each function.
pub(super) fn analyse(
    module: &Module,
    functions: &[FunctionId],
    graphs: &[ControlFlowGraph],
) -> HashSet<(FunctionId, RegisterId)> {
    let mut result = HashSet::new();
    for (&function, graph) in functions.iter().zip(graphs) {
        let this = &module.functions[function.index()];
        let Some(body) = &this.body else { continue };
        let liveness = Liveness::new(&body.instructions, graph, this.registers.len());
        let live = liveness.at_entry().iter().copied();
        // The caller reads the results, on whatever path the function returned.
        let results = this.returns.iter().filter_map(|formal| {
            if let Formal::Register(register) = *formal { Some(register) } else { None }
        });
        result.extend(live.chain(results).map(|register| (function, register)));
    }
    result
}

/// Returns true if an operand consists of or contains `register`.
pub(super) fn mentions(operand: &Operand, register: RegisterId) -> bool {
    registers_in(operand).contains(&register)
}

/// Notes the rows and predicates to be cleared.
pub(super) fn record(uninitialised: &HashSet<(FunctionId, RegisterId)>, builder: &mut Builder<'_>) {
    let mut rows = Vec::new();
    let mut predicates = Vec::new();
    for (function, register, slot) in builder.slots() {
        if !uninitialised.contains(&(function, register)) {
            continue;
        }
        match slot {
            Slot::Predicate(predicate) => predicates.push(predicate),
            Slot::Row { row, bits } => rows.extend(row..row + bits / 32),
        }
    }
    rows.sort_unstable();
    predicates.sort_unstable();
    builder.registers.uninitialised_rows.extend(rows);
    builder.registers.uninitialised_predicates.extend(predicates);
}
