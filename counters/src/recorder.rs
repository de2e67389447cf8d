//! Counts the events of one CTA, or of several where only sums are asked for.
//!
//! The methods run inside the interpreter's inner loop. A block costs two additions. An access
//! whose lanes share an address or are consecutive is counted without looking at the lanes. Of
//! accesses that are alike the interpreter tells their number, and for caches their addresses.

mod remembered;
mod stand_in;

use std::num::NonZeroU64;
use std::sync::Arc;

use gpucast_interpreter::{
    ALIKE_BYTES, Access, AccessKind, Arrival, CtaStart, Further, FurtherAccess, MbarrierUse,
    Pattern, Recorder, Release, TensorMemoryUse, TensorUse,
};
use gpucast_ptx_frontend::types::StateSpace;

use crate::banks::{BankGeometry, BankPasses, Banks, come_in_pairs};
use crate::coalescing::{Coalescer, Coalescing, LINE_BYTES, LineTouch, Moved};
use crate::counts::{BlockCount, BranchCounts, MemoryCounts, WIDER_BYTES, WiderPasses};
use crate::hierarchy::{CtaStream, Demand, PackedTouch, Request};
use crate::patterns::{Spread, lane_addresses};
use crate::row_key::RowKey;
use crate::sparse::SparseRows;
use crate::tensor::{ProductCounts, TensorFormat};
use crate::trace::{CtaSample, CtaTracer, Served, TracePlan};
use remembered::{Lines, RememberedLines, RememberedPasses};
use smallvec::SmallVec;

/// The model that answers for accesses to a state space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    /// Global memory and textures: lines and sectors, to the L2.
    Global,
    /// Local memory: the same, but interleaved by thread.
    Local,
    /// Shared memory: banks.
    Shared,
    /// Constants and parameters: one address per pass, no traffic. Their caches hold some KB per
    /// SM. Their misses are far fewer than the sectors that loads and stores move.
    Constant,
}

impl Path {
    fn of(space: StateSpace) -> Self {
        match space {
            StateSpace::Global | StateSpace::Tex => Self::Global,
            StateSpace::Local => Self::Local,
            StateSpace::Shared => Self::Shared,
            StateSpace::Const | StateSpace::Param | StateSpace::Reg | StateSpace::Sreg => {
                Self::Constant
            }
        }
    }
}

/// The path of an instruction's accesses, as far as it is known before the instruction runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Its loads of global memory go past first-level caches:
    /// [`crate::cache_operators::past_first_level`].
    pub past_l1: bool,
    /// Machine code keeps the local memory that it accesses in registers: no cache sees it.
    pub local_in_registers: bool,
    /// The widths of [`WIDER_BYTES`] that machine code has of its accesses to shared memory.
    pub wider: [bool; WIDER_BYTES.len()],
}

impl Route {
    /// True if machine code makes an access to shared memory part of a wider one.
    fn is_joined(&self) -> bool {
        self.wider.contains(&true)
    }
}

/// The most lines of a CTA that others are like: they share its requests. With the distances of
/// the next CTAs these are 64 MB for a class.
const LINES_OF_CLASS: usize = 1 << 20;

/// Sizes and parameters of a recorder.
#[derive(Clone, Debug)]
pub struct RecorderShape {
    /// The route of each static instruction of the program.
    pub routes: Arc<[Route]>,
    /// Basic blocks of the program.
    pub blocks: usize,
    /// Guarded instructions of the program.
    pub guarded: usize,
    /// The rules by which accesses to device memory are coalesced.
    pub coalescing: Coalescing,
    /// The banks of shared memory.
    pub banks: BankGeometry,
    /// Lanes that share a request to constant memory.
    pub constant_lanes: u32,
    /// Lines of requests to the L2 that are kept for one CTA.
    pub stream_limit: usize,
    /// The order of events to record besides the counts.
    pub trace: Option<Arc<TracePlan>>,
}

