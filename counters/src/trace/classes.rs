//! The classes of CTAs.

use std::collections::HashMap;

use gpucast_simulation::launch::CtaRun;

/// What CTAs of a class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassKey {
    /// A digest of the executions of each block by each warp.
    pub(super) digest: u64,
    /// Instructions issued by the warps of the CTA.
    pub(super) warp_instructions: u64,
}

/// A class and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) ctas: u64,
    pub(super) warp_instructions: u64,
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
            classes.push(Class { ctas: 0, warp_instructions: key.warp_instructions });
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

    /// At most `most` classes. If there are more, classes whose numbers of instructions lie in the
    /// same one of `most` equal intervals are put together.
    pub(super) fn grouped(&self, most: u32) -> Grouped {
        let most = u64::from(most.max(1));
        let lengths = self.classes.iter().map(|class| class.warp_instructions);
        let first = lengths.clone().min().unwrap_or(0);
        let span = u128::from(lengths.max().unwrap_or(0) - first) + 1;
        let is_few = self.classes.len() as u64 <= most;
        let mut index_of = HashMap::new();
        let mut sums: Vec<(u64, u128)> = Vec::new();
        let mut group_of = Vec::with_capacity(self.classes.len());
        for (index, class) in self.classes.iter().enumerate() {
            let above = u128::from(class.warp_instructions - first);
            let interval =
                if is_few { index as u64 } else { (above * u128::from(most) / span) as u64 };
            let group = *index_of.entry(interval).or_insert_with(|| {
                sums.push((0, 0));
                sums.len() - 1
            });
            sums[group].0 += class.ctas;
            sums[group].1 += u128::from(class.warp_instructions) * u128::from(class.ctas);
            group_of.push(group as u32);
        }
        let mean = |(ctas, sum): (u64, u128)| {
            let ctas_or_one = u128::from(ctas.max(1));
            let warp_instructions = ((sum + ctas_or_one / 2) / ctas_or_one) as u64;
            Class { ctas, warp_instructions }
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
                classes.push(ClassKey { digest, warp_instructions })
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
        let class = |ctas, warp_instructions| Class { ctas, warp_instructions };
        assert_eq!(grouped.classes, [class(3, 5), class(1, 5), class(1, 6)]);
        assert_eq!(grouped.group_of, [0, 1, 2]);
    }

    #[test]
    fn too_many_classes_are_put_together_by_their_length() {
        // Lengths 0 to 99 in four intervals of 25.
        let keys: Vec<_> = (0..100).map(|length| (length, 99 - length)).collect();
        let (classes, _) = classes(&keys);
        let grouped = classes.grouped(4);
        assert_eq!(grouped.order, [run(0, 25), run(1, 25), run(2, 25), run(3, 25)]);
        let lengths: Vec<_> = grouped.classes.iter().map(|class| class.warp_instructions).collect();
        assert_eq!(lengths, [87, 62, 37, 12]);
        assert_eq!(grouped.group_of[99], 3);
        // One long CTA does not hide the differences in number.
        assert_eq!(classes.grouped(1).classes, [Class { ctas: 100, warp_instructions: 50 }]);
        assert_eq!(Classes::default().grouped(4).classes, []);
    }
}
