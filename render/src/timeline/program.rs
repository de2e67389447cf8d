//! The calls, copies and kernels of a program over the virtual clock.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_host::report::{Direction, ProcessReport};
use gpucast_host::timeline::{Timeline, What, Work};

use super::events::{Clock, Detail, Events, Slice, Track, TrackPlace};
use super::{TimelineFormat, chrome, perfetto};

/// Nanoseconds of a millisecond.
const NS_OF_MS: f64 = 1e6;

/// The file of a program's timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub bytes: Vec<u8>,
    /// Calls and operations that it has.
    pub shown: u64,
    /// Those that it lacks, since there were too many, or since the file would be too long.
    pub left_out: u64,
}

impl TimelineFormat {
    /// The form that a file's name asks for: JSON for `.json`, else Perfetto's.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let is_json = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json"));
        if is_json { Self::Json } else { Self::Perfetto }
    }
}

/// The timeline of a program's processes. A file that reaches `most_bytes` takes nothing more.
#[must_use]
pub fn program(reports: &[ProcessReport], format: TimelineFormat, most_bytes: usize) -> Written {
    let clock = Clock { ns: NS_OF_MS };
    let title = match reports {
        [] => "no process used CUDA".to_owned(),
        [first, ..] => format!("{} on {}", name(&first.program), first.gpu),
    };
    match format {
        TimelineFormat::Perfetto => {
            let mut file = perfetto::File::new(clock, title);
            let counts = write(reports, &mut file, most_bytes);
            counts.written(file.finish())
        }
        TimelineFormat::Json => {
            let mut file = chrome::File::new(clock, title);
            let counts = write(reports, &mut file, most_bytes);
            counts.written(file.finish())
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    shown: u64,
    left_out: u64,
}

impl Counts {
    fn written(self, bytes: Vec<u8>) -> Written {
        Written { bytes, shown: self.shown, left_out: self.left_out }
    }

    /// Counts an event, and returns true if it has room.
    fn has_room(&mut self, file: &impl Events, most_bytes: usize) -> bool {
        let has_room = file.bytes() < most_bytes;
        self.shown += u64::from(has_room);
        self.left_out += u64::from(!has_room);
        has_room
    }
}

fn name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program)
}

fn write(reports: &[ProcessReport], file: &mut impl Events, most_bytes: usize) -> Counts {
    let mut counts = Counts::default();
    let mut arrows = 0;
    for report in reports {
        let Some(timeline) = &report.timeline else { continue };
        let title = format!("{} ({})", name(&report.program), report.pid);
        let process = file.process(&title);
        let mut writer = Process { file, process, first_arrow: arrows, counts, most_bytes };
        writer.calls(timeline);
        writer.work(timeline);
        counts = writer.counts;
        counts.left_out += timeline.left_out;
        arrows += timeline.work.len() as u64;
    }
    counts
}

/// What an engine does in a stream: none of it overlaps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lane {
    stream: u64,
    engine: &'static str,
}

impl Lane {
    fn of(work: &Work) -> Self {
        let engine = match work.what {
            What::Kernel { .. } | What::Fill { .. } => "kernels",
            What::Copy { direction, .. } => match direction {
                Direction::OnDevice => "kernels",
                Direction::ToDevice => "copies to the device",
                Direction::ToHost => "copies to the host",
            },
        };
        Self { stream: work.stream, engine }
    }

    fn name(self) -> String {
        match self.stream {
            0 => format!("default stream, {}", self.engine),
            stream => format!("stream {stream}, {}", self.engine),
        }
    }
}

struct Process<'a, File> {
    file: &'a mut File,
    process: Track,
    first_arrow: u64,
    counts: Counts,
    most_bytes: usize,
}

impl<File: Events> Process<'_, File> {
    /// The number of the arrow to an operation.
    fn arrow(&self, work: usize) -> u64 {
        self.first_arrow + work as u64 + 1
    }

    fn track(&mut self, name: &str) -> Track {
        self.file.track(TrackPlace { process: self.process, parent: self.process }, name, name)
    }

    fn put(&mut self, track: Track, slice: &Slice<'_>) {
        if self.counts.has_room(self.file, self.most_bytes) {
            self.file.begin(self.process, track, slice);
            self.file.end(track, slice.until);
        }
    }

    fn calls(&mut self, timeline: &Timeline) {
        let mut arrows: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (at, work) in timeline.work.iter().enumerate() {
            if let Some(call) = work.call {
                arrows.entry(call).or_default().push(self.arrow(at));
            }
        }
        let track = self.track("host");
        for (at, call) in timeline.calls.iter().enumerate() {
            let slice = Slice {
                name: &call.name,
                category: "call",
                from: call.from_ms,
                until: call.until_ms,
                details: &[],
                arrows_from: arrows.get(&at).map_or(&[], Vec::as_slice),
                arrows_to: &[],
            };
            self.put(track, &slice);
        }
    }

    fn work(&mut self, timeline: &Timeline) {
        let lanes: BTreeMap<Lane, Track> = {
            let mut lanes: Vec<Lane> = timeline.work.iter().map(Lane::of).collect();
            lanes.sort_unstable();
            lanes.dedup();
            lanes.into_iter().map(|lane| (lane, self.track(&lane.name()))).collect()
        };
        for (at, work) in timeline.work.iter().enumerate() {
            let Some(&track) = lanes.get(&Lane::of(work)) else { continue };
            let arrow = work.call.map(|_| self.arrow(at));
            self.operation(track, work, arrow.as_slice());
        }
    }

    fn operation(&mut self, track: Track, work: &Work, arrows_to: &[u64]) {
        let extent = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z}");
        let bytes = |bytes: u64| Detail::number("bytes", bytes as f64);
        let (grid, block);
        let mut details = Vec::new();
        let (name, category) = match &work.what {
            What::Kernel { name, grid: ctas, block: threads, bound } => {
                (grid, block) = (extent(*ctas), extent(*threads));
                details.push(Detail::text("grid", &grid));
                details.push(Detail::text("block", &block));
                details.extend(bound.as_deref().map(|bound| Detail::text("bound by", bound)));
                (name.as_str(), "kernel")
            }
            What::Copy { direction, bytes: size } => {
                details.push(bytes(*size));
                let name = match direction {
                    Direction::ToDevice => "copy to the device",
                    Direction::ToHost => "copy to the host",
                    Direction::OnDevice => "copy on the device",
                };
                (name, "copy")
            }
            What::Fill { bytes: size } => {
                details.push(bytes(*size));
                ("fill", "fill")
            }
        };
        let (from, until) = (work.start_ms, work.start_ms + work.time_ms);
        let details = &details;
        self.put(
            track,
            &Slice { name, category, from, until, details, arrows_from: &[], arrows_to },
        );
    }
}
