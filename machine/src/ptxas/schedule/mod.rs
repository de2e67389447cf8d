//! A launch as a simulation of time takes it: machine code with its scheduling fields, and the way
//! of each recorded warp through it.
//!
//! ```text
//! cubin ── isa::control, detail ─► instructions, classes ──────────────────► Code ──┐
//! trace ── blocks of each warp ─► solutions ─► plan ─► replay ─► paths ─────────────┼─► Launch
//!       └─ requests by PTX instruction ─────────────────────────► request queues ───┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `classes` | the unit of each mnemonic |
//! | `instructions` | what each instruction does besides |
//! | `queues` | the recorded requests that machine instructions make |
//! | `combining` | atomics whose values a warp adds up first |
//! | `solutions` | executions of machine blocks by one warp |
//! | `plan` | the PTX block that brings about each machine block |
//! | `replay` | the order of machine blocks |
//! | `nest` | loops of a control-flow graph |

mod classes;
mod combining;
mod instructions;
mod nest;
mod plan;
mod products;
mod queues;
mod replay;
mod solutions;

use std::collections::HashMap;

use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::{ClassTrace, LaunchTrace, WarpRecord};
use gpucast_interpreter::Program;
use gpucast_simulation::launch::{CtaClass, CtaTrace, Launch, WarpTrace};

use super::code::Code;
use super::image::Image;
use super::line_table::LineTable;
use super::listing::Listing;
use super::{MachineError, Prepared};
use combining::combining;
use instructions::translate;
use nest::Nest;
use plan::{Anchors, Loops, Plan};
use queues::Queues;
use replay::{MOST_VISITS, Path, replay};
use solutions::{Solutions, WarpCounts};

/// Makes the launch of `program`'s kernel ready to be simulated on the machine code in the cubin
/// `image`, which an assembler made from `prepared`. `table` holds the counts of the execution and
/// `trace` its recorded CTAs.
///
/// Classes are those of the trace, in its order. The sample of the class with the nearest number of
/// instructions stands in for a class that has none.
///
/// # Errors
///
/// [`MachineError`] as of [`super::attribute`]. [`MachineError::NoSchedule`] if the code has no
/// scheduling fields (sm_35, sm_37) or no CTA was recorded.
pub fn schedule(
    image: &[u8],
    prepared: &Prepared,
    program: &Program,
    table: &BaseTable,
    trace: &LaunchTrace,
) -> Result<Launch, MachineError> {
    let no_schedule =
        |reason| MachineError::NoSchedule { kernel: program.kernel().to_owned(), reason };
    let image = Image::parse(image, program.kernel())?;
    let lines = LineTable::parse(&image.line_table, prepared.file)?;
    let code = Code::read(&image)?;
    let listing = Listing::new(&image, &lines, &code, prepared, program, table)?;
    let queues = Queues::new(&listing, trace);
    let recorded = trace.classes.iter().flat_map(|class| &class.samples);
    let warps = recorded.map(|cta| cta.warps.len()).sum();
    let mut scheduler = Scheduler::new(&listing, &queues, warps)?;
    let executions = &scheduler.solutions.of_launch().warps;
    let code = translate(&image, &listing, &queues, executions)
        .ok_or_else(|| no_schedule("it says not when its instructions may issue"))?;
    let samples: Vec<Vec<CtaTrace>> = trace
        .classes
        .iter()
        .map(|class| class.samples.iter().map(|cta| scheduler.cta(&cta.warps)).collect())
        .collect();
    let classes = stand_ins(&trace.classes, samples)
        .ok_or_else(|| no_schedule("none of its CTAs was recorded"))?;
    let launch = Launch {
        code,
        classes,
        order: trace.order.clone(),
        dram_writes_per_store: trace.dram_writes_per_store,
        tensor_columns: trace.tensor_columns,
        turns: trace.turns.clone(),
    };
    let combining = combining(&listing, &launch.code);
    Ok(launch.with_equal_pairs().with_combined_atomics(&combining))
}

/// The classes with a sample each; `None` if there are no samples.
fn stand_ins(classes: &[ClassTrace], samples: Vec<Vec<CtaTrace>>) -> Option<Vec<CtaClass>> {
    let instructions: Vec<u64> = classes.iter().map(|class| class.warp_instructions).collect();
    let recorded: Vec<usize> =
        (0..classes.len()).filter(|&class| !samples[class].is_empty()).collect();
    let nearest = |class: usize| {
        let distance = |other: &usize| instructions[*other].abs_diff(instructions[class]);
        recorded.iter().copied().min_by_key(distance)
    };
    let mut stand_ins = Vec::new();
    for class in 0..classes.len() {
        if samples[class].is_empty() {
            let other = nearest(class)?;
            let scale = instructions[class] as f64 / instructions[other].max(1) as f64;
            let sample = samples[other].first()?.clone();
            stand_ins.push((class, CtaClass { samples: vec![sample], scale }));
        }
    }
    let mut all: Vec<CtaClass> =
        samples.into_iter().map(|samples| CtaClass { samples, scale: 1.0 }).collect();
    for (class, stand_in) in stand_ins {
        all[class] = stand_in;
    }
    (!all.is_empty()).then_some(all)
}

