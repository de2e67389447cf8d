//! Values that move and lie elsewhere than in registers: in the threads' own memory, where
//! compilers put arguments of functions and registers that they spill, and in registers that are
//! saved around calls.
//!
//! Of each lane's memory the values that move are known, each with its place. What a store covers
//! is forgotten. An access to a part of such a value keeps the CTAs in which the value is the same.

use super::held_values::{Held, MOST_BYTES};
use super::motion::Motion;
use super::representative::Representative;
use super::upcoming::Upcoming;
use crate::program::memory_op::MemoryOp;
use crate::program::op::copy_local;
use crate::program::registers::SavedRegisters;

/// The lanes of an access to their own memory, and the offset of each there.
#[derive(Clone, Copy)]
pub(super) struct OwnMemory<'a> {
    pub(super) lanes: u32,
    pub(super) offsets: &'a [u64; 32],
}

impl OwnMemory<'_> {
    fn each(&self) -> impl Iterator<Item = (usize, u64)> + use<> {
        let Self { lanes, offsets } = *self;
        let offsets = *offsets;
        (0..32).filter(move |lane| lanes >> lane & 1 != 0).map(move |lane| (lane, offsets[lane]))
    }
}

/// Changes of lanes that are about to be kept from changing.
struct Kept {
    motion: Motion,
    lanes: u32,
}

impl Kept {
    const NONE: Self = Self { motion: Motion::STILL, lanes: 0 };
}

/// True if elements are registers as they are.
fn is_plain(access: &MemoryOp) -> bool {
    u64::from(access.element_bytes) == if access.wide_registers { MOST_BYTES } else { 4 }
}

impl Representative {
    /// Keeps the CTAs in which a value is the same. Several of one lane are kept one after the
    /// other.
    fn keep_held(&mut self, kept: &mut Kept, lane: usize, held: Held) {
        if kept.lanes >> lane & 1 != 0 {
            self.keep_all(kept);
        }
        kept.lanes |= 1 << lane;
        for (by, own) in kept.motion.by.iter_mut().zip(held.by) {
            by[lane] = own;
        }
    }

    fn keep_all(&mut self, kept: &mut Kept) {
        let Kept { motion, lanes } = std::mem::replace(kept, Kept::NONE);
        self.region.keep_still(&motion, lanes);
    }

    /// Forgets what lies between `from` and `end` of a lane's memory. What is covered in part only
    /// must be the same in all CTAs.
    fn forget(&mut self, kept: &mut Kept, warp: usize, lane: usize, from: u64, end: u64) {
        let those: Vec<(u64, Held)> = self.held[warp].between(lane, from, end).collect();
        for (at, held) in those {
            if at < from || at + held.bytes > end {
                self.keep_held(kept, lane, held);
            }
            self.held[warp].memory[lane].remove(&at);
        }
    }

    /// Notes what a store leaves in the lanes' own memory.
    pub(super) fn store_held(
        &mut self,
        upcoming: &Upcoming<'_>,
        access: &MemoryOp,
        own: OwnMemory<'_>,
    ) {
        let (warp, bytes) = (upcoming.warp, u64::from(access.element_bytes));
        let mut kept = Kept::NONE;
        for (element, row) in access.rows[..usize::from(access.elements)].iter().enumerate() {
            let wide = access.wide_registers;
            let mut motion = row.map_or(Motion::STILL, |row| self.motion(warp, row, wide));
            if !is_plain(access) {
                self.region.keep_still(&motion, own.lanes);
                motion = Motion::STILL;
            }
            for (lane, offset) in own.each() {
                let from = offset + element as u64 * bytes;
                self.forget(&mut kept, warp, lane, from, from + bytes);
                let by = motion.of_lane(lane);
                if by != [0; 3] {
                    self.held[warp].memory[lane].insert(from, Held { bytes, by });
                }
            }
        }
        self.keep_all(&mut kept);
    }

