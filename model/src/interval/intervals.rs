//! The intervals of one warp that has an SM for itself.
//!
//! An instruction issues when the stall count of the one before has passed, its barriers are zero
//! and its unit is free. Where it does not issue in the next slot, an interval ends; the
//! dependence that it waited for is the interval's stall event (GPUMech, section 3.1; GCoM, section
//! 4.1). The papers find dependences by registers. Here the scheduling fields of machine code tell
//! them.

use std::collections::{HashMap, VecDeque};

use gpucast_simulation::code::{
    AccessKind, Action, Code, Control, MemoryAccess, Space, TensorMemoryAction,
};
use gpucast_simulation::constants::ConstantLines;
use gpucast_simulation::launch::{Beside, Request, WarpTrace};
use gpucast_simulation::parameters::Unit;
use gpucast_simulation::states::{Clocks, State};
use gpucast_simulation::walk::{QueueUses, Step, Walk};

use super::demand::{Demand, Machine, tensor_core_clocks};
use super::latency::{Latency, latency};

/// Instructions without a gap, and the stall that ends them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    /// Issue slots.
    pub(super) issue: f64,
    /// Clocks until the next instruction issues, beyond the next slot.
    pub(super) stall: f64,
    /// The state of the warp meanwhile.
    pub(super) cause: State,
}

/// Code between two barriers of a CTA, as one warp executes it alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Phase {
    /// The work of its instructions.
    pub(super) demand: Demand,
    /// Clocks of stalls by state.
    pub(super) stalls: Clocks,
    /// Stalls that end with data from DRAM.
    pub(super) dram_waits: f64,
    /// Stalls that end with data from the load-store path.
    pub(super) path_waits: f64,
}

impl Phase {
    /// Clocks of the warp alone.
    pub(super) fn clocks(&self) -> f64 {
        self.demand.issue + self.stalls.total()
    }

    /// Adds a phase that follows.
    pub(super) fn add(&mut self, other: &Self) {
        self.demand.add(&other.demand, 1.0);
        for (sum, clocks) in self.stalls.0.iter_mut().zip(other.stalls.0) {
            *sum += clocks;
        }
        self.dram_waits += other.dram_waits;
        self.path_waits += other.path_waits;
    }
}

/// A warp that has an SM for itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Alone {
    /// Its phases, at least one if it executes anything.
    pub(super) phases: Vec<Phase>,
    /// Intervals.
    pub(super) intervals: u64,
}

impl Alone {
    /// All phases together.
    pub(super) fn whole(&self) -> Phase {
        let mut whole = Phase::default();
        self.phases.iter().for_each(|phase| whole.add(phase));
        whole
    }
}

/// The caches of code and constants of the SM when the warp begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeCache {
    /// They hold all that the warp reads.
    Warm,
    /// They hold nothing.
    Cold,
}

/// Code that is walked again and again.
pub(super) struct Walked<'a> {
    pub(super) code: &'a Code,
    pub(super) uses: &'a QueueUses,
    pub(super) machine: Machine<'a>,
    /// Warps of a CTA, which arrive at a barrier one after the other.
    pub(super) warps_of_cta: usize,
}

/// An outstanding result.
#[derive(Clone, Copy, Debug)]
struct Event {
    done: f64,
    cause: State,
    uses_path: bool,
}

impl Event {
    const PAST: Self = Self { done: 0.0, cause: State::Wait, uses_path: false };

    /// The later of two.
    fn later(self, other: Self) -> Self {
        if other.done > self.done { other } else { self }
    }
}

/// The barriers of machine code.
const BARRIERS: usize = 64;

