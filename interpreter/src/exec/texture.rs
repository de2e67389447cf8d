//! Texture fetches and surface accesses of a warp.
//!
//! The recorder is told of texels as accesses of the texture space. A filtered fetch reads several
//! texels per lane. It tells of one texel of all lanes at a time, as parts of one request, and of
//! no texel whose sector the request has already.

#![allow(unsafe_code, reason = "addresses are checked and then followed")]

use std::collections::HashSet;

use gpucast_ptx_frontend::types::StateSpace;

use super::access::{AccessFault, Memories, racing};
use super::atomic;
use super::lanes::Frame;
use super::warp::{Context, Split, Warp, WarpFault};
use crate::fault::FaultKind;
use crate::observer::{Access, AccessKind, Pattern, Recorder};
use crate::program::memory_op::Space;
use crate::program::op::Op;
use crate::program::texture_op::{
    DetailRows, Fact, Fetch, ObjectKind, Outside, ResultFormat, SurfaceAccess, SurfaceAction,
    TextureOp,
};
use crate::semantics::rounding::Mode;
use crate::semantics::{F16, Half};
use crate::texture::{
    AddressMode, Channel, Comparison, Coordinates, Detail, Filter, Footprint, Format, Lookup,
    Object, Plane, Sampler, Surface, Texture,
};

/// Bytes that caches fetch together.
const SECTOR_BYTES: u64 = 32;

/// One part of a request: an address for each lane of a mask.
struct Part {
    mask: u32,
    addresses: [u64; 32],
}

impl Part {
    const NOTHING: Self = Self { mask: 0, addresses: [0; 32] };

    fn add(&mut self, lane: u32, address: u64) {
        self.mask |= 1 << lane;
        self.addresses[lane as usize] = address;
    }
}

/// The static part of what the recorder is told.
#[derive(Clone, Copy)]
struct Telling {
    instruction: u32,
    time: u64,
    kind: AccessKind,
    bytes: u32,
}

impl Warp {
    /// A texture or surface instruction by the lanes of `mask`, at least one.
    #[cold]
    pub(super) fn texture(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &Split,
        mask: u32,
    ) -> Result<(), WarpFault> {
        let texture_op = &context.program.tables.texture_ops[op.a as usize];
        let memories = &context.memories;
        let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
        let done = match texture_op {
            TextureOp::Fetch(fetch) => {
                let time = self.clock(context.program, split, fetch.instruction);
                self.fetch(context, recorder, frame, fetch, time, mask)
            }
            TextureOp::Surface(access) => {
                let time = self.clock(context.program, split, access.instruction);
                self.surface(context, recorder, frame, access, time, mask)
            }
            &TextureOp::Query { object, fact, level, answer } => {
                let mut lanes = lanes;
                lanes.try_for_each(|lane| {
                    let at = lane as usize;
                    let handle = frame.lane::<u64>(object, at);
                    let level = level.map_or(0, |row| frame.lane::<u32>(row, at));
                    let object = object_of(memories, handle);
                    let value = object.and_then(|object| answer_to(fact, object, level));
                    let value =
                        value.ok_or_else(|| bad_handle(lane, "the handle of a query", handle))?;
                    frame.set_lane::<u32>(answer, at, value);
                    Ok(())
                })
            }
            &TextureOp::IsType { object, kind, answer } => {
                for lane in lanes {
                    let at = lane as usize;
                    let found = object_of(memories, frame.lane::<u64>(object, at));
                    let is = matches!(
                        (kind, found),
                        (ObjectKind::Texture, Some(Object::Texture(_)))
                            | (ObjectKind::Sampler, Some(Object::Sampler(_)))
                            | (ObjectKind::Surface, Some(Object::Surface(_)))
                    );
                    frame.set_lane::<u32>(answer, at, is.into());
                }
                Ok(())
            }
        };
        done.map_err(|fault: AccessFault| fault.at(split.pc))
    }