/// Finds the ways of warps through the code.
struct Scheduler<'l, 'a> {
    solutions: Solutions<'l, 'a>,
    anchors: Anchors,
    machine_loops: Nest,
    ptx_loops: Nest,
    ptx_successors: Vec<Vec<usize>>,
    /// Instructions of each machine block, and of each PTX block.
    lengths: Vec<u32>,
    ptx_lengths: Vec<u32>,
    /// The plan of warps whose executions are shares of the launch's.
    of_launch: Plan,
    /// The plans of other warps; `None` if those of the launch have to do.
    plans: HashMap<WarpCounts, Option<Plan>>,
    queues: &'l Queues,
    /// Machine blocks that paths may still take, and the warps that share them.
    room: usize,
    warps: usize,
}

impl<'l, 'a> Scheduler<'l, 'a> {
    fn new(
        listing: &'l Listing<'a>,
        queues: &'l Queues,
        warps: usize,
    ) -> Result<Self, MachineError> {
        let blocks = &listing.code.blocks;
        let machine: Vec<Vec<usize>> = blocks
            .iter()
            .map(|block| block.edges.iter().filter_map(|edge| edge.to).collect())
            .collect();
        let ptx_blocks = listing.program.blocks();
        let ptx_successors: Vec<Vec<usize>> = ptx_blocks
            .iter()
            .map(|block| block.successors.iter().map(|&to| to as usize).collect())
            .collect();
        let solutions = Solutions::new(listing)?;
        let anchors = Anchors::new(listing);
        let machine_loops = Nest::new(&machine);
        let ptx_loops = Nest::new(&ptx_successors);
        let loops = Loops { machine: &machine_loops, ptx: &ptx_loops };
        Ok(Self {
            of_launch: anchors.plan(solutions.of_launch(), loops),
            solutions,
            anchors,
            machine_loops,
            ptx_loops,
            ptx_successors,
            lengths: blocks.iter().map(|block| block.instructions.len() as u32).collect(),
            ptx_lengths: ptx_blocks.iter().map(|block| block.instruction_count).collect(),
            plans: HashMap::new(),
            queues,
            room: MOST_VISITS,
            warps,
        })
    }

    fn cta(&mut self, warps: &[WarpRecord]) -> CtaTrace {
        CtaTrace { warps: warps.iter().map(|warp| self.warp(warp)).collect() }
    }

    fn warp(&mut self, record: &WarpRecord) -> WarpTrace {
        let path = self.path(record);
        self.room -= path.blocks.len();
        self.warps = self.warps.saturating_sub(1);
        let all = path.instructions + path.left_out;
        // What the recording left out is in instructions of the PTX.
        let length = |block: u32| self.ptx_lengths.get(block as usize).copied().unwrap_or(0);
        let of_ptx: u64 = record.blocks.iter().map(|visit| u64::from(length(visit.block))).sum();
        let unrecorded = record.left_out_instructions as f64 * all as f64 / of_ptx.max(1) as f64;
        let kept = path.instructions as f64 / all.max(1) as f64;
        let mut requests = self.queues.requests(record);
        for requests in &mut requests {
            // Those of the part of the path that was cut are left out with it.
            requests.truncate((requests.len() as f64 * kept).round() as usize);
        }
        WarpTrace {
            path: path.blocks,
            requests,
            left_out_instructions: path.left_out + unrecorded.round() as u64,
        }
    }

    fn path(&mut self, record: &WarpRecord) -> Path {
        // The counts of a part say nothing about the whole.
        let counts = (record.left_out_instructions == 0)
            .then(|| WarpCounts::new(record, &self.ptx_successors));
        let plan = counts.and_then(|counts| {
            let plan = self.plans.entry(counts).or_insert_with_key(|counts| {
                let executions = self.solutions.of_warp(counts)?;
                let loops = Loops { machine: &self.machine_loops, ptx: &self.ptx_loops };
                Some(self.anchors.plan(&executions, loops))
            });
            plan.as_ref()
        });
        let plan = plan.unwrap_or(&self.of_launch);
        // What short paths leave, longer ones may take.
        let room = self.room / self.warps.max(1);
        replay(&record.blocks, plan, &self.ptx_loops, &self.lengths, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_class_stands_in_for_one_without_samples() {
        let class = |warp_instructions, samples: usize| ClassTrace {
            ctas: 1,
            warp_instructions,
            samples: vec![Default::default(); samples],
        };
        let classes = [class(100, 1), class(40, 0), class(10, 2)];
        let samples = |classes: &[ClassTrace]| {
            let empty = |class: &ClassTrace| vec![CtaTrace::default(); class.samples.len()];
            classes.iter().map(empty).collect()
        };
        let found = stand_ins(&classes, samples(&classes)).unwrap();
        let facts: Vec<(usize, f64)> =
            found.iter().map(|class| (class.samples.len(), class.scale)).collect();
        assert_eq!(facts, [(1, 1.0), (1, 4.0), (2, 1.0)]);
        assert_eq!(stand_ins(&[class(1, 0)], vec![Vec::new()]), None);
        assert_eq!(stand_ins(&[], Vec::new()), None);
    }
}