/// The state of the walk.
struct Progress {
    /// The clock of the latest issue.
    issued: f64,
    /// Clocks of the slot that it took.
    slot: f64,
    /// From when the next instruction may issue, and why not earlier.
    resume: Event,
    barriers: [Event; BARRIERS],
    /// Outstanding events of barriers that are waited for by number.
    counted: Vec<VecDeque<f64>>,
    units: [f64; Unit::COUNT],
    /// From when the data stage of the load-store path is free.
    data_free: f64,
    /// The latest asynchronous copy.
    copied: Event,
    /// What each phase of an mbarrier waits for, as far as this warp brings it about.
    ends: HashMap<u32, Event>,
    /// Asynchronous products.
    products: VecDeque<f64>,
    /// From when the tensor core is free, and the last of the products and copies that it has.
    tensor_free: f64,
    tensor_done: Event,
    /// The clocks at which products and copies leave the queue in front of it.
    leaving: VecDeque<f64>,
    /// The latest transfer between tensor memory and registers.
    transferred: Event,
    /// The clock at which each line of code is there.
    lines: Vec<Option<f64>>,
    /// The constants that are there; `None` if all are.
    constants: Option<ConstantLines>,
}

impl Walked<'_> {
    /// Walks a warp; `take` sees each interval.
    pub(super) fn alone(
        &self,
        warp: &WarpTrace,
        cache: CodeCache,
        mut take: impl FnMut(Interval),
    ) -> Alone {
        let mut progress = self.begin(cache);
        let mut alone = Alone::default();
        let mut phase = Phase::default();
        let mut run = 0.0;
        for step in Walk::new(self.code, self.uses, warp) {
            let (issued, cause) = progress.issue(&step, self, cache);
            let gap = issued - (progress.issued + progress.slot);
            if gap > 0.0 {
                take(Interval { issue: run, stall: gap, cause: cause.cause });
                alone.intervals += 1;
                run = 0.0;
                phase.stalls.0[cause.cause as usize] += gap;
                phase.dram_waits += f64::from(u8::from(cause.cause == State::DramLatency));
                phase.path_waits += f64::from(u8::from(cause.uses_path));
                if cause.cause == State::Barrier {
                    alone.phases.push(std::mem::take(&mut phase));
                }
            }
            let before = phase.demand.issue;
            progress.take(&step, issued, self, &mut phase.demand);
            run += phase.demand.issue - before;
        }
        if run > 0.0 {
            alone.intervals += 1;
            take(Interval { issue: run, stall: 0.0, cause: State::Tail });
        }
        if phase.demand.instructions > 0.0 {
            alone.phases.push(phase);
        }
        alone
    }

    fn begin(&self, cache: CodeCache) -> Progress {
        let lines = match cache {
            CodeCache::Warm => 0,
            CodeCache::Cold => self.line_of(self.code.instructions.len()) + 1,
        };
        Progress {
            issued: 0.0,
            slot: 0.0,
            resume: Event::PAST,
            barriers: [Event::PAST; BARRIERS],
            counted: vec![VecDeque::new(); BARRIERS],
            units: [0.0; Unit::COUNT],
            data_free: 0.0,
            copied: Event::PAST,
            ends: HashMap::new(),
            products: VecDeque::new(),
            tensor_free: 0.0,
            tensor_done: Event::PAST,
            leaving: VecDeque::new(),
            transferred: Event::PAST,
            lines: vec![None; lines],
            constants: (cache == CodeCache::Cold)
                .then(|| ConstantLines::new(self.code, self.machine.parameters.launch.constants)),
        }
    }

    /// The line of code that an instruction is in.
    fn line_of(&self, at: usize) -> usize {
        let bytes = f64::from(self.code.bytes) / self.code.instructions.len().max(1) as f64;
        let in_line = self.machine.parameters.launch.code_line / bytes.max(1.0);
        (at as f64 / in_line.max(1.0)) as usize
    }
}

impl Progress {
    /// The clock at which an instruction issues, and what it waited for longest.
    fn issue(&mut self, step: &Step<'_>, walked: &Walked<'_>, cache: CodeCache) -> (f64, Event) {
        let control = step.instruction.control;
        let mut last = self.resume;
        let mut mask = control.wait_mask;
        while mask != 0 {
            last = last.later(self.barriers[mask.trailing_zeros() as usize]);
            mask &= mask - 1;
        }
        let units = walked.machine.parameters.unit_of(step.instruction);
        if let Some(unit) = units.unit {
            let other = units.other.map_or(f64::INFINITY, |other| self.units[other as usize]);
            let done = self.units[unit as usize].min(other);
            last = last.later(Event { done, cause: State::MathPipe, uses_path: false });
        }
        if cache == CodeCache::Cold {
            let done = self.fetched(walked.line_of(step.at), last.done, walked);
            last = last.later(Event { done, cause: State::NoInstruction, uses_path: false });
        }
        let loads = matches!(step.instruction.action, Action::Access(_));
        if let Some(constants) = self.constants.as_mut().filter(|_| !loads)
            && let Some(done) = constants.operand(step.at, last.done)
        {
            last = last.later(Event { done, cause: State::ConstantMiss, uses_path: false });
        }
        (last.done, last)
    }

