//! The classes of CTAs.

use std::collections::{HashMap, HashSet};

use gpucast_simulation::launch::CtaRun;

/// What CTAs of a class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassKey {
    /// A digest of the executions of each block by each warp.
    pub(super) digest: u64,
    /// Instructions issued by the warps of the CTA.
    pub(super) warp_instructions: u64,
    /// Those of the warp with most.
    pub(super) longest_warp: u64,
}

/// A class and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) ctas: u64,
    pub(super) warp_instructions: u64,
    pub(super) longest_warp: u64,
}

/// CTAs that take about as long: those with similar numbers of instructions, in all warps and in
/// the longest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Stratum {
    all: u32,
    longest: u32,
}

/// Steps of an octave by which numbers of instructions are told apart, from the finest on.
const STEPS: [f64; 5] = [8.0, 4.0, 2.0, 1.0, 0.5];

impl Stratum {
    /// The stratum of CTAs where an octave has so many `steps`.
    fn new(warp_instructions: u64, longest_warp: u64, steps: f64) -> Self {
        let step = |number: u64| ((number.max(1) as f64).log2() * steps).round() as u32;
        Self { all: step(warp_instructions), longest: step(longest_warp) }
    }

    /// The finest stratum of a class.
    pub(super) fn of(key: &ClassKey) -> Self {
        Self::new(key.warp_instructions, key.longest_warp, STEPS[0])
    }
}

/// The classes of the CTAs so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    index_of: HashMap<ClassKey, u32>,
    classes: Vec<Class>,
    order: Vec<CtaRun>,
}

/// Classes that were put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grouped {
    pub(super) classes: Vec<Class>,
    pub(super) order: Vec<CtaRun>,
    /// The new class of each former one.
    pub(super) group_of: Vec<u32>,
}

impl Classes {
    /// The class of the next CTA of the grid.
    pub(super) fn push(&mut self, key: ClassKey) -> u32 {
        self.push_run(key, 1)
    }

    /// The class of the next CTAs of the grid.
    pub(super) fn push_run(&mut self, key: ClassKey, ctas: u64) -> u32 {
        let Self { index_of, classes, order } = self;
        let class = *index_of.entry(key).or_insert_with(|| {
            let ClassKey { warp_instructions, longest_warp, .. } = key;
            classes.push(Class { ctas: 0, warp_instructions, longest_warp });
            classes.len() as u32 - 1
        });
        classes[class as usize].ctas += ctas;
        extend(order, CtaRun { class, ctas });
        class
    }

    /// The class that CTAs were of, if any were.
    pub(super) fn find(&self, key: ClassKey) -> Option<u32> {
        self.index_of.get(&key).copied()
    }

    /// Classes, in order of their first CTAs.
    pub(super) fn len(&self) -> usize {
        self.classes.len()
    }

    /// About `most` classes at most. If there are more, those of a stratum are put together.
    pub(super) fn grouped(&self, most: u32) -> Grouped {
        let most = most.max(1) as usize;
        if self.classes.len() <= most {
            return self.put_together(0..self.classes.len());
        }
        let strata = |steps: f64| {
            let of_class = move |class: &Class| {
                Stratum::new(class.warp_instructions, class.longest_warp, steps)
            };
            self.classes.iter().map(of_class)
        };
        let are_few = |steps: &f64| strata(*steps).collect::<HashSet<_>>().len() <= most;
        // Half an octave spans all numbers in some hundred strata.
        let steps = STEPS.into_iter().find(are_few).unwrap_or(STEPS[STEPS.len() - 1]);
        self.put_together(strata(steps))
    }

