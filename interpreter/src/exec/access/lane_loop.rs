//! Accesses that the lane loop makes itself: leaving and entering it again costs more than most of
//! them do.

#![allow(unsafe_code, reason = "operations are read without a check of their index")]

use super::probe::probe_simple;
use super::remembered::access_remembered;
use super::simple::access_simple;
use super::{AccessReport, LentPatterns, Memories, Teller};
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::observer::Pattern;
use crate::program::memory_op::MemoryOp;
use crate::program::op::Op;

/// The parts of a warp and its launch that the lane loop needs for accesses.
///
/// # Invariants
///
/// `ops` are the memory operations of the program that the loop runs.
pub(in crate::exec) struct LoopAccesses<'a> {
    pub(in crate::exec) ops: *const MemoryOp,
    pub(in crate::exec) memories: &'a Memories<'a>,
    pub(in crate::exec) report: &'a mut AccessReport,
    pub(in crate::exec) patterns: LentPatterns,
    pub(in crate::exec) teller: Teller<'a>,
}

impl LoopAccesses<'_> {
    /// Executes a memory operation with those lanes of `mask` whose guard holds, and tells the
    /// recorder. Returns `false` if it is not simple or there is something wrong with it; then
    /// nothing has been done or counted.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`] and of this, and `op` is a memory operation of their program.
    #[inline(always)]
    pub(in crate::exec) unsafe fn access(&mut self, frame: &Frame, op: &Op, mask: u32) -> bool {
        // SAFETY: memory operations name one of the program's.
        unsafe {
            let memory_op = &*self.ops.add(op.a as usize);
            let lanes = frame.guarded(op, mask);
            if lanes == 0 {
                return true;
            }
            if !memory_op.is_simple {
                return false;
            }
            let place = self.patterns.of(op.a);
            let first = match lanes {
                FULL_MASK => place.recall(frame, memory_op, op.a),
                _ => None,
            };
            if let Some(first) = first
                && access_remembered(frame, memory_op, self.memories, place, first)
            {
                self.remembered(op.a, first);
            } else if access_simple(frame, memory_op, self.memories, lanes, self.report) {
                self.learn(memory_op, op.a, lanes);
            } else {
                return false;
            }
            frame.count(op, lanes);
            self.teller.hear(memory_op, memory_op.space, lanes, self.report);
            true
        }
    }

    /// As [`Self::access`], of an operation that moves nothing.
    ///
    /// # Safety
    ///
    /// As [`Self::access`].
    #[inline(always)]
    pub(in crate::exec) unsafe fn probe(&mut self, frame: &Frame, op: &Op, mask: u32) -> bool {
        // SAFETY: memory operations name one of the program's.
        unsafe {
            let memory_op = &*self.ops.add(op.a as usize);
            let lanes = frame.guarded(op, mask);
            if lanes == 0 {
                return true;
            }
            let place = self.patterns.of(op.a);
            let first = match lanes {
                FULL_MASK => place.recall(frame, memory_op, op.a),
                _ => None,
            };
            if let Some(first) = first
                && let Some(extent) = self.memories.untouched(memory_op, first)
                && place.fits(memory_op, &extent, first)
            {
                self.remembered(op.a, first);
            } else if probe_simple(frame, memory_op, self.memories, lanes, self.report) {
                self.learn(memory_op, op.a, lanes);
            } else {
                return false;
            }
            frame.count(op, lanes);
            self.teller.hear(memory_op, memory_op.space, lanes, self.report);
            true
        }
    }

    /// Reports an access of memory operation `index` whose distances are remembered.
    #[inline(always)]
    fn remembered(&mut self, index: u32, first: u64) {
        let place = self.patterns.of(index);
        place.confirm();
        if self.teller.is_heard() {
            self.report.pattern = Pattern::General;
            self.report.distances = place.id();
            place.addresses(first, &mut self.report.addresses);
        }
    }

    /// Remembers an access of memory operation `index` that the report tells of, if it pays.
    #[inline(always)]
    fn learn(&mut self, op: &MemoryOp, index: u32, lanes: u32) {
        if lanes == FULL_MASK && self.report.pattern == Pattern::General {
            self.patterns.of(index).learn(op, index, &self.report.addresses);
        }
    }
}
