//! Lines that a set may have kept from before a window, although the window has filled it.
//!
//! A policy that predicts re-use keeps a line that was used again, while many others come and go.
//! Whether such a use comes in time depends on what came long before: on how a duel stands, and on
//! a prediction. So a line that all CTAs ask for may be there all the time, or come anew with each
//! wave, and a window that jumps may settle for the other one of both.
//!
//! Lines that the first CTAs asked for, and CTAs of a window far away ask for again, are such
//! lines. If the window misses one, the real set may hold it as long as a line of the best
//! prospects would still be there, and no more of them than the set has ways.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Steps by which the prospects of all lines of a set worsen until the best ones are the worst.
const STEPS_TO_LEAVE: u32 = 3;

/// The lines that the first CTAs of a launch asked for.
#[derive(Clone, Debug)]
pub(super) struct KeptLines {
    ways: u16,
    /// Windows that have begun.
    window: u32,
    lines: HashMap<u64, Use, BuildHasherDefault<TagHasher>>,
    /// What each place holds, if it is one of the lines.
    places: Vec<Option<Held>>,
    sets: Vec<Set>,
}

/// The last use of a line that is not there.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// The window in which it was there last.
    window: u32,
    held: Held,
}

/// A line that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    /// The age of its set when it was used last.
    age: u32,
    /// True if the real set may have held it since before the window.
    may_be_older: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Set {
    /// Its age when the window began.
    began: u32,
    /// Lines that it may have kept and that the window has missed.
    missed: u16,
}

/// A request's place in a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) set: usize,
    /// The place in the cache.
    pub(super) place: usize,
    /// Steps by which the prospects of the set's lines have worsened so far.
    pub(super) age: u32,
}

impl KeptLines {
    /// Nothing was asked for yet.
    pub(super) fn new(sets: usize, ways: u16) -> Self {
        Self {
            ways,
            window: 0,
            lines: HashMap::default(),
            places: vec![None; sets * usize::from(ways)],
            sets: vec![Set::default(); sets],
        }
    }

    /// A window begins. `age` is that of a set.
    pub(super) fn begin_window(&mut self, age: impl Fn(usize) -> u32) {
        self.window += 1;
        for (index, set) in self.sets.iter_mut().enumerate() {
            *set = Set { began: age(index), missed: 0 };
        }
        // Where it was used last is forgotten with what came in the meantime.
        for held in self.places.iter_mut().flatten() {
            held.may_be_older = true;
        }
    }

    /// A line was used that is there.
    #[inline]
    pub(super) fn hit(&mut self, Place { place, age, .. }: Place) {
        if let Some(Some(held)) = self.places.get_mut(place) {
            held.age = age;
        }
    }

    /// The first CTAs ask for a line.
    pub(super) fn note(&mut self, tag: u64, Place { place, age, .. }: Place) {
        self.lines.entry(tag).or_default();
        if let Some(held) = self.places.get_mut(place) {
            *held = Some(Held { age, may_be_older: false });
        }
    }

    /// A line comes to a place instead of the one that `gave_way`.
    pub(super) fn miss(&mut self, tag: u64, gave_way: u64, at: Place) {
        let Self { ways, window, lines, places, sets } = self;
        let Place { set, place, age } = at;
        let (Some(held), Some(set)) = (places.get_mut(place), sets.get_mut(set)) else { return };
        if let Some(held) = held.take()
            && let Some(last) = lines.get_mut(&gave_way)
        {
            *last = Use { window: *window, held };
        }
        let Some(last) = lines.get(&tag) else { return };
        let is_there_still = |since: u32| age.wrapping_sub(since) < STEPS_TO_LEAVE;
        let may_be_older = if last.window == *window {
            last.held.may_be_older && is_there_still(last.held.age)
        } else {
            let may_be_older = is_there_still(set.began) && set.missed < *ways;
            set.missed += u16::from(may_be_older);
            may_be_older
        };
        *held = Some(Held { age, may_be_older });
    }

    /// True if the real set may have held the line at a place since before the window.
    #[inline]
    pub(super) fn may_be_older(&self, place: usize) -> bool {
        self.places.get(place).is_some_and(|held| held.is_some_and(|held| held.may_be_older))
    }
}

/// Multiplicative hashing, as for the places of lines.
#[derive(Clone, Copy, Debug, Default)]
struct TagHasher(u64);

impl Hasher for TagHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, tag: u64) {
        let product = (self.0 ^ tag).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // Tables take their place from the lowest bits.
        self.0 = product ^ product >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place of set 0 at an age.
    fn at(place: usize, age: u32) -> Place {
        Place { set: 0, place, age }
    }

    /// Two sets of two ways after first CTAs that asked for lines 1, 2 and 3. The set was 10 steps
    /// old when the window began.
    fn in_a_window() -> KeptLines {
        let mut kept = KeptLines::new(2, 2);
        kept.note(1, at(0, 4));
        kept.note(2, at(1, 5));
        kept.note(3, at(0, 6));
        kept.begin_window(|_| 10);
        kept
    }

    #[test]
    fn lines_that_all_ask_for_may_be_kept_for_three_steps() {
        for (age, may_be_kept) in [(10, true), (12, true), (13, false)] {
            let mut kept = in_a_window();
            kept.miss(1, 3, at(0, age));
            assert_eq!(kept.may_be_older(0), may_be_kept, "at {age}");
        }
        let mut kept = in_a_window();
        kept.miss(4, 3, at(0, 10));
        assert!(!kept.may_be_older(0), "a line that only this window asks for");
        assert!(kept.may_be_older(1), "one that is there since the first CTAs");
    }

    #[test]
    fn a_set_keeps_no_more_lines_than_it_has_ways() {
        let mut kept = in_a_window();
        let may_be_kept = [1, 2, 3].map(|line| {
            kept.miss(line, 9, at(0, 11));
            kept.may_be_older(0)
        });
        assert_eq!(may_be_kept, [true, true, false]);
        // Another window begins with others.
        kept.begin_window(|_| 11);
        kept.miss(3, 9, at(0, 11));
        assert!(kept.may_be_older(0));
    }

    /// A line that may have been there was used, so that it may stay for three more steps.
    #[test]
    fn a_line_may_be_kept_from_use_to_use() {
        let mut kept = in_a_window();
        kept.miss(1, 3, at(0, 12));
        kept.hit(at(0, 14));
        kept.miss(5, 1, at(0, 15));
        kept.miss(1, 2, at(1, 16));
        assert!(kept.may_be_older(1));
        kept.miss(5, 1, at(1, 17));
        kept.miss(1, 5, at(1, 19));
        assert!(!kept.may_be_older(1), "it was used three steps ago");
        // It was away, so that it comes and goes as it does here.
        kept.miss(5, 1, at(1, 19));
        kept.miss(1, 5, at(1, 19));
        assert!(!kept.may_be_older(1));
    }
}
