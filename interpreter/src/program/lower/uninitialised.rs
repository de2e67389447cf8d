//! Registers that may be read before they are written.
//!
//! PTX leaves their value undefined; here it is zero in every CTA, so that results do not depend
//! on which CTA used the register file before. The analysis is the usual backward liveness: what
//! is live at a function's entry may be read before it is written. A guarded write does not end
//! liveness.

use std::collections::HashSet;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::cfg::ControlFlowGraph;
use gpucast_ptx_frontend::isa::Access;
use gpucast_ptx_frontend::module::{
    Address, AddressBase, Formal, FunctionId, Instruction, Operand, RegisterId,
};

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
    // Per block: what it reads before it writes, and what it writes whatever happens.
    let summaries: Vec<(Registers, Registers)> = blocks
        .iter()
        .map(|block| {
            let (mut reads, mut writes) = (Registers::new(), Registers::new());
            for instruction in
                &instructions[block.instructions.start as usize..block.instructions.end as usize]
            {
                let (read, written) = uses(instruction);
                reads.extend(read.into_iter().filter(|register| !writes.contains(register)));
                if instruction.guard.is_none() {
                    writes.extend(written);
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

/// The registers that an instruction reads and writes.
fn uses(instruction: &Instruction) -> (Vec<RegisterId>, Vec<RegisterId>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    // Writing an element leaves the rest of a vector register as it was.
    let mut partly = Vec::new();
    reads.extend(instruction.guard.map(|guard| guard.register));
    let shapes = &instruction.form.form().operands;
    for (index, operand) in instruction.operands.iter().enumerate() {
        // Operands that were left out shift the shapes; an unknown place counts as read and
        // written where the first operand is concerned, otherwise as read.
        let written =
            index == 0 && shapes.first().is_some_and(|shape| shape.access != Access::Read);
        let accumulates = shapes.get(index).is_some_and(|shape| shape.access == Access::ReadWrite);
        match (written, operand) {
            (true, operand) if !is_address(operand) => {
                collect(operand, &mut writes);
                elements(operand, &mut partly);
                if accumulates {
                    collect(operand, &mut reads);
                }
            }
            (_, operand) => collect(operand, &mut reads),
        }
    }
    writes.retain(|register| !partly.contains(register));
    (reads, writes)
}

/// The vector registers of which an operand names elements.
fn elements(operand: &Operand, registers: &mut Vec<RegisterId>) {
    match operand {
        Operand::Element(register, _) => registers.push(*register),
        Operand::Vector(operands) => operands.iter().for_each(|o| elements(o, registers)),
        Operand::Pair(pair) => pair.iter().for_each(|o| elements(o, registers)),
        _ => {}
    }
}

/// Whether an operand consists of or contains `register`.
pub(super) fn mentions(operand: &Operand, register: RegisterId) -> bool {
    let mut registers = Vec::new();
    collect(operand, &mut registers);
    registers.contains(&register)
}

fn is_address(operand: &Operand) -> bool {
    matches!(operand, Operand::Address(_) | Operand::Indexed(_))
}

fn collect(operand: &Operand, registers: &mut Vec<RegisterId>) {
    match operand {
        Operand::Register(register)
        | Operand::Negated(register)
        | Operand::Element(register, _)
        | Operand::Part { register, .. }
        | Operand::Lanes { register, .. }
        | Operand::Address(Address { base: AddressBase::Register(register), .. }) => {
            registers.push(*register);
        }
        Operand::Vector(operands) | Operand::List(operands) | Operand::Indexed(operands) => {
            operands.iter().for_each(|operand| collect(operand, registers));
        }
        Operand::Negative(operand) => collect(operand, registers),
        Operand::Pair(pair) => pair.iter().for_each(|operand| collect(operand, registers)),
        Operand::Immediate(_)
        | Operand::Special(_)
        | Operand::Variable(..)
        | Operand::Function(_)
        | Operand::Label(_)
        | Operand::Address(_)
        | Operand::Sink
        | Operand::Targets(_)
        | Operand::Prototype(_) => {}
    }
}

/// Note the rows and predicates to be cleared.
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
