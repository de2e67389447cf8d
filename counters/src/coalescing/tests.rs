use std::collections::BTreeSet;

use gpucast_ptx_frontend::types::StateSpace;
use proptest::prelude::*;

use super::*;
use crate::device::DeviceModel;
use crate::hierarchy::L2Geometry;
use gpucast_ptx_frontend::ComputeCapability;

fn rules(major: u32, minor: u32) -> Coalescing {
    let capability = ComputeCapability::new(major, minor);
    DeviceModel::for_capability(capability, 1, L2Geometry::GTX_480).unwrap().coalescing
}

fn with_sector(rules: Coalescing, bytes: u64) -> Coalescing {
    Coalescing { sector: SectorSize::new(bytes).unwrap(), ..rules }
}

fn access(kind: AccessKind, mask: u32, bytes: u32, addresses: &[u64; 32]) -> Access<'_> {
    Access {
        instruction: 0,
        warp: 0,
        time: 0,
        space: StateSpace::Global,
        kind,
        bytes_per_lane: bytes,
        mask,
        pattern: Pattern::General,
        addresses,
        continues: false,
        distances: None,
    }
}

fn global(rules: Coalescing, access: &Access<'_>) -> (Moved, Vec<LineTouch>) {
    let mut lines = Vec::new();
    let moved = Coalescer::new(rules).global(access, false, |touch| lines.push(touch));
    (moved, lines)
}

/// Transactions and sectors of a load.
fn load(rules: Coalescing, mask: u32, addresses: [u64; 32], bytes: u32) -> (u64, u64) {
    let (moved, _) = global(rules, &access(AccessKind::Load, mask, bytes, &addresses));
    (moved.transactions, moved.sectors)
}

fn strided(base: u64, stride: u64) -> [u64; 32] {
    std::array::from_fn(|lane| base + lane as u64 * stride)
}

const HALF: u32 = 0xFFFF;

#[test]
fn capability_1_0_wants_words_in_order_and_aligned() {
    let rules = rules(1, 0);
    // Guide 4.2, F.3.2.1: one transaction of 64 bytes, one of 128, two of 128 for a half-warp.
    assert_eq!(load(rules, HALF, strided(0x1000, 4), 4), (1, 2));
    assert_eq!(load(rules, HALF, strided(0x1000, 8), 8), (1, 4));
    assert_eq!(load(rules, HALF, strided(0x1000, 16), 16), (2, 8));
    assert_eq!(load(rules, !0, strided(0x1000, 4), 4), (2, 4));
    // Lanes may be missing, the lowest one, too.
    assert_eq!(load(rules, 0x0FF0, strided(0x1000, 4), 4), (1, 2));
    // Misaligned by one word, permuted, or all on one word: sixteen transactions of 32 bytes.
    assert_eq!(load(rules, HALF, strided(0x1004, 4), 4), (16, 16));
    let mut swapped = strided(0x1000, 4);
    swapped.swap(2, 3);
    assert_eq!(load(rules, HALF, swapped, 4), (16, 16));
    assert_eq!(load(rules, HALF, strided(0x1000, 0), 4), (16, 16));
    // Bytes and 16-bit words never coalesce.
    assert_eq!(load(rules, HALF, strided(0x1000, 1), 1), (16, 16));
    assert_eq!(load(rules, HALF, strided(0x1000, 2), 2), (16, 16));
    // The second half-warp is judged alone.
    let mut second = strided(0x1000, 4);
    second[31] = 0x2000;
    assert_eq!(load(rules, !0, second, 4), (1 + 16, 2 + 16));
}

