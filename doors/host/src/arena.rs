//! The addresses that buffers get: a range of this process's own addresses.
//!
//! All of it can be read and written. The system gives it memory, page by page, when it is first
//! used. Host code that uses a device pointer is therefore not found out; a GPU's memory would not
//! be accessible.

#![allow(unsafe_code, reason = "a range of addresses is taken from the system")]

use crate::Error;

/// Sizes to try, the largest first: limits on a process's addresses may allow only little.
#[cfg(unix)]
const SIZES: [u64; 4] = [1 << 40, 64 << 30, 8 << 30, 1 << 30];

/// A range of addresses of this process that nothing else uses.
#[derive(Debug)]
pub(crate) struct Arena {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

#[cfg(unix)]
impl Arena {
    /// Takes a range, at the interpreter's usual first address if that is free. Buffers then have
    /// the addresses that `gpucast predict` gives them, and caches behave alike.
    pub(crate) fn reserve() -> Result<Self, Error> {
        use gpucast_interpreter::memory::FIRST_ADDRESS;
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

        let usual: *mut std::ffi::c_void =
            std::ptr::with_exposed_provenance_mut(FIRST_ADDRESS as usize);
        for bytes in SIZES {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: without `FIXED` the system never takes a range that is in use. It takes the
            // address as a wish.
            let mapped = unsafe { mmap_anonymous(usual, bytes as usize, protection, flags) };
            if let Ok(start) = mapped {
                return Ok(Self { start: start.expose_provenance() as u64, bytes });
            }
        }
        Err(Error::OutOfMemory)
    }

    /// Gives the pages of a freed range back. They are zero when they are used again.
    pub(crate) fn release(&self, address: u64, bytes: u64) {
        use rustix::mm::{Advice, madvise};

        // Buffers begin at multiples of pages, and guards follow them.
        const PAGE: u64 = 4096;
        let within = address >= self.start && address + bytes <= self.start + self.bytes;
        if within && address.is_multiple_of(PAGE) && bytes > 0 {
            let start = std::ptr::with_exposed_provenance_mut(address as usize);
            let bytes = bytes.next_multiple_of(PAGE) as usize;
            // SAFETY: the pages belong to this mapping, and the buffer in them is freed.
            // A failure leaves old contents, which new device memory may have.
            let _ = unsafe { madvise(start, bytes, Advice::LinuxDontNeed) };
        }
    }
}

#[cfg(not(unix))]
impl Arena {
    pub(crate) fn reserve() -> Result<Self, Error> {
        Err(Error::NotSupported)
    }

    pub(crate) fn release(&self, _address: u64, _bytes: u64) {}
}
