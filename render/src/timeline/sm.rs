//! The tracks of an SM: critical path, issue slots, CTAs and their warps, counters.

use std::ops::Range;

use gpucast_forecast::Report;
use gpucast_model::sm_simulation::Resource;
use gpucast_model::sm_simulation::recording::{Cta, Issue, Recording, Step, Warp};

use super::events::{Detail, Events, Slice, Track, TrackPlace, Value};
use super::labels::Labels;
use super::selection::Selection;

/// Values of a counter at most.
const MOST_SAMPLES: usize = 4096;

/// Categories of slices, by which viewers filter.
mod category {
    pub(super) const CTA: &str = "cta";
    pub(super) const LINE: &str = "line";
    pub(super) const ISSUE: &str = "issue";
    pub(super) const STALL: &str = "stall";
    pub(super) const SLOTS: &str = "slots";
    pub(super) const CRITICAL_PATH: &str = "critical_path";
}

/// Stops a file that grows too large.
pub(super) type Check<'a> = &'a mut dyn FnMut(usize) -> Result<(), Report>;

/// An instruction that waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    producer: u32,
    consumer: u32,
}

/// An SM that is written.
pub(super) struct Sm<'a> {
    number: u32,
    recording: &'a Recording,
    selection: &'a Selection,
    labels: &'a Labels,
    /// The clocks that are shown.
    clocks: Range<f64>,
    critical_path: Vec<Step>,
    /// For each issue, true if it is on the critical path.
    is_critical: Vec<bool>,
    /// The issues of each warp.
    of_warp: Vec<Vec<u32>>,
    /// Sorted by producer.
    arrows: Vec<Arrow>,
    /// Numbers of arrows, sorted by consumer.
    by_consumer: Vec<u32>,
}

impl<'a> Sm<'a> {
    pub(super) fn new(
        number: u32,
        recording: &'a Recording,
        selection: &'a Selection,
        labels: &'a Labels,
    ) -> Self {
        let critical_path = recording.critical_path();
        let mut is_critical = vec![false; recording.issues.len()];
        for issue in critical_path.iter().filter_map(|step| step.issue) {
            is_critical[issue as usize] = true;
        }
        let mut of_warp = vec![Vec::new(); recording.warps.len()];
        for (at, issue) in (0..).zip(&recording.issues) {
            of_warp[issue.warp as usize].push(at);
        }
        let mut sm = Self {
            number,
            recording,
            selection,
            labels,
            clocks: selection.clocks_of(recording),
            critical_path,
            is_critical,
            of_warp,
            arrows: Vec::new(),
            by_consumer: Vec::new(),
        };
        sm.arrows = sm.all_arrows();
        sm.by_consumer = (0..sm.arrows.len() as u32).collect();
        sm.by_consumer.sort_by_key(|&arrow| sm.arrows[arrow as usize].consumer);
        sm
    }

    /// True if an issue is shown.
    fn shows(&self, issue: &Issue) -> bool {
        let cta = self.recording.warps[issue.warp as usize].cta;
        let clock = issue.clock as f64;
        self.selection.ctas.has(cta) && self.clocks.contains(&clock)
    }

    /// The arrows between issues that are shown.
    fn all_arrows(&self) -> Vec<Arrow> {
        let issues = &self.recording.issues;
        let mut arrows = Vec::new();
        for (consumer, _) in (0..).zip(issues).filter(|(_, issue)| self.shows(issue)) {
            for wait in self.recording.waits_of(consumer as usize) {
                if let Some(producer) = wait.producer
                    && self.shows(&issues[producer as usize])
                {
                    arrows.push(Arrow { producer, consumer });
                }
            }
        }
        arrows.sort_unstable();
        arrows.dedup();
        arrows
    }

    /// The clocks of a slice that are shown.
    fn shown(&self, from: f64, until: f64) -> Option<(f64, f64)> {
        let (from, until) = (from.max(self.clocks.start), until.min(self.clocks.end));
        (from < until).then_some((from, until))
    }

    pub(super) fn write(&self, file: &mut impl Events, check: Check<'_>) -> Result<(), Report> {
        let alike = self.recording.alike;
        let others = if alike > 1.0 { format!(" (stands for {alike} SMs)") } else { String::new() };
        let sm = file.process(&format!("SM {}{others}", self.number));
        self.write_critical_path(file, sm);
        self.write_slots(file, sm);
        self.write_counters(file, sm);
        check(file.bytes())?;
        for (number, cta) in (0..).zip(&self.recording.ctas) {
            if self.selection.has_cta(self.recording, number) {
                self.write_cta(file, sm, (number, cta), check)?;
            }
        }
        Ok(())
    }

