//! One CTA: its warps, its shared and local memory, its barriers.

#![allow(unsafe_code, reason = "aligned memory is viewed as bytes")]

use std::collections::{HashMap, TryReserveError};
use std::sync::{Arc, Mutex};

use gpucast_ptx_frontend::module::VariableId;

use super::access::{AccessReport, Hearing, Memories, Patterns, with_marks};
use super::classes::Representative;
use super::level::Level;
use super::mbarrier::Polled;
use super::runtime::MAX_PRINTED_BYTES;
use super::shared::ClusterShared;
use super::stop::Stop;
use super::tensor_memory::{self, SharedTensorMemory, TensorMemory};
use super::warp::{Context, Split, Turn, Wait, Warp, WarpFault};
use super::watch::{Watch, Watching};
use crate::fault::{Fault, FaultKind, FaultSite};
use crate::launch::AsyncTiming;
use crate::memory::DeviceMemory;
use crate::observer::{CtaStart, Recorder, Release, Wants};
use crate::program::Program;
use crate::program::memory_op::window;
use crate::program::op::barrier;
use crate::program::registers::{CtaCoordinates, LaunchShape};

/// Warp-instructions of a warp's turn; long enough to amortise the switch, short enough that warps
/// which wait for each other through memory progress.
const WARP_TURN: u64 = 1 << 16;

/// 64 bytes, aligned so that 16-byte accesses to shared memory are aligned on the host too.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

fn lines(bytes: u64) -> Vec<Line> {
    vec![Line([0; 64]); bytes.div_ceil(64) as usize]
}

/// [`lines`], if the allocator has room.
fn try_lines(bytes: u64) -> Result<Vec<Line>, TryReserveError> {
    let count = bytes.div_ceil(64) as usize;
    let mut lines = Vec::new();
    lines.try_reserve_exact(count)?;
    lines.resize(count, Line([0; 64]));
    Ok(lines)
}

/// The constant inputs of a launch, shared by all CTAs.
pub(crate) struct LaunchContext<'a> {
    pub(crate) program: &'a Program,
    pub(crate) level: Level,
    pub(crate) device: &'a DeviceMemory,
    pub(crate) shape: LaunchShape,
    /// Device addresses of the module's global variables.
    pub(crate) globals: Arc<HashMap<VariableId, u64>>,
    /// Kernel parameters as laid out by the module, 64-byte padded.
    pub(crate) parameters: AlignedBytes,
    pub(crate) constant: AlignedBytes,
    pub(crate) shared_bytes: u64,
    /// Local memory of one thread, its stack included; a multiple of 16.
    pub(crate) local_bytes: u64,
    pub(crate) budget: u64,
    /// True if bad accesses are left out instead of ending the launch.
    pub(crate) skip_bad_accesses: bool,
    /// True if a part is executed on the memory of a whole launch that comes later: what a slice
    /// leaves out may be changes of contents that are held.
    pub(crate) is_trial: bool,
    /// When asynchronous operations end.
    pub(crate) async_timing: AsyncTiming,
    /// Events that the recorders are told of.
    pub(crate) wants: Wants,
    /// The most bytes of the host's memory that the launch may take, if a limit is known.
    pub(crate) memory_limit: Option<u64>,
    pub(crate) stop: Stop<'a>,
    /// Detector of CTAs that depend on their order, if that dependence is not known.
    pub(crate) watch: Option<&'a Watch>,
    /// The place of the CTA that is executed for others, whenever one is.
    pub(crate) representative: Option<&'a Mutex<Option<Representative>>>,
}

impl LaunchContext<'_> {
    /// Returns true if the launch is to be executed again anyway.
    pub(crate) fn is_given_up(&self) -> bool {
        self.watch.is_some_and(Watch::is_over)
    }

    /// Bytes of the host's memory for one CTA: registers, shared and local memory, and patterns.
    pub(crate) fn bytes_per_cta(&self) -> u64 {
        let warps = u64::from(self.shape.threads_per_cta().div_ceil(32));
        let registers = u64::from(self.program.registers.rows) * size_of::<[u32; 32]>() as u64;
        let local = self.local_bytes.saturating_mul(32).saturating_add(registers);
        let tensor = if self.uses_tensor_memory() { TensorMemory::bytes() } else { 0 };
        let patterns = Patterns::bytes(self.program.tables.memory_ops.len());
        let shared = with_marks(self.shared_bytes, self.program.contents);
        let own = shared.saturating_add(tensor).saturating_add(patterns);
        warps.saturating_mul(local).saturating_add(own)
    }

    fn uses_tensor_memory(&self) -> bool {
        !self.program.tables.tensor_memory_ops.is_empty()
    }
}

