//! An SM: sub-cores that issue the instructions of warps.
//!
//! The loop goes from issue to issue. When an instruction issues, its whole way is known: the units
//! and servers it needs are free again at known clocks. A warp is blocked without a known end only
//! at barriers of its CTA.

mod account;
mod barriers;
mod blocked;
mod gates;
mod held;
mod issue;
mod load_store;
mod phases;
mod prepared;
mod request_runs;
mod scoreboard;
mod sub_core;
mod tensor_memory;
mod under_way;
mod units;
mod warp;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::clock::{clock_at, time_of};
use crate::constants::ConstantLines;
use crate::launch::{CtaClass, Launch};
use crate::memory::{MemorySystem, Ports, Served};
use crate::observer::{CtaStart, Observer, WarpStart};
use crate::parameters::Parameters;
use crate::states::Clocks;
use issue::Effect;
use load_store::LoadStorePath;
use phases::Phases;
pub(crate) use prepared::Prepared;
use request_runs::{CtaQueues, Queues};
use scoreboard::Event;
use sub_core::{Head, SubCore};
use tensor_memory::TensorCore;
use units::Units;
use warp::Warp;

/// A CTA that is resident.
#[derive(Clone, Debug, Default)]
struct Cta<T> {
    live: u32,
    /// Warps that wait at the barrier.
    waiting: Vec<u32>,
    /// Warps that arrived and went on.
    arrived: u32,
    last_arrival: u64,
    /// The last to arrive.
    last_arrival_by: T,
    /// The phases of its mbarriers.
    phases: Phases<T>,
    /// The last of its products in tensor memory.
    products: Event<T>,
    class: u32,
    started: u64,
}

impl<T> Cta<T> {
    /// Another warp arrives at a barrier, or ends.
    fn note_arrival(&mut self, clock: u64, by: T) {
        if clock >= self.last_arrival {
            (self.last_arrival, self.last_arrival_by) = (clock, by);
        }
    }
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
pub(crate) struct Sm<'a, O: Observer> {
    launch: &'a Launch,
    parameters: &'a Parameters,
    code: &'a Prepared,
    /// Requests of each recorded CTA, by class and sample. They are read when it first starts.
    requests: Vec<Vec<CtaQueues>>,
    queues: Queues,
    sub_cores: Vec<SubCore>,
    warps: Vec<Warp<'a, O::Tag>>,
    /// Places in `warps` that are free.
    vacant_warps: BinaryHeap<Reverse<u32>>,
    /// Places in `warps` of CTAs that have ended, by first warp.
    ctas: Vec<Cta<O::Tag>>,
    vacant: Vec<u32>,
    load_store: LoadStorePath<'a, O::Tag>,
    shared_units: Units,
    tensor_core: TensorCore,
    /// The clock at which each line of code is there.
    lines: Vec<u64>,
    constants: ConstantLines,
    /// True if clocks of warps and issue slots are divided among states.
    accounts: bool,
    /// Clocks of warps by instruction and state.
    by_instruction: Vec<Clocks>,
    pub(crate) issued: u64,
    pub(crate) clock: u64,
    next_sub_core: usize,
    /// The clock from which the SM can start another warp.
    next_start: f64,
    /// Barriers that were given up because nobody else could come.
    pub(crate) abandoned_barriers: u64,
    /// The clock of the latest arrival at a barrier, of all CTAs.
    barrier_free: u64,
    ends: Vec<Ended>,
    /// Who watches.
    pub(crate) observer: O,
    /// The instruction that issues, as its events know it.
    issuing: O::Tag,
}

/// A clock that never comes.
const NEVER: u64 = u64::MAX;

