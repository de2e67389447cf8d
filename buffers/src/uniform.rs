//! Reproducible random numbers for buffers.
//!
//! Element `i` of a stream with seed `s` comes from the 64-bit word
//!
//! ```text
//! z = s + (i + 1) * 0x9E3779B97F4A7C15          (mod 2^64)
//! z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9        (mod 2^64)
//! z = (z ^ z >> 27) * 0x94D049BB133111EB        (mod 2^64)
//! z =  z ^ z >> 31
//! ```
//!
//! which is the `i`-th output of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) seeded with `s`.
//! A real is `low + (high - low) * (z >> 11) / 2^53`, computed in f64 and then rounded to the
//! buffer's type; an integer is `low + floor(z * (high - low + 1) / 2^64)`, so both ends occur.
//! Every step is exact or correctly rounded, so all machines agree on every bit.

/// The `index`-th word of the stream with this seed.
pub(crate) fn word(seed: u64, index: u64) -> u64 {
    let z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A real of `low..high`.
pub(crate) fn real(word: u64, low: f64, high: f64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    low + (high - low) * ((word >> 11) as f64 * STEP)
}

/// An integer of `low..=high`; both fit into 64 bits, signed or unsigned.
pub(crate) fn integer(word: u64, low: i128, high: i128) -> i128 {
    let count = (high - low) as u128 + 1;
    // At most 2^64 · 2^64 − 2^64, which a u128 holds.
    low + ((u128::from(word) * count) >> 64) as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_splitmix64() {
        // First outputs of the reference implementation (Vigna, splitmix64.c) for seed 1234567.
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        let words: Vec<u64> = (0..3).map(|index| word(1_234_567, index)).collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn reals_and_integers_stay_in_their_range_and_reach_its_ends() {
        assert_eq!(real(0, -1.0, 1.0), -1.0);
        assert!(real(u64::MAX, -1.0, 1.0) < 1.0);
        assert_eq!(integer(0, -3, 3), -3);
        assert_eq!(integer(u64::MAX, -3, 3), 3);
        assert_eq!(integer(u64::MAX, 0, i128::from(u64::MAX)), i128::from(u64::MAX));
    }
}
