//! Collects the CTAs of one launch into its profile.

mod found;
mod left_out;
mod sample;
mod tally;
mod windows;

use std::sync::Arc;

use gpucast_interpreter::{Launch, Observer, Program};

use crate::coalescing::TransactionRule;
use crate::code::Code;
use crate::counts::{BlockCount, BranchCounts, MemoryCounts, WIDER_BYTES, add};
use crate::device::DeviceModel;
use crate::estimate::{Unsure, Variant};
use crate::hierarchy::{
    Hierarchy, HierarchyGeometry, L1Geometry, L2, L2Contents, L2Geometry, L2Traffic, LocalStores,
    ROW_LIMIT,
};
use crate::launch_profile::{Answer, Doubt, LaunchProfile};
use crate::machine::{KnownAccesses, SharedWidth};
use crate::occupancy::{CtaShape, Occupancy, ThreadRegisters};
use crate::recorder::{CtaRecorder, RecorderShape};
use crate::row_key::RowKey;
use crate::sparse::SparseRows;
use crate::table::BaseTable;
use crate::totals::{Extent, LaunchFacts, Replay};
use crate::trace::{LaunchTracer, PlannedLaunch, TraceLimits, TracePlan};
use found::Found;
use left_out::{LeftOut, Replayed};
use sample::Sample;
pub use sample::{DEFAULT_SAMPLE, Drawn, LEAST_SAMPLE, Population, SampleSize};
use windows::WindowReplay;
pub use windows::WindowSizes;

/// The most lines that all CTAs of a GPU together may ask for, 16 bytes each at most. Those of a
/// CTA beyond its share are extrapolated. Resident CTAs and two batches of the interpreter are
/// held: 800 MB at most.
const RESIDENT_LINES: usize = 1 << 24;

/// CTAs that are taken over together, at most: enough to keep all cores busy with their streams.
const BATCH: usize = 64;

/// CTAs of a grid of `ctas` that the GPU holds at the same time.
fn resident_ctas(hierarchy: &HierarchyGeometry, ctas: u128) -> usize {
    u128::from(hierarchy.resident_ctas).min(ctas).max(1) as usize
}

/// Counts one launch of one program as a profiler on the modelled device would.
///
/// ```text
/// let mut counter = Counter::new(&program, &launch, program.static_shared_bytes(), device);
/// run(&program, &launch, &mut memory, &mut counter, &options, &progress)?;
/// let (profile, _l2) = counter.finish();
/// ```
#[derive(Clone, Debug)]
pub struct Counter {
    code: Code,
    grid: [u32; 3],
    block: [u32; 3],
    facts: LaunchFacts,
    device: DeviceModel,
    cta: CtaShape,
    batch: usize,
    shape: RecorderShape,
    /// The caches, if they are modelled.
    hierarchy: Option<Hierarchy>,
    l2: L2Geometry,
    contents: L2Contents,
    blocks: Vec<BlockCount>,
    guarded_lanes: Vec<u128>,
    branches: SparseRows<BranchCounts>,
    memory: SparseRows<MemoryCounts>,
    /// Operations of products, by [`ProductCounts::key`].
    products: SparseRows<u128>,
    left_out: LeftOut,
    /// Lines of all requests, as far as CTAs were told of by class.
    lines: u128,
    tracer: Option<LaunchTracer>,
    /// CTAs that the GPU holds at the same time.
    resident: usize,
    /// The windows of the grid whose CTAs go through the caches, if not all do.
    windows: Option<WindowReplay>,
    /// The CTAs that are executed, if a sample was asked for.
    sample: Option<Sample>,
}

impl Counter {
    /// A counter for `launch` of `program`, whose CTAs have `static_shared_bytes` of shared
    /// memory besides the launch's dynamic ones. The L2 starts cold.
    #[must_use]
    pub fn new(
        program: &Program,
        launch: &Launch,
        static_shared_bytes: u64,
        device: DeviceModel,
    ) -> Self {
        let code = Code::of(program, device.load_caching);
        let mut counter = Self::for_code(code, launch, static_shared_bytes, device);
        counter.facts.cluster_ctas = program.cluster_ctas(launch.cluster);
        counter
    }