/// The counts of one CTA, or of several.
#[derive(Clone, Debug)]
pub struct CtaRecorder {
    /// The executions of each block. With a trace they stand in `tracer` and this is empty, so that
    /// counting alone need not ask.
    blocks: Vec<BlockCount<u64>>,
    pub(crate) tracer: Option<Box<CtaTracer>>,
    /// The record of this CTA, if it is to have one.
    pub(crate) sample: Option<Box<CtaSample>>,
    pub(crate) guarded_lanes: Vec<u64>,
    pub(crate) branches: SparseRows<BranchCounts<u64>>,
    pub(crate) memory: SparseRows<MemoryCounts<u64>>,
    /// Operations of products, by [`ProductCounts::key`].
    pub(crate) products: SparseRows<u64>,
    pub(crate) stream: CtaStream,
    /// Lines that are kept of a CTA, unless others are like it or every event of it is recorded.
    stream_limit: usize,
    routes: Arc<[Route]>,
    coalescer: Coalescer,
    banks: Banks,
    /// The banks of a first-level cache.
    cache_banks: Banks,
    constant_lanes: u32,
    /// The passes of accesses to shared memory, by instruction; they outlive the CTA.
    shared: SparseRows<RememberedPasses<BankPasses>>,
    /// Those that they take as parts of wider ones, likewise.
    wider: SparseRows<RememberedPasses<[WiderPasses<u64>; WIDER_BYTES.len()]>>,
    /// The lines of accesses to global memory, likewise.
    global: SparseRows<RememberedLines>,
    /// What accesses added that others are like, by slot.
    alike: Vec<Alike>,
}

impl CtaRecorder {
    /// A recorder that has seen nothing.
    #[must_use]
    pub fn new(shape: &RecorderShape) -> Self {
        let tracer = shape.trace.as_ref().map(|plan| Box::new(CtaTracer::new(Arc::clone(plan))));
        let blocks = if tracer.is_some() { 0 } else { shape.blocks };
        Self {
            blocks: vec![BlockCount::default(); blocks],
            tracer,
            sample: None,
            guarded_lanes: vec![0; shape.guarded],
            branches: SparseRows::new(shape.routes.len()),
            memory: SparseRows::new(RowKey::rows(shape.routes.len())),
            products: SparseRows::new(0),
            stream: CtaStream::new(shape.stream_limit),
            stream_limit: shape.stream_limit,
            routes: Arc::clone(&shape.routes),
            coalescer: Coalescer::new(shape.coalescing),
            banks: Banks::new(shape.banks),
            cache_banks: Banks::new(BankGeometry::CAPABILITY_2),
            constant_lanes: shape.constant_lanes,
            shared: SparseRows::new(shape.routes.len()),
            wider: SparseRows::new(0),
            global: SparseRows::new(shape.routes.len()),
            alike: Vec::new(),
        }
    }

    /// Forgets everything that it was told.
    pub fn clear(&mut self) {
        self.blocks.fill(BlockCount::default());
        if let Some(tracer) = &mut self.tracer {
            tracer.clear();
        }
        self.sample = None;
        self.guarded_lanes.fill(0);
        self.branches.clear();
        self.memory.clear();
        self.products.clear();
        self.stream.clear();
        self.alike.clear();
    }

    /// Lines that are kept of one of few CTAs; none without caches.
    fn wide_limit(&self) -> usize {
        if self.stream_limit == 0 { 0 } else { self.stream_limit.max(LINES_OF_CLASS) }
    }

    /// The executions of each block so far.
    pub(crate) fn block_counts(&self) -> &[BlockCount<u64>] {
        self.tracer.as_ref().map_or(&self.blocks, |tracer| tracer.blocks())
    }

    /// Counts a block of a CTA that is traced.
    // As a call, it does not make the counting of other CTAs larger.
    #[inline(never)]
    fn traced_block(&mut self, warp: u32, block: u32, mask: u32) {
        if let Some(tracer) = &mut self.tracer {
            tracer.block(warp, block, mask, self.sample.as_mut());
        }
    }

