//! `cp.async`: copies that are done when somebody waits for them.
//!
//! The manual leaves open when an asynchronous copy happens between its issue and the wait. Here
//! the source is read at once, so that a bad address is the copy's own fault. Shared memory is
//! written at the wait, as late as allowed. A kernel that forgets to wait, or waits for too few
//! groups, therefore reads the old content every time.

#![allow(unsafe_code, reason = "addresses are checked when a copy is issued")]

use std::collections::VecDeque;

use super::access::{self, AccessFault, AccessReport, Memories, for_lanes};
use super::lanes::Frame;
use super::warp::{Context, Split, Warp, WarpFault, lanes_with};
use crate::fault::FaultKind;
use crate::observer::{Access, BadAccess, CopyDone, Recorder};
use crate::program::asynchronous::{AsyncCopy, CopyExtent, wait};
use crate::program::memory_op::{MemoryOp, Space};
use crate::program::op::Op;

/// The copies of a warp that have been issued and not yet waited for.
#[derive(Debug)]
pub(crate) struct CopyQueue {
    /// In order of issue.
    copies: VecDeque<PendingCopy>,
    /// Groups that each lane has committed.
    committed: [u32; 32],
}

/// One `cp.async` of a warp.
#[derive(Debug)]
pub(crate) struct PendingCopy {
    /// The `cp.async`.
    instruction: u32,
    /// Lanes whose part is still to be done.
    lanes: u32,
    /// Bytes for each lane.
    bytes: usize,
    /// The group that each lane's copy belongs to.
    groups: [u32; 32],
    /// Offsets in shared memory, which were checked against its size.
    offsets: [u32; 32],
    /// The bytes that were read, 16 for each lane; none if nothing reads them.
    data: Option<Box<[[u8; 16]; 32]>>,
}

/// Copies of a warp that may be under way. To fill the shared memory of any GPU takes a ninth of
/// them where all lanes copy four bytes each.
const MOST_COPIES: usize = 1 << 14;

/// Number of earlier copies that are searched for an overwritten one: a loop's body rarely has
/// more.
const LOOKED_BACK: usize = 32;

impl PendingCopy {
    /// Returns true if `later` writes the same bytes of the same lanes at the same wait.
    fn is_overwritten_by(&self, later: &Self) -> bool {
        let same = |lane: usize| {
            self.offsets[lane] == later.offsets[lane] && self.groups[lane] == later.groups[lane]
        };
        self.instruction == later.instruction
            && self.lanes == later.lanes
            && self.bytes == later.bytes
            && (0..32).filter(|lane| self.lanes >> lane & 1 != 0).all(same)
    }

    /// The event that the part of `mask` is done; `waited` for, or because the lanes exit.
    pub(super) fn done(&self, warp: u32, mask: u32, waited: bool) -> CopyDone<'_> {
        CopyDone {
            instruction: self.instruction,
            warp,
            mask,
            bytes: self.bytes as u32,
            offsets: &self.offsets,
            waited,
        }
    }
}

impl CopyQueue {
    pub(crate) const fn new() -> Self {
        Self { copies: VecDeque::new(), committed: [0; 32] }
    }

    pub(crate) fn clear(&mut self) {
        self.copies.clear();
        self.committed = [0; 32];
    }

    /// Adds a copy to the queue. One that the new copy overwrites, byte for byte and at the same
    /// wait, goes: a loop without a wait then holds the copies of one round.
    fn push(&mut self, copy: PendingCopy) -> Result<(), FaultKind> {
        let recent = self.copies.iter().enumerate().rev().take(LOOKED_BACK);
        let mut replaced =
            recent.filter(|(_, other)| other.is_overwritten_by(&copy)).map(|(at, _)| at);
        if let Some(at) = replaced.next_back() {
            self.copies.remove(at);
        }
        if self.copies.len() >= MOST_COPIES {
            return Err(FaultKind::TooManyCopies { copies: self.copies.len() as u32 });
        }
        self.copies.push_back(copy);
        Ok(())
    }

