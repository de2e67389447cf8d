//! Bulk copies (`cp.async.bulk`, `cp.reduce.async.bulk`) as a simulation of time sees them.

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::code::AccessKind;

/// The direction of a bulk copy; `None` if the instruction is none. The space of the destination
/// comes first in PTX.
pub(crate) fn kind(instruction: &Instruction) -> Option<AccessKind> {
    use Opcode as O;
    let space = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    let to_global = space == Some(StateSpace::Global);
    match instruction.opcode {
        O::CpAsyncBulk | O::CpAsyncBulkTensor if to_global => Some(AccessKind::BulkStore),
        O::CpReduceAsyncBulk | O::CpReduceAsyncBulkTensor if to_global => {
            Some(AccessKind::BulkReduction)
        }
        O::CpAsyncBulk
        | O::CpAsyncBulkTensor
        | O::CpReduceAsyncBulk
        | O::CpReduceAsyncBulkTensor => Some(AccessKind::BulkCopy),
        _ => None,
    }
}
