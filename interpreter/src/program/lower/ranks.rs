//! Kernels that can tell a CTA's rank in its cluster.

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode, SpecialRegister as S};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::call_graph::CallGraph;

/// Returns true if a kernel can tell a CTA's rank, or names CTAs by it. Shared addresses then
/// begin with the rank.
pub(super) fn names_ranks(module: &Module, calls: &CallGraph) -> bool {
    let by_rank = [
        M::MulticastCluster,
        M::MulticastCluster16b,
        M::MulticastCluster32b,
        M::MulticastClusterAll,
        M::CtaGroup2,
    ];
    let names = |instruction: &Instruction| {
        let has = |modifier| instruction.has(modifier);
        let tells = |operand: &Operand| {
            let special =
                if let Operand::Special(special) = operand { Some(special) } else { None };
            matches!(special, Some(S::ClusterCtarank | S::ClusterCtaid(_)))
        };
        matches!(instruction.opcode, Opcode::Mapa | Opcode::Getctarank)
            || by_rank.into_iter().any(has)
            || instruction.operands.iter().any(tells)
    };
    let bodies = calls.functions.iter().filter_map(|f| module.functions[f.index()].body.as_ref());
    bodies.flat_map(|body| &body.instructions).any(names)
}
