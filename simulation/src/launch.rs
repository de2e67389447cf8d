//! CTAs of a launch: the way of each warp through the code, and its requests.

use serde::{Deserialize, Serialize};

use crate::code::{Code, Space};

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
}

impl Launch {
    /// CTAs of the grid.
    #[must_use]
    pub fn ctas(&self) -> u64 {
        self.order.iter().map(|run| run.ctas).sum()
    }
}

/// Consecutive CTAs of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub requests: Vec<Vec<Request>>,
    /// Executions of blocks that the recording left out behind the end of the path, times the
    /// instructions in them. Zero unless the path was cut.
    pub left_out_instructions: u64,
}

/// One request of a warp to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The sector of the lowest lane, as a number within the address space; `None` where it is not
    /// known. Requests of a CTA that begin with one sector are taken to share the others, too.
    pub first_sector: Option<u32>,
}
