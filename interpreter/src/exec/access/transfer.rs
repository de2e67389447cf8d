//! Moves data between registers and memory once all addresses are known to be good.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use super::racing::Element;
use crate::access_kind::AccessKind;
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::program::memory_op::{Extend, MemoryOp};

/// Lane by lane, element by element.
///
/// # Safety
///
/// The invariants of [`Frame`]; each host address of `mask` is good for the whole access.
#[inline(always)]
pub(super) unsafe fn transfer_lanes(
    frame: &Frame,
    op: &MemoryOp,
    hosts: &[*mut u8; 32],
    mask: u32,
    write: bool,
    racing: bool,
) {
    // Buffers may be used by other threads meanwhile, and all other memory by nobody.
    if racing {
        // SAFETY: by the contract.
        unsafe { transfer_with(frame, op, hosts, mask, write, Racing) };
    } else {
        // SAFETY: by the contract.
        unsafe { transfer_with(frame, op, hosts, mask, write, Own) };
    }
}

/// The use of elements of memory by an access.
trait Transfer: Copy {
    /// # Safety
    ///
    /// As [`Element::load`].
    unsafe fn load<T: Element>(self, host: *mut u8) -> T;

    /// # Safety
    ///
    /// As [`Element::store`].
    unsafe fn store<T: Element>(self, host: *mut u8, value: T);
}

/// By atomic accesses.
#[derive(Clone, Copy)]
struct Racing;

/// By plain accesses.
#[derive(Clone, Copy)]
struct Own;

impl Transfer for Racing {
    #[inline(always)]
    unsafe fn load<T: Element>(self, host: *mut u8) -> T {
        // SAFETY: by the contract.
        unsafe { T::load(host.cast()) }
    }

    #[inline(always)]
    unsafe fn store<T: Element>(self, host: *mut u8, value: T) {
        // SAFETY: by the contract.
        unsafe { value.store(host.cast()) }
    }
}

impl Transfer for Own {
    #[inline(always)]
    unsafe fn load<T: Element>(self, host: *mut u8) -> T {
        // SAFETY: by the contract.
        unsafe { host.cast::<T>().read() }
    }

    #[inline(always)]
    unsafe fn store<T: Element>(self, host: *mut u8, value: T) {
        // SAFETY: by the contract.
        unsafe { host.cast::<T>().write(value) }
    }
}

/// [`transfer_lanes`] to memory that is used in one way.
///
/// # Safety
///
/// As [`transfer_lanes`].
#[inline(always)]
unsafe fn transfer_with(
    frame: &Frame,
    op: &MemoryOp,
    hosts: &[*mut u8; 32],
    mask: u32,
    write: bool,
    memory: impl Transfer,
) {
    for element in 0..usize::from(op.elements) {
        let Some(row) = op.rows[element] else { continue };
        let offset = element * usize::from(op.element_bytes);
        // SAFETY: by the contract, with rows as wide as `wide_registers` says.
        unsafe {
            match (op.element_bytes, op.wide_registers, write) {
                (16, _, false) => {
                    let row = frame.row_mut::<u128>(row);
                    for_lanes(mask, |lane| {
                        row[lane] = memory.load::<u128>(hosts[lane].add(offset));
                    });
                }
                (16, _, true) => {
                    let row = frame.row::<u128>(row);
                    for_lanes(mask, |lane| {
                        memory.store::<u128>(hosts[lane].add(offset), row[lane]);
                    });
                }
                (4, false, false) => {
                    let row = frame.row_mut::<u32>(row);
                    for_lanes(mask, |lane| {
                        row[lane] = memory.load::<u32>(hosts[lane].add(offset));
                    });
                }
                (8, true, false) => {
                    let row = frame.row_mut::<u64>(row);
                    for_lanes(mask, |lane| {
                        row[lane] = memory.load::<u64>(hosts[lane].add(offset));
                    });
                }
                (bytes, wide, false) => {
                    for_lanes(mask, |lane| {
                        let value = read(memory, hosts[lane].add(offset), bytes);
                        let value = extend(value, bytes, op.extend);
                        put(frame, row, wide, lane, value);
                    });
                }
                (bytes, wide, true) => {
                    for_lanes(mask, |lane| {
                        let value = get(frame, row, wide, lane);
                        write_bytes(memory, hosts[lane].add(offset), bytes, value);
                    });
                }
            }
        }
    }
}

