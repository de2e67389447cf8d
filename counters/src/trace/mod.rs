//! The order of events in a few CTAs of a launch: what a simulation of time needs beyond counts.
//!
//! Every CTA belongs to a class: CTAs of a class execute each block equally often. A few CTAs are
//! recorded whole: the blocks of each warp in order, and its requests to memory with the level that
//! served each. They are chosen before anything runs. Of a class that has none of them, one CTA
//! leaves an outline: the blocks of each warp in order, and mean requests.
//!
//! ```text
//! grid ── choice ──► plan ──► recorder (each CTA) ──┬─ classes ───────────────────┐
//!                                                   └─ sample ── requests of the  ├─► LaunchTrace
//!                                                                hierarchy, each  │
//!                                                                with its own row ┴─ levels
//! ```
//!
//! The caches replay the requests of all CTAs. Those of recorded CTAs have rows of their own, so
//! that their traffic is known one by one. It is added to the rows of their instructions
//! afterwards: a trace changes no count.

mod choice;
mod classes;
mod launch;
mod levels;
mod outline;
mod phases;
mod plan;
mod recorder;
mod reuse;
mod runs;
mod sample;
#[cfg(test)]
mod tests;
mod turns;
mod windows;

use std::collections::BTreeMap;

use gpucast_simulation::launch::{CtaRun, Request, Turn};

pub(crate) use launch::LaunchTracer;
pub(crate) use plan::PlannedLaunch;
pub use plan::TracePlan;
pub(crate) use recorder::CtaTracer;
pub use reuse::SectorReuse;
pub(crate) use sample::{CtaSample, Served};

/// The most that a trace holds. Each recorded CTA has an equal share, and each of its warps has an
/// equal share of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLimits {
    /// CTAs that are recorded.
    pub samples: u32,
    /// Executions of blocks by a warp, 8 bytes each.
    pub visits: u64,
    /// Requests, about 60 bytes each.
    pub requests: u64,
    /// Lines of requests whose levels are recorded one by one, about 80 bytes each. The levels of
    /// further requests are drawn from the counts of their instruction.
    pub lines: u64,
    /// Classes that are told apart. Of more, those of similar numbers of instructions are put
    /// together.
    pub classes: u32,
}

impl Default for TraceLimits {
    fn default() -> Self {
        Self { samples: 10, visits: 4 << 20, requests: 2 << 20, lines: 4 << 20, classes: 64 }
    }
}

/// The order of events in a launch, at the level of PTX.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchTrace {
    /// The classes of CTAs.
    pub classes: Vec<ClassTrace>,
    /// The classes of all CTAs in order of the grid, as runs of indices into `classes`.
    pub order: Vec<CtaRun>,
    /// Sectors that DRAM writes for each sector stored to global or local memory, atomics and
    /// reductions included.
    pub dram_writes_per_store: f64,
    /// Columns of tensor memory that a CTA allocates.
    pub tensor_columns: u32,
    /// The turns that requests of atomics take at lines of the L2; see [`Launch::turns`].
    ///
    /// [`Launch::turns`]: gpucast_simulation::launch::Launch::turns
    pub turns: Vec<Turn>,
    /// The loads of global memory by instruction of the program, as far as the recorded CTAs tell.
    pub reuse: BTreeMap<u32, SectorReuse>,
    /// What is approximate about it, in sentences.
    pub notes: Vec<String>,
}

/// The recorded CTAs of a class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassTrace {
    /// CTAs of the class, at least one.
    pub ctas: u64,
    /// Executions of blocks by warps of one CTA, times the instructions in them; the mean where
    /// several classes were put together.
    pub warp_instructions: u64,
    /// CTAs that were recorded, in order of the grid, or the outline of one. Empty if there is
    /// neither.
    pub samples: Vec<CtaRecord>,
}

/// One recorded CTA.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CtaRecord {
    /// Its place in the grid.
    pub cta: u64,
    /// Its warps.
    pub warps: Vec<WarpRecord>,
}

/// The recorded events of a warp.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarpRecord {
    /// The blocks of the program that it executed, in order.
    pub blocks: Vec<BlockVisit>,
    /// Its requests by instruction of the program, in order of execution. Executions of an
    /// instruction of which no lane takes part have no request, but one without lanes if the
    /// instruction uses mbarriers or multiplies in tensor memory. All others have one, also copies
    /// and accesses whose lanes go to several spaces: the space is then that behind the L1.
    ///
    /// The sectors of loads and atomics stand at the level that held them, with those that a miss
    /// brought in besides. Those of stores stand at the level that takes them: the L2, or an L1
    /// that keeps local memory.
    pub requests: BTreeMap<u32, Vec<Request>>,
    /// Executions of blocks beyond the recording's limit, times the instructions in them.
    pub left_out_instructions: u64,
}

/// One execution of a block by a warp, or by the part of it that executes it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockVisit {
    /// Index into the program's blocks.
    pub block: u32,
    /// The lanes that execute it, a bit for each.
    pub lanes: u32,
}