#[test]
fn capability_1_3_shrinks_segments() {
    let rules = rules(1, 3);
    // Guide 4.2, F.3.2.2 and figure F-1: aligned words of a half-warp are one transaction of 64
    // bytes, in any order.
    assert_eq!(load(rules, HALF, strided(0x1000, 4), 4), (1, 2));
    let mut swapped = strided(0x1000, 4);
    swapped.swap(2, 9);
    assert_eq!(load(rules, HALF, swapped, 4), (1, 2));
    // Misaligned within a 128-byte segment: both halves are used, 128 bytes move.
    assert_eq!(load(rules, HALF, strided(0x1004, 4), 4), (1, 4));
    // Over the border of two segments: 12 words of one (its last 48 bytes: 64 bytes move), and 4 of
    // the other (32 bytes).
    assert_eq!(load(rules, HALF, strided(0x1050, 4), 4), (2, 2 + 1));
    // One word: 128 shrinks to 64 and to 32.
    assert_eq!(load(rules, HALF, strided(0x1044, 0), 4), (1, 1));
    // Strides of 2 and of 32 words.
    assert_eq!(load(rules, HALF, strided(0x1000, 8), 4), (1, 4));
    assert_eq!(load(rules, HALF, strided(0x1000, 128), 4), (16, 16));
    // Bytes begin with 32, 16-bit words with 64, doubles and quadruples with 128.
    assert_eq!(load(rules, HALF, strided(0x1000, 1), 1), (1, 1));
    assert_eq!(load(rules, HALF, strided(0x1018, 1), 1), (2, 2));
    assert_eq!(load(rules, HALF, strided(0x1000, 2), 2), (1, 1));
    assert_eq!(load(rules, HALF, strided(0x1020, 2), 2), (1, 1));
    assert_eq!(load(rules, HALF, strided(0x1000, 8), 8), (1, 4));
    assert_eq!(load(rules, HALF, strided(0x1000, 16), 16), (2, 8));
}

#[test]
fn segments_of_16_bytes_move_half_as_much_for_scattered_words() {
    // The question of Zhang & Owens 2011, section 5.3.
    let of_32 = rules(1, 3);
    let of_16 = with_sector(of_32, 16);
    let bytes =
        |rules: Coalescing, addresses| load(rules, HALF, addresses, 4).1 * rules.sector.bytes();
    assert_eq!(bytes(of_32, strided(0x1000, 128)), 16 * 32);
    assert_eq!(bytes(of_16, strided(0x1000, 128)), 16 * 16);
    // What is coalesced stays as it is.
    assert_eq!(bytes(of_32, strided(0x1000, 4)), 64);
    assert_eq!(bytes(of_16, strided(0x1000, 4)), 64);
    // Three words: 16 bytes do, or 32 where they lie across a border.
    let three = |base: u64| std::array::from_fn(|lane| base + 4 * (lane as u64 % 3));
    assert_eq!(bytes(of_16, three(0x1000)), 16);
    assert_eq!(bytes(of_16, three(0x1008)), 32);
    // The same with sectored lines: every fourth word.
    let lines_of_16 = with_sector(rules(7, 0), 16);
    assert_eq!(load(lines_of_16, !0, strided(0x1000, 16), 4), (32, 32));
    assert_eq!(load(rules(7, 0), !0, strided(0x1000, 16), 4), (16, 16));
}

#[test]
fn transactions_mean_what_the_generation_says() {
    let coalesced =
        |major, bytes: u32| load(rules(major, 0), !0, strided(0x1000, u64::from(bytes)), bytes).0;
    // Lines on 2.x and 3.x; 8 on Maxwell and Pascal (pieces of 16 bytes); sectors after.
    assert_eq!([2, 3, 5, 6, 7, 8, 9].map(|major| coalesced(major, 4)), [1, 1, 8, 8, 4, 4, 4]);
    assert_eq!([2, 3, 7].map(|major| coalesced(major, 8)), [2, 2, 8]);
    assert_eq!([2, 3, 7].map(|major| coalesced(major, 16)), [4, 4, 16]);
    // All lanes on one word: an eighth of the lanes of each half-warp on Maxwell.
    let one_word = |major| load(rules(major, 0), !0, strided(0x1000, 0), 4).0;
    assert_eq!([2, 5, 7].map(one_word), [1, 4, 1]);
    // Stores on Maxwell are sectors.
    let addresses = strided(0x1000, 4);
    let (moved, _) = global(rules(5, 0), &access(AccessKind::Store, !0, 4, &addresses));
    assert_eq!(moved, Moved { sectors: 4, transactions: 4 });
}

