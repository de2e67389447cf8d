use std::collections::{BTreeMap, BTreeSet};

use gpucast_ptx_frontend::types::StateSpace;
use proptest::prelude::*;

use super::*;
use crate::lane_access::LaneAccess;

const TESLA: BankGeometry = BankGeometry::CAPABILITY_1;
const FERMI: BankGeometry = BankGeometry::CAPABILITY_2;
const MAXWELL: BankGeometry = BankGeometry::CAPABILITY_5;
const KEPLER: BankGeometry = BankGeometry::CAPABILITY_3;
const KEPLER_WIDE: BankGeometry = BankGeometry::CAPABILITY_3_WIDE;

fn access(
    kind: AccessKind,
    pattern: Pattern,
    mask: u32,
    bytes: u32,
    addresses: &[u64; 32],
) -> Access<'_> {
    Access {
        instruction: 0,
        warp: 0,
        time: 0,
        space: StateSpace::Shared,
        kind,
        bytes_per_lane: bytes,
        mask,
        pattern,
        addresses,
        continues: false,
        distances: None,
    }
}

fn load(geometry: BankGeometry, mask: u32, addresses: [u64; 32], bytes: u32) -> (u32, u32) {
    let access = access(AccessKind::Load, Pattern::General, mask, bytes, &addresses);
    let BankPasses { passes, conflict_free } = Banks::new(geometry).passes(&access);
    (passes, conflict_free)
}

fn strided(stride_bytes: u64) -> [u64; 32] {
    std::array::from_fn(|lane| lane as u64 * stride_bytes)
}

#[test]
fn strides_conflict_as_the_programming_guide_says() {
    // Guide 4.2, F.4.3.1 and figure F-2: strides of one, two and three words.
    assert_eq!(load(FERMI, !0, strided(4), 4), (1, 1));
    assert_eq!(load(FERMI, !0, strided(8), 4), (2, 1));
    assert_eq!(load(FERMI, !0, strided(12), 4), (1, 1));
    assert_eq!(load(FERMI, !0, strided(32 * 4), 4), (32, 1));
    // A column of a tile that is padded to 33 words.
    assert_eq!(load(FERMI, !0, strided(33 * 4), 4), (1, 1));
}

#[test]
fn a_lane_of_its_own_takes_the_passes_of_the_definition() {
    for (geometry, lane) in
        geometries().into_iter().flat_map(|geometry| [0, 7, 31].map(|at| (geometry, at)))
    {
        for (bytes, offset) in
            [1, 2, 4, 8, 16, 32].into_iter().flat_map(|bytes| [(bytes, 0), (bytes, 9)])
        {
            let (mask, addresses) = (1 << lane, [bytes * offset; 32]);
            let (passes, _) = load(geometry, mask, addresses, bytes as u32);
            let wanted = naive(geometry, mask, &addresses, bytes);
            assert_eq!(passes, wanted, "{bytes} bytes of lane {lane} over {geometry:?}");
        }
    }
}

#[test]
fn lanes_share_a_word() {
    assert_eq!(load(FERMI, !0, strided(0), 4), (1, 1));
    // Two words of different banks, and two words of the same bank.
    assert_eq!(load(FERMI, !0, std::array::from_fn(|lane| (lane as u64 % 2) * 4), 4), (1, 1));
    assert_eq!(load(FERMI, !0, std::array::from_fn(|lane| (lane as u64 % 2) * 128), 4), (2, 1));
    // Four lanes in each word.
    assert_eq!(load(FERMI, !0, strided(1), 1), (1, 1));
}

#[test]
fn wide_accesses_take_half_and_quarter_warps() {
    assert_eq!(load(FERMI, !0, strided(8), 8), (2, 2));
    assert_eq!(load(FERMI, !0, strided(16), 16), (4, 4));
    assert_eq!(load(FERMI, !0, strided(16), 8), (4, 2));
    // One half-warp only.
    assert_eq!(load(FERMI, 0xFFFF, strided(8), 8), (1, 1));
}

