//! Events: their times are those of the modelled GPU.

use gpucast_host::Error;
use gpucast_host::clock::EventId;

use super::streams::{EXTERNAL, Stream, stream};
use crate::abi::Out;
use crate::state::on_device;

/// The flag of an event that has no time.
const DISABLE_TIMING: u32 = 2;

/// All flags of events: the host blocks, no time, for other processes.
const FLAGS: u32 = 7;

/// Creates an event, and writes its handle.
pub(crate) fn create(event: Out<EventId>, flags: u32) -> Result<(), Error> {
    event.check()?;
    if flags & !FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    let timeless = flags & DISABLE_TIMING != 0;
    event.put(on_device(|device| Ok(device.clock().create_event(timeless)))?)
}

/// Forgets an event.
pub(crate) fn destroy(event: EventId) -> Result<(), Error> {
    on_device(|device| device.clock().destroy_event(event))
}

/// Records an event behind a stream's work.
pub(crate) fn record(event: EventId, on: Stream, flags: u32) -> Result<(), Error> {
    let as_node = flags & EXTERNAL != 0;
    on_device(|device| device.record_event(event, stream(on), as_node))
}

/// The host waits for an event. Asking if it has happened is the same: it always has.
pub(crate) fn synchronise(event: EventId) -> Result<(), Error> {
    on_device(|device| {
        device.usable()?;
        device.clock().synchronise_event(event)
    })
}

/// Writes the milliseconds between two events.
pub(crate) fn elapsed(milliseconds: Out<f32>, start: EventId, end: EventId) -> Result<(), Error> {
    milliseconds.put(on_device(|device| device.clock().elapsed_ms(start, end))? as f32)
}
