//! The sectored write-back second-level cache, cut into slices, and its requests to DRAM.
//!
//! A line (a tag) holds several sectors, each with its own valid and dirty bit; only sectors move.
//! A read of a sector that is not there is one DRAM read transaction. A write allocates its line;
//! a sector that is written as a whole needs no fill. When a line is evicted, and at the end of a
//! kernel, each dirty sector is one DRAM write transaction. Atomics and reductions are done at the
//! cache: they read the sector and leave it dirty.
//!
//! Each slice is a cache of its own with a clock of its own, so that slices can be replayed side by
//! side. [`placement`](super) says which slice and set a line belongs to.

mod geometry;
mod slice;
mod unknown;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rayon::prelude::*;

use super::contents::{DIRTY_SHARE, L2Contents};
use super::outbox::{Queues, TurnTime};
use super::ranks::Duellist;
use super::replacement::Replacement;
use super::request::{L2Operation, Router};
use super::sectored::{DuelSets, Evicted, count};
use super::traffic::{L2Traffic, RowTraffic};
use super::turnover::{AskedBy, Turnover};
use crate::units::LINE_BYTES;
pub use geometry::{L2Geometry, PartialWrites};
pub(crate) use slice::Dirtied;
use slice::{DirtySectors, Slice};
use unknown::DirtyDoubt;
pub(crate) use unknown::{Estimated, Settled};

/// The state of an L2: two of equal geometry that have the same one answer all requests alike.
///
/// It is a hash of 64 bits. Among 10⁵ different states, the odds that two share one are 3·10⁻¹⁰.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2State(u64);

/// The cache with its contents.
#[derive(Clone, Debug)]
pub struct L2 {
    geometry: L2Geometry,
    router: Router,
    slices: Vec<Slice>,
    /// True if a launch left the contents, and not only copies.
    is_of_a_launch: bool,
    /// How far its dirty sectors may be fewer or more, because some lines are unknown.
    dirty_doubt: DirtyDoubt,
    /// Sectors that were dirty when the launch began, if some lines were unknown.
    dirty_at_start: u64,
    /// Turns before the launch; it wraps.
    turns_before: u32,
}

/// Sectors of all lines, as some of these tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScaledSectors {
    pub(crate) sectors: u64,
    /// Sectors that each of those lines stands for; 0 if all lines were looked at.
    pub(crate) of_line: u64,
}

impl ScaledSectors {
    /// The same of so many times as large a cache.
    pub(crate) fn times(self, times: u64) -> Self {
        Self { sectors: self.sectors * times, of_line: self.of_line * times }
    }
}

/// Turns between launches. Lines that one launch fetched, or that none did, look old to the next.
const TURNS_BETWEEN_LAUNCHES: u32 = 0x9E37_79B9;

impl L2 {
    /// An empty cache.
    #[must_use]
    pub fn new(geometry: L2Geometry) -> Self {
        let slice = Slice::new(&geometry);
        Self {
            geometry,
            router: geometry.router(),
            slices: vec![slice; geometry.slice_count()],
            is_of_a_launch: false,
            dirty_doubt: DirtyDoubt::default(),
            dirty_at_start: 0,
            turns_before: TURNS_BETWEEN_LAUNCHES,
        }
    }

    /// Its size and habits.
    #[must_use]
    pub fn geometry(&self) -> &L2Geometry {
        &self.geometry
    }

    /// The state of its contents. Traffic so far is no part of it.
    pub fn state(&mut self) -> L2State {
        let mut hasher = DefaultHasher::new();
        (self.is_of_a_launch, self.dirty_doubt).hash(&mut hasher);
        for slice in &mut self.slices {
            slice.state().hash(&mut hasher);
            slice.unknown().hash(&mut hasher);
        }
        L2State(hasher.finish())
    }

    /// The traffic since the cache was made or [`L2::take_traffic`] was called.
    #[must_use]
    pub fn traffic(&self) -> L2Traffic {
        let mut traffic = L2Traffic::default();
        self.slices.iter().for_each(|slice| traffic += slice.traffic);
        traffic
    }

