//! The load-store path: queues of the sub-cores, the SM's port, L1 and shared memory.
//!
//! ```text
//! sub-core: queue ─ address stage ─┐
//! sub-core: queue ─ address stage ─┼─ port ─ banks and tags ─┬─ registers
//! …                               ─┘                         └─ L2 (memory.rs)
//! ```
//!
//! Each stage is free again at a known clock, so the whole way of an access is known when it
//! issues. Accesses of different sub-cores enter the port in the order they were issued in.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::held::Held;
use super::scoreboard::Event;
use super::under_way::UnderWay;
use crate::clock::{clock_at, time_of};
use crate::code::{AccessKind, MemoryAccess, Space};
use crate::launch::{Beside, Launch, Request};
use crate::memory::{MemorySystem, Ports};
use crate::parameters::{Parameters, whole_sectors};
use crate::states::State;

/// The part of the path that a sub-core has for itself.
#[derive(Clone, Debug, Default)]
struct Entry {
    /// The clocks at which the latest instructions leave the queue.
    leaving: VecDeque<u64>,
    address_free: f64,
}

/// A stage that serves one instruction after the other.
///
/// Instructions are told in the order of their issue, and some arrive later than others told after
/// them. The stage does not idle until they do.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    /// The clock at which it has served everything told so far.
    backlog: f64,
}

impl Stage {
    /// Tells of `work` clocks that arrive at `arrival`. Returns when they begin.
    fn take(&mut self, now: f64, arrival: f64, work: f64) -> f64 {
        let begin = self.backlog.max(now);
        self.backlog = begin + work;
        arrival.max(begin)
    }
}

/// The load-store path of an SM.
#[derive(Clone, Debug)]
pub(super) struct LoadStorePath<'a, T> {
    entries: Vec<Entry>,
    port: Stage,
    data: Stage,
    /// Loads of constants.
    constants: Stage,
    /// Loads that wait for data.
    pending: Outgoing,
    /// Stores that the L2 has not taken.
    stored: Outgoing,
    /// Sectors that hits wait for.
    under_way: UnderWay<T>,
    /// The clock at which the L2 has taken all stores so far.
    last_store: u64,
    /// The access that `last_store` waits for.
    last_store_by: T,
    /// The instruction that issues.
    pub(super) issuing: T,
    /// The atomic that ends last.
    last_update: Event<T>,
    /// What kept the path of late.
    held: Held,
    /// True if somebody asks for what kept the path.
    accounts: bool,
    ports: Ports,
    partitions: Partitions,
    parameters: &'a crate::parameters::LoadStore,
    dram_writes_per_store: f64,
    l2: (f64, f64, f64, f64),
}

/// The way of an access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<T> {
    /// When its result is there.
    pub(super) result: Event<T>,
    /// When its operands may be overwritten: addresses once the port has taken the access, data
    /// that it stores once the banks have.
    pub(super) operands: u64,
}

/// The warp that makes an access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub(super) sub_core: usize,
    /// The place of its CTA.
    pub(super) cta: u32,
    /// Clocks since another CTA's miss asked DRAM for what the L2 holds, if they are few.
    pub(super) fetched_since: Option<u32>,
}

/// Clocks from issue to the address stage. With them the sixth of a run of loads issues at clock 13
/// (Huerta et al., MICRO 2025, table 1).
const ENTRY_CLOCKS: f64 = 7.0;

/// Clocks of work that wait between the port and the banks.
const BUFFERED_CLOCKS: f64 = 8.0;

/// Clocks that a result of up to 64 bytes a clock hides in the latency of the cache.
const HIDDEN_CLOCKS: f64 = 2.0;

