//! Bulk copies of ranges: `cp.async.bulk`, `cp.reduce.async.bulk`, `st.bulk`.
//!
//! They are done when they are issued, which the manual allows: its groups and mbarriers only say
//! when a copy is done at the latest. So waiting for a group is nothing to do. An mbarrier is told
//! of the bytes when the copy ends ([`super::ending`]). Copies out of shared memory may be held
//! back on request ([`super::late_stores`]).

#![allow(unsafe_code, reason = "ranges are checked and then copied")]

use super::access::{AccessFault, Memories, checked_addresses, racing, reported_space};
use super::async_copy::aligned;
use super::atomic;
use super::ending::{Issuer, Signal};
use super::lanes::Frame;
use super::late_stores::Store;
use super::warp::{Context, Split, Warp, WarpFault};
use crate::fault::FaultKind;
use crate::observer::{Access, MbarrierStep, MbarrierUse, Pattern, Recorder};
use crate::program::asynchronous::BulkOp;
use crate::program::memory_op::{AtomicOperation, MemoryOp, Space, window};
use crate::program::op::Op;

/// One lane's part of a bulk operation: addresses in the spaces of its operands.
pub(super) struct Range {
    lane: u32,
    bytes: u32,
    source: u64,
    destination: u64,
    mbarrier: u64,
    byte_mask: u32,
    /// Bytes at either end of the source that may lie outside memory.
    ignored: [u32; 2],
}

impl Range {
    /// The range with the same destination and mbarrier in the CTA of this rank.
    fn in_cta(&self, rank: u32) -> Self {
        let within = |address| window::of_rank(rank) + address % window::CTA_BYTES;
        let (destination, mbarrier) = (within(self.destination), within(self.mbarrier));
        Self { destination, mbarrier, ..*self }
    }

    /// The bytes of the range whose source must lie in memory.
    fn needed(&self) -> std::ops::Range<u32> {
        let [left, right] = self.ignored;
        let end = self.bytes.saturating_sub(right);
        left.min(end)..end
    }
}

/// The ranges that one execution of a bulk operation reads or writes, which make one request
/// together.
pub(super) struct Ranges {
    time: u64,
    any: bool,
}

impl Ranges {
    /// None yet, at a time of the warp's clock.
    pub(super) fn new(time: u64) -> Self {
        Self { time, any: false }
    }

    /// Tells the recorder of the next one: its address and bytes.
    #[expect(clippy::too_many_arguments, reason = "what makes up an access")]
    pub(super) fn tell(
        &mut self,
        warp: &Warp,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        op: &MemoryOp,
        space: Space,
        lane: u32,
        (address, bytes): (u64, u32),
    ) {
        let access = Access {
            instruction: op.instruction,
            warp: warp.index,
            time: self.time,
            space: reported_space(space),
            kind: op.kind,
            bytes_per_lane: bytes,
            mask: 1 << lane,
            pattern: Pattern::General,
            addresses: &[address; 32],
            continues: self.any,
            distances: None,
        };
        context.tell(recorder, &access);
        self.any = true;
    }
}

impl Warp {
    /// A bulk operation by the lanes of `mask`, at least one, one after the other.
    pub(super) fn bulk(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &Split,
        mask: u32,
    ) -> Result<(), WarpFault> {
        let bulk = &context.program.tables.bulk_ops[op.a as usize];
        let mask = if bulk.once { mask & mask.wrapping_neg() } else { mask };
        let memories = &context.memories;
        let instruction = bulk.destination.instruction;
        let time = self.clock(context.program, split, instruction);
        let (mut reads, mut writes) = (Ranges::new(time), Ranges::new(time));
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let fault = |fault: AccessFault| fault.at(split.pc);
            let issuer = self.issuer(context, instruction, split.pc, lane);
            let (range, ranks) = range(frame, bulk, lane);
            let range = checked(bulk, memories, range).map_err(fault)?;
            if range.bytes == 0 {
                continue;
            }
            let needed = range.needed();
            if let (Some(source), false) = (&bulk.source, needed.is_empty()) {
                let first = range.source.wrapping_add(u64::from(needed.start));
                let bytes = needed.len() as u32;
                reads.tell(self, context, recorder, source, source.space, lane, (first, bytes));
            }
            if bulk.is_store() && memories.copies_late() {
                check_store(bulk, memories, &range).map_err(fault)?;
                let written = (range.destination, range.bytes);
                writes.tell(self, context, recorder, &bulk.destination, space(bulk), lane, written);
                let store = Store::Range { op: op.a, range };
                self.hold_store(context, issuer, store).map_err(fault)?;
                continue;
            }
            // The same place in each CTA of the mask, and its own mbarrier.
            let targets: Vec<Range> = match ranks {
                None => vec![range],
                Some(ranks) => ranks_of(ranks).map(|rank| range.in_cta(rank)).collect(),
            };
            for range in targets {
                perform(bulk, memories, &range, issuer).map_err(fault)?;
                if bulk.mbarrier.is_some() {
                    self.tell_bytes(recorder, instruction, lane, range.mbarrier);
                }
                let written = (range.destination, range.bytes);
                writes.tell(self, context, recorder, &bulk.destination, space(bulk), lane, written);
                if bulk.mbarrier.is_some() {
                    let signal = Signal::Bytes(range.bytes);
                    self.signal(context, recorder, issuer, range.mbarrier, signal)
                        .map_err(fault)?;
                }
            }
        }
        Ok(())
    }

    /// Tells the recorder of the bytes that an mbarrier will be told of, before it is told of the
    /// access itself.
    pub(super) fn tell_bytes(
        &self,
        recorder: &mut dyn Recorder,
        instruction: u32,
        lane: u32,
        mbarrier: u64,
    ) {
        recorder.mbarrier(&MbarrierUse {
            instruction,
            warp: self.index,
            mask: 1 << lane,
            step: MbarrierStep::CompleteBytes,
            completes: 0,
            addresses: &[mbarrier; 32],
        });
    }
}