    /// Does the lanes' copies for whose group `ready` holds, given the lane and the group; `done`
    /// is told of each copy and its lanes.
    fn complete(
        &mut self,
        memories: &Memories<'_>,
        lanes: u32,
        ready: impl Fn(usize, u32) -> bool,
        done: &mut impl FnMut(&PendingCopy, u32),
    ) {
        for copy in &mut self.copies {
            let before = copy.lanes;
            for_lanes(copy.lanes & lanes, |lane| {
                if ready(lane, copy.groups[lane]) {
                    if let Some(data) = &copy.data {
                        memories.write_shared(copy.offsets[lane], &data[lane][..copy.bytes]);
                    }
                    copy.lanes &= !(1 << lane);
                }
            });
            if before != copy.lanes {
                done(copy, before & !copy.lanes);
            }
        }
        while self.copies.front().is_some_and(|copy| copy.lanes == 0) {
            self.copies.pop_front();
        }
    }

    /// Does every copy of `lanes`: they wait for all, or exit.
    pub(crate) fn complete_all(
        &mut self,
        memories: &Memories<'_>,
        lanes: u32,
        done: &mut impl FnMut(&PendingCopy, u32),
    ) {
        if !self.copies.is_empty() {
            self.complete(memories, lanes, |_, _| true, done);
        }
    }

    /// Commit the groups of `lanes`, or wait for some.
    pub(crate) fn group(
        &mut self,
        memories: &Memories<'_>,
        op: &Op,
        lanes: u32,
        done: &mut impl FnMut(&PendingCopy, u32),
    ) {
        match op.n {
            wait::COMMIT => for_lanes(lanes, |lane| {
                self.committed[lane] = self.committed[lane].wrapping_add(1);
            }),
            wait::GROUPS => {
                // The latest `a` groups may be left, and copies in no group yet.
                let committed = self.committed;
                let ready = |lane: usize, group| committed[lane].wrapping_sub(group) > op.a;
                self.complete(memories, lanes, ready, done);
            }
            _ => self.complete_all(memories, lanes, done),
        }
    }
}

impl Warp {
    /// Tells the observer of an access by an operation that is none of the ordinary ones; the
    /// addresses are in `report`.
    #[expect(clippy::too_many_arguments, reason = "what makes up an access")]
    pub(super) fn tell(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        op: &MemoryOp,
        time: u64,
        space: Space,
        mask: u32,
        bytes: u32,
        report: &AccessReport,
    ) {
        let access = Access {
            instruction: op.instruction,
            warp: self.index,
            time,
            space: access::reported_space(space),
            kind: op.kind,
            bytes_per_lane: bytes,
            mask,
            pattern: access::pattern(&report.addresses, mask, u64::from(bytes)),
            addresses: &report.addresses,
            continues: false,
            distances: None,
        };
        context.tell(recorder, &access);
    }