/// Read-only bytes aligned to 64.
#[derive(Debug)]
pub(crate) struct AlignedBytes {
    lines: Vec<Line>,
    bytes: u64,
}

impl AlignedBytes {
    pub(crate) fn new(contents: &[u8]) -> Self {
        let mut lines = lines(contents.len() as u64);
        for (line, chunk) in lines.iter_mut().zip(contents.chunks(64)) {
            line.0[..chunk.len()].copy_from_slice(chunk);
        }
        Self { lines, bytes: contents.len() as u64 }
    }
}

/// The outcome of a round in which each warp had a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Threads are left.
    pub(crate) live: bool,
    /// Something ran that did not merely ask for an mbarrier again, or a barrier was passed.
    pub(crate) progress: bool,
    /// Outcome of the waits for mbarriers.
    pub(crate) polled: Polled,
}

impl Default for Round {
    fn default() -> Self {
        Self { live: false, progress: false, polled: Polled::NoneWaits }
    }
}

impl Round {
    /// Adds the events of another CTA.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.live |= other.live;
        self.progress |= other.progress;
        self.polled = self.polled.max(other.polled);
    }
}

/// The reason why threads cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    ByMbarrier,
    /// A barrier of the CTA, or other lanes of the warp.
    WithinCta,
}

/// A barrier instruction at which all threads of a CTA wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CommonBarrier {
    id: u32,
    pc: u32,
}

/// A CTA in execution; reused for one CTA after the other.
#[derive(Debug)]
pub(crate) struct Cta {
    pub(crate) warps: Vec<Warp>,
    shared: Vec<Line>,
    local: Vec<Line>,
    tensor_memory: Option<SharedTensorMemory>,
    coordinates: CtaCoordinates,
    /// Index of its cluster in the grid.
    cluster: u64,
    /// True if warps of a warpgroup come together somewhere.
    has_warpgroups: bool,
    /// Lanes that executed each guarded instruction.
    guarded_lanes: Vec<u64>,
    patterns: Patterns,
    /// Warps and lanes that wait at the barrier that is being passed; kept for its room.
    waited: Vec<(u32, u32)>,
    /// Output that its threads have printed.
    printed: Vec<u8>,
}

impl Cta {
    /// Memory and registers for CTAs of a launch.
    pub(crate) fn new(launch: &LaunchContext<'_>) -> Result<Self, TryReserveError> {
        let program = launch.program;
        let threads = launch.shape.threads_per_cta();
        let warps = (0..threads.div_ceil(32)).map(|index| {
            let mut warp = Warp::new(program, index);
            let global = |id| launch.globals.get(&id).copied().unwrap_or_default();
            program.registers.fill_warp_constants(&mut warp.rows, &launch.shape, index, &global);
            program.registers.fill_parameters(&mut warp.rows, launch.parameters.as_slice());
            warp
        });
        let warps: Vec<_> = warps.collect();
        let local_bytes = launch.local_bytes * 32 * warps.len() as u64;
        let mut cta = Self {
            shared: try_lines(with_marks(launch.shared_bytes, program.contents))?,
            local: try_lines(local_bytes)?,
            tensor_memory: launch
                .uses_tensor_memory()
                .then(|| Arc::new(Mutex::new(TensorMemory::new()))),
            coordinates: CtaCoordinates::default(),
            cluster: 0,
            has_warpgroups: program.uses_warpgroups(),
            guarded_lanes: vec![0; program.guarded.len()],
            patterns: Patterns::new(program.tables.memory_ops.len()),
            waited: Vec::new(),
            printed: Vec::new(),
            warps,
        };
        let cluster = ClusterShared::default();
        let context = cta.context(launch, 0, &cluster);
        let mut report = AccessReport::new();
        for warp in &mut cta.warps {
            warp.settle(&context, &mut report);
        }
        Ok(cta)
    }

    /// Begins CTA `index` of the grid.
    pub(crate) fn start(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut dyn Recorder,
        index: u64,
    ) {
        self.start_with(launch, recorder, launch.shape.coordinates(index), index);
    }