    /// Records an access of a CTA of which every event is recorded.
    #[inline(never)]
    fn record(&mut self, access: &Access<'_>, moved: Moved, passes: BankPasses) {
        let Some(sample) = &mut self.sample else { return };
        let is_replayed = !sample.misses_lines(&self.stream);
        let lines = match Path::of(access.space) {
            _ if moved.sectors == 0 => 0,
            _ if is_replayed => self.stream.last_lines(),
            path => {
                let mut lines = 0;
                let count = |_| lines += 1;
                match path {
                    Path::Local => self.coalescer.local(access, count),
                    _ => self.coalescer.global(access, false, count),
                };
                lines
            }
        };
        let updates = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let served = Served {
            row: RowKey::new(access.instruction, access.space, access.kind),
            sectors: moved.sectors,
            lines,
            passes: passes.passes,
            serial: if updates { update_steps(access) } else { 1 },
            is_paired: match (access.pattern, access.mask) {
                (Pattern::Uniform, _) => true,
                (Pattern::Consecutive, u32::MAX) => false,
                _ => come_in_pairs(access.mask, lane_addresses(access, &mut [0; 32])),
            },
            is_replayed,
        };
        if let Some(row) = sample.access(access, &served) {
            self.stream.relabel_last(row);
        }
    }

    /// The requests to the caches so far.
    #[must_use]
    pub fn stream(&self) -> &CtaStream {
        &self.stream
    }

    /// Queues an access to global or local memory for the L2. Returns the sectors that it moves and
    /// the passes that it takes over the banks of a first-level cache.
    fn device_memory(&mut self, access: &Access<'_>, row: u32, local: bool) -> (Moved, BankPasses) {
        let past_l1 = self.routes[access.instruction as usize].past_l1;
        let (moved, passes) = match remembered::distances(access) {
            Some(id) if !local && self.coalescer.is_by_lines() => {
                self.remembered_lines(access, id, past_l1)
            }
            _ => {
                let stream = &mut self.stream;
                let send = |touch| stream.push(touch);
                let moved = if local {
                    self.coalescer.local(access, send)
                } else {
                    self.coalescer.global(access, past_l1, send)
                };
                let passes = self.cache_passes(access, past_l1);
                (moved, passes)
            }
        };
        self.stream.close(Request::new(access.time, access.warp, row, demand(access, past_l1)));
        (moved, passes)
    }

    /// An access to global memory whose distances have the number `id`. All that is counted is the
    /// same wherever the first lane is in its line.
    fn remembered_lines(
        &mut self,
        access: &Access<'_>,
        id: NonZeroU64,
        past_l1: bool,
    ) -> (Moved, BankPasses) {
        let first = access.addresses[0];
        let (line, byte) = (first / LINE_BYTES, first % LINE_BYTES);
        let known = self.global.row(access.instruction).of(id, byte);
        if known.is_none() {
            let mut lines = Lines::new();
            let moved = self.coalescer.global(access, past_l1, |touch| {
                lines.push(LineTouch { line: touch.line.wrapping_sub(line), ..touch });
            });
            let passes = self.cache_passes(access, past_l1);
            self.global.row(access.instruction).learn(id, byte, (lines, moved, passes));
        }
        let Some(known) = self.global.row(access.instruction).of(id, byte) else {
            return (Moved::default(), BankPasses::default());
        };
        for touch in &known.lines {
            self.stream.push(LineTouch { line: touch.line.wrapping_add(line), ..*touch });
        }
        (known.moved, known.passes)
    }

    /// The passes of an access over the banks of shared memory.
    #[inline]
    fn shared_passes(&mut self, access: &Access<'_>) -> BankPasses {
        let distances = access.distances.filter(|_| access.pattern == Pattern::General);
        let (Some(id), Some(period)) = (distances, self.banks.period()) else {
            return self.banks.passes(access);
        };
        let byte = access.addresses[0] & (period - 1);
        let remembered = self.shared.row(access.instruction);
        match remembered.of(id, byte) {
            Some(passes) => passes,
            None => {
                let passes = self.banks.passes(access);
                remembered.learn(id, byte, passes);
                passes
            }
        }
    }

