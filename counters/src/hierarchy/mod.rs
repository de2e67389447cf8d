//! The memory hierarchy behind the coalescer: first-level caches, the L2, DRAM.
//!
//! ```text
//! CTA streams ── dealer ──┬─ SM: CTAs, L1, read-only cache ─┬── by turn ── L2 slice ── DRAM
//! in order of     slot,   ├─ SM …                           ├── by turn ── L2 slice ── DRAM
//! the grid        start   └─ SM …                           └── by turn …
//! ```
//!
//! CTAs arrive one by one, in order of the grid. The `schedule` gives each a slot of an SM and a
//! start. The order of requests is that of the clocks of their warps, then of warps, then of SMs.
//! SMs have nothing in common before the `l2`. So each serves a stretch of time alone, through its
//! own caches (`l1`). Requests that those do not keep are queued for the slice that their address
//! belongs to, and each slice puts those of all SMs in order. Slices are replayed side by side,
//! while SMs serve the next stretch. The order depends on the streams and the geometry alone, so
//! the result does not depend on the number of threads.
//!
//! Only the streams of CTAs that are resident, or that arrived before their turn, are held,
//! whatever the size of the grid.

mod contents;
mod kept_lines;
mod known_places;
mod l1;
mod l2;
mod line_sample;
mod lines;
mod marks;
mod merge;
mod moved;
mod outbox;
mod placement;
mod prefetch;
mod ranks;
mod recent;
mod replacement;
mod request;
mod schedule;
mod sectored;
mod sm;
mod stream;
mod sums;
mod traffic;
mod turnover;
mod turns;
mod warp_request;

pub use contents::{DIRTY_SHARE, L2Contents};
pub use l1::{L1Geometry, L1Loads, L1Stores, LocalStores};
pub(crate) use l2::{Dirtied, Estimated, ScaledSectors, Settled};
pub use l2::{L2, L2Geometry, L2State, PartialWrites};
pub(crate) use line_sample::LineSample;
pub use moved::StreamShift;
pub use replacement::Replacement;
pub use request::L2Operation;
pub use schedule::Schedule;
pub use stream::CtaStream;
pub use traffic::{L2Traffic, LocalTraffic, RowTraffic};
pub use warp_request::Demand;
pub(crate) use warp_request::{FIRST_SINGLE_ROW, NOBODY, PackedTouch, ROW_LIMIT, Request};

use merge::Merger;
use outbox::Queues;
use rayon::prelude::*;
use sums::RowSums;

use crate::sparse::SparseRows;

/// The parts that sampled lines belong to: a power of two.
pub(crate) const PARTS: u32 = 8;

/// The parameters that decide how the hierarchy serves the requests of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HierarchyGeometry {
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// CTAs of the launch that the GPU holds at the same time.
    pub resident_ctas: u32,
    /// Warps of one CTA.
    pub warps_per_cta: u32,
    /// The order in which CTAs follow each other.
    pub schedule: Schedule,
    /// The first-level cache of an SM, if it has one.
    pub l1: Option<L1Geometry>,
    /// The cache for read-only loads and textures, if it is not the first-level cache.
    pub read_only: Option<L1Geometry>,
    /// The second-level cache.
    pub l2: L2Geometry,
}

/// The traffic of some CTAs of a launch.
#[derive(Clone, Debug)]
pub(crate) struct PartTraffic {
    /// By row of the base table.
    pub(crate) rows: SparseRows<RowTraffic>,
    /// Misses of the L2 that may be hits, with the DRAM reads that they cause.
    pub(crate) unsure: SparseRows<RowTraffic>,
    /// The same two of rows from [`FIRST_SINGLE_ROW`] on, which may come several times.
    pub(crate) singles: Singles,
    /// The traffic of the L2.
    pub(crate) l2: L2Traffic,
    /// Sectors of the L2 that it made dirty.
    pub(crate) dirtied: Dirtied,
    /// The part of those that may have been dirty before.
    pub(crate) unsure_dirtied: Dirtied,
    /// Lines that came into the L2, if windows are replayed.
    pub(crate) newcomers: u64,
    /// Sectors of the L2 that are dirty after it.
    pub(crate) dirty_sectors: u64,
    /// True if what the L2 holds is due to the window alone, or to the launch from its start.
    pub(crate) is_filled: bool,
    /// The part of the L2 of which that is true.
    pub(crate) filled: f64,
}