    fn fetch(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        fetch: &Fetch,
        time: u64,
        mask: u32,
    ) -> Result<(), AccessFault> {
        let memories = &context.memories;
        let (instruction, kind) = (fetch.instruction, AccessKind::Load);
        let mut footprints: Vec<(u32, &Texture, Sampler, Footprint)> = Vec::with_capacity(32);
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let (texture, sampler, footprint) = footprint(frame, memories, fetch, lane)?;
            footprints.push((lane, texture, sampler, footprint));
        }
        let mut told: HashSet<u64> = HashSet::new();
        let mut continues = false;
        // Lanes may read different textures, whose texels differ in size.
        let mut sizes: Vec<u32> =
            footprints.iter().map(|(_, one, ..)| one.format.bytes()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let most = footprints.iter().map(|footprint| footprint.3.taps.len()).max().unwrap_or(0);
        for bytes in sizes {
            let telling = Telling { instruction, time, kind, bytes };
            for tap in 0..most {
                let (mut checked, mut new) = (Part::NOTHING, Part::NOTHING);
                for (lane, texture, _, footprint) in &footprints {
                    let tap = footprint.taps.get(tap).and_then(|tap| tap.address);
                    let Some(address) = tap.filter(|_| texture.format.bytes() == bytes) else {
                        continue;
                    };
                    checked.add(*lane, address);
                    if !told.contains(&(address / SECTOR_BYTES)) {
                        new.add(*lane, address);
                    }
                }
                if checked.mask == 0 {
                    continue;
                }
                memories.probe_lanes(
                    Space::Global,
                    checked.mask,
                    &checked.addresses,
                    bytes,
                    false,
                )?;
                let sectors = (0..32).filter(|lane| new.mask >> lane & 1 != 0);
                told.extend(sectors.map(|lane| new.addresses[lane] / SECTOR_BYTES));
                if new.mask != 0 {
                    self.tell_texels(context, recorder, telling, &new, continues);
                    continues = true;
                }
            }
        }
        if !fetch.moves {
            return Ok(());
        }
        for (lane, texture, sampler, footprint) in &footprints {
            let test = depth_test(frame, fetch, texture, sampler, *lane)?;
            let texel = |address: Option<u64>| {
                let value = match address {
                    Some(address) => read(memories, *lane, address, texture.format)?,
                    None => border(texture, sampler),
                };
                Ok(test.map_or(value, |test| test.compared(value)))
            };
            let value = match fetch.gathers {
                Some(channel) => {
                    let mut value = [0; 4];
                    for (value, tap) in value.iter_mut().zip(&footprint.taps) {
                        *value = texel(tap.address)?[usize::from(channel)];
                    }
                    value
                }
                None => filtered(footprint, texel)?,
            };
            let value = converted(value, fetch.result, texture.format);
            for (row, value) in fetch.rows.iter().zip(value) {
                if let Some(row) = *row {
                    frame.set_lane::<u32>(row, *lane as usize, value);
                }
            }
        }
        Ok(())
    }