    /// The passes of the wider accesses that machine code makes of an access to shared memory.
    #[inline(never)]
    fn wider_passes(&mut self, access: &Access<'_>) -> [WiderPasses<u64>; WIDER_BYTES.len()] {
        let distances = remembered::distances(access).zip(self.banks.period());
        let place = distances.map(|(id, period)| (id, access.addresses[0] & (period - 1)));
        if let Some((id, byte)) = place
            && let Some(passes) = self.wider.row(access.instruction).of(id, byte)
        {
            return passes;
        }
        let route = self.routes[access.instruction as usize];
        let mut addresses = [0; 32];
        let lanes = *lane_addresses(access, &mut addresses);
        let mut passes = [WiderPasses::default(); WIDER_BYTES.len()];
        let widths = WIDER_BYTES.into_iter().zip(route.wider);
        for (passes, (bytes, _)) in
            passes.iter_mut().zip(widths).filter(|(_, (_, is_made))| *is_made)
        {
            let window = lanes.map(|address| address & !u64::from(bytes - 1));
            let wide = Access {
                bytes_per_lane: bytes,
                pattern: Pattern::General,
                addresses: &window,
                ..*access
            };
            let BankPasses { passes: all, conflict_free } = self.banks.passes(&wide);
            *passes = WiderPasses { passes: all.into(), conflict_free: conflict_free.into() };
        }
        if let Some((id, byte)) = place {
            self.wider.row(access.instruction).learn(id, byte, passes);
        }
        passes
    }

    /// The passes of an access over the banks of a first-level cache that it does not go past, as
    /// bulk copies always do. Textures have banks of their own.
    fn cache_passes(&self, access: &Access<'_>, past_l1: bool) -> BankPasses {
        let is_load = matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
        if past_l1
            || access.space != StateSpace::Global
            || !is_load
            || access.bytes_per_lane > WIDEST_LOAD
        {
            return BankPasses::default();
        }
        if access.pattern == Pattern::Uniform {
            return BankPasses { passes: 1, conflict_free: 1 };
        }
        self.cache_banks.passes(access)
    }

    /// Returns true if machine code makes no request for the local memory that an instruction
    /// accesses.
    fn is_in_registers(&self, instruction: u32) -> bool {
        self.routes[instruction as usize].local_in_registers
    }

    /// Requests to constant memory are done one address at a time.
    #[inline]
    fn constant(&self, access: &Access<'_>) -> BankPasses {
        if access.pattern == Pattern::Uniform && self.constant_lanes == 32 {
            return BankPasses { passes: 1, conflict_free: 1 };
        }
        constant_passes(access, self.constant_lanes)
    }
}

/// Lanes of a mask. Most warps are whole, and baseline x86-64 counts bits in a dozen instructions.
#[inline]
fn lane_count(mask: u32) -> u64 {
    if mask == u32::MAX { 32 } else { mask.count_ones().into() }
}

/// Bytes of a lane's widest load that is no bulk copy.
const WIDEST_LOAD: u32 = 32;

/// The demand of an access to global or local memory on the caches.
fn demand(access: &Access<'_>, past_l1: bool) -> Demand {
    match (access.space, access.kind) {
        (StateSpace::Global, AccessKind::Load) if past_l1 => Demand::LoadPastL1,
        (StateSpace::Local, AccessKind::Load | AccessKind::LoadReadOnly) => Demand::LocalLoad,
        (StateSpace::Local, AccessKind::Store) => Demand::LocalStore,
        (StateSpace::Tex, AccessKind::Load) | (_, AccessKind::LoadReadOnly) => Demand::LoadReadOnly,
        (_, AccessKind::Load) => Demand::Load,
        (_, AccessKind::Store) => Demand::Store,
        (_, AccessKind::Atomic | AccessKind::Reduction) => Demand::Update,
    }
}

