//! The memories that a warp sees, and where in them an address lies.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use super::super::shared::ClusterShared;
use super::racing::Vectors;
use crate::fault::FaultKind;
use crate::memory::DeviceMemory;
use crate::program::memory_op::{Space, window};
use crate::program::op::{Op, copy_local};

/// The memories that a warp sees.
///
/// # Invariants
///
/// Each pointer is aligned to 64 bytes (16 for local memory). It is good for the bytes that go with
/// it, of all 32 lanes for `local`. Constant and parameter memory is only read.
pub(in crate::exec) struct Memories<'a> {
    pub(in crate::exec) device: &'a DeviceMemory,
    /// Vectors that the CPU has.
    pub(in crate::exec) vectors: Vectors,
    pub(in crate::exec) shared: *mut u8,
    pub(in crate::exec) shared_bytes: u64,
    /// The shared memories of the cluster.
    pub(in crate::exec) cluster: &'a ClusterShared,
    /// This warp's local memory: `local_bytes` for lane 0, then lane 1, and so on.
    pub(in crate::exec) local: *mut u8,
    /// Bytes of one lane's local memory, a multiple of 16.
    pub(in crate::exec) local_bytes: u64,
    pub(in crate::exec) constant: *const u8,
    pub(in crate::exec) constant_bytes: u64,
    pub(in crate::exec) parameters: *const u8,
    pub(in crate::exec) parameter_bytes: u64,
}

/// A stretch of host memory that backs a stretch of addresses.
#[derive(Clone, Copy)]
pub(in crate::exec) struct Segment {
    /// Host address of `start`.
    pub(in crate::exec) host: *mut u8,
    /// First address.
    pub(in crate::exec) start: u64,
    pub(in crate::exec) bytes: u64,
}

impl Segment {
    /// Returns true if the `bytes` bytes at `address` lie within.
    #[inline(always)]
    pub(in crate::exec) fn holds(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset <= self.bytes && self.bytes - offset >= bytes
    }

    /// # Safety
    ///
    /// `address` lies within.
    #[inline(always)]
    pub(in crate::exec) unsafe fn at(&self, address: u64) -> *mut u8 {
        // SAFETY: within the segment by the contract.
        unsafe { self.host.add((address - self.start) as usize) }
    }
}

impl Memories<'_> {
    /// The segment of a space that holds `address`, for spaces that all lanes share.
    #[inline(always)]
    pub(in crate::exec) fn segment(&self, space: Space, address: u64) -> Option<Segment> {
        let segment = |host, bytes| Segment { host, start: 0, bytes };
        Some(match space {
            Space::Global => {
                let allocation = self.device.find(address)?;
                Segment {
                    host: allocation.host(),
                    start: allocation.address,
                    bytes: allocation.bytes,
                }
            }
            Space::Shared => segment(self.shared, self.shared_bytes),
            Space::Const => segment(self.constant.cast_mut(), self.constant_bytes),
            Space::Param => segment(self.parameters.cast_mut(), self.parameter_bytes),
            Space::Local | Space::Generic => return None,
        })
    }

    /// Copies bytes within each lane's local memory: the values that a call passes in `.param`
    /// variables. `frames` are the offsets of the lanes' frames, where the operation says that they
    /// count.
    ///
    /// The layout has placed both variables within the lanes' local memory.
    pub(in crate::exec) fn copy_local(&self, op: &Op, frames: &[u32; 32], mask: u32) {
        let bytes = u64::from(op.c);
        let fits = |at: u64| at + bytes <= self.local_bytes;
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let frame = |flag| if op.n & flag != 0 { u64::from(frames[lane]) } else { 0 };
            let from = frame(copy_local::FROM_FRAME) + u64::from(op.a);
            let to = frame(copy_local::TO_FRAME) + u64::from(op.b);
            debug_assert!(fits(from) && fits(to), "call arguments lie in local memory");
            if !fits(from) || !fits(to) {
                continue;
            }
            let lane = self.local.wrapping_add(lane * self.local_bytes as usize);
            // SAFETY: both ranges lie within the lane's local memory.
            unsafe {
                let (from, to) = (lane.add(from as usize), lane.add(to as usize));
                std::ptr::copy(from, to, bytes as usize);
            }
        }
    }

    /// Resolves the address of one lane's access.
    pub(in crate::exec) fn resolve(
        &self,
        space: Space,
        lane: u32,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<*mut u8, FaultKind> {
        let segment = match space {
            Space::Shared if address >= window::CTA_BYTES => self.of_cluster(address)?,
            Space::Local => Some(Segment {
                host: self.local.wrapping_add(lane as usize * self.local_bytes as usize),
                start: 0,
                bytes: self.local_bytes,
            }),
            _ => self.segment(space, address),
        };
        match segment {
            Some(segment) if segment.holds(address, u64::from(bytes)) => {
                // SAFETY: just checked.
                Ok(unsafe { segment.at(address) })
            }
            _ => Err(FaultKind::OutOfBounds {
                space: space.state_space(),
                address,
                bytes,
                write,
                nearest: match space {
                    Space::Global => self.device.nearest(address),
                    _ => None,
                },
                limit: match space {
                    Space::Shared => Some(self.shared_bytes),
                    Space::Local => Some(self.local_bytes),
                    Space::Const => Some(self.constant_bytes),
                    Space::Param => Some(self.parameter_bytes),
                    Space::Global | Space::Generic => None,
                },
            }),
        }
    }
}

/// The generic-address window of `address`, and its base.
#[inline(always)]
pub(in crate::exec) fn window_of(address: u64) -> (Space, u64) {
    match address / window::BYTES {
        1 => (Space::Shared, window::SHARED),
        2 => (Space::Local, window::LOCAL),
        3 => (Space::Const, window::CONST),
        4 => (Space::Param, window::PARAM),
        _ => (Space::Global, 0),
    }
}