    /// Begins CTA `index` of the grid, whose recorder has recorded the CTA before.
    pub(crate) fn go_on(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut dyn Recorder,
        index: u64,
    ) {
        self.patterns.go_on();
        self.start_at(launch, recorder, launch.shape.coordinates(index), index);
    }

    /// Begins the CTA at these coordinates, which `index` tells a recorder that has recorded none.
    pub(crate) fn start_with(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut dyn Recorder,
        coordinates: CtaCoordinates,
        index: u64,
    ) {
        self.patterns.begin();
        self.start_at(launch, recorder, coordinates, index);
    }

    /// Begins the CTA at these coordinates.
    fn start_at(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut dyn Recorder,
        coordinates: CtaCoordinates,
        index: u64,
    ) {
        let program = launch.program;
        self.coordinates = coordinates;
        self.cluster = index / u64::from(launch.shape.ctas_per_cluster());
        recorder.start(&CtaStart {
            cta: index,
            ctaid: self.coordinates.ctaid,
            rank: self.coordinates.cluster_rank,
            ctas_per_cluster: launch.shape.ctas_per_cluster(),
        });
        self.shared.fill(Line([0; 64]));
        if let Some(memory) = &self.tensor_memory {
            tensor_memory::lock(memory).clear();
        }
        self.clear_local(launch);
        self.guarded_lanes.fill(0);
        let threads = launch.shape.threads_per_cta();
        for warp in &mut self.warps {
            let lanes = (threads - warp.index * 32).min(32);
            let registers = &program.registers;
            registers.fill_cta(&mut warp.rows, &launch.shape, &self.coordinates);
            registers.clear_uninitialised(&mut warp.rows, &mut warp.predicates);
            registers.empty_stack(&mut warp.rows, program.local_bytes as u32);
            warp.start(0, program.blocks[0].first_op, u32::MAX >> (32 - lanes));
        }
    }

    /// Clears local memory, of the threads' stacks as much as has been used: it is a small part of
    /// them, as a rule.
    fn clear_local(&mut self, launch: &LaunchContext<'_>) {
        let fixed = launch.program.local_bytes;
        let lane_bytes = launch.local_bytes as usize;
        if lane_bytes == 0 {
            return;
        }
        let bytes = self.local.len() * size_of::<Line>();
        // SAFETY: the lines are plain bytes, all initialised, and borrowed exclusively.
        let local =
            unsafe { std::slice::from_raw_parts_mut(self.local.as_mut_ptr().cast::<u8>(), bytes) };
        for (warp, lanes) in self.warps.iter_mut().zip(local.chunks_mut(32 * lane_bytes)) {
            let used = warp.stack_top.max(fixed).min(launch.local_bytes) as usize;
            for lane in lanes.chunks_mut(lane_bytes) {
                let used = used.min(lane.len());
                lane[..used].fill(0);
            }
            warp.stack_top = 0;
        }
    }

    /// Warp-instructions issued and lanes active in them.
    pub(crate) fn issued(&self) -> (u64, u64) {
        self.warps
            .iter()
            .fold((0, 0), |(issued, lanes), warp| (issued + warp.issued, lanes + warp.issued_lanes))
    }

    /// Keeps the output that warp `at` has printed, if it is not too much.
    fn keep_printed(&mut self, launch: &LaunchContext<'_>, at: usize) -> Result<(), Box<Fault>> {
        let warp = &mut self.warps[at];
        self.printed.append(&mut warp.printed);
        if self.printed.len() <= MAX_PRINTED_BYTES {
            return Ok(());
        }
        let pc = warp.splits.first().map_or(0, |split| split.pc);
        let kind = FaultKind::TooMuchPrinted { limit: MAX_PRINTED_BYTES as u64 };
        Err(self.fault(launch, at, WarpFault { pc, lane: None, kind }))
    }

    /// Takes the output that its threads have printed since the last call.
    pub(crate) fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    /// Returns true if one of its warps has taken work since the last call.
    pub(crate) fn has_taken(&mut self) -> bool {
        let mut any = false;
        for warp in &mut self.warps {
            any |= std::mem::take(&mut warp.has_taken);
        }
        any
    }

    /// Returns true if threads are left.
    pub(crate) fn is_live(&self) -> bool {
        self.warps.iter().any(|warp| warp.live != 0)
    }

