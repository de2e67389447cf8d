//! Boxes of CTAs: every so manieth one along each dimension of the grid.

/// The CTAs at `start + i · step` with `i < count`, in each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridBox {
    /// The place of its first CTA.
    pub start: [u32; 3],
    /// The distance of neighbours; at least 1 each.
    pub step: [u32; 3],
    /// CTAs along each dimension; at least 1 each.
    pub count: [u32; 3],
}

impl GridBox {
    /// All CTAs of a grid.
    #[must_use]
    pub fn whole(grid: [u32; 3]) -> Self {
        Self { start: [0; 3], step: [1; 3], count: grid }
    }

    /// The number of its CTAs.
    #[must_use]
    pub fn ctas(&self) -> u128 {
        self.count.iter().map(|&count| u128::from(count)).product()
    }

    /// Its steps from the start to a CTA along one dimension, if it has that place.
    #[must_use]
    pub fn steps_to(&self, dimension: usize, place: u32) -> Option<u32> {
        let distance = place.checked_sub(self.start[dimension])?;
        let steps = distance / self.step[dimension];
        let is_there = distance % self.step[dimension] == 0 && steps < self.count[dimension];
        is_there.then_some(steps)
    }

    /// The CTA next to its start along one dimension.
    pub(crate) fn neighbour(&self, dimension: usize) -> [u32; 3] {
        let mut place = self.start;
        place[dimension] += self.step[dimension];
        place
    }

    /// Its CTAs without those of `part`, as disjoint boxes. The part begins at the same CTA, its
    /// steps are multiples of these, and it lies within.
    pub(crate) fn without(&self, part: &Self) -> Vec<Self> {
        let mut rest = Vec::new();
        let mut within = *self;
        for dimension in 0..3 {
            let (step, count) = (self.step[dimension], self.count[dimension]);
            let ratio = part.step[dimension] / step;
            let taken = part.count[dimension];
            for residue in 0..ratio.min(count) {
                let all = (count - residue).div_ceil(ratio);
                let first = if residue == 0 { taken } else { 0 };
                if first < all {
                    let mut one = within;
                    one.start[dimension] += residue * step + first * part.step[dimension];
                    one.step[dimension] = part.step[dimension];
                    one.count[dimension] = all - first;
                    rest.push(one);
                }
            }
            within.step[dimension] = part.step[dimension];
            within.count[dimension] = taken;
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn members(one: &GridBox) -> impl Iterator<Item = [u32; 3]> + '_ {
        let [x, y, z] = one.count;
        let places =
            (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
        places
            .map(|steps| std::array::from_fn(|axis| one.start[axis] + steps[axis] * one.step[axis]))
    }

    #[test]
    fn a_part_and_the_rest_are_the_whole_and_meet_nowhere() {
        let whole = GridBox { start: [3, 0, 5], step: [1, 2, 1], count: [9, 4, 3] };
        for step in [1, 2, 3, 8, 16] {
            for count in [[1, 1, 1], [2, 4, 1], [1, 2, 3]] {
                let part = GridBox { step: [step, 2, 1], count, ..whole };
                if (count[0] - 1) * step >= 9 {
                    continue;
                }
                let mut all = BTreeSet::new();
                for one in whole.without(&part).iter().chain([&part]) {
                    for member in members(one) {
                        assert!(all.insert(member), "{member:?} is in two boxes");
                        let steps = (0..3).map(|axis| one.steps_to(axis, member[axis]));
                        assert!(steps.clone().all(|steps| steps.is_some()), "{one:?}");
                    }
                }
                assert_eq!(all, members(&whole).collect(), "{part:?}");
            }
        }
    }
}
