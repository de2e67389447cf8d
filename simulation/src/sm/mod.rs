//! One SM: sub-cores that issue the instructions of warps.
//!
//! The loop goes from issue to issue. When an instruction issues, its whole way is known: the units
//! and servers it needs are free again at known clocks. A warp is blocked without a known end only
//! at barriers of its CTA.

mod account;
mod held;
mod issue;
mod load_store;
mod prepared;
mod scoreboard;
mod under_way;
mod units;
mod warp;

use crate::clock::clock_at;
use crate::constants::ConstantLines;
use crate::launch::Launch;
use crate::memory::Served;
use crate::parameters::{Parameters, Scheduler};
use crate::states::Clocks;
use load_store::LoadStorePath;
use prepared::Prepared;
use scoreboard::Event;
use units::Units;
use warp::Warp;

/// A sub-core.
#[derive(Clone, Debug)]
struct SubCore {
    /// Places of its resident warps in [`Sm::warps`].
    residents: Vec<u32>,
    /// The warp that issued last.
    last: u32,
    /// The clock after its last issue.
    next: u64,
    /// Instructions issued in the clock of the last issue.
    in_clock: u32,
    units: Units,
    /// The next issue, if it is known: warp, its place among the residents and clock.
    candidate: Option<Candidate>,
    is_stale: bool,
    /// Lost issue slots and used ones.
    slots: Clocks,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    warp: u32,
    clock: u64,
}

/// A CTA that is resident.
#[derive(Clone, Debug, Default)]
struct Cta {
    live: u32,
    /// Warps that wait at the barrier.
    waiting: Vec<u32>,
    /// Warps that arrived and went on.
    arrived: u32,
    last_arrival: u64,
    /// Its copies that tell an mbarrier, in order of issue.
    copies: Vec<Event>,
    class: u32,
    started: u64,
}

/// A CTA that ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) clock: u64,
    /// Instructions that the SM had issued.
    pub(crate) issued: u64,
    pub(crate) started: u64,
    pub(crate) class: u32,
}

/// An SM in the middle of a launch.
pub(crate) struct Sm<'a> {
    launch: &'a Launch,
    parameters: &'a Parameters,
    code: Prepared,
    sub_cores: Vec<SubCore>,
    warps: Vec<Warp<'a>>,
    /// Places in `warps` of CTAs that have ended, by first warp.
    ctas: Vec<Cta>,
    vacant: Vec<u32>,
    load_store: LoadStorePath,
    shared_units: Units,
    /// The clock at which each line of code is there.
    lines: Vec<u64>,
    constants: ConstantLines,
    /// Clocks of warps by instruction and state.
    by_instruction: Vec<Clocks>,
    /// Active SMs, which share the memory.
    pub(crate) active_sms: f64,
    pub(crate) issued: u64,
    pub(crate) clock: u64,
    next_sub_core: usize,
    /// The clock from which the SM can start another warp.
    next_start: f64,
    age: u64,
    /// Barriers that were given up because nobody else could come.
    pub(crate) abandoned_barriers: u64,
    ends: Vec<Ended>,
}

/// A clock that never comes.
const NEVER: u64 = u64::MAX;

impl<'a> Sm<'a> {
    pub(crate) fn new(launch: &'a Launch, parameters: &'a Parameters) -> Self {
        let code = Prepared::new(launch, parameters);
        let sub_core = SubCore {
            residents: Vec::new(),
            last: u32::MAX,
            next: 0,
            in_clock: 0,
            units: Units::new(),
            candidate: None,
            is_stale: true,
            slots: Clocks::default(),
        };
        Self {
            launch,
            parameters,
            sub_cores: vec![sub_core; parameters.issue.sub_cores.max(1) as usize],
            warps: Vec::new(),
            ctas: Vec::new(),
            vacant: Vec::new(),
            load_store: LoadStorePath::new(parameters, launch.dram_writes_per_store),
            shared_units: Units::new(),
            lines: vec![NEVER; code.lines],
            constants: ConstantLines::new(&launch.code, parameters.launch.constants),
            by_instruction: vec![Clocks::default(); code.ops.len()],
            code,
            active_sms: f64::from(parameters.sm_count),
            issued: 0,
            clock: 0,
            next_sub_core: 0,
            next_start: 0.0,
            age: 0,
            abandoned_barriers: 0,
            ends: Vec::new(),
        }
    }

