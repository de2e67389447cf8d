//! Loads, stores and atomics of one warp.
//!
//! The common shapes, all lanes at one address or at consecutive ones, need one bounds check and
//! one copy; everything else goes lane by lane after one check of the whole range where possible.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use gpucast_ptx_frontend::types::StateSpace;

use super::lane::Row;
use super::lanes::{FULL_MASK, Frame};
use super::shared::ClusterShared;
use crate::fault::FaultKind;
use crate::memory::DeviceMemory;
use crate::observer::{AccessKind, Pattern};
use crate::program::memory_op::{Atomic, Extend, MemoryOp, Space, window};
use crate::program::op::{Op, copy_local};

/// The memories that a warp sees.
///
/// # Invariants
///
/// Each pointer is aligned to 64 bytes (16 for local memory) and good for the bytes that go with
/// it, of all 32 lanes for `local`; constant and parameter memory is only read.
pub(crate) struct Memories<'a> {
    pub(crate) device: &'a DeviceMemory,
    pub(crate) shared: *mut u8,
    pub(crate) shared_bytes: u64,
    /// The shared memories of the cluster.
    pub(crate) cluster: &'a ClusterShared,
    /// This warp's local memory: `local_bytes` for lane 0, then lane 1, and so on.
    pub(crate) local: *mut u8,
    /// Bytes of one lane's local memory, a multiple of 16.
    pub(crate) local_bytes: u64,
    pub(crate) constant: *const u8,
    pub(crate) constant_bytes: u64,
    pub(crate) parameters: *const u8,
    pub(crate) parameter_bytes: u64,
}

/// What an access did, for the observer.
#[derive(Clone, Debug)]
pub(crate) struct AccessReport {
    pub(crate) addresses: [u64; 32],
    pub(crate) pattern: Pattern,
}

/// A lane's access failed.
#[derive(Debug)]
pub(crate) struct AccessFault {
    pub(crate) lane: u32,
    pub(crate) kind: FaultKind,
}

/// A stretch of host memory that backs a stretch of addresses.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    /// Host address of `start`.
    pub(super) host: *mut u8,
    /// First address.
    pub(super) start: u64,
    pub(super) bytes: u64,
}

impl Segment {
    /// Whether `bytes` bytes at `address` lie within.
    #[inline(always)]
    pub(super) fn holds(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        offset <= self.bytes && self.bytes - offset >= bytes
    }

    /// # Safety
    ///
    /// `address` lies within.
    #[inline(always)]
    pub(super) unsafe fn at(&self, address: u64) -> *mut u8 {
        // SAFETY: within the segment by the contract.
        unsafe { self.host.add((address - self.start) as usize) }
    }
}

impl Memories<'_> {
    /// The segment of a space that holds `address`, for spaces that all lanes share.
    #[inline(always)]
    pub(super) fn segment(&self, space: Space, address: u64) -> Option<Segment> {
        let segment = |host, bytes| Segment { host, start: 0, bytes };
        Some(match space {
            Space::Global => {
                let allocation = self.device.find(address)?;
                Segment {
                    host: allocation.host(),
                    start: allocation.address,
                    bytes: allocation.bytes,
                }
            }
            Space::Shared => segment(self.shared, self.shared_bytes),
            Space::Const => segment(self.constant.cast_mut(), self.constant_bytes),
            Space::Param => segment(self.parameters.cast_mut(), self.parameter_bytes),
            Space::Local | Space::Generic => return None,
        })
    }

    /// Copy bytes within each lane's local memory: what a call passes in `.param` variables.
    /// `frames` are the offsets of the lanes' frames, where the operation says that they count.
    ///
    /// The layout has placed both variables within the lanes' local memory.
    pub(crate) fn copy_local(&self, op: &Op, frames: &[u32; 32], mask: u32) {
        let bytes = u64::from(op.c);
        let fits = |at: u64| at + bytes <= self.local_bytes;
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let frame = |flag| if op.n & flag != 0 { u64::from(frames[lane]) } else { 0 };
            let from = frame(copy_local::FROM_FRAME) + u64::from(op.a);
            let to = frame(copy_local::TO_FRAME) + u64::from(op.b);
            debug_assert!(fits(from) && fits(to), "call arguments lie in local memory");
            if !fits(from) || !fits(to) {
                continue;
            }
            let lane = self.local.wrapping_add(lane * self.local_bytes as usize);
            // SAFETY: both ranges lie within the lane's local memory.
            unsafe {
                let (from, to) = (lane.add(from as usize), lane.add(to as usize));
                std::ptr::copy(from, to, bytes as usize);
            }
        }
    }

    /// Where one lane's access goes.
    pub(super) fn resolve(
        &self,
        space: Space,
        lane: u32,
        address: u64,
        bytes: u32,
        write: bool,
    ) -> Result<*mut u8, FaultKind> {
        let segment = match space {
            Space::Shared if address >= window::CTA_BYTES => self.of_cluster(address)?,
            Space::Local => Some(Segment {
                host: self.local.wrapping_add(lane as usize * self.local_bytes as usize),
                start: 0,
                bytes: self.local_bytes,
            }),
            _ => self.segment(space, address),
        };
        match segment {
            Some(segment) if segment.holds(address, u64::from(bytes)) => {
                // SAFETY: just checked.
                Ok(unsafe { segment.at(address) })
            }
            _ => Err(FaultKind::OutOfBounds {
                space: space.state_space(),
                address,
                bytes,
                write,
                nearest: match space {
                    Space::Global => self.device.nearest(address),
                    _ => None,
                },
                limit: match space {
                    Space::Shared => Some(self.shared_bytes),
                    Space::Local => Some(self.local_bytes),
                    Space::Const => Some(self.constant_bytes),
                    Space::Param => Some(self.parameter_bytes),
                    Space::Global | Space::Generic => None,
                },
            }),
        }
    }
}

