//! One CTA: its warps, its shared and local memory, its barriers.

#![allow(unsafe_code, reason = "aligned memory is viewed as bytes")]

use std::collections::HashMap;

use gpucast_ptx_frontend::module::VariableId;

use super::access::Memories;
use super::level::Level;
use super::warp::{Context, Turn, Wait, Warp, WarpFault};
use crate::fault::{Fault, FaultKind, FaultSite};
use crate::memory::DeviceMemory;
use crate::observer::Recorder;
use crate::program::Program;
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

/// The constant inputs of a launch, shared by all CTAs.
pub(crate) struct LaunchContext<'a> {
    pub(crate) program: &'a Program,
    pub(crate) level: Level,
    pub(crate) device: &'a DeviceMemory,
    pub(crate) shape: LaunchShape,
    /// Device addresses of the module's global variables.
    pub(crate) globals: HashMap<VariableId, u64>,
    /// Kernel parameters as laid out by the module, 64-byte padded.
    pub(crate) parameters: AlignedBytes,
    pub(crate) constant: AlignedBytes,
    pub(crate) shared_bytes: u64,
    pub(crate) budget: u64,
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

/// What became of a CTA's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CtaTurn {
    Done,
    /// The limit was reached with threads left.
    Expired,
}

/// A CTA in execution; reused for one CTA after the other.
#[derive(Debug)]
pub(crate) struct Cta {
    warps: Vec<Warp>,
    shared: Vec<Line>,
    local: Vec<Line>,
    coordinates: CtaCoordinates,
    /// Lanes that executed each guarded instruction.
    guarded_lanes: Vec<u64>,
}

impl Cta {
    /// Memory and registers for CTAs of a launch.
    pub(crate) fn new(launch: &LaunchContext<'_>) -> Self {
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
        let local_bytes = program.local_bytes * 32 * warps.len() as u64;
        Self {
            shared: lines(launch.shared_bytes),
            local: lines(local_bytes),
            coordinates: CtaCoordinates::default(),
            guarded_lanes: vec![0; program.guarded.len()],
            warps,
        }
    }

    /// Begin CTA `index` of the grid.
    pub(crate) fn start(&mut self, launch: &LaunchContext<'_>, index: u64) {
        let program = launch.program;
        self.coordinates = launch.shape.coordinates(index);
        self.shared.fill(Line([0; 64]));
        self.local.fill(Line([0; 64]));
        self.guarded_lanes.fill(0);
        let threads = launch.shape.threads_per_cta();
        for warp in &mut self.warps {
            let lanes = (threads - warp.index * 32).min(32);
            let registers = &program.registers;
            registers.fill_cta(&mut warp.rows, &launch.shape, self.coordinates.ctaid);
            registers.clear_uninitialised(&mut warp.rows, &mut warp.predicates);
            warp.start(0, program.blocks[0].first_op, u32::MAX >> (32 - lanes));
        }
    }

    /// Warp-instructions issued and lanes active in them.
    pub(crate) fn issued(&self) -> (u64, u64) {
        self.warps
            .iter()
            .fold((0, 0), |(issued, lanes), warp| (issued + warp.issued, lanes + warp.issued_lanes))
    }

    /// Run until all threads have exited or about `limit` warp-instructions have been issued in
    /// all by this CTA.
    pub(crate) fn run<R: Recorder>(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut R,
        limit: u64,
    ) -> Result<CtaTurn, Box<Fault>> {
        let program = launch.program;
        loop {
            let mut live = false;
            let mut progress = false;
            for at in 0..self.warps.len() {
                if self.warps[at].live == 0 {
                    continue;
                }
                let local_per_warp = program.local_bytes as usize * 32;
                let context = Context {
                    program,
                    level: launch.level,
                    memories: Memories {
                        device: launch.device,
                        shared: self.shared.as_mut_ptr().cast(),
                        shared_bytes: launch.shared_bytes,
                        local: self
                            .local
                            .as_mut_ptr()
                            .cast::<u8>()
                            .wrapping_add(at * local_per_warp),
                        local_bytes: program.local_bytes,
                        constant: launch.constant.lines.as_ptr().cast(),
                        constant_bytes: launch.constant.bytes,
                        parameters: launch.parameters.lines.as_ptr().cast(),
                        parameter_bytes: launch.parameters.bytes,
                    },
                    guarded_lanes: self.guarded_lanes.as_mut_ptr(),
                };
                let warp = &mut self.warps[at];
                let before = warp.issued;
                let turn = warp.run(&context, recorder, before + WARP_TURN);
                progress |= warp.issued != before;
                match turn {
                    Ok(Turn::Done) => {}
                    Ok(Turn::Blocked | Turn::Expired) => live = true,
                    Err(fault) => return Err(self.fault(launch, at, fault)),
                }
            }
            if !live {
                recorder.guarded_lanes(&self.guarded_lanes);
                return Ok(CtaTurn::Done);
            }
            let released = self.release_barriers(launch)?;
            if !progress && !released {
                return Err(self.deadlock(launch));
            }
            if self.issued().0 >= limit {
                return Ok(CtaTurn::Expired);
            }
        }
    }