#[test]
fn wide_loads_of_lanes_in_pairs_go_together_from_maxwell_on() {
    let uniform = strided(0);
    assert_eq!([4, 8, 16].map(|bytes| load(FERMI, !0, uniform, bytes).0), [1, 2, 4]);
    assert_eq!([4, 8, 16].map(|bytes| load(MAXWELL, !0, uniform, bytes).0), [1, 1, 2]);
    // Pairs of neighbours, and of lanes at a distance of two, load 16 pieces in two passes.
    let neighbours = std::array::from_fn(|lane| (lane as u64 >> 1) * 16);
    assert_eq!(load(MAXWELL, !0, neighbours, 16), (2, 2));
    let apart = std::array::from_fn(|lane| (lane as u64 >> 2 << 1 | lane as u64 & 1) * 16);
    assert_eq!(load(MAXWELL, !0, apart, 16), (2, 2));
    // At a distance of four they do not, although the pieces are as many.
    let far = std::array::from_fn(|lane| (lane as u64 >> 3 << 2 | lane as u64 & 3) * 16);
    assert_eq!(load(MAXWELL, !0, far, 16), (4, 4));
    // One lane that differs takes the advantage from all, unless it takes no part.
    let mut odd = neighbours;
    odd[5] = 4096;
    assert_eq!(load(MAXWELL, !0, odd, 16).1, 4);
    assert_eq!(load(MAXWELL, !(1 << 5), odd, 16), (2, 2));
    // The pieces of pairs conflict as others do.
    let rows = std::array::from_fn(|lane| (lane as u64 >> 1) * 128);
    assert_eq!(load(MAXWELL, !0, rows, 16), (16, 2));
    let stores = access(AccessKind::Store, Pattern::General, !0, 16, &uniform);
    assert_eq!(Banks::new(MAXWELL).passes(&stores).passes, 4);
}

#[test]
fn keplers_banks_deliver_eight_bytes_in_either_mode() {
    // Doubles take one pass, where Fermi takes two; 16 bytes take two.
    assert_eq!(load(KEPLER_WIDE, !0, strided(8), 8), (1, 1));
    assert_eq!(load(KEPLER, !0, strided(8), 8), (1, 1));
    assert_eq!(load(KEPLER_WIDE, !0, strided(16), 16), (2, 2));
    // 8-byte mode: any parts of one 64-bit word go together, so a stride of two words is free.
    assert_eq!(load(KEPLER_WIDE, !0, strided(8), 4), (1, 1));
    assert_eq!(load(KEPLER_WIDE, !0, strided(16), 4), (2, 1));
    // 4-byte mode: words i and i + 32 of a 64-word segment go together: a stride of two words
    // meets just those pairs. A stride of 32 words has 16 segments, not 32.
    assert_eq!(load(KEPLER, !0, strided(8), 4), (1, 1));
    assert_eq!(load(KEPLER, !0, strided(32 * 4), 4), (16, 1));
    // Words 32 and 64 share a bank but no segment.
    let pair = std::array::from_fn(|lane| if lane == 0 { 128 } else { 256 });
    assert_eq!(load(KEPLER, 0b11, pair, 4), (2, 1));
    let pair = std::array::from_fn(|lane| if lane == 0 { 0 } else { 128 });
    assert_eq!(load(KEPLER, 0b11, pair, 4), (1, 1));
    // In 8-byte mode words 0 and 32 lie in banks 0 and 16.
    assert_eq!(load(KEPLER_WIDE, 0b11, pair, 4), (1, 1));
    assert_eq!(load(FERMI, 0b11, pair, 4), (2, 1));
}

#[test]
fn capability_1_serves_half_warps_and_splits_wide_accesses() {
    assert_eq!(load(TESLA, !0, strided(4), 4), (2, 2));
    // Guide 4.2, F.3.3.1: a stride of s words conflicts unless s is odd; 16 words put all lanes
    // into one bank.
    assert_eq!(load(TESLA, !0, strided(12), 4), (2, 2));
    assert_eq!(load(TESLA, !0, strided(8), 4), (4, 2));
    assert_eq!(load(TESLA, !0, strided(16 * 4), 4), (32, 2));
    // F.3.3.4: an array of doubles is read as two arrays of words with stride two: two-way
    // conflicts for each of two words of each of two half-warps.
    assert_eq!(load(TESLA, !0, strided(8), 8), (8, 4));
}

