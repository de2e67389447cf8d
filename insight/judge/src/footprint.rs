//! Elements of buffers that a kernel reads and writes, and those that several CTAs use without an
//! order.
//!
//! The sanitizer checks shared memory. Here are the races between CTAs in global memory: one writes
//! an element by a plain store, and another one uses it. What two CTAs do is ordered if one makes a
//! strong access behind its use, such as an atomic, and the other one makes such an access before.
//! That is how grids count blocks that have arrived; whether a fence is missing there is not asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_forecast::input::plan::Plan;
use gpucast_interpreter::{
    Access, AccessKind, CtaStart, DeviceMemory, Observer, Pattern, Program, Recorder,
};
use gpucast_ptx_frontend::isa::Modifier as M;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_sanitizer::Site;

/// Elements beyond this are not looked at: a cell of each takes 20 bytes.
const MOST_ELEMENTS: usize = 1 << 25;

/// What a run did with the buffers of a plan.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// By address.
    buffers: Vec<Tracked>,
    /// The number of the launch that runs, from 1 on.
    launch: u32,
    conflicts: BTreeMap<(usize, u32, u32), Conflict>,
}

#[derive(Clone, Debug)]
struct Tracked {
    /// Its place in the plan.
    index: usize,
    address: u64,
    element: u64,
    /// Elements that are looked at; none of a buffer that is too large.
    len: usize,
    /// A cell for each of them, once one is used: an observer that has heard of nothing is copied.
    cells: Vec<Cell>,
}

/// The uses of an element.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The CTA that wrote last, plus one.
    writer: u32,
    /// The CTA that read last, plus one.
    reader: u32,
    /// What the writer's instruction was.
    instruction: u32,
    /// A digest of what was written.
    digest: u32,
    uses: u8,
    /// The launch that `writer` and `reader` are of, by its number modulo [`EPOCHS`], plus one.
    epoch: u8,
}

/// Launches after which cells forget who used them.
const EPOCHS: u32 = u8::MAX as u32;

const READ: u8 = 1;
const WRITTEN: u8 = 2;
/// The writer makes a strong access behind its write, or the reader behind its read.
const WRITE_PUBLISHED: u8 = 4;
const READ_PUBLISHED: u8 = 8;
/// The writer has made a strong access before.
const WRITE_ACQUIRED: u8 = 16;
const READ_ACQUIRED: u8 = 32;
const OF_LAUNCH: u8 = WRITE_PUBLISHED | READ_PUBLISHED | WRITE_ACQUIRED | READ_ACQUIRED;

/// Two CTAs use an element that one of them writes, and nothing orders them.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The kernel.
    pub kernel: String,
    /// The store.
    pub write: Option<Site>,
    /// The other access.
    pub other: Option<Site>,
    /// True if the other access writes, too.
    pub other_writes: bool,
    /// The buffer's place in the plan.
    pub buffer: usize,
    /// The first element.
    pub element: u64,
    /// How often the two instructions met.
    pub count: u64,
}

/// Distinct elements of a buffer that a run used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Elements that were read.
    pub read: u64,
    /// Elements that were written.
    pub written: u64,
}

impl Footprint {
    /// Before the first launch of a plan whose buffers have their addresses.
    #[must_use]
    pub fn new(plan: &Plan, memory: &DeviceMemory) -> Self {
        let mut left = MOST_ELEMENTS;
        let tracked = plan.buffers.iter().enumerate().filter_map(|(index, buffer)| {
            let address = memory.address(&buffer.name)?;
            let len = if buffer.len <= left { buffer.len } else { 0 };
            left -= len;
            let (element, cells) = (buffer.ty.bytes() as u64, Vec::new());
            Some(Tracked { index, address, element, len, cells })
        });
        let mut buffers: Vec<Tracked> = tracked.collect();
        buffers.sort_by_key(|tracked| tracked.address);
        Self { buffers, launch: 0, conflicts: BTreeMap::new() }
    }

    /// The distinct elements of a buffer that were used; `None` for one that is too large.
    #[must_use]
    pub fn used(&self, buffer: usize) -> Option<Used> {
        let tracked = self.buffers.iter().find(|tracked| tracked.index == buffer)?;
        let number = |bit: u8| tracked.cells.iter().filter(|cell| cell.uses & bit != 0).count();
        let used = Used { read: number(READ) as u64, written: number(WRITTEN) as u64 };
        (tracked.len > 0).then_some(used)
    }

