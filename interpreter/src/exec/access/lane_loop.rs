//! Accesses that the lane loop makes itself: leaving and entering it again costs more than most of
//! them do.

#![allow(unsafe_code, reason = "the recorder is called without its type")]

use super::simple::access_simple;
use super::{AccessReport, Memories};
use crate::exec::lanes::Frame;
use crate::program::memory_op::{MemoryOp, Space};
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
    pub(in crate::exec) listener: Listener<'a>,
}

/// The receiver of accesses, without its type. The lane loop is compiled for each CPU level, and
/// must not be compiled for each recorder too.
pub(in crate::exec) struct Listener<'a> {
    who: *mut (),
    tell: unsafe fn(*mut (), &MemoryOp, Space, u32, &AccessReport),
    borrowed: std::marker::PhantomData<&'a mut ()>,
}

/// Hears of accesses.
pub(in crate::exec) trait Listen {
    /// The lanes of `mask` have executed `op`, which went to `space`.
    fn hear(&mut self, op: &MemoryOp, space: Space, mask: u32, report: &AccessReport);
}

impl<'a> Listener<'a> {
    pub(in crate::exec) fn new<L: Listen>(listener: &'a mut L) -> Self {
        /// # Safety
        ///
        /// `who` points to an `L` that nobody else uses meanwhile.
        unsafe fn tell<L: Listen>(
            who: *mut (),
            op: &MemoryOp,
            space: Space,
            mask: u32,
            report: &AccessReport,
        ) {
            // SAFETY: by the contract.
            unsafe { (*who.cast::<L>()).hear(op, space, mask, report) }
        }
        Self {
            who: std::ptr::from_mut(listener).cast(),
            tell: tell::<L>,
            borrowed: std::marker::PhantomData,
        }
    }
}

impl LoopAccesses<'_> {
    /// Executes a memory operation with those lanes of `mask` whose guard holds, and tells the
    /// listener. Returns `false` if it is not simple or there is something wrong with it; then
    /// nothing has been done or counted.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`] and of this, and `op` is a memory operation of their program.
    #[inline(always)]
    pub(in crate::exec) unsafe fn access(&mut self, frame: &Frame, op: &Op, mask: u32) -> bool {
        // SAFETY: memory operations name one of the program's; `Listener::new` has borrowed the
        // listener for longer than this lives.
        unsafe {
            let memory_op = &*self.ops.add(op.a as usize);
            let lanes = frame.guarded(op, mask);
            if lanes == 0 {
                return true;
            }
            if !memory_op.is_simple
                || !access_simple(frame, memory_op, self.memories, lanes, self.report)
            {
                return false;
            }
            frame.count(op, lanes);
            let Listener { who, tell, .. } = self.listener;
            tell(who, memory_op, memory_op.space, lanes, self.report);
            true
        }
    }
}
