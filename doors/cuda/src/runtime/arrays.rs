//! Arrays, memory of three dimensions, and copies between all of them.

use gpucast_host::graph::Work;
use gpucast_host::{ArrayShape, BlockKind, Corner, Error, Extent, PitchedMemory};

use super::memory::check;
use super::textures::ChannelFormat;
use super::{plain_functions, runtime_functions};
use crate::abi::{In, Out};
use crate::both::arrays::{self, ArrayHandle, End, ShownEnd, array};
use crate::both::memory;
use crate::both::mipmaps::{self, MipmapHandle};
use crate::both::streams::Stream;
use crate::both::textures::ElementFormat;
use crate::texture::elements;

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Extents {
    width: usize,
    height: usize,
    depth: usize,
}

impl From<Extents> for Extent {
    fn from(Extents { width, height, depth }: Extents) -> Self {
        Self { width: width as u64, height: height as u64, depth: depth as u64 }
    }
}

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Position {
    x: usize,
    y: usize,
    z: usize,
}

impl Position {
    /// The position of elements of some bytes.
    fn corner(self, element: u64) -> Result<Corner, Error> {
        let x = (self.x as u64).checked_mul(element).ok_or(Error::InvalidValue)?;
        Ok(Corner { x, y: self.y as u64, z: self.z as u64 })
    }
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pitched {
    address: u64,
    pitch: usize,
    _width: usize,
    height: usize,
}

impl Pitched {
    fn place(self) -> PitchedMemory {
        let slice_pitch = (self.pitch as u64).saturating_mul(self.height as u64);
        PitchedMemory { slice_pitch, ..PitchedMemory::rows(self.address, self.pitch as u64) }
    }
}

/// One side of `cudaMemcpy3DParms`: an array or memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side {
    array: ArrayHandle,
    position: Position,
    memory: Pitched,
}

/// One end of a copy, and the bytes of its elements if it is an array.
struct EndOfCopy {
    end: End,
    element: Option<u64>,
}

impl Side {
    fn end(&self) -> Result<EndOfCopy, Error> {
        match (self.array, self.memory.address) {
            (0, 0) => Err(Error::InvalidValue),
            (0, _) => {
                let end = End::within(self.memory.place(), self.position.corner(1)?);
                Ok(EndOfCopy { end, element: None })
            }
            (handle, 0) => {
                let array = array(handle)?;
                let element = array.element_bytes();
                let end = End::Array(array, self.position.corner(element)?);
                Ok(EndOfCopy { end, element: Some(element) })
            }
            _ => Err(Error::InvalidValue),
        }
    }
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Copy3d {
    from: Side,
    to: Side,
    extent: Extents,
    kind: i32,
}

impl Copy3d {
    fn perform(&self, on: Stream, waits: bool) -> Result<(), Error> {
        let (to, from, extent) = self.ends()?;
        arrays::copy(to, from, extent, on, waits)
    }

    /// The work of a node that makes the copy.
    pub(super) fn work(&self) -> Result<Work, Error> {
        let (to, from, extent) = self.ends()?;
        arrays::work(to, from, extent)
    }

    /// A copy between two ends, in whatever direction their addresses say.
    pub(super) fn shown((to, from, extent): (ShownEnd, ShownEnd, Extent)) -> Self {
        const DEFAULT: i32 = 4;
        let side = |end: ShownEnd| match end {
            ShownEnd::Memory(place) => Side {
                array: 0,
                position: Position { x: 0, y: 0, z: 0 },
                memory: Pitched {
                    address: place.address,
                    pitch: place.pitch as usize,
                    _width: extent.width as usize,
                    height: arrays::rows_of_slice(place, extent.height) as usize,
                },
            },
            ShownEnd::Array { handle, corner, element } => Side {
                array: handle,
                position: Position {
                    x: (corner.x / element.max(1)) as usize,
                    y: corner.y as usize,
                    z: corner.z as usize,
                },
                memory: Pitched { address: 0, pitch: 0, _width: 0, height: 0 },
            },
        };
        let element = to.element().or(from.element()).unwrap_or(1).max(1);
        let extent_of = Extents {
            width: (extent.width / element) as usize,
            height: extent.height as usize,
            depth: extent.depth as usize,
        };
        Self { from: side(from), to: side(to), extent: extent_of, kind: DEFAULT }
    }

