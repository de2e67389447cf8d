//! What a timeline's file is made of, whatever its form.

/// Clocks as nanoseconds of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Nanoseconds of a clock.
    pub(super) ns: f64,
}

impl Clock {
    /// The nanosecond of a clock.
    pub(super) fn at(self, clock: f64) -> u64 {
        (clock * self.ns).round() as u64
    }
}

/// A track, by a number from 1 on. Processes, which have tracks, and counters are numbered with
/// them.
pub(super) type Track = u64;

/// A stretch of time on a track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'a> {
    pub(super) name: &'a str,
    pub(super) category: &'static str,
    pub(super) from: f64,
    pub(super) until: f64,
    /// What is shown beside it.
    pub(super) details: &'a [Detail<'a>],
    /// Arrows that begin here.
    pub(super) arrows_from: &'a [u64],
    /// Arrows that end here.
    pub(super) arrows_to: &'a [u64],
}

/// A name and a value beside a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detail<'a> {
    pub(super) name: &'static str,
    pub(super) value: Value<'a>,
}

/// A value beside a slice.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Number(f64),
    Text(&'a str),
    Yes,
}

impl<'a> Detail<'a> {
    pub(super) fn number(name: &'static str, value: f64) -> Self {
        Self { name, value: Value::Number(value) }
    }

    pub(super) fn text(name: &'static str, value: &'a str) -> Self {
        Self { name, value: Value::Text(value) }
    }
}

/// A place for tracks and counters below a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackPlace {
    /// The process: an SM, or a program.
    pub(super) process: Track,
    /// The track above: that of a CTA, or the process.
    pub(super) parent: Track,
}

/// A file that takes events in order of each track's time, an outer slice before those in it.
pub(super) trait Events {
    /// A process: an SM, or a program.
    fn process(&mut self, name: &str) -> Track;

    /// A track below a process, behind those before it. `whole` names it where no track above does.
    fn track(&mut self, place: TrackPlace, name: &str, whole: &str) -> Track;

    /// A counter of an SM.
    fn counter(&mut self, sm: Track, name: &str, unit: &'static str) -> Track;

    /// A slice begins; it ends after all slices in it.
    fn begin(&mut self, sm: Track, track: Track, slice: &Slice<'_>);

    /// The innermost slice of a track ends.
    fn end(&mut self, track: Track, at: f64);

    /// A counter has a value from now on.
    fn value(&mut self, sm: Track, counter: Track, at: f64, value: f64);

    /// Bytes so far.
    fn bytes(&self) -> usize;
}
