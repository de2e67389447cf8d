//! What the requests of one instruction came to in the hierarchy.

use std::ops::AddAssign;

/// Sectors by the level that served them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowTraffic {
    /// Sectors that a first-level cache held.
    pub l1_hit_sectors: u64,
    /// Sectors that were asked of the L2, or written to it: what the first-level caches did not
    /// hold, with what else their misses brought in.
    pub l2_sectors: u64,
    /// Of those, the ones that the L2 held.
    pub l2_hit_sectors: u64,
    /// DRAM read transactions.
    pub dram_read_sectors: u64,
}

impl AddAssign for RowTraffic {
    fn add_assign(&mut self, other: Self) {
        self.l1_hit_sectors += other.l1_hit_sectors;
        self.l2_sectors += other.l2_sectors;
        self.l2_hit_sectors += other.l2_hit_sectors;
        self.dram_read_sectors += other.dram_read_sectors;
    }
}
