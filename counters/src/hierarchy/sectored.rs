//! A sectored cache: tags for lines, a valid and a dirty bit for each sector.

use std::hash::{Hash as _, Hasher};
use std::ops::AddAssign;

use super::marks::Marks;
use super::prefetch::prefetch;
use super::ranks::{Duellist, Ranks};
use super::replacement::{Newcomer, Replacement};
use crate::units::LINE_BYTES;

/// A set-associative array of lines, as an L1 or a slice of an L2 has it.
#[derive(Clone, Debug)]
pub(crate) struct SectoredCache {
    ways: usize,
    marks: Marks,
    ranks: Ranks,
    /// Set by set.
    lines: Vec<Line>,
    /// Sectors asked for so far; the cache serves one in a clock.
    clock: u64,
    /// Clocks from a miss until its data is there.
    fill_clocks: u64,
}

/// Returns the number of sectors in a mask. Baseline x86-64 counts bits in a dozen instructions;
/// masks of four sectors are looked up in a word of sixteen digits.
#[inline]
pub(crate) fn count(sectors: u16) -> u64 {
    const OF_FOUR: u64 = 0x4332_3221_3221_2110;
    if sectors < 16 { OF_FOUR >> (4 * sectors) & 0xF } else { u64::from(sectors.count_ones()) }
}

/// The sectors of a line.
///
/// Valid ones, and dirty ones in the upper half. They share one word because a new line's sectors
/// are read as soon as they are written. The CPU forwards a word that was stored as a whole, and
/// waits for one that was stored in parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sectors(u32);

impl Sectors {
    /// Sectors whose every byte is known.
    #[inline]
    pub(crate) fn valid(self) -> u16 {
        self.0 as u16
    }

    /// Sectors that the next level has not seen.
    #[inline]
    pub(crate) fn dirty(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// True if no request has been served since the line was allocated.
    #[inline]
    pub(crate) fn is_new(self) -> bool {
        self.0 == 0
    }

    /// Every byte of these sectors is known now.
    #[inline]
    pub(crate) fn add_valid(&mut self, sectors: u16) {
        self.0 |= u32::from(sectors);
    }

    /// The next level has not seen these sectors.
    #[inline]
    pub(crate) fn add_dirty(&mut self, sectors: u16) {
        self.0 |= u32::from(sectors) << 16;
    }

    /// The next level has seen everything.
    #[inline]
    pub(crate) fn clean(&mut self) {
        self.0 = self.valid().into();
    }
}

/// A line and its sectors.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Meaningless if the way is empty.
    tag: u64,
    /// The time at which the line was allocated.
    allocated: u64,
    sectors: Sectors,
    /// The turn at which the next level was last asked for sectors of it.
    fetched: u32,
}

impl Line {
    /// Returns true if its data is there. Requests that arrive while it is on its way are merged
    /// with the miss. They wait for the same data and say nothing about later use.
    #[inline]
    fn is_filled(&self, clock: u64, fill_clocks: u64) -> bool {
        clock - self.allocated >= fill_clocks
    }
}

/// The line that gave way. If none did, nothing is dirty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evicted {
    pub(crate) tag: u64,
    pub(crate) dirty: u16,
}

/// Sets that always insert lines in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DuelSets {
    pub(crate) sets: u64,
    /// Their dirty sectors.
    pub(crate) dirty: u64,
}

impl AddAssign for DuelSets {
    fn add_assign(&mut self, other: Self) {
        self.sets += other.sets;
        self.dirty += other.dirty;
    }
}

impl SectoredCache {
    /// An empty cache.
    pub(crate) fn new(
        sets: usize,
        ways: usize,
        replacement: Replacement,
        fill_clocks: u32,
    ) -> Self {
        let ways = ways.max(1);
        Self {
            ways,
            marks: Marks::new(sets, ways),
            ranks: Ranks::new(sets, ways, replacement),
            lines: vec![Line::default(); sets * ways],
            clock: 0,
            fill_clocks: u64::from(fill_clocks),
        }
    }

