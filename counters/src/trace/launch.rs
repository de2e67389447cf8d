//! The trace of a launch, from its CTAs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gpucast_interpreter::{AccessKind, GridBox};
use gpucast_ptx_frontend::types::StateSpace;

use super::choice::chosen_ctas;
use super::classes::{Class, ClassKey, Classes};
use super::levels::LaunchLevels;
use super::recorder::{CtaTracer, mixed};
use super::sample::CtaSample;
use super::{ClassTrace, LaunchTrace, TraceLimits, runs, turns, windows};
use crate::hierarchy::{FIRST_SINGLE_ROW, L2Traffic, NOBODY, PartTraffic, RowTraffic, Singles};
use crate::sparse::SparseRows;
use crate::table::BaseTable;

/// The facts about a launch that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedLaunch<'a> {
    pub(crate) grid: [u32; 3],
    pub(crate) warps_per_cta: u64,
    /// First instruction and number of instructions of each block.
    pub(crate) blocks: &'a [(u32, u32)],
    /// Rows of all instructions.
    pub(crate) rows: usize,
    /// True if stores to local memory stay in an L1.
    pub(crate) local_stores_stay: bool,
}

/// The facts about a block that recording needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockFacts {
    /// A random number of its own.
    pub(super) number: u64,
    pub(super) first: u32,
    pub(super) instructions: u32,
}

/// Decides before a launch which of its events are recorded.
#[derive(Clone, Debug)]
pub struct TracePlan {
    blocks: Vec<BlockFacts>,
    /// The CTAs that are recorded, in order of the grid.
    samples: Vec<u64>,
    warps_per_cta: usize,
    local_stores_stay: bool,
    limits: TraceLimits,
    /// Rows that the requests of all recorded CTAs may have of their own.
    single_rows: u32,
    /// Those of one recorded CTA.
    rows_per_cta: u32,
    /// Lines of one recorded CTA whose levels are recorded.
    lines_per_cta: u64,
}

impl TracePlan {
    pub(crate) fn new(limits: &TraceLimits, launch: &PlannedLaunch<'_>) -> Self {
        let block = |(index, &(first, instructions)): (usize, &(u32, u32))| BlockFacts {
            number: mixed(index as u64),
            first,
            instructions,
        };
        // Rows of a program that has so many are taken; levels are drawn then.
        let has_rows = launch.rows <= FIRST_SINGLE_ROW as usize;
        let plan = Self {
            blocks: launch.blocks.iter().enumerate().map(block).collect(),
            warps_per_cta: launch.warps_per_cta as usize,
            local_stores_stay: launch.local_stores_stay,
            limits: *limits,
            single_rows: if has_rows { NOBODY - FIRST_SINGLE_ROW } else { 0 },
            rows_per_cta: 0,
            lines_per_cta: 0,
            samples: Vec::new(),
        };
        plan.with_samples(chosen_ctas(launch.grid, limits.samples))
    }

    /// The same for other CTAs, in order of the grid. Each has an equal share of the limits.
    pub(super) fn with_samples(&self, samples: Vec<u64>) -> Self {
        let count = samples.len().max(1) as u64;
        Self {
            rows_per_cta: (u64::from(self.single_rows) / count) as u32,
            lines_per_cta: self.limits.lines / count,
            samples,
            ..self.clone()
        }
    }

