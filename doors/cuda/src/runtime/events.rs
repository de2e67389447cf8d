//! Events.

use gpucast_host::clock::EventId;

use super::runtime_functions;
use crate::abi::Out;
use crate::both::events;
use crate::both::streams::Stream;

runtime_functions! {
    /// Creates an event.
    fn cudaEventCreate(event: Out<EventId>) { events::create(event, 0) }

    /// Creates an event that may have no time.
    fn cudaEventCreateWithFlags(event: Out<EventId>, flags: u32) { events::create(event, flags) }

    /// Forgets an event.
    fn cudaEventDestroy(event: EventId) { events::destroy(event) }

    /// Records an event behind a stream's work.
    fn cudaEventRecord(event: EventId, on: Stream) { events::record(event, on, 0) }

    /// Records an event behind a stream's work.
    fn cudaEventRecordWithFlags(event: EventId, on: Stream, flags: u32) { events::record(event, on, flags) }

    /// Asks if an event has happened: it always has.
    fn cudaEventQuery(event: EventId) { events::synchronise(event) }

    /// The host waits for an event.
    fn cudaEventSynchronize(event: EventId) { events::synchronise(event) }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: EventId, end: EventId) { events::elapsed(milliseconds, start, end) }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: EventId, end: EventId) { events::elapsed(milliseconds, start, end) }
}
