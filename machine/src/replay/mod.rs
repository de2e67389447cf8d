//! The way of recorded warps through machine code, for both back ends.
//!
//! ```text
//! back end ─► listing: lengths, loops, queues ─┐
//!          └► plan: what a visit brings about ─┼─► walk ─► paths ─┬─► launch
//! trace ───► visits of PTX blocks, requests ───┴─► requests ──────┘
//! ```
//!
//! Visits of the PTX's blocks are taken in their order, and each brings about the machine blocks
//! that a plan says. The rules know which visit of a block was absorbed by another one or became
//! part of an unrolled loop. For the code of `ptxas` only rates are known.
//!
//! | file | idea |
//! |---|---|
//! | `plan` | the machine blocks that visits of each PTX block bring about |
//! | `walk` | the order of machine blocks |
//! | `nest` | loops of a control-flow graph |
//! | `requests` | the recorded requests that machine instructions take |
//! | `classes` | the recorded CTAs that stand for each class |

mod classes;
mod nest;
mod plan;
mod requests;
mod walk;

use std::collections::HashMap;

use gpucast_counters::trace::{CtaRecord, LaunchTrace, WarpRecord};
use gpucast_interpreter::Program;
use gpucast_simulation::Combining;
use gpucast_simulation::code::Code;
use gpucast_simulation::launch::{CtaClass, CtaTrace, Launch, WarpTrace};

pub(crate) use nest::Nest;
pub(crate) use plan::{Follower, Plan, Plans, Rate};
use requests::Rounds;
pub(crate) use requests::{Draw, Queue};
use walk::{Path, walk};

/// Machine code as a replay takes it.
#[derive(Clone, Debug)]
pub(crate) struct MachineListing {
    /// Instructions of each machine block.
    pub(crate) lengths: Vec<u32>,
    /// Instructions of each PTX block.
    pub(crate) ptx_lengths: Vec<u32>,
    /// The loops of the PTX over whose rounds a plan spreads executions.
    pub(crate) loops: Nest,
    /// For each PTX block, the one whose machine instructions hold its own under a guard: in each
    /// round it comes before them or behind them, as its number says.
    pub(crate) homes: Vec<u32>,
    /// The queues of requests, by number.
    pub(crate) queues: Vec<Queue>,
    /// The most visits of machine blocks that the paths of a launch hold.
    pub(crate) most_visits: usize,
}

/// The instructions of each block of a program.
pub(crate) fn ptx_lengths(program: &Program) -> Vec<u32> {
    program.blocks().iter().map(|block| block.instruction_count).collect()
}

/// The launch of `code` with the ways of the warps of `trace`. It has no classes if nothing was
/// recorded.
pub(crate) fn launch(
    code: Code,
    listing: &MachineListing,
    plans: &mut impl Plans,
    trace: &LaunchTrace,
    combining: &HashMap<u32, Combining>,
) -> Launch {
    let classes = Replay::new(listing, trace).classes(plans, trace);
    let order = if classes.is_empty() { Vec::new() } else { trace.order.clone() };
    let launch = Launch {
        code,
        classes,
        order,
        dram_writes_per_store: trace.dram_writes_per_store,
        tensor_columns: trace.tensor_columns,
        turns: trace.turns.clone(),
    };
    launch.with_equal_pairs().with_combined_atomics(combining)
}

/// Finds the ways of a launch's warps.
struct Replay<'a> {
    listing: &'a MachineListing,
    /// Machine blocks that paths may still take, and the warps that share them.
    room: usize,
    warps: usize,
}

impl<'a> Replay<'a> {
    fn new(listing: &'a MachineListing, trace: &LaunchTrace) -> Self {
        let recorded = trace.classes.iter().flat_map(|class| &class.samples);
        let warps = recorded.map(|cta| cta.warps.len()).sum();
        Self { listing, room: listing.most_visits, warps }
    }

    fn classes(mut self, plans: &mut impl Plans, trace: &LaunchTrace) -> Vec<CtaClass> {
        let mut cta = |record: &CtaRecord| {
            let warps = record.warps.iter().map(|warp| self.warp(warp, plans.plan(warp)));
            CtaTrace { warps: warps.collect() }
        };
        let samples =
            trace.classes.iter().map(|class| class.samples.iter().map(&mut cta).collect());
        let samples = samples.collect();
        classes::with_stand_ins(&trace.classes, samples)
    }

    fn warp(&mut self, record: &WarpRecord, plan: &Plan) -> WarpTrace {
        let path = self.path(record, plan);
        let all = path.instructions + path.left_out;
        let rounds = Rounds::new(&self.listing.homes, record);
        let mut requests: Vec<_> =
            self.listing.queues.iter().map(|queue| queue.requests(record, &rounds)).collect();
        if path.left_out > 0 {
            // Those of the part of the path that was cut are left out with it.
            let kept = path.instructions as f64 / all as f64;
            for requests in &mut requests {
                requests.truncate((requests.len() as f64 * kept).round() as usize);
            }
        }
        WarpTrace {
            left_out_instructions: path.left_out.saturating_add(self.unrecorded(record, all)),
            path: path.blocks,
            requests,
        }
    }

    /// What short paths leave, longer ones may take.
    fn path(&mut self, record: &WarpRecord, plan: &Plan) -> Path {
        let room = self.room / self.warps.max(1);
        let MachineListing { lengths, loops, .. } = self.listing;
        let path = walk(&record.blocks, plan, loops, lengths, room);
        self.room -= path.blocks.len();
        self.warps = self.warps.saturating_sub(1);
        path
    }

    /// Machine instructions that the recording left out: as many for one of the PTX as the `all`
    /// of the recorded part.
    fn unrecorded(&self, record: &WarpRecord, all: u64) -> u64 {
        let length = |block: u32| self.listing.ptx_lengths.get(block as usize).copied();
        let lengths = record.blocks.iter().filter_map(|visit| length(visit.block));
        let of_ptx: u64 = lengths.map(u64::from).sum();
        let left_out = u128::from(record.left_out_instructions) * u128::from(all);
        let left_out = left_out.checked_div(u128::from(of_ptx)).unwrap_or_default();
        u64::try_from(left_out).unwrap_or(u64::MAX)
    }
}