/// Traffic of rows that are too many for a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Singles {
    pub(crate) rows: Vec<(u32, RowTraffic)>,
    pub(crate) unsure: Vec<(u32, RowTraffic)>,
}

impl PartTraffic {
    /// Gives rows that are nobody else's to the table.
    pub(crate) fn add_singles(&mut self) {
        let Singles { rows, unsure } = std::mem::take(&mut self.singles);
        for (row, traffic) in rows {
            *self.rows.row(row) += traffic;
        }
        for (row, traffic) in unsure {
            *self.unsure.row(row) += traffic;
        }
    }

    /// Takes the traffic of rows, but not that of single requests.
    pub(crate) fn take_rows(&mut self) -> Self {
        let mut taken = Self::default();
        std::mem::swap(&mut taken.rows, &mut self.rows);
        std::mem::swap(&mut taken.unsure, &mut self.unsure);
        taken
    }

    /// Gives rows other numbers.
    pub(crate) fn renumber_rows(&mut self, number: impl Fn(u32) -> u32) {
        for rows in [&mut self.rows, &mut self.unsure] {
            let before = std::mem::replace(rows, SparseRows::new(0));
            before.iter().for_each(|(row, &traffic)| *rows.row(number(row)) += traffic);
        }
    }

    /// Adds the traffic of the same CTAs by row that came later.
    pub(crate) fn add_rows(&mut self, later: &Self) {
        for (all, more) in [(&mut self.rows, &later.rows), (&mut self.unsure, &later.unsure)] {
            more.iter().for_each(|(row, &traffic)| *all.row(row) += traffic);
        }
    }
}

/// Adds the traffic of a row to those of its kind.
fn add(
    rows: &mut SparseRows<RowTraffic>,
    singles: &mut Vec<(u32, RowTraffic)>,
    (row, traffic): (u32, RowTraffic),
) {
    if row < FIRST_SINGLE_ROW {
        *rows.row(row) += traffic;
    } else {
        singles.push((row, traffic));
    }
}

impl Default for PartTraffic {
    fn default() -> Self {
        Self {
            rows: SparseRows::new(0),
            unsure: SparseRows::new(0),
            singles: Singles::default(),
            l2: L2Traffic::default(),
            dirtied: Dirtied::default(),
            unsure_dirtied: Dirtied::default(),
            newcomers: 0,
            dirty_sectors: 0,
            is_filled: true,
            filled: 1.0,
        }
    }
}

/// The caches of a GPU during one launch.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    merger: Merger,
    geometry: L2Geometry,
    /// None until a request comes: an L2 of many megabytes takes time to make, and most launches go
    /// on with that of the launch before.
    l2: Option<L2>,
    /// The queues that are being filled and those that are being replayed, in turns.
    queues: [Vec<Queues>; 2],
}

impl Hierarchy {
    /// Empty caches.
    #[must_use]
    pub fn new(geometry: &HierarchyGeometry) -> Self {
        let merger = Merger::new(geometry);
        let slices = geometry.l2.slice_count();
        let queues = [merger.queues(slices), merger.queues(slices)];
        Self { merger, geometry: geometry.l2, l2: None, queues }
    }

    /// Goes on with an L2 of the same geometry that an earlier launch filled.
    pub(crate) fn with_l2(mut self, mut l2: L2) -> Self {
        l2.take_traffic();
        l2.begin_launch(false);
        self.l2 = Some(l2);
        self
    }

    /// Takes over the next CTAs of the grid and replays as many requests as it can; the streams are
    /// empty afterwards.
    pub fn collect(&mut self, streams: &mut [&mut CtaStream]) {
        streams.par_iter_mut().for_each(|stream| stream.sort());
        for stream in streams {
            let empty = CtaStream::new(stream.limit());
            **stream = self.merger.push(std::mem::replace(stream, empty));
        }
        self.replay(false);
    }

    /// Replays the rest. Returns the traffic by row of the base table, and the L2 with its counts
    /// and contents. Rows of single requests may come several times. Lines of local memory that
    /// leave an L1 are counted by the L2 alone. `contents` decides about sectors that stay dirty in
    /// the L2.
    #[must_use]
    pub fn finish(mut self, contents: L2Contents) -> (Vec<(u32, RowTraffic)>, L2) {
        self.replay(true);
        self.merger.clean(&mut self.queues[0]);
        let mut l2 = self.l2.unwrap_or_else(|| L2::new(self.geometry));
        l2.replay(&self.queues[0]);
        l2.end_launch(contents);
        let mut rows = RowSums::<RowTraffic>::default();
        for (row, traffic) in l2.rows() {
            rows.add(row, *traffic);
        }
        for (row, hits) in self.merger.hits() {
            rows.add(row, RowTraffic { l1_hit_sectors: hits, ..RowTraffic::default() });
        }
        (rows.iter().map(|(row, traffic)| (row, *traffic)).collect(), l2)
    }

