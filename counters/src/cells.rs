//! The counts of a launch one by one, under names that are the same in every size of a problem.
//!
//! ```text
//! LaunchProfile ──► Cells ──► formulas in the sizes ──► Cells ──► Frame::profile ──► LaunchProfile
//! ```
//!
//! Cells say everything that an execution finds out. They leave out facts of the program, the
//! launch and the GPU, and figures that follow from the counts.

use std::collections::BTreeMap;

use gpucast_interpreter::{AccessKind, Program};
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

use crate::counts::{BranchCounts, MemoryCounts, WIDER_BYTES};
use crate::device::DeviceModel;
use crate::hierarchy::{L2Traffic, LocalTraffic, RowTraffic};
use crate::launch_profile::LaunchProfile;
use crate::occupancy::{CtaShape, ThreadRegisters};
use crate::table::{BaseTable, Description, Row};
use crate::tally::largest_sum;
use crate::tensor::{ProductCounts, TensorFormat};
use crate::totals::{Extent, LaunchFacts, Replay};

/// Names one count of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The instruction, an index into the program's; 0 for the traffic of the L2.
    pub instruction: u32,
    /// The part of the instruction's row.
    part: Part,
    /// The place of the count in it. For parts that a row may lack, 0 says that it has one.
    column: u8,
}

/// A part of a row of the base table, or the traffic that belongs to no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Part {
    /// Executions and lanes.
    Executions,
    /// The decisions of a branch.
    Branch,
    /// Accesses of a kind to a space, by their places in [`SPACES`] and [`KINDS`].
    Memory { space: u8, kind: u8 },
    /// Operations of products, by the format's place among all.
    Products { format: u8 },
    /// The traffic of the L2.
    L2,
}

/// The counts of a launch that are not zero.
pub type Cells = BTreeMap<Cell, u128>;

/// Every state space, in the order in which rows have them.
const SPACES: [StateSpace; 8] = [
    StateSpace::Reg,
    StateSpace::Sreg,
    StateSpace::Const,
    StateSpace::Global,
    StateSpace::Local,
    StateSpace::Param,
    StateSpace::Shared,
    StateSpace::Tex,
];

/// Every kind of access.
const KINDS: [AccessKind; 5] = [
    AccessKind::Load,
    AccessKind::LoadReadOnly,
    AccessKind::Store,
    AccessKind::Atomic,
    AccessKind::Reduction,
];

/// Names of the columns of an access, behind the one that says that there are any.
const OF_ACCESSES: [&str; 8 + 2 * WIDER_BYTES.len()] = [
    "requests",
    "requested bytes",
    "sectors",
    "ideal sectors",
    "transactions",
    "passes",
    "conflict-free passes",
    "update steps",
    "passes of 8 bytes",
    "conflict-free passes of 8 bytes",
    "passes of 16 bytes",
    "conflict-free passes of 16 bytes",
];

/// The column that says that accesses went through caches, and its first count.
const TRAFFIC: u8 = 1 + OF_ACCESSES.len() as u8;

impl Cell {
    /// What is counted, in words: `sectors`, `lanes`.
    #[must_use]
    pub fn what(self) -> &'static str {
        let of = |names: &[&'static str]| names.get(usize::from(self.column)).copied();
        match self.part {
            Part::Executions => {
                of(&["executions by warps", "lanes", "executions by threads"]).unwrap_or("counts")
            }
            Part::Branch => "decisions",
            Part::Memory { .. } if self.column >= TRAFFIC => "traffic through the caches",
            Part::Memory { .. } => {
                let name = usize::from(self.column).checked_sub(1);
                name.and_then(|at| OF_ACCESSES.get(at)).copied().unwrap_or("accesses")
            }
            Part::Products { .. } => "operations",
            Part::L2 => "traffic of the L2",
        }
    }

    /// True if it is a count of an instruction, and not of the launch.
    #[must_use]
    pub fn is_of_instruction(self) -> bool {
        self.part != Part::L2
    }
}

/// Collects the counts of one part of a row.
struct Columns<'a> {
    cells: &'a mut Cells,
    cell: Cell,
}

impl<'a> Columns<'a> {
    fn new(cells: &'a mut Cells, instruction: u32, part: Part) -> Self {
        Self { cells, cell: Cell { instruction, part, column: 0 } }
    }

    fn push(&mut self, count: impl Into<u128>) {
        let count = count.into();
        if count != 0 {
            self.cells.insert(self.cell, count);
        }
        self.cell.column += 1;
    }
}

impl LaunchProfile {
    /// The counts of one invocation, one by one. `None` if the profile says more than them: if it
    /// is estimated, has machine instructions, or stands for invocations whose counts differ.
    #[must_use]
    pub fn cells(&self) -> Option<Cells> {
        let is_whole = matches!(self.replay, Replay::Whole | Replay::None)
            && self.extent == Extent::Grid
            && self.machine.is_none();
        if !is_whole {
            return None;
        }
        let mut cells = Cells::new();
        for row in &self.table.rows {
            match self.invocations {
                1 => add_row(row, &mut cells)?,
                invocations => add_row(&of_one(row, invocations)?, &mut cells)?,
            }
        }
        let mut columns = Columns::new(&mut cells, 0, Part::L2);
        let mut l2 = self.l2;
        each_of_l2(&mut l2, &mut |count| columns.push(*count));
        Some(cells)
    }
}

