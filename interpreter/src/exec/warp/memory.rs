//! Loads, stores and atomics of a warp, and their reports to the recorder.

#![allow(unsafe_code, reason = "accesses are made with a frame of the right size")]

use super::split::Split;
use super::{BlockClock, Context, Warp};
use crate::exec::access::{AccessFault, AccessReport, Teller, addresses, generic_part, load_zeros};
use crate::exec::lanes::Frame;
use crate::observer::{BadAccess, Recorder};
use crate::program::memory_op::MemoryOp;

impl Warp {
    /// Tells the recorder, and the watcher if there is one, of accesses within one block.
    #[inline(always)]
    pub(super) fn teller<'a>(
        &self,
        context: &Context<'a>,
        recorder: &'a mut dyn Recorder,
        frame: &'a Frame,
        clock: BlockClock,
    ) -> Teller<'a> {
        let wanted = (context.wants, context.hearing);
        Teller::new(recorder, wanted, context.watching, frame, (self.index, clock))
    }

    /// Executes a load, store or atomic and tells the recorder.
    // Matrix instructions access memory too, but the loop over splits must not pay a call for that.
    #[expect(clippy::too_many_arguments, reason = "the parts of one split's state")]
    #[inline(always)]
    pub(in crate::exec) fn memory(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        memory_op: &MemoryOp,
        split: &Split,
        mask: u32,
        report: &mut AccessReport,
    ) -> Result<(), AccessFault> {
        let clock = self.block_clock(context.program, split);
        let mut teller = self.teller(context, recorder, frame, clock);
        // SAFETY: the frame's invariants hold, the level is one of this CPU, and `mask` is not
        // empty here or below.
        unsafe {
            let mut mask = mask;
            let space = loop {
                match (context.level.access)(frame, memory_op, &context.memories, mask, report) {
                    Ok(space) => break space,
                    // Nothing has been done for any lane yet.
                    Err(bad) => {
                        let recorder = teller.recorder();
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
                    let recorder = teller.recorder();
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
    #[cold]
    #[inline(never)]
    fn leave_out(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
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
        load_zeros(frame, op, 1 << lane);
        Ok(!(1 << lane))
    }
}
