//! Bulk copies of tensors (`cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`) and changes of
//! their maps (`tensormap.replace`).
//!
//! As other bulk copies they are done when they are issued, and end later. The observer is told of
//! each stretch of the tensor that lies together in memory, and of the box in shared memory as a
//! whole; reading the map is not told, as nothing counts it on a GPU.

#![allow(unsafe_code, reason = "ranges are checked and then copied")]

use super::access::{AccessFault, Memories, checked_addresses, racing, window_of};
use super::async_copy::aligned;
use super::bulk_copy::{Ranges, in_the_cta_of, ranks_of, reduce};
use super::ending::{Issuer, Signal};
use super::lanes::Frame;
use super::late_stores::Store;
use super::warp::{Context, Split, Warp, WarpFault};
use crate::fault::FaultKind;
use crate::observer::Recorder;
use crate::program::asynchronous::{Boxes, Direction, TensorCopy, TensorOp};
use crate::program::memory_op::{AtomicOperation, MemoryOp, Space, window};
use crate::program::op::Op;
use crate::semantics::float::ftz_f32;
use crate::tensor_map::{
    self, BadMap, BoxPlace, BoxRow, Element, Field, Fill, Im2col, Im2colMode, Swizzle, TensorMap,
};

/// Boxes in shared memory are aligned to this number of bytes (manual, section 5.5.7).
const BOX_ALIGNMENT: u32 = 128;

/// Bytes that a swizzle moves together.
const SWIZZLED_BYTES: usize = 16;

/// One lane's copy.
pub(super) struct Copied {
    lane: u32,
    map: TensorMap,
    rows: Vec<BoxRow>,
    /// Shared address of the box.
    shared: u64,
    /// Bytes of the box.
    bytes: u32,
}

impl Copied {
    /// Bytes from the beginning of the box that its parts may lie in: a swizzle of rows that are
    /// narrower than it is may leave gaps.
    fn reach(&self) -> u32 {
        self.bytes.next_multiple_of(self.map.swizzle.width())
    }
}

impl Warp {
    /// A tensor operation by the lanes of `mask`, at least one, one after the other.
    pub(super) fn tensor(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &Split,
        mask: u32,
    ) -> Result<(), WarpFault> {
        let tensor = &context.program.tables.tensor_ops[op.a as usize];
        let instruction = match tensor {
            TensorOp::Copy(copy) => copy.global.instruction,
            TensorOp::Replace { map, .. } => map.instruction,
        };
        let time = self.clock(context.program, split, instruction);
        let (mut reads, mut writes) = (Ranges::new(time), Ranges::new(time));
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let memories = &context.memories;
            let done = match tensor {
                TensorOp::Copy(copy) => {
                    let issuer = self.issuer(context, instruction, split.pc, lane);
                    let ranges = (&mut reads, &mut writes);
                    let op = (op.a, &**copy);
                    self.copy_tensor(context, recorder, frame, op, issuer, ranges.0, ranges.1)
                }
                TensorOp::Replace { map, field, value, wide } => {
                    let value = match wide {
                        true => frame.lane::<u64>(*value, lane as usize),
                        false => frame.lane::<u32>(*value, lane as usize).into(),
                    };
                    let address = checked_addresses(frame, map)[lane as usize];
                    replace(memories, map, address, *field, value, lane).map(|(space, written)| {
                        writes.tell(self, context, recorder, map, space, lane, written);
                    })
                }
            };
            done.map_err(|fault| fault.at(split.pc))?;
        }
        Ok(())
    }

    /// One lane's copy, with its index in the program's table.
    #[expect(clippy::too_many_arguments, reason = "the parts of one split's state")]
    fn copy_tensor(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        (index, copy): (u32, &TensorCopy),
        issuer: Issuer,
        reads: &mut Ranges,
        writes: &mut Ranges,
    ) -> Result<(), AccessFault> {
        let (memories, lane) = (&context.memories, issuer.lane);
        let copied = copied(frame, memories, copy, lane)?;
        let warp = &*self;
        let global = |ranges: &mut Ranges, recorder: &mut dyn Recorder| {
            for stretch in stretches(&copied.rows) {
                ranges.tell(warp, context, recorder, &copy.global, Space::Global, lane, stretch);
            }
        };
        let Direction::ToShared { .. } = copy.direction else {
            let contents = (copied.shared, copied.bytes);
            reads.tell(self, context, recorder, &copy.shared, Space::Shared, lane, contents);
            if copy.shared.moves && memories.copies_late() {
                check_store(memories, copy, &copied)?;
                global(writes, recorder);
                return self.hold_store(context, issuer, Store::Tensor { op: index, copied });
            }
            store_tensor(memories, copy, &copied)?;
            global(writes, recorder);
            return Ok(());
        };
        global(reads, recorder);
        let contents = load(memories, &copied, copy.shared.moves)?;
        let targets = targets(frame, copy, &copied);
        for (shared, mbarrier) in targets {
            store_box(memories, copy, &copied, (shared, mbarrier), &contents, issuer)?;
            self.tell_bytes(recorder, copy.global.instruction, lane, mbarrier);
            let written = (shared, copied.bytes);
            writes.tell(self, context, recorder, &copy.shared, Space::Shared, lane, written);
            self.signal(context, recorder, issuer, mbarrier, Signal::Bytes(copied.bytes))?;
        }
        Ok(())
    }
}

