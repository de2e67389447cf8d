//! The Trace Event Format: JSON that Perfetto, chrome://tracing and other viewers read.
//!
//! Times are in microseconds. Processes are SMs, and threads are tracks.

use std::collections::BTreeMap;

use serde_json::{Map, Number, json};

use super::events::{Clock, Detail, Events, Slice, Track, TrackPlace, Value};

/// A file that is being written.
pub(super) struct File {
    clock: Clock,
    text: String,
    tracks: Track,
    /// Names of counters, which each of their events says.
    counters: BTreeMap<Track, String>,
}

impl File {
    pub(super) fn new(clock: Clock, title: String) -> Self {
        let head = json!({ "title": title });
        let text = format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{head},\"traceEvents\":[");
        Self { clock, text, tracks: 0, counters: BTreeMap::new() }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.text += "\n]}\n";
        self.text.into_bytes()
    }

    fn push(&mut self, event: &serde_json::Value) {
        self.text += if self.text.ends_with('[') { "\n" } else { ",\n" };
        self.text += &event.to_string();
    }

    fn next(&mut self) -> Track {
        self.tracks += 1;
        self.tracks
    }

    /// Nanoseconds as microseconds.
    fn microseconds(ns: u64) -> serde_json::Value {
        let digits = format!("{}.{:03}", ns / 1000, ns % 1000);
        digits.parse::<f64>().ok().and_then(Number::from_f64).map_or(json!(0), Into::into)
    }

    fn name(&mut self, (sm, track): (Track, Option<Track>), name: &str) {
        let (what, sorted) = match track {
            None => ("process_name", "process_sort_index"),
            Some(_) => ("thread_name", "thread_sort_index"),
        };
        let index = track.unwrap_or(sm);
        let arguments = [(what, json!({ "name": name })), (sorted, json!({ "sort_index": index }))];
        for (what, arguments) in arguments {
            let mut event = json!({ "ph": "M", "name": what, "pid": sm, "args": arguments });
            if let Some(track) = track {
                event["tid"] = track.into();
            }
            self.push(&event);
        }
    }

    fn arrow(&mut self, kind: &str, number: u64, place: (Track, Track), at: u64) {
        let (sm, track) = place;
        let mut event = json!({
            "ph": kind, "name": "waits for", "cat": "dependency", "id": number, "pid": sm,
            "tid": track, "ts": Self::microseconds(at),
        });
        if kind == "f" {
            // The arrow ends at the slice that it is in, and not at the next one.
            event["bp"] = "e".into();
        }
        self.push(&event);
    }
}

/// A whole number without a point.
fn number(value: f64) -> serde_json::Value {
    const WHOLE: f64 = 9e15;
    match value {
        value if value.fract() == 0.0 && value.abs() < WHOLE => json!(value as i64),
        value => Number::from_f64(value).map_or(serde_json::Value::Null, Into::into),
    }
}

impl Events for File {
    fn process(&mut self, name: &str) -> Track {
        let sm = self.next();
        self.name((sm, None), name);
        sm
    }

    fn track(&mut self, place: TrackPlace, _name: &str, whole: &str) -> Track {
        let track = self.next();
        self.name((place.process, Some(track)), whole);
        track
    }

    fn counter(&mut self, _sm: Track, name: &str, _unit: &'static str) -> Track {
        let counter = self.next();
        self.counters.insert(counter, name.to_owned());
        counter
    }

    fn begin(&mut self, sm: Track, track: Track, slice: &Slice<'_>) {
        let (from, until) = (self.clock.at(slice.from), self.clock.at(slice.until));
        let details = slice.details.iter().map(|Detail { name, value }| {
            let value = match value {
                Value::Number(value) => number(*value),
                Value::Text(text) => json!(text),
                Value::Yes => json!(true),
            };
            ((*name).to_owned(), value)
        });
        let details: Map<String, serde_json::Value> = details.collect();
        self.push(&json!({
            "ph": "X", "name": slice.name, "cat": slice.category, "pid": sm, "tid": track,
            "ts": Self::microseconds(from), "dur": Self::microseconds(until - from),
            "args": details,
        }));
        for (kind, arrows) in [("s", slice.arrows_from), ("f", slice.arrows_to)] {
            for &arrow in arrows {
                self.arrow(kind, arrow, (sm, track), from);
            }
        }
    }

    fn end(&mut self, _track: Track, _at: f64) {}

    fn value(&mut self, sm: Track, counter: Track, at: f64, value: f64) {
        let name = self.counters.get(&counter).map_or("", String::as_str);
        let event = json!({
            "ph": "C", "name": name, "pid": sm, "ts": Self::microseconds(self.clock.at(at)),
            "args": { "value": number(value) },
        });
        self.push(&event);
    }

    fn bytes(&self) -> usize {
        self.text.len()
    }
}
