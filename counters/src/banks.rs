//! How many passes a shared-memory access needs because of its banks.
//!
//! Shared memory is interleaved over banks, word by word. Lanes that touch the same word share
//! it; lanes that touch different words of one bank wait for each other. An access that is wider
//! than what the banks deliver at once is cut into phases of consecutive lanes: half-warps for
//! 64-bit and quarter-warps for 128-bit accesses on 32 banks of 4 bytes (CUDA C Programming
//! Guide 4.2, appendix F.4.3), and each phase has its own conflicts. The profiler counts passes:
//! `shared_load_transactions` and `shared_store_transactions`.
//!
//! Simplifications: capability 2.x usually takes one pass less for 128-bit accesses without
//! conflicts, newer ones merge phases whose lanes share addresses, and atomics on one address
//! are serialised; none of that is modelled.

/// The banks of an SM's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BankGeometry {
    banks: u32,
    bank_bytes: u32,
}

/// What the banks make of one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankPasses {
    /// Passes over the banks.
    pub passes: u32,
    /// Passes if no two lanes of a phase conflicted.
    pub conflict_free: u32,
}

/// More distinct words than a phase can have: 32 lanes, each on the border of two words.
const MAX_WORDS: usize = 64;

/// End of a chain.
const NONE: u8 = u8::MAX;

impl BankGeometry {
    /// 32 banks of 4 bytes: compute capability 2.x, and 5.0 on.
    pub const CAPABILITY_2: Self = Self { banks: 32, bank_bytes: 4 };

    /// Banks as given: `banks` a power of two up to 32, `bank_bytes` 4 or 8.
    #[must_use]
    pub fn new(banks: u32, bank_bytes: u32) -> Option<Self> {
        let valid = banks.is_power_of_two() && banks <= 32 && matches!(bank_bytes, 4 | 8);
        valid.then_some(Self { banks, bank_bytes })
    }

    /// How many banks there are.
    #[must_use]
    pub fn banks(self) -> u32 {
        self.banks
    }

    /// Bytes that a bank delivers in one pass.
    #[must_use]
    pub fn bank_bytes(self) -> u32 {
        self.bank_bytes
    }

    /// Lanes that are served together when each touches `bytes_per_lane` bytes. Never more than
    /// there are banks: 16 banks serve half-warps (capability 1.x).
    fn lanes_per_phase(self, bytes_per_lane: u32) -> u32 {
        (self.banks * self.bank_bytes / bytes_per_lane.max(1)).clamp(1, self.banks)
    }

    /// Passes of a full warp whose lanes touch the same address or consecutive ones: no phase
    /// has a conflict.
    #[must_use]
    #[inline]
    pub fn regular(self, bytes_per_lane: u32) -> BankPasses {
        // One word for each lane and a bank for each word: no need for divisions.
        if self.banks == 32 && bytes_per_lane <= self.bank_bytes {
            return BankPasses { passes: 1, conflict_free: 1 };
        }
        let phases = 32 / self.lanes_per_phase(bytes_per_lane);
        let passes_per_phase = bytes_per_lane.div_ceil(self.banks * self.bank_bytes).max(1);
        BankPasses { passes: phases * passes_per_phase, conflict_free: phases * passes_per_phase }
    }

    /// Passes of the lanes of `mask`, each of which touches `bytes_per_lane` bytes from its
    /// address on.
    #[must_use]
    pub fn gather(self, mask: u32, addresses: &[u64; 32], bytes_per_lane: u32) -> BankPasses {
        let lanes = self.lanes_per_phase(bytes_per_lane);
        let passes_per_phase = bytes_per_lane.div_ceil(self.banks * self.bank_bytes).max(1);
        let phase_mask = u32::MAX >> (32 - lanes);
        if lanes == 32
            && bytes_per_lane <= self.bank_bytes
            && self.one_word_per_bank(mask, addresses)
        {
            return BankPasses { passes: 1, conflict_free: 1 };
        }
        // Lanes that are served one by one have ranges without conflicts: bulk copies.
        if lanes == 1 {
            let passes = mask.count_ones() * passes_per_phase;
            return BankPasses { passes, conflict_free: passes };
        }
        let mut result = BankPasses::default();
        for first in (0..32).step_by(lanes as usize) {
            let active = mask & (phase_mask << first);
            if active != 0 {
                result.passes += self.phase(active, addresses, bytes_per_lane);
                result.conflict_free += passes_per_phase;
            }
        }
        result
    }

    /// Whether no two lanes of `mask`, each within one word, want different words of a bank: the
    /// common case, which needs no list of words.
    #[inline]
    fn one_word_per_bank(self, mask: u32, addresses: &[u64; 32]) -> bool {
        let word_bits = self.bank_bytes.trailing_zeros();
        let first = addresses[mask.trailing_zeros() as usize & 31] >> word_bits;
        let mut word_of = [first; 32];
        let mut wanted = 0_u32;
        let mut conflict = 0;
        for (lane, address) in addresses.iter().enumerate() {
            // Lanes that take no part want what the first one wants.
            let word = if mask >> lane & 1 != 0 { address >> word_bits } else { first };
            let bank = (word & u64::from(self.banks - 1)) as usize;
            let known = wanted >> bank & 1 != 0;
            conflict |= if known { word_of[bank] ^ word } else { 0 };
            word_of[bank] = word;
            wanted |= 1 << bank;
        }
        mask != 0 && conflict == 0
    }

