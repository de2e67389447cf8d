//! `tcgen05.shift` and the shift behind a product with `.ashift`: lanes of tensor memory move up.
//!
//! The manual says that 32 bytes of all rows but the last move by one row, "down". NVIDIA's example
//! `1cta_mma_a_from_tmem.py` of CUTLASS says which way that is, as seen on a GPU: within each 32
//! lanes, a lane gets what the next one had, and the last one keeps its own.

use super::super::access;
use super::super::matrix::OperandFault;
use super::memory::TensorMemory;
use super::{Memories, of_lane};
use crate::fault::FaultKind;
use crate::observer::TensorCells;
use crate::program::tensor_memory_op::ShiftRows;
use crate::semantics::tensor_memory::Cell;

/// Lanes that move together.
pub(super) const QUARTER: u32 = 32;
/// Columns that move: 32 bytes.
const WIDTH: u32 = 8;

/// Executes a shift from cell `base` on that one lane issues. Returns the cells of all its lanes.
/// Without `computes` it is only checked.
pub(super) fn shift(
    memories: &access::Memories<'_>,
    op: &ShiftRows,
    base: Cell,
    lane: u32,
    computes: bool,
) -> Result<Vec<TensorCells>, OperandFault> {
    if !base.lane.is_multiple_of(QUARTER) {
        let (what, value) = ("the first lane of tensor memory", u64::from(base.lane));
        let kind = FaultKind::BadOperand { what, value, allowed: "a multiple of 32" };
        return Err(OperandFault { lane, kind });
    }
    let memories = Memories::new(memories, if op.pair { 2 } else { 1 });
    let mut all = Vec::new();
    for at in 0..memories.ctas {
        let mut memory = memories.of(at)?;
        memory.check(base, QUARTER, WIDTH).map_err(of_lane(lane))?;
        if computes {
            quarter(&mut memory, base);
        }
        all.push(cells(memories.first + at, base));
    }
    Ok(all)
}

/// The cells of a quarter.
pub(super) fn cells(rank: u32, base: Cell) -> TensorCells {
    TensorCells { rank, lane: base.lane, lanes: QUARTER, column: base.column, columns: WIDTH }
}

/// Moves the cells of 32 lanes.
pub(super) fn quarter(memory: &mut TensorMemory, base: Cell) {
    for lane in 0..QUARTER - 1 {
        for column in 0..WIDTH {
            let below = memory.get(base.offset(lane + 1, column));
            memory.set(base.offset(lane, column), below);
        }
    }
}
