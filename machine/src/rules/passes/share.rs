//! Common subexpressions: values that a dominating operation has computed already.
//!
//! PTX repeats reads of special registers, and narrowing makes products and shifts equal that
//! were not.

use std::collections::HashMap;

use gpucast_ptx_frontend::isa::{FormId, Modifier, Opcode, SpecialRegister};
use gpucast_ptx_frontend::types::ScalarType;
use smallvec::SmallVec;

use super::super::family::Family;
use super::super::flow::Dominators;
use super::super::graph::{Arg, Graph, Op, Part, State};
use super::dead::is_value;

/// All that decides an operation's result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Expression {
    opcode: Opcode,
    form: FormId,
    modifiers: SmallVec<[Modifier; 6]>,
    ty: ScalarType,
    part: Part,
    args: SmallVec<[Arg; 4]>,
}

impl Expression {
    /// The number of a warp changes where the warp is moved to another place of its SM.
    fn reads_warp_number(&self) -> bool {
        self.args.contains(&Arg::Special(SpecialRegister::Warpid))
    }
}

/// The first generation for which the assembler reads the number of a warp for each use. Before, it
/// reads it once in a block (`ptxas` 12.9, sm_50 to sm_120).
const READS_WARP_NUMBER_FOR_EACH_USE: u32 = 90;

/// Replaces operations by equal ones that dominate them.
pub(super) fn share(graph: &mut Graph<'_>, dominators: &Dominators, family: &Family) {
    let mut known: HashMap<Expression, SmallVec<[u32; 2]>> = HashMap::new();
    let order: Vec<u32> = graph.blocks.iter().flat_map(|block| block.first..block.end).collect();
    let mut replacement: Vec<Option<Arg>> = vec![None; graph.definitions.len()];
    for index in order {
        let Some(expression) = expression(graph, index, &replacement) else { continue };
        let Some(result) = graph.op(index).result() else { continue };
        let block = graph.op(index).block;
        let changes = expression.reads_warp_number();
        if changes && family.since >= READS_WARP_NUMBER_FOR_EACH_USE {
            continue;
        }
        let equal = known.entry(expression).or_default();
        let earlier = equal.iter().find(|&&other| {
            let home = graph.op(other).block;
            home == block || !changes && dominators.dominates(home, block)
        });
        match earlier.and_then(|&other| graph.op(other).result()) {
            Some(other) => {
                replacement[result.index()] = Some(Arg::Register(other));
                graph.op_mut(index).state = State::Dead;
            }
            None => equal.push(index),
        }
    }
    graph.replace(|register| replacement[register.index()]);
}

/// The expression of an operation that may be shared: it is pure, does not read memory, and all
/// of its registers are values.
fn expression(graph: &Graph<'_>, index: u32, replacement: &[Option<Arg>]) -> Option<Expression> {
    let op: &Op<'_> = graph.op(index);
    let result = op.result()?;
    let shareable =
        op.is_live() && op.guard.is_none() && is_value(op) && graph.value(result) == Some(index);
    if !shareable {
        return None;
    }
    let mut args = op.args.clone();
    for arg in &mut args {
        while let Arg::Register(register) = *arg {
            match replacement[register.index()] {
                Some(new) => *arg = new,
                None => break,
            }
        }
        if matches!(arg, Arg::Register(register) if graph.value(*register).is_none()) {
            return None;
        }
    }
    // Clocks and the like differ from read to read.
    let volatile = args.iter().any(|arg| match arg {
        Arg::Special(special) => {
            use gpucast_ptx_frontend::isa::SpecialRegister as S;
            !matches!(
                special,
                S::Tid(_)
                    | S::Ctaid(_)
                    | S::Laneid
                    | S::Warpid
                    | S::Clusterid(_)
                    | S::ClusterCtaid(_)
                    | S::ClusterCtarank
            )
        }
        _ => false,
    });
    if volatile {
        return None;
    }
    let (form, modifiers) = match op.opcode {
        // Passes change the meaning of these, so that the form says nothing more.
        Opcode::Shl | Opcode::Mov => (FormId(0), SmallVec::new()),
        Opcode::Mul if op.part == Part::Low && op.is_integer() => (FormId(0), SmallVec::new()),
        _ => (op.source.form, op.source.modifiers.clone()),
    };
    let ty = match op.opcode {
        Opcode::Shl | Opcode::Mov => {
            if op.ty.bits() == 64 {
                ScalarType::B64
            } else {
                ScalarType::B32
            }
        }
        Opcode::Mul if op.part == Part::Low && op.is_integer() && op.ty.bits() == 32 => {
            ScalarType::B32
        }
        _ => op.ty,
    };
    Some(Expression { opcode: op.opcode, form, modifiers, ty, part: op.part, args })
}
