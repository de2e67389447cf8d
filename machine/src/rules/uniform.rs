//! Values that all lanes of a warp share.
//!
//! An analysis of one value after the other, as `ptxas` seems to make it: literals, parameters and
//! the CTA's place are shared, what is computed or loaded from shared values is, too. Everything
//! that goes through other lanes, and the thread's place along any dimension, is not. A register
//! that is written at several places counts as different, even where it is the index of a loop.

use std::collections::HashSet;

use gpucast_ptx_frontend::isa::{InstructionClass, Opcode, SpecialRegister};
use gpucast_ptx_frontend::types::StateSpace;

use super::graph::{Arg, Graph, Register};

/// Returns true if all lanes of any warp have the same value in `arg`: all that it follows from is
/// shared. Chains of definitions can be as long as the kernel, so that they are no recursion.
pub(super) fn is_uniform(graph: &Graph<'_>, arg: Arg) -> bool {
    use SpecialRegister as S;
    let (mut seen, mut next) = (HashSet::new(), vec![arg]);
    while let Some(arg) = next.pop() {
        let is_shared = match arg {
            Arg::Constant(_) | Arg::Bank(_) | Arg::Shared(_) => true,
            Arg::Special(special) => matches!(
                special,
                S::Ntid(_)
                    | S::Ctaid(_)
                    | S::Nctaid(_)
                    | S::Clusterid(_)
                    | S::Nclusterid(_)
                    | S::ClusterCtaid(_)
                    | S::ClusterNctaid(_)
            ),
            Arg::Register(register) => {
                !seen.insert(register) || follows(graph, register, &mut next)
            }
        };
        if !is_shared {
            return false;
        }
    }
    true
}

/// Adds what a value follows from. Returns false if lanes differ whatever that is.
fn follows(graph: &Graph<'_>, register: Register, next: &mut Vec<Arg>) -> bool {
    use InstructionClass as C;
    let Some(index) = graph.value(register) else { return false };
    let op = graph.op(index);
    if let Some(memory) = op.memory {
        // Parameters of the kernel are no loads any more; those of functions differ by lane.
        next.extend(memory.base);
        return matches!(op.opcode, Opcode::Ld | Opcode::Ldu)
            && !matches!(memory.space, Some(StateSpace::Local | StateSpace::Param));
    }
    next.extend(op.args.iter().copied());
    let exchanges = matches!(op.opcode, Opcode::Activemask | Opcode::Elect)
        || matches!(op.source.form.form().class, C::InterThread | C::Control | C::LoadStore);
    !exchanges && !op.args.is_empty()
}
