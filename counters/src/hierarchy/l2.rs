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

mod unknown;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::iter::Sum;

use rayon::prelude::*;

use super::PARTS;
use super::contents::{DIRTY_SHARE, L2Contents};
use super::kept_lines::Place;
use super::outbox::{Queues, TurnTime};
use super::placement::Placement;
use super::ranks::Duellist;
use super::replacement::{Newcomer, Replacement};
use super::request::{L2Operation, Router, SliceRequest, Source};
use super::sectored::{DuelSets, Evicted, LineShape, SectoredCache, count};
use super::sums::RowSums;
use super::traffic::{Fetched, L2Traffic, RowTraffic};
use super::turnover::{AskedBy, Served, Touched, Turnover};
use super::turns::Turns;
use super::warp_request::{FIRST_SINGLE_ROW, LOCAL_FIRST_BYTE, NOBODY, ROW_LIMIT};
use crate::units::{LINE_BYTES, SECTOR_BYTES};
use unknown::DirtyDoubt;
pub(crate) use unknown::{Estimated, Settled};

/// The effect of a write to part of a sector that is not in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartialWrites {
    /// The sector is read from DRAM first: ECC bits in the same memory are those of whole sectors.
    Fill,
    /// Byte masks remember the bytes that were written; DRAM is read only if the sector is read
    /// later.
    ///
    /// Boards without ECC do this. For Rodinia's hotspot on a 1024² grid, nvprof shows 262 157
    /// sectors read on a GTX 680. The inputs are 262 144 sectors, and the stores come in runs of 48
    /// bytes. Approximation: a sector that was pieced together by several partial writes still
    /// counts one fill when it is read.
    Masked,
}

/// Size and habits of a second-level cache.
///
/// Sizes are rounded to possible ones: powers of two, sectors of 16 to 128 bytes, lines of a sector
/// to 256 bytes. Fills have a sector to a line, and sets are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2Geometry {
    /// Data capacity of all slices.
    pub size_bytes: u64,
    /// Bytes of one line: 32, 64, 128 or 256.
    pub line_bytes: u64,
    /// Bytes of one sector, the smallest piece that moves: 32 on every GPU so far. Requests must
    /// be coalesced into sectors of the same size.
    pub sector_bytes: u64,
    /// Bytes that a miss reads from DRAM: a sector, or several ("sector promotion").
    pub fill_bytes: u64,
    /// Parts of the cache that work side by side, each with its share of the addresses.
    pub slices: u32,
    /// Lines of one set.
    pub ways: u32,
    /// The policy that chooses the line of a set to evict.
    pub replacement: Replacement,
    /// The cost of writing a part of a sector.
    pub partial_writes: PartialWrites,
    /// Clocks from a miss until the line is there; a slice serves one sector a clock. Requests for
    /// the line in the meantime are merged with the miss and do not count as re-use of the line.
    pub fill_clocks: u32,
}

impl L2Geometry {
    /// The router that finds the slice of a request.
    pub(crate) fn router(&self) -> Router {
        Router::new(self.shape(), Placement::new(self.slice_count(), self.sets()))
    }

    pub(crate) fn slice_count(&self) -> usize {
        self.slices.max(1) as usize
    }

    /// The GTX 480's: 768 KB with lines of 128 bytes and 4 sectors, re-reference prediction that
    /// duels for whole lines and stores.
    ///
    /// NVIDIA publishes the size and the six partitions (Fermi white paper). Two slices a partition
    /// are GPGPU-Sim's. 16 ways are assumed. The policy is not published; this one is the best over
    /// all measured kernels (`docs/evidence/dram-study.md`). The fill time is the difference of the
    /// latencies of DRAM and L2 (685 and 310 shader clocks on a Fermi: Andersch et al., "On Latency
    /// in GPU Throughput Microarchitectures", ISPASS 2015) in clocks of the L2, half as many. The
    /// board has no ECC.
    pub const GTX_480: Self = Self {
        size_bytes: 768 << 10,
        line_bytes: 128,
        sector_bytes: SECTOR_BYTES,
        fill_bytes: SECTOR_BYTES,
        slices: 12,
        ways: 16,
        replacement: Replacement::ClientReReference { near_every: 32 },
        partial_writes: PartialWrites::Masked,
        fill_clocks: 188,
    };