/// Gives the lanes of `mask` zeros in the registers that an access would have loaded.
pub(in crate::exec) fn load_zeros(frame: &Frame, op: &MemoryOp, mask: u32) {
    let rows = match (&op.atomic, op.kind) {
        (Some(atomic), _) => &atomic.destinations,
        (None, AccessKind::Load | AccessKind::LoadReadOnly) => &op.rows,
        (None, _) => return,
    };
    for row in rows.iter().take(usize::from(op.elements)).copied().flatten() {
        match (op.element_bytes, op.wide_registers) {
            (16, _) => frame.set_lanes::<u128>(row, mask, [0; 32]),
            (_, true) => frame.set_lanes::<u64>(row, mask, [0; 32]),
            (_, false) => frame.set_lanes::<u32>(row, mask, [0; 32]),
        }
    }
}

/// A digest of each lane's stored value: equal for equal bytes, and very likely not for others.
pub(in crate::exec) fn digests(frame: &Frame, op: &MemoryOp) -> [u32; 32] {
    // Steps of FNV-1a on words, with the upper half folded in at the end.
    let mut digests = [0xcbf2_9ce4_8422_2325_u64; 32];
    let mix = |digest: &mut u64, word: u64| {
        *digest = (*digest ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        *digest ^= *digest >> 32;
    };
    for row in op.rows.iter().take(usize::from(op.elements)).copied().flatten() {
        for (lane, digest) in digests.iter_mut().enumerate() {
            if op.element_bytes == 16 {
                let value = frame.lane::<u128>(row, lane);
                mix(digest, value as u64);
                mix(digest, (value >> 64) as u64);
            } else {
                let value = match op.wide_registers {
                    true => frame.lane::<u64>(row, lane),
                    false => frame.lane::<u32>(row, lane).into(),
                };
                mix(digest, value & (u64::MAX >> (64 - 8 * u32::from(op.element_bytes))));
            }
        }
    }
    digests.map(|digest| (digest ^ digest >> 32) as u32)
}

/// Calls `f` for each lane of `mask`.
#[inline(always)]
pub(in crate::exec) fn for_lanes(mask: u32, mut f: impl FnMut(usize)) {
    if mask == FULL_MASK {
        for lane in 0..32 {
            f(lane);
        }
    } else {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            f(lane);
        }
    }
}

/// # Safety
///
/// `host` is aligned to and good for `bytes` bytes: 1, 2, 4 or 8.
#[inline(always)]
unsafe fn read(memory: impl Transfer, host: *mut u8, bytes: u8) -> u64 {
    // SAFETY: by the contract.
    unsafe {
        match bytes {
            1 => u64::from(memory.load::<u8>(host)),
            2 => u64::from(memory.load::<u16>(host)),
            4 => u64::from(memory.load::<u32>(host)),
            _ => memory.load::<u64>(host),
        }
    }
}

/// # Safety
///
/// As [`read`].
#[inline(always)]
unsafe fn write_bytes(memory: impl Transfer, host: *mut u8, bytes: u8, value: u64) {
    // SAFETY: by the contract.
    unsafe {
        match bytes {
            1 => memory.store(host, value as u8),
            2 => memory.store(host, value as u16),
            4 => memory.store(host, value as u32),
            _ => memory.store(host, value),
        }
    }
}

fn extend(value: u64, bytes: u8, extend: Extend) -> u64 {
    match extend {
        Extend::Zero => value,
        Extend::Sign { register_bits } => {
            let unused = 64 - 8 * u32::from(bytes);
            let signed = ((value << unused) as i64 >> unused) as u64;
            signed & (u64::MAX >> (64 - u32::from(register_bits)))
        }
    }
}

/// # Safety
///
/// The invariants of [`Frame`]; `row` is a register of the width that `wide` says.
#[inline(always)]
pub(super) unsafe fn put(frame: &Frame, row: u32, wide: bool, lane: usize, value: u64) {
    // SAFETY: by the contract.
    unsafe {
        if wide {
            frame.row_mut::<u64>(row)[lane] = value;
        } else {
            frame.row_mut::<u32>(row)[lane] = value as u32;
        }
    }
}

/// # Safety
///
/// As [`put`].
#[inline(always)]
pub(super) unsafe fn get(frame: &Frame, row: u32, wide: bool, lane: usize) -> u64 {
    // SAFETY: by the contract.
    unsafe {
        if wide { frame.row::<u64>(row)[lane] } else { u64::from(frame.row::<u32>(row)[lane]) }
    }
}