#[test]
fn capability_1_hands_one_word_to_several_lanes() {
    // F.3.3.2: all lanes on one word, or all on one but some on other banks: one step.
    assert_eq!(load(TESLA, 0xFFFF, strided(0), 4), (1, 1));
    let mut addresses = [0; 32];
    addresses[3] = 4;
    addresses[7] = 8;
    assert_eq!(load(TESLA, 0xFFFF, addresses, 4), (1, 1));
    // Two words with eight lanes each: the first step serves the eight of one and one of the
    // other, the second step the remaining seven.
    let halves = std::array::from_fn(|lane| (lane as u64 % 2) * 4);
    assert_eq!(load(TESLA, 0xFFFF, halves, 4), (2, 1));
    // Bytes (F.3.3.3): four lanes in each of four words. Steps serve 4+1+1+1, 3+1+1, 2+1 and 1.
    assert_eq!(load(TESLA, 0xFFFF, strided(1), 1), (4, 1));
    // A store to one word is done by one lane.
    let access = access(AccessKind::Store, Pattern::General, 0xFFFF, 4, &halves);
    assert_eq!(Banks::new(TESLA).passes(&access).passes, 1);
}

#[test]
fn seventeen_banks_have_no_conflicts_where_strides_are_powers_of_two() {
    // The question of Zhang & Owens 2011, section 5.2: cyclic reduction walks in strides of 2, 4,
    // 8, … words; a prime number of banks would take the conflicts away.
    let seventeen = TESLA.with_banks(17).unwrap();
    for log in 0..9 {
        let addresses = strided(4 << log);
        assert_eq!(load(seventeen, !0, addresses, 4), (2, 2), "stride {}", 1 << log);
        assert_eq!(load(TESLA, !0, addresses, 4), (2 << log.min(4), 2));
    }
    // Its own multiples conflict.
    assert_eq!(load(seventeen, !0, strided(17 * 4), 4), (32, 2));
}

#[test]
fn updates_of_one_word_take_turns() {
    let passes = |geometry: BankGeometry, addresses: [u64; 32], bytes| {
        let access = access(AccessKind::Atomic, Pattern::General, !0, bytes, &addresses);
        let BankPasses { passes, conflict_free } = Banks::new(geometry).passes(&access);
        (passes, conflict_free)
    };
    assert_eq!(passes(FERMI, strided(4), 4), (1, 1));
    assert_eq!(passes(FERMI, strided(0), 4), (32, 1));
    assert_eq!(passes(FERMI, strided(128), 4), (32, 1));
    // A histogram of two bins in different banks.
    assert_eq!(passes(FERMI, std::array::from_fn(|lane| (lane as u64 % 2) * 4), 4), (16, 1));
    assert_eq!(passes(FERMI, strided(8), 8), (2, 2));
    assert_eq!(passes(TESLA, strided(4), 4), (2, 2));
}

#[test]
fn a_bulk_copy_takes_whole_passes() {
    assert_eq!(load(FERMI, 1, strided(0), 4096), (32, 32));
    assert_eq!(load(TESLA, 1, strided(0), 4096), (64, 64));
}

#[test]
fn impossible_banks_are_refused() {
    assert_eq!(FERMI.with_banks(0), None);
    assert_eq!(FERMI.with_banks(129), None);
    assert_eq!(FERMI.with_widths(4, 8), None);
    assert_eq!(FERMI.with_widths(16, 16), None);
    assert_eq!(FERMI.with_lanes(12), None);
    assert!(FERMI.with_banks(17).is_some() && FERMI.with_widths(8, 8) == Some(KEPLER_WIDE));
}