    fn write_critical_path(&self, file: &mut impl Events, sm: Track) {
        let track =
            file.track(TrackPlace { process: sm, parent: sm }, "critical path", "critical path");
        for step in &self.critical_path {
            let Some((from, until)) = self.shown(step.from, step.until) else { continue };
            let issue = step.issue.map(|issue| &self.recording.issues[issue as usize]);
            let place = issue.and_then(|issue| Some(&self.labels.of(issue.instruction)?.place));
            let warp = issue.map(|issue| self.warp_name(issue.warp));
            let mut details = vec![
                Detail::number("clock", step.from),
                Detail::number("clocks", step.until - step.from),
            ];
            details.extend(place.map(|place| Detail::text("until", place)));
            details.extend(warp.as_ref().map(|warp| Detail::text("warp", warp)));
            let name = step.state.name();
            let category = category::CRITICAL_PATH;
            put(
                file,
                sm,
                track,
                &Slice { details: &details, ..slice(name, category, from, until) },
            );
        }
    }

    /// `CTA 0 warp 3`.
    fn warp_name(&self, warp: u32) -> String {
        let Warp { cta, number, .. } = self.recording.warps[warp as usize];
        format!("CTA {cta} warp {number}")
    }

    fn write_slots(&self, file: &mut impl Events, sm: Track) {
        for (sub_core, slots) in self.recording.slots.iter().enumerate() {
            let name = format!("issue slots of sub-core {sub_core}");
            let track = file.track(TrackPlace { process: sm, parent: sm }, &name, &name);
            for one in slots {
                let Some((from, until)) = self.shown(one.from, one.until) else { continue };
                let details = [
                    Detail::number("clock", one.from),
                    Detail::number("clocks", one.until - one.from),
                ];
                let slice = slice(one.state.name(), category::SLOTS, from, until);
                put(file, sm, track, &Slice { details: &details, ..slice });
            }
        }
    }

    fn write_counters(&self, file: &mut impl Events, sm: Track) {
        let end = self.recording.end.min(self.clocks.end);
        for resource in Resource::all() {
            let usage = self.recording.usage_of(resource).filter(|usage| usage.is_used());
            let Some(usage) = usage else { continue };
            let (unit, factor) = if resource.is_a_number() { ("", 1.0) } else { ("%", 100.0) };
            let name = match unit {
                "" => resource.text().to_owned(),
                unit => format!("{} {unit}", resource.text()),
            };
            let counter = file.counter(sm, &name, unit);
            for sample in usage.samples(self.clocks.start, end, MOST_SAMPLES) {
                // More digits than an eye sees.
                let value = (factor * sample.value * 1e3).round() / 1e3;
                file.value(sm, counter, sample.from, value);
            }
        }
    }

    fn write_cta(
        &self,
        file: &mut impl Events,
        sm: Track,
        (number, cta): (u32, &Cta),
        check: Check<'_>,
    ) -> Result<(), Report> {
        let name = format!("CTA {number}");
        let track = file.track(TrackPlace { process: sm, parent: sm }, &name, &name);
        let (started, ended) = (cta.started as f64, cta.ended as f64 + 1.0);
        if let Some((from, until)) = self.shown(started, ended) {
            let details = [
                Detail::number("clock", started),
                Detail::number("clocks", ended - started),
                Detail::number("class", cta.class.into()),
                Detail::number("recorded CTA of the class", cta.sample.into()),
            ];
            put(
                file,
                sm,
                track,
                &Slice { details: &details, ..slice(&name, category::CTA, from, until) },
            );
        }
        let warps = (0..).zip(&self.recording.warps).filter(|(_, warp)| warp.cta == number);
        let mut warps: Vec<(u32, &Warp)> = warps.collect();
        warps.sort_by_key(|(_, warp)| (warp.sub_core, warp.number));
        for (at, warp) in warps {
            let below = format!("sub-core {} warp {}", warp.sub_core, warp.number);
            let place = TrackPlace { process: sm, parent: track };
            let of_warp = file.track(place, &below, &format!("{name} {below}"));
            self.write_warp(file, sm, of_warp, at);
            check(file.bytes())?;
        }
        Ok(())
    }

