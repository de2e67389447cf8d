//! The lines of a first-level cache, in the form that its policy allows.

use super::recent::RecentCache;
use super::replacement::{Newcomer, Replacement};
use super::sectored::{Evicted, SectoredCache, Sectors, count};

/// The lines of one SM's cache. Data is there at once.
#[derive(Clone, Debug)]
pub(crate) enum Lines {
    /// The least recently used line gives way.
    Recent(RecentCache),
    /// Any other one does.
    Other(SectoredCache),
}

impl Lines {
    /// An empty cache.
    pub(crate) fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        match replacement {
            Replacement::Lru => Self::Recent(RecentCache::new(sets, ways)),
            _ => Self::Other(SectoredCache::new(sets, ways, replacement, 0)),
        }
    }

    /// A request for `sectors` of the line `tag`: it is there afterwards. Returns its place
    /// ([`Lines::at`]) and the line that gave way.
    #[inline]
    pub(crate) fn find_or_admit(&mut self, set: usize, tag: u64, sectors: u16) -> (usize, Evicted) {
        match self {
            Self::Recent(cache) => cache.find_or_admit(set, tag),
            Self::Other(cache) => cache.find_or_admit(set, tag, count(sectors), Newcomer::Other),
        }
    }

    /// Asks for the data of a set.
    #[inline]
    pub(crate) fn prefetch(&self, set: usize) {
        match self {
            Self::Recent(cache) => cache.prefetch(set),
            Self::Other(cache) => cache.prefetch(set),
        }
    }

    /// The sectors of the line at a place.
    #[inline]
    pub(crate) fn at(&mut self, place: usize) -> &mut Sectors {
        match self {
            Self::Recent(cache) => cache.at(place),
            Self::Other(cache) => cache.at(place),
        }
    }

    /// A request for `sectors` of the line `tag`, if it is at this place and has them all.
    #[inline]
    pub(crate) fn reuse_at(&mut self, place: usize, tag: u64, sectors: u16) -> bool {
        match self {
            Self::Recent(cache) => cache.reuse_at(place, tag, sectors),
            Self::Other(cache) => cache.reuse_at(place, tag, sectors),
        }
    }

    /// As [`Lines::find_or_admit`], but a missing line stays away.
    #[inline]
    pub(crate) fn find(&mut self, set: usize, tag: u64, sectors: u16) -> Option<&mut Sectors> {
        match self {
            Self::Recent(cache) => cache.find(set, tag),
            Self::Other(cache) => cache.touch_if_there(set, tag, count(sectors)),
        }
    }

    /// Drops a line.
    #[inline]
    pub(crate) fn evict(&mut self, set: usize, tag: u64) {
        match self {
            Self::Recent(cache) => cache.evict(set, tag),
            Self::Other(cache) => {
                cache.evict(set, tag);
            }
        }
    }

    /// Shows each dirty line to `on_line`, and cleans those for which it returns true.
    pub(crate) fn clean(&mut self, on_line: impl FnMut(Evicted) -> bool) {
        match self {
            Self::Recent(cache) => cache.clean(on_line),
            Self::Other(cache) => cache.clean(on_line),
        }
    }
}
