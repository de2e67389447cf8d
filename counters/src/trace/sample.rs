//! Records the events of one CTA in their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_interpreter::{
    Access, AccessKind, Arrival, CtaStart, MbarrierStep, MbarrierUse, Release, TensorMemoryStep,
    TensorMemoryUse, TensorUse,
};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use gpucast_simulation::code::{Space, TensorFormat};
use gpucast_simulation::launch::{Beside, Request};

use super::levels::LevelKey;
use super::phases::PhaseLog;
use super::plan::TracePlan;
use super::reuse::{CtaReuse, SectorReuse};
use super::turns::CtaUpdates;
use super::{BlockVisit, CtaRecord, WarpRecord};
use crate::hierarchy::{CtaStream, RowTraffic};
use crate::patterns::first_address;
use crate::row_key::RowKey;
use crate::units::SECTOR_BYTES;

/// The format of a product where its descriptor says more than the instruction: `.kind::f16` has
/// sums of both widths, and `.kind::f8f6f4` has factors of three.
fn told_format(product: &TensorUse) -> Option<TensorFormat> {
    use ScalarType as S;
    match (product.ty, product.sum) {
        (S::E2m1 | S::E2m3 | S::E3m2, _) => Some(TensorFormat::Fp6OrFp4),
        (S::F16, S::F16) => Some(TensorFormat::HalfInHalf),
        _ => None,
    }
}

/// What an access took of the load-store path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// The row of its counts.
    pub(crate) row: RowKey,
    /// Sectors and lines of global or local memory.
    pub(crate) sectors: u64,
    pub(crate) lines: usize,
    /// Passes over banks.
    pub(crate) passes: u32,
    /// The most lanes of an atomic at one address, else 1.
    pub(crate) serial: u64,
    /// True if the lanes come in pairs with one address.
    pub(crate) is_paired: bool,
    /// True if the caches will see all of it.
    pub(crate) is_replayed: bool,
}

/// The record of a CTA while it runs.
#[derive(Clone, Debug)]
pub(crate) struct CtaSample {
    plan: Arc<TracePlan>,
    /// Its place among the recorded CTAs.
    place: u32,
    cta: u64,
    warps: Vec<WarpSample>,
    /// The parts of requests whose levels the caches will tell, each with a row of its own.
    parts: Vec<Part>,
    /// Those whose levels are not told.
    others: Vec<Part>,
    reuse: CtaReuse,
    /// The lines that its atomics change.
    updates: CtaUpdates,
    phases: PhaseLog,
    /// Columns of tensor memory that it has allocated.
    tensor_columns: u32,
    /// Lines of `parts`.
    lines: u64,
    /// Sectors of the CTA that the caches have not seen.
    left_out_sectors: u64,
    /// A figure of a request is too large for it.
    is_saturated: bool,
}

#[derive(Clone, Debug, Default)]
struct WarpSample {
    visits: Vec<BlockVisit>,
    requests: Vec<Recorded>,
    /// The phase that its next copy tells of bytes, and the instruction that copies.
    told: Option<(u32, Beside)>,
    /// True from the first block on that is left out.
    is_cut: bool,
    left_out_instructions: u64,
}

/// One execution of a memory instruction.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    instruction: u32,
    /// The visits of blocks when it began.
    visits: u32,
    /// The lanes that take part.
    mask: u32,
    time: u64,
    /// The kinds of access that were reported, a bit for each.
    kinds: u8,
    loads: bool,
    stores: bool,
    request: Request,
}

/// The accesses of one execution to the same row, loads or updates of device memory.
#[derive(Clone, Copy, Debug)]
struct Part {
    row: RowKey,
    warp: u32,
    /// Its request, among those of the warp.
    request: u32,
    sectors: u64,
    traffic: RowTraffic,
}

