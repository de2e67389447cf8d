//! Half-words of shared memory: which accesses to them become part of wider ones.
//!
//! A load of 16 bits fills a register of 32. It extends the value by zeros or by its sign, and
//! where a user needs the extended value, `ptxas` lets the load do so. Otherwise it loads several
//! half-words at once (12.9, sm_80 and sm_90).

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::{ScalarType, TypeKind};

use super::super::graph::{Arg, Graph, Op, Register};

/// Bytes of an access of 16 bits.
pub(in super::super) const HALF_WORD: u32 = 2;

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