impl<'a, O: Observer> Sm<'a, O> {
    /// An SM without CTAs. Where it does not account for clocks, those by state stay zero.
    pub(crate) fn new(
        launch: &'a Launch,
        code: &'a Prepared,
        parameters: &'a Parameters,
        ports: Ports,
        (accounts, observer): (bool, O),
    ) -> Self {
        let samples = |class: &CtaClass| vec![Vec::new(); class.samples.len()];
        Self {
            launch,
            parameters,
            requests: launch.classes.iter().map(samples).collect(),
            queues: Queues::of(&launch.code),
            sub_cores: vec![SubCore::new(); parameters.issue.sub_partitions.max(1) as usize],
            warps: Vec::new(),
            vacant_warps: BinaryHeap::new(),
            ctas: Vec::new(),
            vacant: Vec::new(),
            load_store: LoadStorePath::new(launch, parameters, ports, accounts),
            shared_units: Units::new(),
            tensor_core: TensorCore::default(),
            lines: vec![NEVER; code.lines],
            constants: ConstantLines::new(&launch.code, parameters.launch.constants),
            accounts,
            by_instruction: vec![Clocks::default(); if accounts { code.ops.len() } else { 0 }],
            code,
            issued: 0,
            clock: 0,
            next_sub_core: 0,
            next_start: 0.0,
            abandoned_barriers: 0,
            barrier_free: 0,
            ends: Vec::new(),
            observer,
            issuing: O::Tag::default(),
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
        let requests = &mut self.requests[class as usize][sample];
        if requests.is_empty() {
            *requests = self.queues.of_cta(trace);
        }
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.ctas.push(Cta::default());
            (self.ctas.len() - 1) as u32
        });
        self.observer.cta_starts(CtaStart { place, class, sample: sample as u32, clock: at });
        let mut live = 0;
        for (index, warp) in trace.warps.iter().enumerate() {
            // An SM starts one warp after the other, whichever CTA it is of.
            let start = self.next_start.max(at as f64);
            self.next_start = start + self.parameters.launch.warp_launch_interval;
            let begins = start as u64;
            let slot = self.free_warp();
            let queues = &self.requests[class as usize][sample][index];
            let runs = self.warps[slot as usize].begin(self.code, warp, queues, place, begins);
            if !runs {
                self.vacant_warps.push(Reverse(slot));
                continue;
            }
            live += 1;
            let sub_core = self.next_sub_core;
            self.next_sub_core = (self.next_sub_core + 1) % self.sub_cores.len();
            let needs = self.code.ops[self.warps[slot as usize].pc as usize].needs;
            let head = Head { ready: NEVER, warp: slot, needs };
            let at = self.sub_cores[sub_core].admit(head);
            let warp = &mut self.warps[slot as usize];
            (warp.sub_core, warp.at_sub_core) = (sub_core as u32, at as u32);
            let (number, sub_core) = (index as u32, sub_core as u32);
            let start = WarpStart { place: slot, cta: place, number, sub_core, clock: begins };
            self.observer.warp_starts(start);
            self.fetch(slot, begins);
        }
        let cta = &mut self.ctas[place as usize];
        cta.waiting.clear();
        cta.phases.begin(&self.code.phases[class as usize][sample]);
        cta.products = Event::default();
        (cta.live, cta.class, cta.started, cta.last_arrival) = (live, class, at, 0);
        cta.last_arrival_by = O::Tag::default();
        cta.arrived = 0;
        if live == 0 {
            self.ends.push(Ended { clock: at, issued: self.issued, started: at, class });
            self.vacant.push(place);
        }
    }

    /// The first free place of a warp.
    fn free_warp(&mut self) -> u32 {
        self.vacant_warps.pop().map_or_else(
            || {
                self.warps.push(Warp::default());
                (self.warps.len() - 1) as u32
            },
            |Reverse(place)| place,
        )
    }

    /// Returns true if CTAs have ended since they were last taken.
    pub(crate) fn has_ends(&self) -> bool {
        !self.ends.is_empty()
    }

    /// CTAs that have ended since the last call.
    pub(crate) fn take_ends(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ends)
    }

    /// The clock of its next event, as far as it is known. It is the present one where every warp
    /// waits for another.
    pub(crate) fn next_event(&mut self) -> u64 {
        match self.next_issue() {
            (NEVER, _) => self.clock,
            (clock, _) => clock,
        }
    }

    /// The clock of the next issue, and its sub-core.
    fn next_issue(&mut self) -> (u64, usize) {
        let scheduler = self.parameters.issue.warp_scheduler;
        let (mut clock, mut sub_core) = (NEVER, 0);
        for (index, core) in self.sub_cores.iter_mut().enumerate() {
            if core.is_stale {
                core.find_candidate(scheduler);
            }
            if core.candidate.clock < clock {
                (clock, sub_core) = (core.candidate.clock, index);
            }
        }
        (clock, sub_core)
    }

    /// Issues the next instruction. Returns false if no warp is left.
    pub(crate) fn step(&mut self, memory: &mut MemorySystem<'_>) -> bool {
        let (clock, sub_core) = self.next_issue();
        if clock == NEVER {
            return self.release_somebody();
        }
        let core = &mut self.sub_cores[sub_core];
        let at = core.candidate.at;
        // A unit that sub-cores share may have been taken since.
        if core.issuable_at(at) > clock {
            core.reconsider();
            return true;
        }
        self.clock = self.clock.max(clock);
        self.issue(sub_core, at, clock, memory);
        true
    }

    /// Issues the next instruction of a warp as soon as it can, whoever else could. Returns false
    /// if the warp has none.
    pub(crate) fn issue_of(&mut self, place: u32, memory: &mut MemorySystem<'_>) -> bool {
        loop {
            let Some(warp) = self.warps.get(place as usize) else { return false };
            let (sub_core, at) = (warp.sub_core as usize, warp.at_sub_core as usize);
            let core = &self.sub_cores[sub_core];
            match core.heads.get(at) {
                Some(head) if head.warp != place => return false,
                None => return false,
                // In the order's own run nobody could go on, either.
                Some(head) if head.ready == NEVER => {
                    if !self.release_somebody() {
                        return false;
                    }
                }
                Some(_) => {
                    let clock = core.issuable_at(at);
                    self.clock = self.clock.max(clock);
                    self.issue(sub_core, at, clock, memory);
                    return true;
                }
            }
        }
    }

    /// Where every warp waits at barriers that nobody can reach any more, lets one CTA go on.
    fn release_somebody(&mut self) -> bool {
        let awaited = (0..self.ctas.len()).find(|&cta| self.ctas[cta].phases.is_awaited());
        let blocked = (0..self.ctas.len()).find(|&cta| !self.ctas[cta].waiting.is_empty());
        match (awaited, blocked) {
            (Some(cta), _) => self.abandon_phases(cta as u32),
            (None, Some(cta)) => self.release(cta as u32, self.clock),
            (None, None) => return false,
        }
        self.abandoned_barriers += 1;
        true
    }

    /// Finds the clock from which a warp's next instruction is fetched and has what it waits for,
    /// the constant of its operand included.
    #[inline]
    fn fetch(&mut self, place: u32, resume: u64) {
        let warp = &mut self.warps[place as usize];
        let op = &self.code.ops[warp.pc as usize];
        if op.control.wait_mask == 0 {
            warp.event.done = 0;
        } else {
            warp.event = warp.scoreboard.last_of(op.control.wait_mask);
        }
        let line = op.line as usize;
        let there = self.lines[line];
        let there = if there == NEVER { self.fetch_line(line, resume) } else { there };
        let warp = &mut self.warps[place as usize];
        warp.resume = resume;
        warp.fetched = resume.max(warp.event.done).max(there);
        let mut ready = warp.fetched;
        let op = &self.code.ops[warp.pc as usize];
        if op.reads_constant
            && let Some(there) = self.constants.operand(warp.pc as usize, time_of(warp.fetched))
        {
            ready = ready.max(clock_at(there));
        }
        let head = &mut self.sub_cores[warp.sub_core as usize].heads[warp.at_sub_core as usize];
        (head.ready, head.needs) = (ready, op.needs);
    }

    /// Fetches a line of code for the first time. Returns the clock at which it is there.
    #[cold]
    fn fetch_line(&mut self, line: usize, now: u64) -> u64 {
        let costs = &self.parameters.launch;
        let before = line.checked_sub(1).map(|at| self.lines[at]).filter(|&at| at != NEVER);
        let at = match before {
            Some(before) => (before as f64 + costs.code_line_interval).max(now as f64),
            None => now as f64 + costs.code_latency,
        };
        self.lines[line] = clock_at(at);
        self.lines[line]
    }

    fn end_warp(&mut self, place: u32, clock: u64) {
        let Warp { cta, sub_core, at_sub_core, .. } = self.warps[place as usize];
        self.vacant_warps.push(Reverse(place));
        let core = &mut self.sub_cores[sub_core as usize];
        core.dismiss(at_sub_core as usize);
        for head in &core.heads[at_sub_core as usize..] {
            self.warps[head.warp as usize].at_sub_core -= 1;
        }
        let state = &mut self.ctas[cta as usize];
        state.live -= 1;
        // Whoever waited for it goes on now.
        state.note_arrival(clock, self.issuing);
        self.observer.warp_ends(place, clock);
        if state.live == 0 {
            let Cta { class, started, .. } = *state;
            self.ends.push(Ended { clock, issued: self.issued, started, class });
            self.vacant.push(cta);
        } else {
            self.release_if_complete(cta);
        }
    }

    /// The clock at which the L2 has taken all stores so far.
    pub(crate) fn last_store(&self) -> u64 {
        self.load_store.last_store()
    }

    /// The access after which the L2 has taken all stores so far.
    pub(crate) fn last_store_by(&self) -> O::Tag {
        self.load_store.last_store_by()
    }

    /// Clocks that the servers behind have worked for it and the SMs that it stands for.
    pub(crate) fn served(&self) -> Served {
        self.load_store.ports().served
    }

    /// Clocks of warps by instruction and state.
    pub(crate) fn by_instruction(&self) -> &[Clocks] {
        &self.by_instruction
    }
}