/// The row of one of so many invocations; `None` if their sum cannot be one of equal counts.
fn of_one(row: &Row, invocations: u64) -> Option<Row> {
    let mut row = row.clone();
    let mut is_even = true;
    let mut divide = |count: &mut u128| {
        is_even &= count.is_multiple_of(invocations.into());
        *count /= u128::from(invocations);
    };
    divide(&mut row.warp_executions);
    divide(&mut row.issued_lanes);
    divide(&mut row.thread_executions);
    if let Some(branch) = &mut row.branch {
        branch.zip(&<BranchCounts>::default(), &mut |count, _| divide(count));
    }
    for counts in &mut row.memory {
        let same = *counts;
        counts.zip(&same, &mut |count, _| divide(count));
    }
    row.products.iter_mut().for_each(|counts| divide(&mut counts.operations));
    let traffic = row.memory.iter_mut().filter_map(|counts| counts.traffic.as_mut());
    traffic.for_each(|traffic| {
        each_of_row(traffic, &mut |count| {
            is_even &= count.is_multiple_of(invocations);
            *count /= invocations;
        });
    });
    is_even.then_some(row)
}

/// Adds the counts of a row. `None` if its accesses are in an order that cells do not keep.
fn add_row(row: &Row, cells: &mut Cells) -> Option<()> {
    let instruction = row.instruction;
    let mut columns = Columns::new(cells, instruction, Part::Executions);
    [row.warp_executions, row.issued_lanes, row.thread_executions]
        .into_iter()
        .for_each(|count| columns.push(count));
    if let Some(branch) = &row.branch {
        let mut columns = Columns::new(cells, instruction, Part::Branch);
        columns.push(1_u8);
        <BranchCounts>::default().zip(branch, &mut |_, count| columns.push(count));
    }
    let place = |counts: &MemoryCounts| {
        let space = SPACES.iter().position(|space| *space == counts.space)?;
        let kind = KINDS.iter().position(|kind| *kind == counts.kind)?;
        Some(Part::Memory { space: space as u8, kind: kind as u8 })
    };
    let mut last = None;
    for counts in &row.memory {
        let part = place(counts)?;
        if last.replace(part) >= Some(part) {
            return None;
        }
        let mut columns = Columns::new(cells, instruction, part);
        columns.push(1_u8);
        <MemoryCounts>::default().zip(counts, &mut |_, count| columns.push(count));
        if let Some(mut traffic) = counts.traffic {
            columns.push(1_u8);
            each_of_row(&mut traffic, &mut |count| columns.push(*count));
        }
    }
    for counts in &row.products {
        let format = counts.format as u8;
        let mut columns = Columns::new(cells, instruction, Part::Products { format });
        columns.push(1_u8);
        columns.push(counts.operations);
    }
    Some(())
}

/// Sets a count of traffic, which has 64 bits. Returns false if `count` has more.
fn set_traffic(total: &mut u64, count: u128) -> bool {
    let narrow = u64::try_from(count);
    *total = narrow.unwrap_or_default();
    narrow.is_ok()
}

/// Applies `each` to every count.
fn each_of_row(traffic: &mut RowTraffic, each: &mut dyn FnMut(&mut u64)) {
    let RowTraffic { l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors, .. } = traffic;
    [l1_hit_sectors, l2_sectors, l2_hit_sectors, dram_read_sectors].into_iter().for_each(each);
}

/// Applies `each` to every count.
fn each_of_l2(traffic: &mut L2Traffic, each: &mut dyn FnMut(&mut u64)) {
    let L2Traffic {
        read_sectors,
        write_sectors,
        update_sectors,
        read_hit_sectors,
        write_hit_sectors,
        update_hit_sectors,
        dram_read_sectors,
        dram_write_sectors,
        dirty_sectors,
        local,
    } = traffic;
    let all = [
        read_sectors,
        write_sectors,
        update_sectors,
        read_hit_sectors,
        write_hit_sectors,
        update_hit_sectors,
        dram_read_sectors,
        dram_write_sectors,
        dirty_sectors,
    ];
    all.into_iter().for_each(&mut *each);
    let LocalTraffic {
        write_back_sectors,
        write_back_hit_sectors,
        dram_write_sectors,
        dirty_sectors,
    } = local;
    [write_back_sectors, write_back_hit_sectors, dram_write_sectors, dirty_sectors]
        .into_iter()
        .for_each(each);
}

/// Everything about a launch that needs no execution.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// The kernel.
    pub program: &'a Program,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA in bytes.
    pub dynamic_shared_bytes: u32,
    /// Registers of a thread, if something tells.
    pub registers: Option<ThreadRegisters>,
    /// CTAs of a cluster; 1 without clusters.
    pub cluster_ctas: u32,
    /// The GPU whose counters are modelled.
    pub device: DeviceModel,
    /// True if requests went through caches.
    pub has_caches: bool,
    /// The factor by which sums over the counts may still grow.
    pub times: u64,
}

