//! Puts the requests of several SMs into one order.
//!
//! SMs work through a stretch of time one after the other. So the requests of each come in order,
//! and those of all are sorted by their turns: radix sort, from the lowest digit on. Requests of
//! equal turns stay in the order of SMs.

use super::request::SliceRequest;

/// Bits of a digit, at most: its counters stay in the CPU's nearest cache. As a rule a turn then
/// has one digit.
const DIGIT_BITS: u32 = 11;

/// The same for fewer requests than [`MANY`], which would not be worth so many counters.
const SHORT_DIGIT_BITS: u32 = 8;

/// Requests from which digits are long.
const MANY: usize = 512;

/// Fewer requests than this are sorted by comparing them.
const FEW: usize = 64;

/// Room for sorting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    requests: Vec<SliceRequest>,
    room: Vec<SliceRequest>,
    /// Places of the values of each digit.
    places: Vec<u32>,
}

impl Turns {
    /// The requests of all `parts` by their turns.
    pub(crate) fn sort<'a, 'parts: 'a>(
        &'a mut self,
        parts: impl Iterator<Item = &'parts [SliceRequest]> + Clone,
    ) -> &'a [SliceRequest] {
        let Self { requests, room, places } = self;
        let mut filled = parts.clone().filter(|part| !part.is_empty());
        let (first, second) = (filled.next().unwrap_or_default(), filled.next());
        if second.is_none() && first.is_sorted_by_key(|request| request.turn) {
            return first;
        }
        let count = parts.clone().map(<[_]>::len).sum();
        if count < FEW {
            requests.clear();
            parts.for_each(|part| requests.extend_from_slice(part));
            requests.sort_by_key(|request| request.turn);
            return requests;
        }
        let last = parts.clone().flatten().map(|request| request.turn).max().unwrap_or(0);
        let bits = (u32::BITS - last.leading_zeros()).max(1);
        let digits = bits.div_ceil(if count < MANY { SHORT_DIGIT_BITS } else { DIGIT_BITS });
        let width = bits.div_ceil(digits);
        places.clear();
        places.resize((digits as usize) << width, 0);
        let digit = |request: &SliceRequest, at: usize| {
            (request.turn >> (at as u32 * width)) as usize & ((1 << width) - 1)
        };
        for request in parts.clone().flatten() {
            for (at, places) in places.chunks_exact_mut(1 << width).enumerate() {
                places[digit(request, at)] += 1;
            }
        }
        // What they hold from before is overwritten.
        requests.resize(count, SliceRequest::default());
        for (at, places) in places.chunks_exact_mut(1 << width).enumerate() {
            let mut before = 0;
            for place in &mut *places {
                before += std::mem::replace(place, before);
            }
            let mut put = |request: &SliceRequest, to: &mut [SliceRequest]| {
                let place = &mut places[digit(request, at)];
                to[*place as usize] = *request;
                *place += 1;
            };
            if at == 0 {
                for part in parts.clone() {
                    part.iter().for_each(|request| put(request, requests));
                }
            } else {
                room.resize(count, SliceRequest::default());
                requests.iter().for_each(|request| put(request, room));
                std::mem::swap(requests, room);
            }
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
            parts in prop::collection::vec(prop::collection::vec(0_u32..1 << 20, 0..400), 0..6),
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
                let sorted: Vec<_> = sorted.iter().map(|line| (line.turn, line.tag)).collect();
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
