//! Arrays, and copies in which they take part.

use gpucast_host::graph::Work;
use gpucast_host::{Array, ArrayId, ArrayShape, Corner, Error, Extent, PitchedMemory};
use gpucast_interpreter::texture::Resource;

use super::memory;
use super::streams::Stream;
use crate::abi::Out;
use crate::state::on_device;

/// `cudaArray_t` and `CUarray`: the array's number, from 1 on.
pub(crate) type ArrayHandle = u64;

fn id(handle: ArrayHandle) -> Result<ArrayId, Error> {
    let number = handle.checked_sub(1).ok_or(Error::InvalidHandle)?;
    usize::try_from(number).map(ArrayId).map_err(|_| Error::InvalidHandle)
}

/// The handle of an array.
pub(super) fn handle(id: ArrayId) -> ArrayHandle {
    id.0 as u64 + 1
}

/// Makes an array, and writes its handle.
pub(crate) fn create(place: Out<ArrayHandle>, shape: ArrayShape) -> Result<(), Error> {
    place.check()?;
    place.put(handle(on_device(|device| device.create_array(shape))?))
}

/// The array of a handle.
pub(crate) fn array(handle: ArrayHandle) -> Result<Array, Error> {
    let id = id(handle)?;
    on_device(|device| device.array(id))
}

/// Frees an array.
pub(crate) fn free(handle: ArrayHandle) -> Result<(), Error> {
    let id = id(handle)?;
    on_device(|device| device.free_array(id))
}

/// One end of a copy.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// Rows at an address.
    Memory(PitchedMemory),
    /// A part of an array.
    Array(Array, Corner),
}

impl End {
    /// A part of memory that begins at a corner of rows and slices.
    pub(crate) fn within(place: PitchedMemory, corner: Corner) -> Self {
        let offset = corner
            .z
            .wrapping_mul(place.slice_pitch)
            .wrapping_add(corner.y.wrapping_mul(place.pitch))
            .wrapping_add(corner.x);
        Self::Memory(PitchedMemory { address: place.address.wrapping_add(offset), ..place })
    }

    fn place(self, extent: Extent) -> Result<PitchedMemory, Error> {
        match self {
            Self::Memory(place) => Ok(place),
            Self::Array(array, corner) => array.place(corner, extent),
        }
    }

    /// The place of bytes that go on from row to row.
    fn run(self, bytes: u64) -> Result<PitchedMemory, Error> {
        match self {
            Self::Memory(place) => Ok(place),
            Self::Array(array, corner) => array.run(corner, bytes),
        }
    }
}

/// One end of a copy as a program may name it.
#[derive(Clone, Copy)]
pub(crate) enum ShownEnd {
    /// Rows at an address.
    Memory(PitchedMemory),
    /// A part of an array, whose elements have so many bytes.
    Array { handle: ArrayHandle, corner: Corner, element: u64 },
}

impl ShownEnd {
    /// The end at a place.
    pub(super) fn of(place: PitchedMemory) -> Result<Self, Error> {
        on_device(|device| {
            let Some(id) = device.array_at(place.address) else { return Ok(Self::Memory(place)) };
            let array = device.array(id)?;
            let Resource { address, row_pitch, slice_pitch, .. } = array.resource;
            let offset = place.address - address;
            let (z, within) = (offset / slice_pitch.max(1), offset % slice_pitch.max(1));
            let (y, x) = (within / row_pitch.max(1), within % row_pitch.max(1));
            let corner = Corner { x, y, z };
            Ok(Self::Array { handle: handle(id), corner, element: array.element_bytes() })
        })
    }

    /// Bytes of an element, if it is an array.
    pub(crate) fn element(&self) -> Option<u64> {
        match self {
            Self::Memory(_) => None,
            Self::Array { element, .. } => Some(*element),
        }
    }
}

/// Rows of a slice at a place that was given with `rows` rows to be copied.
pub(crate) fn rows_of_slice(place: PitchedMemory, rows: u64) -> u64 {
    if place.slice_pitch > 0 { place.slice_pitch / place.pitch.max(1) } else { rows }
}

/// Copies rows, and has the host wait if the call does.
pub(crate) fn copy(
    to: End,
    from: End,
    extent: Extent,
    on: Stream,
    waits: bool,
) -> Result<(), Error> {
    memory::copy(to.place(extent)?, from.place(extent)?, extent, on, waits)
}

/// The work of a node that copies rows.
pub(crate) fn work(to: End, from: End, extent: Extent) -> Result<Work, Error> {
    Ok(Work::Copy { to: to.place(extent)?, from: from.place(extent)?, extent })
}

/// Copies bytes, which go on from row to row of an array.
pub(crate) fn copy_run(
    to: End,
    from: End,
    bytes: usize,
    on: Stream,
    waits: bool,
) -> Result<(), Error> {
    let bytes = bytes as u64;
    memory::copy(to.run(bytes)?, from.run(bytes)?, Extent::row(bytes), on, waits)
}