    /// No cache at all: capability 1.x. Every sector goes to DRAM and comes from there.
    pub const NONE: Self = Self { size_bytes: 0, slices: 1, ..Self::GTX_480 };

    fn shape(&self) -> LineShape {
        LineShape::new(self.sector_bytes, self.line_bytes, self.fill_bytes)
    }

    /// Sets of one slice.
    fn sets(&self) -> usize {
        let lines = self.size_bytes / self.shape().line_bytes();
        let ways = u64::from(self.ways.max(1)) * u64::from(self.slices.max(1));
        (lines / ways).max(1) as usize
    }
}

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
        let sets = geometry.sets();
        let slices = geometry.slice_count();
        let shape = geometry.shape();
        let slice = Slice {
            cache: SectoredCache::new(
                sets,
                geometry.ways as usize,
                geometry.replacement,
                geometry.fill_clocks,
            ),
            shape,
            first_local_tag: LOCAL_FIRST_BYTE / shape.line_bytes(),
            is_there: geometry.size_bytes > 0,
            looks_ahead: slices * sets * geometry.ways.max(1) as usize >= LARGE_LINES,
            partial_writes: geometry.partial_writes,
            traffic: L2Traffic::default(),
            rows: RowSums::default(),
            dirtied: Dirtied::default(),
            unsure_dirtied: Dirtied::default(),
            dirty: Some(DirtySectors::default()),
            state: None,
            turnover: None,
            turns: Turns::default(),
            first_turn: 0,
            turns_of_instruction: 1,
        };
        Self {
            geometry,
            router: geometry.router(),
            slices: vec![slice; slices],
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
        let whole = u8::MAX >> 8_u64.saturating_sub(sectors);
        let first = FIRST_OVERWRITTEN / LINE_BYTES;
        for line in first..first + 2 * self.geometry.size_bytes / LINE_BYTES {
            self.access(line, whole, whole, L2Operation::Write);
        }
        let clean_of = |lines: u64| ((1.0 - DIRTY_SHARE) * lines as f64) as u64;
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

/// Requests between the one that a slice of a large cache serves and the one whose line it asks
/// the CPU for. As many further on it asks for the set, which says where the line is.
const LOOK_AHEAD: usize = 12;

/// A cache is large if the CPU has to fetch its tags from memory that all cores share.
const LARGE_LINES: usize = 1 << 15;

/// Requests of all slices from which several threads serve them.
const MANY_REQUESTS: usize = 1 << 10;

/// One slice.
#[derive(Clone, Debug)]
struct Slice {
    cache: SectoredCache,
    shape: LineShape,
    /// The first tag of local memory.
    first_local_tag: u64,
    /// True if the GPU has an L2; otherwise requests go on to DRAM.
    is_there: bool,
    /// True if the cache is so large that the CPU is asked for its data in advance.
    looks_ahead: bool,
    partial_writes: PartialWrites,
    traffic: L2Traffic,
    rows: RowSums<RowTraffic>,
    dirtied: Dirtied,
    /// The part of those that may have been dirty before.
    unsure_dirtied: Dirtied,
    /// Its dirty sectors, if no request has come since they were counted: most launches reach few
    /// slices of a large cache.
    dirty: Option<DirtySectors>,
    /// A hash of its contents, for the same time.
    state: Option<u64>,
    /// What the window of the grid that is replayed has filled, if it is not the first one.
    turnover: Option<Box<Turnover>>,
    turns: Turns,
    /// The turn with which those of the requests begin, among those of all launches; it wraps.
    first_turn: u32,
    /// Turns in which each warp issues an instruction.
    turns_of_instruction: u32,
}

/// Sectors that requests made dirty, those of nobody apart. Without a cache it is what they wrote.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dirtied {
    /// By rows of the base table. Of sampled lines, by part of the sample.
    pub(crate) by_rows: [u64; PARTS as usize],
    /// By lines of local memory that first-level caches wrote back.
    pub(crate) by_write_backs: u64,
}