    /// A request for `sectors` sectors of the line `tag`. It makes sure that the line is there, and
    /// returns its place ([`SectoredCache::at`]), with the line that gave way.
    // Calls for each request, here and in the called functions, are one instruction of twenty of
    // the replay.
    #[inline(always)]
    pub(crate) fn find_or_admit(
        &mut self,
        set: usize,
        tag: u64,
        sectors: u64,
        newcomer: Newcomer,
    ) -> (usize, Evicted) {
        self.clock += sectors;
        let Self { ways, marks, ranks, lines, clock, fill_clocks } = self;
        let first = set * *ways;
        if let Some(way) = marks.find(set, tag, |way| lines[first + way].tag == tag) {
            if lines[first + way].is_filled(*clock, *fill_clocks) {
                ranks.reuse(set, way);
            }
            return (first + way, Evicted::default());
        }
        let empty = marks.empty(set);
        let way = ranks.admit(set, empty, newcomer);
        match empty {
            Some(_) => marks.put(set, way, tag),
            None => marks.replace(set, way, tag),
        }
        let line = &mut lines[first + way];
        // A way that held nothing is not dirty.
        let evicted = Evicted { tag: line.tag, dirty: line.sectors.dirty() };
        *line = Line { tag, allocated: *clock, ..Line::default() };
        (first + way, evicted)
    }

    /// Steps by which the prospects of a set's lines have worsened so far.
    #[inline]
    pub(crate) fn age(&self, set: usize) -> u32 {
        self.ranks.age(set)
    }

    /// Asks for the data of a set that a request reads first.
    #[inline]
    pub(crate) fn prefetch(&self, set: usize) {
        self.marks.prefetch(set);
        self.ranks.prefetch(set);
    }

    /// Asks for the line that a request of a set and a tag will change, as far as this can be told
    /// now. It reads what [`SectoredCache::prefetch`] asks for.
    #[inline]
    pub(crate) fn prefetch_line(&self, set: usize, tag: u64) {
        let way = self.marks.find(set, tag, |_| true);
        let way = way.unwrap_or_else(|| self.ranks.likely_victim(set));
        prefetch(&self.lines, set * self.ways + way);
    }

    /// The sectors of the line at a place.
    #[inline]
    pub(crate) fn at(&mut self, place: usize) -> &mut Sectors {
        &mut self.lines[place].sectors
    }

    /// The turn at which the next level was last asked for sectors of the line at a place.
    #[inline]
    pub(crate) fn fetched(&mut self, place: usize) -> &mut u32 {
        &mut self.lines[place].fetched
    }

    /// A request for `sectors` of the line `tag`, if it is at this place and has them all. In a
    /// cache whose data is there at once, nothing but its use changes.
    #[inline]
    pub(crate) fn reuse_at(&mut self, place: usize, tag: u64, sectors: u16) -> bool {
        let Some(line) = self.lines.get(place) else { return false };
        // A way that holds nothing has no valid sector.
        let valid = line.sectors.valid();
        let has_all = valid != 0 && sectors & !valid == 0;
        let is_hit = line.tag == tag && has_all && self.fill_clocks == 0;
        if is_hit {
            self.clock += count(sectors);
            self.ranks.reuse_at(place);
        }
        is_hit
    }

    /// As [`SectoredCache::find_or_admit`], but a missing line stays away.
    #[inline]
    pub(crate) fn touch_if_there(
        &mut self,
        set: usize,
        tag: u64,
        sectors: u64,
    ) -> Option<&mut Sectors> {
        self.clock += sectors;
        let way = self.find(set, tag)?;
        let line = &mut self.lines[set * self.ways + way];
        if line.is_filled(self.clock, self.fill_clocks) {
            self.ranks.reuse(set, way);
        }
        Some(&mut line.sectors)
    }

    #[inline]
    fn find(&self, set: usize, tag: u64) -> Option<usize> {
        let lines = &self.lines[set * self.ways..(set + 1) * self.ways];
        self.marks.find(set, tag, |way| lines[way].tag == tag)
    }

    /// Drops a line and returns its contents.
    #[inline]
    pub(crate) fn evict(&mut self, set: usize, tag: u64) -> Option<Evicted> {
        let way = self.find(set, tag)?;
        self.marks.clear(set, way);
        self.ranks.forget(set, way);
        let dirty = std::mem::take(&mut self.lines[set * self.ways + way]).sectors.dirty();
        Some(Evicted { tag, dirty })
    }

    /// Drops the lines at places that are not to be kept; `on_line` learns of each.
    pub(crate) fn retain(
        &mut self,
        keeps: impl Fn(usize) -> bool,
        mut on_line: impl FnMut(Evicted),
    ) {
        let Self { ways, marks, ranks, lines, .. } = self;
        for (set, lines) in lines.chunks_exact_mut(*ways).enumerate() {
            let held: Vec<usize> = marks.held(set).collect();
            for way in held.into_iter().filter(|way| !keeps(set * *ways + way)) {
                marks.clear(set, way);
                ranks.forget(set, way);
                let Line { tag, sectors, .. } = std::mem::take(&mut lines[way]);
                on_line(Evicted { tag, dirty: sectors.dirty() });
            }
        }
    }

