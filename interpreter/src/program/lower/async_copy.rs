//! `cp.async` and the instructions that wait for it.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Opcode, ShapeType};
use gpucast_ptx_frontend::module::{Immediate, Instruction, Operand};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::asynchronous::{AsyncCopy, CopyExtent, wait};
use super::super::memory_op::{MemoryOp, Space};
use super::super::op::{Code, GuardPredicate};
use super::super::side_tables;
use super::builder::{Builder, Lowered, operand};
use super::memory;
use crate::access_kind::AccessKind;

/// The value of an operand that must be a literal.
pub(super) fn literal(instruction: &Instruction, index: usize) -> Lowered<u64> {
    match operand(instruction, index)? {
        Operand::Immediate(Immediate::Integer(value)) => {
            u64::try_from(*value).map_err(|_| format!("operand {} must not be negative", index + 1))
        }
        _ => Err(format!("operand {} must be a constant", index + 1)),
    }
}

/// `cp.async`.
pub(super) fn copy(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let bytes = literal(instruction, 2)?;
    let ty = match bytes {
        4 => T::B32,
        8 => T::B64,
        16 => T::B128,
        _ => return Err(format!("cp.async copies 4, 8 or 16 bytes, not {bytes}")),
    };
    let destination =
        memory::address(builder, instruction, 0, Some(StateSpace::Shared), AccessKind::Store, ty)?;
    let source =
        memory::address(builder, instruction, 1, Some(StateSpace::Global), AccessKind::Load, ty)?;
    require(&destination, Space::Shared, "the destination")?;
    require(&source, Space::Global, "the source")?;
    let mut extent = CopyExtent::All;
    let shapes = &instruction.form.form().operands;
    for (index, shape) in shapes.iter().enumerate().skip(3) {
        match shape.ty {
            ShapeType::Fixed(T::U32) => {
                extent = CopyExtent::Bytes(builder.value(operand(instruction, index)?, T::U32)?);
            }
            ShapeType::Fixed(T::Pred) => {
                let (predicate, negated) = builder.predicate(operand(instruction, index)?)?;
                let invert = if negated { u32::MAX } else { 0 };
                extent = CopyExtent::Unless(GuardPredicate { predicate, invert });
            }
            // A cache policy changes nothing but speed.
            _ => {}
        }
    }
    let index = side_tables::add(
        &mut builder.tables.async_copies,
        AsyncCopy { source, destination, extent },
    );
    builder.emit(Code::AsyncCopy, 0, 0, [index, 0, 0]);
    Ok(())
}

/// An address operand must lead to `space`.
pub(super) fn require(op: &MemoryOp, space: Space, what: &str) -> Lowered<()> {
    if op.space == space {
        return Ok(());
    }
    let name = space.state_space().map_or("generic", StateSpace::text);
    Err(format!("{what} must be in {name} memory"))
}

/// `commit_group` and `wait_group` of `cp.async`, `cp.async.bulk` and `wgmma`, and
/// `cp.async.wait_all`.
pub(super) fn groups(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    use Opcode as O;
    let queue = match instruction.opcode {
        O::CpAsyncBulkCommitGroup | O::CpAsyncBulkWaitGroup => wait::BULK,
        O::WgmmaCommitGroup | O::WgmmaWaitGroup => wait::WARPGROUP,
        _ => wait::COPIES,
    };
    let (kind, count) = match instruction.opcode {
        O::CpAsyncCommitGroup | O::CpAsyncBulkCommitGroup | O::WgmmaCommitGroup => {
            (wait::COMMIT, 0)
        }
        O::CpAsyncWaitGroup | O::CpAsyncBulkWaitGroup | O::WgmmaWaitGroup => {
            (wait::GROUPS, literal(instruction, 0)?)
        }
        _ => (wait::ALL, 0),
    };
    builder.emit(Code::AsyncWait, kind, 0, [u32::try_from(count).unwrap_or(u32::MAX), queue, 0]);
    Ok(())
}