/// The definition for banks that hand every word to all lanes: the guides' sentences, word by
/// word. `together` are the lanes that go together.
fn naive(geometry: BankGeometry, mask: u32, addresses: &[u64; 32], bytes: u64) -> u32 {
    let delivered = u64::from(geometry.bank_bytes());
    // Lanes with one address go together: each with its neighbour, or each with the next but one.
    let agree = |one: usize, other: usize| {
        let take_part = mask >> one & 1 == 1 && mask >> other & 1 == 1;
        !take_part || addresses[one] == addresses[other]
    };
    let neighbours = (0..16).all(|pair| agree(2 * pair, 2 * pair + 1));
    let apart =
        (0..8).all(|four| agree(4 * four, 4 * four + 2) && agree(4 * four + 1, 4 * four + 3));
    let pairs = geometry.serving() == Serving::InPairedPhases && bytes <= 16;
    let bytes_together = if pairs && (neighbours || apart) { bytes.div_ceil(2) } else { bytes };
    let together = match (geometry.lanes() as u64 * delivered) / bytes_together {
        lanes if lanes >= u64::from(geometry.lanes()) => geometry.lanes() as usize,
        lanes => lanes as usize,
    };
    let banks = u64::from(geometry.banks());
    let mut passes = 0;
    for first in (0..32).step_by(together) {
        // For each bank the pieces that can be delivered in one pass.
        let mut wanted: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for lane in (first..first + together).filter(|lane| mask >> lane & 1 == 1) {
            for byte in addresses[lane]..addresses[lane] + bytes {
                let (bank, piece) = match (geometry.bank_bytes(), geometry.interleave_bytes()) {
                    (4, _) => (byte / 4 % banks, byte / 4),
                    (_, 8) => (byte / 8 % banks, byte / 8),
                    // Words i and j = i + banks of one segment of twice as many words as banks.
                    _ => (byte / 4 % banks, byte / 4 / (2 * banks)),
                };
                wanted.entry(bank).or_default().insert(piece);
            }
        }
        passes += wanted.values().map(BTreeSet::len).max().unwrap_or(0);
    }
    passes as u32
}

/// Capability 1.x, one 32-bit load by a half-warp, as the guide 4.2, F.3.3.2 lays out the steps.
fn naive_broadcast(banks: u64, mask: u32, addresses: &[u64; 32]) -> u32 {
    let mut waiting: Vec<(usize, u64)> = (0..32)
        .filter(|lane| mask >> lane & 1 == 1)
        .map(|lane| (lane, addresses[lane] / 4))
        .collect();
    let mut steps = 0;
    while !waiting.is_empty() {
        let lanes_of = |word: u64| waiting.iter().filter(|(_, other)| *other == word).count();
        let best = waiting.iter().map(|&(_, word)| lanes_of(word)).max().unwrap();
        let broadcast = waiting.iter().find(|&&(_, word)| lanes_of(word) == best).unwrap().1;
        let mut busy = BTreeSet::from([broadcast % banks]);
        waiting.retain(|&(_, word)| word != broadcast && !busy.insert(word % banks));
        steps += 1;
    }
    steps
}

fn geometries() -> Vec<BankGeometry> {
    let phases = TESLA.with_serving(Serving::InPhases);
    let with_banks = |geometry: BankGeometry, banks| geometry.with_banks(banks).unwrap();
    vec![
        FERMI,
        MAXWELL,
        KEPLER,
        KEPLER_WIDE,
        phases,
        with_banks(phases, 17),
        with_banks(FERMI, 17),
        with_banks(FERMI, 64),
        with_banks(KEPLER, 31),
    ]
}

