//! Loads, stores and atomics of one warp.
//!
//! Simple accesses go the short way of [`simple`], mostly without leaving the lane loop
//! ([`lane_loop`]). All others go lane by lane, after one check of the whole range where possible.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

mod addresses;
mod atomics;
mod known_reads;
mod lane_loop;
mod left_out;
mod memories;
mod patterns;
mod probe;
pub(super) mod racing;
mod remembered;
mod runs;
mod simple;
mod tally;
mod teller;
mod transfer;

use std::num::NonZeroU64;

use gpucast_ptx_frontend::types::StateSpace;

use super::lanes::Frame;
use crate::fault::FaultKind;
use crate::observer::{AccessKind, Pattern};
use crate::program::memory_op::{MemoryOp, Space};
use atomics::perform_atomic;
use probe::{probe_lanes, probe_simple, unexpected};
use simple::access_simple;
use transfer::transfer_lanes;

pub(super) use addresses::{addresses, checked_addresses, generic_part, pattern};
pub(super) use known_reads::{KnownRead, KnownReads, ReadsKey, tell_reads};
pub(super) use lane_loop::LoopAccesses;
pub(super) use left_out::with_marks;
pub(super) use memories::{Memories, Segment, window_of};
pub(super) use patterns::{LentPatterns, Patterns};
pub(super) use teller::{Hearing, Teller};
pub(super) use transfer::{digests, for_lanes, load_zeros};

/// A report of an access for the observer.
#[derive(Clone, Debug)]
pub(super) struct AccessReport {
    pub(super) addresses: [u64; 32],
    pub(super) pattern: Pattern,
    /// [`Access::distances`](crate::observer::Access::distances).
    pub(super) distances: Option<NonZeroU64>,
}

impl AccessReport {
    /// A report to be filled in. Each turn of a warp makes one: a constant would be copied.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { addresses: [0; 32], pattern: Pattern::General, distances: None }
    }
}

/// A lane's access failed.
#[derive(Debug)]
pub(super) struct AccessFault {
    pub(super) lane: u32,
    pub(super) kind: FaultKind,
}

/// Executes a memory operation with the lanes of `mask`, reports its addresses and returns the
/// space that the access went to. If the lanes of a generic access go to several spaces, nothing is
/// done and the result is `None`; see [`generic_part`].
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program; `mask` is not empty.
#[inline(always)]
pub(super) unsafe fn access(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    mask: u32,
    report: &mut AccessReport,
) -> Result<Option<Space>, AccessFault> {
    // SAFETY: by the contract.
    unsafe {
        if op.is_simple() && access_simple(frame, op, memories, mask, report) {
            return Ok(Some(op.space));
        }
        if !op.moves && probe_simple(frame, op, memories, mask, report) {
            return Ok(Some(op.space));
        }
        report.addresses = addresses(frame, op);
        let mut space = op.space;
        if space == Space::Generic {
            let window;
            (space, window) = window_of(report.addresses[mask.trailing_zeros() as usize & 31]);
            for lane in 0..32 {
                if mask >> lane & 1 != 0 && window_of(report.addresses[lane]).0 != space {
                    return Ok(None);
                }
                report.addresses[lane] = report.addresses[lane].wrapping_sub(window);
            }
        }
        access_space(frame, op, space, memories, mask, report)?;
        Ok(Some(space))
    }
}

/// Executes the part of a memory operation that goes to `space` with the lanes of `mask`. Their
/// `report.addresses` are addresses of that space. Fills in the rest of the report.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program; `mask` is not empty.
#[inline(always)]
pub(super) unsafe fn access_space(
    frame: &Frame,
    op: &MemoryOp,
    space: Space,
    memories: &Memories<'_>,
    mask: u32,
    report: &mut AccessReport,
) -> Result<(), AccessFault> {
    let bytes = op.bytes_per_lane();
    let addresses = &report.addresses;
    let write = !matches!(op.kind, AccessKind::Load | AccessKind::LoadReadOnly);
    report.pattern = pattern(addresses, mask, u64::from(bytes));
    report.distances = None;

    let mut misaligned = 0;
    for (lane, address) in addresses.iter().enumerate() {
        let active = u64::from(mask >> lane & 1).wrapping_neg();
        misaligned |= address & active;
    }
    if misaligned & (u64::from(bytes) - 1) != 0 {
        let wrong = |&lane: &u32| {
            mask >> lane & 1 != 0 && addresses[lane as usize] & (u64::from(bytes) - 1) != 0
        };
        let lane = (0..32).find(wrong).unwrap_or(0);
        let address = addresses[lane as usize];
        return Err(AccessFault { lane, kind: FaultKind::Misaligned { address, bytes } });
    }
    let first_lane = mask.trailing_zeros() as usize & 31;
    let first = addresses[first_lane];
    if write && let Some(kind) = space.refuses_writes(first) {
        return Err(AccessFault { lane: first_lane as u32, kind });
    }
    if op.space == Space::Generic
        && let Some(fault) = unexpected(op, space, memories, mask, addresses)
    {
        return Err(fault);
    }
    if !op.moves {
        probe_lanes(op, space, memories, mask, addresses)?;
        if write && space == Space::Shared && memories.contents.apart {
            let written = (0..32).filter(|lane| mask >> lane & 1 != 0);
            written.for_each(|lane| memories.leave_out(addresses[lane], bytes));
        }
        return Ok(());
    }
    if space == Space::Shared && memories.contents.apart && op.needs_contents() {
        memories.finds_all(mask, addresses, bytes)?;
    }

    let (low, high) = match report.pattern {
        Pattern::Uniform => (first, first),
        Pattern::Consecutive => (first, first.wrapping_add(31 * u64::from(bytes))),
        Pattern::General => {
            let (mut low, mut high) = (first, first);
            for (lane, &address) in addresses.iter().enumerate() {
                let address = if mask >> lane & 1 != 0 { address } else { first };
                low = low.min(address);
                high = high.max(address);
            }
            (low, high)
        }
    };
    let segment = memories.segment(space, low).filter(|segment| {
        segment.holds(low, u64::from(bytes)) && segment.holds(high, u64::from(bytes))
    });
    let mut hosts = [std::ptr::null_mut::<u8>(); 32];
    match segment {
        Some(segment) => {
            // SAFETY: both ends of the range lie within the segment.
            unsafe {
                for lane in 0..32 {
                    let address = if mask >> lane & 1 != 0 { addresses[lane] } else { first };
                    hosts[lane] = segment.at(address);
                }
            }
        }
        None => {
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                let resolved =
                    memories.resolve(space, lane, addresses[lane as usize], bytes, write);
                hosts[lane as usize] = resolved.map_err(|kind| AccessFault { lane, kind })?;
            }
        }
    }
    // SAFETY: the host addresses of all lanes of `mask` have been checked for `bytes` bytes.
    unsafe {
        match &op.atomic {
            Some(atomic) => perform_atomic(frame, op, atomic, space, &hosts, mask),
            None => transfer_lanes(frame, op, &hosts, mask, write, space == Space::Global),
        }
    }
    Ok(())
}

/// The state space that the observer is told.
#[inline]
pub(super) fn reported_space(space: Space) -> StateSpace {
    space.state_space().unwrap_or(StateSpace::Global)
}