    /// The largest number of distinct words that the lanes of `active` want from one bank.
    fn phase(self, active: u32, addresses: &[u64; 32], bytes_per_lane: u32) -> u32 {
        // The distinct words seen so far, chained by bank.
        let mut words = [0_u64; MAX_WORDS];
        let mut next = [NONE; MAX_WORDS];
        let mut head = [NONE; 32];
        let mut in_bank = [0_u8; 32];
        let mut count = 0_usize;
        let word_bits = self.bank_bytes.trailing_zeros();

        let mut lanes = active;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let first = addresses[lane];
            let last = first.saturating_add(u64::from(bytes_per_lane.max(1)) - 1);
            for word in first >> word_bits..=last >> word_bits {
                let bank = (word % u64::from(self.banks)) as usize;
                let mut at = head[bank];
                while at != NONE && words[at as usize] != word {
                    at = next[at as usize];
                }
                if at == NONE && count < MAX_WORDS {
                    words[count] = word;
                    next[count] = head[bank];
                    head[bank] = count as u8;
                    in_bank[bank] += 1;
                    count += 1;
                }
            }
        }
        u32::from(in_bank.into_iter().max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    const FERMI: BankGeometry = BankGeometry::CAPABILITY_2;

    /// The definition: for each phase, the distinct words of each bank.
    fn naive(geometry: BankGeometry, mask: u32, addresses: &[u64; 32], bytes: u32) -> u32 {
        let phase_lanes = match (geometry.banks, geometry.bank_bytes, bytes) {
            (16, 4, 1 | 2 | 4) | (32, 4, 8) | (32, 8, 16) => 16,
            (16, 4, 8) | (32, 4, 16) | (32, 8, 32) => 8,
            (16, 4, 16) | (32, 4, 32) => 4,
            (16, 4, 32) => 2,
            _ => 32,
        };
        let mut passes = 0;
        for first in (0..32).step_by(phase_lanes) {
            let mut wanted: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for lane in (first..first + phase_lanes).filter(|lane| mask >> lane & 1 == 1) {
                for byte in 0..u64::from(bytes) {
                    let word = (addresses[lane] + byte) / u64::from(geometry.bank_bytes);
                    wanted.entry(word % u64::from(geometry.banks)).or_default().insert(word);
                }
            }
            passes += wanted.values().map(BTreeSet::len).max().unwrap_or(0);
        }
        passes as u32
    }

    fn strided(stride_bytes: u64) -> [u64; 32] {
        std::array::from_fn(|lane| lane as u64 * stride_bytes)
    }

    #[track_caller]
    fn check(addresses: [u64; 32], bytes: u32, passes: u32, conflict_free: u32) {
        let expected = BankPasses { passes, conflict_free };
        assert_eq!(FERMI.gather(!0, &addresses, bytes), expected);
    }

    #[test]
    fn strides_conflict_as_the_programming_guide_says() {
        check(strided(4), 4, 1, 1);
        check(strided(8), 4, 2, 1);
        check(strided(12), 4, 1, 1);
        check(strided(32 * 4), 4, 32, 1);
        // A column of a tile that is padded to 33 words.
        check(strided(33 * 4), 4, 1, 1);
    }

    #[test]
    fn lanes_share_a_word() {
        check(strided(0), 4, 1, 1);
        // Two words of different banks, and two words of the same bank.
        check(std::array::from_fn(|lane| (lane as u64 % 2) * 4), 4, 1, 1);
        check(std::array::from_fn(|lane| (lane as u64 % 2) * 128), 4, 2, 1);
        // Four lanes in each word.
        check(strided(1), 1, 1, 1);
    }

    #[test]
    fn wide_accesses_take_half_and_quarter_warps() {
        check(strided(8), 8, 2, 2);
        check(strided(16), 16, 4, 4);
        check(strided(16), 8, 4, 2);
        // One half-warp only.
        let half = FERMI.gather(0xFFFF, &strided(8), 8);
        assert_eq!(half, BankPasses { passes: 1, conflict_free: 1 });
    }

    #[test]
    fn other_geometries_are_other_gpus() {
        // Capability 1.x serves half-warps, Kepler's 8-byte banks a whole warp of doubles.
        let tesla = BankGeometry::new(16, 4).unwrap();
        assert_eq!(tesla.gather(!0, &strided(4), 4).passes, 2);
        let kepler = BankGeometry::new(32, 8).unwrap();
        assert_eq!(kepler.gather(!0, &strided(8), 8).passes, 1);
        assert_eq!(kepler.gather(!0, &strided(8), 4).passes, 1);
        assert_eq!(BankGeometry::new(24, 4), None);
    }

    proptest! {
        #[test]
        fn gathering_equals_the_definition(
            mask: u32,
            offsets in prop::array::uniform32(0_u64..256),
            log_bytes in 0_u32..6,
            geometry in prop::sample::select(vec![(16, 4), (32, 4), (32, 8)]),
        ) {
            let geometry = BankGeometry::new(geometry.0, geometry.1).unwrap();
            let bytes = 1 << log_bytes;
            let addresses = offsets.map(|offset| offset * u64::from(bytes));
            let passes = geometry.gather(mask, &addresses, bytes).passes;
            prop_assert_eq!(passes, naive(geometry, mask, &addresses, bytes));
        }

        #[test]
        fn regular_patterns_equal_gathering(base in 0_u64..256, log_bytes in 0_u32..6) {
            let bytes = 1_u32 << log_bytes;
            for stride in [0, bytes] {
                let addresses = std::array::from_fn(|lane| {
                    base * u64::from(bytes) + lane as u64 * u64::from(stride)
                });
                for geometry in [(16, 4), (32, 4), (32, 8)] {
                    let geometry = BankGeometry::new(geometry.0, geometry.1).unwrap();
                    prop_assert_eq!(geometry.regular(bytes), geometry.gather(!0, &addresses, bytes));
                }
            }
        }
    }
}
