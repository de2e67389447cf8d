//! Perfetto's form: packets of protobuf, with names that are said once.

use std::collections::HashMap;

use prost::Message as _;

use super::events::{Clock, Detail, Events, Slice, Track, TrackPlace, Value};
use super::messages::{
    COUNTER, CounterDescriptor, DebugAnnotation, EXPLICIT, InternedData, InternedName, NEEDS_STATE,
    ProcessDescriptor, SLICE_BEGIN, SLICE_END, STATE_CLEARED, Trace, TracePacket, TrackDescriptor,
    TrackEvent,
};

/// A file that is being written.
pub(super) struct File {
    clock: Clock,
    title: String,
    bytes: Vec<u8>,
    tracks: Track,
    categories: Names,
    names: Names,
    details: Names,
    texts: Names,
    /// What the next packet is the first one to name.
    new: InternedData,
    is_first: bool,
}

/// The numbers of names.
#[derive(Default)]
struct Names(HashMap<String, u64>);

impl Names {
    /// The number of a name, which is told if it is new.
    fn number(&mut self, name: &str, new: &mut Vec<InternedName>) -> u64 {
        if let Some(&number) = self.0.get(name) {
            return number;
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(name.to_owned(), number);
        new.push(InternedName { iid: Some(number), name: Some(name.to_owned()) });
        number
    }
}

/// All packets are of one sequence.
const SEQUENCE: u32 = 1;

impl File {
    pub(super) fn new(clock: Clock, title: String) -> Self {
        Self {
            clock,
            title,
            bytes: Vec::new(),
            tracks: 0,
            categories: Names::default(),
            names: Names::default(),
            details: Names::default(),
            texts: Names::default(),
            new: InternedData::default(),
            is_first: true,
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn push(&mut self, packet: TracePacket) {
        let flags = if std::mem::take(&mut self.is_first) { STATE_CLEARED } else { 0 };
        let new = std::mem::take(&mut self.new);
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(flags | NEEDS_STATE),
            interned_data: (new != InternedData::default()).then_some(new),
            ..packet
        };
        // A trace with one packet is the packet as its field: traces are joined by joining bytes.
        // A vector has room for every message.
        let _ = Trace { packet: vec![packet] }.encode(&mut self.bytes);
    }

    fn event(&mut self, at: f64, event: TrackEvent) {
        let timestamp = Some(self.clock.at(at));
        self.push(TracePacket { timestamp, track_event: Some(event), ..TracePacket::default() });
    }

    /// Describes the next track, whose place among those beside it is its number.
    fn describe(&mut self, descriptor: TrackDescriptor) -> Track {
        self.tracks += 1;
        let descriptor = TrackDescriptor {
            uuid: Some(self.tracks),
            child_ordering: Some(EXPLICIT),
            sibling_order_rank: i32::try_from(self.tracks).ok(),
            ..descriptor
        };
        let track_descriptor = Some(descriptor);
        self.push(TracePacket { track_descriptor, ..TracePacket::default() });
        self.tracks
    }

    fn annotation(&mut self, detail: &Detail<'_>) -> DebugAnnotation {
        let number = self.details.number(detail.name, &mut self.new.debug_annotation_names);
        let annotation = DebugAnnotation { name_iid: Some(number), ..DebugAnnotation::default() };
        match detail.value {
            Value::Number(value) if value >= 0.0 && value.fract() == 0.0 => {
                DebugAnnotation { uint_value: Some(value as u64), ..annotation }
            }
            Value::Number(value) => DebugAnnotation { double_value: Some(value), ..annotation },
            Value::Text(text) => {
                let texts = &mut self.new.debug_annotation_string_values;
                let number = self.texts.number(text, texts);
                DebugAnnotation { string_value_iid: Some(number), ..annotation }
            }
            Value::Yes => DebugAnnotation { bool_value: Some(true), ..annotation },
        }
    }
}

impl Events for File {
    fn process(&mut self, name: &str) -> Track {
        let process = ProcessDescriptor {
            pid: i32::try_from(self.tracks + 1).ok(),
            cmdline: vec![self.title.clone()],
            process_name: Some(name.to_owned()),
        };
        self.describe(TrackDescriptor { process: Some(process), ..TrackDescriptor::default() })
    }

    fn track(&mut self, place: TrackPlace, name: &str, _whole: &str) -> Track {
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(place.parent),
            ..TrackDescriptor::default()
        })
    }

    fn counter(&mut self, sm: Track, name: &str, unit: &'static str) -> Track {
        let unit_name = (!unit.is_empty()).then(|| unit.to_owned());
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(sm),
            counter: Some(CounterDescriptor { unit_name }),
            ..TrackDescriptor::default()
        })
    }

    fn begin(&mut self, _sm: Track, track: Track, slice: &Slice<'_>) {
        let category = self.categories.number(slice.category, &mut self.new.event_categories);
        let name = self.names.number(slice.name, &mut self.new.event_names);
        let event = TrackEvent {
            category_iids: vec![category],
            debug_annotations: slice.details.iter().map(|detail| self.annotation(detail)).collect(),
            r#type: Some(SLICE_BEGIN),
            name_iid: Some(name),
            track_uuid: Some(track),
            double_counter_value: None,
            flow_ids: slice.arrows_from.to_vec(),
            terminating_flow_ids: slice.arrows_to.to_vec(),
        };
        self.event(slice.from, event);
    }

    fn end(&mut self, track: Track, at: f64) {
        let (r#type, track_uuid) = (Some(SLICE_END), Some(track));
        self.event(at, TrackEvent { r#type, track_uuid, ..TrackEvent::default() });
    }

    fn value(&mut self, _sm: Track, counter: Track, at: f64, value: f64) {
        let event = TrackEvent {
            r#type: Some(COUNTER),
            track_uuid: Some(counter),
            double_counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.event(at, event);
    }

    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
