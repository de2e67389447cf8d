//! The lines of a first-level cache that gives up the least recently used one.
//!
//! It answers as a [`SectoredCache`](super::sectored::SectoredCache) of that policy whose data is
//! there at once, and takes half of its memory. A GPU has a hundred of these caches; a replay looks
//! at another one with each request. So a line, its sectors and its last use stand together in 16
//! bytes, and a set of four ways is one line of the CPU's cache.

use super::prefetch::prefetch;
use super::sectored::{Evicted, Sectors};

/// A line and its last use.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    tag: u64,
    sectors: Sectors,
    /// The number of its last use; 0 if it holds nothing.
    used: u32,
}

/// Ways whose tags are compared together.
const WAYS_OF_BLOCK: usize = 4;

/// Some ways of a set, in one line of the CPU's cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Block([Way; WAYS_OF_BLOCK]);

/// A set-associative array of lines.
#[derive(Clone, Debug)]
pub(crate) struct RecentCache {
    ways: usize,
    /// Blocks of a set. The last one may end in places that are no ways and hold nothing.
    blocks_per_set: usize,
    /// Set by set. Places are those of ways in blocks.
    blocks: Vec<Block>,
    /// Uses so far.
    uses: u32,
}

impl RecentCache {
    /// An empty cache.
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        let ways = ways.max(1);
        let blocks_per_set = ways.div_ceil(WAYS_OF_BLOCK);
        let blocks = vec![Block::default(); sets * blocks_per_set];
        Self { ways, blocks_per_set, blocks, uses: 0 }
    }

    /// The number of a use.
    #[inline]
    fn next_use(&mut self) -> u32 {
        if self.uses == u32::MAX {
            self.renumber();
        }
        self.uses += 1;
        self.uses
    }

    /// Gives the uses of each set small numbers, in their order.
    #[cold]
    fn renumber(&mut self) {
        for set in self.blocks.chunks_exact_mut(self.blocks_per_set) {
            let used: Vec<u32> =
                set.iter().flat_map(|block| &block.0).map(|way| way.used).collect();
            let ways = set.iter_mut().flat_map(|block| &mut block.0);
            for way in ways.filter(|way| way.used > 0) {
                way.used = used.iter().filter(|&&used| used > 0 && used <= way.used).count() as u32;
            }
        }
        self.uses = self.ways as u32;
    }

    /// The blocks of a set, and the place of its first way.
    #[inline]
    fn of_set(&self, set: usize) -> (&[Block], usize) {
        let first = set * self.blocks_per_set;
        (&self.blocks[first..first + self.blocks_per_set], first * WAYS_OF_BLOCK)
    }

    #[inline]
    fn way(&mut self, place: usize) -> &mut Way {
        &mut self.blocks[place / WAYS_OF_BLOCK].0[place % WAYS_OF_BLOCK]
    }

    /// Makes sure that the line `tag` is there. Returns its place, and the line that gave way.
    #[inline]
    pub(crate) fn find_or_admit(&mut self, set: usize, tag: u64) -> (usize, Evicted) {
        let next_use = self.next_use();
        if let Some(place) = self.place(set, tag) {
            self.way(place).used = next_use;
            return (place, Evicted::default());
        }
        let (blocks, first) = self.of_set(set);
        // A way that holds nothing was used before all others.
        let (mut least, mut victim) = (u32::MAX, 0);
        for (index, way) in blocks.iter().flat_map(|block| &block.0).take(self.ways).enumerate() {
            (least, victim) = if way.used < least { (way.used, index) } else { (least, victim) };
        }
        let place = first + victim;
        let new = Way { tag, sectors: Sectors::default(), used: next_use };
        let before = std::mem::replace(self.way(place), new);
        (place, Evicted { tag: before.tag, dirty: before.sectors.dirty() })
    }

    /// Asks for the data of a set.
    #[inline]
    pub(crate) fn prefetch(&self, set: usize) {
        prefetch(&self.blocks, set * self.blocks_per_set);
    }

    /// The sectors of the line at a place.
    #[inline]
    pub(crate) fn at(&mut self, place: usize) -> &mut Sectors {
        &mut self.way(place).sectors
    }

    /// A request for `sectors` of the line `tag`, if it is at this place and has them all.
    #[inline]
    pub(crate) fn reuse_at(&mut self, place: usize, tag: u64, sectors: u16) -> bool {
        let Some(block) = self.blocks.get(place / WAYS_OF_BLOCK) else { return false };
        let way = block.0[place % WAYS_OF_BLOCK];
        // A way that holds nothing has no valid sector.
        let valid = way.sectors.valid();
        let is_hit = way.tag == tag && valid != 0 && sectors & !valid == 0;
        if is_hit {
            self.way(place).used = self.next_use();
        }
        is_hit
    }

    /// As [`RecentCache::find_or_admit`], but a missing line stays away.
    #[inline]
    pub(crate) fn find(&mut self, set: usize, tag: u64) -> Option<&mut Sectors> {
        let place = self.place(set, tag)?;
        self.way(place).used = self.next_use();
        Some(&mut self.way(place).sectors)
    }

    #[inline]
    fn place(&self, set: usize, tag: u64) -> Option<usize> {
        let (blocks, first) = self.of_set(set);
        for (index, Block(ways)) in blocks.iter().enumerate() {
            // Which way it is cannot be foreseen, so no branch asks.
            let is_here = |way: &Way| (way.tag == tag) & (way.used > 0);
            let bits = ways.iter().enumerate().map(|(at, way)| u32::from(is_here(way)) << at);
            let found = bits.fold(0, |found, bit| found | bit);
            if found != 0 {
                return Some(first + index * WAYS_OF_BLOCK + found.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Drops a line.
    #[inline]
    pub(crate) fn evict(&mut self, set: usize, tag: u64) {
        if let Some(place) = self.place(set, tag) {
            *self.way(place) = Way::default();
        }
    }

    /// Cleans every dirty line; `on_line` learns of each.
    pub(crate) fn clean(&mut self, mut on_line: impl FnMut(Evicted) -> bool) {
        for way in self.blocks.iter_mut().flat_map(|block| &mut block.0) {
            let dirty = way.sectors.dirty();
            if dirty != 0 && on_line(Evicted { tag: way.tag, dirty }) {
                way.sectors.clean();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hierarchy::replacement::{Newcomer, Replacement};
    use crate::hierarchy::sectored::SectoredCache;

    /// What is asked of both caches, of a set and a tag.
    #[derive(Clone, Copy, Debug)]
    enum Asked {
        Load(u16),
        StoreLocal(u16),
        Update(u16),
        LoadWhereItWas(u16),
        Drop,
        Clean,
    }

    fn asked() -> impl Strategy<Value = Asked> {
        prop_oneof![
            5 => (1_u16..16).prop_map(Asked::Load),
            2 => (1_u16..16).prop_map(Asked::StoreLocal),
            2 => (1_u16..16).prop_map(Asked::Update),
            3 => (1_u16..16).prop_map(Asked::LoadWhereItWas),
            1 => Just(Asked::Drop),
            1 => Just(Asked::Clean),
        ]
    }

    /// A place or none, with the valid and dirty sectors there, and what gave way.
    type Answer = (Option<usize>, u16, u16, u64, u16);

    /// A place in blocks as one of ways alone.
    fn of_ways(place: usize, ways: usize) -> usize {
        let padded = ways.next_multiple_of(WAYS_OF_BLOCK);
        place / padded * ways + place % padded
    }

    fn told(place: Option<usize>, sectors: Sectors, evicted: Evicted) -> Answer {
        // Of a line that was clean, nobody asks for the tag.
        let tag = if evicted.dirty == 0 { 0 } else { evicted.tag };
        (place, sectors.valid(), sectors.dirty(), tag, evicted.dirty)
    }

    proptest! {
        /// The other cache is the definition: it serves any policy, and is tested by itself.
        #[test]
        fn it_answers_as_a_cache_of_any_policy_does(
            ways in 1_usize..6,
            first_use in prop_oneof![Just(0), Just(u32::MAX - 20)],
            requests in prop::collection::vec((asked(), 0_usize..3, 0_u64..8), 0..300),
        ) {
            let mut other = SectoredCache::new(3, ways, Replacement::Lru, 0);
            let mut cache = RecentCache::new(3, ways);
            cache.uses = first_use;
            let (mut last_place, mut as_last_place) = (0, 0);
            for (asked, set, number) in requests {
                let tag = 3 * number + set as u64;
                match asked {
                    Asked::Load(sectors) | Asked::StoreLocal(sectors) => {
                        let (place, evicted) = cache.find_or_admit(set, tag);
                        let (as_place, as_evicted) =
                            other.find_or_admit(set, tag, 1, Newcomer::Other);
                        for state in [cache.at(place), other.at(as_place)] {
                            state.add_valid(sectors);
                            if matches!(asked, Asked::StoreLocal(_)) {
                                state.add_dirty(sectors);
                            }
                        }
                        prop_assert_eq!(
                            told(Some(of_ways(place, ways)), *cache.at(place), evicted),
                            told(Some(as_place), *other.at(as_place), as_evicted)
                        );
                        (last_place, as_last_place) = (place, as_place);
                    }
                    Asked::Update(sectors) => {
                        let found = cache.find(set, tag).map(|state| {
                            state.add_valid(sectors);
                            *state
                        });
                        let as_found = other.touch_if_there(set, tag, 1).map(|state| {
                            state.add_valid(sectors);
                            *state
                        });
                        prop_assert_eq!(found, as_found);
                    }
                    Asked::LoadWhereItWas(sectors) => prop_assert_eq!(
                        cache.reuse_at(last_place, tag, sectors),
                        other.reuse_at(as_last_place, tag, sectors)
                    ),
                    Asked::Drop => {
                        cache.evict(set, tag);
                        other.evict(set, tag);
                    }
                    Asked::Clean => {
                        let (mut cleaned, mut as_cleaned) = (Vec::new(), Vec::new());
                        let noted = |all: &mut Vec<_>, one: Evicted| {
                            all.push((one.tag, one.dirty));
                            true
                        };
                        cache.clean(|line| noted(&mut cleaned, line));
                        other.clean(|line| noted(&mut as_cleaned, line));
                        prop_assert_eq!(cleaned, as_cleaned);
                    }
                }
            }
        }
    }

    #[test]
    fn four_ways_take_a_line_of_the_cpu() {
        assert_eq!((size_of::<Block>(), align_of::<Block>()), (64, 64));
    }
}
