//! CTAs of a launch: the way of each warp through the code, and its requests.

use serde::{Deserialize, Serialize};

use crate::code::{
    AccessKind, Action, Code, Instruction, MemoryAccess, Space, TensorFormat, TensorMemoryAction,
};

/// A launch, ready to be simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The machine code.
    pub code: Code,
    /// The kinds of CTA, at least one. CTAs of a class execute each block equally often.
    pub classes: Vec<CtaClass>,
    /// The classes of all CTAs in order of the grid, as runs.
    pub order: Vec<CtaRun>,
    /// Sectors that DRAM writes for each sector stored to global or local memory, over the whole
    /// launch.
    pub dram_writes_per_store: f64,
    /// Columns of tensor memory that a CTA allocates.
    pub tensor_columns: u32,
    /// The turns that requests of atomics take at lines of the L2, as lists one after the other;
    /// see [`Beside::Turns`].
    #[serde(default)]
    pub turns: Vec<Turn>,
}

impl Launch {
    /// The turns that a request takes at lines of the L2.
    #[must_use]
    pub fn turns_of(&self, request: &Request) -> &[Turn] {
        turns_in(&self.turns, request)
    }

    /// CTAs of the grid.
    #[must_use]
    pub fn ctas(&self) -> u64 {
        self.order.iter().map(|run| run.ctas).sum()
    }

    /// Lets both CTAs of each pair do what the one does that issues their products
    /// (`cta_group::2`). The other one copies its own tiles and writes its own sums, waits as long,
    /// and its SM multiplies as long; but what it waits for is in the record of the first.
    #[must_use]
    pub fn with_equal_pairs(mut self) -> Self {
        let queues: Vec<usize> = self.code.instructions.iter().filter_map(pair_queue).collect();
        if queues.is_empty() {
            return self;
        }
        let issues = |cta: &CtaTrace| {
            cta.warps.iter().any(|warp| {
                let of_queue = |&queue: &usize| warp.requests.get(queue).map_or(0, Vec::len);
                queues.iter().any(|queue| of_queue(queue) > 0)
            })
        };
        let mut leaders = Vec::new();
        for class in &mut self.classes {
            if class.samples.iter().any(issues) {
                class.samples.retain(issues);
                leaders.extend(class.samples.iter().cloned());
            }
        }
        for class in &mut self.classes {
            if !leaders.is_empty() && !class.samples.iter().any(issues) {
                class.samples.clone_from(&leaders);
            }
        }
        self
    }
}

/// The queue of a product by a pair of SMs.
fn pair_queue(instruction: &Instruction) -> Option<usize> {
    match instruction.action {
        Action::TensorMemory(TensorMemoryAction::Multiply(product)) if product.sms > 1 => {
            product.queue.map(|queue| queue as usize)
        }
        _ => None,
    }
}

/// The list of a request in a table of turns; none if it has none.
pub(crate) fn turns_in<'a>(turns: &'a [Turn], request: &Request) -> &'a [Turn] {
    let Beside::Turns { first, lines } = request.beside else { return &[] };
    let first = first as usize;
    turns.get(first..first.saturating_add(lines.into())).unwrap_or(&[])
}

/// Consecutive CTAs of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CtaRun {
    /// Index into [`Launch::classes`].
    pub class: u32,
    /// CTAs, at least one.
    pub ctas: u64,
}

/// CTAs that execute the same blocks equally often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CtaClass {
    /// Recorded CTAs that stand for the class, in order of the grid; at least one. They take turns.
    pub samples: Vec<CtaTrace>,
    /// Warp instructions of a CTA of the class, over those of a sample. It is 1 unless a sample of
    /// another class stands in.
    pub scale: f64,
}

/// One recorded CTA.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CtaTrace {
    /// Its warps.
    pub warps: Vec<WarpTrace>,
}

/// The way of a warp through the code, and its requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarpTrace {
    /// The blocks it executes, in order: indices into [`Code::blocks`].
    pub path: Vec<u32>,
    /// Its requests by queue, each queue in order of execution. The k-th execution of an
    /// instruction of a queue takes the k-th request where there are as many. Where there are fewer
    /// requests, executions spread evenly over the path have none; where there are more, some are
    /// passed by.
    #[serde(with = "crate::equal_runs")]
    pub requests: Vec<Vec<Request>>,
    /// Executions of blocks that the recording left out behind the end of the path, times the
    /// instructions in them. Zero unless the path was cut.
    pub left_out_instructions: u64,
}

