//! Streams and events in the time of the modelled GPU.
//!
//! An operation begins when three have ended: the one before it in its stream, what the host has
//! waited for, and the one before it on its engine. There is one engine for kernels and for copies
//! within the device, and one for each direction between host and device. So copies overlap with
//! kernels, and kernels of several streams run one after the other. That holds for kernels that
//! fill the GPU; small ones may overlap on hardware.
//!
//! The host itself takes no time. The default stream waits for all blocking streams, and they wait
//! for it (CUDA programming guide, default stream).

use std::collections::BTreeMap;

use crate::Error;

/// A stream, by its number.
pub type StreamId = u64;

/// An event, by its number.
pub type EventId = u64;

/// The default stream of the program.
pub const DEFAULT_STREAM: StreamId = 0;

/// The default stream of programs that have one for each thread; all threads share it here.
pub const PER_THREAD_STREAM: StreamId = 2;

/// The numbers of streams and events that programs create begin here.
const FIRST_ID: u64 = 0x1000;

/// A part of the GPU that does one thing at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Kernels, and copies within the device.
    Compute,
    /// Copies from the host.
    ToDevice,
    /// Copies to the host.
    ToHost,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// End of its last operation.
    ready_ms: f64,
    /// True if it waits for the default stream.
    is_blocking: bool,
    priority: i32,
    /// The stream that it is a branch of.
    origin: Option<StreamId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Event {
    /// The moment of its last record.
    recorded_ms: Option<f64>,
    has_no_time: bool,
}

/// The clock of a device. Times are milliseconds since the device was first used.
#[derive(Clone, Debug)]
pub struct Clock {
    host_ms: f64,
    engines: BTreeMap<Engine, f64>,
    streams: BTreeMap<StreamId, Stream>,
    events: BTreeMap<EventId, Event>,
    next: u64,
}

impl Default for Clock {
    fn default() -> Self {
        let stream = Stream { ready_ms: 0.0, is_blocking: true, priority: 0, origin: None };
        let streams = [(DEFAULT_STREAM, stream), (PER_THREAD_STREAM, stream)];
        Self {
            host_ms: 0.0,
            engines: BTreeMap::new(),
            streams: streams.into(),
            events: BTreeMap::new(),
            next: FIRST_ID,
        }
    }
}

impl Clock {
    fn id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A new stream. It `waits` for the default stream or does not.
    pub fn create_stream(&mut self, waits: bool, priority: i32) -> StreamId {
        let id = self.id();
        let stream = Stream { ready_ms: self.host_ms, is_blocking: waits, priority, origin: None };
        self.streams.insert(id, stream);
        id
    }

