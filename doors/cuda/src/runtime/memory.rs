//! Memory, copies and variables.

use std::ffi::c_void;

use gpucast_host::{BlockKind, Error, Extent, PitchedMemory};

use super::runtime_functions;
use crate::abi::Out;
use crate::both::memory::{self, allocate};
use crate::both::pools;
use crate::both::streams::Stream;
use crate::state::{self, on_device};

/// `cudaMemcpyKind`: host to host, host to device, device to host, device to device, by address.
const KINDS: std::ops::RangeInclusive<i32> = 0..=4;

/// Checks a direction. Addresses say it, so nothing else is done with it.
pub(super) fn check(kind: i32) -> Result<(), Error> {
    if KINDS.contains(&kind) { Ok(()) } else { Err(Error::InvalidDirection) }
}

/// Copies, and has the host wait if the call does.
fn copy(to: u64, from: u64, bytes: usize, kind: i32, on: Stream, waits: bool) -> Result<(), Error> {
    let rows = Rows { to, to_pitch: bytes, from, from_pitch: bytes, width: bytes, height: 1 };
    copy_rows(rows, kind, on, waits)
}

/// Rows to copy, as C gives them.
#[derive(Clone, Copy)]
struct Rows {
    to: u64,
    to_pitch: usize,
    from: u64,
    from_pitch: usize,
    width: usize,
    height: usize,
}

fn copy_rows(rows: Rows, kind: i32, on: Stream, waits: bool) -> Result<(), Error> {
    check(kind)?;
    let Rows { to, to_pitch, from, from_pitch, width, height } = rows;
    let extent = Extent::rows(width as u64, height as u64);
    let to = PitchedMemory::rows(to, to_pitch as u64);
    memory::copy(to, PitchedMemory::rows(from, from_pitch as u64), extent, on, waits)
}

fn fill(to: u64, pitch: usize, value: i32, extent: [usize; 2], on: Stream) -> Result<(), Error> {
    let extent = Extent::rows(extent[0] as u64, extent[1] as u64);
    memory::fill(PitchedMemory::rows(to, pitch as u64), &[value as u8], extent, on)
}

/// The bytes of a variable from an offset on.
pub(super) fn of_symbol(host: u64, offset: usize, bytes: usize) -> Result<u64, Error> {
    let variable = state::with(|state| state.variable(host))?;
    let end = offset.checked_add(bytes).ok_or(Error::InvalidValue)?;
    if end as u64 > variable.bytes {
        return Err(Error::InvalidValue);
    }
    Ok(variable.address + offset as u64)
}

/// `cudaPointerAttributes`; CUDA 13 reserves more behind it.
#[repr(C)]
struct PointerAttributes {
    kind: i32,
    device: i32,
    device_address: u64,
    host_address: u64,
}

