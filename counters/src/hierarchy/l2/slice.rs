//! One slice of a second-level cache: what it does with a request.

use std::hash::{DefaultHasher, Hasher as _};
use std::iter::Sum;

use super::super::PARTS;
use super::super::kept_lines::Place;
use super::super::replacement::Newcomer;
use super::super::request::{L2Operation, SliceRequest, Source};
use super::super::sectored::{LineShape, SectoredCache, count};
use super::super::sums::RowSums;
use super::super::traffic::{Fetched, L2Traffic, RowTraffic};
use super::super::turnover::{Served, Touched, Turnover};
use super::super::turns::Turns;
use super::super::warp_request::{FIRST_SINGLE_ROW, LOCAL_FIRST_BYTE, NOBODY, ROW_LIMIT};
use super::{L2Geometry, PartialWrites};

/// Requests between the one that a slice of a large cache serves and the one whose line it asks
/// the CPU for. As many further on it asks for the set, which says where the line is.
const LOOK_AHEAD: usize = 12;

/// A cache is large if the CPU has to fetch its tags from memory that all cores share.
const LARGE_LINES: usize = 1 << 15;

/// One slice.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub(super) cache: SectoredCache,
    shape: LineShape,
    /// The first tag of local memory.
    pub(super) first_local_tag: u64,
    /// True if the GPU has an L2; otherwise requests go on to DRAM.
    is_there: bool,
    /// True if the cache is so large that the CPU is asked for its data in advance.
    looks_ahead: bool,
    partial_writes: PartialWrites,
    pub(super) traffic: L2Traffic,
    pub(super) rows: RowSums<RowTraffic>,
    pub(super) dirtied: Dirtied,
    /// The part of those that may have been dirty before.
    pub(super) unsure_dirtied: Dirtied,
    /// Its dirty sectors, if no request has come since they were counted: most launches reach few
    /// slices of a large cache.
    dirty: Option<DirtySectors>,
    /// A hash of its contents, for the same time.
    state: Option<u64>,
    /// What the window of the grid that is replayed has filled, if it is not the first one.
    pub(super) turnover: Option<Box<Turnover>>,
    turns: Turns,
    /// The turn with which those of the requests begin, among those of all launches; it wraps.
    pub(super) first_turn: u32,
    /// Turns in which each warp issues an instruction.
    pub(super) turns_of_instruction: u32,
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
pub(super) struct DirtySectors {
    pub(super) all: u64,
    /// Those of local memory.
    pub(super) local: u64,
}

impl Slice {
    /// An empty slice of a cache.
    pub(super) fn new(geometry: &L2Geometry) -> Self {
        let L2Geometry { ways, replacement, fill_clocks, partial_writes, .. } = *geometry;
        let (sets, shape) = (geometry.sets(), geometry.shape());
        Self {
            cache: SectoredCache::new(sets, ways as usize, replacement, fill_clocks),
            shape,
            first_local_tag: LOCAL_FIRST_BYTE / shape.line_bytes(),
            is_there: geometry.size_bytes > 0,
            looks_ahead: geometry.slice_count() * sets * ways.max(1) as usize >= LARGE_LINES,
            partial_writes,
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
        }
    }

    /// A request comes: what was found out of the contents holds no longer.
    pub(super) fn changes(&mut self) {
        self.dirty = None;
        self.state = None;
    }

    /// A hash of the contents.
    pub(super) fn state(&mut self) -> u64 {
        let Self { cache, state, .. } = self;
        *state.get_or_insert_with(|| {
            let mut hasher = DefaultHasher::new();
            cache.hash(&mut hasher);
            hasher.finish()
        })
    }

    /// Lines of each set that are known, if some are not.
    pub(super) fn unknown(&self) -> Option<&[u16]> {
        let turnover = self.turnover.as_ref().filter(|turnover| turnover.has_unknown());
        turnover.map(|turnover| turnover.known_lines())
    }

    /// Counts the dirty sectors.
    pub(super) fn dirty(&mut self) -> DirtySectors {
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
    pub(super) fn replay<'a>(&mut self, parts: impl Iterator<Item = &'a [SliceRequest]> + Clone) {
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
    pub(super) fn access(&mut self, request: &SliceRequest, moved: &mut RowTraffic) {
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
