//! Memory: blocks, their places, and what registers the program's own.

use gpucast_host::{BlockKind, Error, Extent, PitchedMemory};

use super::streams::{Stream, stream};
use crate::abi::{self, Out};
use crate::state::on_device;

/// Rows begin at multiples of this, as the pitch of an allocation says.
const PITCH: usize = 512;

/// Copies rows, and has the host wait if the call does.
pub(crate) fn copy(
    to: PitchedMemory,
    from: PitchedMemory,
    extent: Extent,
    on: Stream,
    waits: bool,
) -> Result<(), Error> {
    on_device(|device| {
        abi::copy(device, to, from, extent, stream(on))?;
        if waits { device.clock().synchronise_stream(stream(on)) } else { Ok(()) }
    })
}

/// Fills rows with a pattern of bytes.
pub(crate) fn fill(
    to: PitchedMemory,
    pattern: &[u8],
    extent: Extent,
    on: Stream,
) -> Result<(), Error> {
    on_device(|device| abi::fill(device, to, pattern, extent, stream(on)))
}

/// Allocates a block and returns its address.
pub(crate) fn allocated(bytes: usize, kind: BlockKind) -> Result<u64, Error> {
    on_device(|device| device.allocate(bytes as u64, kind))
}

/// Allocates a block, and writes its address.
pub(crate) fn allocate(address: Out<u64>, bytes: usize, kind: BlockKind) -> Result<(), Error> {
    address.check()?;
    address.put(allocated(bytes, kind)?)
}

/// Allocates memory that host and device reach: for all streams, or for none at first.
pub(crate) fn allocate_managed(address: Out<u64>, bytes: usize, flags: u32) -> Result<(), Error> {
    if bytes == 0 || !(1..=2).contains(&flags) {
        return Err(Error::InvalidValue);
    }
    allocate(address, bytes, BlockKind::Managed)
}

/// Allocates memory of the host. The flags (portable, mapped, written in passing) change nothing.
pub(crate) fn allocate_host(address: Out<u64>, bytes: usize, flags: u32) -> Result<(), Error> {
    if flags > 7 {
        return Err(Error::InvalidValue);
    }
    allocate(address, bytes, BlockKind::Pinned)
}

/// The size in bytes of rows whose beginnings are aligned.
pub(crate) struct AlignedRows {
    pub(crate) pitch: usize,
    pub(crate) bytes: usize,
}

/// The size of `height` rows of `width` bytes.
pub(crate) fn aligned_rows(width: usize, height: usize) -> Result<AlignedRows, Error> {
    let pitch = width.checked_next_multiple_of(PITCH).ok_or(Error::InvalidValue)?;
    let bytes = pitch.checked_mul(height).ok_or(Error::InvalidValue)?;
    Ok(AlignedRows { pitch, bytes })
}

/// Allocates rows whose beginnings are aligned, and writes how far apart they are.
pub(crate) fn allocate_rows(
    address: Out<u64>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
) -> Result<(), Error> {
    pitch.check()?;
    let rows = aligned_rows(width, height)?;
    allocate(address, rows.bytes, BlockKind::Device)?;
    pitch.put(rows.pitch)
}

/// Frees memory of the device.
pub(crate) fn free(address: u64) -> Result<(), Error> {
    on_device(|device| device.free(address, &[BlockKind::Device, BlockKind::Managed]))
}

/// Frees memory of the host.
pub(crate) fn free_host(address: u64) -> Result<(), Error> {
    on_device(|device| device.free(address, &[BlockKind::Pinned]))
}

/// Writes the device's address of memory of the host: the same.
pub(crate) fn device_pointer(place: Out<u64>, address: u64) -> Result<(), Error> {
    on_device(|device| device.block(address).map(|_| ()).ok_or(Error::InvalidValue))?;
    place.put(address)
}

/// Lets the device reach the program's own memory. The flags change nothing here.
pub(crate) fn register(address: u64, bytes: usize, flags: u32) -> Result<(), Error> {
    if flags > 15 {
        return Err(Error::InvalidValue);
    }
    on_device(|device| abi::register_host(device, address, bytes as u64))
}

/// Takes registered memory back.
pub(crate) fn unregister(address: u64) -> Result<(), Error> {
    let freed = on_device(|device| device.free(address, &[BlockKind::Registered]));
    freed.map_err(|error| match error {
        Error::InvalidValue => Error::NotRegistered,
        other => other,
    })
}

/// Writes the free and all memory of the device, in bytes.
pub(crate) fn info(free: Out<usize>, total: Out<usize>) -> Result<(), Error> {
    let info = on_device(|device| Ok(device.memory_info()))?;
    free.put(info.free as usize)?;
    total.put(info.total as usize)
}
