//! The order of events in a few CTAs of a launch: what a simulation of time needs beyond counts.
//!
//! Every CTA belongs to a class: CTAs of a class execute each block equally often. A few CTAs are
//! recorded whole: the blocks of each warp in order, and its requests to memory with the level that
//! served each.

use std::collections::BTreeMap;

use gpucast_simulation::launch::{CtaRun, Request};

/// The order of events in a launch, at the level of PTX.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchTrace {
    /// The classes of CTAs.
    pub classes: Vec<ClassTrace>,
    /// The classes of all CTAs in order of the grid, as runs of indices into `classes`.
    pub order: Vec<CtaRun>,
    /// Sectors that DRAM writes for each sector stored to global or local memory.
    pub dram_writes_per_store: f64,
    /// What is approximate about it, in sentences.
    pub notes: Vec<String>,
}

/// The recorded CTAs of a class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassTrace {
    /// CTAs of the class, at least one.
    pub ctas: u64,
    /// Executions of blocks by warps of one CTA, times the instructions in them.
    pub warp_instructions: u64,
    /// CTAs that were recorded, in order of the grid. Empty if none of this class was.
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
    /// instruction of which no lane takes part have no request.
    pub requests: BTreeMap<u32, Vec<Request>>,
    /// Executions of blocks beyond the recording's limit, times the instructions in them.
    pub left_out_instructions: u64,
}

/// One execution of a block by a warp, or by the part of it that executes it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockVisit {
    /// Index into the program's blocks.
    pub block: u32,
    /// Lanes that execute it.
    pub lanes: u32,
}
