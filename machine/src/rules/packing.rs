//! The instructions that pack half-words into registers, and unpack them.
//!
//! Accesses of several half-words move words, two halves in each. Arithmetic reads either half of a
//! register. A store reads the low one alone.

use std::collections::HashSet;

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::ScalarType;

use super::graph::{Arg, Graph, Op, Register};
use super::passes::{HALF_WORD, MergedAccess};

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
