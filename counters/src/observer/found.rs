//! What a launch found in the L2 of which nothing is known.
//!
//! A launch before it may have been replayed in part. Lines that the other CTAs left are not known.
//! So a miss may be a hit, as long as other lines have not come into its set, and the other way
//! round. The value takes each for what it is in the modelled L2, as windows do.

use gpucast_interpreter::AccessKind;

use super::left_out::Replayed;
use crate::counts::MemoryCounts;
use crate::hierarchy::{L2, L2Traffic, ROW_LIMIT, RowTraffic, Settled};
use crate::sparse::SparseRows;
use crate::trace::LaunchTracer;

/// The part of a launch's traffic that depends on it.
#[derive(Debug)]
pub(super) struct Found {
    /// Misses that may be hits, by row, with their reads from DRAM.
    misses: SparseRows<RowTraffic>,
    /// Hits that may be misses, with reads that those would need.
    hits: SparseRows<RowTraffic>,
    /// None if nothing was unknown.
    settled: Option<Settled>,
}

/// Traffic that is read from DRAM in one case, and not in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Hits,
    Misses,
}

impl Found {
    /// Takes it from the L2 after a launch.
    pub(super) fn take(l2: &mut L2, tracer: Option<&LaunchTracer>) -> Self {
        let settled = l2.settle();
        let [mut misses, mut hits] = [SparseRows::new(0), SparseRows::new(0)];
        let add = |rows: &mut SparseRows<RowTraffic>, row: u32, traffic: RowTraffic| {
            let single = tracer.and_then(|tracer| tracer.row_of_single(row));
            let row = single.unwrap_or(row);
            if row < ROW_LIMIT {
                *rows.row(row) += traffic;
            }
        };
        l2.take_unsure(|row, traffic| add(&mut misses, row, traffic));
        l2.take_unsure_hits(|row, traffic| add(&mut hits, row, traffic));
        Self { misses, hits, settled }
    }

    /// The traffic with the most and with the least that moves from and to DRAM; none if it does
    /// not depend on what was found. Rows are of some kinds of access.
    pub(super) fn others(
        &self,
        replayed: &Replayed,
        kind: impl Fn(u32) -> Option<AccessKind>,
    ) -> Vec<Replayed> {
        let Some(Settled { written, dirty }) = self.settled else { return Vec::new() };
        let mut most = replayed.clone();
        most.change(&self.hits, Fate::Misses, &kind);
        (most.l2.dram_write_sectors, most.l2.dirty_sectors) = (written.most, dirty.least);
        let mut least = replayed.clone();
        least.change(&self.misses, Fate::Hits, &kind);
        (least.l2.dram_write_sectors, least.l2.dirty_sectors) = (written.least, dirty.most);
        // Local memory has no more of either than all memory has.
        for L2Traffic { dram_write_sectors, dirty_sectors, local, .. } in
            [&mut most.l2, &mut least.l2]
        {
            local.dram_write_sectors = local.dram_write_sectors.min(*dram_write_sectors);
            local.dirty_sectors = local.dirty_sectors.min(*dirty_sectors);
        }
        if [&most, &least].iter().all(|other| other.l2 == replayed.l2) {
            return Vec::new();
        }
        vec![most, least]
    }
}

impl Replayed {
    /// Gives the traffic to the rows of a launch. Returns that of the L2.
    pub(super) fn give(&self, memory: &mut SparseRows<MemoryCounts>) -> L2Traffic {
        for (row, traffic) in self.rows.iter() {
            *memory.row(row).traffic.get_or_insert_default() += *traffic;
        }
        self.l2
    }

    /// Lets some traffic have a fate.
    fn change(
        &mut self,
        rows: &SparseRows<RowTraffic>,
        fate: Fate,
        kind: impl Fn(u32) -> Option<AccessKind>,
    ) {
        for (key, &RowTraffic { l2_hit_sectors, dram_read_sectors, .. }) in rows.iter() {
            let row = self.rows.row(key);
            let before = *row;
            let change = |sum: u64, more: u64, is_more: bool| match is_more {
                true => sum + more,
                false => sum.saturating_sub(more),
            };
            row.l2_hit_sectors = change(row.l2_hit_sectors, l2_hit_sectors, fate == Fate::Hits);
            row.dram_read_sectors =
                change(row.dram_read_sectors, dram_read_sectors, fate == Fate::Misses);
            if let Some(kind) = kind(key) {
                let [mut of_before, mut of_row] = [L2Traffic::default(); 2];
                of_before.add_row(kind, &before);
                of_row.add_row(kind, row);
                self.l2 = self.l2.replaced(&of_before, &of_row);
            }
        }
    }
}
