//! Memory and copies.

use gpucast_host::{BlockKind, Error, Extent, PitchedMemory};

use super::driver_functions;
use crate::abi::Out;
use crate::both::memory;
use crate::both::pools;
use crate::both::streams::Stream;
use crate::state::on_device;

fn allocate(address: Out<u64>, bytes: usize, kind: BlockKind) -> Result<(), Error> {
    if bytes == 0 {
        return Err(Error::InvalidValue);
    }
    memory::allocate(address, bytes, kind)
}

fn copy(to: u64, from: u64, bytes: usize, on: Stream, waits: bool) -> Result<(), Error> {
    let bytes = bytes as u64;
    let [to, from] = [to, from].map(|address| PitchedMemory::rows(address, bytes));
    memory::copy(to, from, Extent::row(bytes), on, waits)
}

fn fill(to: u64, pattern: &[u8], count: usize, on: Stream) -> Result<(), Error> {
    let bytes = count.checked_mul(pattern.len()).ok_or(Error::InvalidValue)? as u64;
    memory::fill(PitchedMemory::rows(to, bytes), pattern, Extent::row(bytes), on)
}

// Attributes of pointers (`CUpointer_attribute`).
const CONTEXT: i32 = 1;
const MEMORY_TYPE: i32 = 2;
const DEVICE_POINTER: i32 = 3;
const HOST_POINTER: i32 = 4;
const IS_MANAGED: i32 = 8;
const DEVICE_ORDINAL: i32 = 9;
const RANGE_START: i32 = 11;
const RANGE_SIZE: i32 = 12;

/// The last of them (CUDA 13).
const LAST: i32 = 21;

/// Writes an attribute of an address, with the size that it has.
fn attribute(place: Out<u8>, attribute: i32, address: u64) -> Result<(), Error> {
    let block = on_device(|device| Ok(device.block(address)))?.ok_or(Error::InvalidValue)?;
    let on_host = matches!(block.kind, BlockKind::Pinned | BlockKind::Registered);
    let long = |value: u64| place.put_all(value.to_le_bytes());
    let word = |value: u32| place.put_all(value.to_le_bytes());
    match attribute {
        CONTEXT => long(super::context::current()),
        MEMORY_TYPE => word(if on_host { 1 } else { 2 }),
        DEVICE_POINTER => long(address),
        HOST_POINTER if block.kind == BlockKind::Device => Err(Error::InvalidValue),
        HOST_POINTER => long(address),
        IS_MANAGED => word(u32::from(block.kind == BlockKind::Managed)),
        DEVICE_ORDINAL => word(0),
        RANGE_START => long(block.address),
        RANGE_SIZE => long(block.bytes),
        other if (1..=LAST).contains(&other) => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

driver_functions! {
    /// Allocates memory of the device.
    fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) {
        allocate(address, bytes, BlockKind::Device)
    }

    /// Allocates memory of the device, in order of a stream: at once here.
    fn cuMemAllocAsync(address: Out<u64>, bytes: usize, on: Stream) {
        if bytes == 0 {
            return Err(Error::InvalidValue);
        }
        pools::allocate_in(on, address, bytes, None)
    }

    /// Allocates memory that host and device reach.
    fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) { memory::allocate_managed(address, bytes, flags) }

    /// Allocates rows whose beginnings are aligned.
    fn cuMemAllocPitch_v2(
        address: Out<u64>,
        pitch: Out<usize>,
        width: usize,
        height: usize,
        _element: u32,
    ) { memory::allocate_rows(address, pitch, width, height) }

    /// Frees memory of the device.
    fn cuMemFree_v2(address: u64) { pools::free(address) }

    /// Frees memory of the device.
    fn cuMemFreeAsync(address: u64, on: Stream) { pools::free_in(on, address) }

    /// Allocates memory of the host.
    fn cuMemAllocHost_v2(address: Out<u64>, bytes: usize) {
        allocate(address, bytes, BlockKind::Pinned)
    }

    /// Allocates memory of the host; the device reaches all of it.
    fn cuMemHostAlloc(address: Out<u64>, bytes: usize, flags: u32) { memory::allocate_host(address, bytes, flags) }

    /// Frees memory of the host.
    fn cuMemFreeHost(address: u64) { memory::free_host(address) }

    /// The device's address of memory of the host: the same.
    fn cuMemHostGetDevicePointer_v2(device_address: Out<u64>, address: u64, _flags: u32) { memory::device_pointer(device_address, address) }

    /// Lets the device reach the program's own memory.
    fn cuMemHostRegister_v2(address: u64, bytes: usize, flags: u32) { memory::register(address, bytes, flags) }

    /// Takes registered memory back.
    fn cuMemHostUnregister(address: u64) { memory::unregister(address) }

    /// Free and all memory of the device.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) { memory::info(free, total) }

    /// The block that holds an address.
    fn cuMemGetAddressRange_v2(start: Out<u64>, bytes: Out<usize>, address: u64) {
        let block = on_device(|device| device.block(address).ok_or(Error::NotFound))?;
        start.maybe_put(block.address);
        bytes.maybe_put(block.bytes as usize);
        Ok(())
    }

    /// Copies bytes.
    fn cuMemcpy(to: u64, from: u64, bytes: usize) { copy(to, from, bytes, 0, true) }

    /// Copies bytes in a stream.
    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, on: Stream) {
        copy(to, from, bytes, on, false)
    }

    /// Copies from the host.
    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) { copy(to, from, bytes, 0, true) }

    /// Copies to the host.
    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) { copy(to, from, bytes, 0, true) }

    /// Copies within the device.
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) { copy(to, from, bytes, 0, false) }

    /// Copies from the host in a stream.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, on: Stream) {
        copy(to, from, bytes, on, false)
    }

    /// Copies to the host in a stream.
    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, on: Stream) {
        copy(to, from, bytes, on, false)
    }

    /// Copies within the device in a stream.
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, on: Stream) {
        copy(to, from, bytes, on, false)
    }

    /// Fills bytes.
    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) { fill(to, &[value], count, 0) }

    /// Fills pairs of bytes.
    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) {
        fill(to, &value.to_le_bytes(), count, 0)
    }

    /// Fills words of four bytes.
    fn cuMemsetD32_v2(to: u64, value: u32, count: usize) {
        fill(to, &value.to_le_bytes(), count, 0)
    }

    /// Fills bytes in a stream.
    fn cuMemsetD8Async(to: u64, value: u8, count: usize, on: Stream) {
        fill(to, &[value], count, on)
    }

    /// Fills pairs of bytes in a stream.
    fn cuMemsetD16Async(to: u64, value: u16, count: usize, on: Stream) {
        fill(to, &value.to_le_bytes(), count, on)
    }

    /// Fills words of four bytes in a stream.
    fn cuMemsetD32Async(to: u64, value: u32, count: usize, on: Stream) {
        fill(to, &value.to_le_bytes(), count, on)
    }

    /// An attribute of an address.
    fn cuPointerGetAttribute(place: Out<u8>, which: i32, address: u64) {
        attribute(place, which, address)
    }
}