impl Frame<'_> {
    /// The profile of a launch with these counts, which formulas have given. `None` if they do not
    /// belong together, or if a sum over them does not fit 128 bits.
    #[must_use]
    pub fn profile(&self, cells: &Cells) -> Option<LaunchProfile> {
        // Three extents of 32 bits are less than 128 bits.
        let extent = |of: [u32; 3]| -> u128 { of.into_iter().map(u128::from).product() };
        let ctas = extent(self.grid);
        let threads = u64::try_from(extent(self.block)).ok()?;
        let cta = CtaShape {
            threads,
            shared_bytes: self.program.static_shared_bytes() + u64::from(self.dynamic_shared_bytes),
            registers_per_thread: self
                .registers
                .map(|registers| self.device.registers_of_thread(registers, threads)),
        };
        let facts = LaunchFacts {
            estimated_registers: self.registers.and_then(|registers| registers.estimated),
            spilled_registers: self.registers.map_or(0, |registers| registers.spilled),
            cluster_ctas: self.cluster_ctas,
            ..LaunchFacts::new(ctas, cta, &self.device)
        };
        let instructions = self.program.instructions();
        let row =
            |(instruction, one)| Row::without_counts(instruction as u32, Description::of(one));
        let mut rows: Vec<Row> = instructions.iter().enumerate().map(row).collect();
        let mut l2 = L2Traffic::default();
        let mut left = cells.len();
        for row in &mut rows {
            left = left.checked_sub(fill_row(row, cells, self.has_caches)?)?;
        }
        let (mut column, mut fits) = (0, true);
        each_of_l2(&mut l2, &mut |count| {
            let cell = Cell { instruction: 0, part: Part::L2, column };
            fits &= set_traffic(count, cells.get(&cell).copied().unwrap_or_default());
            left = left.wrapping_sub(usize::from(*count != 0));
            column += 1;
        });
        // Whatever is left belongs to nothing that there is.
        if left != 0 || !fits {
            return None;
        }
        let table = BaseTable { rows };
        largest_sum(&table, (facts.sector_bytes, facts.bank_row_bytes), self.times).ok()?;
        ctas.checked_mul(threads.into())?;
        let replay = if self.has_caches { Replay::Whole } else { Replay::None };
        let kernel = self.program.kernel().to_owned();
        let extents = (self.grid, self.block);
        Some(LaunchProfile::new(kernel, extents, facts, table, l2, (replay, Extent::Formulas)))
    }
}

/// Gives a row its counts, and returns their number. `None` if some do not belong together.
fn fill_row(row: &mut Row, cells: &Cells, has_caches: bool) -> Option<usize> {
    let instruction = row.instruction;
    let cell = |part, column| Cell { instruction, part, column };
    let of_row = cells.range(cell(Part::Executions, 0)..cell(Part::L2, 0));
    let mut parts: BTreeMap<Part, BTreeMap<u8, u128>> = BTreeMap::new();
    let mut number = 0;
    for (cell, &count) in of_row {
        parts.entry(cell.part).or_default().insert(cell.column, count);
        number += 1;
    }
    for (part, columns) in parts {
        let count = |column: u8| columns.get(&column).copied().unwrap_or_default();
        // A part that is there says so with a one.
        if part != Part::Executions && count(0) != 1 {
            return None;
        }
        match part {
            Part::Executions => {
                (row.warp_executions, row.issued_lanes) = (count(0), count(1));
                row.thread_executions = count(2);
            }
            Part::Branch => {
                let (mut branch, mut column) = (<BranchCounts>::default(), 1);
                branch.zip(&<BranchCounts>::default(), &mut |total, _| {
                    *total = count(column);
                    column += 1;
                });
                row.branch = Some(branch);
            }
            Part::Memory { space, kind } => {
                let space = *SPACES.get(usize::from(space))?;
                let kind = *KINDS.get(usize::from(kind))?;
                let none = MemoryCounts { space, kind, ..MemoryCounts::default() };
                let (mut counts, mut column) = (none, 1);
                counts.zip(&none, &mut |total, _| {
                    *total = count(column);
                    column += 1;
                });
                if has_caches {
                    if count(TRAFFIC) != 1 {
                        return None;
                    }
                    let mut traffic = RowTraffic::default();
                    let (mut column, mut fits) = (TRAFFIC + 1, true);
                    each_of_row(&mut traffic, &mut |total| {
                        fits &= set_traffic(total, count(column));
                        column += 1;
                    });
                    if !fits {
                        return None;
                    }
                    counts.traffic = Some(traffic);
                }
                row.memory.push(counts);
            }
            Part::Products { format } => {
                let format = *TensorFormat::ALL.get(usize::from(format))?;
                row.products.push(ProductCounts { format, operations: count(1) });
            }
            Part::L2 => return None,
        }
    }
    row.memory.sort_by_key(|counts| counts.space);
    Some(number)
}
