//! Operations that are about to be executed.

#![allow(unsafe_code, reason = "operands of checked programs are not checked again")]

use crate::exec::lanes::Frame;
use crate::program::op::Op;

/// An operation that is about to be executed by lanes of a warp.
pub(super) struct Upcoming<'a> {
    pub(super) frame: &'a Frame,
    pub(super) op: &'a Op,
    pub(super) warp: usize,
    pub(super) mask: u32,
}

impl Upcoming<'_> {
    /// Each lane's value of a row as a whole number.
    pub(super) fn values(&self, row: u32, wide: bool, signed: bool) -> [i128; 32] {
        // SAFETY: the frame's invariants hold, and the row is an operand of that width.
        unsafe {
            match (wide, signed) {
                (false, false) => self.frame.row::<u32>(row).map(i128::from),
                (false, true) => self.frame.row::<u32>(row).map(|value| i128::from(value as i32)),
                (true, false) => self.frame.row::<u64>(row).map(i128::from),
                (true, true) => self.frame.row::<u64>(row).map(|value| i128::from(value as i64)),
            }
        }
    }

    /// The lanes in which the predicate of a selection is true.
    pub(super) fn selected(&self) -> u32 {
        // SAFETY: the frame's invariants hold, and operand `c` of a selection is a predicate.
        unsafe { self.frame.predicate(self.op.c) ^ u32::from(self.op.n).wrapping_neg() }
    }
}
