//! CTAs that stand in for those around a run that nobody executes.
//!
//! Work may be skewed. At any time of a grid there are then CTAs of many lengths, which began at
//! different times: the long ones are late and have few lanes left. A run whose caches were filled
//! by CTAs that began together would find other neighbours, and so would its longest CTAs if they
//! ended alone. So others stand in for the CTAs of the grid:
//!
//! - *Before* a run the slots of the GPU are dealt to as many CTAs as precede it. They have no
//!   requests, and the lengths of those that were executed there, drawn at random. That brings
//!   slots as far out of step as they are in the grid. Those that would still run have the requests
//!   that are left to them.
//! - *After* a run the CTAs of its neighbourhood come again, until the run's last one has ended.
//!
//! Stand-ins have the requests of CTAs that were executed, at lines further away: those would
//! still lie in the caches. Lines that CTAs all over the grid ask for stay where they are.

use std::collections::{HashMap, HashSet};

use super::plan::Random;
use crate::hierarchy::{CtaStream, Demand, Hierarchy, NOBODY, Request};

/// Lines of streams that are held for one run, at most: 256 MB.
const MOST_LINES: usize = 1 << 24;

/// Waves that are dealt before a run, at most: lengths that differ are out of step by then.
const MOST_WAVES_BEFORE: u64 = 256;

/// Waves after a run, at most: a CTA may last as long as all others together.
const MOST_WAVES_AFTER: u64 = 64;

/// CTAs that are taken over together.
const BATCH: usize = 64;

/// Lines from one turn of stand-ins to the next: more than any L2 has, and no multiple of the sets
/// of a cache.
const TURN_LINES: i64 = (1 << 20) + 1;

/// Lines of the pilot that are remembered, at most.
const MOST_PILOT_LINES: usize = 1 << 21;

/// Lines that several CTAs all over the grid ask for.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLines {
    /// The CTA that asked for a line first.
    first: HashMap<u64, u32>,
    shared: HashSet<u64>,
    ctas: u32,
}

impl SharedLines {
    /// Takes over the requests of a CTA that lies far from the others.
    pub(super) fn note(&mut self, stream: &CtaStream) {
        for (index, request) in stream.requests().iter().enumerate() {
            if request.demand().is_local() || self.first.len() >= MOST_PILOT_LINES {
                continue;
            }
            for line in stream.lines_of(request) {
                let line = line.moved(stream.asked().distance(index).lines).line();
                if *self.first.entry(line).or_insert(self.ctas) != self.ctas {
                    self.shared.insert(line);
                }
            }
        }
        self.ctas += 1;
    }

    /// Forgets everything but the lines that are shared.
    pub(super) fn settle(&mut self) {
        self.first = HashMap::new();
    }
}

/// The executed CTAs around a run.
#[derive(Clone, Debug)]
pub(super) struct StandIns {
    shared: SharedLines,
    random: Random,
    /// CTAs that the GPU holds.
    wave: u64,
    /// CTAs that were dealt to it so far.
    dealt: u64,
    streams: Vec<CtaStream>,
    lines: usize,
    /// The time at which the last CTA of the run has ended.
    end: u64,
}

impl StandIns {
    pub(super) fn new(shared: SharedLines, random: Random, wave: u64) -> Self {
        Self { shared, random, wave, dealt: 0, streams: Vec::new(), lines: 0, end: 0 }
    }

    /// Forgets the CTAs around another run.
    pub(super) fn clear(&mut self) {
        self.streams.clear();
        (self.lines, self.end) = (0, 0);
    }