    /// A slice for each run of instructions of one line, and in it what the warp waited for and
    /// issued.
    fn write_warp(&self, file: &mut impl Events, sm: Track, track: Track, warp: u32) {
        let issues = self.of_warp[warp as usize].as_slice();
        let line = |issue: u32| {
            let instruction = self.recording.issues[issue as usize].instruction;
            self.labels.of(instruction).and_then(|label| label.line)
        };
        // Instructions that are of no line go with those before them.
        for run in issues.chunk_by(|&a, &b| line(b).is_none_or(|of_b| line(a) == Some(of_b))) {
            let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
            let waits = self.recording.waits_of(first as usize).first();
            let issued = |issue: u32| self.recording.issues[issue as usize].clock as f64;
            let from = waits.map_or(issued(first), |wait| wait.from);
            let Some((from, until)) = self.shown(from, issued(last) + 1.0) else { continue };
            let name =
                run.iter().find_map(|&event| line(event)).map_or("", |line| self.labels.line(line));
            let details = [Detail::number("clock", from), Detail::number("clocks", until - from)];
            let slice = slice(name, category::LINE, from, until);
            file.begin(sm, track, &Slice { details: &details, ..slice });
            for &issue in run {
                self.write_issue(file, sm, track, issue);
            }
            file.end(track, until);
        }
    }

    fn write_issue(&self, file: &mut impl Events, sm: Track, track: Track, at: u32) {
        let recording = self.recording;
        for wait in recording.waits_of(at as usize) {
            let Some((from, until)) = self.shown(wait.from, wait.until) else { continue };
            let producer = wait.producer.map(|producer| &recording.issues[producer as usize]);
            let awaited = producer.and_then(|producer| self.labels.of(producer.instruction));
            let clocks = [
                Detail::number("clock", wait.from),
                Detail::number("clocks", wait.until - wait.from),
            ];
            let mut details = clocks.to_vec();
            details.extend(awaited.map(|label| Detail::text("for", &label.place)));
            let name = wait.state.name();
            put(
                file,
                sm,
                track,
                &Slice { details: &details, ..slice(name, category::STALL, from, until) },
            );
        }
        let issue = &recording.issues[at as usize];
        let clock = issue.clock as f64;
        let Some((from, until)) = self.shown(clock, clock + 1.0) else { return };
        let label = self.labels.of(issue.instruction);
        let mut details = vec![Detail::number("clock", clock)];
        let ptx = label.map_or("", |label| &label.ptx);
        details.extend((!ptx.is_empty()).then(|| Detail::text("ptx", ptx)));
        if self.is_critical[at as usize] {
            details.push(Detail { name: "on the critical path", value: Value::Yes });
        }
        let name = label.map_or("", |label| &label.mnemonic);
        put(
            file,
            sm,
            track,
            &Slice {
                details: &details,
                arrows_from: &self.arrows_from(at),
                arrows_to: &self.arrows_to(at),
                ..slice(name, category::ISSUE, from, until)
            },
        );
    }

    /// Numbers of arrows are those of no other SM.
    fn number_of(&self, arrow: usize) -> u64 {
        (u64::from(self.number) << 32) + arrow as u64 + 1
    }

    fn arrows_from(&self, producer: u32) -> Vec<u64> {
        let first = self.arrows.partition_point(|arrow| arrow.producer < producer);
        let rest = self.arrows[first..].iter().take_while(|arrow| arrow.producer == producer);
        (first..first + rest.count()).map(|arrow| self.number_of(arrow)).collect()
    }

    fn arrows_to(&self, consumer: u32) -> Vec<u64> {
        let of = |arrow: u32| self.arrows[arrow as usize].consumer;
        let first = self.by_consumer.partition_point(|&arrow| of(arrow) < consumer);
        let rest = self.by_consumer[first..].iter().take_while(|&&arrow| of(arrow) == consumer);
        rest.map(|&arrow| self.number_of(arrow as usize)).collect()
    }
}

/// A slice without anything beside it.
fn slice<'a>(name: &'a str, category: &'static str, from: f64, until: f64) -> Slice<'a> {
    Slice { name, category, from, until, details: &[], arrows_from: &[], arrows_to: &[] }
}

/// Writes a slice that has none in it.
fn put(file: &mut impl Events, sm: Track, track: Track, slice: &Slice<'_>) {
    file.begin(sm, track, slice);
    file.end(track, slice.until);
}