impl<'a, T: Copy + Default> LoadStorePath<'a, T> {
    pub(super) fn new(
        launch: &Launch,
        parameters: &'a Parameters,
        ports: Ports,
        accounts: bool,
    ) -> Self {
        let (memory, load_store) = (&parameters.memory, &parameters.load_store);
        Self {
            entries: vec![Entry::default(); parameters.issue.sub_partitions.max(1) as usize],
            port: Stage::default(),
            data: Stage::default(),
            constants: Stage::default(),
            pending: Outgoing::new(load_store.pending_accesses, load_store.pending_sectors),
            stored: Outgoing::new(u32::MAX, load_store.stored_sectors),
            under_way: UnderWay::new(),
            last_store: 0,
            last_store_by: T::default(),
            issuing: T::default(),
            last_update: Event::default(),
            held: Held::default(),
            accounts,
            ports,
            partitions: Partitions::default(),
            parameters: load_store,
            dram_writes_per_store: launch.dram_writes_per_store,
            l2: (
                memory.l2_latency,
                memory.l2_far_latency,
                memory.memory_latency,
                memory.atomic_latency,
            ),
        }
    }

    /// The clock at which the L2 has taken all stores so far.
    pub(super) fn last_store(&self) -> u64 {
        self.last_store
    }

    /// The access after which the L2 has taken all stores so far.
    pub(super) fn last_store_by(&self) -> T {
        self.last_store_by
    }

    /// The L2 has taken another store at a clock.
    fn note_store(&mut self, done: u64) {
        if done > self.last_store {
            (self.last_store, self.last_store_by) = (done, self.issuing);
        }
    }

    /// The clock at which the data path has served everything taken so far.
    pub(super) fn data_backlog(&self) -> f64 {
        self.data.backlog
    }

    /// The clock at which the last instruction of a sub-core leaves its queue.
    pub(super) fn leaves_queue(&self, sub_core: usize) -> Option<u64> {
        self.entries[sub_core].leaving.back().copied()
    }

    /// Clocks that the atomic which ends last waits for the L2, if nothing else ends later.
    pub(super) fn queued_at_end(&self) -> f64 {
        let [_, l2, _] = self.last_update.waits;
        if self.last_update.done == self.last_store { l2 } else { 0.0 }
    }

    /// The way to the memory, and what that has worked for it.
    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// What keeps the path where a queue is full.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// The clock from which a sub-core's queue takes the next instruction.
    pub(super) fn free_at(&self, sub_core: usize) -> u64 {
        let leaving = &self.entries[sub_core].leaving;
        let places = self.parameters.memory_queue as usize + 1;
        if leaving.len() < places { 0 } else { leaving[leaving.len() - places] }
    }

    /// Takes an instruction through queue, address stage and port. Returns the clock at which the
    /// port takes it and the clocks that it waited.
    fn enter(&mut self, sub_core: usize, now: u64, is_uniform: bool) -> (f64, f64) {
        let interval = if is_uniform {
            self.parameters.uniform_address_interval
        } else {
            self.parameters.address_interval
        };
        let entry = &mut self.entries[sub_core];
        let unloaded = time_of(now) + ENTRY_CLOCKS + interval;
        let addressed = (entry.address_free + interval).max(unloaded);
        // The port takes no more than the stage behind it holds.
        let accepted = addressed.max(self.data.backlog - BUFFERED_CLOCKS);
        let taken = self.port.take(time_of(now), accepted, self.parameters.port_interval);
        entry.address_free = taken;
        entry.leaving.push_back(clock_at(taken));
        if entry.leaving.len() > self.parameters.memory_queue as usize + 1 {
            entry.leaving.pop_front();
        }
        (taken, taken - unloaded)
    }

    /// Takes a fence, which follows the accesses before it through the path. Returns the clocks
    /// that it waits there.
    pub(super) fn fence(&mut self, sub_core: usize, now: u64) -> f64 {
        let (taken, waited) = self.enter(sub_core, now, true);
        let begun = self.data.take(time_of(now), taken, 1.0);
        waited + (begun - taken)
    }

    /// Takes a shuffle, which needs the port and a pass.
    pub(super) fn shuffle(&mut self, sub_core: usize, now: u64) -> Way<T> {
        let (taken, waited) = self.enter(sub_core, now, true);
        let begun = self.data.take(time_of(now), taken, 1.0);
        let span = self.parameters.shuffle_latency + waited + (begun - taken);
        self.way(now, span, [waited + begun - taken, 0.0, 0.0], State::ShortScoreboard)
    }

