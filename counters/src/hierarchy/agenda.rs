//! The times of the next requests of resident CTAs.
//!
//! CTAs in lockstep have their requests at the same times. So there is a list for each time that
//! somebody waits for: going on from one time to the next costs each CTA a place in a list, however
//! many there are.

use std::collections::BTreeMap;

/// A CTA that has requests at some time: it comes by the order of SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiting {
    pub(crate) sm: u32,
    /// The place of the CTA among the residents.
    pub(crate) place: u32,
}

/// CTAs by the time of their next requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    times: BTreeMap<u64, Vec<Waiting>>,
    /// Lists that are empty.
    spare: Vec<Vec<Waiting>>,
}

impl Agenda {
    /// A CTA waits for a time.
    #[inline]
    pub(crate) fn push(&mut self, time: u64, waiting: Waiting) {
        let Self { times, spare } = self;
        times.entry(time).or_insert_with(|| spare.pop().unwrap_or_default()).push(waiting);
    }

    /// The first time that somebody waits for.
    pub(crate) fn first_time(&self) -> Option<u64> {
        self.times.keys().next().copied()
    }

    /// Those that wait for the first time, by SM, then by place. [`Agenda::give_back`] takes the
    /// list afterwards.
    pub(crate) fn take_first(&mut self) -> Option<Vec<Waiting>> {
        let (_, mut waiting) = self.times.pop_first()?;
        if !waiting.is_sorted() {
            waiting.sort_unstable();
        }
        Some(waiting)
    }

    /// Takes back a list to use it again.
    pub(crate) fn give_back(&mut self, mut list: Vec<Waiting>) {
        list.clear();
        self.spare.push(list);
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ctas_come_by_time_then_by_sm_then_by_place(
            rounds in prop::collection::vec(
                prop::collection::vec((0_u64..5, 0_u32..4, 0_u32..9), 0..12), 0..12,
            ),
        ) {
            let (mut agenda, mut heap) = (Agenda::default(), BinaryHeap::new());
            let mut now = 0;
            for round in rounds {
                for (later, sm, place) in round {
                    agenda.push(now + later, Waiting { sm, place });
                    heap.push(Reverse((now + later, sm, place)));
                }
                prop_assert_eq!(agenda.first_time(), heap.peek().map(|one| one.0.0));
                let Some(list) = agenda.take_first() else { continue };
                now = heap.peek().map_or(now, |one| one.0.0);
                for Waiting { sm, place } in &list {
                    prop_assert_eq!(heap.pop(), Some(Reverse((now, *sm, *place))));
                }
                prop_assert!(heap.peek().is_none_or(|one| one.0.0 > now));
                agenda.give_back(list);
            }
        }
    }
}