    /// The limit of one warp, given that of all recorded CTAs.
    fn of_warp(&self, limit: u64) -> u64 {
        limit / self.samples.len().max(1) as u64 / self.warps_per_cta.max(1) as u64
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The facts about a block of the program.
    #[inline]
    pub(super) fn block(&self, block: u32) -> BlockFacts {
        let none = BlockFacts { number: 0, first: 0, instructions: 0 };
        self.blocks.get(block as usize).copied().unwrap_or(none)
    }

    /// True if an instruction stands in a block.
    pub(super) fn is_in(&self, instruction: u32, block: u32) -> bool {
        let BlockFacts { first, instructions, .. } = self.block(block);
        instruction.wrapping_sub(first) < instructions
    }

    pub(super) fn warps_per_cta(&self) -> usize {
        self.warps_per_cta
    }

    /// The place of a CTA among those that are recorded, if it is.
    pub(super) fn place(&self, cta: u64) -> Option<u32> {
        self.samples.binary_search(&cta).ok().map(|place| place as u32)
    }

    pub(super) fn visits_per_warp(&self) -> u64 {
        self.of_warp(self.limits.visits)
    }

    pub(super) fn requests_per_warp(&self) -> u64 {
        self.of_warp(self.limits.requests)
    }

    pub(super) fn lines_per_cta(&self) -> u64 {
        self.lines_per_cta
    }

    pub(super) fn rows_per_cta(&self) -> usize {
        self.rows_per_cta as usize
    }

    /// The first row of the requests of a recorded CTA.
    pub(super) fn first_row(&self, place: u32) -> u32 {
        FIRST_SINGLE_ROW + place * self.rows_per_cta
    }

    /// The recorded CTA that a row belongs to, and the row's place among those of the CTA.
    fn single(&self, row: u32) -> Option<(u32, u32)> {
        let at = row.checked_sub(FIRST_SINGLE_ROW)?;
        let place = at.checked_div(self.rows_per_cta)?;
        ((place as usize) < self.samples.len()).then(|| (place, at % self.rows_per_cta))
    }

    pub(super) fn local_stores_stay(&self) -> bool {
        self.local_stores_stay
    }
}

/// Collects the CTAs of a launch.
#[derive(Clone, Debug)]
pub(crate) struct LaunchTracer {
    plan: Arc<TracePlan>,
    classes: Classes,
    /// Where the CTAs of each class stand, as far as they were told of by class.
    boxes: Vec<(ClassKey, GridBox)>,
    /// The recorded CTAs with their class, by their place among them.
    samples: Vec<(u32, CtaSample)>,
}

impl LaunchTracer {
    pub(crate) fn new(plan: Arc<TracePlan>) -> Self {
        Self { plan, classes: Classes::default(), boxes: Vec::new(), samples: Vec::new() }
    }

    /// Takes over CTAs that have all seen the same.
    pub(crate) fn tally(&mut self, tracer: &CtaTracer, places: &GridBox) {
        self.boxes.push((tracer.class(), *places));
    }

    /// All CTAs of the grid were told of by class. Returns the plan for CTAs that lie in `windows`,
    /// where there are some; `None` if the order of the classes takes too long.
    pub(crate) fn order(
        &mut self,
        grid: [u32; 3],
        windows: &[Range<u64>],
    ) -> Option<Arc<TracePlan>> {
        for (key, ctas) in runs::runs(grid, &self.boxes)? {
            self.classes.push_run(key, ctas);
        }
        if !windows.is_empty() {
            let class_of = |cta| runs::class_of(grid, &self.boxes, cta);
            let chosen = windows::chosen_ctas(grid, self.plan.limits.samples, windows, class_of);
            self.plan = Arc::new(self.plan.with_samples(chosen));
        }
        Some(Arc::clone(&self.plan))
    }

    /// Takes over the record of a CTA that was told of by class.
    pub(crate) fn take_sample(&mut self, tracer: &CtaTracer, mut sample: Box<CtaSample>) {
        sample.end();
        let class = self.classes.find(tracer.class());
        self.samples.extend(class.map(|class| (class, *sample)));
    }

    /// [`Self::settle`] for some CTAs of the grid, whose unsure misses are told apart.
    pub(crate) fn settle_part(&mut self, part: &mut PartTraffic) {
        let Singles { rows, unsure } = std::mem::take(&mut part.singles);
        for (row, traffic) in unsure {
            let of_instruction = self.single(row).and_then(|(sample, index)| sample.row(index));
            *part.unsure.row(of_instruction.map_or(row, |row| row.index())) += traffic;
        }
        for (row, traffic) in self.settle(rows) {
            *part.rows.row(row) += traffic;
        }
    }

    /// The record that a row belongs to, and its place in it.
    fn single(&mut self, row: u32) -> Option<(&mut CtaSample, u32)> {
        let (place, index) = self.plan.single(row)?;
        let samples = &mut self.samples;
        let at = samples.binary_search_by_key(&place, |(_, sample)| sample.place()).ok()?;
        samples.get_mut(at).map(|(_, sample)| (sample, index))
    }

    /// Takes over the next CTA of the grid.
    pub(crate) fn collect(&mut self, tracer: &CtaTracer, sample: Option<Box<CtaSample>>) {
        let class = self.classes.push(tracer.class());
        self.samples.extend(sample.map(|mut sample| {
            sample.end();
            (class, *sample)
        }));
    }