    /// The way of an access with nothing but its addresses to read, which waited for the port.
    fn way_in(
        &self,
        (now, waited): (u64, f64),
        span: f64,
        waits: [f64; 3],
        latency: State,
    ) -> Way<T> {
        let way = self.way(now, span, waits, latency);
        Way { operands: self.operands(now, waited), ..way }
    }

    /// The clock from which operands may be overwritten that have waited.
    fn operands(&self, now: u64, waited: f64) -> u64 {
        now + clock_at(self.parameters.operand_latency + waited)
    }

    fn way(&self, now: u64, span: f64, waits: [f64; 3], latency: State) -> Way<T> {
        let done = clock_at(time_of(now) + span);
        let operands = self.operands(now, waits[0]);
        let by = self.issuing;
        Way { result: Event { done, span, waits, latency: Some(latency), by }, operands }
    }

    /// Takes an access. `request` is what was recorded for it: `None`, or one without
    /// lanes, if no lane takes part.
    pub(super) fn access(
        &mut self,
        asker: Asker,
        now: u64,
        access: &MemoryAccess,
        request: Option<&Request>,
        memory: &mut MemorySystem<'_>,
    ) -> Way<T> {
        let sub_core = asker.sub_core;
        let spilled =
            (access.space == Space::Local && access.queue.is_none()).then(|| spill(access.bytes));
        let request = request.filter(|request| request.lanes > 0).or(spilled.as_ref());
        let Some(request) = request else {
            let entered = self.enter(sub_core, now, true);
            if access.space == Space::Constant {
                // What the launch brings is not recorded: a warp reads it at one address.
                let passes = u16::from(access.queue.is_none());
                return self.constant(now, entered, passes);
            }
            let (_, waited) = entered;
            let latency = self.parameters.shared_latency;
            return self.way(now, latency + waited, [waited, 0.0, 0.0], State::ShortScoreboard);
        };
        let space = if access.space == Space::Generic { request.space } else { access.space };
        match space {
            Space::Constant => {
                let entered = self.enter(sub_core, now, true);
                self.constant(now, entered, request.passes.max(1))
            }
            Space::Shared => self.shared(sub_core, now, access, request),
            Space::Global | Space::Local | Space::Generic => {
                self.cached(asker, now, access, request, memory)
            }
        }
    }

    /// Takes a load of constants that has entered, for each address a pass.
    fn constant(&mut self, now: u64, (taken, waited): (f64, f64), passes: u16) -> Way<T> {
        let interval = self.parameters.constant_interval;
        let busy = f64::from(passes) * interval;
        let begun = self.constants.take(time_of(now), taken, busy);
        let waits = waited + (begun - taken) + (busy - interval).max(0.0);
        let span = self.parameters.constant_latency + waits;
        self.way_in((now, waited), span, [waits, 0.0, 0.0], State::ShortScoreboard)
    }

    fn shared(
        &mut self,
        sub_core: usize,
        now: u64,
        access: &MemoryAccess,
        request: &Request,
    ) -> Way<T> {
        let (taken, waited) = self.enter(sub_core, now, true);
        let parameters = self.parameters;
        let busy = parameters.shared_clocks(access, request);
        if self.accounts {
            self.held.by_shared(busy);
        }
        let begun = self.data.take(time_of(now), taken, busy);
        let waits = waited + (begun - taken) + (busy - HIDDEN_CLOCKS).max(0.0);
        let span = parameters.shared_latency + waits;
        let waits = [waits, 0.0, 0.0];
        match access.kind {
            AccessKind::Load => self.way_in((now, waited), span, waits, State::ShortScoreboard),
            _ => self.way(now, span, waits, State::ShortScoreboard),
        }
    }