/// The ranks of a mask.
pub(super) fn ranks_of(mask: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).filter(move |rank| mask >> rank & 1 != 0)
}

/// The space of the destination; generic addresses of bulk operations mean shared memory.
fn space(bulk: &BulkOp) -> Space {
    match bulk.destination.space {
        Space::Generic => Space::Shared,
        space => space,
    }
}

/// A lane's operands, and the mask of the ranks to copy to.
fn range(frame: &Frame, bulk: &BulkOp, lane: u32) -> (Range, Option<u32>) {
    let at = lane as usize;
    let value = |row: Option<u32>| row.map(|row| frame.lane::<u32>(row, at));
    let bytes = match bulk.size.wide {
        // A size that does not fit in 32 bits is larger than any memory.
        true => u32::try_from(frame.lane::<u64>(bulk.size.row, at)).unwrap_or(u32::MAX),
        false => frame.lane::<u32>(bulk.size.row, at),
    };
    let range = Range {
        lane,
        bytes,
        source: bulk.source.as_ref().map_or(0, |source| checked_addresses(frame, source)[at]),
        destination: checked_addresses(frame, &bulk.destination)[at],
        mbarrier: bulk.mbarrier.as_ref().map_or(0, |op| checked_addresses(frame, op)[at]),
        byte_mask: value(bulk.byte_mask).unwrap_or(u32::MAX),
        ignored: bulk.ignored.map_or([0; 2], |rows| rows.map(|row| frame.lane::<u32>(row, at))),
    };
    (range, value(bulk.multicast))
}

/// Size and alignment are as they must be; a generic address becomes one of shared memory.
fn checked(bulk: &BulkOp, memories: &Memories<'_>, mut range: Range) -> Result<Range, AccessFault> {
    let lane = range.lane;
    let multiple = bulk.size.multiple_of;
    if !range.bytes.is_multiple_of(multiple) {
        let kind = FaultKind::BadOperand {
            what: "the size of a bulk copy",
            value: u64::from(range.bytes),
            allowed: if multiple == 16 { "a multiple of 16" } else { "a multiple of 8" },
        };
        return Err(AccessFault { lane, kind });
    }
    if let Some(&bytes) = range.ignored.iter().find(|&&bytes| bytes > 15) {
        let kind = FaultKind::BadOperand {
            what: "the number of bytes to ignore of a bulk copy",
            value: u64::from(bytes),
            allowed: "0 to 15",
        };
        return Err(AccessFault { lane, kind });
    }
    if bulk.destination.space == Space::Generic {
        let what = "the destination of a bulk operation";
        let address = range.destination;
        let shared = memories.shared_address(Space::Generic, address);
        let kind = FaultKind::NotShared { what, address };
        range.destination = shared.ok_or(AccessFault { lane, kind })?;
    }
    for address in [range.source, range.destination] {
        aligned(&[address; 32], 1 << lane, multiple)?;
    }
    Ok(range)
}

