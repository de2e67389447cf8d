//! Accesses of which only the addresses count: those of a slice that nothing reads.
//!
//! They fault where the access itself would. An access also fails that would change contents which
//! the slice computes: then the slice is wrong, and everything has to be executed.

#![allow(unsafe_code, reason = "base registers are rows of checked programs")]

use super::addresses::addresses;
use super::memories::Memories;
use super::simple::regular;
use super::{AccessFault, AccessReport};
use crate::access_kind::AccessKind;
use crate::exec::lanes::{FULL_MASK, Frame};
use crate::fault::FaultKind;
use crate::observer::Pattern;
use crate::program::memory_op::{MemoryOp, Space};

/// Returns true if the operation writes.
#[inline(always)]
pub(super) fn writes(op: &MemoryOp) -> bool {
    !matches!(op.kind, AccessKind::Load | AccessKind::LoadReadOnly)
}

/// Checks and reports the addresses of an operation that moves nothing, with the lanes of `mask`.
/// Returns `false` if there is something unusual about them; then nothing has been done.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program; `mask` is not empty.
#[inline(always)]
pub(in crate::exec) unsafe fn probe_simple(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    mask: u32,
    report: &mut AccessReport,
) -> bool {
    if memories.marks(op) {
        return false;
    }
    let bytes = u64::from(op.bytes_per_lane());
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
                let span = if pattern == Pattern::Consecutive { 32 * bytes } else { bytes };
                let Some(extent) = memories.untouched(op, first) else { return false };
                return extent.holds(first, span) && first & (bytes - 1) == 0;
            }
        }
        if mask == FULL_MASK
            && op.space == Space::Shared
            && let (Some(base), false) = (op.base, op.wide_base)
        {
            let base = frame.row::<u32>(base);
            return probe_shared(base, op.offset as u32, bytes as u32, memories, report);
        }
        report.addresses = addresses(frame, op);
    }
    let addresses = &report.addresses;
    let first = addresses[mask.trailing_zeros() as usize & 31];
    let Some(extent) = memories.untouched(op, first) else { return false };
    let Some(last) = extent.bytes.checked_sub(bytes) else { return false };
    let (mut beyond, mut low_bits) = (0, 0);
    for lane in 0..32 {
        let address = if mask & 1 << lane != 0 { addresses[lane] } else { first };
        let offset = address.wrapping_sub(extent.start);
        // Segments are smaller than 2^63 bytes, so that signs tell which accesses lie outside.
        beyond |= offset | last.wrapping_sub(offset);
        low_bits |= address;
    }
    beyond >> 63 == 0 && low_bits & (bytes - 1) == 0
}

/// The addresses of a full warp in the CTA's shared memory, which fit into half the bits.
#[inline(always)]
fn probe_shared(
    base: &[u32; 32],
    offset: u32,
    bytes: u32,
    memories: &Memories<'_>,
    report: &mut AccessReport,
) -> bool {
    // Far less than 2^31, so that signs tell which accesses lie outside.
    let Some(last) = (memories.shared_bytes as u32).checked_sub(bytes) else { return false };
    let window = memories.own_window as u32;
    let (mut beyond, mut low_bits) = (0, 0);
    for lane in 0..32 {
        let address = base[lane].wrapping_add(offset);
        let within = address.wrapping_sub(window);
        beyond |= within | last.wrapping_sub(within);
        low_bits |= address;
        report.addresses[lane] = u64::from(address);
    }
    beyond >> 31 == 0 && low_bits & (bytes - 1) == 0
}

/// Checks the accesses of the lanes of `mask` to `space`, whose addresses are aligned, one by one.
pub(super) fn probe_lanes(
    op: &MemoryOp,
    space: Space,
    memories: &Memories<'_>,
    mask: u32,
    addresses: &[u64; 32],
) -> Result<(), AccessFault> {
    let bytes = op.bytes_per_lane();
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let address = addresses[lane as usize];
        memories
            .probe(space, lane, address, bytes, writes(op))
            .map_err(|kind| AccessFault { lane, kind })?;
    }
    Ok(())
}

/// Returns the fault of a generic access whose lanes turn out to go to a space that the slice does
/// not expect: it reads contents that nobody computes, or leaves out a change of others.
pub(super) fn unexpected(
    op: &MemoryOp,
    space: Space,
    memories: &Memories<'_>,
    mask: u32,
    addresses: &[u64; 32],
) -> Option<AccessFault> {
    let computed = memories.contents.of(space);
    let only_stores = op.kind == AccessKind::Store;
    let wrong = match (op.moves, space) {
        // Constants and parameters never change, and probes of buffers are checked by address.
        (_, Space::Global | Space::Const | Space::Param | Space::Generic) => false,
        (true, _) => !computed && !only_stores,
        // Such writes are marked.
        (false, Space::Shared) if memories.contents.apart => false,
        (false, _) => computed && writes(op),
    };
    let lane = mask.trailing_zeros() & 31;
    let address = addresses[lane as usize];
    wrong.then_some(AccessFault { lane, kind: FaultKind::NotComputed { address } })
}
