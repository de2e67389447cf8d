//! Loads, stores and atomics of a warp, and their reports to the recorder.

#![allow(unsafe_code, reason = "accesses are made with a frame of the right size")]

use super::split::Split;
use super::{BlockClock, Context, Warp};
use crate::exec::access::{
    AccessFault, AccessReport, Listen, addresses, digests, generic_part, load_zeros, reported_space,
};
use crate::exec::lanes::Frame;
use crate::exec::watch::Watching;
use crate::observer::{Access, AccessKind, BadAccess, Recorder};
use crate::program::memory_op::{MemoryOp, Space};

/// Tells the recorder of a warp's accesses within one block.
pub(super) struct Teller<'a, R> {
    pub(super) recorder: &'a mut R,
    pub(super) frame: &'a Frame,
    pub(super) warp: u32,
    pub(super) clock: BlockClock,
}

impl<R> Teller<'_, R> {
    /// The event of an access.
    #[inline(always)]
    fn event<'e>(
        &self,
        op: &MemoryOp,
        space: Space,
        mask: u32,
        report: &'e AccessReport,
    ) -> Access<'e> {
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
        }
    }
}

impl<R: Recorder> Listen for Teller<'_, R> {
    // Once for each recorder, which is inlined.
    #[inline(never)]
    fn hear(&mut self, op: &MemoryOp, space: Space, mask: u32, report: &AccessReport) {
        if !op.counted {
            return;
        }
        if R::WANTS_VALUES && op.kind == AccessKind::Store {
            // SAFETY: the frame's invariants hold, and the operation belongs to its program.
            self.recorder.storing(&unsafe { digests(self.frame, op) });
        }
        let access = self.event(op, space, mask, report);
        self.recorder.access(&access);
    }
}

/// A [`Teller`] that tells the watcher too, if there is one. The lane loop uses it in watched
/// launches only: the others need not ask at each access whether they are watched.
pub(super) struct WatchedTeller<'a, R> {
    pub(super) watching: Option<Watching<'a>>,
    pub(super) teller: Teller<'a, R>,
}

impl<R: Recorder> Listen for WatchedTeller<'_, R> {
    fn hear(&mut self, op: &MemoryOp, space: Space, mask: u32, report: &AccessReport) {
        if let Some(watching) = &self.watching
            && op.counted
        {
            watching.hear(&self.teller.event(op, space, mask, report));
        }
        self.teller.hear(op, space, mask, report);
    }
}

impl Warp {
    /// Executes a load, store or atomic and tells the recorder.
    // Matrix instructions access memory too, but the loop over splits must not pay a call for that.
    #[expect(clippy::too_many_arguments, reason = "the parts of one split's state")]
    #[inline(always)]
    pub(in crate::exec) fn memory<R: Recorder>(
        &self,
        context: &Context<'_>,
        recorder: &mut R,
        frame: &Frame,
        memory_op: &MemoryOp,
        split: &Split,
        mask: u32,
        report: &mut AccessReport,
    ) -> Result<(), AccessFault> {
        let clock = self.block_clock(context.program, split);
        let teller = Teller { recorder, frame, warp: self.index, clock };
        let mut teller = WatchedTeller { watching: context.watching, teller };
        // SAFETY: the frame's invariants hold, and `mask` is not empty here or below.
        unsafe {
            let mut mask = mask;
            let space = loop {
                match (context.level.access)(frame, memory_op, &context.memories, mask, report) {
                    Ok(space) => break space,
                    // Nothing has been done for any lane yet.
                    Err(bad) => {
                        let recorder = &mut *teller.teller.recorder;
                        mask &= self.leave_out(context, recorder, frame, memory_op, bad)?;
                        if mask == 0 {
                            return Ok(());
                        }
                    }
                }
            };
            if let Some(space) = space {
                teller.hear(memory_op, space, mask, report);
                return Ok(());
            }
            // Lanes of one generic access go to several spaces.
            let generic = addresses(frame, memory_op);
            let mut rest = mask;
            while rest != 0 {
                let (space, mut lanes, addresses) = generic_part(&generic, rest);
                rest &= !lanes;
                report.addresses = addresses;
                let memories = &context.memories;
                while lanes != 0
                    && let Err(bad) = (context.level.access_space)(
                        frame, memory_op, space, memories, lanes, report,
                    )
                {
                    let recorder = &mut *teller.teller.recorder;
                    lanes &= self.leave_out(context, recorder, frame, memory_op, bad)?;
                }
                if lanes != 0 {
                    teller.hear(memory_op, space, lanes, report);
                }
            }
        }
        Ok(())
    }

    /// Handles a lane's bad access. Returns the fault or, where bad accesses are left out, the mask
    /// of all other lanes.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`]; `op` belongs to its program.
    #[cold]
    #[inline(never)]
    unsafe fn leave_out<R: Recorder>(
        &self,
        context: &Context<'_>,
        recorder: &mut R,
        frame: &Frame,
        op: &MemoryOp,
        bad: AccessFault,
    ) -> Result<u32, AccessFault> {
        if !context.skip_bad_accesses {
            return Err(bad);
        }
        let (warp, lane) = (self.index, bad.lane);
        let instruction = op.instruction;
        recorder.bad_access(&BadAccess { instruction, warp, lane, kind: &bad.kind });
        // SAFETY: Frame's invariants (lanes/mod.rs).
        unsafe { load_zeros(frame, op, 1 << lane) };
        Ok(!(1 << lane))
    }
}