    /// Notes how the registers move that a load takes from the lanes' own memory.
    pub(super) fn load_held(
        &mut self,
        upcoming: &Upcoming<'_>,
        access: &MemoryOp,
        own: OwnMemory<'_>,
    ) {
        let (warp, bytes) = (upcoming.warp, u64::from(access.element_bytes));
        for (element, row) in access.rows[..usize::from(access.elements)].iter().enumerate() {
            let Some(row) = *row else { continue };
            let (mut motion, mut kept) = (Motion::STILL, Kept::NONE);
            for (lane, offset) in own.each() {
                let from = offset + element as u64 * bytes;
                let those: Vec<(u64, Held)> =
                    self.held[warp].between(lane, from, from + bytes).collect();
                match those[..] {
                    [(at, held)] if at == from && held.bytes == bytes && is_plain(access) => {
                        for (by, own) in motion.by.iter_mut().zip(held.by) {
                            by[lane] = own;
                        }
                    }
                    _ => those.iter().for_each(|(_, held)| self.keep_held(&mut kept, lane, *held)),
                }
            }
            self.keep_all(&mut kept);
            let motion = self.region.within(&motion);
            self.set_motion(warp, row, own.lanes, &motion);
        }
    }

    /// Keeps the CTAs in which what an access finds in the lanes' own memory is the same.
    pub(super) fn keep_held_still(
        &mut self,
        upcoming: &Upcoming<'_>,
        access: &MemoryOp,
        own: OwnMemory<'_>,
    ) {
        let mut kept = Kept::NONE;
        for (lane, offset) in own.each() {
            let end = offset + u64::from(access.bytes_per_lane());
            let those: Vec<(u64, Held)> =
                self.held[upcoming.warp].between(lane, offset, end).collect();
            those.iter().for_each(|(_, held)| self.keep_held(&mut kept, lane, *held));
        }
        self.keep_all(&mut kept);
    }

    /// Follows a copy of bytes within the lanes' own memory.
    pub(super) fn copy_held(&mut self, upcoming: &Upcoming<'_>) {
        let (op, warp) = (upcoming.op, upcoming.warp);
        let frames = match op.n {
            0 => [0; 32],
            _ => upcoming.frame.lanes::<u32>(op.dst),
        };
        let bytes = u64::from(op.c);
        let mut kept = Kept::NONE;
        for lane in (0..32).filter(|lane| upcoming.mask >> lane & 1 != 0) {
            let frame = |flag| if op.n & flag != 0 { u64::from(frames[lane]) } else { 0 };
            let from = frame(copy_local::FROM_FRAME) + u64::from(op.a);
            let to = frame(copy_local::TO_FRAME) + u64::from(op.b);
            let those: Vec<(u64, Held)> =
                self.held[warp].between(lane, from, from + bytes).collect();
            let (whole, parts): (Vec<_>, Vec<_>) = those
                .into_iter()
                .partition(|(at, held)| *at >= from && at + held.bytes <= from + bytes);
            parts.iter().for_each(|(_, held)| self.keep_held(&mut kept, lane, *held));
            self.forget(&mut kept, warp, lane, to, to + bytes);
            let moved = whole.into_iter().map(|(at, held)| (at - from + to, held));
            self.held[warp].memory[lane].extend(moved);
        }
        self.keep_all(&mut kept);
    }

    /// Notes how registers move that are saved at a depth of calls.
    pub(super) fn save_held(
        &mut self,
        upcoming: &Upcoming<'_>,
        list: &SavedRegisters,
        depth: usize,
    ) {
        for row in &list.rows {
            if !self.is_followed(row.first) {
                continue;
            }
            let motion = self.motion(upcoming.warp, row.first, row.rows > 1);
            let saved = &mut self.held[upcoming.warp].saved;
            let saved = saved.entry((depth, row.first)).or_insert(Motion::STILL);
            saved.take_lanes(&motion, upcoming.mask);
        }
    }

    /// Undoes [`Self::save_held`].
    pub(super) fn restore_held(
        &mut self,
        upcoming: &Upcoming<'_>,
        list: &SavedRegisters,
        depth: usize,
    ) {
        for row in &list.rows {
            if !self.is_followed(row.first) {
                continue;
            }
            let saved = &self.held[upcoming.warp].saved;
            let motion = saved.get(&(depth, row.first)).copied().unwrap_or(Motion::STILL);
            let motion = self.region.within(&motion);
            self.set_motion(upcoming.warp, row.first, upcoming.mask, &motion);
        }
    }
}