/// A lane's operands, as far as they can be known to be good before anything is copied.
fn copied(
    frame: &Frame,
    memories: &Memories<'_>,
    copy: &TensorCopy,
    lane: u32,
) -> Result<Copied, AccessFault> {
    let at = lane as usize;
    let bad = |what, value, allowed| AccessFault {
        lane,
        kind: FaultKind::BadOperand { what, value, allowed },
    };
    let bad_map = |map: BadMap| bad(map.what, map.value, map.allowed);
    let pixels = |row: Option<u32>| row.map_or(0, |row| frame.lane::<u32>(row, at) as u16);
    let map_address = checked_addresses(frame, &copy.map)[at];
    let global_address = copy.global_address.map(|row| frame.lane::<u64>(row, at));
    let mut values = copy.coordinates.iter().map(|&row| frame.lane::<u32>(row, at) as i32);
    let shared = checked_addresses(frame, &copy.shared)[at];
    let (space, address) = map_place(&copy.map, map_address, lane)?;
    let mut bytes: [u8; tensor_map::BYTES] =
        memories.read(space, lane, address).map_err(|kind| AccessFault { lane, kind })?;
    // What the instruction replaces need not be good in the map.
    let mut overridden = |field: Field, value: u64| {
        let (range, value) = field.replaced(value);
        let length = range.len();
        bytes[range].copy_from_slice(&value[..length]);
    };
    if let Some(address) = global_address {
        overridden(Field::GlobalAddress, address);
    }
    if let Some(shape) = &copy.shape {
        for (index, &row) in (0..).zip(&shape.sizes) {
            let size = frame.lane::<u32>(row, at) & 0xff;
            overridden(Field::GlobalDim(index), size.into());
        }
        let upper = shape.upper_strides.map_or(0, |row| frame.lane::<u32>(row, at));
        for (index, &row) in (0..).zip(&shape.lower_strides) {
            let upper = u64::from(upper >> (4 * index) & 0xf);
            let units = u64::from(frame.lane::<u32>(row, at)) | upper << 32;
            overridden(Field::GlobalStride(index), units << 4);
        }
    }
    let map = TensorMap::decode(&bytes).map_err(bad_map)?;
    // Dimensions without extent may be left out.
    let is_narrower = map.im2col.is_none() && map.is_flat_from(copy.rank);
    if map.rank != copy.rank && !is_narrower {
        let allowed = ["1", "2", "3", "4", "5"][(copy.rank - 1).min(4)];
        return Err(bad("the rank of the tensor map", map.rank as u64, allowed));
    }
    let coordinates: [i32; 5] = std::array::from_fn(|_| values.next().unwrap_or(0));
    if copy.shape.is_some()
        && let Some(&other) = coordinates.iter().find(|&&coordinate| coordinate != 0)
    {
        let what = "a coordinate in a tensor of other sizes than its map's";
        return Err(bad(what, u64::from(other as u32), "0"));
    }
    let made_for = map.im2col.map_or(0, |im2col| im2col.mode as u64);
    let place = match (copy.boxes, &map.im2col) {
        (Boxes::Tile, None) => BoxPlace::Tile(coordinates),
        (Boxes::FourRows, None) => {
            let [column, rows @ ..] = coordinates;
            BoxPlace::Rows { column, rows }
        }
        (Boxes::Pixels { mode, offsets, halo }, Some(im2col)) if im2col.mode == mode => {
            let (offsets, halo) = (offsets.map(pixels), pixels(halo));
            let to_shared = matches!(copy.direction, Direction::ToShared { .. });
            check_pixels(&map, im2col, coordinates, (halo, offsets[0]), to_shared)
                .map_err(bad_map)?;
            BoxPlace::Pixels { first: coordinates, offsets, halo }
        }
        (boxes, _) => return Err(bad("the mode of the tensor map", made_for, mode_of(boxes))),
    };
    aligned(&[shared; 32], 1 << lane, BOX_ALIGNMENT)?;
    let bytes = map.row_count(&place).saturating_mul(map.row_bytes().into());
    // A box that does not fit into shared memory must not be made here either.
    let bytes = match u32::try_from(bytes) {
        Ok(bytes) if u64::from(bytes) <= memories.shared_bytes => bytes,
        _ => {
            let kind = FaultKind::OutOfBounds {
                space: Space::Shared.state_space(),
                address: shared,
                bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
                write: matches!(copy.direction, Direction::ToShared { .. }),
                nearest: None,
                limit: Some(memories.shared_bytes),
            };
            return Err(AccessFault { lane, kind });
        }
    };
    let rows = map.rows(&place);
    Ok(Copied { lane, map, rows, shared, bytes })
}