    pub(crate) fn for_code(
        code: Code,
        launch: &Launch,
        static_shared_bytes: u64,
        device: DeviceModel,
    ) -> Self {
        let cta = CtaShape {
            threads: launch.threads_per_cta(),
            shared_bytes: static_shared_bytes + u64::from(launch.dynamic_shared_bytes),
            registers_per_thread: None,
        };
        let hierarchy = device.hierarchy(cta);
        let resident = resident_ctas(&hierarchy, launch.ctas());
        let mut coalescing = device.coalescing;
        if hierarchy.l1.is_none() && coalescing.loads == TransactionRule::KeptQuadsTwice {
            coalescing.loads = TransactionRule::Quads;
        }
        let shape = RecorderShape {
            routes: Arc::clone(&code.routes),
            blocks: code.blocks.len(),
            guarded: code.guarded.len(),
            coalescing,
            banks: device.banks,
            constant_lanes: device.constant_lanes,
            stream_limit: RESIDENT_LINES / resident.max(BATCH),
            trace: None,
        };
        let (blocks, guarded) = (shape.blocks, shape.guarded);
        let rows = RowKey::rows(shape.routes.len());
        Self {
            code,
            grid: launch.grid,
            block: launch.block,
            facts: LaunchFacts::new(launch.ctas(), cta, &device),
            device,
            cta,
            batch: resident.min(BATCH),
            shape,
            hierarchy: Some(Hierarchy::new(&hierarchy)),
            l2: hierarchy.l2,
            contents: L2Contents::default(),
            blocks: vec![BlockCount::default(); blocks],
            guarded_lanes: vec![0; guarded],
            branches: SparseRows::new(0),
            memory: SparseRows::new(rows),
            products: SparseRows::new(0),
            left_out: LeftOut::default(),
            lines: 0,
            tracer: None,
            resident,
            windows: None,
            sample: None,
        }
    }

    /// Goes on with the contents that an earlier launch left in the L2, as [`Counter::finish`]
    /// returns them. `contents` decides if they stay. Call it last before the launch begins.
    #[must_use]
    pub fn with_l2(mut self, contents: L2Contents, before: Option<L2>) -> Self {
        self.contents = contents;
        if let Some(l2) = before.filter(|l2| contents.stays() && l2.geometry() == &self.l2) {
            self.hierarchy = self.hierarchy.map(|hierarchy| hierarchy.with_l2(l2));
        }
        self
    }

    /// Counts accesses as machine code makes them. Call it before the launch begins.
    ///
    /// Accesses to local memory whose data it has in registers are kept from the caches. They move
    /// no sectors. As requests of the PTX they count until [`LaunchProfile::with_machine`] takes
    /// them away. Of accesses to shared memory that are joined, the passes of the wider ones are
    /// counted beside their own ([`MemoryCounts::wider`]).
    #[must_use]
    pub fn with_machine_accesses(mut self, accesses: &KnownAccesses) -> Self {
        let mut routes = self.shape.routes.to_vec();
        for &instruction in &accesses.local_in_registers {
            if let Some(route) = routes.get_mut(instruction as usize) {
                route.local_in_registers = true;
            }
        }
        for &SharedWidth { instruction, bytes } in &accesses.shared_widths {
            let at = WIDER_BYTES.iter().position(|&width| width == bytes);
            if let (Some(route), Some(at)) = (routes.get_mut(instruction as usize), at) {
                route.wider[at] = true;
            }
        }
        self.shape.routes = routes.into();
        self
    }

