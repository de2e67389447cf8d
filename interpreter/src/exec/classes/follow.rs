//! What a representative's warp does at a [`Code::Follow`].

use super::motion::Motion;
use super::upcoming::Upcoming;
use crate::exec::lanes::Frame;
use crate::exec::warp::{Context, Split, Warp};
use crate::program::asynchronous::CopyExtent;
use crate::program::follow::rule::Followed;
use crate::program::op::Code;

impl Warp {
    /// Notes how the result of the next operation moves with the CTA's place, and for which CTAs
    /// it has the same effect.
    #[cold]
    #[inline(never)]
    pub(in crate::exec) fn follow(&self, context: &Context<'_>, frame: &Frame, split: &Split) {
        let Some(place) = context.representative else { return };
        let Ok(mut place) = place.lock() else { return };
        let Some(representative) = place.as_mut() else { return };
        let program = context.program;
        let op = &program.ops[split.pc as usize + 1];
        let mask = frame.lanes_of(op, split.mask);
        if representative.region.is_single() || mask == 0 {
            return;
        }
        let upcoming = Upcoming { frame, op, warp: self.index as usize, mask };
        if let Some(followed) = Followed::of(op.code) {
            return representative.follow_rule(&upcoming, followed);
        }
        let device = context.memories.device;
        match op.code {
            Code::Memory | Code::Probe => {
                let access = &program.tables.memory_ops[op.a as usize];
                representative.follow_access(&upcoming, access, device);
            }
            Code::AsyncCopy => {
                let copy = &program.tables.async_copies[op.a as usize];
                for access in [&copy.source, &copy.destination] {
                    representative.follow_access(&upcoming, access, device);
                }
                if let CopyExtent::Bytes(row) = copy.extent {
                    representative.keep_row_still(&upcoming, row, false);
                }
            }
            Code::CopyLocal => representative.copy_held(&upcoming),
            Code::SaveRegisters | Code::RestoreRegisters => {
                let (list, depth) = (&program.saved[op.a as usize], split.stack.len());
                match op.code {
                    Code::SaveRegisters => representative.save_held(&upcoming, list, depth),
                    _ => representative.restore_held(&upcoming, list, depth),
                }
            }
            // What it computes with must be the same.
            _ => {
                let uses = program.rows_of(op).unwrap_or_default();
                let line = program.line(split.pc as usize);
                representative.keep_reads_still(&upcoming, &uses.reads, line);
                for row in uses.writes {
                    representative.set_motion(upcoming.warp, row, mask, &Motion::STILL);
                }
            }
        }
    }
}