    /// Conflicts, one for each buffer and pair of instructions.
    pub fn conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.values()
    }

    /// The next launch begins.
    fn launch(&mut self) {
        self.launch += 1;
        if self.launch.is_multiple_of(EPOCHS) {
            for cell in self.buffers.iter_mut().flat_map(|tracked| &mut tracked.cells) {
                cell.epoch = 0;
            }
        }
    }

    fn tracked_at(&self, address: u64) -> Option<usize> {
        let after = self.buffers.partition_point(|tracked| tracked.address <= address);
        after.checked_sub(1)
    }

    /// An event of a CTA.
    fn use_of(&mut self, event: &Event, digests: &[u32], by: &ByCta<'_>) {
        let Some(at) = self.tracked_at(event.start) else { return };
        let epoch = (self.launch % EPOCHS) as u8 + 1;
        let tracked = &mut self.buffers[at];
        if tracked.cells.is_empty() {
            tracked.cells = vec![Cell::default(); tracked.len];
        }
        let first = (event.start - tracked.address) / tracked.element;
        let behind = (event.start - tracked.address + event.bytes).div_ceil(tracked.element);
        let last = behind.min(tracked.cells.len() as u64);
        let index = tracked.index;
        for element in first..last {
            let cell = &mut tracked.cells[element as usize];
            let digest = match digests {
                [] => 0,
                // An element that a lane's bytes begin before belongs to that lane, too.
                digests => {
                    let place = (tracked.address + element * tracked.element).max(event.start);
                    let lane = (place - event.start) / event.bytes_per_lane;
                    digests.get(lane as usize).copied().unwrap_or_default()
                }
            };
            let Some(met) = cell.meets(event, digest, by, epoch) else { continue };
            let key = (index, met.write, met.other);
            let conflict = || {
                let site = |instruction: u32| by.facts.sites.get(instruction as usize).cloned();
                Conflict {
                    kernel: by.facts.kernel.clone(),
                    write: site(met.write),
                    other: site(met.other),
                    other_writes: met.other_writes,
                    buffer: index,
                    element,
                    count: 0,
                }
            };
            self.conflicts.entry(key).or_insert_with(conflict).count += 1;
        }
    }
}

/// Two instructions whose accesses nothing orders.
struct Met {
    write: u32,
    other: u32,
    other_writes: bool,
}

/// The CTA that an event is of.
struct ByCta<'a> {
    facts: &'a Facts,
    /// The CTA, plus one.
    cta: u32,
    published: bool,
    acquired: bool,
}

impl Cell {
    /// Records a use, and returns the earlier one by another CTA that it is not ordered with.
    fn meets(&mut self, event: &Event, digest: u32, by: &ByCta<'_>, epoch: u8) -> Option<Met> {
        if self.epoch != epoch {
            (self.epoch, self.writer, self.reader) = (epoch, 0, 0);
            self.uses &= !OF_LAUNCH;
        }
        let has = |bit: u8| self.uses & bit != 0;
        let ordered = |published: u8, acquired: u8| {
            (has(published) && by.acquired) || (by.published && has(acquired))
        };
        let is_other = |cta: u32| cta != 0 && cta != by.cta;
        let is_same = event.writes && !event.reads && self.digest == digest;
        let mut met = None;
        if is_other(self.writer) && !is_same && !ordered(WRITE_PUBLISHED, WRITE_ACQUIRED) {
            let (write, other, other_writes) = (self.instruction, event.instruction, event.writes);
            met = Some(Met { write, other, other_writes });
        } else if event.writes
            && !event.strong
            && is_other(self.reader)
            && !ordered(READ_PUBLISHED, READ_ACQUIRED)
        {
            let write = event.instruction;
            met = Some(Met { write, other: u32::MAX, other_writes: false });
        }
        let flags = |published: u8, acquired: u8| {
            (u8::from(by.published) * published) | (u8::from(by.acquired) * acquired)
        };
        if event.reads {
            self.reader = by.cta;
            self.uses &= !(READ_PUBLISHED | READ_ACQUIRED);
            self.uses |= READ | flags(READ_PUBLISHED, READ_ACQUIRED);
        }
        if event.writes {
            self.uses |= WRITTEN;
        }
        if event.writes && !event.strong {
            (self.writer, self.instruction) = (by.cta, event.instruction);
            self.digest = digest;
            self.uses &= !(WRITE_PUBLISHED | WRITE_ACQUIRED);
            self.uses |= flags(WRITE_PUBLISHED, WRITE_ACQUIRED);
        }
        met
    }
}

/// Facts about a launch's program.
#[derive(Debug)]
struct Facts {
    kernel: String,
    sites: Vec<Site>,
    strong: Vec<bool>,
}

/// Watches one launch.
#[derive(Debug)]
pub struct FootprintObserver {
    facts: Arc<Facts>,
    /// What is known so far.
    pub footprint: Footprint,
}