    /// Keeps the traffic of single requests and adds it to the rows of their instructions.
    pub(crate) fn settle(&mut self, rows: Vec<(u32, RowTraffic)>) -> Vec<(u32, RowTraffic)> {
        let mut sums = SparseRows::<RowTraffic>::new(0);
        for (row, traffic) in rows {
            let single = self.single(row);
            let of_instruction = single.and_then(|(sample, index)| sample.settle(index, traffic));
            *sums.row(of_instruction.map_or(row, |row| row.index())) += traffic;
        }
        sums.iter().map(|(row, traffic)| (row, *traffic)).collect()
    }

    /// The trace, given the counts of the launch.
    pub(crate) fn finish(self, table: &BaseTable, l2: &L2Traffic) -> LaunchTrace {
        let Self { plan, classes, boxes: _, samples } = self;
        let grouped = classes.grouped(plan.limits.classes);
        let mut notes = Vec::new();
        if classes.len() > grouped.classes.len() {
            notes.push(format!(
                "The blocks of the grid are of {} classes by what their warps execute. Those of \
                 similar numbers of instructions were put together: {} are left.",
                classes.len(),
                grouped.classes.len()
            ));
        }
        let empty = |class: &Class| ClassTrace {
            ctas: class.ctas,
            warp_instructions: class.warp_instructions,
            samples: Vec::new(),
        };
        let mut traces: Vec<ClassTrace> = grouped.classes.iter().map(empty).collect();
        let mut levels = LaunchLevels::new(table);
        let mut is_saturated = false;
        let mut reuse = BTreeMap::new();
        let mut tensor_columns = 0;
        let mut updates = BTreeMap::new();
        for (class, sample) in samples {
            sample.add_reuse(&mut reuse);
            tensor_columns = tensor_columns.max(sample.tensor_columns());
            let finished = sample.finish(|key, sectors| levels.draw(key, sectors));
            is_saturated |= finished.is_saturated;
            updates.insert(finished.record.cta, finished.updates);
            let group = grouped.group_of[class as usize];
            traces[group as usize].samples.push(finished.record);
        }
        notes.extend(left_out(&traces));
        if levels.drawn > 0 {
            notes.push(format!(
                "The levels of memory that serve {} recorded requests are not known one by one. \
                 They were drawn from the counts of their instructions.",
                levels.drawn
            ));
        }
        let moved = levels.apply(&mut traces);
        if moved > 0 {
            notes.push(format!(
                "Recorded requests of {moved} instructions are served by other levels of memory \
                 than those of all blocks on average. They were moved to the average."
            ));
        }
        let turns = turns::settle(&mut traces, &updates);
        if is_saturated {
            notes.push(format!(
                "A recorded request has more than {} sectors, lines or passes; this number stands \
                 for them.",
                u16::MAX
            ));
        }
        LaunchTrace {
            classes: traces,
            order: grouped.order,
            dram_writes_per_store: dram_writes_per_store(table, l2),
            tensor_columns,
            turns,
            reuse,
            notes,
        }
    }
}

/// Tells if the recorded CTAs are cut.
fn left_out(traces: &[ClassTrace]) -> Option<String> {
    let samples = traces.iter().flat_map(|class| &class.samples);
    let cut = samples
        .map(|sample| sample.warps.iter().map(|warp| warp.left_out_instructions).sum::<u64>())
        .filter(|&left_out| left_out > 0);
    let (ctas, instructions) = cut.fold((0, 0), |(ctas, all), left_out| (ctas + 1, all + left_out));
    (ctas > 0).then(|| {
        format!(
            "The records of {ctas} blocks of the grid are cut; {instructions} instructions of \
             their warps are behind the end."
        )
    })
}

/// Sectors that DRAM writes for each sector that an instruction writes.
fn dram_writes_per_store(table: &BaseTable, l2: &L2Traffic) -> f64 {
    let counts = table.rows.iter().flat_map(|row| &row.memory).filter(|counts| {
        let is_device =
            matches!(counts.space, StateSpace::Global | StateSpace::Local | StateSpace::Tex);
        let writes = match counts.kind {
            AccessKind::Load | AccessKind::LoadReadOnly => false,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => true,
        };
        is_device && writes
    });
    let sectors: u128 = counts.map(|counts| counts.sectors).sum();
    if sectors == 0 { 0.0 } else { l2.dram_write_sectors as f64 / sectors as f64 }
}