    /// Records the order of events in some CTAs as well: [`LaunchProfile::trace`]. Call it before
    /// the launch begins.
    #[must_use]
    pub fn with_trace(mut self, limits: &TraceLimits) -> Self {
        let l1 = self.device.hierarchy(self.cta).l1;
        let stays = |l1: &L1Geometry| l1.keeps.local && l1.local_stores == LocalStores::WriteBack;
        let launch = PlannedLaunch {
            grid: self.grid,
            warps_per_cta: self.cta.threads.div_ceil(32),
            blocks: &self.code.blocks,
            rows: RowKey::rows(self.code.instructions.len()),
            local_stores_stay: l1.as_ref().is_some_and(stays),
        };
        let plan = Arc::new(TracePlan::new(limits, &launch));
        self.shape.trace = Some(Arc::clone(&plan));
        self.tracer = Some(LaunchTracer::new(plan));
        self
    }

    /// Registers that each thread has: fewer CTAs may then run at the same time. Call it before the
    /// launch begins.
    #[must_use]
    pub fn with_registers(mut self, registers: ThreadRegisters) -> Self {
        self.cta.registers_per_thread =
            Some(self.device.registers_of_thread(registers, self.cta.threads));
        self.facts = LaunchFacts {
            estimated_registers: registers.estimated,
            spilled_registers: registers.spilled,
            cluster_ctas: self.facts.cluster_ctas,
            ..LaunchFacts::new(self.facts.ctas, self.cta, &self.device)
        };
        let hierarchy = self.device.hierarchy(self.cta);
        let resident = resident_ctas(&hierarchy, self.facts.ctas);
        (self.resident, self.batch) = (resident, resident.min(BATCH));
        if self.hierarchy.is_some() {
            self.shape.stream_limit = RESIDENT_LINES / resident.max(BATCH);
            self.hierarchy = Some(Hierarchy::new(&hierarchy));
        }
        self
    }

    /// Leaves the caches out: no request is kept, and what depends on caches has no value. Call it
    /// before the launch begins, and not with a trace, which needs the levels of requests.
    #[must_use]
    pub fn without_caches(mut self) -> Self {
        self.shape.stream_limit = 0;
        self.hierarchy = None;
        self
    }

    /// Lets the CTAs of some windows go through the caches, where the launch is counted by
    /// classes of CTAs and the grid is large enough; all go otherwise. A trace then records CTAs of
    /// the windows. Before that, sums must pass [`Counter::check_sums`] with `times`. Call it
    /// before the launch begins.
    #[must_use]
    pub fn with_windows(mut self, times: u64, size: WindowSizes) -> Self {
        self.windows = Some(WindowReplay::new(times, size));
        self
    }

    /// Estimates the counts of the launch from a sample, where the launch is executed by
    /// [`run_sample`](gpucast_interpreter::run_sample) and the grid is large enough. Call it before
    /// the launch begins, and not with a trace.
    #[must_use]
    pub fn with_sample(mut self, size: SampleSize) -> Self {
        self.sample = Some(Sample::new(size, self.code.blocks.len(), self.code.guarded.len()));
        self
    }

    /// True if all CTAs have been told of by class, and some come one by one for the caches.
    pub(crate) fn hears_of_windows(&self) -> bool {
        self.windows.as_ref().is_some_and(WindowReplay::has_begun)
    }

