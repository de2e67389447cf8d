//! Values that all lanes of a warp share.
//!
//! An analysis of one value after the other, as `ptxas` seems to make it: literals, parameters and
//! the CTA's place are shared, what is computed or loaded from shared values is, too. Everything
//! that goes through other lanes, and the thread's place along any dimension, is not. A register
//! that is written at several places counts as different, even where it is the index of a loop.

use std::collections::HashMap;

use gpucast_ptx_frontend::isa::{InstructionClass, Opcode, SpecialRegister};
use gpucast_ptx_frontend::types::StateSpace;

use super::graph::{Arg, Graph, Register};

/// Returns true if all lanes of any warp have the same value in `arg`.
pub(super) fn is_uniform(graph: &Graph<'_>, arg: Arg) -> bool {
    arg_is_uniform(graph, arg, &mut HashMap::new())
}

fn arg_is_uniform(graph: &Graph<'_>, arg: Arg, known: &mut HashMap<Register, bool>) -> bool {
    use SpecialRegister as S;
    match arg {
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
            if let Some(&answer) = known.get(&register) {
                return answer;
            }
            // A value cannot depend on itself; in code that cannot be reached it might.
            known.insert(register, false);
            let answer = value_is_uniform(graph, register, known);
            known.insert(register, answer);
            answer
        }
    }
}

fn value_is_uniform(
    graph: &Graph<'_>,
    register: Register,
    known: &mut HashMap<Register, bool>,
) -> bool {
    use InstructionClass as C;
    let Some(index) = graph.value(register) else { return false };
    let op = graph.op(index);
    if let Some(memory) = op.memory {
        // Parameters of the kernel are no loads any more; those of functions differ by lane.
        let is_shared = !matches!(memory.space, Some(StateSpace::Local | StateSpace::Param));
        let has_one_address = memory.base.is_none_or(|base| arg_is_uniform(graph, base, known));
        return matches!(op.opcode, Opcode::Ld | Opcode::Ldu) && is_shared && has_one_address;
    }
    let exchanges = matches!(op.opcode, Opcode::Activemask | Opcode::Elect)
        || matches!(op.source.form.form().class, C::InterThread | C::Control | C::LoadStore);
    !exchanges
        && !op.args.is_empty()
        && op.args.iter().all(|&arg| arg_is_uniform(graph, arg, known))
}
