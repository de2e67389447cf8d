//! Simple accesses: whole registers for each lane, to a space that all lanes share.
//!
//! Nearly all accesses are of this kind. One check of the whole range is enough for them; where all
//! lanes use one address or consecutive ones for one register, so is one copy. Whatever is not
//! right with an access is left to the way that all other accesses go, before anything has been
//! done.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use super::AccessReport;
use super::addresses::addresses;
use super::memories::Memories;
use super::racing::{Element, load_run, store_run};
use super::transfer::for_lanes;
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::lane::Lane;
use crate::observer::{AccessKind, Pattern};
use crate::program::memory_op::{MemoryOp, Space};

/// Executes a simple operation with the lanes of `mask` and reports its addresses. Returns `false`
/// if there is something wrong with it; then nothing has been done.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program and is simple; `mask` is not empty.
#[inline(always)]
pub(in crate::exec) unsafe fn access_simple(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    mask: u32,
    report: &mut AccessReport,
) -> bool {
    // SAFETY: by the contract.
    unsafe {
        if op.element_bytes == 4 {
            access::<u32, 4>(frame, op, memories, mask, report)
        } else {
            access::<u64, 8>(frame, op, memories, mask, report)
        }
    }
}

/// [`access_simple`] for elements `T` of `BYTES` bytes.
///
/// # Safety
///
/// As [`access_simple`].
#[inline(always)]
unsafe fn access<T: Lane<Store = T> + Element + Default, const BYTES: u64>(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    mask: u32,
    report: &mut AccessReport,
) -> bool {
    // SAFETY: by the contract.
    unsafe {
        report.pattern = Pattern::General;
        report.distances = None;
        if mask == FULL_MASK
            && let Some((pattern, first)) = regular(frame, op)
        {
            report.pattern = pattern;
            if op.elements == 1 {
                report.addresses[0] = first;
                return if op.space == Space::Global {
                    transfer_regular::<T, BYTES, true>(frame, op, memories, pattern, first)
                } else {
                    transfer_regular::<T, BYTES, false>(frame, op, memories, pattern, first)
                };
            }
        }
        report.addresses = addresses(frame, op);
        transfer_any::<T, BYTES>(frame, op, memories, mask, &report.addresses)
    }
}

/// Returns the pattern and the first address if all lanes use one address or consecutive ones.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program.
#[inline(always)]
pub(super) unsafe fn regular(frame: &Frame, op: &MemoryOp) -> Option<(Pattern, u64)> {
    let bytes = op.bytes_per_lane();
    /// The first two lanes tell which of the patterns it can be; then the first two tell of the
    /// second two, the first four of the second four, and so on.
    macro_rules! pattern {
        ($base:expr, $ty:ty) => {{
            let base = $base;
            let step = base[1].wrapping_sub(base[0]);
            if step != 0 && step != <$ty>::from(bytes) {
                return None;
            }
            let mut deviation = 0;
            let mut double = |lanes: usize| {
                for lane in 0..lanes {
                    let distance = base[lane + lanes].wrapping_sub(base[lane]);
                    deviation |= distance ^ step.wrapping_mul(lanes as $ty);
                }
            };
            double(2);
            double(4);
            double(8);
            double(16);
            // The compiler must not see the test on the distances, or it compares, packs and
            // permutes them one by one instead of joining vectors.
            match (std::hint::black_box(deviation), step) {
                (0, 0) => Pattern::Uniform,
                (0, _) => Pattern::Consecutive,
                _ => return None,
            }
        }};
    }
    let Some(row) = op.base else { return Some((Pattern::Uniform, op.offset)) };
    // SAFETY: the base is a row of the width that the operation says.
    unsafe {
        if op.wide_base {
            let base = frame.row::<u64>(row);
            let pattern = pattern!(base, u64);
            Some((pattern, base[0].wrapping_add(op.offset)))
        } else {
            let base = frame.row::<u32>(row);
            let pattern = pattern!(base, u32);
            Some((pattern, u64::from(base[0].wrapping_add(op.offset as u32))))
        }
    }
}