    /// Forgets a stream that the program created.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn destroy_stream(&mut self, id: StreamId) -> Result<(), Error> {
        if id < FIRST_ID {
            return Err(Error::InvalidHandle);
        }
        self.streams.remove(&id).map(|_| ()).ok_or(Error::InvalidHandle)
    }

    /// Returns true if a stream waits for the default stream, and its priority.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn stream(&self, id: StreamId) -> Result<(bool, i32), Error> {
        let stream = self.streams.get(&id).ok_or(Error::InvalidHandle)?;
        Ok((stream.is_blocking, stream.priority))
    }

    /// A stream for a part of the work of another one, which begins at a moment.
    pub(crate) fn branch(&mut self, origin: StreamId, ready_ms: f64) -> StreamId {
        let id = self.id();
        let (is_blocking, priority, origin) = (false, 0, Some(origin));
        self.streams.insert(id, Stream { ready_ms, is_blocking, priority, origin });
        id
    }

    /// Forgets a branch, and returns when its work has ended.
    pub(crate) fn end_branch(&mut self, id: StreamId) -> Option<f64> {
        self.streams.remove(&id).map(|stream| stream.ready_ms)
    }

    /// The stream that a stream is a branch of, or itself.
    pub(crate) fn origin(&self, id: StreamId) -> StreamId {
        self.streams.get(&id).and_then(|stream| stream.origin).unwrap_or(id)
    }

    /// What comes next in a stream waits for a moment.
    pub(crate) fn advance(&mut self, id: StreamId, ready_ms: f64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.ready_ms = stream.ready_ms.max(ready_ms);
        }
    }

    /// Checks that there is an event.
    pub(crate) fn check_event(&self, id: EventId) -> Result<(), Error> {
        self.event(id).map(|_| ())
    }

    /// The end of the work that an operation in this stream has to wait for.
    pub(crate) fn ready(&self, id: StreamId) -> Result<f64, Error> {
        let stream = self.streams.get(&id).ok_or(Error::InvalidHandle)?;
        let all = self.streams.iter();
        let others = all.filter(|&(&other, one)| match id {
            DEFAULT_STREAM => one.is_blocking,
            _ => stream.is_blocking && other == DEFAULT_STREAM,
        });
        let ready = others.map(|(_, one)| one.ready_ms).fold(stream.ready_ms, f64::max);
        Ok(ready.max(self.host_ms))
    }

    /// Appends an operation of `duration_ms` to a stream, and returns when it begins.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is no such stream.
    pub fn submit(
        &mut self,
        stream: StreamId,
        engine: Engine,
        duration_ms: f64,
    ) -> Result<f64, Error> {
        let ready = self.ready(stream)?;
        let free = self.engines.entry(engine).or_default();
        let begin = ready.max(*free);
        let end = begin + duration_ms;
        *free = end;
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.ready_ms = end;
        }
        Ok(begin)
    }

    /// The host waits for a stream.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is no such stream.
    pub fn synchronise_stream(&mut self, stream: StreamId) -> Result<(), Error> {
        self.host_ms = self.ready(stream)?;
        Ok(())
    }

    /// The host waits for all streams.
    pub fn synchronise(&mut self) {
        let all = self.streams.values().map(|stream| stream.ready_ms);
        self.host_ms = all.fold(self.host_ms, f64::max);
    }

    /// A new event.
    pub fn create_event(&mut self, has_no_time: bool) -> EventId {
        let id = self.id();
        self.events.insert(id, Event { recorded_ms: None, has_no_time });
        id
    }

    /// Forgets an event.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn destroy_event(&mut self, id: EventId) -> Result<(), Error> {
        self.events.remove(&id).map(|_| ()).ok_or(Error::InvalidHandle)
    }

    fn event(&self, id: EventId) -> Result<Event, Error> {
        self.events.get(&id).copied().ok_or(Error::InvalidHandle)
    }

    /// Records an event behind the operations of a stream.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is no such event or stream.
    pub fn record_event(&mut self, id: EventId, stream: StreamId) -> Result<(), Error> {
        let ready = self.ready(stream)?;
        let event = self.events.get_mut(&id).ok_or(Error::InvalidHandle)?;
        event.recorded_ms = Some(ready);
        Ok(())
    }

    /// A stream waits for an event. One that was never recorded lets it pass.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is no such event or stream.
    pub fn wait_event(&mut self, stream: StreamId, id: EventId) -> Result<(), Error> {
        let event = self.event(id)?;
        let stream = self.streams.get_mut(&stream).ok_or(Error::InvalidHandle)?;
        stream.ready_ms = stream.ready_ms.max(event.recorded_ms.unwrap_or(0.0));
        Ok(())
    }

    /// The host waits for an event.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is none of this number.
    pub fn synchronise_event(&mut self, id: EventId) -> Result<(), Error> {
        let event = self.event(id)?;
        self.host_ms = self.host_ms.max(event.recorded_ms.unwrap_or(0.0));
        Ok(())
    }

    /// Milliseconds from one event to another.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if an event does not exist, was never recorded, or was created
    /// without time.
    pub fn elapsed_ms(&self, start: EventId, end: EventId) -> Result<f64, Error> {
        let moment = |id| {
            let event = self.event(id)?;
            event.recorded_ms.filter(|_| !event.has_no_time).ok_or(Error::InvalidHandle)
        };
        Ok(moment(end)? - moment(start)?)
    }

    /// The moment at which the host is: the end of all that it has waited for.
    pub(crate) fn host_ms(&self) -> f64 {
        self.host_ms
    }

    /// The end of the last operation of all streams.
    #[must_use]
    pub fn end_ms(&self) -> f64 {
        self.engines.values().copied().fold(self.host_ms, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_span_the_operations_between_them() {
        let mut clock = Clock::default();
        let (start, end) = (clock.create_event(false), clock.create_event(false));
        assert_eq!(clock.elapsed_ms(start, end), Err(Error::InvalidHandle));
        clock.submit(DEFAULT_STREAM, Engine::Compute, 1.0).unwrap();
        clock.record_event(start, DEFAULT_STREAM).unwrap();
        clock.submit(DEFAULT_STREAM, Engine::Compute, 2.0).unwrap();
        clock.submit(DEFAULT_STREAM, Engine::Compute, 0.5).unwrap();
        clock.record_event(end, DEFAULT_STREAM).unwrap();
        assert_eq!(clock.elapsed_ms(start, end), Ok(2.5));
        let timeless = clock.create_event(true);
        clock.record_event(timeless, DEFAULT_STREAM).unwrap();
        assert_eq!(clock.elapsed_ms(start, timeless), Err(Error::InvalidHandle));
    }

    #[test]
    fn copies_overlap_with_kernels_of_another_stream_and_kernels_do_not_overlap() {
        let mut clock = Clock::default();
        let (a, b) = (clock.create_stream(false, 0), clock.create_stream(false, 0));
        assert_eq!(clock.submit(a, Engine::Compute, 4.0), Ok(0.0));
        assert_eq!(clock.submit(b, Engine::ToDevice, 3.0), Ok(0.0));
        assert_eq!(clock.submit(b, Engine::Compute, 2.0), Ok(4.0));
        assert_eq!(clock.submit(a, Engine::ToHost, 1.0), Ok(4.0));
        clock.synchronise();
        assert_eq!(clock.end_ms(), 6.0);
    }

    #[test]
    fn the_default_stream_waits_for_blocking_streams_and_they_wait_for_it() {
        let mut clock = Clock::default();
        let (blocking, free) = (clock.create_stream(true, 0), clock.create_stream(false, 0));
        clock.submit(blocking, Engine::ToDevice, 3.0).unwrap();
        clock.submit(free, Engine::ToHost, 9.0).unwrap();
        assert_eq!(clock.submit(DEFAULT_STREAM, Engine::Compute, 1.0), Ok(3.0));
        assert_eq!(clock.submit(blocking, Engine::ToDevice, 1.0), Ok(4.0));
    }

    #[test]
    fn a_stream_that_waits_for_an_event_goes_on_behind_it() {
        let mut clock = Clock::default();
        let (a, b) = (clock.create_stream(false, 0), clock.create_stream(false, 0));
        let event = clock.create_event(true);
        clock.wait_event(b, event).unwrap();
        clock.submit(a, Engine::ToDevice, 5.0).unwrap();
        clock.record_event(event, a).unwrap();
        clock.wait_event(b, event).unwrap();
        assert_eq!(clock.submit(b, Engine::Compute, 1.0), Ok(5.0));
        assert_eq!(clock.destroy_stream(b), Ok(()));
        assert_eq!(clock.submit(b, Engine::Compute, 1.0), Err(Error::InvalidHandle));
    }
}