    /// One class for each key, given for all of them in order.
    fn put_together<K: Eq + std::hash::Hash>(&self, keys: impl Iterator<Item = K>) -> Grouped {
        let mut index_of = HashMap::new();
        let mut sums: Vec<(u64, u128, u64)> = Vec::new();
        let mut group_of = Vec::with_capacity(self.classes.len());
        for (key, class) in keys.zip(&self.classes) {
            let group = *index_of.entry(key).or_insert_with(|| {
                sums.push((0, 0, 0));
                sums.len() - 1
            });
            let (ctas, instructions, longest) = &mut sums[group];
            *ctas += class.ctas;
            *instructions += u128::from(class.warp_instructions) * u128::from(class.ctas);
            *longest = class.longest_warp.max(*longest);
            group_of.push(group as u32);
        }
        let mean = |(ctas, sum, longest_warp): (u64, u128, u64)| {
            let ctas_or_one = u128::from(ctas.max(1));
            let warp_instructions = ((sum + ctas_or_one / 2) / ctas_or_one) as u64;
            Class { ctas, warp_instructions, longest_warp }
        };
        let mut order = Vec::new();
        for run in &self.order {
            extend(&mut order, CtaRun { class: group_of[run.class as usize], ctas: run.ctas });
        }
        Grouped { classes: sums.into_iter().map(mean).collect(), order, group_of }
    }
}

/// Appends a run, to the last one if that is of the same class.
fn extend(order: &mut Vec<CtaRun>, run: CtaRun) {
    match order.last_mut() {
        Some(last) if last.class == run.class => last.ctas += run.ctas,
        _ => order.push(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(keys: &[(u64, u64)]) -> (Classes, Vec<u32>) {
        let mut classes = Classes::default();
        let of_ctas = keys
            .iter()
            .map(|&(digest, warp_instructions)| {
                let longest_warp = warp_instructions;
                classes.push(ClassKey { digest, warp_instructions, longest_warp })
            })
            .collect();
        (classes, of_ctas)
    }

    fn run(class: u32, ctas: u64) -> CtaRun {
        CtaRun { class, ctas }
    }

    #[test]
    fn equal_ctas_share_a_class_and_runs_follow_the_grid() {
        let (classes, of_ctas) = classes(&[(9, 5), (9, 5), (4, 5), (9, 5), (9, 6)]);
        assert_eq!(of_ctas, [0, 0, 1, 0, 2]);
        let grouped = classes.grouped(64);
        assert_eq!(grouped.order, [run(0, 2), run(1, 1), run(0, 1), run(2, 1)]);
        let class = |ctas, warp_instructions| Class {
            ctas,
            warp_instructions,
            longest_warp: warp_instructions,
        };
        assert_eq!(grouped.classes, [class(3, 5), class(1, 5), class(1, 6)]);
        assert_eq!(grouped.group_of, [0, 1, 2]);
    }

    #[test]
    fn too_many_classes_are_put_together_by_their_length() {
        // Lengths 1 to 100, and one that is much longer.
        let keys: Vec<_> = (0..100).map(|at| (at, 100 - at)).chain([(100, 1 << 20)]).collect();
        let (classes, _) = classes(&keys);
        assert_eq!(classes.grouped(101).classes.len(), 101);
        let grouped = classes.grouped(40);
        assert!((20..=40).contains(&grouped.classes.len()), "{}", grouped.classes.len());
        for (class, &group) in keys.iter().zip(&grouped.group_of) {
            let mean = grouped.classes[group as usize].warp_instructions as f64;
            assert!((class.1 as f64 / mean - 1.0).abs() < 0.1, "{} of {mean}", class.1);
        }
        assert_eq!(grouped.classes.iter().map(|class| class.ctas).sum::<u64>(), 101);
        assert_eq!(grouped.order.iter().map(|run| run.ctas).sum::<u64>(), 101);
        assert_eq!(grouped.classes.last().map(|class| class.ctas), Some(1));
        // Coarser where there are few.
        let few = classes.grouped(10);
        assert!((5..=10).contains(&few.classes.len()), "{}", few.classes.len());
        assert_eq!(Classes::default().grouped(4).classes, []);
    }
}
