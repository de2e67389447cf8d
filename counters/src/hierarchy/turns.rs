//! Puts the requests of several SMs into one order.
//!
//! SMs work through a stretch of time one after the other. So the requests of each come in order,
//! and those of all are sorted by their turns: radix sort, from the lowest digit on. Requests of
//! equal turns stay in the order of SMs.

use super::l2::SliceRequest;

/// Bits of a digit.
const DIGIT_BITS: u32 = 8;

/// Fewer requests than this are sorted by comparing them.
const FEW: usize = 64;

/// A digit of a request's turn; the lowest is the first one.
#[inline]
fn digit(request: &SliceRequest, at: usize) -> usize {
    (request.turn >> (at as u32 * DIGIT_BITS)) as usize & ((1 << DIGIT_BITS) - 1)
}

/// Room for sorting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    requests: Vec<SliceRequest>,
    room: Vec<SliceRequest>,
}

impl Turns {
    /// The requests of all `parts` by their turns.
    pub(crate) fn sort<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a [SliceRequest]>,
    ) -> &[SliceRequest] {
        let Self { requests, room } = self;
        requests.clear();
        parts.for_each(|part| requests.extend_from_slice(part));
        if requests.is_sorted_by_key(|request| request.turn) {
            return requests;
        }
        if requests.len() < FEW {
            requests.sort_by_key(|request| request.turn);
            return requests;
        }
        let last = requests.iter().map(|request| request.turn).max().unwrap_or(0);
        let digits = (u32::BITS - last.leading_zeros()).div_ceil(DIGIT_BITS) as usize;
        let mut places = [[0_u32; 1 << DIGIT_BITS]; (u32::BITS / DIGIT_BITS) as usize];
        for request in &*requests {
            for (at, places) in places[..digits].iter_mut().enumerate() {
                places[digit(request, at)] += 1;
            }
        }
        room.clear();
        room.resize(requests.len(), SliceRequest::default());
        for (at, places) in places[..digits].iter_mut().enumerate() {
            let mut before = 0;
            for place in &mut *places {
                before += std::mem::replace(place, before);
            }
            for request in &*requests {
                let place = &mut places[digit(request, at)];
                room[*place as usize] = *request;
                *place += 1;
            }
            std::mem::swap(requests, room);
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn requests_come_by_turn_and_those_of_equal_turns_by_part(
            parts in prop::collection::vec(prop::collection::vec(0_u32..1 << 20, 0..90), 0..6),
            shift in 0_u32..20,
        ) {
            let mut turns = Turns::default();
            // What an earlier time left behind must not show.
            for shift in [shift, 0] {
                let mut expected = Vec::new();
                let parts: Vec<Vec<_>> = parts.iter().map(|part| {
                    part.iter().map(|turn| {
                        let mut request = SliceRequest::default();
                        (request.tag, request.turn) = (expected.len() as u64, turn >> shift);
                        expected.push((request.turn, request.tag));
                        request
                    }).collect()
                }).collect();
                expected.sort_unstable();
                let sorted = turns.sort(parts.iter().map(Vec::as_slice));
                let sorted: Vec<_> = sorted.iter().map(|one| (one.turn, one.tag)).collect();
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
