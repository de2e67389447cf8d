//! Reports of accesses to the recorder.

use super::tally::Telling;
use super::{AccessReport, LentPatterns, digests, reported_space};
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::exec::warp::BlockClock;
use crate::exec::watch::Watching;
use crate::observer::{Access, AccessKind, FurtherAccess, Recorder, Wants};
use crate::program::memory_op::{MemoryOp, Space};

/// Tells the recorder of a warp's accesses within one block, and the watcher if there is one.
///
/// # Invariants
///
/// The frame is that of the warp, and belongs to the program of the operations that are told of.
pub(in crate::exec) struct Teller<'a> {
    recorder: &'a mut dyn Recorder,
    wants: Wants,
    watching: Option<Watching<'a>>,
    frame: &'a Frame,
    warp: u32,
    pub(super) clock: BlockClock,
    hearing: Hearing,
}

/// How accesses are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Hearing {
    /// Nobody asks.
    Nothing,
    /// One by one.
    Each,
    /// Those that only count may be told together.
    Together,
}

impl Hearing {
    /// How an observer's recorders are told that wants these events, if a watcher listens too.
    pub(in crate::exec) fn of(wants: Wants, is_watched: bool) -> Self {
        match (wants.accesses, wants.values || is_watched) {
            (false, false) => Self::Nothing,
            (true, false) => Self::Together,
            (_, true) => Self::Each,
        }
    }
}

impl<'a> Teller<'a> {
    /// Tells of accesses of the warp whose frame it is, as soon as it knows the block.
    #[inline(always)]
    pub(in crate::exec) fn new(
        recorder: &'a mut dyn Recorder,
        (wants, hearing): (Wants, Hearing),
        watching: Option<Watching<'a>>,
        frame: &'a Frame,
        (warp, clock): (u32, BlockClock),
    ) -> Self {
        Self { recorder, wants, watching, frame, warp, clock, hearing }
    }

    /// The recorder that is told.
    pub(in crate::exec) fn recorder(&mut self) -> &mut dyn Recorder {
        self.recorder
    }

    /// How accesses are told.
    #[inline(always)]
    pub(super) fn hearing(&self) -> Hearing {
        self.hearing
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
        if !op.counted || self.hearing == Hearing::Nothing {
            return;
        }
        let access = self.access(op, space, mask, report);
        if let Some(watching) = &self.watching {
            watching.hear(&access);
        }
        if self.wants.values && op.kind == AccessKind::Store {
            self.recorder.storing(&digests(self.frame, op));
        }
        self.recorder.access(&access);
    }

    /// As [`Self::hear`], of all lanes' access of memory operation `index` with remembered
    /// distances, which its tally has not counted. Only where accesses may be told together.
    #[inline(never)]
    pub(super) fn hear_of_kind(
        &mut self,
        op: &MemoryOp,
        index: u32,
        patterns: &mut LentPatterns,
        report: &AccessReport,
    ) {
        let Some(distances) = report.distances else { return };
        let access = self.access(op, op.space, FULL_MASK, report);
        let first = report.addresses[0];
        let (tally, slots) = patterns.tally(index);
        let when = (first, access.time);
        match tally.decide(index, distances, when, slots, self.recorder) {
            Telling::AsFirst(slot) => {
                let needs = self.recorder.first_access(slot, &access);
                tally.answer(first, slot, needs);
            }
            Telling::OfAddress(slot) => self.tell_address(slot, first, access.time),
            Telling::Plainly => self.recorder.access(&access),
            Telling::Done => {}
        }
    }

    /// Tells of the address of an access that has been counted by the number `slot`.
    #[inline(always)]
    pub(super) fn tell_address(&mut self, slot: u32, first: u64, time: u64) {
        self.recorder.further_address(slot, FurtherAccess { warp: self.warp, time, first });
    }

    /// The event of an access.
    #[inline(always)]
    fn access<'r>(
        &self,
        op: &MemoryOp,
        space: Space,
        mask: u32,
        report: &'r AccessReport,
    ) -> Access<'r> {
        Access {
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
        }
    }
}