impl CtaSample {
    /// An empty record of the CTA at a place of the grid.
    pub(super) fn new(plan: &Arc<TracePlan>, place: u32, start: &CtaStart) -> Self {
        Self {
            plan: Arc::clone(plan),
            place,
            cta: start.cta,
            warps: vec![WarpSample::default(); plan.warps_per_cta()],
            parts: Vec::new(),
            others: Vec::new(),
            reuse: CtaReuse::default(),
            updates: CtaUpdates::default(),
            phases: PhaseLog::new(start),
            tensor_columns: 0,
            lines: 0,
            left_out_sectors: 0,
            is_saturated: false,
        }
    }

    /// Its place among the recorded CTAs.
    pub(super) fn place(&self) -> u32 {
        self.place
    }

    /// A warp enters a block.
    pub(super) fn block(&mut self, warp: u32, block: u32, lanes: u32, instructions: u32) {
        let Some(warp) = self.warps.get_mut(warp as usize) else { return };
        let is_full = warp.visits.len() as u64 >= self.plan.visits_per_warp()
            || warp.requests.len() as u64 >= self.plan.requests_per_warp();
        if warp.is_cut || is_full {
            warp.is_cut = true;
            warp.left_out_instructions += u64::from(instructions);
        } else {
            warp.visits.push(BlockVisit { block, lanes });
        }
    }

    /// Returns true if the latest access has more lines than the caches will see.
    pub(crate) fn misses_lines(&mut self, stream: &CtaStream) -> bool {
        let left_out = stream.left_out_sectors();
        std::mem::replace(&mut self.left_out_sectors, left_out) != left_out
    }

    /// A warp accesses memory. Returns the row that its request to the caches is to have, if not
    /// that of its instruction.
    pub(crate) fn access(&mut self, access: &Access<'_>, served: &Served) -> Option<u32> {
        let warp = self.warps.get_mut(access.warp as usize).filter(|warp| !warp.is_cut)?;
        self.reuse.note(access, self.plan.lines_per_cta());
        let kind = 1 << served.row.kind();
        if !warp.requests.last().is_some_and(|last| last.continues_with(access, kind)) {
            warp.requests.push(Recorded::new(access, warp.visits.len() as u32));
        }
        let request = warp.requests.len() as u32 - 1;
        let last = warp.requests.last_mut()?;
        // Copies tell of bytes before their last access.
        if let Some((_, beside)) = warp.told.take_if(|told| told.0 == access.instruction) {
            last.request.beside = beside;
        }
        if last.request.beside == Beside::Nothing {
            last.request.beside = self.updates.note(access, self.plan.lines_per_cta());
        }
        self.is_saturated |= last.add(access, kind, served);
        if served.sectors == 0 {
            return None;
        }
        if access.kind == AccessKind::Store {
            let stays = access.space == StateSpace::Local && self.plan.local_stores_stay();
            let levels = if stays { [served.sectors, 0, 0] } else { [0, served.sectors, 0] };
            self.is_saturated |= add_levels(&mut last.request, levels);
            return None;
        }
        let lines = self.lines + served.lines as u64;
        let is_told = served.is_replayed
            && lines <= self.plan.lines_per_cta()
            && self.parts.len() < self.plan.rows_per_cta();
        let parts = if is_told { &mut self.parts } else { &mut self.others };
        let (row, warp) = (served.row, access.warp);
        let same = |part: &&mut Part| (part.warp, part.request, part.row) == (warp, request, row);
        match parts.last_mut().filter(same) {
            Some(part) => part.sectors += served.sectors,
            None => {
                let traffic = RowTraffic::default();
                parts.push(Part { row, warp, request, sectors: served.sectors, traffic });
            }
        }
        is_told.then(|| {
            self.lines = lines;
            self.plan.first_row(self.place) + self.parts.len() as u32 - 1
        })
    }

    /// A warp arrives at a barrier of the CTA. `__syncthreads` needs no record.
    pub(crate) fn arrive(&mut self, arrival: &Arrival) {
        let Some(phase) = self.phases.arrive(arrival) else { return };
        let Some(warp) = self.warps.get_mut(arrival.warp as usize).filter(|warp| !warp.is_cut)
        else {
            return;
        };
        let recorded = Recorded::of_barrier(arrival.instruction, warp.visits.len() as u32, phase);
        warp.requests.push(recorded);
    }

