//! Barriers of the CTA and of lanes: `bar`, `bar.warp.sync`, and instructions that exchange values.

use super::split::{Next, Split, Wait, lanes_with};
use super::{Context, Warp, WarpFault};
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::fault::FaultKind;
use crate::observer::{Arrival, Recorder, ShuffleUse, WarpArrival, WarpRelease};
use crate::program::Program;
use crate::program::op::{ALIGNED, MEMBERS, Op, SHUFFLE_MODE, SHUFFLES, barrier};
use crate::semantics::shuffle;

impl Warp {
    /// `bar.sync`, `bar.red` and `bar.arrive`: one arrival for each barrier that lanes name.
    // Kept out of the loop over splits, which runs faster the smaller it is.
    #[inline(never)]
    pub(super) fn barrier(
        &mut self,
        program: &Program,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &mut Split,
    ) -> Result<Next, WarpFault> {
        let (mask, ids) = (frame.count_lanes_of(op, split.mask), frame.lanes::<u32>(op.a));
        let arrives = op.n & barrier::KIND == barrier::ARRIVE;
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let id = ids[lane as usize & 31];
            if id as usize >= self.arrived.len() {
                let kind = FaultKind::BadBarrier { barrier: id };
                return Err(WarpFault { pc: split.pc, lane: Some(lane), kind });
            }
            let is_same = op.n & barrier::LITERAL != 0
                || ids.iter().fold(0, |all, other| all | other ^ id) == 0;
            let lanes = match is_same {
                true => rest,
                false => lanes_with(rest, |lane| ids[lane] == id),
            };
            let arrival = Arrival {
                instruction: program.op_instruction[split.pc as usize],
                warp: self.index,
                barrier: id,
                mask: lanes,
                waits: !arrives,
                threads: None,
            };
            if op.n & barrier::COUNTED == 0 {
                recorder.arrive(&arrival);
            } else {
                let counts = frame.lanes::<u32>(op.b);
                for_each_group(lanes, &counts, |mask, count| {
                    recorder.arrive(&Arrival { mask, threads: Some(count), ..arrival });
                });
            }
            if arrives {
                self.arrive(id, lanes);
            } else {
                // The CTA reads count and operation from the operation itself.
                let wait = Wait::Barrier { id };
                if lanes == split.mask {
                    // All wait, and nothing is left of the split itself.
                    split.wait = wait;
                    self.splits.push(std::mem::take(split));
                    return Ok(Next::Other);
                }
                self.splits.push(split.part(lanes, wait));
            }
            rest &= !lanes;
        }
        if arrives || mask == 0 {
            return Ok(Next::Operation);
        }
        split.mask &= !mask;
        if split.mask != 0 {
            split.pc += 1;
            self.splits.push(split.clone());
        }
        Ok(Next::Other)
    }

    /// The lanes of an instruction that needs others to come to it too.
    #[inline(always)]
    pub(super) fn warp_sync(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &mut Split,
    ) -> Result<Next, WarpFault> {
        let (mask, members) = (frame.count_lanes_of(op, split.mask), frame.lanes::<u32>(op.a));
        if op.n & ALIGNED != 0 && mask != 0 && mask != split.mask {
            let kind = FaultKind::PartialWarp { lanes: mask };
            return Err(WarpFault { pc: split.pc, lane: None, kind });
        }
        let exchange = op.n & MEMBERS != 0;
        let instruction = context.program.op_instruction[split.pc as usize];
        if context.wants.values && op.n & SHUFFLES != 0 && mask != 0 {
            let (b, c) = (frame.lanes::<u32>(op.b), frame.lanes::<u32>(op.c));
            let mode = op.n & SHUFFLE_MODE;
            let source = |at: usize| shuffle::source_lane(mode, at as u32, b[at], c[at]).0;
            recorder.shuffle(&ShuffleUse {
                instruction,
                warp: self.index,
                mask,
                members: exchange.then_some(&members),
                sources: &std::array::from_fn(source),
            });
        }
        if op.n & (SHUFFLES | MEMBERS) == SHUFFLES {
            return Ok(Next::Operation);
        }
        if mask != 0 {
            let warp = self.index;
            recorder.warp_arrive(&WarpArrival { instruction, warp, mask, members: &members });
        }
        let mut together = mask;
        let mut next = Next::Operation;
        if mask != FULL_MASK {
            (together, next) = self.wait_for_members(split, mask, &members, exchange);
        }
        if !exchange {
            release_groups(recorder, self.index, together, &members);
        }
        Ok(next)
    }

    /// Makes the lanes of `mask` wait behind the operation whose fellow members have not all come
    /// with them. Returns the lanes of `mask` that need not wait, and the next step of `split`.
    fn wait_for_members(
        &mut self,
        split: &mut Split,
        mask: u32,
        members: &[u32; 32],
        exchange: bool,
    ) -> (u32, Next) {
        let mut waiting = lanes_with(mask, |lane| members[lane] & self.live & !mask != 0);
        let together = mask & !waiting;
        if waiting == 0 {
            return (together, Next::Operation);
        }
        split.pc += 1;
        split.mask &= !waiting;
        while waiting != 0 {
            let members_of_first = members[waiting.trailing_zeros() as usize & 31];
            let group = lanes_with(waiting, |lane| members[lane] == members_of_first);
            let wait = Wait::Lanes { members: members_of_first, exchange };
            self.splits.push(split.part(group, wait));
            waiting &= !group;
        }
        if split.mask != 0 {
            self.splits.push(split.clone());
        }
        (together, Next::Other)
    }

    /// `bar.arrive`: count the lanes of `mask` at barrier `id` without making them wait.
    fn arrive(&mut self, id: u32, mask: u32) {
        let threads = self.counted_as(mask);
        if let Some(arrived) = self.arrived.get_mut(id as usize) {
            *arrived = arrived.saturating_add(threads);
        }
    }

    /// Returns the number of threads for which the lanes of `mask` count at a barrier with a thread
    /// count. The count is in whole warps, so a warp that is not full, or that has lost lanes,
    /// counts as one.
    pub(in crate::exec) fn counted_as(&self, mask: u32) -> u32 {
        if mask == self.live { 32 } else { mask.count_ones() }
    }

    /// Lanes that wait at barrier `id`.
    pub(in crate::exec) fn waiting_at(&self, id: u32) -> u32 {
        let at_barrier = |split: &&Split| split.wait == Wait::Barrier { id };
        self.splits.iter().filter(at_barrier).fold(0, |lanes, split| lanes | split.mask)
    }
}

/// Tells the recorder of the lanes of `lanes` that met at `bar.warp.sync`: those with the same
/// members.
#[inline]
fn release_groups(recorder: &mut dyn Recorder, warp: u32, lanes: u32, members: &[u32; 32]) {
    for_each_group(lanes, members, |lanes, _| recorder.warp_release(&WarpRelease { warp, lanes }));
}

/// Calls `f` with each group of the lanes of `lanes` that have the same value, and the value.
#[inline]
fn for_each_group(lanes: u32, values: &[u32; 32], mut f: impl FnMut(u32, u32)) {
    let mut rest = lanes;
    while rest != 0 {
        let first = values[rest.trailing_zeros() as usize & 31];
        let group = lanes_with(rest, |lane| values[lane] == first);
        f(group, first);
        rest &= !group;
    }
}