/// The distinct addresses of each request of `lanes` lanes.
fn constant_passes(access: &Access<'_>, lanes: u32) -> BankPasses {
    let mut room = [0; 32];
    let addresses = lane_addresses(access, &mut room);
    let of_request = u32::MAX >> (32 - lanes.clamp(1, 32));
    let mut result = BankPasses::default();
    for first in (0..32).step_by(lanes.clamp(1, 32) as usize) {
        let active = access.mask & (of_request << first);
        result.passes += Spread::of(active, addresses).distinct as u32;
        result.conflict_free += u32::from(active != 0);
    }
    result
}

/// The most lanes of an atomic or a reduction that go to one address.
#[cold]
fn update_steps(access: &Access<'_>) -> u64 {
    Spread::of(access.mask, lane_addresses(access, &mut [0; 32])).most
}

// No event is marked `inline`. The crate that launches makes the table of these functions and would
// compile marked ones itself, with its own optimisation.
impl Recorder for CtaRecorder {
    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        let Some(count) = self.blocks.get_mut(block as usize) else {
            return self.traced_block(warp, block, mask);
        };
        count.warps += 1;
        count.lanes += lane_count(mask);
    }

    fn start(&mut self, start: &CtaStart) {
        self.sample = self.tracer.as_ref().and_then(|tracer| tracer.sample(start));
        let is_one_of_few = self.sample.is_some();
        self.stream.set_limit(if is_one_of_few { self.wide_limit() } else { self.stream_limit });
    }

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        for (total, lanes) in self.guarded_lanes.iter_mut().zip(lanes) {
            *total += lanes;
        }
    }

    fn branch(&mut self, instruction: u32, active: u32, taken: u32) {
        let counts = self.branches.row(instruction);
        counts.taken_lanes += lane_count(taken & active);
        counts.divergent += u64::from(taken & active != 0 && !taken & active != 0);
    }

    fn tensor(&mut self, product: &TensorUse) {
        if let Some(format) = TensorFormat::of(product.ty) {
            let key = ProductCounts::key(product.instruction, format);
            *self.products.row(key) += product.operations;
        }
        if let Some(sample) = &mut self.sample {
            sample.product(product);
        }
    }

    fn arrive(&mut self, arrival: &Arrival) {
        if let Some(sample) = &mut self.sample {
            sample.arrive(arrival);
        }
    }

    fn release(&mut self, release: &Release<'_>) {
        if let Some(sample) = &mut self.sample {
            sample.release(release);
        }
    }

    fn mbarrier(&mut self, mbarrier: &MbarrierUse<'_>) {
        if let Some(sample) = &mut self.sample {
            sample.mbarrier(mbarrier);
        }
    }

    fn tensor_memory(&mut self, used: &TensorMemoryUse<'_>) {
        if let Some(sample) = &mut self.sample {
            sample.tensor_memory(used);
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        self.count(access);
    }

    fn first_access(&mut self, slot: u32, access: &Access<'_>) -> Further {
        let (key, added) = self.count(access);
        let needs = self.needs_of_alike(access);
        if needs != Further::Each {
            let mut alike = Alike { key, added, demand: Demand::Load, lines: SmallVec::new() };
            if needs == Further::Address {
                let line = access.addresses[0] / LINE_BYTES;
                let past_l1 = self.routes[access.instruction as usize].past_l1;
                alike.demand = demand(access, past_l1);
                self.coalescer.global(access, past_l1, |touch| {
                    let from_first = touch.line.wrapping_sub(line);
                    alike.lines.push(PackedTouch::new(LineTouch { line: from_first, ..touch }));
                });
            }
            // Slots come in order, and those of accesses that are told one by one stay empty.
            let slot = slot as usize;
            match self.alike.get_mut(slot) {
                Some(place) => *place = alike,
                None => {
                    self.alike.resize_with(slot, Alike::default);
                    self.alike.push(alike);
                }
            }
        }
        needs
    }

    fn further_address(&mut self, slot: u32, access: FurtherAccess) {
        if let Some(Alike { key, demand, lines, .. }) = self.alike.get(slot as usize) {
            let FurtherAccess { warp, time, first } = access;
            self.stream.request(Request::new(time, warp, *key, *demand), lines, first / LINE_BYTES);
        }
    }

    fn further_accesses(&mut self, slot: u32, count: u64, latest: u64) {
        let Some(Alike { key, added, lines, .. }) = self.alike.get(slot as usize) else { return };
        self.memory.row(*key).zip(added, &mut |total, one| *total += one * count);
        self.stream.reach(latest);
        if lines.is_empty() {
            // The stream has not been told of them.
            self.stream.leave_out(added.sectors * count);
        }
    }
}