    /// A barrier of the CTA opens.
    pub(crate) fn release(&mut self, release: &Release<'_>) {
        self.phases.release(release);
    }

    /// A warp uses an mbarrier. Operations on it have been told as accesses, copies have not.
    pub(crate) fn mbarrier(&mut self, step: &MbarrierUse<'_>) {
        let Some(phase) = self.phases.step(step) else { return };
        let beside = Beside::Phase(phase);
        let Some(warp) = self.warps.get_mut(step.warp as usize) else { return };
        if step.step == MbarrierStep::CompleteBytes {
            warp.told = Some((step.instruction, beside));
        } else {
            warp.add_beside(step.instruction, beside);
        }
    }

    /// A warp issues a product whose reads of shared memory have been told.
    pub(crate) fn product(&mut self, product: &TensorUse) {
        let Some(warp) = self.warps.get_mut(product.warp as usize) else { return };
        let extent = |extent: u32| u16::try_from(extent).unwrap_or(u16::MAX);
        let (rows, columns) = (extent(product.rows), extent(product.columns));
        let format = told_format(product);
        warp.add_beside(product.instruction, Beside::Product { rows, columns, format });
    }

    /// A warp uses tensor memory.
    pub(crate) fn tensor_memory(&mut self, used: &TensorMemoryUse<'_>) {
        if used.step == TensorMemoryStep::Allocate {
            self.tensor_columns += used.cells.iter().map(|cells| cells.columns).sum::<u32>();
        }
    }

    /// Columns of tensor memory that the CTA has allocated.
    pub(super) fn tensor_columns(&self) -> u32 {
        self.tensor_columns
    }

    /// The CTA has ended: what only its own events needed is given back.
    pub(super) fn end(&mut self) {
        self.reuse.end();
    }

    /// Adds what its loads asked for to that of other CTAs.
    pub(super) fn add_reuse(&self, all: &mut BTreeMap<u32, SectorReuse>) {
        self.reuse.add_to(all);
    }

    /// The row of the instruction to which the `index`-th of its rows belongs.
    pub(super) fn row(&self, index: u32) -> Option<RowKey> {
        self.parts.get(index as usize).map(|part| part.row)
    }

    /// The caches have served the `index`-th of its rows. Returns the row of the instruction.
    pub(super) fn settle(&mut self, index: u32, traffic: RowTraffic) -> Option<RowKey> {
        let part = self.parts.get_mut(index as usize)?;
        part.traffic += traffic;
        Some(part.row)
    }

    /// The record, once all its rows are settled. `draw` gives the levels of sectors of which the
    /// caches have told nothing.
    pub(super) fn finish(mut self, mut draw: impl FnMut(LevelKey, u64) -> [u64; 3]) -> Finished {
        let mut is_saturated = self.is_saturated;
        for part in &self.parts {
            let RowTraffic {
                l1_hit_sectors,
                l2_hit_sectors,
                dram_read_sectors,
                l2_sectors,
                fetched,
            } = part.traffic;
            // Of requests for several lines the caches may have seen some, or none.
            let untold = part.sectors.saturating_sub(l1_hit_sectors + l2_sectors);
            if let Some(recorded) = request(&mut self.warps, part) {
                let levels = [l1_hit_sectors, l2_hit_sectors, dram_read_sectors];
                is_saturated |= add_levels(&mut recorded.request, levels);
                recorded.request.note_fetch(fetched.ago());
                if untold > 0 {
                    let key = LevelKey::new(recorded.instruction, recorded.request.space);
                    is_saturated |= add_levels(&mut recorded.request, draw(key, untold));
                }
            }
        }
        for part in &self.others {
            if let Some(recorded) = request(&mut self.warps, part) {
                let key = LevelKey::new(recorded.instruction, recorded.request.space);
                is_saturated |= add_levels(&mut recorded.request, draw(key, part.sectors));
            }
        }
        let plan = &self.plan;
        let warps = self.warps.into_iter().map(|warp| warp.finish(plan)).collect();
        let record = CtaRecord { cta: self.cta, warps };
        Finished { record, updates: self.updates, is_saturated }
    }
}

