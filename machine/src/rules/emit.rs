//! The machine instructions of a program in order, with the place where each of them stands.
//!
//! Rows count these instructions and the schedule arranges them, so that both speak of the same
//! code.

use std::collections::HashMap;

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::StateSpace;
use smallvec::SmallVec;

use super::branches::{ControlInstruction, control};
use super::code_place::CodePlace;
use super::family::{Constants, Family};
use super::flow::Dominators;
use super::graph::{Arg, Graph};
use super::packing::Packing;
use super::passes::MergedAccess;
use super::pipes::Pipes;
use super::select::{Operands, Selected, select};

/// The reason for which an instruction is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Begins the kernel.
    Preamble,
    /// Brings an operand into a register.
    Bring,
    /// Is part of what the operation does.
    Own,
    /// Branches, ends, or brings lanes together.
    Control,
    /// Waits for the sake of the machine (`DEPBAR`, `NOP`).
    Wait,
}

/// An instruction, or several of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Emitted {
    pub(super) selected: Selected,
    /// The operation that it stands for.
    pub(super) operation: u32,
    pub(super) place: CodePlace,
    pub(super) role: Role,
    /// The operand that it brings, if that is its role.
    pub(super) brings: Option<Arg>,
}

/// All instructions of a program, in order of their operations.
#[derive(Debug)]
pub(super) struct Emission {
    pub(super) instructions: Vec<Emitted>,
    /// For each operation, the instructions that bring its operands into registers.
    pub(super) brought: Vec<SmallVec<[u32; 2]>>,
}

/// Loads that are under way when a `DEPBAR` waits for the first of them.
const LOADS_OF_BARRIER: u32 = 4;

impl Emission {
    /// The instructions of a graph behind its passes.
    pub(super) fn new(
        graph: &Graph<'_>,
        family: &Family,
        dominators: &Dominators,
        merged: &[MergedAccess],
        lanes_are_independent: bool,
    ) -> Self {
        let mut control_of: HashMap<u32, Vec<ControlInstruction>> = HashMap::new();
        for instruction in control(graph, family, dominators, lanes_are_independent) {
            control_of.entry(instruction.operation).or_default().push(instruction);
        }
        let mut emission =
            Self { instructions: Vec::new(), brought: vec![SmallVec::new(); graph.ops.len()] };
        emission.preamble(graph, family);
        let mut operands = Operands::new(graph, family, dominators);
        let mut pipes = Pipes::new(family);
        let packing = Packing::new(graph, merged);
        // The instructions that brought an operand into a register of a block.
        let mut bringers: HashMap<(Arg, u32), SmallVec<[u32; 2]>> = HashMap::new();
        for block in &graph.blocks {
            let mut waits = Waits::default();
            for index in block.first..block.end {
                let op = graph.op(index);
                if !op.is_live() {
                    continue;
                }
                for brought in operands.bring(op) {
                    let key = (brought.arg, brought.block);
                    let place = if brought.block == op.block {
                        CodePlace::Operation
                    } else {
                        CodePlace::Block(brought.block)
                    };
                    for selected in brought
                        .selected
                        .into_iter()
                        .flat_map(|instruction| pipes.distribute(instruction))
                    {
                        bringers.entry(key).or_default().push(emission.instructions.len() as u32);
                        let (role, brings) = (Role::Bring, Some(brought.arg));
                        let operation = index;
                        emission.add(Emitted { selected, operation, place, role, brings });
                    }
                    let known = bringers.get(&key).cloned().unwrap_or_default();
                    let into = &mut emission.brought[index as usize];
                    if !known.iter().any(|bringer| into.contains(bringer)) {
                        into.extend(known);
                    }
                }
                let wider = merged.iter().find(|access| access.leader == index);
                let packed = Selected::new("PRMT", packing.before(op, wider));
                emission.push(packed, index, CodePlace::Operation, Role::Own);
                for mut selected in select(graph, family, index) {
                    if let (Some(access), Some(wider)) = (&mut selected.access, wider) {
                        access.bytes = wider.bytes;
                        selected.count = 1;
                    }
                    if op.opcode == Opcode::Mov {
                        for one in pipes.distribute(selected) {
                            emission.push(one, index, CodePlace::Operation, Role::Own);
                        }
                    } else {
                        emission.push(selected, index, CodePlace::Operation, Role::Own);
                    }
                }
                for selected in waits.behind(op, family) {
                    emission.push(selected, index, CodePlace::Operation, Role::Wait);
                }
                for control in control_of.remove(&index).unwrap_or_default() {
                    emission.push(control.selected, index, control.place, Role::Control);
                }
            }
        }
        emission
    }

    fn push(&mut self, selected: Selected, operation: u32, place: CodePlace, role: Role) {
        self.add(Emitted { selected, operation, place, role, brings: None });
    }

    fn add(&mut self, emitted: Emitted) {
        if emitted.selected.count > 0 {
            self.instructions.push(emitted);
        }
    }

    /// The instructions that every kernel begins with: the stack pointer, the generation's
    /// additions, and the descriptor of global memory if the kernel uses any.
    fn preamble(&mut self, graph: &Graph<'_>, family: &Family) {
        let Some(entry) = graph.blocks.first() else { return };
        let mut push =
            |selected| self.push(selected, entry.first, CodePlace::Block(0), Role::Preamble);
        // The stack pointer.
        push(match family.constants {
            Constants::Direct => Selected::new("MOV", 1),
            Constants::Uniform => Selected::constant(4),
        });
        push(Selected::new("SHFL", family.preamble));
        let global = graph.ops.iter().any(|op| {
            op.is_live()
                && op
                    .memory
                    .is_some_and(|memory| matches!(memory.space, None | Some(StateSpace::Global)))
        });
        push(Selected::new("ULDC", u32::from(global && family.descriptor)));
    }
}

/// The waiting instructions of a block.
#[derive(Debug, Default)]
struct Waits {
    /// Loads of global memory so far.
    outstanding: u32,
    /// Stores since the last barrier, if there was one.
    stores_after_barrier: Option<u32>,
}

impl Waits {
    /// The instructions that wait behind an operation.
    fn behind(&mut self, op: &super::graph::Op<'_>, family: &Family) -> SmallVec<[Selected; 2]> {
        let mut found = SmallVec::new();
        self.outstanding += u32::from(op.memory.is_some_and(|memory| {
            memory.space == Some(StateSpace::Global) && !op.results.is_empty()
        }));
        if family.load_barrier && self.outstanding == LOADS_OF_BARRIER {
            self.outstanding += 1;
            found.push(Selected::new("DEPBAR", 1));
        }
        if op.opcode == Opcode::Bar {
            let stores = self.stores_after_barrier.replace(0).unwrap_or(0);
            if family.pads && stores > 0 {
                found.push(Selected::new("NOP", 1 + stores));
            }
        } else if op.opcode == Opcode::St {
            self.stores_after_barrier = self.stores_after_barrier.map(|stores| stores + 1);
        }
        found
    }
}