    /// Like [`L2::traffic`], and starts to count anew; the contents stay.
    pub fn take_traffic(&mut self) -> L2Traffic {
        let traffic = self.traffic();
        for slice in &mut self.slices {
            slice.traffic = L2Traffic::default();
            slice.rows.clear();
            slice.dirtied = Dirtied::default();
            slice.unsure_dirtied = Dirtied::default();
        }
        traffic
    }

    /// The sectors that requests have made dirty since the last [`L2::take_traffic`].
    pub(super) fn dirtied(&self) -> Dirtied {
        self.slices.iter().map(|slice| slice.dirtied).sum()
    }

    /// The part of them that may have been dirty before: those of sets that the window has not
    /// filled yet, and of lines that a set may have kept.
    pub(super) fn unsure_dirtied(&self) -> Dirtied {
        self.slices.iter().map(|slice| slice.unsure_dirtied).sum()
    }

    /// Serves the `sectors` of a 128-byte line ([`LINE_BYTES`], whatever the cache's own line is).
    /// `full` marks those whose bytes are all touched. Returns the sectors that had to be read from
    /// DRAM.
    pub fn access(&mut self, line: u64, sectors: u8, full: u8, operation: L2Operation) -> u32 {
        let Self { router, slices, .. } = self;
        let mut moved = RowTraffic::default();
        router.route(line, sectors, full, operation, 0, |slice, request| {
            let mut of_request = RowTraffic::default();
            slices[slice].changes();
            slices[slice].access(&request, &mut of_request);
            slices[slice].traffic.add(operation, &of_request);
            moved += of_request;
        });
        moved.dram_read_sectors as u32
    }

    /// Serves the queues of all SMs, in the order of turns, then of SMs.
    pub(crate) fn replay(&mut self, queues: &[Queues]) {
        let TurnTime { first, of_instruction } =
            queues.first().map_or_else(TurnTime::default, |queues| queues.time);
        let first_turn = self.turns_before.wrapping_add(first);
        let of_slice = |(index, slice): (usize, &mut Slice)| {
            slice.first_turn = first_turn;
            slice.turns_of_instruction = of_instruction.max(1);
            slice.replay(queues.iter().map(|queues| queues.of(index)));
        };
        if queues.iter().map(Queues::len).sum::<usize>() < MANY_REQUESTS {
            self.slices.iter_mut().enumerate().for_each(of_slice);
        } else {
            self.slices.par_iter_mut().enumerate().for_each(of_slice);
        }
    }