/// A record that is complete.
pub(super) struct Finished {
    pub(super) record: CtaRecord,
    /// The lines that its atomics change; the requests say which.
    pub(super) updates: CtaUpdates,
    /// True if a figure of a request exceeds what it can hold, so that the greatest one stands for
    /// it.
    pub(super) is_saturated: bool,
}

/// The request that a part belongs to.
fn request<'a>(warps: &'a mut [WarpSample], part: &Part) -> Option<&'a mut Recorded> {
    warps.get_mut(part.warp as usize)?.requests.get_mut(part.request as usize)
}

/// Adds sectors of the L1, the L2 and DRAM. Returns true if there are too many.
fn add_levels(request: &mut Request, sectors: [u64; 3]) -> bool {
    let levels = [&mut request.l1_sectors, &mut request.l2_sectors, &mut request.dram_sectors];
    let mut is_saturated = false;
    for (level, sectors) in levels.into_iter().zip(sectors) {
        is_saturated |= add(level, sectors);
    }
    is_saturated
}

/// Adds as much as there is room for. Returns true if that is not all.
fn add(sum: &mut u16, summand: u64) -> bool {
    let exact = u64::from(*sum).saturating_add(summand);
    *sum = u16::try_from(exact).unwrap_or(u16::MAX);
    u64::from(*sum) != exact
}

/// A request of no lanes.
const NO_ACCESS: Request = Request {
    space: Space::Constant,
    lanes: 0,
    lines: 0,
    passes: 0,
    serial: 1,
    is_paired: true,
    l1_sectors: 0,
    l2_sectors: 0,
    dram_sectors: 0,
    fetched_ago: None,
    first_sector: None,
    beside: Beside::Nothing,
};

impl Recorded {
    fn new(access: &Access<'_>, visits: u32) -> Self {
        let request = Request { first_sector: first_sector(access), ..NO_ACCESS };
        let Access { instruction, time, .. } = *access;
        Self { instruction, visits, mask: 0, time, kinds: 0, loads: false, stores: false, request }
    }

    /// An arrival at a phase of a named barrier, which accesses nothing.
    fn of_barrier(instruction: u32, visits: u32, phase: u32) -> Self {
        let request = Request { beside: Beside::Phase(phase), ..NO_ACCESS };
        let (mask, time, kinds) = (0, 0, 0);
        Self { instruction, visits, mask, time, kinds, loads: false, stores: false, request }
    }

    /// Returns true if an access is a part of this execution: the next range of a bulk copy, the
    /// other side of a copy, or lanes with addresses in another space.
    fn continues_with(&self, access: &Access<'_>, kind: u8) -> bool {
        (self.instruction, self.time) == (access.instruction, access.time)
            && (access.continues || self.kinds & kind == 0)
    }

    /// Adds what one access takes. Returns true if a figure is too large.
    fn add(&mut self, access: &Access<'_>, kind: u8, served: &Served) -> bool {
        let is_load = matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
        // The sides of a copy move the same bytes, one after the other.
        let is_other_side =
            if is_load { self.stores && !self.loads } else { self.loads && !self.stores };
        self.kinds |= kind;
        self.loads |= is_load;
        self.stores |= !is_load;
        self.mask |= access.mask;
        let Self { request, mask, .. } = self;
        request.lanes = mask.count_ones() as u8;
        let space = space(access.space);
        if rank(space) > rank(request.space) {
            request.space = space;
        }
        request.serial = request.serial.max(served.serial.min(32) as u8);
        request.is_paired &= served.is_paired;
        let passes = match is_other_side {
            true => u64::from(served.passes).saturating_sub(request.passes.into()),
            false => served.passes.into(),
        };
        add(&mut request.passes, passes) | add(&mut request.lines, served.lines as u64)
    }
}