proptest! {
    #[test]
    fn passes_equal_the_definition(
        mask: u32,
        offsets in prop::array::uniform32(0_u64..256),
        log_bytes in 0_u32..6,
        distance in 0_usize..3,
        geometry in prop::sample::select(geometries()),
    ) {
        let bytes = 1 << log_bytes;
        // Two thirds of the time lanes come in pairs.
        let addresses = std::array::from_fn(|lane| offsets[lane & !distance] * bytes);
        let (passes, _) = load(geometry, mask, addresses, bytes as u32);
        prop_assert_eq!(passes, naive(geometry, mask, &addresses, bytes));
    }

    /// A bank serves a cell a pass, so a phase takes as many passes as its fullest bank has cells.
    #[test]
    fn cells_of_the_map_add_up_to_the_passes(
        mask in 1_u32..,
        offsets in prop::array::uniform32(0_u64..256),
        log_bytes in 0_u32..5,
        distance in 0_usize..3,
        kind in prop::sample::select(vec![AccessKind::Load, AccessKind::Store, AccessKind::Atomic]),
        geometry in prop::sample::select(geometries()),
    ) {
        let bytes = 1 << log_bytes;
        let addresses = std::array::from_fn(|lane| offsets[lane & !distance] * bytes);
        let event = access(kind, Pattern::General, mask, bytes as u32, &addresses);
        let map = geometry.map(&LaneAccess::new(&event, 0)).unwrap();
        let mut in_bank: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for cell in &map.cells {
            *in_bank.entry(cell.phase).or_default().entry(cell.bank).or_default() += 1;
        }
        let fullest = in_bank.values().map(|banks| banks.values().max().unwrap());
        // An atomic of 8 bytes takes its banks together.
        if kind != AccessKind::Atomic || bytes <= 4 {
            prop_assert_eq!(fullest.sum::<u32>(), map.passes.passes);
        }
        let lanes = map.cells.iter().fold(0, |all, cell| all | cell.lanes);
        prop_assert_eq!(lanes, mask);
    }

    #[test]
    fn strides_of_neighbouring_lanes_equal_the_definition(
        base in 0_u64..256,
        stride in prop_oneof![-40_i64..40, (0_u32..12).prop_map(|log| 1 << log)],
        log_bytes in 0_u32..6,
        lanes in 1_u32..33,
        first_lane in 0_u32..32,
        odd_lane in 0_usize..64,
    ) {
        let bytes = 1 << log_bytes;
        let mut addresses =
            std::array::from_fn(|lane| (base + 4096).wrapping_add_signed(lane as i64 * stride) * bytes);
        // Half of the time one lane is out of step.
        if let Some(address) = addresses.get_mut(odd_lane) {
            *address += 3 * bytes;
        }
        let mask = (u32::MAX >> (32 - lanes)) << first_lane;
        let (passes, _) = load(FERMI, mask, addresses, bytes as u32);
        prop_assert_eq!(passes, naive(FERMI, mask, &addresses, bytes));
    }

    #[test]
    fn the_steps_of_capability_1_equal_the_definition(
        mask in 0_u32..0x1_0000,
        offsets in prop::array::uniform32(0_u64..48),
        banks in prop::sample::select(vec![16_u32, 17, 7]),
    ) {
        let addresses = offsets.map(|offset| offset * 4);
        let (steps, _) = load(TESLA.with_banks(banks).unwrap(), mask, addresses, 4);
        prop_assert_eq!(steps, naive_broadcast(u64::from(banks), mask, &addresses));
        // What a broadcast of every word would take is never more.
        prop_assert!(steps >= naive(FERMI.with_banks(banks).unwrap(), mask, &addresses, 4));
    }

    #[test]
    fn regular_patterns_equal_general_ones(
        base in 0_u64..256,
        log_bytes in 0_u32..6,
        geometry in prop::sample::select(geometries()),
    ) {
        let bytes = 1_u32 << log_bytes;
        let first = base * u64::from(bytes);
        for (pattern, stride) in [(Pattern::Uniform, 0), (Pattern::Consecutive, u64::from(bytes))] {
            let addresses = std::array::from_fn(|lane| first + lane as u64 * stride);
            // All but the first address are arbitrary under such a pattern.
            let mut only_first = [0xDEAD; 32];
            only_first[0] = first;
            let access = access(AccessKind::Load, pattern, !0, bytes, &only_first);
            let BankPasses { passes, conflict_free } = Banks::new(geometry).passes(&access);
            prop_assert_eq!((passes, conflict_free), load(geometry, !0, addresses, bytes));
        }
    }
}
