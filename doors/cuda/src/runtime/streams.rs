//! Streams.

use std::ffi::c_void;

use gpucast_host::clock::EventId;

use super::runtime_functions;
use crate::abi::{Callback, Out};
use crate::both::graphs;
use crate::both::streams::{self, Stream, StreamCallback};

/// Priorities of streams, which change nothing here.
const PRIORITIES: (i32, i32) = (0, -5);

runtime_functions! {
    /// Creates a stream.
    fn cudaStreamCreate(handle: Out<Stream>) { streams::create(handle, 0, 0) }

    /// Creates a stream that may not wait for the default stream.
    fn cudaStreamCreateWithFlags(handle: Out<Stream>, flags: u32) { streams::create(handle, flags, 0) }

    /// Creates a stream with a priority.
    fn cudaStreamCreateWithPriority(handle: Out<Stream>, flags: u32, priority: i32) {
        streams::create(handle, flags, priority)
    }

    /// Forgets a stream.
    fn cudaStreamDestroy(handle: Stream) { streams::destroy(handle) }

    /// The host waits for a stream.
    fn cudaStreamSynchronize(handle: Stream) { streams::synchronise(handle) }

    /// Asks if a stream's work is done: it always is.
    fn cudaStreamQuery(handle: Stream) { streams::query(handle) }

    /// A stream waits for an event.
    fn cudaStreamWaitEvent(handle: Stream, event: EventId, flags: u32) { streams::wait_event(handle, event, flags) }

    /// The flags of a stream.
    fn cudaStreamGetFlags(handle: Stream, flags: Out<u32>) { streams::flags(handle, flags) }

    /// The priority of a stream.
    fn cudaStreamGetPriority(handle: Stream, priority: Out<i32>) { streams::priority(handle, priority) }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cudaLaunchHostFunc(handle: Stream, function: Option<Callback>, data: *mut c_void) { graphs::call_in_stream(handle, function, data) }

    /// Calls a function of the host behind a stream's work, which is done.
    fn cudaStreamAddCallback(
        handle: Stream,
        function: Option<StreamCallback>,
        data: *mut c_void,
        _flags: u32,
    ) { streams::call_back(handle, function, data) }

    /// The range of priorities.
    fn cudaDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        least.maybe_put(PRIORITIES.0);
        greatest.maybe_put(PRIORITIES.1);
        Ok(())
    }
}
