//! Streams. Work is done when it is issued; what a stream keeps is its time.

use std::ffi::c_void;

use gpucast_host::Error;
use gpucast_host::clock::{DEFAULT_STREAM, PER_THREAD_STREAM, StreamId};

use super::runtime_functions;
use crate::abi::{Callback, Out};
use crate::state::on_device;

/// `cudaStream_t`: the number of a stream.
pub(crate) type Stream = u64;

/// `cudaStreamLegacy`, the default stream by its other name.
const LEGACY: Stream = 1;
const PER_THREAD: Stream = 2;
const NON_BLOCKING: u32 = 1;

/// Priorities of streams, which change nothing here.
const PRIORITIES: (i32, i32) = (0, -5);

/// The stream behind a handle.
pub(crate) fn stream(handle: Stream) -> StreamId {
    match handle {
        0 | LEGACY => DEFAULT_STREAM,
        PER_THREAD => PER_THREAD_STREAM,
        other => other,
    }
}

fn create(handle: Out<Stream>, flags: u32, priority: i32) -> Result<(), Error> {
    if flags > NON_BLOCKING {
        return Err(Error::InvalidValue);
    }
    let waits = flags & NON_BLOCKING == 0;
    handle.put(on_device(|device| Ok(device.clock().create_stream(waits, priority)))?)
}

/// `cudaStreamCallback_t`.
type StreamCallback = extern "C" fn(Stream, i32, *mut c_void);

runtime_functions! {
    /// Creates a stream.
    fn cudaStreamCreate(handle: Out<Stream>) { create(handle, 0, 0) }

    /// Creates a stream that may not wait for the default stream.
    fn cudaStreamCreateWithFlags(handle: Out<Stream>, flags: u32) { create(handle, flags, 0) }

    /// Creates a stream with a priority.
    fn cudaStreamCreateWithPriority(handle: Out<Stream>, flags: u32, priority: i32) {
        create(handle, flags, priority)
    }

    /// Forgets a stream.
    fn cudaStreamDestroy(handle: Stream) {
        on_device(|device| device.clock().destroy_stream(stream(handle)))
    }

    /// The host waits for a stream.
    fn cudaStreamSynchronize(handle: Stream) {
        on_device(|device| {
            device.usable()?;
            device.clock().synchronise_stream(stream(handle))
        })
    }

    /// Asks if a stream's work is done: it always is.
    fn cudaStreamQuery(handle: Stream) {
        on_device(|device| {
            device.usable()?;
            device.clock().stream(stream(handle)).map(|_| ())
        })
    }

    /// A stream waits for an event.
    fn cudaStreamWaitEvent(handle: Stream, event: u64, _flags: u32) {
        on_device(|device| device.clock().wait_event(stream(handle), event))
    }

    /// The flags of a stream.
    fn cudaStreamGetFlags(handle: Stream, flags: Out<u32>) {
        let (waits, _) = on_device(|device| device.clock().stream(stream(handle)))?;
        flags.put(if waits { 0 } else { NON_BLOCKING })
    }

    /// The priority of a stream.
    fn cudaStreamGetPriority(handle: Stream, priority: Out<i32>) {
        priority.put(on_device(|device| device.clock().stream(stream(handle)))?.1)
    }

    /// Asks if a stream is recorded into a graph: graphs are not there.
    fn cudaStreamIsCapturing(_handle: Stream, status: Out<i32>) { status.put(0) }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cudaLaunchHostFunc(handle: Stream, function: Callback, data: *mut c_void) {
        on_device(|device| device.clock().stream(stream(handle)).map(|_| ()))?;
        function(data);
        Ok(())
    }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cudaStreamAddCallback(
        handle: Stream,
        function: StreamCallback,
        data: *mut c_void,
        _flags: u32,
    ) {
        on_device(|device| device.clock().stream(stream(handle)).map(|_| ()))?;
        function(handle, 0, data);
        Ok(())
    }

    /// The range of priorities.
    fn cudaDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        least.maybe_put(PRIORITIES.0);
        greatest.maybe_put(PRIORITIES.1);
        Ok(())
    }
}