    fn cached(
        &mut self,
        Asker { sub_core, cta, fetched_since }: Asker,
        now: u64,
        access: &MemoryAccess,
        request: &Request,
        memory: &mut MemorySystem<'_>,
    ) -> Way<T> {
        let (taken, waited) = self.enter(sub_core, now, access.has_uniform_address);
        let parameters = self.parameters;
        let loads = matches!(
            access.kind,
            AccessKind::Load | AccessKind::AsyncCopy { .. } | AccessKind::BulkCopy
        );
        let missed = u32::from(request.l2_sectors) + u32::from(request.dram_sectors);
        let in_table = if access.kind.bypasses_l1() { 0 } else { missed };
        let stores = access.kind == AccessKind::Store;
        let outgoing = if stores { missed + u32::from(request.l1_sectors) } else { missed };
        let sectors = f64::from(missed) + f64::from(request.l1_sectors);
        let busy = parameters.global_clocks(access, request);
        let mut begun = self.data.take(time_of(now), taken, busy);
        let mut stood = 0.0;
        if outgoing > 0 {
            let from = if stores {
                self.stored.room(begun, outgoing)
            } else if loads && access.kind != AccessKind::BulkCopy {
                self.pending.room(begun, in_table)
            } else {
                begun
            };
            if from > begun {
                // What follows in the path waits, too.
                stood = from - begun;
                begun = from;
                self.data.backlog = self.data.backlog.max(begun + busy);
            }
        }
        let own = waited + (begun - taken) + (busy - HIDDEN_CLOCKS).max(0.0);
        let (l2_latency, l2_far, dram_latency, atomic_latency) = self.l2;
        let reaches_l2 = request.l2_sectors > 0 || !loads;
        let far = if reaches_l2 && self.partitions.is_far(request) { l2_far } else { 0.0 };
        let way = match access.kind {
            AccessKind::Load | AccessKind::AsyncCopy { .. } | AccessKind::BulkCopy => {
                let (latency, state, waits) = if missed == 0 {
                    (parameters.l1_latency, State::L1Latency, Default::default())
                } else {
                    let l2 = f64::from(request.l2_sectors);
                    let dram = f64::from(request.dram_sectors);
                    let requests = request.to_l2(access.kind);
                    let ports = &mut self.ports;
                    let mut waits = memory.load(ports, time_of(now), begun, (l2, dram), requests);
                    if request.dram_sectors > 0 {
                        (dram_latency, State::DramLatency, waits)
                    } else if let Some(rest) = fetched_since
                        .map(|since| memory.delivery(time_of(now)) - f64::from(since))
                        .filter(|rest| *rest > l2_latency + far)
                    {
                        waits.dram = (rest - dram_latency).max(0.0);
                        (rest.min(dram_latency), State::DramLatency, waits)
                    } else {
                        (l2_latency + far, State::L2Latency, waits)
                    }
                };
                let span = latency + own + waits.l2 + waits.dram;
                let waits = [own, waits.l2, waits.dram];
                let mut way = self.way_in((now, waited), span, waits, state);
                if missed > 0 {
                    // Bulk copies go past the first-level cache and its tables.
                    if access.kind != AccessKind::BulkCopy {
                        self.pending.push(way.result.done, in_table);
                    }
                    self.under_way.fetch(cta, request, way.result);
                } else if let Some(fetch) = self.under_way.arrival(cta, request, way.result.done) {
                    way.result = fetch;
                }
                way
            }
            AccessKind::Store => {
                let dram = sectors * self.dram_writes_per_store;
                let stored = (sectors, whole_sectors(access, request, sectors), dram);
                let waits = memory.store(&mut self.ports, time_of(now), begun, stored);
                // Nobody waits for a store, but its data takes room until the L2 has it.
                let taken = clock_at(begun + busy + waits.by_rate);
                self.stored.push(taken, outgoing);
                self.note_store(taken);
                if self.accounts {
                    let waits = [own, waits.l2, waits.dram];
                    let kept = Event { waits, ..Event::<T>::default() };
                    self.held.by_global(busy, stood, &kept);
                }
                let span = own + parameters.operand_latency;
                return self.way(now, span, [own, 0.0, 0.0], State::L1Latency);
            }
            AccessKind::BulkStore => {
                // Its data is read from shared memory when the L2 takes it, past the path's tables.
                let dram = sectors * self.dram_writes_per_store;
                let stored = (sectors, sectors, dram);
                let waits = memory.store(&mut self.ports, time_of(now), begun, stored);
                let span = own + waits.by_rate;
                let way = self.way(now, span, [own, waits.l2, waits.dram], State::L2Latency);
                self.note_store(way.result.done);
                way
            }
            AccessKind::Atomic | AccessKind::Reduction | AccessKind::BulkReduction => {
                let of_cta = (cta, request);
                let ports = &mut self.ports;
                let waits = memory.update(ports, time_of(now), begun, sectors, of_cta);
                let span = l2_latency + atomic_latency + far + own + waits.l2;
                let way = self.way(now, span, [own, waits.l2, 0.0], State::L2Latency);
                if way.result.done > self.last_update.done {
                    self.last_update = way.result;
                }
                self.note_store(way.result.done);
                way
            }
        };
        if self.accounts {
            self.held.by_global(busy, stood, &way.result);
        }
        way
    }
}

