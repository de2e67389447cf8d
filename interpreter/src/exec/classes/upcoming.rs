//! Operations that are about to be executed.

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
        match (wide, signed) {
            (false, false) => self.frame.lanes::<u32>(row).map(i128::from),
            (false, true) => self.frame.lanes::<u32>(row).map(|value| i128::from(value as i32)),
            (true, false) => self.frame.lanes::<u64>(row).map(i128::from),
            (true, true) => self.frame.lanes::<u64>(row).map(|value| i128::from(value as i64)),
        }
    }

    /// The lanes in which the predicate of a selection is true.
    pub(super) fn selected(&self) -> u32 {
        self.frame.lanes_where(self.op.c) ^ u32::from(self.op.n).wrapping_neg()
    }
}
