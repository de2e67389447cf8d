//! The profilers' transaction counts for GPUs that move sectors of lines.

use gpucast_interpreter::{Access, Pattern};

use crate::patterns::{Spread, lane_addresses};
use crate::units::LINE_BYTES;

/// The lines of each of the requests that a warp access is split into: one for as many lanes as
/// access 128 bytes (CUDA C Programming Guide 4.2, F.4.2).
pub(super) fn lines(access: &Access<'_>) -> u64 {
    let bytes = u64::from(access.bytes_per_lane).max(1);
    let lanes = (LINE_BYTES / bytes).clamp(1, 32);
    // Requests of 128 consecutive bytes: each begins where the last one ends.
    if access.pattern == Pattern::Consecutive && lanes * bytes == LINE_BYTES {
        let aligned = access.addresses[0].is_multiple_of(LINE_BYTES);
        return 32 / lanes * if aligned { 1 } else { 2 };
    }
    let mut room = [0; 32];
    let addresses = lane_addresses(access, &mut room);
    let request = |first| pieces(access, addresses, first, lanes as usize, LINE_BYTES);
    (0..32).step_by(lanes as usize).map(request).sum()
}

/// For each half-warp, the distinct 16-byte pieces or an eighth of the active lanes.
pub(super) fn quads(access: &Access<'_>) -> u64 {
    let mut room = [0; 32];
    let addresses = lane_addresses(access, &mut room);
    let of_half = |first: usize| {
        let active = (access.mask >> first & 0xFFFF).count_ones().div_ceil(8);
        pieces(access, addresses, first, 16, 16).max(u64::from(active))
    };
    of_half(0) + of_half(16)
}

/// The distinct addresses: an atomic unit takes one of them at a time.
pub(super) fn addresses(access: &Access<'_>) -> u64 {
    match access.pattern {
        Pattern::Uniform => 1,
        Pattern::Consecutive => 32,
        Pattern::General => Spread::of(access.mask, access.addresses).distinct,
    }
}

/// Returns the number of aligned pieces of `size` bytes that the `count` lanes from `first` on
/// touch.
fn pieces(
    access: &Access<'_>,
    addresses: &[u64; 32],
    first: usize,
    count: usize,
    size: u64,
) -> u64 {
    let bytes = u64::from(access.bytes_per_lane).max(1);
    let shift = size.trailing_zeros();
    let mut lanes = access.mask & (u32::MAX >> (32 - count) << first);
    // Lanes are mostly near each other: a bit for each piece around that of the first one.
    let base = (addresses[lanes.trailing_zeros() as usize & 31] >> shift).wrapping_sub(32);
    let (mut near, mut far) = (0_u64, Vec::new());
    while lanes != 0 {
        let address = addresses[lanes.trailing_zeros() as usize];
        lanes &= lanes - 1;
        for piece in address >> shift..=address.saturating_add(bytes - 1) >> shift {
            match piece.wrapping_sub(base) {
                bit @ 0..64 => near |= 1 << bit,
                _ => far.push(piece),
            }
        }
    }
    far.sort_unstable();
    far.dedup();
    u64::from(near.count_ones()) + far.len() as u64
}
