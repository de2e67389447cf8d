//! Moves, special registers, and exchanges between lanes.

use gpucast_ptx_frontend::isa::{Opcode, SpecialRegister};
use gpucast_ptx_frontend::types::ScalarType;
use smallvec::smallvec;

use super::super::family::Family;
use super::super::graph::{Arg, Graph, Op};
use super::{Selected, Selection};

pub(super) fn select(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Selection {
    use Opcode as O;
    let communicates = |mnemonic, count| smallvec![Selected::new(mnemonic, count)];
    match op.opcode {
        O::Mov => moves(graph, op, family),
        // To a generic address of shared or local memory: its window is added.
        O::Cvta => smallvec![Selected::new("IADD3", 2)],
        O::Isspacep => smallvec![Selected::new("QSPC", 2)],
        O::Shfl => communicates("SHFL", 1),
        O::Vote | O::Activemask => communicates("VOTE", 1),
        O::Match => communicates("MATCH", 1),
        O::Redux => communicates("REDUX", 2),
        O::Elect => communicates("ELECT", 1),
        O::Movmatrix => communicates("MOVM", 1),
        O::Prmt => smallvec![Selected::new("PRMT", 1)],
        O::Mapa => smallvec![Selected::new("PRMT", 1)],
        O::Getctarank => smallvec![Selected::new("SHF", 1)],
        _ => smallvec![],
    }
}

fn moves(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Selection {
    // Splitting and joining words is a matter of naming registers; halves of a word are not.
    if op.results.len() != op.args.len() {
        let halves = op.ty.bits() == 32;
        return if halves { smallvec![Selected::new("PRMT", 1)] } else { smallvec![] };
    }
    let words = op.ty.bits().div_ceil(32);
    if op.ty == ScalarType::Pred {
        return smallvec![Selected::new("PLOP3", 1)];
    }
    match op.args.first() {
        // The number of a warp is a field of a word.
        Some(Arg::Special(SpecialRegister::Warpid)) => {
            let field: &[&'static str] =
                if family.sets_numbers { &["BFE"] } else { &["SHF", "SGXT"] };
            ["S2R"].iter().chain(field).map(|mnemonic| Selected::new(mnemonic, 1)).collect()
        }
        Some(Arg::Special(_)) => smallvec![Selected::new("S2R", words)],
        Some(Arg::Register(from)) if op.guard.is_none() => {
            let coalesced = op.result().is_some_and(|to| coalesces(graph, op, to, *from));
            if coalesced { smallvec![] } else { smallvec![Selected::new("MOV", words)] }
        }
        _ => smallvec![Selected::new("MOV", words * op.results.len().max(1) as u32)],
    }
}

/// Returns true if a move into a variable needs no instruction. The moved value dies with it, so
/// that it can be computed in the variable's register.
fn coalesces(
    graph: &Graph<'_>,
    op: &Op<'_>,
    to: super::super::graph::Register,
    from: super::super::graph::Register,
) -> bool {
    let Some(definition) = graph.value(from) else { return false };
    let at = |index: &u32| std::ptr::eq(graph.op(*index), op);
    let Some(own) = graph.uses(from).iter().copied().find(at) else { return false };
    let same_block = |index: u32| graph.op(index).block == op.block;
    // Read in the same block before the move only, or by the move alone.
    let dies = graph.uses(from).iter().all(|&user| user == own || (same_block(user) && user < own));
    // The variable must not be read in between, while it still holds its old value.
    let free = graph.uses(to).iter().all(|&user| {
        !(same_block(user) && user < own && same_block(definition) && user > definition)
    });
    dies && free
}