    fn surface(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        access: &SurfaceAccess,
        time: u64,
        mask: u32,
    ) -> Result<(), AccessFault> {
        let memories = &context.memories;
        let kind = match access.action {
            SurfaceAction::Load => AccessKind::Load,
            SurfaceAction::Store | SurfaceAction::StoreFormatted => AccessKind::Store,
            SurfaceAction::Reduce { .. } => AccessKind::Reduction,
        };
        let mut places: Vec<(u32, Surface, u32, Option<u64>)> = Vec::with_capacity(32);
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let handle = frame.lane::<u64>(access.surface, lane as usize);
            let Some(Object::Surface(surface)) = object_of(memories, handle) else {
                return Err(bad_handle(lane, "the handle of a surface", handle));
            };
            let bytes = match access.action {
                SurfaceAction::StoreFormatted => surface.format.bytes(),
                _ => u32::from(access.element_bytes) * u32::from(access.elements),
            };
            let at = surface_address(frame, access, surface, bytes, lane)?;
            if let Some(address) = at
                && !address.is_multiple_of(u64::from(bytes))
            {
                return Err(AccessFault { lane, kind: FaultKind::Misaligned { address, bytes } });
            }
            places.push((lane, *surface, bytes, at));
        }
        let mut sizes: Vec<u32> = places.iter().map(|place| place.2).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let writes = kind != AccessKind::Load;
        for (part, bytes) in sizes.into_iter().enumerate() {
            let mut told = Part::NOTHING;
            for &(lane, _, size, address) in &places {
                if let Some(address) = address.filter(|_| size == bytes) {
                    told.add(lane, address);
                }
            }
            if told.mask == 0 {
                continue;
            }
            if !access.moves {
                let (mask, addresses) = (told.mask, &told.addresses);
                memories.probe_lanes(Space::Global, mask, addresses, bytes, writes)?;
            }
            let telling = Telling { instruction: access.instruction, time, kind, bytes };
            self.tell_texels(context, recorder, telling, &told, part > 0);
        }
        if !access.moves {
            return Ok(());
        }
        for (lane, surface, bytes, address) in places {
            perform(frame, memories, access, &surface, bytes, lane, address)?;
        }
        Ok(())
    }

    /// Tells the recorder of texels, and the watcher if there is one, to which they are bytes of
    /// global memory.
    fn tell_texels(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        telling: Telling,
        part: &Part,
        continues: bool,
    ) {
        let access = Access {
            instruction: telling.instruction,
            warp: self.index,
            time: telling.time,
            space: StateSpace::Tex,
            kind: telling.kind,
            bytes_per_lane: telling.bytes,
            mask: part.mask,
            pattern: Pattern::General,
            addresses: &part.addresses,
            continues,
            distances: None,
        };
        if let Some(watching) = &context.watching {
            watching.hear(&Access { space: StateSpace::Global, ..access });
        }
        recorder.access(&access);
    }
}

fn bad_handle(lane: u32, what: &'static str, value: u64) -> AccessFault {
    let allowed = "one of an object that exists and is of this kind";
    AccessFault { lane, kind: FaultKind::BadOperand { what, value, allowed } }
}

/// The object of a handle, or of the variable at an address.
fn object_of<'a>(memories: &Memories<'a>, handle: u64) -> Option<&'a Object> {
    let textures = &memories.device.textures;
    textures.get(handle).or_else(|| {
        let variable = memories.device.find(handle);
        let name = variable
            .filter(|variable| variable.address == handle)
            .map(|variable| variable.name.as_str());
        textures.get(textures.bound(handle, name)?)
    })
}

/// The comparison of texels with a depth.
#[derive(Clone, Copy)]
struct DepthTest {
    comparison: Comparison,
    depth: f32,
}

impl DepthTest {
    /// The texel with 1 or 0 in place of its depth.
    fn compared(self, [texel, others @ ..]: [u32; 4]) -> [u32; 4] {
        let holds = self.comparison.holds(self.depth, f32::from_bits(texel));
        let [g, b, a] = others;
        [f32::from(u8::from(holds)).to_bits(), g, b, a]
    }
}

/// The comparison that a lane's fetch asks for.
fn depth_test(
    frame: &Frame,
    fetch: &Fetch,
    texture: &Texture,
    sampler: &Sampler,
    lane: u32,
) -> Result<Option<DepthTest>, AccessFault> {
    let Some(row) = fetch.depth else { return Ok(None) };
    let depth = f32::from_bits(frame.lane::<u32>(row, lane as usize));
    // A sampler of its own knows nothing of the texels.
    match sampler.compare.filter(|_| texture.format.is_real()) {
        Some(comparison) => Ok(Some(DepthTest { comparison, depth })),
        None => Err(AccessFault {
            lane,
            kind: FaultKind::BadOperand {
                what: "the depth of a texture without a comparison",
                value: u64::from(depth.to_bits()),
                allowed: "compared with real texels of a texture that has a comparison",
            },
        }),
    }
}

