//! Sums over the base table, in the words that metric definitions are written in.

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::types::StateSpace;

use crate::l2::L2Traffic;
use crate::operation::{FlopKind, Precision};
use crate::recorder::MemoryCounts;
use crate::table::{BaseTable, Row};

/// What the metrics of one launch are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Totals<'a> {
    /// The counts of each static instruction.
    pub table: &'a BaseTable,
    /// What the L2 did.
    pub l2: L2Traffic,
    /// Whether some requests were too many to be replayed, so that DRAM traffic is in part
    /// extrapolated.
    pub extrapolated: bool,
}

/// The kinds of access that profilers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Loads, read-only or not.
    Load,
    /// Stores.
    Store,
    /// Atomics and reductions.
    Update,
}

impl Totals<'_> {
    fn sum(&self, of: impl Fn(&Row) -> u64) -> u64 {
        self.table.rows.iter().map(of).sum()
    }

    /// Instructions issued by a warp.
    #[must_use]
    pub fn warp_executions(&self) -> u64 {
        self.sum(|row| row.warp_executions)
    }

    /// Instructions executed by a thread whose guard is true.
    #[must_use]
    pub fn thread_executions(&self) -> u64 {
        self.sum(|row| row.thread_executions)
    }

    /// Instructions issued by a lane, guard true or not.
    #[must_use]
    pub fn issued_lanes(&self) -> u64 {
        self.sum(|row| row.issued_lanes)
    }

    /// Instructions of a class executed by a thread whose guard is true.
    #[must_use]
    pub fn threads(&self, class: InstructionClass) -> u64 {
        self.sum(|row| if row.description.class == class { row.thread_executions } else { 0 })
    }

    /// Instructions of a class issued by a warp.
    #[must_use]
    pub fn warps(&self, class: InstructionClass) -> u64 {
        self.sum(|row| if row.description.class == class { row.warp_executions } else { 0 })
    }

    /// Floating-point operations of one kind; a multiply-add counts once.
    #[must_use]
    pub fn flops(&self, precision: Precision, kind: FlopKind) -> u64 {
        self.sum(|row| match row.description.flops {
            Some(flops) if (flops.precision, flops.kind) == (precision, kind) => {
                row.thread_executions * flops.per_thread
            }
            _ => 0,
        })
    }

    /// Additions, multiplications, and multiply-adds twice.
    #[must_use]
    pub fn all_flops(&self, precision: Precision) -> u64 {
        self.flops(precision, FlopKind::Add)
            + self.flops(precision, FlopKind::Mul)
            + 2 * self.flops(precision, FlopKind::Fma)
    }

    /// Branch instructions issued by a warp.
    #[must_use]
    pub fn branches(&self) -> u64 {
        let is_branch = |opcode| matches!(opcode, Opcode::Bra | Opcode::BrxIdx);
        self.sum(|row| if is_branch(row.description.opcode) { row.warp_executions } else { 0 })
    }

    /// Branch instructions whose lanes went different ways.
    #[must_use]
    pub fn divergent_branches(&self) -> u64 {
        self.sum(|row| row.branch.map_or(0, |branch| branch.divergent))
    }

    /// The sum of the accesses of one kind to one space.
    #[must_use]
    pub fn memory(&self, space: StateSpace, direction: Direction) -> MemoryCounts {
        let mut total = MemoryCounts::default();
        for counts in self.table.rows.iter().flat_map(|row| &row.memory) {
            let same = match counts.kind {
                AccessKind::Load | AccessKind::LoadReadOnly => Direction::Load,
                AccessKind::Store => Direction::Store,
                AccessKind::Atomic | AccessKind::Reduction => Direction::Update,
            };
            if counts.space == space && same == direction {
                total.add(counts);
            }
        }
        total
    }

    /// Sectors that accesses of one kind take to the L2.
    #[must_use]
    pub fn l2_sectors(&self, direction: Direction) -> u64 {
        [StateSpace::Global, StateSpace::Local, StateSpace::Tex]
            .into_iter()
            .map(|space| self.memory(space, direction).sectors)
            .sum()
    }
}
