//! The coalescing of compute capability 1.x: CUDA C Programming Guide 4.2, appendix F.3.2.
//!
//! There is no cache; every transaction goes to device memory as a whole. Words have 1, 2, 4, 8 or
//! 16 bytes and are aligned to their size, which the interpreter has checked.

use super::sectors::{SectorSize, byte_mask};
use crate::units::{LINE_BYTES, LineTouch};

/// The lanes of the two half-warps.
const HALF_WARPS: [u32; 2] = [0xFFFF, 0xFFFF_0000];

/// Lanes of a mask, lowest first.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// Capability 1.2 and 1.3 (F.3.2.2): the segment of the lowest lane takes in every lane that falls
/// into it. Then it shrinks as long as only one half of it is used. This repeats until all lanes
/// are served.
///
/// The segment has 32 bytes for 1-byte words, 64 for 2-byte words and 128 for others. It shrinks to
/// `smallest`, which is 32 on those GPUs.
pub(super) fn segments(
    mask: u32,
    addresses: &[u64; 32],
    bytes: u64,
    smallest: SectorSize,
    transactions: &mut Vec<LineTouch>,
) {
    let largest: u64 = match bytes {
        0 | 1 => 32,
        2 => 64,
        _ => 128,
    };
    let largest = largest.max(smallest.bytes());
    for half_warp in HALF_WARPS {
        let mut waiting = mask & half_warp;
        while waiting != 0 {
            let mut size = largest;
            let mut first = addresses[waiting.trailing_zeros() as usize] & !(size - 1);
            let line = first / LINE_BYTES;
            let mut used = 0;
            for lane in lanes(waiting) {
                if addresses[lane] & !(size - 1) == first {
                    used |= byte_mask(addresses[lane] % LINE_BYTES, bytes);
                    waiting &= !(1 << lane);
                }
            }
            while size > smallest.bytes() {
                let half = size / 2;
                let uses = |first: u64| used & byte_mask(first % LINE_BYTES, half) != 0;
                match (uses(first), uses(first + half)) {
                    (true, true) => break,
                    (false, true) => first += half,
                    (_, false) => {}
                }
                size = half;
            }
            let low = first % LINE_BYTES;
            transactions.push(LineTouch::of_transfer(line, low, size, used, smallest));
        }
    }
}

/// Capability 1.0 and 1.1 (F.3.2.1): if lane `k` of a half-warp accesses word `k` of an aligned
/// segment, the segment moves. It has 64 bytes for 4-byte words, 128 bytes for 8-byte words, and
/// twice 128 bytes for 16-byte words. Lanes may be missing. Otherwise each active lane has a
/// transaction of `smallest` bytes, which is 32 on those GPUs.
pub(super) fn aligned(
    mask: u32,
    addresses: &[u64; 32],
    bytes: u64,
    smallest: SectorSize,
    transactions: &mut Vec<LineTouch>,
) {
    for half_warp in HALF_WARPS {
        let active = mask & half_warp;
        if active == 0 {
            continue;
        }
        let first_lane = half_warp.trailing_zeros() as u64;
        let lowest = active.trailing_zeros() as usize;
        let segment = (16 * bytes).min(LINE_BYTES);
        let first = addresses[lowest].wrapping_sub((lowest as u64 - first_lane) * bytes);
        let in_order =
            |lane: usize| addresses[lane] == first.wrapping_add((lane as u64 - first_lane) * bytes);
        let coalesced = matches!(bytes, 4 | 8 | 16)
            && first.is_multiple_of(segment)
            && lanes(active).all(in_order);
        let mut move_segment = |first: u64, size: u64| {
            let used = lanes(active)
                .filter(|&lane| addresses[lane].wrapping_sub(first) < size)
                .fold(0, |used, lane| used | byte_mask(addresses[lane] % LINE_BYTES, bytes));
            let (line, low) = (first / LINE_BYTES, first % LINE_BYTES);
            transactions.push(LineTouch::of_transfer(line, low, size, used, smallest));
        };
        if coalesced {
            (0..16 * bytes / segment)
                .for_each(|part| move_segment(first + part * segment, segment));
        } else {
            for lane in lanes(active) {
                let address = addresses[lane];
                let low = (address % LINE_BYTES) & !(smallest.bytes() - 1);
                let used = byte_mask(address % LINE_BYTES, bytes);
                let (line, size) = (address / LINE_BYTES, smallest.bytes());
                transactions.push(LineTouch::of_transfer(line, low, size, used, smallest));
            }
        }
    }
}