/// Accesses that are under way between the SM and the L2, up to a limit.
#[derive(Clone, Debug)]
struct Outgoing {
    /// Ends and sectors of accesses.
    until: BinaryHeap<Reverse<(u64, u32)>>,
    sectors: u32,
    most_accesses: usize,
    most_sectors: u32,
}

impl Outgoing {
    fn new(accesses: u32, sectors: u32) -> Self {
        Self {
            until: BinaryHeap::new(),
            sectors: 0,
            most_accesses: accesses.max(1) as usize,
            most_sectors: sectors,
        }
    }

    fn push(&mut self, until: u64, sectors: u32) {
        self.until.push(Reverse((until, sectors)));
        self.sectors += sectors;
    }

    /// The clock, not before `now`, from which there is room for an access of `sectors`.
    fn room(&mut self, now: f64, sectors: u32) -> f64 {
        let mut from = now;
        let most = self.most_sectors.saturating_sub(sectors);
        while let Some(&Reverse((until, held))) = self.until.peek() {
            let is_full = self.until.len() >= self.most_accesses || self.sectors > most;
            if until as f64 > from && !is_full {
                break;
            }
            from = from.max(until as f64);
            self.until.pop();
            self.sectors -= held;
        }
        from
    }
}

/// The partitions of an L2, between which an address decides.
///
/// Vendors publish no hash. This one divides two neighbours, and so any run of lines. Of lines that
/// lie further apart, multiples of the golden section divide pairs of neighbours evenly.
#[derive(Clone, Copy, Debug, Default)]
struct Partitions {
    /// Requests so far whose address is not known. They count as consecutive lines.
    unknown: u32,
}

impl Partitions {
    /// True if the line that a request begins with is in the partition farther away.
    fn is_far(&mut self, request: &Request) -> bool {
        let line = match request.first_sector {
            Some(sector) => sector / SECTORS_OF_LINE,
            None => {
                self.unknown = self.unknown.wrapping_add(1);
                self.unknown
            }
        };
        let pair = (line >> 1).wrapping_mul(GOLDEN) >> 31;
        pair ^ (line & 1) == 1
    }
}

/// Sectors of a line.
const SECTORS_OF_LINE: u32 = 4;

/// The fraction of the golden section times 2³².
const GOLDEN: u32 = 0x9E37_79B9;

/// The request of a register that the assembler spilled: consecutive words, which the first-level
/// cache holds.
fn spill(bytes: u32) -> Request {
    let sectors = bytes.min(16) as u16;
    Request {
        space: Space::Local,
        lanes: 32,
        lines: sectors.div_ceil(4),
        passes: sectors.div_ceil(4),
        serial: 1,
        is_paired: false,
        l1_sectors: sectors,
        l2_sectors: 0,
        dram_sectors: 0,
        fetched_ago: None,
        first_sector: None,
        beside: Beside::Nothing,
    }
}
