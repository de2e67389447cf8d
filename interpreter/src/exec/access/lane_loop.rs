//! Accesses that the lane loop makes itself: leaving and entering it again costs more than most of
//! them do.
//!
//! The loop calls the recorder through a function pointer. Otherwise it would be compiled once for
//! each level and type of recorder.

#![allow(unsafe_code, reason = "operations are read without a check of their index")]

use super::probe::probe_simple;
use super::runs::access_remembered;
use super::simple::access_simple;
use super::tally::Counted;
use super::teller::Hearing;
use super::{AccessReport, LentPatterns, Memories, Teller};
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::exec::warp::BlockClock;
use crate::observer::{Pattern, Recorder};
use crate::program::memory_op::{MemoryOp, SameBase};
use crate::program::op::Op;

/// Values of base registers that are known to match at the same time.
const MATCHED: usize = 8;

/// The parts of a warp and its launch that the lane loop needs for accesses.
///
/// # Invariants
///
/// `ops` are the memory operations of the program that the loop runs. [`LoopAccesses::enter`] is
/// called whenever the loop is entered.
pub(in crate::exec) struct LoopAccesses<'a> {
    ops: *const MemoryOp,
    memories: &'a Memories<'a>,
    report: &'a mut AccessReport,
    patterns: LentPatterns,
    teller: Teller<'a>,
    /// Values of base registers ([`SameBase::value`]) whose distances match those that are
    /// remembered, each at the place of its number.
    matched: [u32; MATCHED],
}

impl<'a> LoopAccesses<'a> {
    /// Accesses by `ops`, which are the memory operations of the program that the loop runs.
    #[inline(always)]
    pub(in crate::exec) fn new(
        ops: &'a [MemoryOp],
        memories: &'a Memories<'a>,
        report: &'a mut AccessReport,
        patterns: LentPatterns,
        teller: Teller<'a>,
    ) -> Self {
        let matched = [u32::MAX; MATCHED];
        Self { ops: ops.as_ptr(), memories, report, patterns, teller, matched }
    }

    /// The loop is about to be entered, in a block with this clock.
    #[inline(always)]
    pub(in crate::exec) fn enter(&mut self, clock: BlockClock) {
        self.teller.clock = clock;
        self.matched = [u32::MAX; MATCHED];
    }

    /// The recorder that is told.
    #[inline(always)]
    pub(in crate::exec) fn recorder(&mut self) -> &mut dyn Recorder {
        self.teller.recorder()
    }

    /// The recorder, and the room for a report.
    #[inline(always)]
    pub(in crate::exec) fn outside(&mut self) -> (&mut dyn Recorder, &mut AccessReport) {
        (self.teller.recorder(), self.report)
    }

    /// Executes a memory operation with those lanes of `mask` whose guard holds, and tells the
    /// recorder. Returns `None` if it is not all lanes' access with distances that are remembered;
    /// then nothing has been done or counted, and [`Self::access_otherwise`] goes on.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`] and of this, and `op` is a memory operation of their program.
    #[inline(always)]
    pub(in crate::exec) unsafe fn access(
        &mut self,
        frame: &Frame,
        op: &Op,
        mask: u32,
    ) -> Option<()> {
        // SAFETY: memory operations name one of the program's.
        unsafe {
            let memory_op = &*self.ops.add(op.a as usize);
            let lanes = frame.guarded(op, mask);
            if lanes != FULL_MASK || !memory_op.is_simple() {
                return None;
            }
            let first = self.recall(frame, memory_op)?;
            let place = self.patterns.remembered(memory_op.same_base.shape);
            if !access_remembered(frame, memory_op, self.memories, place, first) {
                return None;
            }
            frame.count(op, lanes);
            self.tell_remembered(memory_op, op.a, first);
            Some(())
        }
    }

    /// [`Self::access`] of any other kind. Returns `false` if it is not simple or there is
    /// something wrong with it; then nothing has been done or counted.
    ///
    /// # Safety
    ///
    /// As [`Self::access`].
    #[inline(always)]
    pub(in crate::exec) unsafe fn access_otherwise(
        &mut self,
        frame: &Frame,
        op: &Op,
        mask: u32,
    ) -> bool {
        // SAFETY: memory operations name one of the program's.
        unsafe {
            let memory_op = &*self.ops.add(op.a as usize);
            let lanes = frame.guarded(op, mask);
            if lanes == 0 {
                return true;
            }
            if !memory_op.is_simple()
                || !access_simple(frame, memory_op, self.memories, lanes, self.report)
            {
                return false;
            }
            frame.count(op, lanes);
            self.tell(memory_op, lanes);
            true
        }
    }

