//! Registers that may be read before they are written.
//!
//! PTX leaves their value undefined; here it is zero in every CTA, so that results do not depend on
//! which CTA used the register file before. The analysis is the usual backward liveness: a register
//! that is live at a function's entry may be read before it is written. A guarded write does not
//! end liveness.

use std::collections::HashSet;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::cfg::ControlFlowGraph;
use gpucast_ptx_frontend::dataflow::{Uses, registers_in};
use gpucast_ptx_frontend::module::{Formal, FunctionId, Instruction, Operand, RegisterId};

use super::builder::{Builder, Slot};

type Registers = HashSet<RegisterId>;

/// Registers live at the entry of each function.
pub(super) fn analyse(
    module: &Module,
    functions: &[FunctionId],
    graphs: &[ControlFlowGraph],
) -> HashSet<(FunctionId, RegisterId)> {
    let mut result = HashSet::new();
    for (&function, graph) in functions.iter().zip(graphs) {
        let Some(body) = &module.functions[function.index()].body else { continue };
        let live = live_at_entry(&body.instructions, graph);
        // The caller reads the results, on whatever path the function returned.
        let results = module.functions[function.index()].returns.iter().filter_map(|formal| {
            if let Formal::Register(register) = *formal { Some(register) } else { None }
        });
        result.extend(live.into_iter().chain(results).map(|register| (function, register)));
    }
    result
}

fn live_at_entry(instructions: &[Instruction], graph: &ControlFlowGraph) -> Registers {
    let blocks = graph.blocks();
    // Per block: registers that it reads before it writes them, and registers that it writes in any
    // case.
    let summaries: Vec<(Registers, Registers)> = blocks
        .iter()
        .map(|block| {
            let (mut reads, mut writes) = (Registers::new(), Registers::new());
            for instruction in
                &instructions[block.instructions.start as usize..block.instructions.end as usize]
            {
                let uses = Uses::of(instruction);
                reads.extend(uses.read.into_iter().filter(|register| !writes.contains(register)));
                if instruction.guard.is_none() {
                    writes.extend(uses.written);
                }
            }
            (reads, writes)
        })
        .collect();
    let mut live: Vec<Registers> = summaries.iter().map(|(reads, _)| reads.clone()).collect();
    let order = graph.reverse_post_order();
    loop {
        let mut changed = false;
        for block in order.iter().rev() {
            let at = block.index();
            for successor in &blocks[at].successors {
                let incoming: Vec<_> = live[successor.index()]
                    .iter()
                    .filter(|register| !summaries[at].1.contains(register))
                    .filter(|register| !live[at].contains(register))
                    .copied()
                    .collect();
                changed |= !incoming.is_empty();
                live[at].extend(incoming);
            }
        }
        if !changed {
            break;
        }
    }
    order.first().map(|entry| live[entry.index()].clone()).unwrap_or_default()
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
