//! Arrays, and copies between them and memory.

use gpucast_host::graph::Work;
use gpucast_host::{Array, ArrayShape, Corner, Error, Extent, PitchedMemory};
use gpucast_interpreter::texture::{Channel, Format};

use super::driver_functions;
use crate::abi::{In, Out};
use crate::both::arrays::{self, ArrayHandle, End, ShownEnd, array};
use crate::both::mipmaps::{self, MipmapHandle};
use crate::both::streams::Stream;
use crate::both::textures::ElementFormat;
use crate::texture::{elements, not_executed};

/// `CUarray_format` and the channels of an element.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ArrayFormat {
    pub(super) number: i32,
    pub(super) channels: u32,
}

/// `CUarray_format` of the channels that are known here.
const CHANNELS: [(i32, Channel); 8] = [
    (0x01, Channel::U8),
    (0x02, Channel::U16),
    (0x03, Channel::U32),
    (0x08, Channel::S8),
    (0x09, Channel::S16),
    (0x0a, Channel::S32),
    (0x10, Channel::F16),
    (0x20, Channel::F32),
];

impl ElementFormat for ArrayFormat {
    fn format(self) -> Result<Format, Error> {
        let channel = CHANNELS.iter().find(|(number, _)| *number == self.number);
        let Some((_, channel)) = channel else {
            return not_executed("a packed or compressed format");
        };
        match self.channels {
            1 | 2 | 4 => Ok(Format::new(*channel, self.channels as u8)),
            _ => Err(Error::InvalidValue),
        }
    }
}

