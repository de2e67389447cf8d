//! Accesses of machine instructions beside those of the PTX that they stand for.

use gpucast_ptx_frontend::types::StateSpace;

use super::MachineRow;
use crate::counts::MemoryCounts;
use crate::direction::Direction;
use crate::table::{BaseTable, Row};

impl BaseTable {
    /// The row of a PTX instruction. In whole tables it stands at the instruction's own place.
    pub(crate) fn row_of(&self, instruction: u32) -> Option<&Row> {
        let is_it = |row: &&Row| row.instruction == instruction;
        let at_its_place = self.rows.get(instruction as usize).filter(is_it);
        at_its_place.or_else(|| self.rows.iter().find(is_it))
    }

    /// The space that a machine instruction accesses.
    pub(crate) fn space_of(&self, row: &MachineRow) -> Option<StateSpace> {
        row.access?.space.or_else(|| self.space_most_accessed(row.instruction?))
    }

    /// The state space that took most requests of a PTX instruction.
    fn space_most_accessed(&self, instruction: u32) -> Option<StateSpace> {
        let row = self.row_of(instruction)?;
        Some(row.memory.iter().max_by_key(|counts| counts.requests)?.space)
    }

    /// Executions of a machine access by warps of which a lane takes part. Machine code skips by a
    /// predicate what the PTX branches around, and profilers do not count an access of which all
    /// lanes are predicated off: `smsp__sass_inst_executed_op_shared_ld` on an RTX 4090. The PTX
    /// instruction that it stands for has as many lanes in each of its requests.
    pub(crate) fn taking_part(&self, row: &MachineRow) -> u128 {
        if row.thread_executions == 0 {
            return 0;
        }
        let Some(access) = row.access else { return row.warp_executions };
        let Some(ptx) = row.instruction.and_then(|ptx| self.row_of(ptx)) else {
            return row.warp_executions;
        };
        let is_meant = |counts: &&MemoryCounts| {
            access.space.is_none_or(|space| space == counts.space)
                && Direction::of(counts.kind) == Direction::of(access.kind)
        };
        let requests: u128 = ptx.memory.iter().filter(is_meant).map(|row| row.requests).sum();
        // One lane may update memory for all of its warp: those take part that it stands for.
        let updates = Direction::of(access.kind) == Direction::Update;
        let taking_part = match updates && row.thread_executions <= row.warp_executions {
            true => row.issued_lanes.min(ptx.thread_executions),
            false => row.thread_executions,
        };
        let requests = match ptx.thread_executions {
            _ if requests == 0 => row.warp_executions,
            threads if threads == taking_part => requests,
            threads => {
                let share = taking_part as f64 / threads.max(1) as f64;
                (requests as f64 * share).round() as u128
            }
        };
        requests.min(row.warp_executions)
    }
}