    /// Starts a CTA whose first warp may issue at a clock.
    pub(crate) fn start(&mut self, class: u32, sample: usize, at: u64) {
        let launch = self.launch;
        let Some(samples) = launch.classes.get(class as usize).map(|class| &class.samples) else {
            return;
        };
        let sample = sample % samples.len().max(1);
        let Some(trace) = samples.get(sample) else { return };
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.ctas.push(Cta::default());
            (self.ctas.len() - 1) as u32
        });
        let mut live = 0;
        for (index, warp) in trace.warps.iter().enumerate() {
            // An SM starts one warp after the other, whichever CTA it is of.
            let start = self.next_start.max(at as f64);
            self.next_start = start + self.parameters.launch.warp_interval;
            let begins = start as u64;
            let slot = self.free_warp();
            let executions = &self.code.executions[class as usize][sample][index];
            let runs = self.warps[slot as usize]
                .begin(&self.code, warp, executions, place, begins, self.age);
            self.age += 1;
            if !runs {
                self.warps[slot as usize].retire();
                continue;
            }
            live += 1;
            let sub_core = self.next_sub_core;
            self.next_sub_core = (self.next_sub_core + 1) % self.sub_cores.len();
            self.warps[slot as usize].sub_core = sub_core as u32;
            self.fetch(slot, begins);
            self.sub_cores[sub_core].residents.push(slot);
            self.sub_cores[sub_core].is_stale = true;
        }
        let cta = &mut self.ctas[place as usize];
        cta.waiting.clear();
        cta.copies.clear();
        (cta.live, cta.class, cta.started, cta.last_arrival) = (live, class, at, 0);
        cta.arrived = 0;
        if live == 0 {
            self.ends.push(Ended { clock: at, issued: self.issued, started: at, class });
            self.vacant.push(place);
        }
    }

    fn free_warp(&mut self) -> u32 {
        match self.warps.iter().position(Warp::is_retired) {
            Some(place) => place as u32,
            None => {
                self.warps.push(Warp::default());
                (self.warps.len() - 1) as u32
            }
        }
    }

    /// CTAs that have ended since the last call.
    pub(crate) fn take_ends(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ends)
    }

    /// Issues the next instruction. Returns false if no warp is left.
    pub(crate) fn step(&mut self) -> bool {
        for sub_core in 0..self.sub_cores.len() {
            if self.sub_cores[sub_core].is_stale {
                self.find_candidate(sub_core);
            }
        }
        let next = (0..self.sub_cores.len())
            .filter_map(|sub_core| {
                self.sub_cores[sub_core].candidate.map(|one| (one.clock, sub_core))
            })
            .min();
        match next {
            Some((clock, sub_core)) => {
                let Some(candidate) = self.sub_cores[sub_core].candidate else { return false };
                // A unit that sub-cores share may have been taken since.
                let clock_now = self.issuable_at(sub_core, candidate.warp);
                if clock_now > clock {
                    self.sub_cores[sub_core].is_stale = true;
                    return true;
                }
                self.clock = self.clock.max(clock);
                self.issue(sub_core, candidate.warp, clock);
                true
            }
            None => self.release_somebody(),
        }
    }

    /// The clock from which a warp could issue.
    #[inline]
    fn issuable_at(&self, sub_core: usize, place: u32) -> u64 {
        let warp = &self.warps[place as usize];
        if warp.ready == NEVER {
            return NEVER;
        }
        let core = &self.sub_cores[sub_core];
        // The second half of a clock belongs to the warp that has the first one.
        let next = core.next + u64::from(core.in_clock > 0 && core.last != place);
        warp.ready.max(self.unit_free(sub_core, warp.pc)).max(next)
    }

    /// The clock from which the unit and the queue that an instruction needs take it.
    #[inline]
    fn unit_free(&self, sub_core: usize, pc: u32) -> u64 {
        let op = &self.code.ops[pc as usize];
        let mut free = 0;
        // A product beside the warp waits for the tensor core in its queue.
        if let Some(unit) = op.units.unit.filter(|_| !op.runs_beside) {
            let units = if op.units.is_shared {
                &self.shared_units
            } else {
                &self.sub_cores[sub_core].units
            };
            free = units.clock(unit, op.units.other);
        }
        if op.is_queued {
            free = free.max(self.load_store.free_at(sub_core));
        }
        free
    }

    fn find_candidate(&mut self, sub_core: usize) {
        let core = &self.sub_cores[sub_core];
        let oldest_first = self.parameters.issue.scheduler == Scheduler::GreedyThenOldest;
        let mut best: Option<(u64, u64, u32)> = None;
        for &place in &core.residents {
            let warp = &self.warps[place as usize];
            if warp.ready == NEVER {
                continue;
            }
            if best.is_some_and(|(clock, _, _)| warp.ready > clock) {
                continue;
            }
            let clock = self.issuable_at(sub_core, place);
            let rank = if place == core.last {
                0
            } else if oldest_first {
                1 + warp.age
            } else {
                u64::MAX - warp.age
            };
            if best.is_none_or(|one| (clock, rank) < (one.0, one.1)) {
                best = Some((clock, rank, place));
            }
        }
        let core = &mut self.sub_cores[sub_core];
        core.candidate = best.map(|(clock, _, warp)| Candidate { warp, clock });
        core.is_stale = false;
    }

    /// Where every warp waits at barriers that nobody can reach any more, lets one CTA go on.
    fn release_somebody(&mut self) -> bool {
        let blocked = (0..self.ctas.len()).find(|&cta| !self.ctas[cta].waiting.is_empty());
        let Some(cta) = blocked else { return false };
        self.abandoned_barriers += 1;
        self.release(cta as u32, self.clock);
        true
    }

    /// Finds the clock from which a warp's next instruction is fetched and has what it waits for,
    /// the constant of its operand included.
    fn fetch(&mut self, place: u32, resume: u64) {
        let warp = &mut self.warps[place as usize];
        let op = &self.code.ops[warp.pc as usize];
        let event = if op.control.wait_mask == 0 {
            Event::default()
        } else {
            warp.scoreboard.last_of(op.control.wait_mask)
        };
        let line = op.line as usize;
        let there = self.lines[line];
        let fetched = if there == NEVER {
            let costs = &self.parameters.launch;
            let before = line.checked_sub(1).map(|one| self.lines[one]).filter(|&at| at != NEVER);
            let at = match before {
                Some(before) => (before as f64 + costs.code_line_interval).max(resume as f64),
                None => resume as f64 + costs.code_latency,
            };
            self.lines[line] = clock_at(at);
            self.lines[line]
        } else {
            there
        };
        warp.event = event;
        warp.resume = resume;
        warp.fetched = resume.max(event.done).max(fetched);
        warp.ready = warp.fetched;
        if !op.is_queued
            && let Some(there) = self.constants.operand(warp.pc as usize, warp.fetched as f64)
        {
            warp.ready = warp.ready.max(clock_at(there));
        }
    }

    fn end_warp(&mut self, sub_core: usize, place: u32, clock: u64) {
        let cta = self.warps[place as usize].cta;
        self.warps[place as usize].retire();
        let core = &mut self.sub_cores[sub_core];
        core.residents.retain(|&one| one != place);
        core.is_stale = true;
        let state = &mut self.ctas[cta as usize];
        state.live -= 1;
        // Whoever waited for it goes on now.
        state.last_arrival = state.last_arrival.max(clock);
        if state.live == 0 {
            let Cta { class, started, .. } = *state;
            self.ends.push(Ended { clock, issued: self.issued, started, class });
            self.vacant.push(cta);
        } else {
            self.release_if_complete(cta);
        }
    }

    fn release_if_complete(&mut self, cta: u32) {
        let state = &self.ctas[cta as usize];
        let there = state.waiting.len() as u32 + state.arrived;
        if !state.waiting.is_empty() && there >= state.live {
            self.release(cta, state.last_arrival);
        }
    }

    fn release(&mut self, cta: u32, clock: u64) {
        let latency = self.parameters.synchronisation.barrier_latency as u64;
        self.ctas[cta as usize].arrived = 0;
        let waiting = std::mem::take(&mut self.ctas[cta as usize].waiting);
        for &place in &waiting {
            let resume = self.warps[place as usize].resume.max(clock + latency);
            self.fetch(place, resume);
            let sub_core = self.warps[place as usize].sub_core as usize;
            self.sub_cores[sub_core].is_stale = true;
        }
        let state = &mut self.ctas[cta as usize];
        state.waiting = waiting;
        state.waiting.clear();
    }

    /// The clock at which the L2 has taken all stores so far.
    pub(crate) fn last_store(&self) -> u64 {
        self.load_store.last_store()
    }

    /// Clocks that the servers behind the SM need for all that they have taken.
    pub(crate) fn served(&self) -> Served {
        self.load_store.served()
    }

    /// Clocks of warps by instruction and state.
    pub(crate) fn by_instruction(&self) -> &[Clocks] {
        &self.by_instruction
    }
}