impl Sum for Dirtied {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let mut all = Self::default();
        for Self { by_rows, by_write_backs } in parts {
            all.by_rows.iter_mut().zip(by_rows).for_each(|(sum, sectors)| *sum += sectors);
            all.by_write_backs += by_write_backs;
        }
        all
    }
}

impl Dirtied {
    /// A request of a row has made some sectors dirty.
    #[inline]
    fn note(&mut self, row: u32, sectors: u64) {
        match row {
            NOBODY => {}
            ROW_LIMIT => self.by_write_backs += sectors,
            _ => self.by_rows[(row % PARTS) as usize] += sectors,
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> u64 {
        self.of_rows() + self.by_write_backs
    }

    /// All that requests of rows made dirty.
    pub(crate) fn of_rows(&self) -> u64 {
        self.by_rows.iter().sum()
    }
}

/// Sectors whose writer is the cache.
#[derive(Clone, Copy, Debug, Default)]
struct DirtySectors {
    all: u64,
    /// Those of local memory.
    local: u64,
}

impl Slice {
    /// A request comes: what was found out of the contents holds no longer.
    fn changes(&mut self) {
        self.dirty = None;
        self.state = None;
    }

    /// A hash of the contents.
    fn state(&mut self) -> u64 {
        let Self { cache, state, .. } = self;
        *state.get_or_insert_with(|| {
            let mut hasher = DefaultHasher::new();
            cache.hash(&mut hasher);
            hasher.finish()
        })
    }

    /// Lines of each set that are known, if some are not.
    fn unknown(&self) -> Option<&[u16]> {
        let turnover = self.turnover.as_ref().filter(|turnover| turnover.has_unknown());
        turnover.map(|turnover| turnover.known_lines())
    }

    /// Counts the dirty sectors.
    fn dirty(&mut self) -> DirtySectors {
        let Self { cache, first_local_tag, dirty, .. } = self;
        *dirty.get_or_insert_with(|| {
            let mut found = DirtySectors::default();
            cache.for_each_dirty(|evicted| {
                found.all += count(evicted.dirty);
                if evicted.tag >= *first_local_tag {
                    found.local += count(evicted.dirty);
                }
            });
            found
        })
    }

    /// Serves the requests of all SMs, in the order of turns, then of SMs.
    fn replay<'a>(&mut self, parts: impl Iterator<Item = &'a [SliceRequest]> + Clone) {
        let mut turns = std::mem::take(&mut self.turns);
        let queue = turns.sort(parts);
        if let Some(first) = queue.first() {
            self.changes();
            if self.looks_ahead {
                for one in queue.iter().take(2 * LOOK_AHEAD) {
                    self.cache.prefetch(one.set as usize);
                }
            }
            let mut source = first.source;
            let mut moved = RowTraffic::default();
            for (index, request) in queue.iter().enumerate() {
                if self.looks_ahead {
                    if let Some(one) = queue.get(index + 2 * LOOK_AHEAD) {
                        self.cache.prefetch(one.set as usize);
                    }
                    if let Some(one) = queue.get(index + LOOK_AHEAD) {
                        self.cache.prefetch_line(one.set as usize, one.tag);
                    }
                }
                // Warps reach an instruction together, so that its requests come in runs.
                if request.source != source {
                    self.credit(source, std::mem::take(&mut moved));
                    source = request.source;
                }
                self.access(request, &mut moved);
            }
            self.credit(source, moved);
        }
        self.turns = turns;
    }

    /// Adds the traffic of requests of one row for one operation.
    fn credit(&mut self, source: Source, moved: RowTraffic) {
        let (row, operation) = (source.row(), source.operation());
        self.traffic.add(operation, &moved);
        // Lines of local memory that a first-level cache wrote back have a row beyond all others.
        // Instructions beyond the limit share it.
        if row < NOBODY {
            self.rows.add(row, moved);
        } else if row == ROW_LIMIT && operation == L2Operation::Write {
            self.traffic.local.write_back_sectors += moved.l2_sectors;
            self.traffic.local.write_back_hit_sectors += moved.l2_hit_sectors;
        }
    }

    /// Serves a request and adds its traffic to `moved`, except for writes to DRAM.
    #[inline]
    fn access(&mut self, request: &SliceRequest, moved: &mut RowTraffic) {
        let SliceRequest { tag, set, turn, sectors, full, source } = *request;
        let operation = source.operation();
        if !self.is_there {
            return self.pass_on(request, moved);
        }
        let asked = count(sectors);
        let newcomer = match operation {
            L2Operation::Read => Newcomer::SectorLoad,
            L2Operation::ReadLine | L2Operation::Write | L2Operation::Update => Newcomer::Other,
        };
        let (place, evicted) = self.cache.find_or_admit(set as usize, tag, asked, newcomer);
        let written = count(evicted.dirty);
        self.traffic.dram_write_sectors += written;
        if evicted.tag >= self.first_local_tag {
            self.traffic.local.dram_write_sectors += written;
        }
        let line = self.cache.at(place);
        let is_new = line.is_new();
        let absent = sectors & !line.valid();
        let (missed, read) = match operation {
            L2Operation::Read | L2Operation::ReadLine | L2Operation::Update => {
                let filled = self.shape.filled(absent) & !line.valid();
                line.add_valid(sectors | filled);
                (absent, filled)
            }
            L2Operation::Write => {
                let read = match self.partial_writes {
                    PartialWrites::Fill => {
                        line.add_valid(sectors);
                        absent & !full
                    }
                    PartialWrites::Masked => {
                        line.add_valid(full);
                        0
                    }
                };
                // A write that needs nothing from DRAM is a hit, wherever its line comes from.
                (read, read)
            }
        };
        let mut dirtied = 0;
        if operation.writes() {
            dirtied = count(sectors & !line.dirty());
            self.dirtied.note(source.row(), dirtied);
            line.add_dirty(sectors);
        }
        moved.l2_sectors += asked;
        let missed_sectors = count(missed);
        let now = self.first_turn.wrapping_add(turn);
        if source.row() >= FIRST_SINGLE_ROW && missed != sectors {
            let turns = now.wrapping_sub(*self.cache.fetched(place));
            moved.fetched += Fetched::instructions_ago(turns / self.turns_of_instruction);
        }
        if read != 0 {
            *self.cache.fetched(place) = now;
        }
        moved.l2_hit_sectors += asked - missed_sectors;
        moved.dram_read_sectors += if read == missed { missed_sectors } else { count(read) };
        if let Some(turnover) = &mut self.turnover {
            let set = set as usize;
            let at = Place { set, place, age: self.cache.age(set) };
            let line = Touched { tag, at, is_new, gave_way: evicted.tag, evicted: written };
            let found = match operation {
                L2Operation::Read | L2Operation::ReadLine | L2Operation::Update => {
                    sectors & !missed
                }
                L2Operation::Write => match self.partial_writes {
                    PartialWrites::Fill => sectors & !full & !missed,
                    PartialWrites::Masked => 0,
                },
            };
            let served = Served { missed: missed_sectors, read: count(read), found: count(found) };
            if turnover.note(line, source.row(), served) {
                self.unsure_dirtied.note(source.row(), dirtied);
            }
        }
    }

    /// A request to DRAM itself, which writes any part of a sector as it is.
    #[cold]
    fn pass_on(&mut self, request: &SliceRequest, moved: &mut RowTraffic) {
        let SliceRequest { sectors, source, .. } = *request;
        let operation = source.operation();
        if operation != L2Operation::Write {
            moved.dram_read_sectors += count(sectors);
        }
        if operation.writes() {
            self.traffic.dram_write_sectors += count(sectors);
            self.dirtied.note(source.row(), count(sectors));
        }
    }
}

#[cfg(test)]
mod tests;