/// Copies or reduces a range.
pub(super) fn perform(
    bulk: &BulkOp,
    memories: &Memories<'_>,
    range: &Range,
    issuer: Issuer,
) -> Result<(), AccessFault> {
    let &Range { lane, bytes, source, destination, .. } = range;
    let host = |space, address, bytes, write| {
        let hosts = memories.hosts(space, 1 << lane, &[address; 32], bytes, write)?;
        Ok::<_, AccessFault>(hosts[lane as usize & 31])
    };
    if !bulk.destination.moves {
        return perform_nothing(bulk, memories, range);
    }
    let to = host(space(bulk), destination, bytes, true)?;
    if bulk.own && !memories.is_own_shared(to) {
        let (what, address) = ("the destination of a bulk operation", destination);
        return Err(AccessFault { lane, kind: FaultKind::OtherCta { what, address } });
    }
    // What other operations write to shared memory, they write in order with it.
    let is_copy = bulk.mbarrier.is_some() && bulk.destination.atomic.is_none();
    let before = if is_copy { memories.contents_before(to, bytes) } else { None };
    // SAFETY: both ranges are good for `bytes` bytes; they may overlap. Elements of reductions
    // are aligned, since ranges are aligned to more.
    unsafe {
        match (&bulk.source, &bulk.destination.atomic) {
            (None, _) => racing::write_bytes(&vec![0; bytes as usize], to),
            (Some(op), Some(atomic)) => {
                let from = host(op.space, source, bytes, false)?;
                reduce(atomic.operation, bulk.destination.element_bytes, from, to, bytes);
            }
            (Some(op), None) if range.ignored != [0; 2] => {
                let needed = range.needed();
                if !needed.is_empty() {
                    let from = source.wrapping_add(u64::from(needed.start));
                    let from = host(op.space, from, needed.len() as u32, false)?;
                    racing::copy_bytes(from, to.add(needed.start as usize), needed.len());
                }
                // The remaining bytes that are accessible are copied; the manual leaves the others
                // open.
                for at in (0..needed.start).chain(needed.end..bytes) {
                    if let Ok(from) = host(op.space, source.wrapping_add(at.into()), 1, false) {
                        racing::copy_bytes(from, to.add(at as usize), 1);
                    }
                }
            }
            (Some(op), None) => {
                let from = host(op.space, source, bytes, false)?;
                if range.byte_mask & 0xffff == 0xffff {
                    racing::copy_bytes(from, to, bytes as usize);
                } else {
                    let chosen = |&at: &usize| range.byte_mask >> (at % 16) & 1 != 0;
                    for at in (0..bytes as usize).filter(chosen) {
                        racing::copy_bytes(from.add(at), to.add(at), 1);
                    }
                }
            }
        }
    }
    if let Some(before) = before {
        memories.hold_back(issuer, to, destination, &before);
    }
    if bulk.mbarrier.is_none() {
        return Ok(());
    }
    in_the_cta_of(memories, lane, range.mbarrier, destination, to)
}

/// Checks the addresses of a copy out of shared memory that is held back.
fn check_store(bulk: &BulkOp, memories: &Memories<'_>, range: &Range) -> Result<(), AccessFault> {
    let mask = 1 << range.lane;
    memories.hosts(space(bulk), mask, &[range.destination; 32], range.bytes, true)?;
    if let Some(source) = &bulk.source {
        memories.hosts(source.space, mask, &[range.source; 32], range.bytes, false)?;
    }
    Ok(())
}

/// As [`perform`], where nothing needs the bytes: addresses are checked, and nothing is copied.
fn perform_nothing(
    bulk: &BulkOp,
    memories: &Memories<'_>,
    range: &Range,
) -> Result<(), AccessFault> {
    let &Range { lane, bytes, source, destination, mbarrier, .. } = range;
    let to = space(bulk);
    memories.probe_lanes(to, 1 << lane, &[destination; 32], bytes, true)?;
    if let Some(op) = &bulk.source {
        let needed = range.needed();
        if !needed.is_empty() {
            let from = source.wrapping_add(u64::from(needed.start));
            memories.probe_lanes(op.space, 1 << lane, &[from; 32], needed.len() as u32, false)?;
        }
    }
    if to != Space::Shared {
        return Ok(());
    }
    let host = memories.shared_host(lane, destination, bytes, true)?;
    memories.leave_out(destination, bytes);
    if bulk.own && !memories.is_own_shared(host) {
        let (what, address) = ("the destination of a bulk operation", destination);
        return Err(AccessFault { lane, kind: FaultKind::OtherCta { what, address } });
    }
    if bulk.mbarrier.is_none() {
        return Ok(());
    }
    in_the_cta_of(memories, lane, mbarrier, destination, host)
}

/// A copy's mbarrier must be in the CTA whose memory is copied to.
pub(super) fn in_the_cta_of(
    memories: &Memories<'_>,
    lane: u32,
    mbarrier: u64,
    destination: u64,
    to: *const u8,
) -> Result<(), AccessFault> {
    let same_cta = mbarrier / window::CTA_BYTES == destination / window::CTA_BYTES
        || memories.is_own_shared(to) && {
            let host = memories.shared_host(lane, mbarrier, 8, true)?;
            memories.is_own_shared(host)
        };
    if same_cta {
        return Ok(());
    }
    let (what, address) = ("the mbarrier of the copy", mbarrier);
    Err(AccessFault { lane, kind: FaultKind::OtherCta { what, address } })
}

/// Combines each element of `to` with that of `from` by `operation`.
///
/// # Safety
///
/// Both are good for `bytes` bytes and aligned to an element. Nobody writes to `from` meanwhile:
/// sources of reductions are in shared memory, or copies of it.
pub(super) unsafe fn reduce(
    operation: AtomicOperation,
    element: u8,
    from: *const u8,
    to: *mut u8,
    bytes: u32,
) {
    for at in (0..bytes as usize).step_by(usize::from(element)) {
        let mut operand = [0; 8];
        // SAFETY: the element lies within both ranges.
        unsafe {
            let target = operand.as_mut_ptr();
            std::ptr::copy_nonoverlapping(from.add(at), target, usize::from(element).min(8));
            let operand = u64::from_le_bytes(operand);
            atomic::update(to.add(at), element, |old| operation.apply(old, operand, 0));
        }
    }
}