/// The texture, the sampler and the texels of one lane's fetch.
fn footprint<'a>(
    frame: &Frame,
    memories: &Memories<'a>,
    fetch: &Fetch,
    lane: u32,
) -> Result<(&'a Texture, Sampler, Footprint), AccessFault> {
    let at = lane as usize;
    let word = |row: Option<u32>| row.map_or(0, |row| frame.lane::<u32>(row, at));
    let handle = |row: u32| frame.lane::<u64>(row, at);
    let value = handle(fetch.texture);
    let Some(Object::Texture(texture)) = object_of(memories, value) else {
        return Err(bad_handle(lane, "the handle of a texture", value));
    };
    if texture.resource.samples > 1 && !fetch.geometry.multisampled {
        let allowed = "one of a texture of one sample, or read as .2dms or .a2dms";
        let what = "the handle of a texture of several samples";
        return Err(AccessFault { lane, kind: FaultKind::BadOperand { what, value, allowed } });
    }
    let sampler = match fetch.sampler.map(handle) {
        None => texture.sampler,
        Some(value) => match object_of(memories, value) {
            Some(Object::Sampler(sampler)) => *sampler,
            _ => return Err(bad_handle(lane, "the handle of a sampler", value)),
        },
    };
    let words = fetch.coordinates.map(word);
    let coordinates = match fetch.real {
        true => Coordinates::Real(words.map(f32::from_bits)),
        false => Coordinates::Whole(words.map(u32::cast_signed)),
    };
    if fetch.real && texture.levels() > 1 && !sampler.normalized {
        let allowed = "one of a sampler with normalised coordinates";
        let what = "the handle of a sampler for a texture of several levels";
        let value = fetch.sampler.map_or(value, handle);
        return Err(AccessFault { lane, kind: FaultKind::BadOperand { what, value, allowed } });
    }
    let lookup = Lookup {
        geometry: fetch.geometry,
        coordinates,
        plane: Plane { layer: word(fetch.layer), sample: word(fetch.sample) },
        offset: fetch.offset.map(|row| word(row).cast_signed()),
        gathers: fetch.gathers.is_some(),
    };
    let real = |row: Option<u32>| f32::from_bits(word(row));
    let detail = || match fetch.detail {
        DetailRows::Base => Detail::Base,
        DetailRows::Level(row) if fetch.real => Detail::Level(real(Some(row))),
        DetailRows::Level(row) => Detail::Whole(word(Some(row)).cast_signed()),
        DetailRows::Gradients(rows) => Detail::Gradients(rows.map(|rows| rows.map(real))),
    };
    let footprint = Footprint::of(texture, &sampler, &lookup, detail);
    Ok((texture, sampler, footprint))
}

/// The four channels of a texel.
fn read(
    memories: &Memories<'_>,
    lane: u32,
    address: u64,
    format: Format,
) -> Result<[u32; 4], AccessFault> {
    let mut bytes = [0; 16];
    let bytes = &mut bytes[..format.bytes() as usize];
    let host = memories.resolve(Space::Global, lane, address, format.bytes(), false);
    let host = host.map_err(|kind| AccessFault { lane, kind })?;
    // SAFETY: the host address is good for the texel's bytes.
    unsafe { racing::read_bytes(host, bytes) };
    Ok(format.decode(bytes))
}

/// The colour outside a texture.
fn border(texture: &Texture, sampler: &Sampler) -> [u32; 4] {
    if texture.resource.is_linear {
        return [0; 4];
    }
    sampler.border.map(|value| match texture.format.is_real() {
        true => value.to_bits(),
        false => value as i64 as u32,
    })
}

/// The weighted sum of a footprint's texels. It is exact to the bits of a double, and rounded once.
fn filtered(
    footprint: &Footprint,
    texel: impl Fn(Option<u64>) -> Result<[u32; 4], AccessFault>,
) -> Result<[u32; 4], AccessFault> {
    if let [tap] = footprint.taps.as_slice() {
        return texel(tap.address);
    }
    let mut sum = [0.0; 4];
    // Texels without weight are read, but an infinity among them has no part in the sum.
    for tap in &footprint.taps {
        let values = texel(tap.address)?;
        if tap.weight > 0.0 {
            for (sum, bits) in sum.iter_mut().zip(values) {
                *sum += tap.weight * f64::from(f32::from_bits(bits));
            }
        }
    }
    Ok(sum.map(|sum| (sum as f32).to_bits()))
}

