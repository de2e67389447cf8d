//! The choice of the CTAs of a sample.
//!
//! ```text
//! grid    │first│ stratum │ stratum │ stratum │  ···  │ stratum │last│
//! runs    │█████│··█·····█│·█··█····│····█··█·│  ···  │█······█·│████│
//! ```
//!
//! Strata are consecutive ranges of the grid. In each of them two runs of consecutive CTAs are
//! drawn at random. Strata meet every part of a grid whose work grows from its first CTA to its
//! last. Random places meet every phase of work that repeats with a period. The first and the last
//! CTAs count for themselves.

use std::ops::Range;

use crate::estimate::RUNS_PER_STRATUM;

/// Numbers that look random and are the same for the same seed: SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end`, exclusive.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

/// Numbers of CTAs by which a sample is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// CTAs of the grid.
    pub(super) ctas: u64,
    /// Strata.
    pub(super) strata: u64,
    /// CTAs of a run.
    pub(super) run: u64,
    /// CTAs at either end of the grid that count for themselves.
    pub(super) end: u64,
    /// CTAs before a run that fill the caches.
    pub(super) warming: u64,
}

impl Sizes {
    /// CTAs that are executed, at most.
    pub(super) fn executed(&self) -> u64 {
        let runs = self.strata.saturating_mul(RUNS_PER_STRATUM as u64);
        let each = self.warming.saturating_add(self.run);
        let ends = 2 * self.end + self.warming;
        runs.saturating_mul(each).saturating_add(ends)
    }
}

/// The part that some CTAs of a sample play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// They fill the caches for those that follow.
    Warm,
    /// They count for themselves: the first and the last of the grid.
    Itself,
    /// They are a run of this stratum.
    Run(usize),
}

/// Consecutive CTAs, and their part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) ctas: Range<u64>,
    pub(super) role: Role,
}

/// The CTAs of a sample in the order of the grid, and how many CTAs each stratum has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    pub(super) strata: Vec<u64>,
}

impl Plan {
    /// Draws the runs. Every stratum must hold two of them.
    pub(super) fn new(sizes: &Sizes, random: &mut Random) -> Self {
        let Sizes { ctas, strata, run, end, warming } = *sizes;
        let mut plan = Self { parts: Vec::new(), strata: Vec::new() };
        plan.add(0..end, Role::Itself, 0);
        let inner = u128::from(ctas - 2 * end);
        let edge = |stratum: u64| end + (inner * u128::from(stratum) / u128::from(strata)) as u64;
        for stratum in 0..strata {
            let (from, to) = (edge(stratum), edge(stratum + 1));
            let slots = (to - from) / run;
            let first = random.below(slots);
            let second = (first + 1 + random.below(slots - 1)) % slots;
            // Places of runs need not be multiples of their length.
            let from = from + random.below((to - from) % run + 1);
            for slot in [first.min(second), first.max(second)] {
                let start = from + slot * run;
                plan.add(start..start + run, Role::Run(stratum as usize), warming);
            }
            plan.strata.push(to - edge(stratum));
        }
        plan.add(ctas - end..ctas, Role::Itself, warming);
        plan
    }

    fn add(&mut self, ctas: Range<u64>, role: Role, warming: u64) {
        let warm = ctas.start.saturating_sub(warming)..ctas.start;
        if !warm.is_empty() {
            self.parts.push(Part { ctas: warm, role: Role::Warm });
        }
        self.parts.push(Part { ctas, role });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stratum_has_two_runs_apart_from_each_other_and_the_ends_are_whole() {
        for sizes in [
            Sizes { ctas: 4096, strata: 511, run: 1, end: 1, warming: 0 },
            Sizes { ctas: 100_003, strata: 8, run: 120, end: 120, warming: 900 },
            Sizes { ctas: 37, strata: 8, run: 2, end: 1, warming: 0 },
        ] {
            let plan = Plan::new(&sizes, &mut Random(7));
            let end = |at: usize| plan.parts[at].clone();
            assert_eq!(end(0), Part { ctas: 0..sizes.end, role: Role::Itself });
            let last = plan.parts.last().unwrap();
            assert_eq!((last.ctas.end, last.role), (sizes.ctas, Role::Itself));
            assert_eq!(plan.strata.iter().sum::<u64>() + 2 * sizes.end, sizes.ctas);
            let mut from = sizes.end;
            for (stratum, &length) in plan.strata.iter().enumerate() {
                let runs: Vec<_> =
                    plan.parts.iter().filter(|part| part.role == Role::Run(stratum)).collect();
                assert_eq!(runs.len(), RUNS_PER_STRATUM);
                assert!(runs[0].ctas.end <= runs[1].ctas.start);
                assert!(from <= runs[0].ctas.start && runs[1].ctas.end <= from + length);
                assert!(runs.iter().all(|part| part.ctas.end - part.ctas.start == sizes.run));
                from += length;
            }
            let executed: u64 = plan.parts.iter().map(|part| part.ctas.end - part.ctas.start).sum();
            assert!(executed <= sizes.executed());
        }
    }

    /// Each CTA between the ends is drawn as often as any other.
    #[test]
    fn all_places_are_drawn_alike() {
        let sizes = Sizes { ctas: 42, strata: 4, run: 1, end: 1, warming: 0 };
        let mut drawn = [0_u32; 42];
        for seed in 0..4000 {
            let plan = Plan::new(&sizes, &mut Random(seed));
            for part in plan.parts.iter().filter(|part| part.role != Role::Itself) {
                drawn[part.ctas.start as usize] += 1;
            }
        }
        // 4000 draws of 2 of 10: 800 with a standard deviation of 25.
        assert!(drawn[1..41].iter().all(|times| times.abs_diff(800) < 125), "{drawn:?}");
    }
}
