//! Writes to shared memory that move nothing, in programs that need other words of it.
//!
//! A [`Slice`](crate::Slice) may guess that no load that it needs finds what copies, matrix stores
//! and stores of products write. Behind the shared memory of each CTA then lies a byte for each 16
//! bytes of it, which such writes set. A needed load where one is set contradicts the guess. Stores
//! clear none, so that a guess may be given up that was right.

#![allow(unsafe_code, reason = "marks lie behind the shared memory that an address leads to")]

use super::AccessFault;
use super::memories::Memories;
use super::probe::writes;
use crate::fault::FaultKind;
use crate::program::Contents;
use crate::program::memory_op::{MemoryOp, Space, window};

/// Bytes of shared memory that have one mark: a row of a tile.
const MARKED_BYTES: u64 = 16;

/// The least multiple of 64 that is as large: where the marks begin.
const fn begin(shared_bytes: u64) -> u64 {
    shared_bytes.next_multiple_of(64)
}

/// Bytes of a CTA's shared memory with its marks, if the program has any.
pub(in crate::exec) fn with_marks(shared_bytes: u64, contents: Contents) -> u64 {
    match contents.apart {
        true => begin(shared_bytes) + shared_bytes.div_ceil(MARKED_BYTES),
        false => shared_bytes,
    }
}

/// Marks that lie behind the shared memory of a CTA.
///
/// # Invariants
///
/// They exist: each CTA of the launch has one for each 16 bytes. CTAs of a cluster take turns on
/// one thread, and nobody else uses them meanwhile.
struct Marks {
    first: *mut u8,
    count: usize,
}

impl Marks {
    fn set(&self) {
        // SAFETY: by the invariants.
        unsafe { std::ptr::write_bytes(self.first, 1, self.count) };
    }

    fn any(&self) -> bool {
        // SAFETY: by the invariants.
        (0..self.count).any(|at| unsafe { self.first.add(at).read() } != 0)
    }
}

impl Memories<'_> {
    /// The marks of `bytes` bytes at a shared address of the cluster. `None` if the program has
    /// none, or if the bytes lie outside.
    fn marks_of(&self, address: u64, bytes: u32) -> Option<Marks> {
        if !self.contents.apart || bytes == 0 {
            return None;
        }
        let offset = address % window::CTA_BYTES;
        let host = match address / window::CTA_BYTES == self.own_window / window::CTA_BYTES {
            true => self.shared,
            false => self.of_cluster(address).ok()??.host,
        };
        let last = offset.checked_add(u64::from(bytes) - 1)?;
        if last >= self.shared_bytes {
            return None;
        }
        let first = offset / MARKED_BYTES;
        let first_mark = host.wrapping_add((begin(self.shared_bytes) + first) as usize);
        Some(Marks { first: first_mark, count: (last / MARKED_BYTES - first + 1) as usize })
    }

    /// Returns true if an operation leaves out writes that must be marked in shared memory.
    #[inline(always)]
    pub(super) fn marks(&self, op: &MemoryOp) -> bool {
        self.contents.apart && !op.moves && writes(op) && op.space != Space::Global
    }

    /// A write of `bytes` bytes at a shared address has moved nothing.
    pub(in crate::exec) fn leave_out(&self, address: u64, bytes: u32) {
        if let Some(marks) = self.marks_of(address, bytes) {
            marks.set();
        }
    }

    /// Fails where a lane of `mask` needs what a write has left out.
    pub(in crate::exec) fn finds_all(
        &self,
        mask: u32,
        addresses: &[u64; 32],
        bytes: u32,
    ) -> Result<(), AccessFault> {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let address = addresses[lane as usize];
            if self.marks_of(address, bytes).is_some_and(|marks| marks.any()) {
                return Err(AccessFault { lane, kind: FaultKind::NotComputed { address } });
            }
        }
        Ok(())
    }
}
