//! What an access says of its lanes, spelled out.

use gpucast_interpreter::{Access, Pattern};

/// The address of every lane, also where the pattern stands for them; `room` is for those.
pub(crate) fn lane_addresses<'a>(access: &Access<'a>, room: &'a mut [u64; 32]) -> &'a [u64; 32] {
    let stride = match access.pattern {
        Pattern::General => return access.addresses,
        Pattern::Uniform => 0,
        Pattern::Consecutive => u64::from(access.bytes_per_lane),
    };
    let first = access.addresses[0];
    *room = std::array::from_fn(|lane| first.wrapping_add(lane as u64 * stride));
    room
}

/// The lanes of `mask` whose address is that of the first of them.
#[inline]
fn same_as_first(mask: u32, addresses: &[u64; 32]) -> u32 {
    let address = addresses[mask.trailing_zeros() as usize & 31];
    let same = |lane: usize| u32::from(addresses[lane] == address) << lane;
    (0..32).fold(0, |all, lane| all | same(lane)) & mask
}

/// How many different addresses the lanes of `mask` use.
pub(crate) fn distinct(mask: u32, addresses: &[u64; 32]) -> u64 {
    let (mut rest, mut count) = (mask, 0);
    while rest != 0 {
        rest &= !same_as_first(rest, addresses);
        count += 1;
    }
    count
}

/// The largest number of lanes of `mask` that use the same address.
pub(crate) fn most_at_one_address(mask: u32, addresses: &[u64; 32]) -> u64 {
    let (mut rest, mut most) = (mask, 0);
    while rest != 0 {
        let same = same_as_first(rest, addresses);
        most = most.max(same.count_ones());
        rest &= !same;
    }
    u64::from(most)
}