    /// The CTAs that an SM runs at the same time, and the limit that keeps it from more.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        self.device.occupancy(self.cta)
    }

    /// A recorder for one CTA.
    #[must_use]
    pub fn cta_recorder(&self) -> CtaRecorder {
        CtaRecorder::new(&self.shape)
    }

    /// The profile of the launch, and the L2 with its contents; without caches there is none.
    #[must_use]
    pub fn finish(mut self) -> (LaunchProfile, Option<L2>) {
        if let Some(windows) = self.windows.take_if(|windows| windows.is_cut())
            && let Some(hierarchy) = self.hierarchy.take()
        {
            return self.finish_windows(windows, hierarchy);
        }
        if let Some(sample) = self.sample.take_if(|sample| sample.has_begun()) {
            return self.finish_sample(sample);
        }
        let has_caches = self.hierarchy.is_some();
        let (traffic, doubt, l2) = match self.hierarchy.take() {
            Some(hierarchy) => {
                let (traffic, doubt, l2) = self.settle(hierarchy);
                (traffic, doubt, Some(l2))
            }
            None => (L2Traffic::default(), None, None),
        };
        let table = self.table(has_caches);
        let trace = self.tracer.take().map(|tracer| tracer.finish(&table, &traffic));
        let replay = match &doubt {
            _ if !has_caches => Replay::None,
            None => Replay::Whole,
            Some(_) => Replay::Part,
        };
        let mut profile = LaunchProfile::new(
            self.code.kernel,
            (self.grid, self.block),
            self.facts,
            table,
            traffic,
            (replay, Extent::Grid),
        );
        profile.trace = trace.map(Arc::new);
        if let Some(doubt) = doubt {
            profile = profile.with_doubt(doubt);
        }
        (profile, l2)
    }

    fn finish_windows(
        mut self,
        windows: WindowReplay,
        hierarchy: Hierarchy,
    ) -> (LaunchProfile, Option<L2>) {
        let replay = windows.replay();
        let (Variant { table, l2: traffic }, doubt, l2) = self.settle_windows(windows, hierarchy);
        let extent = (self.grid, self.block);
        let trace = self.tracer.take().map(|tracer| tracer.finish(&table, &traffic));
        let mut profile = LaunchProfile::new(
            self.code.kernel,
            extent,
            self.facts,
            table,
            traffic,
            (replay, Extent::Grid),
        );
        profile.trace = trace.map(Arc::new);
        (profile.with_doubt(doubt), Some(l2))
    }

    fn finish_sample(mut self, sample: Sample) -> (LaunchProfile, Option<L2>) {
        let (estimate, l2) = self.settle_sample(sample);
        let Variant { table, l2: traffic } = estimate.whole(Unsure::VALUE);
        let replay = if estimate.has_caches() { Replay::Whole } else { Replay::None };
        let extent = (self.grid, self.block);
        let profile = LaunchProfile::new(
            self.code.kernel,
            extent,
            self.facts,
            table,
            traffic,
            (replay, Extent::Sample),
        );
        (profile.with_doubt(Doubt::Sample(Box::new(estimate))), l2)
    }

    /// Ends the replay of the caches, and gives rows their traffic. It is in doubt if requests were
    /// left out, or if nothing is known of a part of what the launch found in the L2.
    fn settle(&mut self, hierarchy: Hierarchy) -> (L2Traffic, Option<Doubt>, L2) {
        let (rows, mut l2) = hierarchy.finish(self.contents);
        let found = Found::take(&mut l2, self.tracer.as_ref());
        let rows = match &mut self.tracer {
            Some(tracer) => tracer.settle(rows),
            None => rows,
        };
        let mut replayed = Replayed { rows: SparseRows::new(0), l2: l2.take_traffic() };
        // Instructions beyond the limit share a row, which is nobody's.
        for (row, traffic) in rows.into_iter().filter(|(row, _)| *row < ROW_LIMIT) {
            *replayed.rows.row(row) += traffic;
        }
        let others = found.others(&replayed, |key| self.memory.get(key).map(|row| row.kind));
        if self.left_out.sectors > 0 {
            let (traffic, doubt) = self.settle_left_out(&replayed, &others);
            return (traffic, Some(doubt), l2);
        }
        let others = others.iter().map(|other| {
            let mut memory = self.memory.clone();
            let l2 = other.give(&mut memory);
            Answer::alone(Variant { table: self.table_of(&memory), l2 })
        });
        let others: Vec<Answer> = others.collect();
        let traffic = replayed.give(&mut self.memory);
        if others.is_empty() {
            return (traffic, None, l2);
        }
        let likely = Variant { table: self.table_of(&self.memory), l2: traffic };
        let answers = std::iter::once(Answer::alone(likely)).chain(others).collect();
        (traffic, Some(Doubt::Replay(answers)), l2)
    }

    /// CTAs of a grid whose CTAs are asked for by their place. The engine refuses larger ones.
    fn ctas_in_order(&self) -> u64 {
        self.facts.ctas.try_into().unwrap_or(u64::MAX)
    }

    /// The base table of the counts so far.
    fn table(&self, has_caches: bool) -> BaseTable {
        self.table_with(&self.memory, has_caches)
    }

    /// The same with other traffic.
    fn table_of(&self, memory: &SparseRows<MemoryCounts>) -> BaseTable {
        self.table_with(memory, true)
    }

    fn table_with(&self, memory: &SparseRows<MemoryCounts>, has_caches: bool) -> BaseTable {
        let (branches, products) = (&self.branches, &self.products);
        let (blocks, lanes) = (&self.blocks, &self.guarded_lanes);
        self.code.table(blocks, lanes, branches, memory, products, has_caches)
    }
}