/// The mode that a map must have been made for.
const fn mode_of(boxes: Boxes) -> &'static str {
    match boxes {
        Boxes::Tile | Boxes::FourRows => "0 to be copied in tiles",
        Boxes::Pixels { mode: Im2colMode::Space, .. } => "1 to be copied as columns",
        Boxes::Pixels { mode: Im2colMode::Width, .. } => "2 to be copied by im2col::w",
        Boxes::Pixels { mode: Im2colMode::Width128, .. } => "3 to be copied by im2col::w::128",
    }
}

/// Checks the place of a copy of pixels: `wHalo` and `wOffset` and the first pixel along the width
/// (manual, sections 5.5.5.1 and 9.7.9.25.5.2), and what is stored ("Restriction on Tensor Copy
/// instructions", section 9.7.9.25.5.1).
fn check_pixels(
    map: &TensorMap,
    im2col: &Im2col,
    first: [i32; 5],
    (halo, offset): (u16, u16),
    to_shared: bool,
) -> Result<(), BadMap> {
    let bad = |what, value, allowed| Err(BadMap { what, value, allowed });
    if im2col.mode != Im2colMode::Space {
        let of_128 = im2col.mode == Im2colMode::Width128;
        if of_128 && halo != 0 {
            // The manual shows their places in shared memory in a figure (figure 19) alone.
            let allowed = "0 (where the pixels of other halos lie is not published in words)";
            return bad("the halo of im2col::w::128", halo.into(), allowed);
        }
        if halo >= 512 {
            return bad("the halo of im2col::w", halo.into(), "0 to 511");
        }
        if offset >= 32 {
            return bad("the offset of im2col::w", offset.into(), "0 to 31");
        }
        let beyond = i64::from(first[1]) - im2col.last(map, 0);
        if beyond > 0 {
            let what = "the pixels from the right edge of the bounding box to the first one";
            return bad(what, beyond as u64, "0 (it lies in the box or to its left)");
        }
    }
    if !to_shared {
        if let Some(&below) = first[..map.rank].iter().find(|&&coordinate| coordinate < 0) {
            let what = "a coordinate to store pixels at";
            return bad(what, u64::from(below as u32), "at least 0, as an s32");
        }
        let outside = im2col.outside(map.rank);
        if outside > 0 {
            let what = "the pixels by which a bounding box reaches out of the image";
            return bad(what, outside, "0 to be stored");
        }
    }
    Ok(())
}

/// The space of a tensor map, and its address there.
fn map_place(map: &MemoryOp, address: u64, lane: u32) -> Result<(Space, u64), AccessFault> {
    aligned(&[address; 32], 1 << lane, 64)?;
    Ok(in_space(map.space, address))
}

/// The space of an address that may be a generic one, and the address there.
fn in_space(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic => {
            let (space, window) = window_of(address);
            (space, address - window)
        }
        space => (space, address),
    }
}

/// The parts of the tensor that lie together in memory.
fn stretches(rows: &[BoxRow]) -> Vec<(u64, u32)> {
    let mut stretches: Vec<(u64, u32)> = Vec::new();
    for row in rows.iter().filter(|row| row.bytes > 0) {
        match stretches.last_mut() {
            Some((address, bytes)) if address.wrapping_add((*bytes).into()) == row.address => {
                *bytes += row.bytes;
            }
            _ => stretches.push((row.address, row.bytes)),
        }
    }
    stretches
}

