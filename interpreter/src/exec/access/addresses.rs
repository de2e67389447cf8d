//! The addresses of a warp's lanes, and how they relate.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use super::memories::window_of;
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::observer::Pattern;
use crate::program::memory_op::{MemoryOp, Space};

/// Each lane's address.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program.
#[inline(always)]
pub(in crate::exec) unsafe fn addresses(frame: &Frame, op: &MemoryOp) -> [u64; 32] {
    let mut addresses = [op.offset; 32];
    if let Some(base) = op.base {
        // SAFETY: the base is a row of the width that the operation says.
        unsafe {
            if op.wide_base {
                let base = frame.row::<u64>(base);
                for lane in 0..32 {
                    addresses[lane] = base[lane].wrapping_add(op.offset);
                }
            } else {
                let base = frame.row::<u32>(base);
                for lane in 0..32 {
                    addresses[lane] = u64::from(base[lane].wrapping_add(op.offset as u32));
                }
            }
        }
    }
    addresses
}

/// [`addresses`] with a check of the base register, for operations that are rare.
pub(in crate::exec) fn checked_addresses(frame: &Frame, op: &MemoryOp) -> [u64; 32] {
    match op.base {
        None => [op.offset; 32],
        Some(row) if op.wide_base => {
            frame.lanes::<u64>(row).map(|base| base.wrapping_add(op.offset))
        }
        Some(row) => {
            frame.lanes::<u32>(row).map(|base| u64::from(base.wrapping_add(op.offset as u32)))
        }
    }
}

/// Returns how the addresses of a full warp relate.
#[inline(always)]
pub(in crate::exec) fn pattern(addresses: &[u64; 32], mask: u32, bytes: u64) -> Pattern {
    if mask != FULL_MASK {
        return Pattern::General;
    }
    let (mut uniform, mut consecutive) = (0, 0);
    for lane in 0..32 {
        let distance = addresses[lane].wrapping_sub(addresses[0]);
        uniform |= distance;
        consecutive |= distance ^ (lane as u64 * bytes);
    }
    match (uniform, consecutive) {
        (0, _) => Pattern::Uniform,
        (_, 0) => Pattern::Consecutive,
        _ => Pattern::General,
    }
}

/// Splits a generic access whose lanes go to several spaces. Returns the space of the lowest lane
/// of `mask`, the lanes that go there, and all lanes' addresses relative to its window.
pub(in crate::exec) fn generic_part(addresses: &[u64; 32], mask: u32) -> (Space, u32, [u64; 32]) {
    let (space, window) = window_of(addresses[mask.trailing_zeros() as usize & 31]);
    let in_space =
        |&lane: &u32| mask >> lane & 1 != 0 && window_of(addresses[lane as usize]).0 == space;
    let lanes = (0..32).filter(in_space).fold(0, |lanes, lane| lanes | 1 << lane);
    (space, lanes, addresses.map(|address| address.wrapping_sub(window)))
}