    /// Its shared memory, for the other CTAs of its cluster too.
    pub(crate) fn shared_memory(&mut self) -> *mut u8 {
        if self.is_live() { self.shared.as_mut_ptr().cast() } else { std::ptr::null_mut() }
    }

    /// Its tensor memory, if threads are left that may use it.
    pub(crate) fn tensor_memory(&self) -> Option<&SharedTensorMemory> {
        self.tensor_memory.as_ref().filter(|_| self.is_live())
    }

    /// One turn for each warp; then barriers at which all have arrived are passed. Waits for
    /// mbarriers are given up if `give_up`.
    pub(crate) fn round(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut dyn Recorder,
        cluster: &ClusterShared,
        give_up: bool,
    ) -> Result<Round, Box<Fault>> {
        let mut round = Round::default();
        let mut context = self.context(launch, 0, cluster);
        let mut report = AccessReport::new();
        let takes_work = !launch.program.takes_work.is_empty();
        for at in 0..self.warps.len() {
            if self.warps[at].live == 0 {
                continue;
            }
            let resumes = takes_work && self.warps[at].resumes();
            let asked = self.warps[at].retry_allocations();
            context.memories.local = self.local_of(launch, at);
            let (turn, ran) = if launch.program.tables.mbarrier_ops.is_empty() {
                let warp = &mut self.warps[at];
                let before = warp.issued;
                let turn = warp.run(&context, recorder, &mut report, before + WARP_TURN);
                let ran = warp.issued != before;
                (turn, ran)
            } else {
                let room = (&mut report, &mut round);
                self.turn_with_mbarriers(recorder, &context, at, give_up, room)
            };
            let printed = if self.warps[at].printed.is_empty() {
                Ok(())
            } else {
                self.keep_printed(launch, at)
            };
            let turn = turn.map_err(|fault| self.fault(launch, at, *fault))?;
            printed?;
            if self.has_warpgroups && self.meet_in_warpgroup(launch, &context, recorder, at)? {
                round.progress = true;
            }
            round.progress |= ran || resumes || asked && !self.warps[at].waits_for_columns();
            round.live |= turn != Turn::Done;
        }
        if round.live {
            round.progress |= self.pass_common_barrier(launch.program, recorder)
                || self.release_barriers(launch, recorder)?;
        } else {
            for at in 0..self.warps.len() {
                let ended = self.warps[at].end_stores(&context);
                ended.map_err(|fault| self.fault(launch, at, fault))?;
            }
            self.check_tensor_memory(launch)?;
            self.patterns.tell(recorder);
            recorder.guarded_lanes(&self.guarded_lanes);
        }
        Ok(round)
    }

    /// Checks that a CTA that ends has freed its tensor memory, which others wait for.
    fn check_tensor_memory(&self, launch: &LaunchContext<'_>) -> Result<(), Box<Fault>> {
        let memory = self.tensor_memory.as_ref().map(|memory| tensor_memory::lock(memory));
        match memory.and_then(|memory| memory.left()) {
            None => Ok(()),
            Some(left) => {
                let kind = FaultKind::TensorMemoryLeft { columns: left.columns };
                let fault = WarpFault { pc: left.pc, lane: None, kind };
                Err(self.fault(launch, left.warp as usize, fault))
            }
        }
    }

    /// Gives warp `at` of a program that uses mbarriers a turn. Returns true if something ran that
    /// did not merely ask for an mbarrier again.
    #[cold]
    fn turn_with_mbarriers(
        &mut self,
        recorder: &mut dyn Recorder,
        context: &Context<'_>,
        at: usize,
        give_up: bool,
        (report, round): (&mut AccessReport, &mut Round),
    ) -> (Result<Turn, Box<WarpFault>>, bool) {
        let warp = &mut self.warps[at];
        let before = warp.issued;
        let could_run = warp.splits.iter().any(|split| split.wait == Wait::Nothing);
        let polled = match warp.poll_mbarriers(context, recorder, give_up) {
            Ok(polled) => polled,
            Err(fault) => return (Err(Box::new(fault)), false),
        };
        let turn = warp.run(context, recorder, report, before + WARP_TURN);
        let waits = warp.splits.iter().any(|s| matches!(s.wait, Wait::Mbarrier { .. }));
        round.polled = round.polled.max(if waits { Polled::AllWait } else { polled });
        let ran = warp.issued != before;
        let progress = match polled {
            Polled::NoneWaits => ran,
            Polled::Complete => true,
            // A warp that runs only because it gave up asks again, as a rule.
            Polled::AllWait | Polled::GaveUp => ran && could_run,
        };
        (turn, progress)
    }

