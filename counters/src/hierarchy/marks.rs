//! Finds lines by a byte of their tags.
//!
//! A set's tags are looked through at each request, and a set of 16 tags is two cache lines of the
//! CPU. So each line has a *mark*, one byte hashed from its tag; eight of them stand in a word and
//! are compared together. Only lines whose mark agrees are looked at.

use super::prefetch::prefetch;

/// Marks of a word.
const MARKS_PER_WORD: usize = 8;

/// Eight marks, that of the first way lowest.
type Word = [u8; MARKS_PER_WORD];

/// A byte of 1 in each place.
const ONES: u64 = u64::MAX / 0xFF;

/// A way that holds nothing.
const EMPTY: u8 = 0;

/// A place of the last word that is no way of the set.
const NO_WAY: u8 = 0xFF;

/// For each set, the ways that may hold a tag and the ways that hold none.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    words_per_set: usize,
    words: Vec<Word>,
    /// Ways of all sets that hold nothing.
    empty: usize,
}

impl Marks {
    /// Nothing in `sets` sets of `ways` ways.
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        let words_per_set = ways.div_ceil(MARKS_PER_WORD);
        let place = |place: usize| if place < ways { EMPTY } else { NO_WAY };
        let of_set = (0..words_per_set)
            .map(|word| std::array::from_fn(|byte| place(word * MARKS_PER_WORD + byte)));
        let words = of_set.collect::<Vec<Word>>().repeat(sets);
        Self { words_per_set, words, empty: sets * ways }
    }

    /// The way of `set` with the mark of `tag` that `holds` it.
    #[inline]
    pub(crate) fn find(
        &self,
        set: usize,
        tag: u64,
        holds: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        first_with(self.of_set(set), mark(tag), holds)
    }

    /// Asks for the data that [`Marks::find`] will look at.
    #[inline]
    pub(crate) fn prefetch(&self, set: usize) {
        prefetch(&self.words, set * self.words_per_set);
    }

    /// The first way of `set` that holds nothing.
    #[inline]
    pub(crate) fn empty(&self, set: usize) -> Option<usize> {
        if self.empty == 0 { None } else { first_with(self.of_set(set), EMPTY, |_| true) }
    }

    /// Ways of all sets that hold nothing.
    pub(crate) fn empty_ways(&self) -> usize {
        self.empty
    }

    /// True if a way of `set` holds something.
    pub(crate) fn holds(&self, set: usize, way: usize) -> bool {
        let word = self.of_set(set)[way / MARKS_PER_WORD];
        word[way % MARKS_PER_WORD] != EMPTY
    }

    /// The ways of `set` that hold something.
    pub(crate) fn held(&self, set: usize) -> impl Iterator<Item = usize> {
        let marks = self.of_set(set).iter().flatten().enumerate();
        marks.filter(|(_, mark)| !matches!(**mark, EMPTY | NO_WAY)).map(|(way, _)| way)
    }

    /// An empty way of `set` holds `tag` from now on.
    #[inline]
    pub(crate) fn put(&mut self, set: usize, way: usize, tag: u64) {
        self.empty -= 1;
        self.replace(set, way, tag);
    }

    /// Makes a way hold `tag` instead of its former tag.
    #[inline]
    pub(crate) fn replace(&mut self, set: usize, way: usize, tag: u64) {
        *self.at(set, way) = mark(tag);
    }

    /// A way holds nothing from now on.
    pub(crate) fn clear(&mut self, set: usize, way: usize) {
        self.empty += 1;
        *self.at(set, way) = EMPTY;
    }

    #[inline]
    fn of_set(&self, set: usize) -> &[Word] {
        &self.words[set * self.words_per_set..][..self.words_per_set]
    }

    #[inline]
    fn at(&mut self, set: usize, way: usize) -> &mut u8 {
        let word = set * self.words_per_set + way / MARKS_PER_WORD;
        &mut self.words[word][way % MARKS_PER_WORD]
    }
}

/// The first place of a mark that is accepted.
#[inline]
fn first_with(words: &[Word], mark: u8, accept: impl Fn(usize) -> bool) -> Option<usize> {
    let wanted = ONES * u64::from(mark);
    for (index, word) in words.iter().enumerate() {
        let mut found = zero_bytes(u64::from_le_bytes(*word) ^ wanted);
        while found != 0 {
            let way = index * MARKS_PER_WORD + found.trailing_zeros() as usize / 8;
            if accept(way) {
                return Some(way);
            }
            found &= found - 1;
        }
    }
    None
}

/// The mark of a tag: 1 to 254.
#[inline]
fn mark(tag: u64) -> u8 {
    // Multiplicative hashing, as for the places of lines; its upper half, scaled to the range.
    let hash = tag.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    1 + ((hash * 254) >> 32) as u8
}

/// The top bit of each byte that is 0, and no other bit.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    let low = ONES * 0x7F;
    // A byte's lower seven bits carry into its top bit unless all are 0.
    !(((word & low) + low) | word | low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_way_is_found_and_no_place_beyond() {
        for ways in [1, 4, 7, 8, 9, 16, 24, 65] {
            let mut marks = Marks::new(3, ways);
            for way in 0..ways {
                assert_eq!(marks.empty(1), Some(way), "of {ways}");
                marks.put(1, way, 1000 + way as u64);
            }
            assert_eq!((marks.empty(0), marks.empty(1), marks.empty(2)), (Some(0), None, Some(0)));
            for way in 0..ways {
                assert_eq!(marks.find(1, 1000 + way as u64, |other| other == way), Some(way));
            }
            assert!(marks.held(1).eq(0..ways) && marks.held(2).next().is_none());
            (0..ways).for_each(|way| marks.replace(1, way, way as u64));
            assert_eq!(marks.find(1, 0, |other| other == 0), Some(0));
            marks.clear(1, ways / 2);
            assert_eq!(marks.empty(1), Some(ways / 2));
        }
    }

    #[test]
    fn a_mark_is_neither_that_of_an_empty_way_nor_of_none() {
        let marks: std::collections::BTreeSet<_> = (0..100_000).map(mark).collect();
        assert_eq!((marks.first(), marks.last(), marks.len()), (Some(&1), Some(&254), 254));
    }

    proptest! {
        #[test]
        fn zero_bytes_are_told_from_others(bytes: [u8; 8], zero in 0_usize..8) {
            let mut bytes = bytes;
            bytes[zero] = 0;
            let expected = bytes.map(|byte| if byte == 0 { 0x80 } else { 0 });
            prop_assert_eq!(zero_bytes(u64::from_le_bytes(bytes)), u64::from_le_bytes(expected));
        }
    }
}
