//! Read-modify-write of host memory that other CTAs may be updating at the same time.

#![allow(unsafe_code, reason = "atomic access to memory that kernels share")]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::access::racing::Element;

/// Held while 128 bits are updated: hosts do not all have atomics of that width. Loads and stores
/// do not take it and may see half of an update, as weak ones of the PTX memory model may; all
/// others make the launch run in order.
static WIDE: Mutex<()> = Mutex::new(());

/// As [`update`], for 16 bytes. No other update of them happens meanwhile.
///
/// # Safety
///
/// `host` is aligned to 16 bytes and good for reads and writes of as many.
pub(super) unsafe fn update_128(host: *mut u8, f: impl Fn(u128) -> u128) -> u128 {
    let _held = WIDE.lock().unwrap_or_else(PoisonError::into_inner);
    let host = host.cast::<u128>();
    // SAFETY: by the contract.
    unsafe {
        let old = u128::load(host);
        f(old).store(host);
        old
    }
}

/// Replaces the `bytes`-byte value at `host` by `f` of it, in one step, and returns the old value.
///
/// # Safety
///
/// `host` is aligned to `bytes`, which is 1, 2, 4 or 8, and good for reads and writes.
#[inline(always)]
pub(super) unsafe fn update(host: *mut u8, bytes: u8, f: impl Fn(u64) -> u64) -> u64 {
    macro_rules! update {
        ($atomic:ty, $ty:ty) => {{
            // SAFETY: aligned and valid by the contract; every concurrent access of a kernel that
            // is meant to be atomic goes through here.
            let cell = unsafe { <$atomic>::from_ptr(host.cast()) };
            let mut old = cell.load(Ordering::Relaxed);
            loop {
                let new = f(u64::from(old)) as $ty;
                match cell.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return u64::from(old),
                    Err(current) => old = current,
                }
            }
        }};
    }
    match bytes {
        1 => update!(AtomicU8, u8),
        2 => update!(AtomicU16, u16),
        4 => update!(AtomicU32, u32),
        _ => update!(AtomicU64, u64),
    }
}