    /// Replays the rest of the CTAs so far, and returns the traffic since the launch began or this
    /// was asked before. The contents stay.
    pub(crate) fn take_part(&mut self) -> PartTraffic {
        self.replay(true);
        self.take_so_far()
    }

    /// The same, while CTAs are under way: their later requests belong to the next part.
    pub(crate) fn take_so_far(&mut self) -> PartTraffic {
        let mut part = PartTraffic::default();
        let Singles { rows: single_rows, unsure: single_unsure } = &mut part.singles;
        for (row, l1_hit_sectors) in self.merger.hits() {
            let traffic = RowTraffic { l1_hit_sectors, ..RowTraffic::default() };
            add(&mut part.rows, single_rows, (row, traffic));
        }
        self.merger.forget_hits();
        let l2 = self.l2.get_or_insert_with(|| L2::new(self.geometry));
        for (row, traffic) in l2.rows() {
            add(&mut part.rows, single_rows, (row, *traffic));
        }
        l2.take_unsure(|row, traffic| add(&mut part.unsure, single_unsure, (row, traffic)));
        part.dirtied = l2.dirtied();
        part.unsure_dirtied = l2.unsure_dirtied();
        part.newcomers = l2.take_newcomers();
        part.dirty_sectors = l2.dirty_sectors();
        part.is_filled = l2.is_filled_by_window();
        part.filled = l2.part_filled_by_window();
        part.l2 = l2.take_traffic();
        part
    }

    /// The time before which no CTA starts that comes later, in instructions of a warp.
    pub(crate) fn horizon(&self) -> u64 {
        self.merger.horizon()
    }

    /// Windows of the launch come.
    pub(crate) fn begin_windows(&mut self) {
        self.l2.get_or_insert_with(|| L2::new(self.geometry)).begin_launch(true);
    }

    /// The CTAs that come next do not follow those before. Where it `forgets` what others than this
    /// launch have left in the L2, those that are skipped bring in more than it holds.
    pub(crate) fn begin_window(&mut self, forgets: bool) {
        self.l2.get_or_insert_with(|| L2::new(self.geometry)).begin_window(forgets);
    }

    /// True if no launch has left anything in the L2, so that this one stands for one before it.
    pub(crate) fn is_of_first_launch(&self, contents: L2Contents) -> bool {
        let follows = self.l2.as_ref().is_some_and(L2::is_of_a_launch);
        contents.stays() && !follows
    }

    /// Caches of another size, for a launch that finds what this L2 holds. Nothing is known of that
    /// but that it is there.
    pub(crate) fn resized(&self, geometry: &HierarchyGeometry) -> Self {
        let mut resized = Self::new(geometry);
        let unknown = |l2: &L2| L2::unknown(geometry.l2, Estimated::default(), l2.is_of_a_launch());
        resized.l2 = self.l2.as_ref().map(unknown);
        resized
    }

    /// Dirty sectors of the L2, as far as they are known.
    pub(crate) fn estimated_dirty(&mut self) -> Estimated {
        self.l2.as_mut().map(L2::estimated_dirty).unwrap_or_default()
    }

    /// Lines of the L2.
    pub(crate) fn l2_lines(&self) -> u64 {
        self.geometry.distinct_bytes() / self.geometry.line_bytes.max(1)
    }

    /// Sectors of the L2.
    pub(crate) fn l2_sectors(&self) -> u64 {
        self.geometry.distinct_bytes() / self.geometry.sector_bytes.max(1)
    }

    fn replay(&mut self, is_complete: bool) {
        let Self { merger, geometry, l2, queues: [ready, next] } = self;
        let mut is_filled = merger.fill(ready, is_complete);
        if !is_filled {
            return;
        }
        let l2 = l2.get_or_insert_with(|| L2::new(*geometry));
        while is_filled {
            ((), is_filled) = rayon::join(|| l2.replay(ready), || merger.fill(next, is_complete));
            std::mem::swap(ready, next);
        }
    }
}

#[cfg(test)]
mod tests;