const _: () = assert!(ALIKE_BYTES.is_multiple_of(LINE_BYTES));

/// An access of which others are like, and what each of them adds.
#[derive(Clone, Debug)]
struct Alike {
    /// The row of the counts.
    key: u32,
    added: MemoryCounts<u64>,
    demand: Demand,
    /// The lines of its request to the caches, counted from that of the first lane.
    lines: SmallVec<[PackedTouch; 4]>,
}

impl Default for Alike {
    fn default() -> Self {
        let (added, lines) = (MemoryCounts::default(), SmallVec::new());
        Self { key: 0, added, demand: Demand::Load, lines }
    }
}

impl CtaRecorder {
    /// Counts an access. Returns its row and what it added.
    #[inline]
    fn count(&mut self, access: &Access<'_>) -> (u32, MemoryCounts<u64>) {
        let key = RowKey::new(access.instruction, access.space, access.kind).index();
        let path = Path::of(access.space);
        let requested = lane_count(access.mask) * u64::from(access.bytes_per_lane);
        let mut wider = [WiderPasses::default(); WIDER_BYTES.len()];
        let (moved, passes) = match path {
            Path::Shared => {
                if self.routes[access.instruction as usize].is_joined() {
                    wider = self.wider_passes(access);
                }
                (Moved::default(), self.shared_passes(access))
            }
            Path::Constant => (Moved::default(), self.constant(access)),
            Path::Local if self.is_in_registers(access.instruction) => {
                (Moved::default(), BankPasses::default())
            }
            Path::Global | Path::Local => self.device_memory(access, key, path == Path::Local),
        };
        self.stream.reach(access.time);
        let updates = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let added = MemoryCounts::<u64> {
            space: access.space,
            kind: access.kind,
            requests: u64::from(!access.continues),
            requested_bytes: requested,
            sectors: moved.sectors,
            ideal_sectors: moved.sectors.min(self.coalescer.ideal_sectors(requested)),
            transactions: moved.transactions,
            passes: u64::from(passes.passes),
            conflict_free: u64::from(passes.conflict_free),
            update_steps: if updates { update_steps(access) } else { 0 },
            wider,
            traffic: None,
        };
        self.memory.row(key).zip(&added, &mut |total, count| *total += count);
        if self.sample.is_some() {
            self.record(access, moved, passes);
        }
        (key, added)
    }

    /// What must be known of accesses with the same distances that are whole multiples of
    /// [`ALIKE_BYTES`] away: all of them add the same counts.
    fn needs_of_alike(&self, access: &Access<'_>) -> Further {
        if self.sample.is_some() {
            return Further::Each;
        }
        match Path::of(access.space) {
            Path::Shared => match self.banks.period() {
                Some(period) if ALIKE_BYTES.is_multiple_of(period) => Further::Number,
                _ => Further::Each,
            },
            Path::Constant => Further::Number,
            // The banks of a first-level cache deliver as much as a line has.
            Path::Global if !self.coalescer.is_by_lines() => Further::Each,
            Path::Global if self.stream.limit() == 0 => Further::Number,
            Path::Global => Further::Address,
            Path::Local => Further::Each,
        }
    }
}
