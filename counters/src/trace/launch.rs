//! The trace of a launch, from its CTAs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gpucast_interpreter::{AccessKind, GridBox};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::launch::Beside;

use super::classes::{Class, ClassKey, Classes, Grouped, Stratum};
use super::levels::LaunchLevels;
use super::outline::Outline;
use super::plan::TracePlan;
use super::recorder::CtaTracer;
use super::sample::CtaSample;
use super::{ClassTrace, LaunchTrace, runs, turns, windows};
use crate::counts::MemoryCounts;
use crate::hierarchy::{L2Traffic, PartTraffic, RowTraffic, Singles};
use crate::row_key::RowKey;
use crate::sparse::SparseRows;
use crate::table::BaseTable;

/// Collects the CTAs of a launch.
#[derive(Clone, Debug)]
pub(crate) struct LaunchTracer {
    plan: Arc<TracePlan>,
    classes: Classes,
    /// Where the CTAs of each class stand, as far as they were told of by class.
    boxes: Vec<(ClassKey, GridBox)>,
    /// The recorded CTAs with their class, by their place among them.
    samples: Vec<(u32, CtaSample)>,
    /// One outline of each stratum of classes.
    outlines: BTreeMap<Stratum, (ClassKey, Outline)>,
    /// Executions of blocks in them.
    outlined: usize,
}

/// Executions of blocks that outlines hold together, 8 bytes each.
const MOST_OUTLINED: usize = 4 << 20;

/// Outlines that become records.
const MOST_OUTLINES: usize = 24;

impl LaunchTracer {
    pub(crate) fn new(plan: Arc<TracePlan>) -> Self {
        Self {
            plan,
            classes: Classes::default(),
            boxes: Vec::new(),
            samples: Vec::new(),
            outlines: BTreeMap::new(),
            outlined: 0,
        }
    }

    /// Takes over CTAs that have all seen the same, with the counts of each.
    pub(crate) fn tally(
        &mut self,
        tracer: &CtaTracer,
        places: &GridBox,
        memory: &SparseRows<MemoryCounts<u64>>,
    ) {
        self.boxes.push((tracer.class(), *places));
        self.outline(tracer, 0, memory);
    }

    /// Keeps the outline of a CTA if there is none like it.
    fn outline(&mut self, tracer: &CtaTracer, cta: u64, memory: &SparseRows<MemoryCounts<u64>>) {
        let key = tracer.class();
        let stratum = Stratum::of(&key);
        if self.outlined >= MOST_OUTLINED || self.outlines.contains_key(&stratum) {
            return;
        }
        if let Some(outline) = tracer.outline(cta, memory) {
            self.outlined += outline.visits();
            self.outlines.insert(stratum, (key, outline));
        }
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
            let chosen = windows::chosen_ctas(grid, self.plan.limits().samples, windows, class_of);
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

    /// The row of the instruction whose request has a row of its own.
    pub(crate) fn row_of_single(&self, row: u32) -> Option<u32> {
        let (place, index) = self.plan.single(row)?;
        let at = self.samples.binary_search_by_key(&place, |(_, sample)| sample.place()).ok()?;
        self.samples.get(at)?.1.row(index).map(RowKey::index)
    }

    /// The record that a row belongs to, and its place in it.
    fn single(&mut self, row: u32) -> Option<(&mut CtaSample, u32)> {
        let (place, index) = self.plan.single(row)?;
        let samples = &mut self.samples;
        let at = samples.binary_search_by_key(&place, |(_, sample)| sample.place()).ok()?;
        samples.get_mut(at).map(|(_, sample)| (sample, index))
    }

    /// Takes over the next CTA of the grid, which has the place `cta`, with its counts.
    pub(crate) fn collect(
        &mut self,
        tracer: &CtaTracer,
        sample: Option<Box<CtaSample>>,
        cta: u64,
        memory: &SparseRows<MemoryCounts<u64>>,
    ) {
        let class = self.classes.push(tracer.class());
        self.outline(tracer, cta, memory);
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
            // How lately DRAM was asked is known of the request alone.
            let counted = RowTraffic { fetched: Default::default(), ..traffic };
            *sums.row(of_instruction.map_or(row, |row| row.index())) += counted;
        }
        sums.iter().map(|(row, traffic)| (row, *traffic)).collect()
    }

    /// The trace, given the counts of the launch.
    pub(crate) fn finish(self, table: &BaseTable, l2: &L2Traffic) -> LaunchTrace {
        let Self { plan, classes, boxes: _, samples, outlines, outlined: _ } = self;
        let grouped = classes.grouped(plan.limits().classes);
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
        if !samples_need_order(&traces) {
            let outlines = outlines.into_values().collect();
            for (group, outline) in chosen(outlines, &classes, &grouped, &traces) {
                let record = outline.record(&plan, |key, sectors| levels.draw(key, sectors));
                traces[group].samples.push(record);
            }
        }
        notes.extend(unrecorded(&traces));
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

/// True if what requests bring about beside the load-store path must come in its order: outlines
/// do not know it.
fn samples_need_order(traces: &[ClassTrace]) -> bool {
    let samples = traces.iter().flat_map(|class| &class.samples);
    let requests = samples.flat_map(|cta| &cta.warps).flat_map(|warp| warp.requests.values());
    requests
        .flatten()
        .any(|request| matches!(request.beside, Beside::Phase(_) | Beside::Product { .. }))
}

/// The outlines of groups of classes without a recorded CTA, those first that say most of the time:
/// of the longest CTAs, and of most instructions.
fn chosen(
    outlines: Vec<(ClassKey, Outline)>,
    classes: &Classes,
    grouped: &Grouped,
    traces: &[ClassTrace],
) -> Vec<(usize, Outline)> {
    let largest = |of: fn(&Class) -> u64| grouped.classes.iter().map(of).max().unwrap_or(0);
    let longest = largest(|class| class.longest_warp).max(1) as f64;
    let instructions = |class: &Class| class.ctas as f64 * class.warp_instructions as f64;
    let all: f64 = grouped.classes.iter().map(instructions).sum();
    let importance = |group: usize| {
        let class = &grouped.classes[group];
        (class.longest_warp as f64 / longest).max(instructions(class) / all.max(1.0))
    };
    let mut found: Vec<(usize, u64, Outline)> = Vec::new();
    for (key, outline) in outlines {
        let Some(group) = classes.find(key).map(|class| grouped.group_of[class as usize]) else {
            continue;
        };
        let group = group as usize;
        if traces[group].samples.is_empty() {
            let distance = key.warp_instructions.abs_diff(grouped.classes[group].warp_instructions);
            found.push((group, distance, outline));
        }
    }
    // Of each group that which is most like the mean, and of equal ones the first of the grid.
    found.sort_by_key(|(group, distance, outline)| (*group, *distance, outline.cta()));
    found.dedup_by_key(|(group, _, _)| *group);
    found.sort_by(|one, other| importance(other.0).total_cmp(&importance(one.0)));
    found.truncate(MOST_OUTLINES);
    found.into_iter().map(|(group, _, outline)| (group, outline)).collect()
}

/// Tells of classes without a record.
fn unrecorded(traces: &[ClassTrace]) -> Option<String> {
    let without = traces.iter().filter(|class| class.samples.is_empty());
    let ctas: u64 = without.map(|class| class.ctas).sum();
    (ctas > 0)
        .then(|| format!("{ctas} blocks of the grid are of classes of which none was recorded."))
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