/// The generic-address window of `address`, and its base.
#[inline(always)]
pub(super) fn window_of(address: u64) -> (Space, u64) {
    match address / window::BYTES {
        1 => (Space::Shared, window::SHARED),
        2 => (Space::Local, window::LOCAL),
        3 => (Space::Const, window::CONST),
        4 => (Space::Param, window::PARAM),
        _ => (Space::Global, 0),
    }
}

/// Each lane's address.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program.
#[inline(always)]
pub(crate) unsafe fn addresses(frame: &Frame, op: &MemoryOp) -> [u64; 32] {
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

/// Whether all lanes use one address or consecutive ones, and the first.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program.
#[inline(always)]
unsafe fn regular(frame: &Frame, op: &MemoryOp) -> Option<(Pattern, u64)> {
    /// `step` is the distance of consecutive addresses.
    macro_rules! regular {
        ($base:expr, $ty:ty, $step:expr) => {{
            let base = $base;
            let (mut uniform, mut consecutive) = (0, 0);
            for lane in 0..32 {
                let distance = base[lane].wrapping_sub(base[0]);
                uniform |= distance;
                consecutive |= distance ^ (lane as $ty * $step);
            }
            if uniform == 0 {
                Pattern::Uniform
            } else if consecutive == 0 {
                Pattern::Consecutive
            } else {
                return None;
            }
        }};
    }
    let bytes = op.bytes_per_lane();
    let Some(row) = op.base else { return Some((Pattern::Uniform, op.offset)) };
    // SAFETY: the base is a row of the width that the operation says.
    unsafe {
        if op.wide_base {
            let base = frame.row::<u64>(row);
            let pattern = regular!(base, u64, u64::from(bytes));
            Some((pattern, base[0].wrapping_add(op.offset)))
        } else {
            let base = frame.row::<u32>(row);
            let pattern = regular!(base, u32, bytes);
            Some((pattern, u64::from(base[0].wrapping_add(op.offset as u32))))
        }
    }
}

/// One copy or broadcast for the full warp. Does nothing and says so if the access is not as simple as
/// that, or is wrong.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program and is simple; the lanes' addresses
/// are as `pattern` and `first` say.
#[inline(always)]
unsafe fn transfer_regular(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    pattern: Pattern,
    first: u64,
) -> bool {
    let bytes = u64::from(op.element_bytes);
    let span = if pattern == Pattern::Consecutive { 32 * bytes } else { bytes };
    let segment = memories.segment(op.space, first);
    let Some(segment) = segment.filter(|segment| segment.holds(first, span)) else { return false };
    let ([Some(row), ..], 0) = (op.rows, first & (bytes - 1)) else { return false };
    // SAFETY: the segment holds the accesses of all lanes, aligned to the element; rows are as
    // wide as the element.
    unsafe {
        let host = segment.at(first);
        match (pattern, op.kind, bytes) {
            (Pattern::Consecutive, AccessKind::Load | AccessKind::LoadReadOnly, 4) => {
                *frame.row_mut::<u32>(row) = *host.cast::<[u32; 32]>();
            }
            (Pattern::Consecutive, AccessKind::Load | AccessKind::LoadReadOnly, _) => {
                *frame.row_mut::<u64>(row) = *host.cast::<[u64; 32]>();
            }
            (Pattern::Consecutive, AccessKind::Store, 4) => {
                *host.cast::<[u32; 32]>() = *frame.row::<u32>(row);
            }
            (Pattern::Consecutive, AccessKind::Store, _) => {
                *host.cast::<[u64; 32]>() = *frame.row::<u64>(row);
            }
            (Pattern::Uniform, AccessKind::Load | AccessKind::LoadReadOnly, 4) => {
                *frame.row_mut::<u32>(row) = [*host.cast::<u32>(); 32];
            }
            (Pattern::Uniform, AccessKind::Load | AccessKind::LoadReadOnly, _) => {
                *frame.row_mut::<u64>(row) = [*host.cast::<u64>(); 32];
            }
            _ => return false,
        }
    }
    true
}

/// How the addresses of a full warp relate.
#[inline(always)]
pub(super) fn pattern(addresses: &[u64; 32], mask: u32, bytes: u64) -> Pattern {
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

/// Execute a memory operation with the lanes of `mask` and report its addresses, unless the lanes
/// of a generic access go to several spaces: then nothing is done and the answer is `None`; see
/// [`generic_part`]. The answer is the space that the access went to.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program; `mask` is not empty.
#[inline(always)]
pub(crate) unsafe fn access(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    mask: u32,
    report: &mut AccessReport,
) -> Result<Option<Space>, AccessFault> {
    // SAFETY: passed on.
    unsafe {
        if mask == FULL_MASK
            && op.is_simple
            && let Some((pattern, first)) = regular(frame, op)
            && transfer_regular(frame, op, memories, pattern, first)
        {
            report.pattern = pattern;
            report.addresses[0] = first;
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

/// Execute the part of a memory operation that goes to `space` with the lanes of `mask`, whose
/// `report.addresses` are addresses of that space, and fill in the rest of the report.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program; `mask` is not empty.
#[inline(always)]
pub(crate) unsafe fn access_space(
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
    if write && matches!(space, Space::Const | Space::Param) {
        let lane = mask.trailing_zeros();
        let address = addresses[lane as usize];
        let space = if space == Space::Const { "constant" } else { "parameter" };
        return Err(AccessFault { lane, kind: FaultKind::ReadOnly { space, address } });
    }

    let first_lane = mask.trailing_zeros() as usize & 31;
    let first = addresses[first_lane];
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
        Some(segment) if op.is_simple && !write => {
            // SAFETY: both ends of the range lie within the segment; a simple operation has a
            // destination row as wide as its element.
            unsafe { gather(frame, op, &segment, mask, addresses, first) };
            return Ok(());
        }
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
            None => transfer_lanes(frame, op, &hosts, mask, write),
        }
    }
    Ok(())
}

/// A simple load with any addresses.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` is simple; `segment` holds the accesses of all lanes of
/// `mask`, `first` among them.
#[inline(always)]
unsafe fn gather(
    frame: &Frame,
    op: &MemoryOp,
    segment: &Segment,
    mask: u32,
    addresses: &[u64; 32],
    first: u64,
) {
    // Lanes that take no part load what the first one loads; the masked write drops it.
    let address = |lane: usize| if mask >> lane & 1 != 0 { addresses[lane] } else { first };
    let [Some(row), ..] = op.rows else { return };
    // SAFETY: by the contract.
    unsafe {
        if op.element_bytes == 4 {
            let mut value = [0; 32];
            for lane in 0..32 {
                value[lane] = segment.at(address(lane)).cast::<u32>().read();
            }
            frame.set_row::<u32>(row, mask, value);
        } else {
            let mut value = [0; 32];
            for lane in 0..32 {
                value[lane] = segment.at(address(lane)).cast::<u64>().read();
            }
            frame.set_row::<u64>(row, mask, value);
        }
    }
}

/// Give the lanes of `mask` zeros for what an access would have brought into their registers.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program.
pub(crate) unsafe fn load_zeros(frame: &Frame, op: &MemoryOp, mask: u32) {
    let rows = match (&op.atomic, op.kind) {
        (Some(atomic), _) => &atomic.destinations,
        (None, AccessKind::Load | AccessKind::LoadReadOnly) => &op.rows,
        (None, _) => return,
    };
    for row in rows.iter().take(usize::from(op.elements)).copied().flatten() {
        // SAFETY: rows are as wide as the operation says.
        unsafe {
            match (op.element_bytes, op.wide_registers) {
                (16, _) => frame.set_row::<u128>(row, mask, [0; 32]),
                (_, true) => frame.set_row::<u64>(row, mask, [0; 32]),
                (_, false) => frame.set_row::<u32>(row, mask, [0; 32]),
            }
        }
    }
}

/// A digest of what each lane stores: equal for equal bytes, and very likely not for others.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` is a store of its program.
pub(crate) unsafe fn digests(frame: &Frame, op: &MemoryOp) -> [u32; 32] {
    // Steps of FNV-1a on words, with the upper half folded in at the end.
    let mut digests = [0xcbf2_9ce4_8422_2325_u64; 32];
    let mix = |digest: &mut u64, word: u64| {
        *digest = (*digest ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        *digest ^= *digest >> 32;
    };
    for row in op.rows.iter().take(usize::from(op.elements)).copied().flatten() {
        for (lane, digest) in digests.iter_mut().enumerate() {
            // SAFETY: rows are as wide as the operation says.
            unsafe {
                if op.element_bytes == 16 {
                    let value = frame.rows.add(row as usize).cast::<u128>().add(lane).read();
                    mix(digest, value as u64);
                    mix(digest, (value >> 64) as u64);
                } else {
                    let value = get(frame.rows.add(row as usize), op.wide_registers, lane);
                    mix(digest, value & (u64::MAX >> (64 - 8 * u32::from(op.element_bytes))));
                }
            }
        }
    }
    digests.map(|digest| (digest ^ digest >> 32) as u32)
}

/// Lane by lane, element by element.
///
/// # Safety
///
/// The invariants of [`Frame`]; each host address of `mask` is good for the whole access.
#[inline(always)]
unsafe fn transfer_lanes(
    frame: &Frame,
    op: &MemoryOp,
    hosts: &[*mut u8; 32],
    mask: u32,
    write: bool,
) {
    for element in 0..usize::from(op.elements) {
        let Some(row) = op.rows[element] else { continue };
        let offset = element * usize::from(op.element_bytes);
        // SAFETY: by the contract, with rows as wide as `wide_registers` says.
        unsafe {
            match (op.element_bytes, op.wide_registers, write) {
                (16, _, false) => {
                    let row: *mut u128 = frame.rows.add(row as usize).cast();
                    for_lanes(mask, |lane| {
                        *row.add(lane) = hosts[lane].add(offset).cast::<u128>().read();
                    });
                }
                (16, _, true) => {
                    let row: *const u128 = frame.rows.add(row as usize).cast();
                    for_lanes(mask, |lane| {
                        hosts[lane].add(offset).cast::<u128>().write(*row.add(lane));
                    });
                }
                (4, false, false) => {
                    let row = frame.row_mut::<u32>(row);
                    for_lanes(mask, |lane| {
                        row[lane] = hosts[lane].add(offset).cast::<u32>().read();
                    });
                }
                (8, true, false) => {
                    let row = frame.row_mut::<u64>(row);
                    for_lanes(mask, |lane| {
                        row[lane] = hosts[lane].add(offset).cast::<u64>().read();
                    });
                }
                (bytes, wide, false) => {
                    let rows = frame.rows.add(row as usize);
                    for_lanes(mask, |lane| {
                        let value = extend(read(hosts[lane].add(offset), bytes), bytes, op.extend);
                        put(rows, wide, lane, value);
                    });
                }
                (bytes, wide, true) => {
                    let rows = frame.rows.add(row as usize);
                    for_lanes(mask, |lane| {
                        write_bytes(hosts[lane].add(offset), bytes, get(rows, wide, lane));
                    });
                }
            }
        }
    }
}

/// Call `f` for each lane of `mask`.
#[inline(always)]
pub(super) fn for_lanes(mask: u32, mut f: impl FnMut(usize)) {
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
/// `host` is good for `bytes` bytes, at most 8.
#[inline(always)]
unsafe fn read(host: *const u8, bytes: u8) -> u64 {
    // SAFETY: by the contract.
    unsafe {
        match bytes {
            1 => u64::from(host.read()),
            2 => u64::from(host.cast::<u16>().read()),
            4 => u64::from(host.cast::<u32>().read()),
            _ => host.cast::<u64>().read(),
        }
    }
}

/// # Safety
///
/// `host` is good for `bytes` bytes, at most 8.
#[inline(always)]
unsafe fn write_bytes(host: *mut u8, bytes: u8, value: u64) {
    // SAFETY: by the contract.
    unsafe {
        match bytes {
            1 => host.write(value as u8),
            2 => host.cast::<u16>().write(value as u16),
            4 => host.cast::<u32>().write(value as u32),
            _ => host.cast::<u64>().write(value),
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
/// `rows` points to a register of the width that `wide` says.
#[inline(always)]
unsafe fn put(rows: *mut Row, wide: bool, lane: usize, value: u64) {
    // SAFETY: by the contract.
    unsafe {
        if wide {
            *rows.cast::<u64>().add(lane) = value;
        } else {
            *rows.cast::<u32>().add(lane) = value as u32;
        }
    }
}

/// # Safety
///
/// As [`put`].
#[inline(always)]
unsafe fn get(rows: *const Row, wide: bool, lane: usize) -> u64 {
    // SAFETY: by the contract.
    unsafe {
        if wide { *rows.cast::<u64>().add(lane) } else { u64::from(*rows.cast::<u32>().add(lane)) }
    }
}

/// `atom` and `red`, lane after lane: the order that lanes of one instruction take is undefined,
/// and this is ours.
///
/// # Safety
///
/// The invariants of [`Frame`]; each host address of `mask` is good for all elements, which lie in
/// `space`.
unsafe fn perform_atomic(
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
        // SAFETY: passed on.
        return unsafe { perform_atomic_128(frame, atomic, hosts, mask) };
    }
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        for element in 0..usize::from(op.elements) {
            let offset = element * usize::from(op.element_bytes);
            // SAFETY: rows are as wide as `wide_registers` says; host addresses are aligned and
            // good.
            unsafe {
                let operand = get(frame.rows.add(atomic.operands[element] as usize), wide, lane);
                let compare = match atomic.compare {
                    Some(row) => get(frame.rows.add(row as usize), wide, lane),
                    None => 0,
                };
                let host = hosts[lane].add(offset);
                let old = super::atomic::update(host, op.element_bytes, |old| {
                    operation.apply(old, operand, compare)
                });
                if let Some(row) = atomic.destinations[element] {
                    put(frame.rows.add(row as usize), wide, lane, old);
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
            let row = |row: u32| frame.rows.add(row as usize).cast::<u128>().add(lane);
            let operand = *row(atomic.operands[0]);
            let compare = atomic.compare.map_or(0, |compare| *row(compare));
            let old = super::atomic::update_128(hosts[lane], |old| {
                atomic.operation.apply_128(old, operand, compare)
            });
            if let Some(destination) = atomic.destinations[0] {
                *row(destination) = old;
            }
        }
    }
}

/// Split a generic access whose lanes go to several spaces: the space of the lowest lane of
/// `mask`, the lanes that go there, and all lanes' addresses relative to its window.
pub(crate) fn generic_part(addresses: &[u64; 32], mask: u32) -> (Space, u32, [u64; 32]) {
    let (space, window) = window_of(addresses[mask.trailing_zeros() as usize & 31]);
    let in_space =
        |&lane: &u32| mask >> lane & 1 != 0 && window_of(addresses[lane as usize]).0 == space;
    let lanes = (0..32).filter(in_space).fold(0, |lanes, lane| lanes | 1 << lane);
    (space, lanes, addresses.map(|address| address.wrapping_sub(window)))
}

/// The state space that the observer is told.
pub(crate) fn reported_space(space: Space) -> StateSpace {
    space.state_space().unwrap_or(StateSpace::Global)
}