#[test]
fn fermi_makes_a_request_of_each_half_or_quarter_warp() {
    // Guide 4.2, F.4.2: with 8 bytes per lane each half-warp is a request of its own. Misaligned by
    // one double, each of the two touches two lines, of which they share one.
    assert_eq!(load(rules(2, 0), !0, strided(0x1008, 8), 8), (4, 9));
    assert_eq!(load(rules(2, 0), !0, strided(0x1010, 16), 16), (8, 17));
    // All lanes on one double: two requests of one line.
    assert_eq!(load(rules(2, 0), !0, strided(0x1000, 0), 8), (2, 1));
    // Half of a warp: one request.
    assert_eq!(load(rules(2, 0), HALF, strided(0x1000, 8), 8), (1, 4));
}

#[test]
fn an_update_is_a_transaction_for_each_address() {
    let updates = |major, addresses: [u64; 32]| {
        let access = access(AccessKind::Reduction, !0, 4, &addresses);
        let (moved, _) = global(rules(major, 0), &access);
        (moved.transactions, moved.sectors)
    };
    assert_eq!(updates(2, strided(0x1000, 4)), (32, 4));
    assert_eq!(updates(2, strided(0x1000, 0)), (1, 1));
    assert_eq!(updates(8, std::array::from_fn(|lane| 0x1000 + lane as u64 % 2 * 64)), (2, 2));
}

#[test]
fn a_bulk_copy_is_one_range() {
    for major in [1, 2, 7] {
        let mut addresses = [u64::MAX; 32];
        addresses[5] = 0x1010;
        let access = access(AccessKind::Load, 1 << 5, 4096, &addresses);
        let (moved, lines) = global(rules(major, 0), &access);
        // 4096 bytes from the middle of a sector on.
        assert_eq!((moved.sectors, lines.len()), (129, 33), "capability {major}");
    }
}

#[test]
fn local_memory_is_interleaved_by_lane() {
    let addresses = strided(16, 0);
    let local = |rules: Coalescing, bytes: u32| {
        let mut lines = BTreeSet::new();
        let access = access(AccessKind::Store, !0, bytes, &addresses);
        let moved = Coalescer::new(rules).local(&access, |touch| {
            lines.insert((touch.line, touch.sectors));
        });
        (moved.sectors, lines.into_iter().collect::<Vec<_>>())
    };
    // Word 4 of each lane is line 4; a double is two lines.
    assert_eq!(local(rules(2, 0), 4), (4, vec![(4, 0xF)]));
    assert_eq!(local(rules(2, 0), 8), (8, vec![(4, 0xF), (5, 0xF)]));
    // Half-warps on capability 1.x: two transactions of 64 bytes for each word.
    assert_eq!(local(rules(1, 3), 8), (8, vec![(4, 0x3), (4, 0xC), (5, 0x3), (5, 0xC)]));
    assert_eq!(local(rules(1, 0), 4), (4, vec![(4, 0x3), (4, 0xC)]));
}

/// The addresses of the bytes that a transaction moves.
type Range = (u64, u64);

/// Guide 4.2, F.3.2.2, step by step on address ranges.
fn naive_segments(mask: u32, addresses: &[u64; 32], bytes: u64, smallest: u64) -> Vec<Range> {
    let mut transactions = Vec::new();
    for half_warp in [0..16, 16..32] {
        let mut threads: Vec<usize> = half_warp.filter(|lane| mask >> lane & 1 == 1).collect();
        while let Some(&lowest) = threads.first() {
            let mut size = match bytes {
                1 => 32,
                2 => 64,
                _ => 128,
            };
            size = size.max(smallest);
            let mut begin = addresses[lowest] / size * size;
            let (served, rest): (Vec<_>, Vec<_>) = threads
                .into_iter()
                .partition(|&lane| (begin..begin + size).contains(&addresses[lane]));
            threads = rest;
            let used: BTreeSet<u64> =
                served.iter().flat_map(|&lane| addresses[lane]..addresses[lane] + bytes).collect();
            while size > smallest {
                let middle = begin + size / 2;
                if used.iter().all(|&byte| byte < middle) {
                    size /= 2;
                } else if used.iter().all(|&byte| byte >= middle) {
                    size /= 2;
                    begin = middle;
                } else {
                    break;
                }
            }
            transactions.push((begin, size));
        }
    }
    transactions
}

