//! When and where each CTA runs: CTAs are dealt in order to the slots of the SMs, as many a GPU
//! as occupancy allows.
//!
//! Time is counted in instructions of a warp. All resident warps are taken to advance alike, and a
//! CTA lasts as long as its longest warp. No schedule looks at cache hits. So the order of requests
//! is known before the caches see them, and slices can be replayed side by side.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order in which CTAs follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// The CTAs that are resident together (a wave) start together; the next wave starts when the
    /// last of them has ended.
    LockstepWaves,
    /// A CTA starts as soon as another one ends, as on hardware. CTAs of the same length stay in
    /// step; others drift apart.
    Drift,
    /// As [`Schedule::Drift`], but the first CTAs start one after the other, evenly over the length
    /// of a CTA. This is as far out of step as CTAs can get.
    Staggered,
}

/// Deals the CTAs of a grid.
#[derive(Clone, Debug)]
pub(crate) struct Dealer {
    slots: u32,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Waves {
        /// CTAs of the wave that were dealt.
        dealt: u32,
        start: u64,
        /// The time at which the longest of them ends.
        end: u64,
    },
    /// When each slot is free, with the slot.
    Slots(BinaryHeap<Reverse<(u64, u32)>>),
    /// The first CTA will decide the distance between the starts of the slots.
    Untouched,
}

impl Dealer {
    /// A dealer for a GPU that holds `slots` CTAs of the kernel.
    pub(crate) fn new(schedule: Schedule, slots: u32) -> Self {
        let slots = slots.max(1);
        let state = match schedule {
            Schedule::LockstepWaves => State::Waves { dealt: 0, start: 0, end: 0 },
            Schedule::Drift => State::Slots((0..slots).map(|slot| Reverse((0, slot))).collect()),
            Schedule::Staggered => State::Untouched,
        };
        Self { slots, state }
    }

    /// The slot of the next CTA and when it starts; it runs for `length`.
    pub(crate) fn deal(&mut self, length: u64) -> (u32, u64) {
        let length = length.max(1);
        if let State::Untouched = self.state {
            let apart = |slot: u32| length * u64::from(slot) / u64::from(self.slots);
            let slots = (0..self.slots).map(|slot| Reverse((apart(slot), slot))).collect();
            self.state = State::Slots(slots);
        }
        match &mut self.state {
            State::Waves { dealt, start, end } => {
                if *dealt == self.slots {
                    (*dealt, *start) = (0, *end);
                }
                let slot = *dealt;
                *dealt += 1;
                *end = (*end).max(*start + length);
                (slot, *start)
            }
            State::Slots(free) => {
                let Reverse((start, slot)) = free.pop().unwrap_or(Reverse((0, 0)));
                free.push(Reverse((start + length, slot)));
                (slot, start)
            }
            State::Untouched => (0, 0),
        }
    }

    /// No CTA that is dealt later starts before this time.
    pub(crate) fn horizon(&self) -> u64 {
        match &self.state {
            State::Waves { dealt, start, end } => {
                if *dealt == self.slots {
                    *end
                } else {
                    *start
                }
            }
            State::Slots(free) => free.peek().map_or(0, |Reverse((start, _))| *start),
            State::Untouched => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal(schedule: Schedule, lengths: &[u64]) -> Vec<(u32, u64)> {
        let mut dealer = Dealer::new(schedule, 3);
        let mut dealt = Vec::new();
        for &length in lengths {
            let horizon = dealer.horizon();
            let (slot, start) = dealer.deal(length);
            assert!(start >= horizon);
            assert!(dealer.horizon() >= horizon, "time does not go back");
            dealt.push((slot, start));
        }
        dealt
    }

    #[test]
    fn waves_wait_for_their_longest_cta_and_slots_do_not() {
        let lengths = [10, 30, 20, 10, 10, 10, 10];
        let waves = [(0, 0), (1, 0), (2, 0), (0, 30), (1, 30), (2, 30), (0, 40)];
        assert_eq!(deal(Schedule::LockstepWaves, &lengths), waves);
        let drift = [(0, 0), (1, 0), (2, 0), (0, 10), (0, 20), (2, 20), (0, 30)];
        assert_eq!(deal(Schedule::Drift, &lengths), drift);
        let staggered = [(0, 0), (1, 3), (2, 6), (0, 10), (0, 20), (2, 26), (0, 30)];
        assert_eq!(deal(Schedule::Staggered, &lengths), staggered);
    }

    #[test]
    fn equal_ctas_drift_in_lockstep() {
        let lengths = [7; 20];
        assert_eq!(deal(Schedule::Drift, &lengths), deal(Schedule::LockstepWaves, &lengths));
    }
}