    /// As [`Self::access`] or else [`Self::access_otherwise`], of an operation that moves nothing.
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
            let first = match lanes {
                FULL_MASK => self.recall(frame, memory_op),
                _ => None,
            };
            let place = self.patterns.remembered(memory_op.same_base.shape);
            if let Some(first) = first
                && let Some(extent) = self.memories.untouched(memory_op, first)
                && place.fits(memory_op, &extent, first)
            {
                frame.count(op, lanes);
                self.tell_remembered(memory_op, op.a, first);
                return true;
            }
            if !probe_simple(frame, memory_op, self.memories, lanes, self.report) {
                return false;
            }
            frame.count(op, lanes);
            self.tell(memory_op, lanes);
            true
        }
    }

    /// The address of the first lane, if the lanes' bases are as far from each other as those of
    /// the operation's shape were the last time.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`]; `op` belongs to its program.
    #[inline(always)]
    unsafe fn recall(&mut self, frame: &Frame, op: &MemoryOp) -> Option<u64> {
        let SameBase { shape, value } = op.same_base;
        let place = self.patterns.remembered(shape);
        if !place.is_of(shape) {
            return None;
        }
        let matched = &mut self.matched[value as usize % MATCHED];
        // SAFETY: distances of the shape are remembered; the base is a row of the width that the
        // operation says.
        unsafe {
            if *matched != value {
                if !place.matches(frame, op) {
                    return None;
                }
                place.confirm();
                *matched = value;
            }
            Some(match op.base {
                None => op.offset,
                Some(row) if op.wide_base => frame.row::<u64>(row)[0].wrapping_add(op.offset),
                Some(row) => u64::from(frame.row::<u32>(row)[0].wrapping_add(op.offset as u32)),
            })
        }
    }

    /// Tells of an access of memory operation `index` whose distances are remembered.
    #[inline(always)]
    fn tell_remembered(&mut self, op: &MemoryOp, index: u32, first: u64) {
        let hearing = self.teller.hearing();
        if hearing == Hearing::Nothing {
            return;
        }
        let id = self.patterns.remembered(op.same_base.shape).id();
        let time = self.teller.clock.at(op.instruction);
        let (tally, _) = self.patterns.tally(index);
        let counted = match hearing {
            Hearing::Together => tally.count(index, id, first, time),
            Hearing::Nothing | Hearing::Each => Counted::No,
        };
        match counted {
            Counted::Yes => {}
            Counted::WithAddress(slot) => self.teller.tell_address(slot, first, time),
            Counted::No => self.tell_of_kind(op, index, first),
        }
    }

    /// Tells of an access of memory operation `index` that its tally has not counted.
    #[inline(never)]
    fn tell_of_kind(&mut self, op: &MemoryOp, index: u32, first: u64) {
        let place = self.patterns.remembered(op.same_base.shape);
        self.report.pattern = place.pattern();
        self.report.distances = Some(place.id());
        // Of a regular pattern only the first one counts.
        match place.pattern() {
            Pattern::General => place.addresses(first, &mut self.report.addresses),
            Pattern::Uniform | Pattern::Consecutive => self.report.addresses[0] = first,
        }
        match self.teller.hearing() {
            Hearing::Together => {
                self.teller.hear_of_kind(op, index, &mut self.patterns, self.report);
            }
            Hearing::Nothing | Hearing::Each => {
                self.teller.hear(op, op.space, FULL_MASK, self.report);
            }
        }
    }

    /// Tells of any other access, and remembers its distances if it pays.
    #[inline(always)]
    fn tell(&mut self, op: &MemoryOp, lanes: u32) {
        if lanes == FULL_MASK {
            let place = self.patterns.remembered(op.same_base.shape);
            place.learn(op, self.report.pattern, &self.report.addresses);
        }
        self.teller.hear(op, op.space, lanes, self.report);
    }
}