impl FootprintObserver {
    /// For the next launch.
    #[must_use]
    pub fn new(mut footprint: Footprint, program: &Program) -> Self {
        footprint.launch();
        let strong = [M::Volatile, M::Relaxed, M::Acquire, M::Release, M::AcqRel, M::Mmio, M::Sc];
        let instructions = program.instructions().iter();
        let facts = Facts {
            kernel: program.kernel().to_owned(),
            sites: instructions
                .clone()
                .map(|one| Site {
                    line: one.line,
                    span: one.instruction.span,
                    location: one.instruction.location,
                })
                .collect(),
            strong: instructions
                .map(|one| strong.into_iter().any(|modifier| one.instruction.has(modifier)))
                .collect(),
        };
        Self { facts: Arc::new(facts), footprint }
    }
}

impl Observer for FootprintObserver {
    type Recorder = CtaUses;

    const WANTS_VALUES: bool = true;

    fn recorder(&self, _program: &Program) -> CtaUses {
        let facts = Arc::clone(&self.facts);
        CtaUses {
            facts,
            cta: 0,
            events: Vec::new(),
            digests: Vec::new(),
            storing: [0; 32],
            strong: Vec::new(),
        }
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut CtaUses]) {
        for recorder in recorders {
            let (first, last) = (recorder.strong.first(), recorder.strong.last());
            let (first, last) = (first.copied(), last.copied());
            let facts = &Arc::clone(&self.facts);
            for (at, event) in recorder.events.iter().enumerate() {
                let published = last.is_some_and(|last| last >= at);
                let acquired = first.is_some_and(|first| first <= at);
                let by = ByCta { facts, cta: recorder.cta, published, acquired };
                let digests = event.digests as usize..(event.digests + event.lanes) as usize;
                let digests = recorder.digests.get(digests).unwrap_or_default();
                self.footprint.use_of(event, digests, &by);
            }
            recorder.events.clear();
            recorder.digests.clear();
            recorder.strong.clear();
        }
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut CtaUses]) {
        self.collect(first_cta, recorders);
    }

    fn fresh(&self) -> Self {
        Self { facts: Arc::clone(&self.facts), footprint: self.footprint.clone() }
    }
}

/// A use of consecutive bytes by one instruction.
#[derive(Clone, Copy, Debug)]
struct Event {
    start: u64,
    bytes: u64,
    bytes_per_lane: u64,
    instruction: u32,
    /// Where the digests of a store begin, and how many there are.
    digests: u32,
    lanes: u32,
    reads: bool,
    writes: bool,
    strong: bool,
}

/// The uses of one CTA in their order.
#[derive(Debug)]
pub struct CtaUses {
    facts: Arc<Facts>,
    /// The CTA, plus one.
    cta: u32,
    events: Vec<Event>,
    /// Those of all stores.
    digests: Vec<u32>,
    /// Those of the store that comes next.
    storing: [u32; 32],
    /// The events that are strong accesses.
    strong: Vec<usize>,
}

impl Recorder for CtaUses {
    fn start(&mut self, start: &CtaStart) {
        self.cta = start.cta as u32 + 1;
    }

    fn storing(&mut self, digests: &[u32; 32]) {
        self.storing = *digests;
    }

    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        if access.space != StateSpace::Global {
            return;
        }
        let bytes = u64::from(access.bytes_per_lane);
        let is_atomic = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let marked = self.facts.strong.get(access.instruction as usize).copied();
        let strong = is_atomic || marked.unwrap_or_default();
        let event = Event {
            start: access.addresses[0],
            bytes,
            bytes_per_lane: bytes,
            instruction: access.instruction,
            digests: self.digests.len() as u32,
            lanes: 0,
            reads: access.kind != AccessKind::Store,
            writes: !matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly),
            strong,
        };
        if strong {
            self.strong.push(self.events.len());
        }
        match access.pattern {
            Pattern::Uniform if !event.writes => self.events.push(event),
            Pattern::Consecutive => {
                let lanes = if event.writes { 32 } else { 0 };
                self.digests.extend(&self.storing[..lanes]);
                self.events.push(Event { bytes: 32 * bytes, lanes: lanes as u32, ..event });
            }
            Pattern::Uniform | Pattern::General => {
                for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
                    let is_uniform = access.pattern == Pattern::Uniform;
                    let start = access.addresses[if is_uniform { 0 } else { lane }];
                    let (digests, lanes) = (self.digests.len() as u32, u32::from(event.writes));
                    self.digests.extend(&self.storing[lane..lane + lanes as usize]);
                    self.events.push(Event { start, digests, lanes, ..event });
                }
            }
        }
    }
}