    /// Release every barrier at which all expected threads have arrived.
    fn release_barriers(&mut self, launch: &LaunchContext<'_>) -> Result<bool, Box<Fault>> {
        let mut released = false;
        let waited_for =
            self.warps.iter().flat_map(|warp| &warp.splits).fold(0u32, |ids, split| {
                if let Wait::Barrier { id } = split.wait { ids | 1 << (id & 15) } else { ids }
            });
        for id in (0..16).filter(|id| waited_for >> id & 1 != 0) {
            let (waiting, expected) = self.barrier_state(launch.program, id);
            if waiting > 0 && waiting >= expected {
                self.check_alignment(launch, id)?;
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

    /// An aligned barrier must be one instruction for all threads of a warp.
    fn check_alignment(&self, launch: &LaunchContext<'_>, id: u32) -> Result<(), Box<Fault>> {
        for (at, warp) in self.warps.iter().enumerate() {
            let mut waiting = warp.splits.iter().filter(|s| s.wait == Wait::Barrier { id });
            let Some(first) = waiting.next() else { continue };
            let aligned = |pc: u32| launch.program.ops[pc as usize].n & barrier::ALIGNED != 0;
            if let Some(other) = waiting.find(|other| other.pc != first.pc && aligned(other.pc)) {
                let lane = Some(other.mask.trailing_zeros());
                let fault = WarpFault { pc: other.pc, lane, kind: FaultKind::DivergentBarrier };
                return Err(self.fault(launch, at, fault));
            }
        }
        Ok(())
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

    /// The fault of a CTA in which nothing can run.
    fn deadlock(&self, launch: &LaunchContext<'_>) -> Box<Fault> {
        let stuck = self.warps.iter().enumerate().find_map(|(at, warp)| {
            let split = warp.splits.iter().find(|split| split.wait != Wait::Nothing)?;
            Some((at, split))
        });
        let Some((at, split)) = stuck else {
            return self.fault(launch, 0, WarpFault { pc: 0, lane: None, kind: FaultKind::Trap });
        };
        let kind = match split.wait {
            Wait::Barrier { id } => {
                let (waiting, expected) = self.barrier_state(launch.program, id);
                FaultKind::BarrierDeadlock { barrier: id, waiting, expected }
            }
            Wait::Lanes { members, .. } => FaultKind::WarpDeadlock { waiting: split.mask, members },
            Wait::Nothing => FaultKind::Trap,
        };
        let lane = Some(split.mask.trailing_zeros());
        self.fault(launch, at, WarpFault { pc: split.pc, lane, kind })
    }

    /// A warp's fault with everything that its reader wants to know.
    fn fault(&self, launch: &LaunchContext<'_>, warp: usize, fault: WarpFault) -> Box<Fault> {
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
    fn as_slice(&self) -> &[u8] {
        // SAFETY: `lines` holds at least `bytes` initialised bytes.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.bytes as usize) }
    }
}

impl Program {
    /// Where the instruction of an operation stands.
    fn site(&self, pc: u32) -> Option<FaultSite> {
        let instruction = *self.op_instruction.get(pc as usize)?;
        let instruction = &self.instructions.get(instruction as usize)?.instruction;
        Some(FaultSite { span: instruction.span, location: instruction.location })
    }
}
