//! `atom` and `red`.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use super::transfer::{get, put};
use crate::exec::atomic::{update, update_128};
use crate::exec::lanes::Frame;
use crate::program::memory_op::{Atomic, MemoryOp, Space};

/// `atom` and `red`, lane after lane: the order that lanes of one instruction take is undefined,
/// and this is ours.
///
/// # Safety
///
/// The invariants of [`Frame`]; each host address of `mask` is good for all elements, which lie in
/// `space`.
pub(super) unsafe fn perform_atomic(
    frame: &Frame,
    op: &MemoryOp,
    atomic: &Atomic,
    space: Space,
    hosts: &[*mut u8; 32],
    mask: u32,
) {
    let wide = op.wide_registers;
    let operation = atomic.operation.within(space);
    if op.element_bytes == 16 {
        // SAFETY: by the contract.
        return unsafe { perform_atomic_128(frame, atomic, hosts, mask) };
    }
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        for element in 0..usize::from(op.elements) {
            let offset = element * usize::from(op.element_bytes);
            // SAFETY: rows are as wide as `wide_registers` says; host addresses are aligned and
            // good.
            unsafe {
                let operand = get(frame, atomic.operands[element], wide, lane);
                let compare = match atomic.compare {
                    Some(row) => get(frame, row, wide, lane),
                    None => 0,
                };
                let host = hosts[lane].add(offset);
                let old =
                    update(host, op.element_bytes, |old| operation.apply(old, operand, compare));
                if let Some(row) = atomic.destinations[element] {
                    put(frame, row, wide, lane, old);
                }
            }
        }
    }
}

/// `atom.b128`.
///
/// # Safety
///
/// The invariants of [`Frame`]; each host address of `mask` is aligned and good for 16 bytes, and
/// the rows are 128 bits wide.
#[inline(never)]
unsafe fn perform_atomic_128(frame: &Frame, atomic: &Atomic, hosts: &[*mut u8; 32], mask: u32) {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        // SAFETY: by the contract.
        unsafe {
            let operand = frame.row::<u128>(atomic.operands[0])[lane];
            let compare = atomic.compare.map_or(0, |compare| frame.row::<u128>(compare)[lane]);
            let old =
                update_128(hosts[lane], |old| atomic.operation.apply_128(old, operand, compare));
            if let Some(destination) = atomic.destinations[0] {
                frame.row_mut::<u128>(destination)[lane] = old;
            }
        }
    }
}
