//! Finds most lines without looking for them.
//!
//! Warps ask again and again for lines that a first-level cache holds. A small table remembers
//! where a line was found: by a hash of its tag it has the line's place, and as many other bits of
//! the hash. An entry may be out of date, so whoever follows it compares tags.

/// Places of lines that were found before.
#[derive(Clone, Debug)]
pub(crate) struct KnownPlaces {
    /// The lower half is the place of a line, the upper half a part of the hash of its tag.
    entries: Vec<u32>,
    /// The bits of a hash that do not choose the entry.
    shift: u32,
}

impl KnownPlaces {
    /// For a cache of `lines` lines. One that is too large for an entry's half remembers nothing.
    pub(crate) fn new(lines: usize) -> Self {
        let entries = lines.next_power_of_two().max(2);
        let entries = if entries <= 1 << 16 { entries } else { 2 };
        Self { entries: vec![0; entries], shift: u64::BITS - entries.trailing_zeros() }
    }

    /// Where the line of a tag may be.
    #[inline]
    pub(crate) fn of(&self, tag: u64) -> Option<usize> {
        let hash = hash(tag);
        let entry = self.entries[(hash >> self.shift) as usize];
        (entry >> 16 == mark(hash)).then_some((entry & 0xFFFF) as usize)
    }

    /// The line of a tag is at this place.
    #[inline]
    pub(crate) fn set(&mut self, tag: u64, place: usize) {
        if place < 1 << 16 {
            let hash = hash(tag);
            self.entries[(hash >> self.shift) as usize] = mark(hash) << 16 | place as u32;
        }
    }
}

/// Multiplicative hashing, as for the places of lines.
#[inline]
fn hash(tag: u64) -> u64 {
    tag.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Bits of a hash that do not choose the entry.
#[inline]
fn mark(hash: u64) -> u32 {
    (hash >> 32) as u32 & 0xFFFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_that_of_the_tag_or_of_none() {
        for lines in [1, 2, 96, 128, 2048, 1 << 16, 1 << 20] {
            let mut places = KnownPlaces::new(lines);
            let tags = |place: usize| 0x2_0000_0000 + 7 * place as u64;
            let mut found = 0;
            for place in 0..lines {
                places.set(tags(place), place);
                found += usize::from(places.of(tags(place)) == Some(place));
            }
            assert_eq!(found, lines.min(1 << 16), "of {lines}");
            // Hashes of 16 bits may agree: the caller compares tags.
            let wrong = (1..1000).filter(|tag| places.of(*tag).is_some()).count();
            assert!(wrong < 20, "{wrong} of {lines}");
        }
    }
}
