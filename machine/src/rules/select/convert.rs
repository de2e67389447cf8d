//! Conversions.

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::{ScalarType, TypeKind};
use smallvec::smallvec;

use super::super::family::{Family, Multiplier};
use super::super::graph::{Graph, Op};
use super::{Selected, Selection};

pub(super) fn select(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Selection {
    let convert = |mnemonic| smallvec![Selected::new(mnemonic, 1)];
    if op.opcode == Opcode::CvtPack {
        return convert("I2IP");
    }
    let mut types = op.source.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else { return convert("F2F") };
    let floating = |ty: ScalarType| matches!(ty.kind(), TypeKind::Float | TypeKind::Packed);
    match (floating(to), floating(from)) {
        (true, true) if to == from => convert("FRND"),
        (true, true) => convert("F2F"),
        (true, false) => convert("I2F"),
        (false, true) => convert("F2I"),
        (false, false) => extend(graph, op, family, to, from),
    }
}

/// Integers that are made wider: the sign is copied, zeros come for nothing.
fn extend(
    graph: &Graph<'_>,
    op: &Op<'_>,
    family: &Family,
    to: ScalarType,
    from: ScalarType,
) -> Selection {
    let loaded_so = op.args.first().and_then(|arg| graph.value_of(*arg)).is_some_and(|source| {
        let source = graph.op(source);
        source.opcode == Opcode::Ld && source.source.types().last() == Some(from)
    });
    let signed = from.is_signed();
    match (from.bits(), to.bits()) {
        // `LEA.HI.X.SX32` extends the sign of its addend.
        (32, 64) if signed && family.multiplier == Multiplier::ImadWide && is_added(graph, op) => {
            smallvec![]
        }
        (32, 64) if signed => smallvec![Selected::new("SHR", 1)],
        (32, 64) => smallvec![],
        // Loads extend the loaded value.
        (8 | 16, 16 | 32) if loaded_so => smallvec![],
        (8 | 16, 64) => smallvec![Selected::new("PRMT", 1 + u32::from(signed))],
        _ => smallvec![Selected::new("PRMT", 1)],
    }
}

/// Returns true if the only use of a result is a 64-bit sum.
fn is_added(graph: &Graph<'_>, op: &Op<'_>) -> bool {
    let Some(result) = op.result() else { return false };
    let is_sum = |user: u32| {
        let user = graph.op(user);
        user.opcode == Opcode::Add && user.ty.bits() == 64 && user.memory.is_none()
    };
    graph.use_count(result) == 1 && graph.uses(result).iter().all(|&user| is_sum(user))
}