/// The box's contents, filled where the tensor has nothing. If nothing is moved, the tensor's
/// addresses are checked and there are none.
fn load(memories: &Memories<'_>, copied: &Copied, moves: bool) -> Result<Vec<u8>, AccessFault> {
    let map = &copied.map;
    if !moves {
        probe_rows(memories, copied)?;
        return Ok(Vec::new());
    }
    let row_bytes = map.row_bytes() as usize;
    let mut contents = vec![0; copied.bytes as usize];
    if map.fill == Fill::Nan {
        // All ones but for the sign; the manual names no bits.
        let bytes = map.element.bytes() as usize;
        for element in contents.chunks_exact_mut(bytes) {
            element.fill(0xff);
            element[bytes - 1] = 0x7f;
        }
    }
    for (row, target) in copied.rows.iter().zip(contents.chunks_exact_mut(row_bytes)) {
        if row.bytes == 0 {
            continue;
        }
        let target = &mut target[row.skipped as usize..][..row.bytes as usize];
        let lane = copied.lane;
        let host =
            memories.hosts(Space::Global, 1 << lane, &[row.address; 32], row.bytes, false)?;
        // SAFETY: the host address is good for the row's bytes; `target` is a vector of ours.
        unsafe {
            racing::read_bytes(host[lane as usize & 31], target);
        }
        if map.element.flushes() {
            for element in target.as_chunks_mut::<4>().0 {
                *element = ftz_f32(f32::from_le_bytes(*element)).to_le_bytes();
            }
        }
    }
    Ok(contents)
}

/// Checks the tensor's addresses of a box. Where one buffer holds all between the first and the
/// last one, it holds each.
fn probe_rows(memories: &Memories<'_>, copied: &Copied) -> Result<(), AccessFault> {
    let (space, lane) = (Space::Global, copied.lane);
    let rows = || copied.rows.iter().filter(|row| row.bytes > 0);
    let ends = rows().map(|row| row.address.saturating_add(row.bytes.into()));
    if let (Some(first), Some(end)) = (rows().map(|row| row.address).min(), ends.max())
        && let Ok(bytes) = u32::try_from(end - first)
        && memories.probe(space, lane, first, bytes, false).is_ok()
    {
        return Ok(());
    }
    rows().try_for_each(|row| {
        memories.probe_lanes(space, 1 << lane, &[row.address; 32], row.bytes, false)
    })
}

/// The shared addresses of the box and the mbarrier in each CTA that the box goes to.
fn targets(frame: &Frame, copy: &TensorCopy, copied: &Copied) -> Vec<(u64, u64)> {
    let Direction::ToShared { mbarrier, multicast, .. } = &copy.direction else {
        return Vec::new();
    };
    let at = copied.lane as usize;
    let ranks = multicast.map(|row| frame.lane::<u32>(row, at));
    let mbarrier = checked_addresses(frame, mbarrier)[at];
    let Some(ranks) = ranks else { return vec![(copied.shared, mbarrier)] };
    // The same place in each CTA of the mask, and its own mbarrier.
    ranks_of(ranks)
        .map(|rank| {
            let within = |address| window::of_rank(rank) + address % window::CTA_BYTES;
            (within(copied.shared), within(mbarrier))
        })
        .collect()
}

/// Puts a box into shared memory at `shared`; `mbarrier` is the address of its mbarrier.
fn store_box(
    memories: &Memories<'_>,
    copy: &TensorCopy,
    copied: &Copied,
    (shared, mbarrier): (u64, u64),
    contents: &[u8],
    issuer: Issuer,
) -> Result<(), AccessFault> {
    let lane = copied.lane;
    let to = memories.shared_host(lane, shared, copied.reach(), true)?;
    let Direction::ToShared { own, pair, .. } = copy.direction else { return Ok(()) };
    if own && !memories.is_own_shared(to) {
        let (what, address) = ("the destination of a bulk operation", shared);
        return Err(AccessFault { lane, kind: FaultKind::OtherCta { what, address } });
    }
    if !pair {
        in_the_cta_of(memories, lane, mbarrier, shared, to)?;
    }
    if !copy.shared.moves {
        memories.leave_out(shared, copied.reach());
        return Ok(());
    }
    let before = memories.contents_before(to, copied.reach());
    for (part, offset) in contents.chunks_exact(SWIZZLED_BYTES).zip((0..).step_by(SWIZZLED_BYTES)) {
        // SAFETY: boxes are aligned to 128 bytes and made of parts of 16, which a swizzle moves
        // within 128 bytes; the host address is good for all of those.
        unsafe {
            let to = to.add(swizzled(copied.map.swizzle, shared, offset));
            std::ptr::copy_nonoverlapping(part.as_ptr(), to, SWIZZLED_BYTES);
        }
    }
    if let Some(before) = before {
        memories.hold_back(issuer, to, shared, &before);
    }
    Ok(())
}

