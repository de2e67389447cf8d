//! The place of a line: its slice and its set.
//!
//! Real caches are cut into slices by a hash of the address that vendors do not publish. Here the
//! sets of all slices are numbered together. A run of consecutive lines walks through all of them
//! before it comes back, and each round starts somewhere else:
//!
//! ```text
//! round = ⌊tag / places⌋,    place = (tag + hash(round)) mod places
//! slice = place mod slices,    set = ⌊place / slices⌋
//! ```
//!
//! This spreads consecutive lines evenly, as the hardware does, and sends neighbours to different
//! slices. It also keeps rows of any pitch from falling onto the same sets.

/// Slices and sets of a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    places: Divisor,
    slices: Divisor,
}

impl Placement {
    /// For `slices` slices of `sets` sets.
    pub(crate) fn new(slices: usize, sets: usize) -> Self {
        let places = (slices.max(1) * sets.max(1)) as u64;
        Self { places: Divisor::new(places), slices: Divisor::new(slices.max(1) as u64) }
    }

    /// The slice and the set of a line. Tags lie below 2⁵².
    #[inline]
    pub(crate) fn of(&self, tag: u64) -> (usize, usize) {
        let (set, slice) = self.slices.divide(self.place(tag));
        (slice as usize, set as usize)
    }

    /// The set of a line in a cache of one slice.
    #[inline]
    pub(crate) fn set(&self, tag: u64) -> usize {
        self.place(tag) as usize
    }

    #[inline]
    fn place(&self, tag: u64) -> u64 {
        let (round, offset) = self.places.divide(tag);
        // Multiplicative hashing (Knuth, TAOCP 3, section 6.4), scaled to the number of places.
        let hash = round.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let place = offset + ((hash * self.places.divisor) >> 32);
        if place < self.places.divisor { place } else { place - self.places.divisor }
    }
}

/// Division by a number that is known in advance, several times as fast as the instruction:
/// multiplication by the reciprocal (Granlund & Montgomery, "Division by Invariant Integers using
/// Multiplication", PLDI 1994).
#[derive(Clone, Copy, Debug)]
struct Divisor {
    divisor: u64,
    /// ⌊(2⁶⁴ − 1) / divisor⌋.
    reciprocal: u64,
}

impl Divisor {
    fn new(divisor: u64) -> Self {
        Self { divisor, reciprocal: u64::MAX / divisor }
    }

    /// Quotient and remainder of a number below 2⁵².
    #[inline]
    fn divide(self, number: u64) -> (u64, u64) {
        // The reciprocal times the divisor falls short of 2⁶⁴ by the divisor at most. So the
        // estimate falls short of number / divisor by less than one.
        let estimate = ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = number - estimate * self.divisor;
        if rest < self.divisor { (estimate, rest) } else { (estimate + 1, rest - self.divisor) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_round_of_lines_visits_every_place_once() {
        for (slices, sets) in [(12, 32), (1, 1), (6, 48), (5, 7)] {
            let placement = Placement::new(slices, sets);
            for round in [0, 1, 12_345_678] {
                let first = round * (slices * sets) as u64;
                let lines = first..first + (slices * sets) as u64;
                let places: BTreeSet<_> = lines.map(|line| placement.of(line)).collect();
                assert_eq!(places.len(), slices * sets);
                assert!(places.iter().all(|&(slice, set)| slice < slices && set < sets));
            }
        }
    }

    #[test]
    fn columns_of_a_matrix_spread_over_all_slices() {
        // Rows of 32, 64, … lines: what a plain remainder would send to one set.
        let placement = Placement::new(12, 32);
        for log_pitch in 5..16 {
            let mut used = [0_u32; 12];
            for row in 0..1200 {
                used[placement.of(row << log_pitch).0] += 1;
            }
            assert!(used.iter().all(|&rows| rows > 50), "pitch 2^{log_pitch}: {used:?}");
        }
    }

    proptest! {
        #[test]
        fn division_is_exact(number in 0_u64..1 << 52, divisor in 1_u64..1 << 20) {
            let expected = (number / divisor, number % divisor);
            prop_assert_eq!(Divisor::new(divisor).divide(number), expected);
            let multiple = number / divisor * divisor;
            prop_assert_eq!(Divisor::new(divisor).divide(multiple), (multiple / divisor, 0));
        }
    }
}