    /// Gives lines at places that are not known tags that nobody asks for: each of its way. Their
    /// sectors stay dirty.
    pub(crate) fn disguise(&mut self, knows: impl Fn(usize) -> bool, tag: impl Fn(usize) -> u64) {
        let Self { ways, marks, lines, .. } = self;
        for (set, lines) in lines.chunks_exact_mut(*ways).enumerate() {
            let held: Vec<usize> = marks.held(set).collect();
            for way in held.into_iter().filter(|way| !knows(set * *ways + way)) {
                lines[way].tag = tag(way);
                marks.replace(set, way, tag(way));
            }
        }
    }

    /// Puts `count` lines into places that hold nothing, one in each set in turn. They get the tag
    /// of their way, and are the first to give way.
    pub(crate) fn fill(&mut self, mut count: u64, tag: impl Fn(usize) -> u64) {
        let Self { ways, marks, ranks, lines, clock, .. } = self;
        while count > 0 && marks.empty_ways() > 0 {
            for (set, lines) in lines.chunks_exact_mut(*ways).enumerate() {
                let Some(way) = marks.empty(set).filter(|_| count > 0) else { continue };
                lines[way] = Line { tag: tag(way), allocated: *clock, ..Line::default() };
                marks.put(set, way, tag(way));
                ranks.expect_last(set, way);
                count -= 1;
            }
        }
    }

    /// Makes other sectors dirty of the lines that are `chosen` by their tag.
    pub(crate) fn dirty_anew(
        &mut self,
        chosen: impl Fn(u64) -> bool,
        mut sectors: impl FnMut() -> u16,
    ) {
        for line in self.lines.iter_mut().filter(|line| chosen(line.tag)) {
            line.sectors.clean();
            line.sectors.add_dirty(sectors());
        }
    }

    /// True if the place holds a line.
    pub(crate) fn holds(&self, place: usize) -> bool {
        self.marks.holds(place / self.ways, place % self.ways)
    }

    /// Places that hold nothing.
    pub(crate) fn empty(&self) -> usize {
        self.marks.empty_ways()
    }

    /// Feeds `hasher` with everything that the answers to later requests depend on.
    pub(crate) fn hash(&self, hasher: &mut impl Hasher) {
        let Self { ways, marks, ranks, lines, clock, fill_clocks } = self;
        ranks.hash(hasher);
        for (set, lines) in lines.chunks_exact(*ways).enumerate() {
            for way in marks.held(set) {
                let Line { tag, allocated, sectors, fetched: _ } = lines[way];
                // Once the data is there, nobody asks how long it has been.
                let age = (clock - allocated).min(*fill_clocks);
                (set * *ways + way, tag, age, sectors).hash(hasher);
            }
        }
    }

    /// Tells `on_line` of every line.
    pub(crate) fn for_each(&self, mut on_line: impl FnMut(Evicted)) {
        for (set, lines) in self.lines.chunks_exact(self.ways).enumerate() {
            for line in self.marks.held(set).map(|way| &lines[way]) {
                on_line(Evicted { tag: line.tag, dirty: line.sectors.dirty() });
            }
        }
    }

    /// Sets that decide a duel for one of its insertions, and their dirty sectors.
    pub(crate) fn of_duellist(&self, duellist: Duellist) -> DuelSets {
        let sets = self.lines.chunks_exact(self.ways).enumerate();
        let of_duellist = sets.filter(|(set, _)| self.ranks.duellist(*set) == Some(duellist));
        of_duellist.fold(DuelSets::default(), |DuelSets { sets, dirty }, (_, lines)| {
            let of_set: u64 = lines.iter().map(|line| count(line.sectors.dirty())).sum();
            DuelSets { sets: sets + 1, dirty: dirty + of_set }
        })
    }

    /// Tells `on_line` of every dirty line, which stays dirty.
    pub(crate) fn for_each_dirty(&self, mut on_line: impl FnMut(Evicted)) {
        for line in self.lines.iter().filter(|line| line.sectors.dirty() != 0) {
            on_line(Evicted { tag: line.tag, dirty: line.sectors.dirty() });
        }
    }

