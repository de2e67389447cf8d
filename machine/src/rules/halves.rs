//! Half-words of shared memory: which accesses to them become part of wider ones, and the
//! instructions that pack and unpack them.
//!
//! A load of 16 bits fills a register of 32. It extends the value by zeros or by its sign, and
//! where a user needs the extended value, `ptxas` lets the load do so. Otherwise it loads several
//! half-words at once (12.9, sm_80 and sm_90).

use std::collections::HashSet;

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::{ScalarType, TypeKind};

use super::graph::{Arg, Graph, Op, Register};
use super::passes::MergedAccess;

/// Bytes of an access of 16 bits.
pub(super) const HALF_WORD: u32 = 2;

/// Returns true if an access of 16 bits to shared memory may become part of a wider one.
pub(super) fn may_merge(graph: &Graph<'_>, op: &Op<'_>) -> bool {
    match (op.opcode, op.results.as_slice()) {
        (Opcode::St, _) => true,
        (Opcode::Ld, &[result]) => {
            let loads_sign = op.ty.kind() == TypeKind::Signed;
            let extends = |&user: &u32| needs_extension(graph.op(user), result, loads_sign);
            !graph.uses(result).iter().any(extends)
        }
        // Two bytes, each for a register of its own.
        _ => false,
    }
}

/// Returns true if an operation reads more of a loaded half-word than its 16 bits, with the
/// extension that the load can give.
fn needs_extension(user: &Op<'_>, half: Register, loads_sign: bool) -> bool {
    let has_sign = |ty: ScalarType| ty.kind() == TypeKind::Signed;
    if user.memory.is_some_and(|memory| memory.base == Some(Arg::Register(half))) {
        return true;
    }
    match user.opcode {
        Opcode::St => user.ty.bits() > 8 * HALF_WORD,
        // Two halves become a word, or one is copied.
        Opcode::Mov => user.args.len() == 1 && user.ty.bits() > 8 * HALF_WORD,
        Opcode::Cvt => {
            let from = user.source.types().nth(1);
            user.is_integer() && from.is_some_and(|from| has_sign(from) == loads_sign)
        }
        Opcode::Mul | Opcode::Mad => user.is_integer() && has_sign(user.ty) == loads_sign,
        _ => user.is_integer(),
    }
}

/// The `PRMT` that stores need because half-words share registers.
#[derive(Debug)]
pub(super) struct Packing {
    /// Values in the high halves of registers.
    high: HashSet<Register>,
}

impl Packing {
    pub(super) fn new(graph: &Graph<'_>, merged: &[MergedAccess]) -> Self {
        let members = merged.iter().flat_map(|access| {
            access.followers.iter().copied().chain([access.leader]).map(|index| graph.op(index))
        });
        let is_high = |op: &&Op<'_>| {
            let offset = op.memory.map_or(0, |memory| memory.offset);
            is_half_load(op) && offset.rem_euclid(4) != 0
        };
        Self { high: members.filter(is_high).filter_map(Op::result).collect() }
    }

    /// The instructions before a store: one for each word that two half-words make, and for each
    /// high half that is stored alone.
    pub(super) fn before(&self, op: &Op<'_>, wider: Option<&MergedAccess>) -> u32 {
        if op.opcode != Opcode::St {
            return 0;
        }
        let element = op.source.types().last().map_or(4, ScalarType::bytes);
        match wider {
            // Its values have those of its followers beside them.
            Some(wider) => {
                let alone = wider.bytes / (wider.followers.len() as u32 + 1);
                if alone == HALF_WORD { wider.bytes / 4 } else { 0 }
            }
            None if element == HALF_WORD => {
                let is_high =
                    |arg: &&Arg| matches!(arg, Arg::Register(one) if self.high.contains(one));
                op.args.iter().filter(is_high).count() as u32
            }
            None => 0,
        }
    }
}

fn is_half_load(op: &Op<'_>) -> bool {
    op.opcode == Opcode::Ld && op.ty.bytes() == HALF_WORD && op.results.len() == 1
}
