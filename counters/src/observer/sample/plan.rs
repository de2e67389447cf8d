//! The choice of the CTAs of a sample, and their order.
//!
//! ```text
//! grid    │first│ stratum │ stratum │ stratum │  ···  │ stratum │last│
//! runs    │█████│··█·····█│·█··█····│····█··█·│  ···  │█······█·│████│
//! groups  │     │        group      │       group     │  group  │    │
//! ```
//!
//! Strata are consecutive ranges of the grid. In each of them two runs of consecutive CTAs are
//! drawn at random. Strata meet every part of a grid whose work grows from its first CTA to its
//! last. Random places meet every phase of work that repeats with a period. The first and the last
//! CTAs count for themselves.
//!
//! Time may be over before all runs were executed. So they come in rounds: each has one run of
//! every group of neighbouring strata, in an order drawn at random. After some rounds, the runs of
//! a group are a random part of its stratified sample. Whoever takes them for a simple random
//! sample of the group estimates its sum without bias. The variance is then not too small, for
//! strata only take away from it.

use std::ops::Range;

use gpucast_interpreter::mixing::SplitMix64;

use crate::estimate::RUNS_PER_STRATUM;

/// Numbers that look random and are the same for the same seed.
#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A number from 0 to `end`, exclusive.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.0.next_word()) * u128::from(end)) >> 64) as u64
    }
}

/// Numbers of CTAs by which a sample is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// CTAs of the grid.
    pub(super) ctas: u64,
    /// Strata.
    pub(super) strata: u64,
    /// Groups of neighbouring strata.
    pub(super) groups: u64,
    /// CTAs of a run.
    pub(super) run: u64,
    /// CTAs at either end of the grid that count for themselves.
    pub(super) end: u64,
    /// CTAs before a run that fill the caches.
    pub(super) warming: u64,
    /// CTAs after a run among which its last ones end.
    pub(super) following: u64,
}

impl Sizes {
    /// CTAs that are executed, at most.
    pub(super) fn executed(&self) -> u64 {
        let runs = self.strata.saturating_mul(RUNS_PER_STRATUM as u64);
        let beside = self.warming.saturating_add(self.following);
        let ends = (2 * self.end).saturating_add(beside);
        runs.saturating_mul(beside.saturating_add(self.run)).saturating_add(ends)
    }

    /// The group of a stratum.
    pub(super) fn group(&self, stratum: usize) -> usize {
        (stratum as u64 * self.groups / self.strata.max(1)) as usize
    }
}

/// The part that some CTAs of a sample play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// They fill the caches for those that follow.
    Warm,
    /// They run beside the last CTAs before them, as others would.
    Following,
    /// They count for themselves: the first of the grid.
    First,
    /// They count for themselves: the last of the grid.
    Last,
    /// They are a run of this stratum.
    Run(usize),
}

impl Role {
    /// True if CTAs count, for themselves or for others.
    pub(super) fn counts(self) -> bool {
        match self {
            Self::First | Self::Last | Self::Run(_) => true,
            Self::Warm | Self::Following => false,
        }
    }
}

/// Consecutive CTAs, and their part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) ctas: Range<u64>,
    pub(super) role: Role,
}

/// The CTAs of a sample, and how many CTAs each stratum has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) sizes: Sizes,
    /// In the order of execution: the ends of the grid, then one round after the other.
    pub(super) parts: Vec<Part>,
    /// The number of runs in each round.
    pub(super) rounds: Vec<usize>,
    pub(super) strata: Vec<u64>,
}

/// A run that was drawn.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    start: u64,
    stratum: usize,
}

