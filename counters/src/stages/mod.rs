//! Counts between barriers: the stages of Zhang & Owens, "A Quantitative Performance Analysis Model
//! for GPU Architectures", HPCA 2011.
//!
//! A stage of a CTA reaches from one barrier that all its threads wait at to the next. Stages are
//! told apart as they happen, so that each pass of a loop around a barrier has its own. The k-th
//! stages of all CTAs are added up. A barrier of only some threads does not separate stages.
//!
//! A block of instructions is reported when a warp enters it, even with a barrier in its middle.
//! The part behind the barrier is moved to the next stage, warp by warp. Approximation: if the
//! barrier stands in a function, the part of the caller's block behind the call stays where it was
//! counted.

mod batches;
mod code;
mod recorder;

use std::ops::Range;
use std::sync::Arc;

use gpucast_interpreter::{
    CountOverflow, GridBox, Launch, Observer, Program, Shifts, Tally, Windows,
};
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

use crate::counts::{MemoryCounts, add};
use crate::device::DeviceModel;
use crate::hierarchy::L2;
use crate::launch_profile::LaunchProfile;
use crate::observer::Counter;
use crate::recorder::CtaRecorder;
use crate::tally::Times;
use crate::throughput::Operation;
use code::StageCode;

pub use recorder::StageRecorder;

/// Stages that are told apart; later ones are added to the last one.
pub const MOST_STAGES: usize = 1024;

/// The executions of instructions of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCount<N = u128> {
    /// Times that a warp issued one.
    pub warps: N,
    /// Times that a thread executed one, its guard true.
    pub threads: N,
}

/// The accesses of a stage to one kind of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageMemory<N = u128> {
    /// Executions by a warp with at least one lane that takes part.
    pub requests: N,
    /// Bytes that the lanes asked for.
    pub requested_bytes: N,
    /// Sectors, as in [`MemoryCounts`].
    pub sectors: N,
    /// Transactions, as in [`MemoryCounts`].
    pub transactions: N,
    /// Passes over the banks.
    pub passes: N,
    /// Passes that the same requests would take without conflicts of banks.
    pub conflict_free: N,
}

impl<N> StageMemory<N> {
    /// Applies `each` to every count and the same one of `other`.
    fn zip<M: Copy>(&mut self, other: &StageMemory<M>, each: &mut impl FnMut(&mut N, M)) {
        each(&mut self.requests, other.requests);
        each(&mut self.requested_bytes, other.requested_bytes);
        each(&mut self.sectors, other.sectors);
        each(&mut self.transactions, other.transactions);
        each(&mut self.passes, other.passes);
        each(&mut self.conflict_free, other.conflict_free);
    }
}

impl StageMemory<u64> {
    /// Adds the counts of `now` since `before`.
    fn add_difference(&mut self, now: &MemoryCounts<u64>, before: &MemoryCounts<u64>) {
        self.requests += now.requests - before.requests;
        self.requested_bytes += now.requested_bytes - before.requested_bytes;
        self.sectors += now.sectors - before.sectors;
        self.transactions += now.transactions - before.transactions;
        self.passes += now.passes - before.passes;
        self.conflict_free += now.conflict_free - before.conflict_free;
    }
}

/// The counts of one stage, of all CTAs together; those of one CTA have 64 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage<N = u128> {
    /// CTAs that have it.
    pub ctas: N,
    /// Warps that executed anything, summed over the CTAs.
    pub warps: N,
    /// Warps that did the kernel's work, summed over the CTAs. Such a warp executed floating-point
    /// or matrix arithmetic without a guard, or accessed shared, global or local memory, with at
    /// least one lane. A warp that only finds out that it has nothing to do, and waits, is not
    /// among them.
    pub active_warps: N,
    /// Instructions by class.
    classes: [ClassCount<N>; CLASSES.len()],
    /// Times that a warp issued each operation, in the order of [`Operation::ALL`].
    operations: [N; Operation::ALL.len()],
    /// Times that a warp issued a floating-point multiply-add.
    pub multiply_adds: N,
    /// Loads among the requests to shared memory.
    pub shared_loads: N,
    /// Loads among the requests to global memory.
    pub global_loads: N,
    /// Of these, the first ones of a batch. The loads of a batch are independent of each other and
    /// under way together; a warp waits for them once.
    pub global_load_batches: N,
    /// Shared memory.
    pub shared: StageMemory<N>,
    /// Of it, what tensor cores read themselves (`wgmma`, `tcgen05.mma`): no warp waits for it.
    pub operands: StageMemory<N>,
    /// Global memory and textures.
    pub global: StageMemory<N>,
    /// Local memory.
    pub local: StageMemory<N>,
}