impl ArrayFormat {
    fn of(format: Format) -> Self {
        let number = CHANNELS.iter().find(|(_, channel)| *channel == format.channel);
        Self { number: number.map_or(0, |number| number.0), channels: format.channels.into() }
    }
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Description {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) format: ArrayFormat,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Description3d {
    width: usize,
    height: usize,
    depth: usize,
    format: ArrayFormat,
    flags: u32,
}

fn shape(description: Description3d) -> Result<ArrayShape, Error> {
    let Description3d { width, height, depth, format, flags } = description;
    let extent = [elements(width)?, elements(height)?, elements(depth)?];
    Ok(ArrayShape { format: format.format()?, extent, flags })
}

/// `CUmemorytype`: host, device, array, and whatever an address says.
const ARRAY: i32 = 3;
const MEMORY: [i32; 3] = [1, 2, 4];
const HOST: i32 = 1;

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side {
    x: usize,
    y: usize,
    kind: i32,
    host: u64,
    device: u64,
    array: ArrayHandle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Copy2d {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
}

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3d {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: i32,
    host: u64,
    device: u64,
    array: ArrayHandle,
    _reserved: u64,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Copy3d {
    from: Side3d,
    to: Side3d,
    width: usize,
    height: usize,
    depth: usize,
}

impl From<Side> for Side3d {
    fn from(side: Side) -> Self {
        let Side { x, y, kind, host, device, array, pitch } = side;
        let (z, level, height) = (0, 0, 0);
        Self { x, y, z, level, kind, host, device, array, _reserved: 0, pitch, height }
    }
}

impl From<Copy2d> for Copy3d {
    fn from(Copy2d { from, to, width, height }: Copy2d) -> Self {
        Self { from: from.into(), to: to.into(), width, height, depth: 1 }
    }
}

impl Side3d {
    fn end(&self) -> Result<End, Error> {
        if self.level != 0 {
            return Err(Error::InvalidValue);
        }
        let corner = Corner { x: self.x as u64, y: self.y as u64, z: self.z as u64 };
        match self.kind {
            ARRAY => Ok(End::Array(array(self.array)?, corner)),
            kind if MEMORY.contains(&kind) => {
                let address = if kind == HOST { self.host } else { self.device };
                let pitch = self.pitch as u64;
                let slice_pitch = pitch.saturating_mul(self.height as u64);
                let place = PitchedMemory { slice_pitch, ..PitchedMemory::rows(address, pitch) };
                Ok(End::within(place, corner))
            }
            _ => Err(Error::InvalidValue),
        }
    }
}

impl Copy3d {
    fn perform(&self, on: Stream, waits: bool) -> Result<(), Error> {
        arrays::copy(self.to.end()?, self.from.end()?, self.extent(), on, waits)
    }

    /// The work of a node that makes the copy.
    pub(super) fn work(&self) -> Result<Work, Error> {
        arrays::work(self.to.end()?, self.from.end()?, self.extent())
    }

    /// A copy between two ends.
    pub(super) fn shown((to, from, extent): (ShownEnd, ShownEnd, Extent)) -> Self {
        const BY_ADDRESS: i32 = 4;
        let side = |end: ShownEnd| {
            let nothing = Side3d {
                x: 0,
                y: 0,
                z: 0,
                level: 0,
                kind: ARRAY,
                host: 0,
                device: 0,
                array: 0,
                _reserved: 0,
                pitch: 0,
                height: 0,
            };
            match end {
                ShownEnd::Memory(place) => Side3d {
                    kind: BY_ADDRESS,
                    device: place.address,
                    pitch: place.pitch as usize,
                    height: arrays::rows_of_slice(place, extent.height) as usize,
                    ..nothing
                },
                ShownEnd::Array { handle, corner, .. } => Side3d {
                    x: corner.x as usize,
                    y: corner.y as usize,
                    z: corner.z as usize,
                    array: handle,
                    ..nothing
                },
            }
        };
        let [width, height, depth] =
            [extent.width, extent.height, extent.depth].map(|count| count as usize);
        Self { from: side(from), to: side(to), width, height, depth }
    }

    fn extent(&self) -> Extent {
        Extent { width: self.width as u64, height: self.height as u64, depth: self.depth as u64 }
    }
}

/// Bytes of an array from an offset on.
fn part(handle: ArrayHandle, offset: usize) -> Result<End, Error> {
    Ok(End::Array(array(handle)?, Corner { x: offset as u64, ..Corner::default() }))
}

fn bytes_at(address: u64, bytes: usize) -> End {
    End::Memory(PitchedMemory::rows(address, bytes as u64))
}

fn description(array: &Array) -> Description3d {
    let ArrayShape { format, extent, flags } = array.shape;
    let [width, height, depth] = extent.map(|extent| extent as usize);
    Description3d { width, height, depth, format: ArrayFormat::of(format), flags }
}

driver_functions! {
    /// Makes an array of one or two dimensions.
    fn cuArrayCreate_v2(handle: Out<ArrayHandle>, description: In<Description>) {
        let Description { width, height, format } = description.get()?;
        let plane = Description3d { width, height, depth: 0, format, flags: 0 };
        arrays::create(handle, shape(plane)?)
    }

    /// Makes an array of up to three dimensions, or of layers.
    fn cuArray3DCreate_v2(handle: Out<ArrayHandle>, description: In<Description3d>) {
        arrays::create(handle, shape(description.get()?)?)
    }

    /// Frees an array.
    fn cuArrayDestroy(handle: ArrayHandle) { arrays::free(handle) }

    /// Makes an array of several levels.
    fn cuMipmappedArrayCreate(
        handle: Out<MipmapHandle>,
        description: In<Description3d>,
        levels: u32,
    ) { mipmaps::create(handle, shape(description.get()?)?, levels) }

    /// The array that is one of the levels.
    fn cuMipmappedArrayGetLevel(array: Out<ArrayHandle>, handle: MipmapHandle, level: u32) {
        mipmaps::level(array, handle, level)
    }

    /// Frees an array with its levels.
    fn cuMipmappedArrayDestroy(handle: MipmapHandle) { mipmaps::free(handle) }

    /// The memory that is to be mapped to an array.
    fn cuMipmappedArrayGetMemoryRequirements(_place: u64, handle: MipmapHandle, _device: i32) {
        mipmaps::requirements(handle)
    }

    /// What an array of one or two dimensions is made of.
    fn cuArrayGetDescriptor_v2(place: Out<Description>, handle: ArrayHandle) {
        let Description3d { width, height, format, .. } = description(&array(handle)?);
        place.put(Description { width, height, format })
    }

    /// What an array is made of.
    fn cuArray3DGetDescriptor_v2(place: Out<Description3d>, handle: ArrayHandle) {
        place.put(description(&array(handle)?))
    }

    /// Copies rows.
    fn cuMemcpy2D_v2(copy: In<Copy2d>) { Copy3d::from(copy.get()?).perform(0, true) }

    /// Copies rows of any pitch.
    fn cuMemcpy2DUnaligned_v2(copy: In<Copy2d>) { Copy3d::from(copy.get()?).perform(0, true) }

    /// Copies rows in a stream.
    fn cuMemcpy2DAsync_v2(copy: In<Copy2d>, on: Stream) {
        Copy3d::from(copy.get()?).perform(on, false)
    }

    /// Copies slices of rows.
    fn cuMemcpy3D_v2(copy: In<Copy3d>) { copy.get()?.perform(0, true) }

    /// Copies slices of rows in a stream.
    fn cuMemcpy3DAsync_v2(copy: In<Copy3d>, on: Stream) { copy.get()?.perform(on, false) }

    /// Copies from the host to an array.
    fn cuMemcpyHtoA_v2(to: ArrayHandle, offset: usize, from: u64, bytes: usize) {
        arrays::copy_run(part(to, offset)?, bytes_at(from, bytes), bytes, 0, true)
    }

    /// Copies from the host to an array in a stream.
    fn cuMemcpyHtoAAsync_v2(to: ArrayHandle, offset: usize, from: u64, bytes: usize, on: Stream) {
        arrays::copy_run(part(to, offset)?, bytes_at(from, bytes), bytes, on, false)
    }

    /// Copies from an array to the host.
    fn cuMemcpyAtoH_v2(to: u64, from: ArrayHandle, offset: usize, bytes: usize) {
        arrays::copy_run(bytes_at(to, bytes), part(from, offset)?, bytes, 0, true)
    }

    /// Copies from an array to the host in a stream.
    fn cuMemcpyAtoHAsync_v2(to: u64, from: ArrayHandle, offset: usize, bytes: usize, on: Stream) {
        arrays::copy_run(bytes_at(to, bytes), part(from, offset)?, bytes, on, false)
    }

    /// Copies from memory of the device to an array.
    fn cuMemcpyDtoA_v2(to: ArrayHandle, offset: usize, from: u64, bytes: usize) {
        arrays::copy_run(part(to, offset)?, bytes_at(from, bytes), bytes, 0, false)
    }

    /// Copies from an array to memory of the device.
    fn cuMemcpyAtoD_v2(to: u64, from: ArrayHandle, offset: usize, bytes: usize) {
        arrays::copy_run(bytes_at(to, bytes), part(from, offset)?, bytes, 0, false)
    }

    /// Copies between arrays.
    fn cuMemcpyAtoA_v2(
        to: ArrayHandle,
        to_offset: usize,
        from: ArrayHandle,
        from_offset: usize,
        bytes: usize,
    ) {
        arrays::copy_run(part(to, to_offset)?, part(from, from_offset)?, bytes, 0, false)
    }
}