runtime_functions! {
    /// Allocates memory of the device.
    fn cudaMalloc(address: Out<u64>, bytes: usize) { allocate(address, bytes, BlockKind::Device) }

    /// Allocates memory of the device, in order of a stream: at once here.
    fn cudaMallocAsync(address: Out<u64>, bytes: usize, on: Stream) { pools::allocate_in(on, address, bytes, None) }

    /// Allocates memory that host and device reach.
    fn cudaMallocManaged(address: Out<u64>, bytes: usize, flags: u32) { memory::allocate_managed(address, bytes, flags) }

    /// Allocates rows whose beginnings are aligned.
    fn cudaMallocPitch(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize) { memory::allocate_rows(address, pitch, width, height) }

    /// Frees memory of the device.
    fn cudaFree(address: u64) { pools::free(address) }

    /// Frees memory of the device.
    fn cudaFreeAsync(address: u64, on: Stream) { pools::free_in(on, address) }

    /// Allocates memory of the host.
    fn cudaMallocHost(address: Out<u64>, bytes: usize) {
        allocate(address, bytes, BlockKind::Pinned)
    }

    /// Allocates memory of the host; the device reaches all of it.
    fn cudaHostAlloc(address: Out<u64>, bytes: usize, flags: u32) { memory::allocate_host(address, bytes, flags) }

    /// Frees memory of the host.
    fn cudaFreeHost(address: u64) { memory::free_host(address) }

    /// The device's address of memory of the host: the same.
    fn cudaHostGetDevicePointer(device_address: Out<u64>, address: u64, _flags: u32) { memory::device_pointer(device_address, address) }

    /// The flags of memory of the host.
    fn cudaHostGetFlags(flags: Out<u32>, address: u64) {
        let block = on_device(|device| Ok(device.block(address)))?;
        match block.map(|block| block.kind) {
            Some(BlockKind::Pinned | BlockKind::Registered) => flags.put(0),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Lets the device reach the program's own memory.
    fn cudaHostRegister(address: u64, bytes: usize, flags: u32) { memory::register(address, bytes, flags) }

    /// Takes registered memory back.
    fn cudaHostUnregister(address: u64) { memory::unregister(address) }

    /// Free and all memory of the device.
    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) { memory::info(free, total) }

    /// Copies bytes.
    fn cudaMemcpy(to: u64, from: u64, bytes: usize, kind: i32) {
        copy(to, from, bytes, kind, 0, true)
    }

    /// Copies bytes in a stream.
    fn cudaMemcpyAsync(to: u64, from: u64, bytes: usize, kind: i32, on: Stream) {
        copy(to, from, bytes, kind, on, false)
    }

    /// Copies rows.
    fn cudaMemcpy2D(
        to: u64,
        to_pitch: usize,
        from: u64,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: i32,
    ) {
        copy_rows(Rows { to, to_pitch, from, from_pitch, width, height }, kind, 0, true)
    }

    /// Copies rows in a stream.
    fn cudaMemcpy2DAsync(
        to: u64,
        to_pitch: usize,
        from: u64,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: i32,
        on: Stream,
    ) {
        copy_rows(Rows { to, to_pitch, from, from_pitch, width, height }, kind, on, false)
    }

    /// Copies between devices: there is one.
    fn cudaMemcpyPeer(to: u64, _to_device: i32, from: u64, _from_device: i32, bytes: usize) {
        copy(to, from, bytes, 4, 0, true)
    }

    /// Copies to a variable.
    fn cudaMemcpyToSymbol(host: u64, from: u64, bytes: usize, offset: usize, kind: i32) {
        copy(of_symbol(host, offset, bytes)?, from, bytes, kind, 0, true)
    }

    /// Copies to a variable in a stream.
    fn cudaMemcpyToSymbolAsync(
        host: u64,
        from: u64,
        bytes: usize,
        offset: usize,
        kind: i32,
        on: Stream,
    ) {
        copy(of_symbol(host, offset, bytes)?, from, bytes, kind, on, false)
    }

    /// Copies from a variable.
    fn cudaMemcpyFromSymbol(to: u64, host: u64, bytes: usize, offset: usize, kind: i32) {
        copy(to, of_symbol(host, offset, bytes)?, bytes, kind, 0, true)
    }

    /// Copies from a variable in a stream.
    fn cudaMemcpyFromSymbolAsync(
        to: u64,
        host: u64,
        bytes: usize,
        offset: usize,
        kind: i32,
        on: Stream,
    ) {
        copy(to, of_symbol(host, offset, bytes)?, bytes, kind, on, false)
    }

    /// The address of a variable.
    fn cudaGetSymbolAddress(address: Out<u64>, host: u64) {
        address.put(state::with(|state| state.variable(host))?.address)
    }

    /// The size of a variable.
    fn cudaGetSymbolSize(bytes: Out<usize>, host: u64) {
        bytes.put(state::with(|state| state.variable(host))?.bytes as usize)
    }

    /// Fills bytes.
    fn cudaMemset(to: u64, value: i32, bytes: usize) { fill(to, bytes, value, [bytes, 1], 0) }

    /// Fills bytes in a stream.
    fn cudaMemsetAsync(to: u64, value: i32, bytes: usize, on: Stream) {
        fill(to, bytes, value, [bytes, 1], on)
    }

    /// Fills rows.
    fn cudaMemset2D(to: u64, pitch: usize, value: i32, width: usize, height: usize) {
        fill(to, pitch, value, [width, height], 0)
    }

    /// Fills rows in a stream.
    fn cudaMemset2DAsync(
        to: u64,
        pitch: usize,
        value: i32,
        width: usize,
        height: usize,
        on: Stream,
    ) {
        fill(to, pitch, value, [width, height], on)
    }

    /// Managed memory is where it is.
    fn cudaMemPrefetchAsync(_address: *const c_void, _bytes: usize) { Ok(()) }

    /// Managed memory is where it is.
    fn cudaMemPrefetchAsync_v2(_address: *const c_void, _bytes: usize) { Ok(()) }

    /// Advice on managed memory changes nothing.
    fn cudaMemAdvise(_address: *const c_void, _bytes: usize) { Ok(()) }

    /// Advice on managed memory changes nothing.
    fn cudaMemAdvise_v2(_address: *const c_void, _bytes: usize) { Ok(()) }

    /// Says whose memory an address is.
    fn cudaPointerGetAttributes(attributes: Out<PointerAttributes>, address: u64) {
        let block = on_device(|device| Ok(device.block(address)))?;
        let (kind, on_device, on_host) = match block.map(|block| block.kind) {
            None => (0, 0, address),
            Some(BlockKind::Pinned | BlockKind::Registered) => (1, address, address),
            Some(
                BlockKind::Device | BlockKind::Variable | BlockKind::Array | BlockKind::Mipmap,
            ) => (2, address, 0),
            Some(BlockKind::Managed) => (3, address, address),
        };
        attributes.put(PointerAttributes {
            kind,
            device: if block.is_some() { 0 } else { -2 },
            device_address: on_device,
            host_address: on_host,
        })
    }
}