/// Every class, in the order in which stages count them.
pub const CLASSES: [InstructionClass; 11] = [
    InstructionClass::Fp16,
    InstructionClass::Fp32,
    InstructionClass::Fp64,
    InstructionClass::Integer,
    InstructionClass::BitConvert,
    InstructionClass::LoadStore,
    InstructionClass::Control,
    InstructionClass::InterThread,
    InstructionClass::Texture,
    InstructionClass::Tensor,
    InstructionClass::Misc,
];

impl Stage {
    /// PTX instructions of a class.
    #[must_use]
    pub fn class(&self, class: InstructionClass) -> ClassCount {
        let at = CLASSES.iter().position(|&known| known == class);
        at.and_then(|at| self.classes.get(at)).copied().unwrap_or_default()
    }

    /// Sets the PTX instructions of a class, and those of its operations in proportion.
    pub fn set_class(&mut self, class: InstructionClass, count: ClassCount) {
        let Some(at) = CLASSES.iter().position(|&known| known == class) else { return };
        for operation in Operation::ALL {
            if !operation.classes().contains(&class) {
                continue;
            }
            let before: u128 =
                operation.classes().iter().map(|&class| self.class(class).warps).sum();
            let after = before - self.classes[at].warps + count.warps;
            let warps = &mut self.operations[operation as usize];
            if before > 0 {
                *warps = share(*warps, after, before);
            }
        }
        self.classes[at] = count;
    }

    /// Times that a warp issued PTX instructions of a row of the throughput table.
    #[must_use]
    pub fn operation(&self, operation: Operation) -> u128 {
        self.operations[operation as usize]
    }

    /// PTX instructions of all classes.
    #[must_use]
    pub fn instructions(&self) -> ClassCount {
        self.classes.iter().fold(ClassCount::default(), |sum, count| ClassCount {
            warps: sum.warps + count.warps,
            threads: sum.threads + count.threads,
        })
    }

    /// Mean active warps of a CTA.
    #[must_use]
    pub fn mean_active_warps(&self) -> f64 {
        self.active_warps as f64 / self.ctas.max(1) as f64
    }

    /// Adds the same stage of other CTAs.
    pub fn add(&mut self, other: &Self) {
        self.zip(other, &mut add);
    }
}

impl Stage<u64> {
    /// Adds a later stage of the same CTA.
    fn add_later(&mut self, other: &Self) {
        let ctas = self.ctas;
        self.zip(other, &mut |total, count: u64| *total += count);
        self.ctas = ctas;
    }
}

impl<N> Stage<N> {
    /// Applies `each` to every count and the same one of `other`.
    fn zip<M: Copy>(&mut self, other: &Stage<M>, each: &mut impl FnMut(&mut N, M)) {
        each(&mut self.ctas, other.ctas);
        each(&mut self.warps, other.warps);
        each(&mut self.active_warps, other.active_warps);
        for (total, count) in self.classes.iter_mut().zip(&other.classes) {
            each(&mut total.warps, count.warps);
            each(&mut total.threads, count.threads);
        }
        for (total, &count) in self.operations.iter_mut().zip(&other.operations) {
            each(total, count);
        }
        each(&mut self.multiply_adds, other.multiply_adds);
        each(&mut self.shared_loads, other.shared_loads);
        each(&mut self.global_loads, other.global_loads);
        each(&mut self.global_load_batches, other.global_load_batches);
        self.shared.zip(&other.shared, each);
        self.operands.zip(&other.operands, each);
        self.global.zip(&other.global, each);
        self.local.zip(&other.local, each);
    }

    fn memory(&mut self, space: StateSpace) -> Option<&mut StageMemory<N>> {
        match space {
            StateSpace::Shared => Some(&mut self.shared),
            StateSpace::Global | StateSpace::Tex => Some(&mut self.global),
            StateSpace::Local => Some(&mut self.local),
            StateSpace::Const | StateSpace::Param | StateSpace::Reg | StateSpace::Sreg => None,
        }
    }
}