    /// The clock at which a line of code is there that is asked for at `now`.
    fn fetched(&mut self, line: usize, now: f64, walked: &Walked<'_>) -> f64 {
        let costs = &walked.machine.parameters.launch;
        if let Some(Some(there)) = self.lines.get(line) {
            return *there;
        }
        let before =
            line.checked_sub(1).and_then(|before| self.lines.get(before).copied().flatten());
        let there = match before {
            Some(before) => (before + costs.code_line_interval).max(now),
            None => now + costs.code_latency,
        };
        if let Some(place) = self.lines.get_mut(line) {
            *place = Some(there);
        }
        there
    }

    /// Lets an instruction issue at `now`.
    fn take(&mut self, step: &Step<'_>, now: f64, walked: &Walked<'_>, demand: &mut Demand) {
        let Step { instruction, request, .. } = step;
        let parameters = walked.machine.parameters;
        let control: Control = instruction.control;
        let found = latency(instruction, request.as_ref(), parameters);
        let (data, issue) = (demand.data, demand.issue);
        demand.count(instruction, request.as_ref(), &found, &walked.machine);
        let units = parameters.unit_of(instruction);
        if let Some(unit) = units.unit {
            let mut unit = unit as usize;
            if let Some(other) = units.other
                && self.units[other as usize] < self.units[unit]
            {
                unit = other as usize;
            }
            self.units[unit] = self.units[unit].max(now) + units.interval;
        }
        // Accesses of the same warp follow each other through the data stage.
        let busy = demand.data - data;
        let waited = if busy > 0.0 { (self.data_free - now).max(0.0) } else { 0.0 };
        self.data_free = self.data_free.max(now) + busy;
        let Latency { cause, uses_path, .. } = found;
        let mut result = Event { done: now + found.result + waited, cause, uses_path };
        if let Action::Access(MemoryAccess { space: Space::Constant, .. }) = instruction.action
            && let Some(constants) = &mut self.constants
            && let Some(done) = constants.load(step.at, request.as_ref(), now)
        {
            result = result.later(Event { done, cause: State::ConstantMiss, uses_path: false });
        }
        let operands = Event { done: now + found.operands + waited, cause, uses_path };
        self.slot = demand.issue - issue;
        self.issued = now;
        let stall = f64::from(control.stall).max(self.slot);
        self.resume = Event { done: now + stall, ..Event::PAST };
        let announced =
            self.perform((instruction.action, request.as_ref()), now, result, operands, walked);
        for (barrier, event) in
            [(control.write_barrier, announced), (control.read_barrier, operands)]
        {
            if let Some(barrier) = barrier {
                let at = usize::from(barrier) % BARRIERS;
                self.barriers[at] = self.barriers[at].later(event);
                self.counted[at].push_back(event.done);
                // Nobody waits for the oldest of so many.
                if self.counted[at].len() > usize::from(u8::MAX) {
                    self.counted[at].pop_front();
                }
            }
        }
    }

