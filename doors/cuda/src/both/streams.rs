//! Streams. Work is done when it is issued; what a stream keeps is its time.

use std::ffi::c_void;

use gpucast_host::Error;
use gpucast_host::clock::{DEFAULT_STREAM, EventId, PER_THREAD_STREAM, StreamId};

use crate::abi::Out;
use crate::state::on_device;

/// `cudaStream_t` and `CUstream`: the number of a stream.
pub(crate) type Stream = u64;

/// `cudaStreamCallback_t` and `CUstreamCallback`.
pub(crate) type StreamCallback = extern "C" fn(Stream, i32, *mut c_void);

/// `cudaStreamLegacy`, the default stream by its other name.
const LEGACY: Stream = 1;
const PER_THREAD: Stream = 2;

/// The flag of a stream that does not wait for the default stream.
const NON_BLOCKING: u32 = 1;

/// The stream behind a handle.
pub(crate) fn stream(handle: Stream) -> StreamId {
    match handle {
        0 | LEGACY => DEFAULT_STREAM,
        PER_THREAD => PER_THREAD_STREAM,
        other => other,
    }
}

/// Creates a stream, and writes its handle.
pub(crate) fn create(handle: Out<Stream>, flags: u32, priority: i32) -> Result<(), Error> {
    handle.check()?;
    if flags > NON_BLOCKING {
        return Err(Error::InvalidValue);
    }
    let waits = flags & NON_BLOCKING == 0;
    handle.put(on_device(|device| Ok(device.clock().create_stream(waits, priority)))?)
}

/// Forgets a stream.
pub(crate) fn destroy(handle: Stream) -> Result<(), Error> {
    on_device(|device| device.clock().destroy_stream(stream(handle)))
}

/// The host waits for a stream.
pub(crate) fn synchronise(handle: Stream) -> Result<(), Error> {
    on_device(|device| device.synchronise_stream(stream(handle)))
}

/// Asks if a stream's work is done: it always is, unless a kernel has failed.
pub(crate) fn query(handle: Stream) -> Result<(), Error> {
    on_device(|device| {
        device.usable()?;
        device.clock().stream(stream(handle)).map(|_| ())
    })
}

/// The flag of waits and records that captured streams make when the graph runs.
pub(crate) const EXTERNAL: u32 = 1;

/// A stream waits for an event.
pub(crate) fn wait_event(handle: Stream, event: EventId, flags: u32) -> Result<(), Error> {
    let as_node = flags & EXTERNAL != 0;
    on_device(|device| device.wait_event(stream(handle), event, as_node))
}

/// Writes the flags of a stream.
pub(crate) fn flags(handle: Stream, flags: Out<u32>) -> Result<(), Error> {
    let (waits, _) = on_device(|device| device.clock().stream(stream(handle)))?;
    flags.put(if waits { 0 } else { NON_BLOCKING })
}

/// Writes the priority of a stream.
pub(crate) fn priority(handle: Stream, priority: Out<i32>) -> Result<(), Error> {
    priority.put(on_device(|device| device.clock().stream(stream(handle)))?.1)
}

/// Calls a function of the host, which takes the stream and its result, behind the stream's work.
pub(crate) fn call_back(
    handle: Stream,
    function: Option<StreamCallback>,
    data: *mut c_void,
) -> Result<(), Error> {
    let function = function.ok_or(Error::InvalidValue)?;
    on_device(|device| device.clock().stream(stream(handle)).map(|_| ()))?;
    function(handle, 0, data);
    Ok(())
}