impl Observer for Counter {
    type Recorder = CtaRecorder;

    fn recorder(&self, _program: &Program) -> CtaRecorder {
        self.cta_recorder()
    }

    fn wave(&self) -> usize {
        self.batch
    }

    fn adds_up(&self) -> bool {
        let looks_at_ctas = self.hierarchy.is_some() || self.tracer.is_some();
        !looks_at_ctas && self.windows.is_none() && self.sample.is_none()
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut CtaRecorder]) {
        if let Some(sample) = self.sample.as_mut().filter(|sample| sample.has_begun()) {
            sample.collect(recorders, self.hierarchy.as_mut());
            recorders.iter_mut().for_each(|recorder| recorder.clear());
            return;
        }
        if let (Some(windows), Some(hierarchy)) = (&mut self.windows, &mut self.hierarchy)
            && windows.has_begun()
        {
            // Before a window ends: the caches then tell of its recorded CTAs.
            if windows.is_cut() {
                windows.end_parts(first_cta, hierarchy, self.tracer.as_mut());
            }
            if let Some(launch) = &mut self.tracer {
                for recorder in recorders.iter_mut() {
                    if let (Some(cta), Some(sample)) = (&recorder.tracer, recorder.sample.take()) {
                        launch.take_sample(cta, sample);
                    }
                }
            }
            if windows.is_cut() {
                windows.collect(first_cta, recorders, hierarchy, self.tracer.as_ref());
            } else {
                self.left_out.through_caches(recorders, hierarchy, self.tracer.as_ref());
            }
            recorders.iter_mut().for_each(|recorder| recorder.clear());
            return;
        }
        for (cta, recorder) in (first_cta..).zip(recorders.iter_mut()) {
            for (total, count) in self.blocks.iter_mut().zip(recorder.block_counts()) {
                total.zip(count, &mut add);
            }
            for (total, lanes) in self.guarded_lanes.iter_mut().zip(&recorder.guarded_lanes) {
                add(total, *lanes);
            }
            for (instruction, counts) in recorder.branches.iter() {
                self.branches.row(instruction).zip(counts, &mut add);
            }
            for (key, counts) in recorder.memory.iter() {
                self.memory.row(key).add(counts);
            }
            for (key, &operations) in recorder.products.iter() {
                add(self.products.row(key), operations);
            }
            if let (Some(tracer), Some(of_cta)) = (&mut self.tracer, &recorder.tracer) {
                let sample = recorder.sample.take();
                tracer.collect(of_cta, sample, cta, &recorder.memory);
            }
        }
        match &mut self.hierarchy {
            Some(hierarchy) => {
                self.left_out.through_caches(recorders, hierarchy, self.tracer.as_ref());
            }
            None => recorders.iter_mut().for_each(|recorder| {
                recorder.stream.take_left_out_sectors();
            }),
        }
        recorders.iter_mut().for_each(|recorder| recorder.clear());
    }

    fn fresh(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests;