    /// Local memory of warp `at`.
    fn local_of(&mut self, launch: &LaunchContext<'_>, at: usize) -> *mut u8 {
        let bytes_per_warp = launch.local_bytes as usize * 32;
        self.local.as_mut_ptr().cast::<u8>().wrapping_add(at * bytes_per_warp)
    }

    /// Returns the surroundings that warp `at` needs for a turn.
    pub(super) fn context<'a>(
        &mut self,
        launch: &'a LaunchContext<'a>,
        at: usize,
        cluster: &'a ClusterShared,
    ) -> Context<'a> {
        let program = launch.program;
        Context {
            program,
            level: launch.level,
            rank: self.coordinates.cluster_rank,
            memories: Memories {
                device: launch.device,
                vectors: launch.level.vectors,
                shared: self.shared.as_mut_ptr().cast(),
                shared_bytes: launch.shared_bytes,
                cluster,
                rank: self.coordinates.cluster_rank,
                own_window: match program.names_ranks {
                    true => window::of_rank(self.coordinates.cluster_rank),
                    false => 0,
                },
                local: self.local_of(launch, at),
                local_bytes: launch.local_bytes,
                constant: launch.constant.lines.as_ptr().cast(),
                constant_bytes: launch.constant.bytes,
                parameters: launch.parameters.lines.as_ptr().cast(),
                parameter_bytes: launch.parameters.bytes,
                is_trial: launch.is_trial || !program.contents.global,
                contents: launch.program.contents,
            },
            guarded_lanes: self.guarded_lanes.as_mut_ptr(),
            patterns: self.patterns.lend(),
            skip_bad_accesses: launch.skip_bad_accesses,
            wants: launch.wants,
            hearing: Hearing::of(launch.wants, launch.watch.is_some()),
            representative: launch.representative,
            watching: launch.watch.map(|watch| Watching { watch, cluster: self.cluster }),
        }
    }

    /// The barrier instruction at which all threads that have not exited wait, each warp as a
    /// whole, if it needs neither a count of threads nor a reduction. That is the usual case.
    fn common_barrier(&self, program: &Program) -> Option<CommonBarrier> {
        let mut common: Option<CommonBarrier> = None;
        for warp in self.warps.iter().filter(|warp| warp.live != 0) {
            let [split] = warp.splits.as_slice() else { return None };
            let Wait::Barrier { id } = split.wait else { return None };
            match common {
                Some(common) if (common.id, common.pc) == (id, split.pc) => {}
                Some(_) => return None,
                None => {
                    let n = program.ops[split.pc as usize].n;
                    if n & (barrier::KIND | barrier::COUNTED) != barrier::SYNC {
                        return None;
                    }
                    common = Some(CommonBarrier { id, pc: split.pc });
                }
            }
        }
        common
    }

    /// Lets all threads pass the barrier at which they wait, if it is a common one: the same as
    /// [`Self::release_barriers`], without looking for threads that are elsewhere.
    fn pass_common_barrier(&mut self, program: &Program, recorder: &mut dyn Recorder) -> bool {
        let Some(CommonBarrier { id, pc }) = self.common_barrier(program) else { return false };
        self.waited.clear();
        for (at, warp) in self.warps.iter_mut().enumerate() {
            warp.arrived[id as usize & 15] = 0;
            if let [split] = warp.splits.as_mut_slice() {
                self.waited.push((at as u32, warp.live));
                split.pass_barrier();
            }
        }
        recorder.release(&Release {
            barrier: id,
            instruction: program.op_instruction[pc as usize],
            waited: &self.waited,
            whole: true,
            guarded_lanes: &self.guarded_lanes,
        });
        self.waited.clear();
        true
    }

    /// Releases every barrier at which all expected threads have arrived.
    fn release_barriers(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<bool, Box<Fault>> {
        let mut released = false;
        let mut waited_for =
            self.warps.iter().flat_map(|warp| &warp.splits).fold(0u32, |ids, split| {
                if let Wait::Barrier { id } = split.wait { ids | 1 << (id & 15) } else { ids }
            });
        while waited_for != 0 {
            let id = waited_for.trailing_zeros();
            waited_for &= waited_for - 1;
            let (waiting, expected) = self.barrier_state(launch.program, id);
            if waiting > 0 && waiting >= expected {
                let here = |wait| wait == Wait::Barrier { id };
                self.check_aligned(launch, here, barrier::ALIGNED)?;
                self.tell_release(launch.program, recorder, id);
                self.release(launch.program, id);
                released = true;
            }
        }
        Ok(released)
    }

    /// Threads that wait at a barrier, and threads that it waits for.
    fn barrier_state(&self, program: &Program, id: u32) -> (u32, u32) {
        let counted = self.warps.iter().find_map(|warp| {
            let split = warp.splits.iter().find(|split| split.wait == Wait::Barrier { id })?;
            let op = &program.ops[split.pc as usize];
            let lane = split.mask.trailing_zeros() as usize;
            (op.n & barrier::COUNTED != 0).then(|| warp.rows[op.b as usize].0[lane])
        });
        let arrived = |warp: &Warp| {
            let waiting = match (warp.waiting_at(id), counted) {
                (0, _) => 0,
                (lanes, Some(_)) => warp.counted_as(lanes),
                (lanes, None) => lanes.count_ones(),
            };
            waiting + warp.arrived[id as usize & 15]
        };
        let waiting: u32 = self.warps.iter().map(arrived).sum();
        // Without a count the barrier waits for every thread that has not exited.
        let live = || self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        (waiting, counted.unwrap_or_else(live))
    }

    /// An aligned barrier, whose operation has `flag` in `n`, must be one instruction for all
    /// threads of a warp that wait there.
    pub(crate) fn check_aligned(
        &self,
        launch: &LaunchContext<'_>,
        waits: impl Fn(Wait) -> bool,
        flag: u16,
    ) -> Result<(), Box<Fault>> {
        for (at, warp) in self.warps.iter().enumerate() {
            let mut waiting = warp.splits.iter().filter(|split| waits(split.wait));
            let Some(first) = waiting.next() else { continue };
            let aligned = |pc: u32| launch.program.ops[pc as usize].n & flag != 0;
            let differs =
                |other: &&Split| other.pc != first.pc && (aligned(first.pc) || aligned(other.pc));
            if let Some(other) = waiting.find(differs) {
                let lane = Some(other.mask.trailing_zeros());
                let fault = WarpFault { pc: other.pc, lane, kind: FaultKind::DivergentBarrier };
                return Err(self.fault(launch, at, fault));
            }
        }
        Ok(())
    }

    /// Tells the recorder that barrier `id` is about to be passed.
    fn tell_release(&mut self, program: &Program, recorder: &mut dyn Recorder, id: u32) {
        let mut waited = std::mem::take(&mut self.waited);
        let lanes = |(at, warp): (usize, &Warp)| (at as u32, warp.waiting_at(id));
        waited.extend(self.warps.iter().enumerate().map(lanes).filter(|&(_, lanes)| lanes != 0));
        let waits = |split: &&Split| split.wait == Wait::Barrier { id };
        let pc = self.warps.iter().find_map(|warp| Some(warp.splits.iter().find(waits)?.pc));
        let live = |warp: &Warp| warp.live == warp.waiting_at(id);
        recorder.release(&Release {
            barrier: id,
            instruction: program.op_instruction[pc.unwrap_or_default() as usize],
            waited: &waited,
            whole: self.warps.iter().all(live),
            guarded_lanes: &self.guarded_lanes,
        });
        waited.clear();
        self.waited = waited;
    }

    fn release(&mut self, program: &Program, id: u32) {
        let (mut count, mut all, mut any) = (0, true, false);
        for warp in &self.warps {
            for split in warp.splits.iter().filter(|s| s.wait == Wait::Barrier { id }) {
                let op = &program.ops[split.pc as usize];
                if op.n & barrier::KIND >= barrier::REDUCE_POPC {
                    let invert = if op.n & barrier::INVERT_C != 0 { u32::MAX } else { 0 };
                    let votes = (warp.predicates[op.c as usize] ^ invert) & split.mask;
                    count += votes.count_ones();
                    all &= votes == split.mask;
                    any |= votes != 0;
                }
            }
        }
        for warp in &mut self.warps {
            warp.arrived[id as usize & 15] = 0;
            for split in warp.splits.iter_mut().filter(|s| s.wait == Wait::Barrier { id }) {
                let op = &program.ops[split.pc as usize];
                let predicate = match op.n & barrier::KIND {
                    barrier::REDUCE_POPC => {
                        let row = &mut warp.rows[op.dst as usize].0;
                        for lane in (0..32).filter(|lane| split.mask >> lane & 1 != 0) {
                            row[lane as usize] = count;
                        }
                        None
                    }
                    barrier::REDUCE_AND => Some(all),
                    barrier::REDUCE_OR => Some(any),
                    _ => None,
                };
                if let Some(value) = predicate {
                    let predicate = &mut warp.predicates[op.dst as usize];
                    *predicate =
                        if value { *predicate | split.mask } else { *predicate & !split.mask };
                }
                split.pass_barrier();
            }
        }
    }

    /// Finds a split whose wait satisfies `waits`, and its warp.
    pub(crate) fn stuck(&self, waits: impl Fn(Wait) -> bool) -> Option<(usize, &Split)> {
        self.warps
            .iter()
            .enumerate()
            .find_map(|(at, warp)| Some((at, warp.splits.iter().find(|split| waits(split.wait))?)))
    }

    /// The fault of a CTA in which nothing can run, if something is `blocked` as is asked.
    pub(crate) fn deadlock(
        &mut self,
        launch: &LaunchContext<'_>,
        cluster: &ClusterShared,
        blocked: Blocked,
    ) -> Option<Box<Fault>> {
        let stuck = self.stuck(|wait| match wait {
            Wait::Mbarrier { .. } => blocked == Blocked::ByMbarrier,
            Wait::Barrier { .. } | Wait::Lanes { .. } | Wait::TensorMemory | Wait::Warpgroup => {
                blocked == Blocked::WithinCta
            }
            Wait::ClusterBarrier | Wait::Nothing => false,
        });
        let (at, split) = stuck?;
        let (pc, wait, waiting) = (split.pc, split.wait, split.mask);
        let kind = match wait {
            Wait::Barrier { id } => {
                let (waiting, expected) = self.barrier_state(launch.program, id);
                FaultKind::BarrierDeadlock { barrier: id, waiting, expected }
            }
            Wait::Lanes { members, .. } => FaultKind::WarpDeadlock { waiting, members },
            Wait::TensorMemory => FaultKind::TensorMemoryDeadlock,
            Wait::Warpgroup => self.warpgroup_deadlock(at),
            Wait::Mbarrier { .. } => {
                let context = self.context(launch, at, cluster);
                let index = self.warps[at].splits.iter().position(|s| s.wait == wait);
                self.warps[at].mbarrier_deadlock(&context, index.unwrap_or_default())
            }
            Wait::ClusterBarrier | Wait::Nothing => return None,
        };
        let lane = Some(waiting.trailing_zeros());
        Some(self.fault(launch, at, WarpFault { pc, lane, kind }))
    }

    /// A warp's fault with everything that its reader wants to know.
    pub(crate) fn fault(
        &self,
        launch: &LaunchContext<'_>,
        warp: usize,
        fault: WarpFault,
    ) -> Box<Fault> {
        let program = launch.program;
        let thread = fault.lane.map(|lane| launch.shape.thread(warp as u32 * 32 + lane));
        Box::new(Fault {
            kind: fault.kind,
            kernel: program.kernel.clone(),
            instruction: program.site(fault.pc),
            cta: self.coordinates.ctaid,
            thread,
        })
    }

    /// The fault of a CTA that has used up the launch's budget.
    pub(crate) fn budget_fault(&self, launch: &LaunchContext<'_>) -> Box<Fault> {
        let running = self.warps.iter().enumerate().find(|(_, warp)| warp.live != 0);
        let kind = FaultKind::BudgetExhausted { budget: launch.budget };
        let (at, pc) =
            running.and_then(|(at, warp)| Some((at, warp.splits.first()?.pc))).unwrap_or_default();
        self.fault(launch, at, WarpFault { pc, lane: None, kind })
    }
}

impl AlignedBytes {
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: `lines` holds at least `bytes` initialised bytes.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.bytes as usize) }
    }
}

impl Program {
    /// Returns the place of an operation's instruction.
    fn site(&self, pc: u32) -> Option<FaultSite> {
        let instruction = *self.op_instruction.get(pc as usize)?;
        let instruction = &self.instructions.get(instruction as usize)?.instruction;
        Some(FaultSite { span: instruction.span, location: instruction.location })
    }
}
