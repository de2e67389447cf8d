//! Streams and events.

use std::ffi::c_void;

use gpucast_host::clock::EventId;

use super::driver_functions;
use crate::abi::{Callback, Out};
use crate::both::streams::{self, Stream, StreamCallback};
use crate::both::{events, graphs};

driver_functions! {
    /// Creates a stream.
    fn cuStreamCreate(handle: Out<Stream>, flags: u32) { streams::create(handle, flags, 0) }

    /// Creates a stream with a priority.
    fn cuStreamCreateWithPriority(handle: Out<Stream>, flags: u32, priority: i32) { streams::create(handle, flags, priority) }

    /// Forgets a stream.
    fn cuStreamDestroy_v2(handle: Stream) { streams::destroy(handle) }

    /// The host waits for a stream.
    fn cuStreamSynchronize(handle: Stream) { streams::synchronise(handle) }

    /// Asks if a stream's work is done: it always is.
    fn cuStreamQuery(handle: Stream) { streams::query(handle) }

    /// A stream waits for an event.
    fn cuStreamWaitEvent(handle: Stream, event: EventId, flags: u32) { streams::wait_event(handle, event, flags) }

    /// The flags of a stream.
    fn cuStreamGetFlags(handle: Stream, flags: Out<u32>) { streams::flags(handle, flags) }

    /// The priority of a stream.
    fn cuStreamGetPriority(handle: Stream, priority: Out<i32>) { streams::priority(handle, priority) }

    /// The context of a stream.
    fn cuStreamGetCtx(_handle: Stream, context: Out<u64>) { context.put(super::context::current()) }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cuLaunchHostFunc(handle: Stream, function: Option<Callback>, data: *mut c_void) { graphs::call_in_stream(handle, function, data) }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cuStreamAddCallback(
        handle: Stream,
        function: Option<StreamCallback>,
        data: *mut c_void,
        _flags: u32,
    ) { streams::call_back(handle, function, data) }

    /// Creates an event.
    fn cuEventCreate(event: Out<EventId>, flags: u32) { events::create(event, flags) }

    /// Forgets an event.
    fn cuEventDestroy_v2(event: EventId) { events::destroy(event) }

    /// Records an event behind a stream's work.
    fn cuEventRecord(event: EventId, on: Stream) { events::record(event, on, 0) }

    /// Records an event behind a stream's work.
    fn cuEventRecordWithFlags(event: EventId, on: Stream, flags: u32) { events::record(event, on, flags) }

    /// Asks if an event has happened: it always has.
    fn cuEventQuery(event: EventId) { events::synchronise(event) }

    /// The host waits for an event.
    fn cuEventSynchronize(event: EventId) { events::synchronise(event) }

    /// Milliseconds between two events.
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: EventId, end: EventId) { events::elapsed(milliseconds, start, end) }

    /// Milliseconds between two events.
    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: EventId, end: EventId) { events::elapsed(milliseconds, start, end) }
}