    /// `cp.async` by the lanes of `mask`, at least one.
    #[expect(clippy::too_many_arguments, reason = "the parts of one split's state")]
    pub(super) fn copy_async(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &Split,
        mask: u32,
        report: &mut AccessReport,
    ) -> Result<(), WarpFault> {
        let copy = &context.program.tables.async_copies[op.a as usize];
        let fault = |fault: AccessFault| fault.at(split.pc);
        let memories = &context.memories;
        let bytes = copy.destination.bytes_per_lane();
        let extents = extents(frame, copy, mask, bytes).map_err(fault)?;
        let from = access::checked_addresses(frame, &copy.source);
        let to = access::checked_addresses(frame, &copy.destination);
        let mut mask = mask;
        if context.skip_bad_accesses {
            let asked = mask;
            for lane in (0..32).filter(|lane| asked >> lane & 1 != 0) {
                let tried = try_lane(memories, lane, &from, extents[lane as usize], &to, bytes);
                if let Err(AccessFault { kind, .. }) = tried {
                    let (instruction, warp) = (copy.source.instruction, self.index);
                    recorder.bad_access(&BadAccess { instruction, warp, lane, kind: &kind });
                    mask &= !(1 << lane);
                }
            }
            if mask == 0 {
                return Ok(());
            }
        }
        aligned(&from, lanes_with(mask, |lane| extents[lane] > 0), bytes).map_err(fault)?;
        aligned(&to, mask, bytes).map_err(fault)?;

        let mut data = copy.source.moves.then(|| Box::new([[0; 16]; 32]));
        // The lanes that read are reported together if they read the same number of bytes.
        let mut rest = lanes_with(mask, |lane| extents[lane] > 0);
        while rest != 0 {
            let extent = extents[rest.trailing_zeros() as usize & 31];
            let lanes = lanes_with(rest, |lane| extents[lane] == extent);
            match &mut data {
                Some(data) => {
                    let hosts = memories.hosts(Space::Global, lanes, &from, extent, false);
                    let hosts = hosts.map_err(fault)?;
                    for_lanes(lanes, |lane| {
                        let target = &mut data[lane][..extent as usize];
                        // SAFETY: the host address was checked for `extent` bytes.
                        unsafe { access::racing::read_bytes(hosts[lane], target) };
                    });
                }
                None => memories
                    .probe_lanes(Space::Global, lanes, &from, extent, false)
                    .map_err(fault)?,
            }
            report.addresses = from;
            let time = self.clock(context.program, split, copy.source.instruction);
            self.tell(context, recorder, &copy.source, time, Space::Global, lanes, extent, report);
            rest &= !lanes;
        }
        let offsets = memories.own_shared(mask, &to, bytes).map_err(fault)?;
        report.addresses = to;
        let time = self.clock(context.program, split, copy.source.instruction);
        self.tell(context, recorder, &copy.destination, time, Space::Shared, mask, bytes, report);
        let groups = self.copies.committed;
        let instruction = copy.source.instruction;
        let bytes = bytes as usize;
        let copy = PendingCopy { instruction, lanes: mask, bytes, groups, offsets, data };
        self.copies.push(copy).map_err(|kind| WarpFault { pc: split.pc, lane: None, kind })
    }
}

/// Checks that one lane's copy can be done.
fn try_lane(
    memories: &Memories<'_>,
    lane: u32,
    from: &[u64; 32],
    extent: u32,
    to: &[u64; 32],
    bytes: u32,
) -> Result<(), AccessFault> {
    let mask = 1 << lane;
    if extent > 0 {
        aligned(from, mask, bytes)?;
        memories.hosts(Space::Global, mask, from, extent, false)?;
    }
    aligned(to, mask, bytes)?;
    memories.own_shared(mask, to, bytes)?;
    Ok(())
}

/// Returns the number of bytes that each lane reads.
fn extents(
    frame: &Frame,
    copy: &AsyncCopy,
    mask: u32,
    bytes: u32,
) -> Result<[u32; 32], AccessFault> {
    Ok(match copy.extent {
        CopyExtent::All => [bytes; 32],
        CopyExtent::Bytes(row) => {
            let extents = frame.lanes::<u32>(row);
            let wrong = lanes_with(mask, |lane| extents[lane] > bytes);
            if wrong != 0 {
                let lane = wrong.trailing_zeros();
                let kind = FaultKind::BadOperand {
                    what: "cp.async's source size",
                    value: u64::from(extents[lane as usize]),
                    allowed: "at most the size of the copy",
                };
                return Err(AccessFault { lane, kind });
            }
            extents
        }
        CopyExtent::Unless(guard) => {
            let ignore = frame.lanes_where(guard.predicate) ^ guard.invert;
            std::array::from_fn(|lane| if ignore >> lane & 1 != 0 { 0 } else { bytes })
        }
    })
}

/// Every address of `mask` must be a multiple of `bytes`, a power of two.
pub(super) fn aligned(addresses: &[u64; 32], mask: u32, bytes: u32) -> Result<(), AccessFault> {
    let wrong = lanes_with(mask, |lane| addresses[lane] & (u64::from(bytes) - 1) != 0);
    if wrong == 0 {
        return Ok(());
    }
    let lane = wrong.trailing_zeros();
    let address = addresses[lane as usize & 31];
    Err(AccessFault { lane, kind: FaultKind::Misaligned { address, bytes } })
}