    /// Remembers CTAs that were executed.
    pub(super) fn keep<'a>(&mut self, streams: impl Iterator<Item = &'a CtaStream>) {
        for stream in streams {
            let lines: usize = stream.requests().iter().map(Request::line_count).sum();
            if self.lines + lines <= MOST_LINES {
                self.lines += lines;
                self.streams.push(stream.clone());
            }
        }
    }

    /// CTAs of the grid go through the caches; `longest` is the length of the longest of them, if
    /// the run lasts until they end.
    pub(super) fn dealt(&mut self, ctas: usize, longest: Option<u64>, hierarchy: &Hierarchy) {
        self.dealt += ctas as u64;
        if let Some(longest) = longest {
            self.end = self.end.max(hierarchy.horizon() + longest);
        }
    }

    /// Deals the slots to the CTAs before the `first` one of those that are executed.
    pub(super) fn come_before(&mut self, first: u64, hierarchy: &mut Hierarchy) {
        let Some(length) = self.streams.first().map(CtaStream::length) else { return };
        let are_alike = self.streams.iter().all(|stream| stream.length() == length);
        let lengths: u64 = self.streams.iter().map(CtaStream::length).sum();
        let mean = lengths as f64 / self.streams.len() as f64;
        // CTAs that are alike stay in step, so that the place in the wave is all that counts.
        let ctas = if are_alike {
            (first + self.wave - self.dealt % self.wave) % self.wave
        } else {
            first.min(MOST_WAVES_BEFORE * self.wave)
        };
        let mut coming = Vec::with_capacity(BATCH);
        // A stream that comes again asks for other lines. Those of one turn share what their CTAs
        // share.
        let mut turns = vec![0; self.streams.len()];
        for left in (1..=ctas).rev() {
            let at = self.random.below(self.streams.len() as u64) as usize;
            let stream = &self.streams[at];
            // In the mean a wave of CTAs takes the mean length.
            let passed = (left as f64 / self.wave as f64 * mean) as u64;
            turns[at] += i64::from(stream.length() > passed);
            coming.push(self.stand_in(stream, passed, turns[at]));
            if coming.len() == BATCH || left == 1 {
                self.send(&mut coming, hierarchy);
            }
        }
    }

    /// Lets the CTAs come again until the run has ended.
    pub(super) fn come_after(&mut self, hierarchy: &mut Hierarchy) {
        let most = (MOST_WAVES_AFTER * self.wave) as usize;
        let (mut coming, mut at) = (Vec::with_capacity(BATCH), 0);
        while !self.streams.is_empty() && hierarchy.horizon() < self.end && at < most {
            for _ in 0..BATCH {
                let stream = &self.streams[at % self.streams.len()];
                coming.push(self.stand_in(stream, 0, -1 - (at / self.streams.len()) as i64));
                at += 1;
            }
            self.send(&mut coming, hierarchy);
        }
    }

    fn send(&mut self, coming: &mut Vec<CtaStream>, hierarchy: &mut Hierarchy) {
        self.dealt += coming.len() as u64;
        hierarchy.collect(&mut coming.iter_mut().collect::<Vec<_>>());
        coming.clear();
    }

    /// The requests of a CTA from a time on, so many turns away. They belong to no row.
    fn stand_in(&self, of: &CtaStream, from: u64, turn: i64) -> CtaStream {
        let mut stream = CtaStream::new(of.limit());
        stream.reach(of.length().saturating_sub(1));
        if of.length() <= from {
            return stream;
        }
        for (index, request) in of.requests().iter().enumerate() {
            if u64::from(request.time()) < from {
                continue;
            }
            let (lines, distance) = (of.lines_of(request), of.asked().distance(index).lines);
            let is_shared = lines.iter().any(|line| {
                let line = line.moved(distance).line();
                self.shared.shared.contains(&line)
            });
            let stays = is_shared || request.demand().is_local();
            let by = distance + if stays { 0 } else { turn * TURN_LINES };
            let (time, demand): (u64, Demand) = (request.time().into(), request.demand());
            let moved = Request::new(time, request.warp(), NOBODY, demand);
            stream.request(moved, lines, by as u64);
        }
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceModel;
    use crate::occupancy::CtaShape;
    use crate::units::LineTouch;

    /// A GTX 480 that holds 120 CTAs.
    const WAVE: u64 = 120;

    fn hierarchy() -> Hierarchy {
        let cta = CtaShape { threads: 128, shared_bytes: 0, registers_per_thread: None };
        let geometry = DeviceModel::GTX_480.hierarchy(cta);
        assert_eq!(u64::from(geometry.resident_ctas), WAVE);
        Hierarchy::new(&geometry)
    }

    /// A CTA that loads a line of its own at its begin, and line 7 at its end.
    fn stream(line: u64, length: u64) -> CtaStream {
        let mut stream = CtaStream::new(16);
        for (time, line) in [(0, line), (length - 1, 7)] {
            stream.push(LineTouch { line, sectors: 1, full: 0 });
            stream.close(Request::new(time, 0, 3, Demand::Load));
        }
        stream.reach(length - 1);
        stream
    }

    fn stand_ins(lengths: &[u64]) -> StandIns {
        let mut shared = SharedLines::default();
        shared.note(&stream(1000, 5));
        shared.note(&stream(2000, 9));
        shared.settle();
        let mut stand_ins = StandIns::new(shared, Random::new(1), WAVE);
        let streams: Vec<CtaStream> =
            (100..).zip(lengths).map(|(line, &length)| stream(line, length)).collect();
        stand_ins.keep(streams.iter());
        stand_ins
    }

    #[test]
    fn a_stand_in_asks_for_lines_of_its_own_and_for_those_that_all_share() {
        let stand_ins = stand_ins(&[50]);
        let lines = |from: u64| -> Vec<(u64, u32)> {
            let stream = stand_ins.stand_in(&stand_ins.streams[0], from, 2);
            assert_eq!(stream.length(), 50);
            let of_request = |one: &Request| (stream.lines_of(one)[0].line(), one.row());
            stream.requests().iter().map(of_request).collect()
        };
        assert_eq!(lines(0), [(100 + 2 * ((1 << 20) + 1), NOBODY), (7, NOBODY)]);
        assert_eq!(lines(1), [(7, NOBODY)], "what is left after one instruction");
        assert_eq!(lines(50), []);
    }

    #[test]
    fn alike_ctas_come_to_the_slot_of_their_place_in_the_grid() {
        let (mut stand_ins, mut hierarchy) = (stand_ins(&[10; 4]), hierarchy());
        stand_ins.dealt(5, None, &hierarchy);
        stand_ins.come_before(1003, &mut hierarchy);
        assert_eq!(stand_ins.dealt % WAVE, 1003 % WAVE);
        assert!(stand_ins.dealt < 5 + WAVE);
    }

    /// Before CTAs of two lengths come as many as the grid has; then slots are free at many times.
    #[test]
    fn unlike_ctas_are_out_of_step() {
        let (mut stand_ins, mut hierarchy) = (stand_ins(&[10, 310]), hierarchy());
        stand_ins.come_before(40 * WAVE, &mut hierarchy);
        assert_eq!(stand_ins.dealt, 40 * WAVE);
        let mut starts = Vec::new();
        for _ in 0..WAVE {
            starts.push(hierarchy.horizon());
            hierarchy.collect(&mut [&mut stream(1, 10_000)]);
        }
        // Half of the CTAs are long, so that nearly all slots have one under way.
        let [first, last] = [starts[0], starts[WAVE as usize - 1]];
        assert!((250..=310).contains(&(last - first)), "{first} to {last}");
        // Forty waves of 160 instructions in the mean.
        assert!((first as f64 / 6400.0 - 1.0).abs() < 0.1, "{first}");
    }

    /// CTAs of a grid store to sectors of their own, and so do those that stand in for them.
    #[test]
    fn no_two_stand_ins_dirty_the_same_sector() {
        let (mut stand_ins, mut hierarchy) = (stand_ins(&[]), hierarchy());
        let storing = |line: u64, length: u64| {
            let mut stream = CtaStream::new(16);
            stream.push(LineTouch { line, sectors: 1, full: 1 });
            stream.close(Request::new(length - 1, 0, 3, Demand::Store));
            stream.reach(length - 1);
            stream
        };
        stand_ins.keep([storing(100, 10), storing(101, 310)].iter());
        let mut random = stand_ins.random.clone();
        stand_ins.come_before(40 * WAVE, &mut hierarchy);
        let traffic = hierarchy.take_part();
        let dirtied = traffic.dirty_sectors + traffic.l2.dram_write_sectors;
        // A wave takes 160 instructions in the mean; those that would still run store.
        let lengths = [10, 310];
        let passed = |left: u64| (left as f64 / WAVE as f64 * 160.0) as u64;
        let runs =
            (1..=40 * WAVE).rev().filter(|&left| lengths[random.below(2) as usize] > passed(left));
        let running = runs.count() as u64;
        assert!(running > WAVE / 2);
        assert_eq!(dirtied, running);
    }

    #[test]
    fn a_run_does_not_end_alone() {
        let (mut stand_ins, mut hierarchy) = (stand_ins(&[10, 20, 30]), hierarchy());
        stand_ins.dealt(1, Some(500), &hierarchy);
        stand_ins.come_after(&mut hierarchy);
        assert!((500..600).contains(&hierarchy.horizon()), "{}", hierarchy.horizon());
        // The longest CTA lasts longer than all that may come.
        stand_ins.dealt(1, Some(1 << 40), &hierarchy);
        stand_ins.come_after(&mut hierarchy);
        assert!(hierarchy.horizon() < 1 << 20);
    }
}