/// One copy or broadcast for the full warp. `GLOBAL` says whether the space is the global one,
/// which CTAs may use at the same time ([`racing`](super::racing)). The others belong to one
/// thread, and accesses to them need no test for that.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program and is simple, with elements of type
/// `T` and a space as `GLOBAL` says; the lanes' addresses are as `pattern` and `first` say.
#[inline(always)]
unsafe fn transfer_regular<T: Lane<Store = T> + Element, const BYTES: u64, const GLOBAL: bool>(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    pattern: Pattern,
    first: u64,
) -> bool {
    let consecutive = pattern == Pattern::Consecutive;
    let span = if consecutive { 32 * BYTES } else { BYTES };
    let segment = memories.segment(if GLOBAL { Space::Global } else { op.space }, first);
    let Some(segment) = segment.filter(|segment| segment.holds(first, span)) else { return false };
    let ([Some(row), ..], 0) = (op.rows, first & (BYTES - 1)) else { return false };
    let stores = op.kind == AccessKind::Store;
    // SAFETY: the segment holds the accesses of all lanes, aligned to the element; rows are as
    // wide as the element.
    unsafe {
        let host = segment.at(first);
        let row = frame.row_mut::<T>(row);
        match (consecutive, stores) {
            (true, true) if GLOBAL => store_run(row, host.cast(), memories.vectors),
            (true, true) => *host.cast::<[T; 32]>() = *row,
            (true, false) if GLOBAL => load_run(host.cast(), row, memories.vectors),
            (true, false) => *row = *host.cast::<[T; 32]>(),
            // Of several lanes that write to one address, the highest is the last.
            (false, true) if GLOBAL => row[31].store(host.cast()),
            (false, true) => *host.cast::<T>() = row[31],
            (false, false) if GLOBAL => *row = [T::load(host.cast()); 32],
            (false, false) => *row = [*host.cast::<T>(); 32],
        }
    }
    true
}

/// Any addresses within one segment, lane by lane.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program and is simple, with elements of type
/// `T`; `mask` is not empty.
#[inline(always)]
unsafe fn transfer_any<T: Lane<Store = T> + Element + Default, const BYTES: u64>(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    mask: u32,
    addresses: &[u64; 32],
) -> bool {
    let first = addresses[mask.trailing_zeros() as usize & 31];
    let Some(segment) = memories.segment(op.space, first) else { return false };
    let bytes = u64::from(op.bytes_per_lane());
    let Some(last) = segment.bytes.checked_sub(bytes) else { return false };
    // Lanes that take no part go where the first one does.
    let mut offsets = [0; 32];
    let (mut beyond, mut low_bits) = (0, 0);
    for lane in 0..32 {
        let address = if mask & 1 << lane != 0 { addresses[lane] } else { first };
        let offset = address.wrapping_sub(segment.start);
        // Segments are smaller than 2^63 bytes, so that signs tell which accesses lie outside.
        beyond |= offset | last.wrapping_sub(offset);
        low_bits |= address;
        offsets[lane] = offset;
    }
    if beyond >> 63 != 0 || low_bits & (bytes - 1) != 0 {
        return false;
    }
    for (element, row) in op.rows[..usize::from(op.elements)].iter().enumerate() {
        let Some(row) = *row else { continue };
        // SAFETY: all offsets lie within the segment, with all elements behind each, and are
        // aligned; rows are as wide as the element.
        unsafe {
            let host =
                |lane: usize| segment.host.add(offsets[lane] as usize).cast::<T>().add(element);
            if op.kind == AccessKind::Store {
                let row = frame.row::<T>(row);
                if op.space == Space::Global {
                    for_lanes(mask, |lane| row[lane].store(host(lane)));
                } else {
                    for_lanes(mask, |lane| host(lane).write(row[lane]));
                }
            } else {
                let mut value = [T::default(); 32];
                if op.space == Space::Global {
                    for lane in 0..32 {
                        value[lane] = T::load(host(lane));
                    }
                } else {
                    for lane in 0..32 {
                        value[lane] = host(lane).read();
                    }
                }
                frame.set_row::<T>(row, mask, value);
            }
        }
    }
    true
}