/// The words that a fetch writes.
fn converted(value: [u32; 4], result: ResultFormat, format: Format) -> [u32; 4] {
    let half = |bits: u32| match format.is_real() {
        true => u32::from(F16::narrow(f32::from_bits(bits), Mode::NearestEven)),
        false => bits & 0xffff,
    };
    match result {
        ResultFormat::Words => value,
        ResultFormat::Halves => value.map(half),
        ResultFormat::Pairs => {
            let [r, g, b, a] = value.map(half);
            [g << 16 | r, a << 16 | b, 0, 0]
        }
    }
}

/// The address of one lane's surface access; `None` if it is outside and has no effect.
fn surface_address(
    frame: &Frame,
    access: &SurfaceAccess,
    surface: &Surface,
    bytes: u32,
    lane: u32,
) -> Result<Option<u64>, AccessFault> {
    let word = |row: u32| frame.lane::<u32>(row, lane as usize);
    let resource = &surface.resource;
    let texel = i64::from(surface.format.bytes());
    let width = i64::from(resource.extent[0]) * texel;
    // The last place of each axis at which an access fits.
    let last = [
        width - i64::from(bytes),
        i64::from(resource.extent[1]) - 1,
        i64::from(resource.extent[2]) - 1,
    ];
    let mut place = [0_u32; 3];
    for axis in 0..access.geometry.axes {
        let given = access.coordinates[axis].map_or(0, word);
        let scale = if axis == 0 && !access.in_bytes { texel } else { 1 };
        let at = i64::from(given.cast_signed()) * scale;
        let inside = (0..=last[axis]).contains(&at);
        match access.outside {
            _ if inside => place[axis] = at as u32,
            // A surface that is narrower than the access has no place for it.
            Outside::Clamp if last[axis] >= 0 => place[axis] = at.clamp(0, last[axis]) as u32,
            Outside::Zero | Outside::Clamp => return Ok(None),
            Outside::Trap => {
                let what = "a coordinate of a surface access with .trap";
                let value = u64::from(given);
                let allowed = "inside the surface";
                let kind = FaultKind::BadOperand { what, value, allowed };
                return Err(AccessFault { lane, kind });
            }
        }
    }
    let layer = access.layer.map_or(0, word).min(resource.layers - 1);
    let [x, y, z] = place;
    Ok(Some(resource.row([y, z], layer).wrapping_add(u64::from(x))))
}

