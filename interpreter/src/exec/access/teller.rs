//! Reports of accesses to the recorder.

#![allow(unsafe_code, reason = "digests are made with a frame of the right size")]

use super::{AccessReport, digests, reported_space};
use crate::exec::lanes::Frame;
use crate::exec::warp::BlockClock;
use crate::exec::watch::Watching;
use crate::observer::{Access, AccessKind, Recorder, Wants};
use crate::program::memory_op::{MemoryOp, Space};

/// Tells the recorder of a warp's accesses within one block, and the watcher if there is one.
///
/// # Invariants
///
/// The frame is that of the warp, and belongs to the program of the operations that are told of.
pub(in crate::exec) struct Teller<'a> {
    pub(in crate::exec) recorder: &'a mut dyn Recorder,
    pub(in crate::exec) wants: Wants,
    pub(in crate::exec) watching: Option<Watching<'a>>,
    pub(in crate::exec) frame: &'a Frame,
    pub(in crate::exec) warp: u32,
    pub(in crate::exec) clock: BlockClock,
}

impl Teller<'_> {
    /// Returns true if anybody is told of accesses.
    #[inline(always)]
    pub(super) fn is_heard(&self) -> bool {
        self.wants.accesses || self.watching.is_some()
    }

    /// The lanes of `mask` have executed `op`, which went to `space`.
    // The lane loop has it three times, one for each CPU level; the call costs less than that.
    #[inline(never)]
    pub(in crate::exec) fn hear(
        &mut self,
        op: &MemoryOp,
        space: Space,
        mask: u32,
        report: &AccessReport,
    ) {
        if !op.counted || !self.is_heard() {
            return;
        }
        let access = Access {
            instruction: op.instruction,
            warp: self.warp,
            time: self.clock.at(op.instruction),
            space: reported_space(space),
            kind: op.kind,
            bytes_per_lane: op.bytes_per_lane(),
            mask,
            pattern: report.pattern,
            addresses: &report.addresses,
            continues: false,
            distances: report.distances,
        };
        if let Some(watching) = &self.watching {
            watching.hear(&access);
        }
        if self.wants.values && op.kind == AccessKind::Store {
            // SAFETY: the frame's invariants hold, and the operation belongs to its program.
            self.recorder.storing(&unsafe { digests(self.frame, op) });
        }
        self.recorder.access(&access);
    }
}
