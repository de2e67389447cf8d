//! Numbers that look random and follow from a seed: SplitMix64 (Steele, Lea and Flood, "Fast
//! splittable pseudorandom number generators", OOPSLA 2014).

/// The distance of two states of a sequence: 2⁶⁴ over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number that depends on every bit of another one, in every bit: the finaliser. 0 stays 0.
#[inline]
#[must_use]
pub const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The first number of the sequence with this seed. Unlike [`mixed`] it tells 0 from nothing.
#[inline]
#[must_use]
pub const fn hashed(seed: u64) -> u64 {
    mixed(seed.wrapping_add(STEP))
}

/// A sequence, the same for the same seed.
#[derive(Clone, Debug, Default)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub const fn next_word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mixed(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the authors' `splitmix64.c` for the seed 1234567.
    #[test]
    fn the_sequence_is_that_of_its_authors() {
        let mut numbers = SplitMix64::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([numbers.next_word(), numbers.next_word()], expected);
        assert_eq!(hashed(1_234_567), expected[0]);
    }
}
