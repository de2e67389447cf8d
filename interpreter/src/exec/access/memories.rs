//! The memories that a warp sees, and where in them an address lies.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use super::super::shared::ClusterShared;
use super::probe::writes;
use super::racing::{Vectors, read_bytes};
use crate::fault::FaultKind;
use crate::memory::{Allocation, DeviceMemory};
use crate::program::Contents;
use crate::program::memory_op::{MemoryOp, Space, window};
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
    /// The CTA's rank in the cluster.
    pub(in crate::exec) rank: u32,
    /// The shared address at which the CTA's own memory begins.
    pub(in crate::exec) own_window: u64,
    /// This warp's local memory: `local_bytes` for lane 0, then lane 1, and so on.
    pub(in crate::exec) local: *mut u8,
    /// Bytes of one lane's local memory, a multiple of 16.
    pub(in crate::exec) local_bytes: u64,
    pub(in crate::exec) constant: *const u8,
    pub(in crate::exec) constant_bytes: u64,
    pub(in crate::exec) parameters: *const u8,
    pub(in crate::exec) parameter_bytes: u64,
    /// True if accesses that move nothing may leave out changes of contents that are held.
    pub(in crate::exec) is_trial: bool,
    /// The memories whose contents the program computes.
    pub(in crate::exec) contents: Contents,
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
                    bytes: allocation.held_bytes(),
                }
            }
            Space::Shared => {
                let (host, start, bytes) = (self.shared, self.own_window, self.shared_bytes);
                Segment { host, start, bytes }
            }
            Space::Const => segment(self.constant.cast_mut(), self.constant_bytes),
            Space::Param => segment(self.parameters.cast_mut(), self.parameter_bytes),
            Space::Local | Space::Generic => return None,
        })
    }

    /// [`Self::segment`] of global memory, which looks at buffer `guess` first. Afterwards it is
    /// the one found.
    #[inline(always)]
    pub(in crate::exec) fn global_near(&self, guess: &mut u32, address: u64) -> Option<Segment> {
        let allocation = self.device.find_near(guess, address)?;
        let (host, start) = (allocation.host(), allocation.address);
        Some(Segment { host, start, bytes: allocation.held_bytes() })
    }

    /// The stretch of addresses of a space that holds `address`, whether its contents are held or
    /// not; nothing may be read or written there. `None` if the operation, which moves nothing,
    /// would change contents that are held, and for spaces that lanes do not share.
    #[inline(always)]
    pub(in crate::exec) fn untouched(&self, op: &MemoryOp, address: u64) -> Option<Segment> {
        if op.space != Space::Global {
            let is_constant = matches!(op.space, Space::Const | Space::Param);
            let is_plain = (!is_constant || !writes(op)) && !self.marks(op);
            return self.segment(op.space, address).filter(|_| is_plain);
        }
        let allocation = self.device.find(address)?;
        let changes = writes(op) && allocation.held_bytes() != 0 && !self.is_trial;
        let start = allocation.address;
        let host = std::ptr::null_mut();
        (!changes).then_some(Segment { host, start, bytes: allocation.bytes })
    }

    /// Checks one lane's access that moves nothing, as [`Self::resolve`] checks others.
    pub(in crate::exec) fn probe(
        &self,
        space: Space,
        lane: u32,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<(), FaultKind> {
        if space != Space::Global {
            return self.resolve(space, lane, address, bytes, write).map(drop);
        }
        let inside = |allocation: &&Allocation| {
            let (start, host) = (allocation.address, std::ptr::null_mut());
            Segment { host, start, bytes: allocation.bytes }.holds(address, u64::from(bytes))
        };
        match self.device.find(address).filter(inside) {
            Some(allocation) if write && allocation.held_bytes() != 0 && !self.is_trial => {
                Err(FaultKind::NotComputed { address })
            }
            Some(_) => Ok(()),
            None => Err(self.out_of_bounds(space, address, bytes, write)),
        }
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

    /// Resolves the address of one lane's access; `write` if something is to be written there.
    pub(in crate::exec) fn resolve(
        &self,
        space: Space,
        lane: u32,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<*mut u8, FaultKind> {
        // All CTAs have these spaces in common, on several threads.
        if write && let Some(fault) = space.refuses_writes(address) {
            return Err(fault);
        }
        let segment = match space {
            Space::Shared if address / window::CTA_BYTES != self.own_window / window::CTA_BYTES => {
                self.of_cluster(address)?
            }
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
            _ => Err(self.out_of_bounds(space, address, bytes, write)),
        }
    }

    /// A copy of the bytes of one lane's access.
    pub(in crate::exec) fn read<const N: usize>(
        &self,
        space: Space,
        lane: u32,
        address: u64,
    ) -> Result<[u8; N], FaultKind> {
        let host = self.resolve(space, lane, address, N as u32, false)?;
        let mut bytes = [0; N];
        // SAFETY: `N` bytes lie there. Those of buffers may be written at the same time.
        unsafe {
            match space {
                Space::Global => read_bytes(host, &mut bytes),
                _ => bytes = host.cast::<[u8; N]>().read_unaligned(),
            }
        }
        Ok(bytes)
    }

    /// The fault of an access that no stretch of its space holds.
    fn out_of_bounds(&self, space: Space, address: u64, bytes: u32, write: bool) -> FaultKind {
        let is_global = space == Space::Global;
        if is_global && self.device.find(address).is_some_and(|allocation| !allocation.is_held()) {
            return FaultKind::NotComputed { address };
        }
        FaultKind::OutOfBounds {
            space: space.state_space(),
            address,
            bytes,
            write,
            nearest: if is_global { self.device.nearest(address) } else { None },
            limit: match space {
                Space::Shared => Some(self.shared_bytes),
                Space::Local => Some(self.local_bytes),
                Space::Const => Some(self.constant_bytes),
                Space::Param => Some(self.parameter_bytes),
                Space::Global | Space::Generic => None,
            },
        }
    }
}

/// The windows' sizes that shared memory takes.
const FIRST_OF_SHARED: u64 = window::SHARED / window::BYTES;
const END_OF_SHARED: u64 = (window::SHARED + window::SHARED_BYTES) / window::BYTES;

/// The generic-address window of `address`, and its base.
#[inline(always)]
pub(in crate::exec) fn window_of(address: u64) -> (Space, u64) {
    match address / window::BYTES {
        1 => (Space::Local, window::LOCAL),
        2 => (Space::Const, window::CONST),
        3 => (Space::Param, window::PARAM),
        FIRST_OF_SHARED..END_OF_SHARED => (Space::Shared, window::SHARED),
        _ => (Space::Global, 0),
    }
}