    /// The traffic of [`L2::replay`] by row, since the last [`L2::take_traffic`]. A row may come
    /// several times.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, &RowTraffic)> {
        self.slices.iter().flat_map(|slice| slice.rows.iter())
    }

    /// True if a launch left the contents, and not only copies.
    pub(super) fn is_of_a_launch(&self) -> bool {
        self.is_of_a_launch
    }

    /// The requests that come next do not follow those before: [`Turnover`]. Where it `forgets`
    /// what others than this launch have left, CTAs that are skipped bring in other lines.
    pub(super) fn begin_window(&mut self, forgets: bool) {
        if forgets {
            self.forget_others();
        }
        let new = self.turnover();
        for Slice { cache, turnover, .. } in &mut self.slices {
            let before = turnover.take().map_or_else(|| new.clone(), |before| *before);
            *turnover = Some(Box::new(before.after(|set| cache.age(set))));
        }
    }

    /// Evicts lines that this launch has not asked for.
    fn forget_others(&mut self) {
        for slice in &mut self.slices {
            let Slice { cache, turnover, traffic, first_local_tag, .. } = slice;
            let Some(turnover) = turnover else { continue };
            cache.retain(
                |place| turnover.asked_by(place) > AskedBy::Others,
                |Evicted { tag, dirty }| {
                    traffic.dram_write_sectors += count(dirty);
                    if tag >= *first_local_tag {
                        traffic.local.dram_write_sectors += count(dirty);
                    }
                },
            );
            slice.changes();
        }
    }

    /// True if nearly all sets hold what the window that is replayed has brought in.
    pub(super) fn is_filled_by_window(&self) -> bool {
        let sets = self.slices.iter().filter_map(|slice| slice.turnover.as_ref());
        let (filled, all) = sets
            .map(|turnover| turnover.sets())
            .fold((0, 0), |(filled, all), (of_slice, sets)| (filled + of_slice, all + sets));
        20 * filled >= 19 * all
    }

    /// The part of the cache that the window that is replayed has filled; 1 if it is no window.
    pub(super) fn part_filled_by_window(&self) -> f64 {
        let parts = self
            .slices
            .iter()
            .map(|slice| slice.turnover.as_ref().map_or(1.0, |turnover| turnover.part_filled()));
        parts.sum::<f64>() / self.slices.len().max(1) as f64
    }

    /// Takes the number of lines that came in since the window began.
    pub(super) fn take_newcomers(&mut self) -> u64 {
        let windows = self.slices.iter_mut().filter_map(|slice| slice.turnover.as_mut());
        windows.map(|turnover| turnover.take_newcomers()).sum()
    }

    /// A launch comes. Windows of it will be replayed if it `has_windows`. Lines of which nothing
    /// is known stay so, until others have taken their places.
    pub(super) fn begin_launch(&mut self, has_windows: bool) {
        let known = has_windows.then(|| self.turnover().with_known());
        for slice in &mut self.slices {
            let before = slice.turnover.take().filter(|before| before.has_unknown());
            let begun = match before {
                Some(before) => Some(before.after_launch()),
                None => known.clone(),
            };
            let begun = if has_windows { begun.map(Turnover::with_kept) } else { begun };
            slice.turnover = begun.map(Box::new);
        }
        match self.has_unknown() {
            true => self.dirty_at_start = self.dirty_sectors(),
            false => self.dirty_doubt = DirtyDoubt::default(),
        }
    }

    /// Nothing is known of any set.
    fn turnover(&self) -> Turnover {
        let L2Geometry { ways, replacement, .. } = self.geometry;
        Turnover::new(self.geometry.sets(), ways, replacement == Replacement::Lru)
    }

    /// Takes the misses so far that may be hits, by row.
    pub(crate) fn take_unsure(&mut self, mut each: impl FnMut(u32, RowTraffic)) {
        for turnover in self.slices.iter_mut().filter_map(|slice| slice.turnover.as_mut()) {
            turnover.take_unsure(&mut each);
        }
    }

    /// Takes the hits so far that may be misses, by row.
    pub(crate) fn take_unsure_hits(&mut self, mut each: impl FnMut(u32, RowTraffic)) {
        for turnover in self.slices.iter_mut().filter_map(|slice| slice.turnover.as_mut()) {
            turnover.take_unsure_hits(&mut each);
        }
    }

    /// Its dirty sectors.
    pub(super) fn dirty_sectors(&mut self) -> u64 {
        self.slices.iter_mut().map(|slice| slice.dirty().all).sum()
    }

    /// Its dirty sectors if all sets inserted lines as one party of a duel does. Which of both the
    /// others follow depends on all that came before.
    pub(crate) fn dirty_of_duellists(&self) -> Vec<ScaledSectors> {
        let all = (self.slices.len() * self.geometry.sets()) as u64;
        let of_line = self.sectors_of_line();
        let of_duellist = |duellist: Duellist| {
            let mut sum = DuelSets::default();
            self.slices.iter().for_each(|slice| sum += slice.cache.of_duellist(duellist));
            let DuelSets { sets, dirty } = sum;
            (sets > 0).then(|| ScaledSectors {
                sectors: dirty * all / sets,
                of_line: of_line * all.div_ceil(sets),
            })
        };
        [Duellist::Plain, Duellist::Bimodal].into_iter().filter_map(of_duellist).collect()
    }

    /// Writes back whatever is dirty; the contents stay, clean.
    pub fn flush(&mut self) {
        self.dirty_doubt = DirtyDoubt::default();
        self.write_back(|| true);
    }

    /// Writes back the dirty lines for which `is_meant` returns true.
    fn write_back(&mut self, mut is_meant: impl FnMut() -> bool) {
        for slice in &mut self.slices {
            slice.changes();
            let Slice { cache, traffic, first_local_tag, .. } = slice;
            cache.clean(|evicted| {
                if !is_meant() {
                    return false;
                }
                traffic.dram_write_sectors += count(evicted.dirty);
                if evicted.tag >= *first_local_tag {
                    traffic.local.dram_write_sectors += count(evicted.dirty);
                }
                true
            });
        }
    }

    /// Ends a launch: counts dirty sectors in the traffic, and leaves them dirty. Whoever evicts
    /// them writes them.
    ///
    /// If the contents stay between launches, a launch writes the dirty sectors of the launch
    /// before it. The first launch has none before it. Its own stand for them: they count as
    /// written, as if a launch like it had run before.
    pub(crate) fn end_launch(&mut self, contents: L2Contents) {
        self.turns_before = self.turns_before.wrapping_add(TURNS_BETWEEN_LAUNCHES);
        let is_first = contents.stays() && !self.is_of_a_launch;
        self.is_of_a_launch = true;
        for slice in &mut self.slices {
            let DirtySectors { all, local } = slice.dirty();
            let traffic = &mut slice.traffic;
            (traffic.dirty_sectors, traffic.local.dirty_sectors) = (all, local);
            if is_first {
                traffic.dram_write_sectors += traffic.dirty_sectors;
                traffic.local.dram_write_sectors += traffic.local.dirty_sectors;
            }
        }
    }

    /// A copy from the host into `bytes` bytes from `address` on, which ends before the next
    /// launch. The part that the cache keeps is there, clean.
    pub fn copy_in(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let sector = self.geometry.sector_bytes.clamp(16, LINE_BYTES);
        let end = address + bytes;
        for line in address / LINE_BYTES..=(end - 1) / LINE_BYTES {
            let (mut sectors, mut full) = (0, 0);
            for index in 0..LINE_BYTES / sector {
                let first = line * LINE_BYTES + index * sector;
                let touched = first < end && first + sector > address;
                let whole = first >= address && first + sector <= end;
                sectors |= u8::from(touched) << index;
                full |= u8::from(whole) << index;
            }
            self.access(line, sectors, full, L2Operation::Write);
        }
        self.flush();
    }

    /// A kernel fills a buffer of its own that is larger than the cache. Of the lines that it
    /// leaves, as many as stay dirty are so ([`DIRTY_SHARE`]), all over the cache; the others have
    /// been written back.
    pub fn overwrite(&mut self) {
        let sectors = LINE_BYTES / self.geometry.sector_bytes.clamp(16, LINE_BYTES);
        let all = u8::MAX >> 8_u64.saturating_sub(sectors);
        let first = FIRST_OVERWRITTEN / LINE_BYTES;
        for line in first..first + 2 * self.geometry.size_bytes / LINE_BYTES {
            self.access(line, all, all, L2Operation::Write);
        }
        // The share is one of the whole cache, and copies are never dirty.
        let L2Geometry { size_bytes, .. } = self.geometry;
        let whole = size_bytes as f64 / self.geometry.distinct_bytes().max(1) as f64;
        let dirty = (DIRTY_SHARE * whole).min(1.0);
        let clean_of = |lines: u64| ((1.0 - dirty) * lines as f64) as u64;
        let mut lines = 0;
        self.write_back(|| {
            lines += 1;
            clean_of(lines) > clean_of(lines - 1)
        });
        self.end_launch(L2Contents::Overwritten);
    }
}

/// The first address that [`L2::overwrite`] fills. Buffers of 32-bit addresses end before it,
/// others begin far behind.
const FIRST_OVERWRITTEN: u64 = 1 << 32;

/// Requests of all slices from which several threads serve them.
const MANY_REQUESTS: usize = 1 << 10;

#[cfg(test)]
mod tests;
