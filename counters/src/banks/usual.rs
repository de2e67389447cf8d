//! The passes over the usual 32 banks of 4 bytes, where each lane wants one aligned piece.
//!
//! A phase has as many lanes as have 128 bytes of pieces. A piece lies in one of as many groups of
//! banks. The passes of a phase are the different pieces of its most wanted group. Where lanes with
//! one address go together, a phase of wide loads has twice the lanes.

use super::{BankPasses, come_in_pairs};

/// The bytes that all banks together deliver per pass, as a power of two.
const ROW_BITS: u32 = 7;

/// Passes of the lanes of `mask`; `None` if they do not want aligned pieces of at most 16 bytes.
/// `pairs` tells that lanes with one address go together.
pub(super) fn passes(
    mask: u32,
    addresses: &[u64; 32],
    bytes: u32,
    pairs: bool,
) -> Option<BankPasses> {
    if bytes > 16 || !bytes.is_power_of_two() || mask == 0 {
        return None;
    }
    // Less than a bank's word counts as the word.
    let piece_bits = bytes.trailing_zeros().max(2);
    let first = addresses[mask.trailing_zeros() as usize & 31];
    let mut pieces = [0; 32];
    let (mut low_bits, mut difference) = (0, 0);
    for lane in 0..32 {
        // Lanes that take no part get the address of the first one.
        let address = if mask & 1 << lane != 0 { addresses[lane] } else { first };
        low_bits |= address;
        difference |= address ^ first;
        // Shared memory has fewer than 2^32 pieces.
        pieces[lane] = (address >> piece_bits) as u32;
    }
    if low_bits & u64::from(bytes - 1) != 0 {
        return None;
    }
    let one_row = difference >> ROW_BITS == 0;
    let groups = 1 << (ROW_BITS - piece_bits);
    let is_paired = pairs && groups < 32 && come_in_pairs(mask, addresses);
    let lanes = if is_paired { 2 * groups } else { groups };
    let mut result = BankPasses::default();
    for phase in (0..32).step_by(lanes) {
        let active = mask & (u32::MAX >> (32 - lanes)) << phase;
        if active != 0 {
            result.conflict_free += 1;
            result.passes += match one_row {
                true => 1,
                false => passes_of_stride(active, &pieces, groups as u32)
                    .unwrap_or_else(|| passes_in_turns(active, &pieces, groups as u32)),
            };
        }
    }
    Some(result)
}

/// The passes of neighbouring lanes whose pieces are equally far from each other.
fn passes_of_stride(active: u32, pieces: &[u32; 32], groups: u32) -> Option<u32> {
    let first = active.trailing_zeros();
    let run = active >> first;
    if run & run.wrapping_add(1) != 0 {
        return None;
    }
    let stride = pieces[(first as usize + 1) & 31].wrapping_sub(pieces[first as usize & 31]);
    let pairs = active & active << 1;
    let mut deviation = 0;
    for lane in 1..32 {
        let step = pieces[lane].wrapping_sub(pieces[lane - 1]);
        deviation |= if pairs & 1 << lane != 0 { step ^ stride } else { 0 };
    }
    if deviation != 0 || stride == 0 {
        return None;
    }
    // Multiples of the stride come back to a group after this many lanes.
    let period = (groups >> stride.trailing_zeros().min(31)).max(1);
    Some(run.count_ones().div_ceil(period))
}

/// Lets one piece of each group go at a time.
fn passes_in_turns(active: u32, pieces: &[u32; 32], groups: u32) -> u32 {
    let group = |piece: u32| (piece & (groups - 1)) as usize & 31;
    let mut served = [0; 32];
    let (mut waiting, mut passes) = (active, 0);
    while waiting != 0 {
        let mut lanes = waiting;
        while lanes != 0 {
            let piece = pieces[lanes.trailing_zeros() as usize];
            lanes &= lanes - 1;
            served[group(piece)] = piece;
        }
        let mut lanes = waiting;
        while lanes != 0 {
            let piece = pieces[lanes.trailing_zeros() as usize];
            if served[group(piece)] == piece {
                waiting &= !(lanes & lanes.wrapping_neg());
            }
            lanes &= lanes - 1;
        }
        passes += 1;
    }
    passes
}
