//! Sectors by the level that served them: of one instruction, and of a whole launch.

use std::ops::AddAssign;

use gpucast_interpreter::AccessKind;
use serde::{Deserialize, Serialize};

use super::request::L2Operation;

/// Sectors by the level that served them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowTraffic {
    /// Sectors that a first-level cache held.
    pub l1_hit_sectors: u64,
    /// Sectors that were requested from the L2, or written to it. These are the sectors that the
    /// first-level caches did not hold, and those that their misses brought in besides.
    pub l2_sectors: u64,
    /// The part of those sectors that the L2 held.
    pub l2_hit_sectors: u64,
    /// DRAM read transactions.
    pub dram_read_sectors: u64,
    /// How lately DRAM was asked for some of the sectors that the L2 held. It is told of requests
    /// with a row of their own alone, and no count.
    #[serde(skip)]
    pub(crate) fetched: Fetched,
}

/// How lately sectors were asked for, in warp instructions: the latest time of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// What is left of [`Fetched::KNOWN`] instructions; 0 if it is longer ago.
    left: u8,
}

impl Fetched {
    /// Instructions that are looked back. A warp in front of a queue issues fewer while DRAM
    /// answers.
    pub(crate) const KNOWN: u8 = 64;

    /// So many warp instructions ago.
    pub(crate) fn instructions_ago(ago: u32) -> Self {
        Self { left: u8::try_from(ago).map_or(0, |ago| Self::KNOWN.saturating_sub(ago)) }
    }

    /// The warp instructions since then, if they are known.
    pub(crate) fn ago(self) -> Option<u8> {
        (self.left > 0).then_some(Self::KNOWN - self.left)
    }
}

impl AddAssign for Fetched {
    fn add_assign(&mut self, other: Self) {
        self.left = self.left.max(other.left);
    }
}

impl AddAssign for RowTraffic {
    fn add_assign(&mut self, other: Self) {
        self.l1_hit_sectors += other.l1_hit_sectors;
        self.l2_sectors += other.l2_sectors;
        self.l2_hit_sectors += other.l2_hit_sectors;
        self.dram_read_sectors += other.dram_read_sectors;
        self.fetched += other.fetched;
    }
}

/// Sectors that a cache served, and its requests to DRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct L2Traffic {
    /// Sectors that loads asked for, after the first-level caches.
    pub read_sectors: u64,
    /// Sectors that stores wrote, in whole or in part.
    pub write_sectors: u64,
    /// Sectors that atomics and reductions touched.
    pub update_sectors: u64,
    /// The part of `read_sectors` that was there.
    pub read_hit_sectors: u64,
    /// The part of `write_sectors` that needed nothing from DRAM, as Nsight Compute counts hits.
    pub write_hit_sectors: u64,
    /// The part of `update_sectors` that was there.
    pub update_hit_sectors: u64,
    /// DRAM read transactions.
    pub dram_read_sectors: u64,
    /// DRAM write transactions.
    pub dram_write_sectors: u64,
    /// Sectors that were dirty at the end.
    pub dirty_sectors: u64,
    /// The part of the traffic that local memory causes without a row of its own.
    pub local: LocalTraffic,
}

/// Traffic of local memory that belongs to no instruction any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalTraffic {
    /// Sectors that first-level caches wrote back.
    pub write_back_sectors: u64,
    /// The part of those sectors that the L2 held.
    pub write_back_hit_sectors: u64,
    /// DRAM write transactions.
    pub dram_write_sectors: u64,
    /// Sectors that were dirty at the end.
    pub dirty_sectors: u64,
}

impl L2Traffic {
    /// Adds the traffic of requests for one `operation`, except for writes to DRAM.
    pub(super) fn add(&mut self, operation: L2Operation, moved: &RowTraffic) {
        let (sectors, hits) = match operation {
            L2Operation::Read | L2Operation::ReadLine => {
                (&mut self.read_sectors, &mut self.read_hit_sectors)
            }
            L2Operation::Write => (&mut self.write_sectors, &mut self.write_hit_sectors),
            L2Operation::Update => (&mut self.update_sectors, &mut self.update_hit_sectors),
        };
        *sectors += moved.l2_sectors;
        *hits += moved.l2_hit_sectors;
        self.dram_read_sectors += moved.dram_read_sectors;
    }

    /// Adds the traffic of a row of the base table, except for writes to DRAM.
    pub(crate) fn add_row(&mut self, kind: AccessKind, moved: &RowTraffic) {
        let operation = match kind {
            AccessKind::Load | AccessKind::LoadReadOnly => L2Operation::Read,
            AccessKind::Store => L2Operation::Write,
            AccessKind::Atomic | AccessKind::Reduction => L2Operation::Update,
        };
        self.add(operation, moved);
    }
}

impl L2Traffic {
    /// The same traffic, a part of which, `before`, is `after` instead. Writes to DRAM stay.
    pub(crate) fn replaced(self, before: &Self, after: &Self) -> Self {
        let sectors = |all: u64, before: u64, after: u64| all.saturating_sub(before) + after;
        macro_rules! replaced {
            ($($field:ident)+) => {
                Self {
                    $($field: sectors(self.$field, before.$field, after.$field),)+
                    ..self
                }
            };
        }
        replaced! {
            read_sectors write_sectors update_sectors
            read_hit_sectors write_hit_sectors update_hit_sectors dram_read_sectors
        }
    }
}

impl AddAssign for L2Traffic {
    fn add_assign(&mut self, other: Self) {
        self.read_sectors += other.read_sectors;
        self.write_sectors += other.write_sectors;
        self.update_sectors += other.update_sectors;
        self.read_hit_sectors += other.read_hit_sectors;
        self.write_hit_sectors += other.write_hit_sectors;
        self.update_hit_sectors += other.update_hit_sectors;
        self.dram_read_sectors += other.dram_read_sectors;
        self.dram_write_sectors += other.dram_write_sectors;
        self.dirty_sectors += other.dirty_sectors;
        self.local.write_back_sectors += other.local.write_back_sectors;
        self.local.write_back_hit_sectors += other.local.write_back_hit_sectors;
        self.local.dram_write_sectors += other.local.dram_write_sectors;
        self.local.dirty_sectors += other.local.dirty_sectors;
    }
}