/// Guide 4.2, F.3.2.1.
fn naive_aligned(mask: u32, addresses: &[u64; 32], bytes: u64) -> Vec<Range> {
    let mut transactions = Vec::new();
    for half_warp in [0..16_usize, 16..32] {
        let active: Vec<usize> = half_warp.clone().filter(|lane| mask >> lane & 1 == 1).collect();
        let Some(&any) = active.first() else { continue };
        // Every segment that the half-warp could be in order in.
        let candidates = (0..=16).map(|back| addresses[any].saturating_sub(back * bytes));
        let unit = match bytes {
            4 => 64,
            8 | 16 => 128,
            _ => u64::MAX,
        };
        let in_order = |begin: &u64| {
            begin.is_multiple_of(unit)
                && active
                    .iter()
                    .all(|&lane| addresses[lane] == begin + (lane - half_warp.start) as u64 * bytes)
        };
        match candidates.filter(|_| unit != u64::MAX).find(in_order) {
            Some(begin) => {
                (0..16 * bytes / unit)
                    .for_each(|part| transactions.push((begin + part * unit, unit)));
            }
            None => {
                transactions.extend(active.iter().map(|&lane| (addresses[lane] / 32 * 32, 32)));
            }
        }
    }
    transactions
}

/// The sectors of a list of ranges, as the recorder sends them, and in bytes.
fn ranges_of(lines: &[LineTouch], sector: u64) -> Vec<Range> {
    lines
        .iter()
        .map(|touch| {
            let first = u64::from(touch.sectors.trailing_zeros());
            let count = u64::from(touch.sectors.count_ones());
            // One run of sectors.
            assert_eq!(u64::from(touch.sectors), ((1 << count) - 1) << first);
            (touch.line * 128 + first * sector, count * sector)
        })
        .collect()
}

/// Addresses that are often, but not always, near each other and in order.
fn addresses() -> impl Strategy<Value = [u64; 32]> {
    let scattered = prop::array::uniform32(0_u64..1024);
    let near = prop::array::uniform32(0_u64..40);
    let ordered = (0_u64..64, 0_usize..40, 0_u64..64).prop_map(|(base, odd, other)| {
        std::array::from_fn(|lane| if lane == odd { other } else { base + lane as u64 })
    });
    prop_oneof![scattered, near, ordered]
}