/// The sector of the lowest lane of an access to global or constant memory.
fn first_sector(access: &Access<'_>) -> Option<u32> {
    let is_known = matches!(access.space, StateSpace::Global | StateSpace::Tex | StateSpace::Const);
    let address = first_address(access)?;
    // Sectors 128 GiB apart are taken for one.
    is_known.then_some((address / SECTOR_BYTES) as u32)
}

/// The space of a request.
pub(super) fn space(space: StateSpace) -> Space {
    match space {
        StateSpace::Global | StateSpace::Tex => Space::Global,
        StateSpace::Local => Space::Local,
        StateSpace::Shared => Space::Shared,
        StateSpace::Const | StateSpace::Param | StateSpace::Reg | StateSpace::Sreg => {
            Space::Constant
        }
    }
}

/// The space of a request that goes to several is the highest of them.
fn rank(space: Space) -> u8 {
    match space {
        Space::Constant => 0,
        Space::Shared => 1,
        Space::Local => 2,
        Space::Global | Space::Generic => 3,
    }
}

/// The requests of an instruction, and one without lanes for each visit of its block in which no
/// lane executed it: what they bring about must come at its time.
fn with_idle(all: &[Recorded], visits: &[BlockVisit], plan: &TracePlan) -> Vec<Request> {
    let Some(first) = all.first() else { return Vec::new() };
    let idle = Request {
        lanes: 0,
        lines: 0,
        passes: 0,
        l1_sectors: 0,
        l2_sectors: 0,
        dram_sectors: 0,
        fetched_ago: None,
        first_sector: None,
        beside: Beside::Nothing,
        ..first.request
    };
    let mut requests = Vec::with_capacity(all.len());
    let mut left = all.iter().peekable();
    for (at, visit) in visits.iter().enumerate() {
        if !plan.is_in(first.instruction, visit.block) {
            continue;
        }
        // Another part of the warp may have entered other blocks since.
        let next =
            visits[at + 1..].iter().position(|visit| plan.is_in(first.instruction, visit.block));
        let end = next.map_or(usize::MAX, |next| at + 1 + next);
        let before = requests.len();
        while let Some(one) = left.next_if(|visit| visit.visits as usize <= end) {
            requests.push(one.request);
        }
        if requests.len() == before {
            requests.push(idle);
        }
    }
    requests.extend(left.map(|left| left.request));
    requests
}

impl WarpSample {
    /// The latest execution of an instruction brings something about.
    fn add_beside(&mut self, instruction: u32, beside: Beside) {
        let is_latest = |one: &&mut Recorded| one.instruction == instruction;
        if let Some(latest) =
            self.requests.iter_mut().rev().find(is_latest).filter(|_| !self.is_cut)
        {
            latest.request.beside = beside;
        }
    }

    fn finish(mut self, plan: &TracePlan) -> WarpRecord {
        // Requests of an instruction keep their order.
        self.requests.sort_by_key(|request| request.instruction);
        let same = |one: &Recorded, other: &Recorded| one.instruction == other.instruction;
        let of_instruction = |all: &[Recorded]| {
            let is_plain = all.iter().all(|drawn| {
                matches!(drawn.request.beside, Beside::Nothing | Beside::Turns { .. })
            });
            let requests = if is_plain {
                all.iter().map(|drawn| drawn.request).collect()
            } else {
                with_idle(all, &self.visits, plan)
            };
            all.first().map(|drawn| (drawn.instruction, requests))
        };
        let requests: BTreeMap<u32, Vec<Request>> =
            self.requests.chunk_by(same).filter_map(of_instruction).collect();
        let left_out_instructions = self.left_out_instructions;
        WarpRecord { blocks: self.visits, requests, left_out_instructions }
    }
}
