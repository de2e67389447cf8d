//! Shared memory: a CTA's own, and that of the other CTAs of its cluster.
//!
//! Loads and stores have their access in [`super::access`]. Here are the accesses of asynchronous
//! instructions, and the long way to another CTA.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use super::access::{AccessFault, Memories, Segment, window_of};
use super::ending::{Endings, SharedPlace};
use super::tensor_memory::{SharedTensorMemory, TensorMemory};
use crate::fault::FaultKind;
use crate::launch::MAX_CLUSTER_CTAS;
use crate::program::memory_op::{Space, window};

/// The shared memories of a cluster's CTAs, each of as many bytes as the CTA's own; none for CTAs
/// that have exited.
#[derive(Debug, Default)]
pub(crate) struct ClusterShared {
    memories: [Option<NonNull<u8>>; MAX_CLUSTER_CTAS],
    /// Their tensor memories, if the program uses any.
    tensor_memories: [Option<SharedTensorMemory>; MAX_CLUSTER_CTAS],
    ctas: usize,
    /// The asynchronous operations that have not ended.
    pub(super) endings: RefCell<Endings>,
}

impl ClusterShared {
    /// That of a cluster without CTAs yet.
    pub(super) fn new(endings: Endings) -> Self {
        Self { endings: RefCell::new(endings), ..Self::default() }
    }

    /// The asynchronous operations that have not ended.
    pub(super) fn into_endings(self) -> Endings {
        self.endings.into_inner()
    }

    /// The memory of the CTA with `rank`, unless it has exited.
    pub(super) fn memory(&self, rank: u32) -> Option<*mut u8> {
        self.memories.get(rank as usize)?.map(NonNull::as_ptr)
    }

    /// The memory of the CTA with `rank`; null when it has exited.
    pub(crate) fn set(&mut self, rank: usize, memory: *mut u8) {
        self.memories[rank] = NonNull::new(memory);
        self.ctas = self.ctas.max(rank + 1);
    }

    /// Sets the tensor memory of the CTA with `rank`; none when it has exited.
    pub(super) fn set_tensor_memory(&mut self, rank: usize, memory: Option<&SharedTensorMemory>) {
        self.tensor_memories[rank] = memory.map(Arc::clone);
    }

    /// The tensor memory of the CTA with `rank`.
    pub(super) fn tensor_memory(&self, rank: u32) -> Option<&Mutex<TensorMemory>> {
        self.tensor_memories.get(rank as usize)?.as_deref()
    }
}

impl Memories<'_> {
    /// The shared memory of the cluster's other CTA that holds `address`.
    pub(super) fn of_cluster(&self, address: u64) -> Result<Option<Segment>, FaultKind> {
        let rank = (address / window::CTA_BYTES) as usize;
        if rank >= self.cluster.ctas || rank == self.rank as usize {
            return Ok(None);
        }
        match self.cluster.memories[rank] {
            Some(memory) => Ok(Some(Segment {
                host: memory.as_ptr(),
                start: window::of_rank(rank as u32),
                bytes: self.shared_bytes,
            })),
            None => Err(FaultKind::CtaExited { rank: rank as u32, address }),
        }
    }

    /// The place that a shared address means.
    pub(super) fn shared_place(&self, address: u64) -> SharedPlace {
        let offset = address % window::CTA_BYTES;
        let rank = match address / window::CTA_BYTES == self.own_window / window::CTA_BYTES {
            true => self.rank,
            false => (address / window::CTA_BYTES) as u32,
        };
        SharedPlace { rank, offset }
    }

    /// The shared address of a place in the CTA's own memory.
    pub(super) fn own_address(&self, address: u64) -> u64 {
        self.own_window + address % window::CTA_BYTES
    }

    /// Resolves the accesses of `mask`, each of `bytes` bytes in a space that all lanes share;
    /// `write` if something is to be written there.
    pub(super) fn hosts(
        &self,
        space: Space,
        mask: u32,
        addresses: &[u64; 32],
        bytes: u32,
        write: bool,
    ) -> Result<[*mut u8; 32], AccessFault> {
        let mut hosts = [std::ptr::null_mut(); 32];
        let first = addresses[mask.trailing_zeros() as usize & 31];
        let common = self.segment(space, first);
        let common = common.filter(|_| !write || space.refuses_writes(first).is_none());
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let address = addresses[lane as usize];
            hosts[lane as usize] = match &common {
                // SAFETY: the segment holds the access.
                Some(segment) if segment.holds(address, u64::from(bytes)) => unsafe {
                    segment.at(address)
                },
                _ => self
                    .resolve(space, lane, address, bytes, write)
                    .map_err(|kind| AccessFault { lane, kind })?,
            };
        }
        Ok(hosts)
    }

    /// Checks the accesses of the lanes of `mask` as [`Self::hosts`] does, for one that moves
    /// nothing.
    pub(super) fn probe_lanes(
        &self,
        space: Space,
        mask: u32,
        addresses: &[u64; 32],
        bytes: u32,
        write: bool,
    ) -> Result<(), AccessFault> {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            self.probe(space, lane, addresses[lane as usize], bytes, write)
                .map_err(|kind| AccessFault { lane, kind })?;
        }
        Ok(())
    }

    /// The offsets of the lanes' addresses in the CTA's own shared memory, `bytes` bytes each.
    pub(super) fn own_shared(
        &self,
        mask: u32,
        addresses: &[u64; 32],
        bytes: u32,
    ) -> Result<[u32; 32], AccessFault> {
        let mut offsets = [0; 32];
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let address = addresses[lane as usize];
            let host = self.shared_host(lane, address, bytes, true)?;
            if !self.is_own_shared(host) {
                let what = "the destination";
                return Err(AccessFault { lane, kind: FaultKind::OtherCta { what, address } });
            }
            offsets[lane as usize] = (address % window::CTA_BYTES) as u32;
        }
        Ok(offsets)
    }

    /// The address in shared memory that an operand means: of `space` itself, or generic.
    pub(super) fn shared_address(&self, space: Space, address: u64) -> Option<u64> {
        match (space, window_of(address)) {
            (Space::Shared, _) => Some(address),
            (Space::Generic, (Space::Shared, window)) => Some(address - window),
            _ => None,
        }
    }

    /// Resolves the address of one lane's access to shared memory.
    pub(super) fn shared_host(
        &self,
        lane: u32,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<*mut u8, AccessFault> {
        let host = self.resolve(Space::Shared, lane, address, bytes, write);
        host.map_err(|kind| AccessFault { lane, kind })
    }

    /// Returns true if a host address lies in the CTA's own shared memory.
    pub(super) fn is_own_shared(&self, host: *const u8) -> bool {
        let offset = (host as usize).wrapping_sub(self.shared as usize);
        (offset as u64) < self.shared_bytes
    }

    /// Writes to the CTA's own shared memory, as far as there is any.
    pub(super) fn write_shared(&self, offset: u32, bytes: &[u8]) {
        let end = u64::from(offset) + bytes.len() as u64;
        if end <= self.shared_bytes {
            // SAFETY: the range lies within shared memory, which no slice of the host overlaps.
            unsafe {
                let target = self.shared.add(offset as usize);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
            }
        }
    }
}