/// Returns the offset of the 16 bytes at `offset` in the box that begins at a shared address.
fn swizzled(swizzle: Swizzle, shared: u64, offset: u64) -> usize {
    (swizzle.apply(shared + offset) - shared) as usize
}

/// Puts a box of shared memory into the tensor, as far as it lies inside.
pub(super) fn store_tensor(
    memories: &Memories<'_>,
    copy: &TensorCopy,
    copied: &Copied,
) -> Result<(), AccessFault> {
    let (lane, map) = (copied.lane, &copied.map);
    let operation = operation(copy, map, lane)?;
    let from = memories.shared_host(lane, copied.shared, copied.reach(), false)?;
    let mut contents = vec![0; copied.bytes as usize];
    for (part, offset) in
        contents.chunks_exact_mut(SWIZZLED_BYTES).zip((0..).step_by(SWIZZLED_BYTES))
    {
        // SAFETY: as in `store_box`.
        unsafe {
            let from = from.add(swizzled(map.swizzle, copied.shared, offset));
            std::ptr::copy_nonoverlapping(from, part.as_mut_ptr(), SWIZZLED_BYTES);
        }
    }
    let row_bytes = map.row_bytes() as usize;
    for (row, contents) in copied.rows.iter().zip(contents.chunks_exact(row_bytes)) {
        if row.bytes == 0 {
            continue;
        }
        if !copy.shared.moves {
            memories.probe_lanes(Space::Global, 1 << lane, &[row.address; 32], row.bytes, true)?;
            continue;
        }
        let contents = &contents[row.skipped as usize..][..row.bytes as usize];
        let host = memories.hosts(Space::Global, 1 << lane, &[row.address; 32], row.bytes, true)?;
        // SAFETY: the host address is good for the row's bytes. Elements are aligned, since the
        // tensor's address and strides are multiples of 16.
        unsafe {
            let host = host[lane as usize & 31];
            match operation {
                None => racing::write_bytes(contents, host),
                Some(operation) => {
                    let element = map.element.bytes() as u8;
                    reduce(operation, element, contents.as_ptr(), host, row.bytes);
                }
            }
        }
    }
    Ok(())
}

/// Checks the addresses of a copy out of shared memory that is held back.
fn check_store(
    memories: &Memories<'_>,
    copy: &TensorCopy,
    copied: &Copied,
) -> Result<(), AccessFault> {
    operation(copy, &copied.map, copied.lane)?;
    memories.shared_host(copied.lane, copied.shared, copied.reach(), false)?;
    for row in copied.rows.iter().filter(|row| row.bytes > 0) {
        let addresses = &[row.address; 32];
        memories.hosts(Space::Global, 1 << copied.lane, addresses, row.bytes, true)?;
    }
    Ok(())
}

/// The reduction of a copy for the elements of a map.
fn operation(
    copy: &TensorCopy,
    map: &TensorMap,
    lane: u32,
) -> Result<Option<AtomicOperation>, AccessFault> {
    let Direction::Reduce(operations) = &copy.direction else { return Ok(None) };
    let known = Element::ALL.iter().zip(operations).find(|(element, _)| **element == map.element);
    match known {
        Some((_, Some(operation))) => Ok(Some(*operation)),
        _ => Err(AccessFault {
            lane,
            kind: FaultKind::BadOperand {
                what: "the element type of a tensor map",
                value: map.element as u64,
                allowed: "one that the reduction knows",
            },
        }),
    }
}

/// Replaces a field of the map at `address`. Returns the written range: the space, and the address
/// and bytes there.
fn replace(
    memories: &Memories<'_>,
    map: &MemoryOp,
    address: u64,
    field: Field,
    value: u64,
    lane: u32,
) -> Result<(Space, (u64, u32)), AccessFault> {
    let (space, address) = map_place(map, address, lane)?;
    if space == Space::Local {
        let (what, allowed) = ("the address of a tensor map", "in global or shared memory");
        return Err(AccessFault {
            lane,
            kind: FaultKind::BadOperand { what, value: address, allowed },
        });
    }
    let host = memories.resolve(space, lane, address, tensor_map::BYTES as u32, true);
    let host = host.map_err(|kind| AccessFault { lane, kind })?;
    let (range, bytes) = field.replaced(value);
    let length = range.len();
    // SAFETY: the range lies within the map, for which the host address is good.
    unsafe { racing::write_bytes(&bytes[..length], host.add(range.start)) };
    Ok((space, (address + range.start as u64, length as u32)))
}