impl Plan {
    /// Draws the runs. Every stratum must hold two of them.
    pub(super) fn new(sizes: &Sizes, random: &mut Random) -> Self {
        let Sizes { ctas, strata, groups, run, end, .. } = *sizes;
        let mut lengths = Vec::new();
        let mut drawn: Vec<Vec<Drawn>> = vec![Vec::new(); groups as usize];
        let inner = u128::from(ctas - 2 * end);
        let edge = |stratum: u64| end + (inner * u128::from(stratum) / u128::from(strata)) as u64;
        for stratum in 0..strata {
            let (from, to) = (edge(stratum), edge(stratum + 1));
            let slots = (to - from) / run;
            let first = random.below(slots);
            let second = (first + 1 + random.below(slots - 1)) % slots;
            // Places of runs need not be multiples of their length.
            let from = from + random.below((to - from) % run + 1);
            lengths.push(to - edge(stratum));
            let stratum = stratum as usize;
            let drawn = &mut drawn[sizes.group(stratum)];
            drawn.extend([first, second].map(|slot| Drawn { start: from + slot * run, stratum }));
        }
        let mut plan =
            Self { sizes: *sizes, parts: Vec::new(), rounds: Vec::new(), strata: lengths };
        plan.add(0..end, Role::First);
        plan.add(ctas - end..ctas, Role::Last);
        for runs in &mut drawn {
            // Fisher and Yates.
            for last in (1..runs.len()).rev() {
                runs.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        for round in 0..drawn.iter().map(Vec::len).max().unwrap_or_default() {
            let of_round: Vec<Drawn> =
                drawn.iter().filter_map(|runs| runs.get(round)).copied().collect();
            for &Drawn { start, stratum } in &of_round {
                plan.add(start..start + run, Role::Run(stratum));
            }
            plan.rounds.push(of_round.len());
        }
        plan
    }

    /// Adds CTAs that count, and those beside them that do not.
    fn add(&mut self, ctas: Range<u64>, role: Role) {
        let Sizes { ctas: all, warming, following, .. } = self.sizes;
        let warm = ctas.start.saturating_sub(warming)..ctas.start;
        let after = ctas.end..ctas.end.saturating_add(following).min(all);
        let beside =
            |ctas: Range<u64>, role: Role| (!ctas.is_empty()).then_some(Part { ctas, role });
        self.parts.extend(beside(warm, Role::Warm));
        self.parts.push(Part { ctas, role });
        self.parts.extend(beside(after, Role::Following));
    }

    /// The rounds that some runs make, executed in order.
    pub(super) fn rounds_of(&self, runs: usize) -> usize {
        let ends = self.rounds.iter().scan(0, |sum, &round| {
            *sum += round;
            Some(*sum)
        });
        ends.take_while(|&end| end <= runs).count()
    }
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use super::*;

    const SMALL: Sizes =
        Sizes { ctas: 42, strata: 4, groups: 1, run: 1, end: 1, warming: 0, following: 0 };

    #[test]
    fn every_stratum_has_two_runs_apart_from_each_other_and_the_ends_are_whole() {
        for sizes in [
            Sizes { ctas: 4096, strata: 511, groups: 16, ..SMALL },
            Sizes {
                ctas: 100_003,
                strata: 8,
                groups: 3,
                run: 120,
                end: 120,
                warming: 900,
                following: 120,
            },
            Sizes { ctas: 37, strata: 8, groups: 2, run: 2, ..SMALL },
        ] {
            let plan = Plan::new(&sizes, &mut Random::new(7));
            let of = |role: Role| plan.parts.iter().filter(move |part| part.role == role);
            assert!(of(Role::First).map(|part| part.ctas.clone()).eq(once(0..sizes.end)));
            let last = sizes.ctas - sizes.end..sizes.ctas;
            assert!(of(Role::Last).map(|part| part.ctas.clone()).eq(once(last)));
            assert_eq!(plan.strata.iter().sum::<u64>() + 2 * sizes.end, sizes.ctas);
            let mut from = sizes.end;
            for (stratum, &length) in plan.strata.iter().enumerate() {
                let mut runs: Vec<_> = of(Role::Run(stratum)).collect();
                runs.sort_by_key(|part| part.ctas.start);
                assert_eq!(runs.len(), RUNS_PER_STRATUM);
                assert!(runs[0].ctas.end <= runs[1].ctas.start);
                assert!(from <= runs[0].ctas.start && runs[1].ctas.end <= from + length);
                assert!(runs.iter().all(|part| part.ctas.end - part.ctas.start == sizes.run));
                from += length;
            }
            let executed: u64 = plan.parts.iter().map(|part| part.ctas.end - part.ctas.start).sum();
            assert!(executed <= sizes.executed());
            // Those that do not count lie just before and just after those that do.
            for pair in plan.parts.windows(2) {
                if pair[0].role == Role::Warm || pair[1].role == Role::Following {
                    assert_eq!(pair[0].ctas.end, pair[1].ctas.start);
                }
            }
        }
    }

    /// Each round has a run of every group that has some left.
    #[test]
    fn rounds_have_a_run_of_each_group() {
        let sizes = Sizes { ctas: 4096, strata: 50, groups: 16, ..SMALL };
        let plan = Plan::new(&sizes, &mut Random::new(7));
        let groups: Vec<usize> = plan
            .parts
            .iter()
            .filter_map(|part| match part.role {
                Role::Run(stratum) => Some(sizes.group(stratum)),
                Role::Warm | Role::Following | Role::First | Role::Last => None,
            })
            .collect();
        let mut left = groups.as_slice();
        for &runs in &plan.rounds {
            let (round, others) = left.split_at(runs);
            assert!(round.is_sorted_by(|one, next| one < next), "{round:?}");
            left = others;
        }
        // 50 strata in 16 groups: three strata each, with two runs in each stratum;
        // two groups have a fourth stratum.
        assert_eq!(plan.rounds, [16, 16, 16, 16, 16, 16, 2, 2]);
        assert_eq!((left, plan.rounds.len()), (&[][..], 8));
        assert_eq!([0, 15, 16, 31, 32].map(|runs| plan.rounds_of(runs)), [0, 0, 1, 1, 2]);
    }

    /// Each CTA between the ends is drawn as often as any other, and in any round.
    #[test]
    fn all_places_are_drawn_alike() {
        let (mut drawn, mut in_round) = ([0_u32; 42], [0_u32; 42]);
        for seed in 0..4000 {
            let plan = Plan::new(&SMALL, &mut Random::new(seed));
            let runs = plan.parts.iter().filter(|part| matches!(part.role, Role::Run(_)));
            for (at, part) in runs.enumerate() {
                drawn[part.ctas.start as usize] += 1;
                in_round[part.ctas.start as usize] += u32::from(at == 2);
            }
        }
        // 4000 draws of 2 of 10: 800 with a standard deviation of 25.
        assert!(drawn[1..41].iter().all(|times| times.abs_diff(800) < 125), "{drawn:?}");
        // 4000 draws of 1 of 40: 100 with a standard deviation of 10.
        assert!(in_round[1..41].iter().all(|times| times.abs_diff(100) < 50), "{in_round:?}");
    }
}