    fn ends(&self) -> Result<(End, End, Extent), Error> {
        check(self.kind)?;
        let (to, from) = (self.to.end()?, self.from.end()?);
        // Widths count an array's elements, and bytes where there is none.
        let element = match (to.element, from.element) {
            (Some(one), Some(other)) if one != other => return Err(Error::InvalidValue),
            (one, other) => one.or(other).unwrap_or(1),
        };
        let extent = Extent::from(self.extent);
        let width = extent.width.checked_mul(element).ok_or(Error::InvalidValue)?;
        Ok((to.end, from.end, Extent { width, ..extent }))
    }
}

/// Rows or bytes at an offset in bytes and rows of an array.
fn part(handle: ArrayHandle, x: usize, y: usize) -> Result<End, Error> {
    Ok(End::Array(array(handle)?, Corner { x: x as u64, y: y as u64, z: 0 }))
}

fn rows(address: u64, pitch: usize) -> End {
    End::Memory(PitchedMemory::rows(address, pitch as u64))
}

fn shape(format: In<ChannelFormat>, extent: Extents, flags: u32) -> Result<ArrayShape, Error> {
    let Extents { width, height, depth } = extent;
    let extent = [elements(width)?, elements(height)?, elements(depth)?];
    Ok(ArrayShape { format: format.get()?.format()?, extent, flags })
}

fn fill(memory: Pitched, value: i32, extent: Extents, on: Stream) -> Result<(), Error> {
    memory::fill(memory.place(), &[value as u8], extent.into(), on)
}

runtime_functions! {
    /// Makes an array of one or two dimensions.
    fn cudaMallocArray(
        handle: Out<ArrayHandle>,
        format: In<ChannelFormat>,
        width: usize,
        height: usize,
        flags: u32,
    ) { arrays::create(handle, shape(format, Extents { width, height, depth: 0 }, flags)?) }

    /// Makes an array of up to three dimensions, or of layers.
    fn cudaMalloc3DArray(
        handle: Out<ArrayHandle>,
        format: In<ChannelFormat>,
        extent: Extents,
        flags: u32,
    ) { arrays::create(handle, shape(format, extent, flags)?) }

    /// Frees an array. Null is none.
    fn cudaFreeArray(handle: ArrayHandle) {
        if handle == 0 { Ok(()) } else { arrays::free(handle) }
    }

    /// Makes an array of several levels.
    fn cudaMallocMipmappedArray(
        handle: Out<MipmapHandle>,
        format: In<ChannelFormat>,
        extent: Extents,
        levels: u32,
        flags: u32,
    ) { mipmaps::create(handle, shape(format, extent, flags)?, levels) }

    /// The array that is one of the levels.
    fn cudaGetMipmappedArrayLevel(array: Out<ArrayHandle>, handle: MipmapHandle, level: u32) {
        mipmaps::level(array, handle, level)
    }

    /// Frees an array with its levels. Null is none.
    fn cudaFreeMipmappedArray(handle: MipmapHandle) {
        if handle == 0 { Ok(()) } else { mipmaps::free(handle) }
    }

    /// The memory that is to be mapped to an array.
    fn cudaMipmappedArrayGetMemoryRequirements(_place: u64, handle: MipmapHandle, _device: i32) {
        mipmaps::requirements(handle)
    }

    /// What an array is made of.
    fn cudaArrayGetInfo(
        format: Out<ChannelFormat>,
        extent: Out<Extents>,
        flags: Out<u32>,
        handle: ArrayHandle,
    ) {
        let shape = array(handle)?.shape;
        let [width, height, depth] = shape.extent.map(|extent| extent as usize);
        format.maybe_put(ChannelFormat::of(shape.format));
        extent.maybe_put(Extents { width, height, depth });
        flags.maybe_put(shape.flags);
        Ok(())
    }

    /// The format of an array's elements.
    fn cudaGetChannelDesc(format: Out<ChannelFormat>, handle: ArrayHandle) {
        format.put(ChannelFormat::of(array(handle)?.shape.format))
    }

    /// Allocates slices of rows whose beginnings are aligned.
    fn cudaMalloc3D(memory: Out<Pitched>, extent: Extents) {
        let Extents { width, height, depth } = extent;
        let rows = height.checked_mul(depth).ok_or(Error::InvalidValue)?;
        let rows = memory::aligned_rows(width, rows)?;
        let address = memory::allocated(rows.bytes, BlockKind::Device)?;
        memory.put(Pitched { address, pitch: rows.pitch, _width: width, height })
    }

    /// Copies to an array, on from row to row.
    fn cudaMemcpyToArray(
        to: ArrayHandle,
        x: usize,
        y: usize,
        from: u64,
        bytes: usize,
        kind: i32,
    ) {
        check(kind)?;
        arrays::copy_run(part(to, x, y)?, rows(from, bytes), bytes, 0, true)
    }

    /// Copies to an array in a stream.
    fn cudaMemcpyToArrayAsync(
        to: ArrayHandle,
        x: usize,
        y: usize,
        from: u64,
        bytes: usize,
        kind: i32,
        on: Stream,
    ) {
        check(kind)?;
        arrays::copy_run(part(to, x, y)?, rows(from, bytes), bytes, on, false)
    }

    /// Copies from an array, on from row to row.
    fn cudaMemcpyFromArray(
        to: u64,
        from: ArrayHandle,
        x: usize,
        y: usize,
        bytes: usize,
        kind: i32,
    ) {
        check(kind)?;
        arrays::copy_run(rows(to, bytes), part(from, x, y)?, bytes, 0, true)
    }

    /// Copies from an array in a stream.
    fn cudaMemcpyFromArrayAsync(
        to: u64,
        from: ArrayHandle,
        x: usize,
        y: usize,
        bytes: usize,
        kind: i32,
        on: Stream,
    ) {
        check(kind)?;
        arrays::copy_run(rows(to, bytes), part(from, x, y)?, bytes, on, false)
    }

    /// Copies between arrays, on from row to row.
    fn cudaMemcpyArrayToArray(
        to: ArrayHandle,
        to_x: usize,
        to_y: usize,
        from: ArrayHandle,
        from_x: usize,
        from_y: usize,
        bytes: usize,
        kind: i32,
    ) {
        check(kind)?;
        arrays::copy_run(part(to, to_x, to_y)?, part(from, from_x, from_y)?, bytes, 0, false)
    }

    /// Copies rows to an array.
    fn cudaMemcpy2DToArray(
        to: ArrayHandle,
        x: usize,
        y: usize,
        from: u64,
        pitch: usize,
        width: usize,
        height: usize,
        kind: i32,
    ) {
        check(kind)?;
        let extent = Extent::rows(width as u64, height as u64);
        arrays::copy(part(to, x, y)?, rows(from, pitch), extent, 0, true)
    }

    /// Copies rows to an array in a stream.
    fn cudaMemcpy2DToArrayAsync(
        to: ArrayHandle,
        x: usize,
        y: usize,
        from: u64,
        pitch: usize,
        width: usize,
        height: usize,
        kind: i32,
        on: Stream,
    ) {
        check(kind)?;
        let extent = Extent::rows(width as u64, height as u64);
        arrays::copy(part(to, x, y)?, rows(from, pitch), extent, on, false)
    }

    /// Copies rows from an array.
    fn cudaMemcpy2DFromArray(
        to: u64,
        pitch: usize,
        from: ArrayHandle,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: i32,
    ) {
        check(kind)?;
        let extent = Extent::rows(width as u64, height as u64);
        arrays::copy(rows(to, pitch), part(from, x, y)?, extent, 0, true)
    }

    /// Copies rows from an array in a stream.
    fn cudaMemcpy2DFromArrayAsync(
        to: u64,
        pitch: usize,
        from: ArrayHandle,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: i32,
        on: Stream,
    ) {
        check(kind)?;
        let extent = Extent::rows(width as u64, height as u64);
        arrays::copy(rows(to, pitch), part(from, x, y)?, extent, on, false)
    }

    /// Copies rows between arrays.
    fn cudaMemcpy2DArrayToArray(
        to: ArrayHandle,
        to_x: usize,
        to_y: usize,
        from: ArrayHandle,
        from_x: usize,
        from_y: usize,
        width: usize,
        height: usize,
        kind: i32,
    ) {
        check(kind)?;
        let extent = Extent::rows(width as u64, height as u64);
        arrays::copy(part(to, to_x, to_y)?, part(from, from_x, from_y)?, extent, 0, false)
    }

    /// Copies slices of rows between arrays and memory.
    fn cudaMemcpy3D(copy: In<Copy3d>) { copy.get()?.perform(0, true) }

    /// Copies slices of rows between arrays and memory, in a stream.
    fn cudaMemcpy3DAsync(copy: In<Copy3d>, on: Stream) { copy.get()?.perform(on, false) }

    /// Fills slices of rows.
    fn cudaMemset3D(memory: Pitched, value: i32, extent: Extents) {
        fill(memory, value, extent, 0)
    }

    /// Fills slices of rows in a stream.
    fn cudaMemset3DAsync(memory: Pitched, value: i32, extent: Extents, on: Stream) {
        fill(memory, value, extent, on)
    }
}

plain_functions! {
    /// Describes a format.
    fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: i32) -> ChannelFormat {
        ChannelFormat { bits: [x, y, z, w], kind }
    }
}

#[cfg(test)]
mod tests {
    use gpucast_interpreter::texture::{Channel, Format};

    use super::*;

    #[test]
    fn formats_come_back_as_they_were_given() {
        for channel in [Channel::U8, Channel::S16, Channel::U32, Channel::F16, Channel::F32] {
            for channels in [1, 2, 4] {
                let format = Format::new(channel, channels);
                assert_eq!(ChannelFormat::of(format).format(), Ok(format));
            }
        }
    }
}