proptest! {
    #[test]
    fn segments_equal_the_guides_algorithm(
        mask: u32,
        words in addresses(),
        log_bytes in 0_u32..5,
        log_smallest in 4_u32..7,
    ) {
        let (bytes, smallest) = (1 << log_bytes, 1 << log_smallest);
        let addresses = words.map(|word| 0x1_0000 + word * bytes);
        let rules = with_sector(rules(1, 2), smallest);
        let (moved, lines) = global(rules, &access(AccessKind::Load, mask, bytes as u32, &addresses));
        let expected = naive_segments(mask, &addresses, bytes, smallest);
        prop_assert_eq!(ranges_of(&lines, smallest), expected.clone());
        prop_assert_eq!(moved.transactions, expected.len() as u64);
        prop_assert_eq!(moved.sectors * smallest, expected.iter().map(|range| range.1).sum::<u64>());
    }

    #[test]
    fn aligned_half_warps_equal_the_guides_conditions(
        mask: u32,
        words in addresses(),
        log_bytes in 0_u32..5,
    ) {
        let bytes = 1 << log_bytes;
        let addresses = words.map(|word| 0x1_0000 + word * bytes);
        let (_, lines) = global(rules(1, 1), &access(AccessKind::Load, mask, bytes as u32, &addresses));
        prop_assert_eq!(ranges_of(&lines, 32), naive_aligned(mask, &addresses, bytes));
    }

    #[test]
    fn a_stores_sector_is_full_if_the_lanes_write_all_of_it(mask: u32, words in addresses()) {
        let addresses = words.map(|word| 0x1_0000 + word * 4);
        let written: BTreeSet<u64> = (0..32)
            .filter(|lane| mask >> lane & 1 == 1)
            .flat_map(|lane| addresses[lane]..addresses[lane] + 4)
            .collect();
        let (_, lines) = global(rules(1, 3), &access(AccessKind::Store, mask, 4, &addresses));
        for touch in lines {
            for sector in (0..4).filter(|sector| touch.full >> sector & 1 == 1) {
                let first = touch.line * 128 + sector * 32;
                prop_assert_eq!(written.range(first..first + 32).count(), 32);
            }
            prop_assert_eq!(touch.full & !touch.sectors, 0);
        }
    }

    #[test]
    fn quads_equal_their_definition(mask: u32, words in addresses(), log_bytes in 0_u32..5) {
        let bytes = 1 << log_bytes;
        let addresses = words.map(|word| word * bytes);
        let of_half = |lanes: std::ops::Range<usize>| {
            let active: Vec<usize> = lanes.filter(|lane| mask >> lane & 1 == 1).collect();
            let pieces: BTreeSet<u64> = active
                .iter()
                .flat_map(|&lane| addresses[lane]..addresses[lane] + bytes)
                .map(|byte| byte / 16)
                .collect();
            pieces.len().max(active.len().div_ceil(8)) as u64
        };
        let expected = of_half(0..16) + of_half(16..32);
        prop_assert_eq!(load(rules(5, 2), mask, addresses, bytes as u32).0, expected);
    }

    /// On 6.1 a load that the L1 keeps counts twice, and one that goes past it does not.
    #[test]
    fn kept_quads_are_twice_the_quads(mask: u32, words in addresses()) {
        let addresses = words.map(|word| word * 4);
        let access = access(AccessKind::Load, mask, 4, &addresses);
        let transactions = |major, minor, past_l1| {
            let mut coalescer = Coalescer::new(rules(major, minor));
            coalescer.global(&access, past_l1, |_| {}).transactions
        };
        let quads = transactions(5, 2, false);
        prop_assert_eq!(transactions(6, 1, true), quads);
        prop_assert_eq!(transactions(6, 1, false), 2 * quads);
        for minor in [0, 2] {
            prop_assert_eq!(transactions(6, minor, false), quads);
        }
    }

    #[test]
    fn fermis_requests_equal_their_definition(mask: u32, words in addresses(), log_bytes in 0_u32..5) {
        let bytes = 1 << log_bytes;
        let addresses = words.map(|word| word * bytes);
        let lanes = match bytes { 8 => 16, 16 => 8, _ => 32 };
        let of_request = |first: usize| {
            let lines: BTreeSet<u64> = (first..first + lanes)
                .filter(|lane| mask >> lane & 1 == 1)
                .flat_map(|lane| addresses[lane]..addresses[lane] + bytes)
                .map(|byte| byte / 128)
                .collect();
            lines.len() as u64
        };
        let expected: u64 = (0..32).step_by(lanes).map(of_request).sum();
        prop_assert_eq!(load(rules(2, 0), mask, addresses, bytes as u32).0, expected);
    }

    /// What the executor says of a pattern is as good as all addresses.
    #[test]
    fn patterns_equal_the_addresses_that_they_stand_for(
        base in 0_u64..512,
        log_bytes in 0_u32..5,
        capability in prop::sample::select(vec![(1, 0), (1, 3), (2, 0), (3, 5), (5, 2), (7, 0)]),
        kind in prop::sample::select(vec![AccessKind::Load, AccessKind::Store, AccessKind::Atomic]),
    ) {
        let rules = rules(capability.0, capability.1);
        let bytes = 1_u64 << log_bytes;
        for (pattern, stride) in [(Pattern::Uniform, 0), (Pattern::Consecutive, bytes)] {
            let all = strided(base * bytes, stride);
            let mut only_first = [0xDEAD_0000; 32];
            only_first[0] = all[0];
            let general = access(kind, !0, bytes as u32, &all);
            let patterned = Access { pattern, addresses: &only_first, ..general };
            prop_assert_eq!(global(rules, &patterned), global(rules, &general));
        }
    }
}
