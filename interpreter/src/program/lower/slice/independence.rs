//! Kernels that are counted alike whatever memory holds.
//!
//! The analysis is that of slices without its guess at addresses: all of global memory is one
//! place, and a generic address may lie anywhere. Nobody checks its answer while a launch runs, so
//! it says yes only where that is certain.

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::StateSpace;

use super::super::super::{Program, StaticInstruction};
use super::super::values::flow::{Flow, Nodes, ValuePlace, has_texels, spaces};
use super::conduct::Conduct;
use super::needs;

impl Program {
    /// Returns true if a launch's counts depend on its extents, its arguments and the caches alone:
    /// nothing that it reads from global or constant memory decides its course or an address.
    /// `module` is the program's.
    #[must_use]
    pub fn counts_ignore_contents(&self, module: &Module) -> bool {
        if self.not_sliced_because().is_some() {
            return false;
        }
        let instructions = &self.instructions;
        let nodes = Nodes::new(module, instructions);
        let flows: Vec<Flow> =
            instructions.iter().map(|instruction| Flow::of(&nodes, instruction)).collect();
        let mut needed = vec![false; nodes.count()];
        for (node, _) in needs(self, &nodes, &flows) {
            needed[node as usize] = true;
        }
        let [local, arguments] =
            [ValuePlace::Local, ValuePlace::Arguments].map(|place| nodes.of(place) as usize);
        let any_of = |needed: &[bool], to: &[u32]| to.iter().any(|&node| needed[node as usize]);
        loop {
            let mut changed = false;
            // A callee's parameters are variables in its callers' local memory.
            if needed[local] != needed[arguments] {
                (needed[local], needed[arguments]) = (true, true);
                changed = true;
            }
            for flow in flows.iter().rev() {
                if !any_of(&needed, &flow.to) {
                    continue;
                }
                for &node in &flow.from {
                    changed |= !std::mem::replace(&mut needed[node as usize], true);
                }
            }
            if !changed {
                break;
            }
        }
        let reads = |(flow, item): (&Flow, &StaticInstruction)| {
            let is_executed = Conduct::of(&item.instruction) == Conduct::Always;
            let computes = is_executed || any_of(&needed, &flow.to);
            computes && reads_contents(&nodes, flow, item) || reads_a_map(item)
        };
        !flows.iter().zip(instructions).any(reads)
    }
}

/// Does it read memory that the host or another launch writes?
fn reads_contents(nodes: &Nodes, flow: &Flow, item: &StaticInstruction) -> bool {
    flow.reads_global(nodes) || spaces(&item.instruction).contains(&StateSpace::Const)
}

/// Does it find its addresses in a tensor map or a texture?
fn reads_a_map(item: &StaticInstruction) -> bool {
    matches!(
        item.instruction.opcode,
        Opcode::CpAsyncBulkTensor
            | Opcode::CpReduceAsyncBulkTensor
            | Opcode::CpAsyncBulkPrefetchTensor
            | Opcode::ApplypriorityAsyncBulkTensor
            | Opcode::Txq
            | Opcode::Suq
            | Opcode::Istypep
    ) || has_texels(item.instruction.opcode)
}