    /// What an instruction makes the next one wait for. Returns the event that its write barrier
    /// announces.
    fn perform(
        &mut self,
        (action, request): (Action, Option<&Request>),
        now: f64,
        result: Event,
        operands: Event,
        walked: &Walked<'_>,
    ) -> Event {
        let synchronisation = &walked.machine.parameters.synchronisation;
        match action {
            Action::Access(access) => match access.kind {
                AccessKind::AsyncCopy { .. }
                | AccessKind::BulkStore
                | AccessKind::BulkReduction => {
                    self.copied = self.copied.later(result);
                    return operands;
                }
                AccessKind::BulkCopy => {
                    self.tell_phase(request, Event { cause: State::Copies, ..result });
                    return operands;
                }
                AccessKind::Load
                | AccessKind::Store
                | AccessKind::Atomic
                | AccessKind::Reduction => {}
            },
            Action::Multiply { is_asynchronous: true, .. } => {
                self.products.push_back(self.units[Unit::Tensor as usize].max(result.done));
                let most = walked.machine.parameters.tensor.tensor_queue.max(1) as usize;
                self.await_products(most);
            }
            Action::AwaitProducts { pending } => self.await_products(usize::from(pending)),
            Action::CtaBarrier { .. } => {
                let others = walked.warps_of_cta.saturating_sub(1) as f64;
                let clocks = synchronisation.barrier_latency
                    + others * synchronisation.barrier_arrival_interval;
                self.wait(Event { done: now + clocks, cause: State::Barrier, uses_path: false });
            }
            Action::AwaitCounter { counter, pending } => {
                let at = usize::from(counter) % BARRIERS;
                while self.counted[at].len() > usize::from(pending) {
                    let done = self.counted[at].pop_front().unwrap_or_default();
                    self.wait(Event { done, ..self.barriers[at] });
                }
            }
            Action::CommitCopies { .. } => {
                self.tell_phase(request, Event { cause: State::Copies, ..self.copied });
                return self.copied;
            }
            Action::AwaitPhase { .. } => {
                if let Some(Beside::Phase(phase)) = request.map(|request| request.beside)
                    && let Some(end) = self.ends.get(&phase).copied().filter(|end| end.done > now)
                {
                    let done = end.done + synchronisation.mbarrier_latency;
                    self.wait(Event { done, ..end });
                }
            }
            Action::TensorMemory(action) => {
                self.tensor_memory(action, request, now, result, walked);
            }
            Action::Fence(_) => self.wait(result),
            Action::Compute
            | Action::Multiply { .. }
            | Action::CtaArrive { .. }
            | Action::ArriveAtPhase { .. }
            | Action::Exit => {}
        }
        result
    }

    /// The end of a phase is not before an event.
    fn tell_phase(&mut self, request: Option<&Request>, event: Event) {
        if let Some(Beside::Phase(phase)) = request.map(|request| request.beside) {
            let end = self.ends.entry(phase).or_insert(Event::PAST);
            *end = end.later(event);
        }
    }

    fn tensor_memory(
        &mut self,
        action: TensorMemoryAction,
        request: Option<&Request>,
        now: f64,
        result: Event,
        walked: &Walked<'_>,
    ) {
        let parameters = walked.machine.parameters;
        match action {
            TensorMemoryAction::Multiply(_) | TensorMemoryAction::Copy { .. } => {
                let interval = tensor_core_clocks(&action, request, parameters);
                if request.is_none_or(|request| request.lanes == 0) {
                    return;
                }
                let begun = self.tensor_free.max(now);
                self.tensor_free = begun + interval;
                let done = result.done + (begun - now);
                self.tensor_done = self.tensor_done.later(Event { done, ..result });
                self.leaving.push_back(begun);
                while self.leaving.len() > parameters.tensor.tensor_queue.max(1) as usize {
                    let done = self.leaving.pop_front().unwrap_or_default();
                    self.wait(Event { done, cause: State::Products, uses_path: false });
                }
            }
            TensorMemoryAction::Commit { .. } => self.tell_phase(request, self.tensor_done),
            TensorMemoryAction::Transfer { .. } => {
                self.transferred = self.transferred.later(result);
            }
            TensorMemoryAction::AwaitTransfers => self.wait(self.transferred),
        }
    }

    fn await_products(&mut self, pending: usize) {
        while self.products.len() > pending {
            let done = self.products.pop_front().unwrap_or_default();
            self.wait(Event { done, cause: State::Products, uses_path: false });
        }
    }

    fn wait(&mut self, event: Event) {
        self.resume = self.resume.later(event);
    }
}
