//! The loads of global memory that decide the course of a launch, and the instructions that may
//! change the bytes they read.
//!
//! A load decides if its value may reach a branch, a guard, an address or another operand that
//! counts depend on. Values are followed through registers, through the arguments of calls, and
//! through local, shared and global memory, each of which is one place. The buffers that an address
//! may lie in are followed the same way ([`super::values`]). Both are read off the code without
//! regard to the order of instructions, so they err on the side of deciding and of more buffers.

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::module::VariableId;

use super::super::StaticInstruction;
use super::values::flow::{Flow, Nodes, ValuePlace};
use super::values::roots;
pub(crate) use super::values::roots::Roots;

/// The accesses by which CTAs may exchange values through global memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sharing {
    /// Instructions that read global memory.
    pub(crate) loads: Vec<Load>,
    /// Instructions that write global memory.
    pub(crate) writes: Vec<Write>,
    /// The variables that the bits of [`Roots`] stand for.
    pub(crate) variables: Vec<VariableId>,
}

/// An instruction that reads global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Index into the program's instructions.
    pub(crate) instruction: u32,
    pub(crate) roots: Roots,
    pub(crate) decides: Decides,
}

/// The way from a load's value to the place where it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Decides {
    Never,
    /// Some instruction writes it back to global memory, and another load reads it there.
    ThroughGlobal,
    Directly,
}

/// An instruction that writes global memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) roots: Roots,
}

impl Sharing {
    /// The accesses of a kernel and of the functions that it calls.
    pub(super) fn of(module: &Module, instructions: &[StaticInstruction]) -> Self {
        let nodes = Nodes::new(module, instructions);
        let flows: Vec<Flow> =
            instructions.iter().map(|instruction| Flow::of(&nodes, instruction)).collect();
        let touches = |place| flows.iter().any(|flow: &Flow| flow.to.contains(&nodes.of(place)));
        if !touches(ValuePlace::Global) || !flows.iter().any(|flow| flow.reads_global(&nodes)) {
            return Self::default();
        }
        let directly = deciding(&nodes, &flows, false);
        let at_all = deciding(&nodes, &flows, true);
        let global = nodes.of(ValuePlace::Global);
        let reaches = |flow: &Flow, nodes: &[bool], through_global: bool| {
            flow.to.iter().any(|&to| nodes[to as usize] && (through_global || to != global))
        };
        let roots = roots::Analysis::of(module, &nodes, instructions, &flows);
        let mut sharing = Self { variables: roots.variables.clone(), ..Self::default() };
        for (index, (flow, instruction)) in flows.iter().zip(instructions).enumerate() {
            let address = || roots.of_addresses(&nodes, instruction);
            if flow.reads_global(&nodes) {
                let decides = if reaches(flow, &directly, false) {
                    Decides::Directly
                } else if reaches(flow, &at_all, true) {
                    Decides::ThroughGlobal
                } else {
                    Decides::Never
                };
                let instruction = index as u32;
                sharing.loads.push(Load { instruction, roots: address(), decides });
            }
            if flow.to.contains(&global) {
                sharing.writes.push(Write { roots: address() });
            }
        }
        sharing
    }
}

/// The nodes whose values may decide, with the flow `through_global` memory or without.
fn deciding(nodes: &Nodes, flows: &[Flow], through_global: bool) -> Vec<bool> {
    let mut decides = vec![false; nodes.count()];
    for flow in flows {
        flow.decides.iter().for_each(|&node| decides[node as usize] = true);
    }
    let global = nodes.of(ValuePlace::Global);
    loop {
        let mut changed = false;
        // Values mostly flow forwards, so that few rounds backwards are enough.
        for flow in flows.iter().rev() {
            let reaches = |&to: &u32| decides[to as usize] && (through_global || to != global);
            if !flow.to.iter().any(reaches) {
                continue;
            }
            for &from in &flow.from {
                changed |= !std::mem::replace(&mut decides[from as usize], true);
            }
        }
        if !changed {
            return decides;
        }
    }
}

#[cfg(test)]
mod tests;
