//! The requests of all warps at one time.
//!
//! CTAs in lockstep have their requests at the same times, each those of many warps. So the merger
//! looks for the next time once per CTA, and warps are put in order here.

/// A request of one warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WarpAccess {
    /// The place of the warp in its SM.
    pub(crate) warp: u32,
    /// The place of its CTA among the residents.
    pub(crate) place: u32,
    /// Its place in the CTA's stream.
    pub(crate) request: u32,
    /// Its lines.
    pub(crate) lines: u32,
}

/// From this number of accesses on, they are sorted by counting.
const MANY: usize = 64;

/// Accesses at the same time, by the place of the warp; those of equal places in the order in which
/// they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    accesses: Vec<WarpAccess>,
    /// The accesses that are done.
    done: usize,
    /// Room for sorting.
    room: Vec<WarpAccess>,
    /// The destinations of each warp's accesses.
    places: Vec<u32>,
}

impl Step {
    /// Returns true if all accesses were taken.
    pub(crate) fn is_done(&self) -> bool {
        self.done == self.accesses.len()
    }

    /// Makes room for those of another time.
    pub(crate) fn clear(&mut self) {
        self.accesses.clear();
        self.done = 0;
    }

    #[inline]
    pub(crate) fn push(&mut self, access: WarpAccess) {
        self.accesses.push(access);
    }

    /// Puts them in order.
    pub(crate) fn sort(&mut self) {
        if self.accesses.len() < MANY {
            self.accesses.sort_by_key(|access| access.warp);
            return;
        }
        let Self { accesses, room, places, .. } = self;
        places.clear();
        for access in &*accesses {
            let next = access.warp as usize + 1;
            if places.len() <= next {
                places.resize(next + 1, 0);
            }
            places[next] += 1;
        }
        let mut before = 0;
        for place in &mut *places {
            before += *place;
            *place = before;
        }
        room.clear();
        room.resize(accesses.len(), WarpAccess::default());
        for access in &*accesses {
            let place = &mut places[access.warp as usize];
            room[*place as usize] = *access;
            *place += 1;
        }
        std::mem::swap(accesses, room);
    }

    /// The next accesses, of `lines` lines or a few more.
    pub(crate) fn take_some(&mut self, lines: usize) -> &[WarpAccess] {
        let first = self.done;
        let mut taken = 0;
        while self.done < self.accesses.len() && taken < lines {
            taken += self.accesses[self.done].lines as usize;
            self.done += 1;
        }
        &self.accesses[first..self.done]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn accesses_are_sorted_by_warp_and_keep_their_order(
            warps in prop::collection::vec(0_u32..70, 0..300),
            lines in 1_usize..100,
        ) {
            let mut step = Step::default();
            // What an earlier time left behind must not show.
            for round in 0..2 {
                step.clear();
                for (place, &warp) in warps.iter().enumerate() {
                    step.push(WarpAccess { warp, place: place as u32, request: round, lines: 3 });
                }
                step.sort();
                let mut expected: Vec<_> = warps.iter().copied().zip(0_u32..).collect();
                expected.sort_unstable();
                let mut sorted = Vec::new();
                while !step.is_done() {
                    let some = step.take_some(lines);
                    prop_assert!((1..=lines.div_ceil(3)).contains(&some.len()));
                    sorted.extend(some.iter().map(|access| (access.warp, access.place)));
                }
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
