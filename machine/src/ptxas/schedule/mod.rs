//! A launch as a simulation of time takes it: machine code with its scheduling fields, and the way
//! of each recorded warp through it.
//!
//! ```text
//! cubin ── isa::control, detail ─► instructions, classes ─────► Code ──┐
//! trace ── blocks of each warp ─► solutions ─► anchors ─► plan ────────┼─► replay ─► Launch
//!       └─ requests by PTX instruction ─────────► request queues ──────┘
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `classes` | the unit of each mnemonic |
//! | `instructions` | what each instruction does besides |
//! | `queues` | the queues of requests that machine instructions take |
//! | `combining` | atomics whose values a warp adds up first |
//! | `solutions` | executions of machine blocks by one warp |
//! | `anchors` | the PTX block that brings about each machine block |
//! | `homes` | the blocks that have become guarded instructions |

mod anchors;
mod classes;
mod combining;
mod homes;
mod instructions;
mod products;
mod queues;
mod solutions;

use std::collections::HashMap;

use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::{LaunchTrace, WarpRecord};
use gpucast_interpreter::Program;
use gpucast_interpreter::program::Block;
use gpucast_simulation::launch::Launch;

use super::code::Code;
use super::image::Image;
use super::line_table::LineTable;
use super::listing::Listing;
use super::{MachineError, Prepared};
use crate::replay::{self, MachineListing, Nest, Plan, Plans};
use anchors::{Anchors, Loops};
use combining::combining;
use homes::homes;
use instructions::translate;
use queues::Queues;
use solutions::{Solutions, WarpCounts};

/// The most visits of machine blocks that the paths of a launch hold. A visit of a PTX block may
/// bring about any number of them.
const MOST_VISITS: usize = 4 << 20;

/// Makes the launch of `program`'s kernel ready to be simulated on the machine code in the cubin
/// `image`, which an assembler made from `prepared`. `table` holds the counts of the execution and
/// `trace` its recorded CTAs.
///
/// Classes are those of the trace, in its order. The samples of the class with the nearest number
/// of instructions stand in for a class that has none.
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
    let ptx_loops = Nest::new(&ptx_successors(listing.program));
    let mut scheduler = Scheduler::new(&listing, &ptx_loops)?;
    let executions = &scheduler.solutions.of_launch().warps;
    let code = translate(&image, &listing, &queues, executions)
        .ok_or_else(|| no_schedule("it says not when its instructions may issue"))?;
    let known = (&scheduler.of_launch, scheduler.solutions.of_launch());
    let homes = homes(&listing, &code, known, &ptx_loops);
    let machine = machine_listing(&listing, &queues, homes, ptx_loops.clone());
    let combining = combining(&listing, &code);
    let launch = replay::launch(code, &machine, &mut scheduler, trace, &combining);
    if launch.classes.is_empty() {
        return Err(no_schedule("none of its CTAs was recorded"));
    }
    Ok(launch)
}

fn machine_listing(
    listing: &Listing<'_>,
    queues: &Queues,
    homes: Vec<u32>,
    loops: Nest,
) -> MachineListing {
    let length = |block: &super::code::Block| block.instructions.len() as u32;
    MachineListing {
        lengths: listing.code.blocks.iter().map(length).collect(),
        ptx_lengths: replay::ptx_lengths(listing.program),
        loops,
        queues: queues.sources(listing, &homes),
        homes,
        most_visits: MOST_VISITS,
    }
}

/// The blocks behind each block of the PTX, branch targets first.
fn ptx_successors(program: &Program) -> Vec<Vec<usize>> {
    let of = |block: &Block| block.successors.iter().map(|&to| to as usize).collect();
    program.blocks().iter().map(of).collect()
}

/// Finds the plan of each warp.
struct Scheduler<'l, 'a> {
    solutions: Solutions<'l, 'a>,
    anchors: Anchors,
    machine_loops: Nest,
    ptx_loops: &'l Nest,
    ptx_successors: Vec<Vec<usize>>,
    /// The plan of warps whose executions are shares of the launch's.
    of_launch: Plan,
    /// The plans of other warps; `None` if those of the launch have to do.
    plans: HashMap<WarpCounts, Option<Plan>>,
}

impl<'l, 'a> Scheduler<'l, 'a> {
    fn new(listing: &'l Listing<'a>, ptx_loops: &'l Nest) -> Result<Self, MachineError> {
        let blocks = &listing.code.blocks;
        let machine: Vec<Vec<usize>> = blocks
            .iter()
            .map(|block| block.edges.iter().filter_map(|edge| edge.to).collect())
            .collect();
        let solutions = Solutions::new(listing)?;
        let anchors = Anchors::new(listing);
        let machine_loops = Nest::new(&machine);
        let loops = Loops { machine: &machine_loops, ptx: ptx_loops };
        Ok(Self {
            of_launch: anchors.plan(solutions.of_launch(), loops),
            solutions,
            anchors,
            machine_loops,
            ptx_loops,
            ptx_successors: ptx_successors(listing.program),
            plans: HashMap::new(),
        })
    }
}

impl Plans for Scheduler<'_, '_> {
    fn plan(&mut self, record: &WarpRecord) -> &Plan {
        // The counts of a part say nothing about the whole.
        let counts = (record.left_out_instructions == 0)
            .then(|| WarpCounts::new(record, &self.ptx_successors));
        let plan = counts.and_then(|counts| {
            let plan = self.plans.entry(counts).or_insert_with_key(|counts| {
                let executions = self.solutions.of_warp(counts)?;
                let loops = Loops { machine: &self.machine_loops, ptx: self.ptx_loops };
                Some(self.anchors.plan(&executions, loops))
            });
            plan.as_ref()
        });
        plan.unwrap_or(&self.of_launch)
    }
}
