//! Accesses of CTAs that a representative stands for: the same lanes, each moved by whole granules
//! within the same buffer.

use super::held::OwnMemory;
use super::motion::Motion;
use super::region::Values;
use super::representative::{GRANULE_BYTES, Representative};
use super::upcoming::Upcoming;
use crate::access_kind::AccessKind;
use crate::exec::access::{checked_addresses, window_of};
use crate::memory::DeviceMemory;
use crate::program::memory_op::{MemoryOp, Space, window};

impl Representative {
    /// Keeps CTAs in which an access counts as the representative's does.
    pub(super) fn follow_access(
        &mut self,
        upcoming: &Upcoming<'_>,
        access: &MemoryOp,
        device: &DeviceMemory,
    ) {
        let mask = upcoming.mask;
        let addresses = checked_addresses(upcoming.frame, access);
        let global = match access.space {
            Space::Global => mask,
            Space::Generic => {
                let is_global =
                    |lane: &u32| window_of(addresses[*lane as usize]).0 == Space::Global;
                mask & (0..32).filter(is_global).fold(0, |lanes, lane| lanes | 1 << lane)
            }
            _ => 0,
        };
        let reads = matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
        if access.moves && !reads && global != 0 {
            return self.refuse("it writes contents of a buffer that counts depend on".to_owned());
        }
        // Needed contents must be the same, and so must the place in memories of a CTA's own.
        let stays = if access.moves { mask } else { mask & !global };
        self.region.keep_still(&self.base_motion(upcoming, access), stays);
        self.keep_global(upcoming, access, &addresses, global, device);
        if access.moves {
            self.follow_values(upcoming, access, &addresses);
        }
    }

    fn base_motion(&self, upcoming: &Upcoming<'_>, access: &MemoryOp) -> Motion {
        let motion = |row| self.motion(upcoming.warp, row, access.wide_base);
        access.base.map_or(Motion::STILL, motion)
    }

    /// Keeps CTAs in which `lanes` keep their pattern and stay in their buffers.
    fn keep_global(
        &mut self,
        upcoming: &Upcoming<'_>,
        access: &MemoryOp,
        addresses: &[u64; 32],
        lanes: u32,
        device: &DeviceMemory,
    ) {
        let motion = self.base_motion(upcoming, access);
        if motion.is_still(lanes) {
            return;
        }
        self.region.keep_together(&motion, lanes);
        let motion = loop {
            let motion = self.base_motion(upcoming, access);
            if !self.keep_congruent(&motion, lanes, |_| GRANULE_BYTES) {
                break self.region.within(&motion);
            }
        };
        let at = addresses.map(i128::from);
        let bytes = u64::from(access.bytes_per_lane());
        // Buffers lie below the end of all addresses, so nothing wraps around within one.
        self.region.keep_each_between(Values { mask: lanes, at: &at, by: &motion }, |lane| {
            match device.find(addresses[lane]) {
                Some(buffer) => {
                    let end = i128::from(buffer.address) + i128::from(buffer.bytes);
                    (i128::from(buffer.address), end - i128::from(bytes))
                }
                // The access is about to fail.
                None => (0, -1),
            }
        });
    }

    /// Values in the CTA's shared memory are the same in all CTAs of a class. Those in the threads'
    /// own may move.
    fn follow_values(&mut self, upcoming: &Upcoming<'_>, access: &MemoryOp, addresses: &[u64; 32]) {
        let mut offsets = *addresses;
        let lanes = match access.space {
            Space::Local => upcoming.mask,
            Space::Generic => {
                let is_own = |lane: &u32| window_of(addresses[*lane as usize]).0 == Space::Local;
                offsets.iter_mut().for_each(|at| *at = at.wrapping_sub(window::LOCAL));
                upcoming.mask & (0..32).filter(is_own).fold(0, |lanes, lane| lanes | 1 << lane)
            }
            _ => 0,
        };
        let own = OwnMemory { lanes, offsets: &offsets };
        let others = upcoming.mask & !lanes;
        let rows = access.rows.iter().copied().flatten();
        let wide = access.wide_registers;
        match (&access.atomic, access.kind) {
            (Some(atomic), _) => {
                self.keep_held_still(upcoming, access, own);
                let operands = atomic.operands.iter().take(usize::from(access.elements)).copied();
                for row in operands.chain(atomic.compare) {
                    self.keep_row_still(upcoming, row, wide);
                }
                for row in atomic.destinations.iter().copied().flatten() {
                    self.set_motion(upcoming.warp, row, upcoming.mask, &Motion::STILL);
                }
            }
            (None, AccessKind::Load | AccessKind::LoadReadOnly) => {
                for row in rows {
                    self.set_motion(upcoming.warp, row, others, &Motion::STILL);
                }
                self.load_held(upcoming, access, own);
            }
            (None, AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction) => {
                for row in rows {
                    let motion = self.motion(upcoming.warp, row, wide);
                    self.region.keep_still(&motion, others);
                }
                self.store_held(upcoming, access, own);
            }
        }
    }
}
