//! Events: their times are those of the modelled GPU.

use gpucast_host::clock::EventId;

use super::runtime_functions;
use super::streams::{Stream, stream};
use crate::abi::Out;
use crate::state::on_device;

const DISABLE_TIMING: u32 = 2;

runtime_functions! {
    /// Creates an event.
    fn cudaEventCreate(event: Out<EventId>) {
        event.put(on_device(|device| Ok(device.clock().create_event(false)))?)
    }

    /// Creates an event that may have no time.
    fn cudaEventCreateWithFlags(event: Out<EventId>, flags: u32) {
        let timeless = flags & DISABLE_TIMING != 0;
        event.put(on_device(|device| Ok(device.clock().create_event(timeless)))?)
    }

    /// Forgets an event.
    fn cudaEventDestroy(event: EventId) {
        on_device(|device| device.clock().destroy_event(event))
    }

    /// Records an event behind a stream's work.
    fn cudaEventRecord(event: EventId, on: Stream) {
        on_device(|device| device.clock().record_event(event, stream(on)))
    }

    /// Records an event behind a stream's work.
    fn cudaEventRecordWithFlags(event: EventId, on: Stream, _flags: u32) {
        on_device(|device| device.clock().record_event(event, stream(on)))
    }

    /// Asks if an event has happened: it always has.
    fn cudaEventQuery(event: EventId) {
        on_device(|device| {
            device.usable()?;
            device.clock().synchronise_event(event)
        })
    }

    /// The host waits for an event.
    fn cudaEventSynchronize(event: EventId) {
        on_device(|device| {
            device.usable()?;
            device.clock().synchronise_event(event)
        })
    }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: EventId, end: EventId) {
        milliseconds.put(on_device(|device| device.clock().elapsed_ms(start, end))? as f32)
    }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: EventId, end: EventId) {
        milliseconds.put(on_device(|device| device.clock().elapsed_ms(start, end))? as f32)
    }
}