/// Loads, stores or reduces one lane's elements at a checked place.
fn perform(
    frame: &Frame,
    memories: &Memories<'_>,
    access: &SurfaceAccess,
    surface: &Surface,
    bytes: u32,
    lane: u32,
    address: Option<u64>,
) -> Result<(), AccessFault> {
    let at = lane as usize;
    let element = usize::from(access.element_bytes);
    let wide = element == 8;
    let get = |row: u32| {
        if wide { frame.lane::<u64>(row, at) } else { frame.lane::<u32>(row, at).into() }
    };
    let host = |write| match address {
        Some(address) => memories
            .resolve(Space::Global, lane, address, bytes, write)
            .map(Some)
            .map_err(|kind| AccessFault { lane, kind }),
        None => Ok(None),
    };
    let mut contents = [0_u8; 32];
    match access.action {
        SurfaceAction::Load => {
            if let Some(host) = host(false)? {
                // SAFETY: the host address is good for the access's bytes, at most 32.
                unsafe { racing::read_bytes(host, &mut contents[..bytes as usize]) };
            }
            for (row, part) in access.rows.iter().zip(contents.chunks_exact(element)) {
                let Some(row) = *row else { continue };
                let mut value = [0; 8];
                value[..element].copy_from_slice(part);
                let value = u64::from_le_bytes(value);
                if wide {
                    frame.set_lane::<u64>(row, at, value);
                } else {
                    frame.set_lane::<u32>(row, at, value as u32);
                }
            }
        }
        SurfaceAction::Store => {
            for (row, part) in access.rows.iter().zip(contents.chunks_exact_mut(element)) {
                let value = row.map_or(0, get).to_le_bytes();
                part.copy_from_slice(&value[..element]);
            }
            if let Some(host) = host(true)? {
                // SAFETY: as above.
                unsafe { racing::write_bytes(&contents[..bytes as usize], host) };
            }
        }
        SurfaceAction::StoreFormatted => {
            let channel = surface.format.channel.bytes() as usize;
            for (row, part) in access.rows.iter().zip(contents.chunks_exact_mut(channel)) {
                let value = row.map_or(0, get) as u32;
                part.copy_from_slice(&surface.format.encode_channel(value)[..channel]);
            }
            if let Some(host) = host(true)? {
                // SAFETY: as above.
                unsafe { racing::write_bytes(&contents[..bytes as usize], host) };
            }
        }
        SurfaceAction::Reduce { unsigned, signed } => {
            let is_signed = surface.format.channel.is_signed();
            let operation = if is_signed { signed } else { unsigned };
            let operand = access.rows[0].map_or(0, get);
            if let Some(host) = host(true)? {
                // SAFETY: as above, and the address is aligned to the element.
                unsafe {
                    atomic::update(host, access.element_bytes, |old| {
                        operation.apply(old, operand, 0)
                    });
                }
            }
        }
    }
    Ok(())
}

/// The answer to a query about a level; `None` if the object has no such fact.
///
/// Formats are told by OpenCL's numbers, filters and address modes by their places in the manual's
/// lists (section 5.3, "Texture sampler and surface types").
fn answer_to(fact: Fact, object: &Object, level: u32) -> Option<u32> {
    let (resource, format, sampler) = match object {
        Object::Texture(one) => {
            (Some(*one.level(level as usize)), Some(one.format), Some(one.sampler))
        }
        Object::Surface(one) => (Some(one.resource), Some(one.format), None),
        Object::Sampler(sampler) => (None, None, Some(*sampler)),
    };
    Some(match fact {
        Fact::Extent(axis) => resource?.extent[axis],
        Fact::Layers => resource?.layers,
        Fact::Samples => resource?.samples,
        Fact::ChannelType => channel_type(format?),
        Fact::ChannelOrder => match format?.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
        Fact::NormalizedCoordinates => sampler?.normalized.into(),
        Fact::ForceUnnormalizedCoordinates => 0,
        Fact::Levels => match object {
            Object::Texture(texture) => texture.levels() as u32,
            Object::Surface(_) => 1,
            Object::Sampler(_) => return None,
        },
        Fact::Filter => (sampler?.filter == Filter::Linear).into(),
        Fact::AddressMode(axis) => match sampler?.address[axis] {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 3,
            AddressMode::Border => 4,
        },
        Fact::MemoryLayout => resource?.is_linear.into(),
    })
}

/// OpenCL's number of a channel's format (`cl.h`, `cl_channel_type`).
fn channel_type(format: Format) -> u32 {
    match (format.channel, format.normalized) {
        (Channel::S8, true) => 0x10d0,
        (Channel::S16, true) => 0x10d1,
        (Channel::U8, true) => 0x10d2,
        (Channel::U16, true) => 0x10d3,
        (Channel::S8, false) => 0x10d7,
        (Channel::S16, false) => 0x10d8,
        (Channel::S32, _) => 0x10d9,
        (Channel::U8, false) => 0x10da,
        (Channel::U16, false) => 0x10db,
        (Channel::U32, _) => 0x10dc,
        (Channel::F16, _) => 0x10dd,
        (Channel::F32, _) => 0x10de,
    }
}