    /// Shows each dirty line to `on_line`, and cleans those for which it returns true.
    pub(crate) fn clean(&mut self, mut on_line: impl FnMut(Evicted) -> bool) {
        for line in &mut self.lines {
            let dirty = line.sectors.dirty();
            if dirty != 0 && on_line(Evicted { tag: line.tag, dirty }) {
                line.sectors.clean();
            }
        }
    }
}

/// The size of sectors and of a cache's lines, which need not be those of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineShape {
    /// Sectors of a request's line of [`LINE_BYTES`]: 8, 4, 2 or 1.
    per_request: u32,
    /// Sectors of the cache's line: 1 to 16.
    per_line: u32,
    /// Sectors that a miss brings in together: 1, or more up to a line.
    per_fill: u32,
}

impl LineShape {
    /// Sizes are rounded to possible ones: powers of two, sectors of 16 to 128 bytes, lines of a
    /// sector to 256 bytes. Fills have a sector to a line.
    pub(crate) fn new(sector_bytes: u64, line_bytes: u64, fill_bytes: u64) -> Self {
        let sector = sector_bytes.next_power_of_two().clamp(16, LINE_BYTES);
        let line = line_bytes.next_power_of_two().clamp(sector, 256);
        let fill = fill_bytes.next_power_of_two().clamp(sector, line);
        Self {
            per_request: (LINE_BYTES / sector) as u32,
            per_line: (line / sector) as u32,
            per_fill: (fill / sector) as u32,
        }
    }

    /// Returns true if the cache's lines are those of requests.
    #[inline]
    pub(crate) fn is_of_requests(self) -> bool {
        self.per_line == self.per_request
    }

    /// Bytes of a line.
    pub(crate) fn line_bytes(self) -> u64 {
        LINE_BYTES / u64::from(self.per_request) * u64::from(self.per_line)
    }

    /// Returns true if a miss brings in a line of several sectors as a whole.
    pub(crate) fn fills_lines(self) -> bool {
        self.per_fill == self.per_line && self.per_line > 1
    }

    /// Cuts a request's line into the cache's; `on_part` gets the tag and the masks.
    #[inline]
    pub(crate) fn cut(
        self,
        line: u64,
        sectors: u8,
        full: u8,
        mut on_part: impl FnMut(u64, u16, u16),
    ) {
        if self.per_line == self.per_request {
            on_part(line, u16::from(sectors), u16::from(full));
            return;
        }
        let first = line * u64::from(self.per_request);
        let mut rest = u32::from(sectors);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            let sector = first + u64::from(bit);
            // The bits of the request from `bit` on that lie in the same line of the cache.
            let offset = (sector % u64::from(self.per_line)) as u32;
            let width = (self.per_line - offset).min(8 - bit);
            let part = ((1_u32 << width) - 1) << bit;
            let here = |mask: u32| ((mask & part) >> bit << offset) as u16;
            on_part(sector / u64::from(self.per_line), here(rest), here(u32::from(full)));
            rest &= !part;
        }
    }

    /// Puts a mask of the cache's line together as requests: line by line of [`LINE_BYTES`].
    #[inline]
    pub(crate) fn uncut(self, tag: u64, sectors: u16, mut on_line: impl FnMut(u64, u8)) {
        if self.per_line == self.per_request {
            if sectors != 0 {
                on_line(tag, sectors as u8);
            }
            return;
        }
        let first = tag * u64::from(self.per_line);
        let mut rest = u32::from(sectors);
        while rest != 0 {
            let sector = first + u64::from(rest.trailing_zeros());
            let line = sector / u64::from(self.per_request);
            let mut mask = 0;
            for bit in 0..self.per_request {
                let Some(own) = (line * u64::from(self.per_request) + u64::from(bit))
                    .checked_sub(first)
                    .filter(|&own| own < 16)
                else {
                    continue;
                };
                if rest >> own & 1 == 1 {
                    mask |= 1 << bit;
                    rest &= !(1 << own);
                }
            }
            on_line(line, mask);
        }
    }

    /// The sectors that are brought in where those of `absent` are missing.
    #[inline]
    pub(crate) fn filled(self, absent: u16) -> u16 {
        if self.per_fill == 1 {
            return absent;
        }
        let group = ((1_u32 << self.per_fill) - 1) as u16;
        if self.per_fill == self.per_line {
            return if absent == 0 { 0 } else { group };
        }
        let mut filled = 0;
        for first in (0..self.per_line).step_by(self.per_fill as usize) {
            if absent >> first & group != 0 {
                filled |= group << first;
            }
        }
        filled
    }
}