/// The part `after` / `before` of a count.
fn share(count: u128, after: u128, before: u128) -> u128 {
    match count.checked_mul(after) {
        Some(product) => product / before,
        None => (count as f64 * (after as f64 / before as f64)) as u128,
    }
}

/// The stages of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages {
    /// The stages in order of time, at most [`MOST_STAGES`].
    pub stages: Vec<Stage>,
    /// Stages beyond [`MOST_STAGES`] of the CTA that has most of them; they are part of the last
    /// one of `stages`.
    pub merged: u64,
}

impl Stages {
    /// Adds the stages of other CTAs.
    pub fn add<M: Copy + Into<u128>>(&mut self, stages: &[Stage<M>], merged: u64) {
        self.zip(stages, merged, &mut add);
    }

    /// Applies `each` to every count and the same one of other CTAs.
    fn zip<M: Copy>(
        &mut self,
        stages: &[Stage<M>],
        merged: u64,
        each: &mut impl FnMut(&mut u128, M),
    ) {
        if self.stages.len() < stages.len() {
            self.stages.resize(stages.len(), Stage::default());
        }
        self.stages.iter_mut().zip(stages).for_each(|(total, stage)| total.zip(stage, each));
        self.merged = self.merged.max(merged);
    }
}

/// Counts a launch as [`Counter`] does, and its stages besides.
#[derive(Debug)]
pub struct StageCounter {
    counter: Counter,
    code: Arc<StageCode>,
    stages: Stages,
}

impl StageCounter {
    /// A counter for `launch` of `program`; see [`Counter::new`].
    #[must_use]
    pub fn new(
        program: &Program,
        launch: &Launch,
        static_shared_bytes: u64,
        device: DeviceModel,
    ) -> Self {
        Self::around(Counter::new(program, launch, static_shared_bytes, device), program)
    }

    /// Counts stages beside a `counter` for `program`, which is set up but has seen nothing.
    #[must_use]
    pub fn around(counter: Counter, program: &Program) -> Self {
        Self { counter, code: Arc::new(StageCode::of(program)), stages: Stages::default() }
    }

    /// [`Counter::check_sums`].
    ///
    /// # Errors
    ///
    /// [`CountOverflow`] if a sum does not fit.
    pub fn check_sums(&self, times: u64) -> Result<(), CountOverflow> {
        // Stages are parts of the sums.
        self.counter.check_sums(times)
    }

    /// The profile of the launch, its stages, and the L2 with its contents; without caches there is
    /// none.
    #[must_use]
    pub fn finish(self) -> (LaunchProfile, Stages, Option<L2>) {
        let (profile, l2) = self.counter.finish();
        (profile, self.stages, l2)
    }
}

impl Observer for StageCounter {
    type Recorder = StageRecorder;

    fn recorder(&self, program: &Program) -> StageRecorder {
        StageRecorder::new(Arc::clone(&self.code), self.counter.recorder(program))
    }

    fn wave(&self) -> usize {
        self.counter.wave()
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut StageRecorder]) {
        // Stages of all CTAs have been added up when windows come.
        let is_told = self.counter.hears_of_windows();
        for recorder in recorders.iter_mut().filter(|_| !is_told) {
            let (stages, merged) = recorder.finish();
            self.stages.add(stages, merged);
        }
        let mut ctas: Vec<&mut CtaRecorder> =
            recorders.iter_mut().map(|recorder| recorder.clear_stages()).collect();
        self.counter.collect(first_cta, &mut ctas);
    }

    fn fresh(&self) -> Self {
        Self {
            counter: self.counter.fresh(),
            code: Arc::clone(&self.code),
            stages: Stages::default(),
        }
    }
}

impl Tally for StageCounter {
    fn tally(
        &mut self,
        record: &mut StageRecorder,
        ctas: u128,
        places: &GridBox,
        shifts: &Shifts<'_, StageRecorder>,
    ) -> Result<(), CountOverflow> {
        let mut times = Times::new(ctas);
        let (stages, merged) = record.finish();
        self.stages.zip(stages, merged, &mut |total, count| times.add(total, count));
        times.outcome()?;
        self.counter.tally(record.clear_stages(), ctas, places, shifts)
    }
}

impl Windows for StageCounter {
    fn windows(&mut self) -> Result<Vec<Range<u64>>, CountOverflow> {
        self.counter.windows()
    }
}

#[cfg(test)]
mod tests;
