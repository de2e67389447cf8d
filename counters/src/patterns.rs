//! Computes the facts about an access's lanes that its pattern implies.

use gpucast_interpreter::{Access, Pattern};

/// The bytes from lane to lane of a pattern that stands for all addresses.
fn stride(access: &Access<'_>) -> Option<u64> {
    match access.pattern {
        Pattern::General => None,
        Pattern::Uniform => Some(0),
        Pattern::Consecutive => Some(u64::from(access.bytes_per_lane)),
    }
}

/// The address of the lowest lane; `None` if no lane takes part.
pub(crate) fn first_address(access: &Access<'_>) -> Option<u64> {
    let lane = access.mask.trailing_zeros();
    match stride(access) {
        None => access.addresses.get(lane as usize).copied(),
        Some(stride) => {
            (lane < 32).then(|| access.addresses[0].wrapping_add(u64::from(lane) * stride))
        }
    }
}

/// The address of every lane, even if the pattern stands for them; `room` is for those.
pub(crate) fn lane_addresses<'a>(access: &Access<'a>, room: &'a mut [u64; 32]) -> &'a [u64; 32] {
    let Some(stride) = stride(access) else { return access.addresses };
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

/// The spread of a mask's lanes over addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    /// The different addresses.
    pub(crate) distinct: u64,
    /// The most lanes at one of them.
    pub(crate) most: u64,
}

impl Spread {
    /// The spread of the lanes of `mask`.
    pub(crate) fn of(mask: u32, addresses: &[u64; 32]) -> Self {
        if mask == 0 {
            return Self { distinct: 0, most: 0 };
        }
        let same = same_as_first(mask, addresses);
        let mut spread = Self { distinct: 1, most: u64::from(same.count_ones()) };
        // A table with linear probing, twice as large as it can become full.
        const SLOTS: usize = 64;
        let (mut address_of, mut lanes_at) = ([0; SLOTS], [0_u8; SLOTS]);
        let mut rest = mask & !same;
        while rest != 0 {
            let address = addresses[rest.trailing_zeros() as usize];
            rest &= rest - 1;
            // Multiplicative hashing: the upper bits depend on all others.
            let mut slot = (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize;
            while lanes_at[slot] != 0 && address_of[slot] != address {
                slot = (slot + 1) % SLOTS;
            }
            spread.distinct += u64::from(lanes_at[slot] == 0);
            address_of[slot] = address;
            lanes_at[slot] += 1;
            spread.most = spread.most.max(u64::from(lanes_at[slot]));
        }
        spread
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_spread_equals_the_lanes_of_each_address(
            mask: u32,
            addresses in prop::array::uniform32(prop_oneof![0_u64..4, 0_u64..64, any::<u64>()]),
        ) {
            let mut lanes = BTreeMap::new();
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                *lanes.entry(addresses[lane]).or_insert(0) += 1;
            }
            let most = lanes.values().copied().max().unwrap_or(0);
            let expected = Spread { distinct: lanes.len() as u64, most };
            prop_assert_eq!(Spread::of(mask, &addresses), expected);
        }
    }
}
