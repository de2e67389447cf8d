//! Sizes of a parameter: evenly spaced, from a first one on.

use serde::{Deserialize, Serialize};

/// No size is larger: beyond 2⁴⁰, grids and buffers of every kind end.
pub const LARGEST: u64 = 1 << 40;

/// Evenly spaced sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The smallest one.
    pub first: u64,
    /// The difference between neighbours.
    pub step: u64,
    /// None is larger.
    pub last: u64,
}

impl Sizes {
    /// The size at a place, counted from 0.
    #[must_use]
    pub fn at(self, place: u64) -> u64 {
        self.first.saturating_add(self.step.saturating_mul(place)).min(self.largest())
    }

    /// The largest size.
    #[must_use]
    pub fn largest(self) -> u64 {
        self.first + (self.last.max(self.first) - self.first) / self.step * self.step
    }

    /// True if the largest size was asked for: otherwise it is where searching ends.
    #[must_use]
    pub fn ends(self) -> bool {
        self.last < LARGEST
    }

    /// True if this is one of them.
    #[must_use]
    pub fn has(self, size: u64) -> bool {
        (self.first..=self.largest()).contains(&size)
            && (size - self.first).is_multiple_of(self.step)
    }

    /// The size near a place that is a multiple of 2^`bits`; an odd one if `is_odd`. `None` if
    /// there is no such size among these.
    pub fn aligned(self, place: u64, bits: u32, is_odd: bool) -> Option<u64> {
        let whole = bits + u32::from(is_odd);
        let below = self.at(place) >> whole << whole;
        let size = below + (u64::from(is_odd) << bits);
        let is_one = |size: &u64| self.has(*size);
        // The next one, where there is none below.
        [size, size + (1 << whole)].into_iter().find(is_one)
    }

    /// The place of the largest size.
    pub fn places(self) -> u64 {
        (self.largest() - self.first) / self.step
    }
}

/// The spacing of sizes at which a kernel runs: `ran[i]` says whether it ran at size `i + 1`. The
/// first size is the one from which on no multiple of the step is missing. `None` if the sizes that
/// ran are too few or not evenly spaced.
pub fn spacing(ran: &[bool]) -> Option<(u64, u64)> {
    /// Fewer sizes show no pattern.
    const ENOUGH: usize = 6;
    let sizes: Vec<u64> =
        (1_u64..).zip(ran).filter_map(|(size, &ran)| ran.then_some(size)).collect();
    let [.., before, last] = sizes[..] else { return None };
    let step = last - before;
    // Otherwise the next one has been tried and did not run.
    if last + step <= ran.len() as u64 {
        return None;
    }
    let evenly = sizes.windows(2).rev().take_while(|pair| pair[1] - pair[0] == step).count() + 1;
    let first = sizes[sizes.len() - evenly];
    let is_alone = evenly >= ENOUGH && evenly * 2 > sizes.len();
    is_alone.then_some((first, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_sizes_are_multiples_among_the_sizes() {
        let check = |sizes: Sizes| {
            let mut found = 0;
            for place in 0..=sizes.places() {
                for (bits, is_odd) in [(0, true), (1, true), (3, true), (3, false), (5, false)] {
                    let Some(size) = sizes.aligned(place, bits, is_odd) else { continue };
                    assert_eq!(size % (1 << bits), 0, "{sizes:?} {place}");
                    assert!(!is_odd || (size >> bits) % 2 == 1, "{sizes:?} {place}");
                    assert!((0..=sizes.places()).any(|place| sizes.at(place) == size), "{sizes:?}");
                    found += 1;
                }
            }
            found
        };
        assert!(check(Sizes { first: 1, step: 1, last: 200 }) > 900);
        assert!(check(Sizes { first: 8, step: 8, last: 400 }) > 100);
        assert!(check(Sizes { first: 3, step: 2, last: 99 }) > 40);
    }

    #[test]
    fn spacings_are_those_of_the_sizes_that_ran() {
        let ran = |count: usize, runs: fn(usize) -> bool| -> Vec<bool> {
            (1..=count).map(runs).collect()
        };
        assert_eq!(spacing(&ran(64, |_| true)), Some((1, 1)));
        assert_eq!(spacing(&ran(64, |size| size > 2)), Some((3, 1)));
        assert_eq!(spacing(&ran(64, |size| size % 8 == 0)), Some((8, 8)));
        assert_eq!(spacing(&ran(64, |size| size % 8 == 2)), Some((2, 8)));
        assert_eq!(spacing(&ran(64, |size| size == 5 || size % 8 == 0)), Some((8, 8)));
        assert_eq!(spacing(&ran(64, |size| size % 16 == 0)), None, "four are too few");
        assert_eq!(spacing(&ran(512, usize::is_power_of_two)), None);
        assert_eq!(spacing(&ran(64, |size| size < 40)), None, "they end");
        assert_eq!(spacing(&ran(64, |_| false)), None);
    }
}
