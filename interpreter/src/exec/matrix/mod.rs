//! Matrix instructions of warps and warpgroups. Their meaning is in [`crate::semantics::matrix`].
//!
//! Execution decodes fragments into plain arrays, multiplies, and scatters. Each warp of a
//! warpgroup computes its sixteen rows of a `wgmma`, and reads shared memory where the descriptors
//! say.

#![allow(unsafe_code, reason = "a function of the CPU's level is called")]

pub(super) mod multiply;
mod sparse_vector;
mod transfer;
mod warpgroup;

use super::access::AccessReport;
use super::lanes::{FULL_MASK, Frame};
use super::warp::{Context, Split, Warp, WarpFault};
use crate::fault::FaultKind;
use crate::observer::{AccessKind, Recorder};
use crate::program::matrix_op::MatrixOp;
use crate::program::memory_op::MemoryOp;
use crate::program::op::Op;

/// The reason why a lane's operands have no meaning.
#[derive(Debug)]
pub(crate) struct OperandFault {
    pub(crate) lane: u32,
    pub(crate) kind: FaultKind,
}

impl OperandFault {
    /// The fault of the operation at `pc`.
    pub(crate) fn at(self, pc: u32) -> WarpFault {
        WarpFault { pc, lane: Some(self.lane), kind: self.kind }
    }
}

impl Warp {
    /// A matrix instruction by the lanes of `mask`. Those of the warp need all lanes.
    pub(super) fn matrix(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &Split,
        mask: u32,
    ) -> Result<(), WarpFault> {
        let pc = split.pc;
        let op = &context.program.tables.matrix_ops[op.a as usize];
        if mask != FULL_MASK && !op.is_of_lanes() {
            return Err(WarpFault { pc, lane: None, kind: FaultKind::PartialWarp { lanes: mask } });
        }
        let mut report = AccessReport::new();
        let mut access = |recorder: &mut dyn Recorder, memory_op: &MemoryOp, lanes| {
            self.memory(context, recorder, frame, memory_op, split, lanes, &mut report)
                .map_err(|fault| WarpFault { pc, lane: Some(fault.lane), kind: fault.kind })
        };
        match op {
            MatrixOp::Multiply(multiply) => {
                // SAFETY: the level is one of this CPU.
                let done = unsafe { (context.level.multiply)(frame, multiply) };
                done.map_err(|fault| fault.at(pc))
            }
            MatrixOp::Warpgroup(op) => {
                let time = self.clock(context.program, split, op.instruction);
                warpgroup::execute(recorder, frame, context, op, self.index, time)
                    .map_err(|fault| fault.at(pc))
            }
            MatrixOp::Transpose { source, destination } => {
                transfer::transpose(frame, *source, *destination);
                Ok(())
            }
            MatrixOp::Compress(op) => {
                sparse_vector::compress(frame, op, mask).map_err(|fault| fault.at(pc))
            }
            MatrixOp::Expand(op) => {
                sparse_vector::expand(frame, op, mask).map_err(|fault| fault.at(pc))
            }
            MatrixOp::WarpgroupFence | MatrixOp::CountedOnly => Ok(()),
            MatrixOp::Rows(rows) if !rows.access.moves => {
                access(recorder, &rows.access, rows.lanes)
            }
            MatrixOp::Rows(rows) if rows.access.kind == AccessKind::Store => {
                transfer::collect_rows(frame, rows);
                access(recorder, &rows.access, rows.lanes)
            }
            MatrixOp::Rows(rows) => {
                access(recorder, &rows.access, rows.lanes)?;
                transfer::distribute_rows(frame, rows);
                Ok(())
            }
            MatrixOp::Fragment(transfer) => {
                let start =
                    transfer::fragment_address(frame, transfer).map_err(|fault| fault.at(pc))?;
                for part in &transfer.parts {
                    transfer::before_access(frame, transfer, part, start);
                    access(recorder, &part.access, FULL_MASK)?;
                    transfer::after_access(frame, part);
                }
                Ok(())
            }
        }
    }
}
