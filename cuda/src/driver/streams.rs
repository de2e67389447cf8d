//! Streams and events.

use std::ffi::c_void;

use gpucast_host::Error;
use gpucast_host::clock::EventId;

use super::driver_functions;
use crate::abi::{Callback, Out};
use crate::runtime::{Stream, stream};
use crate::state::on_device;

const NON_BLOCKING: u32 = 1;
const DISABLE_TIMING: u32 = 2;

fn create(handle: Out<Stream>, flags: u32, priority: i32) -> Result<(), Error> {
    let waits = flags & NON_BLOCKING == 0;
    handle.put(on_device(|device| Ok(device.clock().create_stream(waits, priority)))?)
}

type StreamCallback = extern "C" fn(Stream, i32, *mut c_void);

driver_functions! {
    /// Creates a stream.
    fn cuStreamCreate(handle: Out<Stream>, flags: u32) { create(handle, flags, 0) }

    /// Creates a stream with a priority.
    fn cuStreamCreateWithPriority(handle: Out<Stream>, flags: u32, priority: i32) {
        create(handle, flags, priority)
    }

    /// Forgets a stream.
    fn cuStreamDestroy_v2(handle: Stream) {
        on_device(|device| device.clock().destroy_stream(stream(handle)))
    }

    /// The host waits for a stream.
    fn cuStreamSynchronize(handle: Stream) {
        on_device(|device| {
            device.usable()?;
            device.clock().synchronise_stream(stream(handle))
        })
    }

    /// Asks if a stream's work is done: it always is.
    fn cuStreamQuery(handle: Stream) {
        on_device(|device| {
            device.usable()?;
            device.clock().stream(stream(handle)).map(|_| ())
        })
    }

    /// A stream waits for an event.
    fn cuStreamWaitEvent(handle: Stream, event: EventId, _flags: u32) {
        on_device(|device| device.clock().wait_event(stream(handle), event))
    }

    /// The flags of a stream.
    fn cuStreamGetFlags(handle: Stream, flags: Out<u32>) {
        let (waits, _) = on_device(|device| device.clock().stream(stream(handle)))?;
        flags.put(if waits { 0 } else { NON_BLOCKING })
    }

    /// The priority of a stream.
    fn cuStreamGetPriority(handle: Stream, priority: Out<i32>) {
        priority.put(on_device(|device| device.clock().stream(stream(handle)))?.1)
    }

    /// The context of a stream.
    fn cuStreamGetCtx(_handle: Stream, context: Out<u64>) { context.put(super::context::current()) }

    /// Asks if a stream is recorded into a graph: graphs are not there.
    fn cuStreamIsCapturing(_handle: Stream, status: Out<i32>) { status.put(0) }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cuLaunchHostFunc(handle: Stream, function: Callback, data: *mut c_void) {
        on_device(|device| device.clock().stream(stream(handle)).map(|_| ()))?;
        function(data);
        Ok(())
    }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cuStreamAddCallback(
        handle: Stream,
        function: StreamCallback,
        data: *mut c_void,
        _flags: u32,
    ) {
        on_device(|device| device.clock().stream(stream(handle)).map(|_| ()))?;
        function(handle, 0, data);
        Ok(())
    }

    /// Creates an event.
    fn cuEventCreate(event: Out<EventId>, flags: u32) {
        let timeless = flags & DISABLE_TIMING != 0;
        event.put(on_device(|device| Ok(device.clock().create_event(timeless)))?)
    }

    /// Forgets an event.
    fn cuEventDestroy_v2(event: EventId) {
        on_device(|device| device.clock().destroy_event(event))
    }

    /// Records an event behind a stream's work.
    fn cuEventRecord(event: EventId, on: Stream) {
        on_device(|device| device.clock().record_event(event, stream(on)))
    }

    /// Records an event behind a stream's work.
    fn cuEventRecordWithFlags(event: EventId, on: Stream, _flags: u32) {
        on_device(|device| device.clock().record_event(event, stream(on)))
    }

    /// Asks if an event has happened: it always has.
    fn cuEventQuery(event: EventId) {
        on_device(|device| device.clock().synchronise_event(event))
    }

    /// The host waits for an event.
    fn cuEventSynchronize(event: EventId) {
        on_device(|device| {
            device.usable()?;
            device.clock().synchronise_event(event)
        })
    }

    /// Milliseconds between two events.
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: EventId, end: EventId) {
        milliseconds.put(on_device(|device| device.clock().elapsed_ms(start, end))? as f32)
    }

    /// Milliseconds between two events.
    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: EventId, end: EventId) {
        milliseconds.put(on_device(|device| device.clock().elapsed_ms(start, end))? as f32)
    }
}