/// One request of a warp to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// The space that its addresses are in.
    pub space: Space,
    /// Lanes that take part.
    pub lanes: u8,
    /// Lines of 128 bytes that it touches (global and local memory).
    pub lines: u16,
    /// Passes over the banks: of shared memory, or of the first-level cache's data array.
    pub passes: u16,
    /// The most lanes that change one address (atomics), else 1.
    pub serial: u8,
    /// True if the lanes come in pairs with one address, so that shared memory returns the
    /// registers of both at once.
    pub is_paired: bool,
    /// Sectors that the first-level cache holds.
    pub l1_sectors: u16,
    /// Sectors that the L2 holds, or takes (stores).
    pub l2_sectors: u16,
    /// Sectors that come from DRAM.
    pub dram_sectors: u16,
    /// Warp instructions since a miss of another CTA asked DRAM for sectors that the L2 holds, if
    /// they are few. DRAM may have yet to deliver them.
    pub fetched_ago: Option<u8>,
    /// The sector of the lowest lane, as a number within the address space; `None` where it is not
    /// known. Requests of a CTA that begin with one sector are taken to share the others, too.
    pub first_sector: Option<u32>,
    /// What it brings about beside the load-store path.
    pub beside: Beside,
}

impl Request {
    /// DRAM was asked for some of its sectors so many warp instructions ago.
    pub fn note_fetch(&mut self, ago: Option<u8>) {
        self.fetched_ago = match (self.fetched_ago, ago) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Requests to the L2 that a load brings about which misses: one for each row or line of a bulk
    /// copy.
    #[must_use]
    pub fn to_l2(&self, kind: AccessKind) -> f64 {
        if kind == AccessKind::BulkCopy { f64::from(self.lines.max(1)) } else { 1.0 }
    }

    /// True if an access brings back something that no first-level cache holds.
    pub(crate) fn waits_for_l2(&self, access: &MemoryAccess) -> bool {
        let is_beyond = self.l2_sectors > 0 || self.dram_sectors > 0;
        match access.kind {
            AccessKind::Load | AccessKind::AsyncCopy { .. } | AccessKind::BulkCopy => is_beyond,
            AccessKind::Atomic => is_beyond && access.space != Space::Shared,
            AccessKind::Store
            | AccessKind::Reduction
            | AccessKind::BulkStore
            | AccessKind::BulkReduction => false,
        }
    }

    /// Joins this request with one for other bytes of the same sectors, as one wider access makes
    /// both: what one fetched the other found there.
    pub fn join(&mut self, other: &Self) {
        let all = |one: &Self| one.l1_sectors + one.l2_sectors + one.dram_sectors;
        let sectors = all(self).max(all(other));
        self.dram_sectors = self.dram_sectors.max(other.dram_sectors);
        self.l2_sectors = self.l2_sectors.max(other.l2_sectors).min(sectors - self.dram_sectors);
        self.l1_sectors = sectors - self.dram_sectors - self.l2_sectors;
        self.note_fetch(other.fetched_ago);
        self.lanes = self.lanes.max(other.lanes);
        self.lines = self.lines.max(other.lines);
        self.passes = self.passes.max(other.passes);
        self.serial = self.serial.max(other.serial);
        self.is_paired &= other.is_paired;
    }
}

/// What an execution of an instruction brings about beside the load-store path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Beside {
    /// Nothing.
    #[default]
    Nothing,
    /// It arrives at a phase of an mbarrier or a named barrier, tells it of copied bytes, or waits
    /// for it. The number is the phase's among those of the CTA.
    Phase(u32),
    /// A product in tensor memory.
    Product {
        /// Rows of A in each CTA that takes part.
        rows: u16,
        /// Columns of tensor memory that hold the sums, in each CTA.
        columns: u16,
        /// The format, where the descriptor in a register says more than the instruction.
        format: Option<TensorFormat>,
    },
    /// An atomic or a reduction in global memory takes turns with others at lines of the L2.
    Turns {
        /// The place in [`Launch::turns`] of the first one.
        first: u32,
        /// Lines, a turn for each.
        lines: u8,
    },
}

/// The turn of one request at one line of the L2, whose slice changes a sector in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Turn {
    /// The number of the line.
    pub line: u32,
    /// Steps: in each sector of the line the most lanes at one address, added up.
    pub steps: u8,
    /// True if CTAs share the line, so that those of all SMs take turns there. Else each CTA has a
    /// line of its own.
    pub is_shared: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_requests_keep_the_furthest_level_of_each_sector() {
        let request = Request::global;
        // The first one fetched what the second one found in the first-level cache.
        let mut one = request(16, 0, 0);
        one.join(&request(0, 4, 12));
        assert_eq!(one, request(0, 4, 12));
        let mut one = request(0, 8, 8);
        one.join(&request(4, 0, 12));
        assert_eq!(one, request(0, 4, 12));
        let mut more = request(2, 0, 0);
        more.join(&Request { passes: 7, lanes: 1, ..request(0, 1, 0) });
        assert_eq!(more, Request { passes: 7, ..request(1, 1, 0) });
    }
}
