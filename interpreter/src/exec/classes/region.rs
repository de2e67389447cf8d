//! The CTAs for which a representative stands, as far as it has been executed.
//!
//! Every test that the representative's course, addresses or arithmetic depend on becomes a
//! condition on the steps from it to another CTA. A condition that does not hold in the whole box
//! makes the box smaller. It never becomes empty: the representative is its first CTA.

use super::motion::Motion;
use crate::grid_box::GridBox;

/// A box that gets smaller.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// CTAs along each dimension, in steps of `factor` times the steps that the box had at first.
    pub(super) count: [u32; 3],
    /// The product of the factors by which steps have been made longer.
    factor: [u32; 3],
    whole: GridBox,
}

/// The lanes of an operation and what they compute with.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) mask: u32,
    /// Each lane's value at the representative, as a whole number.
    pub(super) at: &'a [i128; 32],
    pub(super) by: &'a Motion,
}

impl Region {
    pub(super) fn new(whole: GridBox) -> Self {
        Self { count: whole.count, factor: [1; 3], whole }
    }

    /// The box that is left.
    pub(super) fn as_box(&self) -> GridBox {
        let step = std::array::from_fn(|axis| self.whole.step[axis] * self.factor[axis]);
        GridBox { start: self.whole.start, step, count: self.count }
    }

    /// Returns true if the representative stands for itself alone.
    pub(super) fn is_single(&self) -> bool {
        self.count == [1; 3]
    }

    /// The motion as far as the region has CTAs to move to.
    pub(super) fn within(&self, motion: &Motion) -> Motion {
        let mut motion = *motion;
        for (by, &count) in motion.by.iter_mut().zip(&self.count) {
            if count == 1 {
                *by = [0; 32];
            }
        }
        motion
    }

    /// Takes each `factor`th CTA along a dimension. All motions along it must be multiplied by the
    /// factor.
    pub(super) fn lengthen_steps(&mut self, dimension: usize, factor: u32) {
        self.factor[dimension] *= factor;
        self.count[dimension] = self.count[dimension].div_ceil(factor);
    }

    /// Keeps the CTAs in which no lane of `mask` differs from the representative.
    pub(super) fn keep_still(&mut self, motion: &Motion, mask: u32) {
        for dimension in 0..3 {
            if self.count[dimension] > 1 && motion.moves_along(dimension, mask) {
                self.count[dimension] = 1;
            }
        }
    }

    /// Keeps the CTAs in which the lanes of `mask` all move alike.
    pub(super) fn keep_together(&mut self, motion: &Motion, mask: u32) {
        let first = mask.trailing_zeros() as usize & 31;
        for (by, count) in motion.by.iter().zip(&mut self.count) {
            let differs = |lane: usize| mask >> lane & 1 != 0 && by[lane] != by[first];
            if *count > 1 && (0..32).any(differs) {
                *count = 1;
            }
        }
    }

    /// Keeps CTAs in which every lane's value stays between `low` and `high`, both included.
    pub(super) fn keep_between(&mut self, values: Values<'_>, low: i128, high: i128) {
        self.keep_each_between(values, |_| (low, high));
    }

    /// [`Self::keep_between`] with limits of each lane.
    pub(super) fn keep_each_between(
        &mut self,
        Values { mask, at, by }: Values<'_>,
        limits: impl Fn(usize) -> (i128, i128),
    ) {
        // Lanes that move alike and have the same limits are one condition, of their ends.
        let mut open: Option<Condition> = None;
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let (low, high) = limits(lane);
            let one =
                Condition { least: at[lane], most: at[lane], by: by.of_lane(lane), low, high };
            open = match open.take() {
                Some(all) if all.is_of_kind(&one) => Some(all.with(&one)),
                Some(other) => {
                    self.keep(&other);
                    Some(one)
                }
                None => Some(one),
            };
        }
        if let Some(last) = open {
            self.keep(&last);
        }
    }

    /// Makes the region smaller until a condition holds in all of it. It cuts the dimension that
    /// then keeps the larger part.
    fn keep(&mut self, condition: &Condition) {
        let Condition { least, most, by, low, high } = *condition;
        if least < low || most > high {
            // The representative itself is outside: nothing is known of others.
            self.count = [1; 3];
            return;
        }
        loop {
            let far = |axis: usize| i128::from(by[axis]) * i128::from(self.count[axis] - 1);
            let rise: i128 = (0..3).map(|axis| far(axis).max(0)).sum();
            let fall: i128 = (0..3).map(|axis| far(axis).min(0)).sum();
            // The distance to the limit that is crossed, and the way that all dimensions go.
            let (room, sum, sign) = if most + rise > high {
                (high - most, rise, 1)
            } else if least + fall < low {
                (least - low, -fall, -1)
            } else {
                return;
            };
            let ways = (0..3).map(|axis| (axis, far(axis) * sign)).filter(|(_, way)| *way > 0);
            let kept = |(axis, way): (usize, i128)| {
                let room = room - (sum - way);
                let each = i128::from(by[axis]) * sign;
                (room >= 0).then(|| (axis, (room / each) as u32 + 1))
            };
            let share = |&(axis, count): &(usize, u32)| {
                // Fractions with denominators below 2³² differ by more than an f64's precision
                // only if they matter; ties are broken by the first dimension.
                (f64::from(count) / f64::from(self.count[axis]), std::cmp::Reverse(axis))
            };
            let best = ways.clone().filter_map(kept).max_by(|one, other| {
                let (one, other) = (share(one), share(other));
                one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
            });
            match best {
                Some((axis, count)) => self.count[axis] = count,
                None => {
                    // No dimension is enough alone. The one that goes furthest is given up.
                    if let Some((axis, _)) = ways.max_by_key(|(_, way)| *way) {
                        self.count[axis] = 1;
                    }
                }
            }
        }
    }
}

/// Values of lanes that move alike, which have to stay within limits.
#[derive(Clone, Copy, Debug)]
struct Condition {
    least: i128,
    most: i128,
    by: [i64; 3],
    low: i128,
    high: i128,
}

impl Condition {
    fn is_of_kind(&self, other: &Self) -> bool {
        (self.by, self.low, self.high) == (other.by, other.low, other.high)
    }

    fn with(self, other: &Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(at: i128, by: [i64; 3], low: i128, high: i128) -> Condition {
        Condition { least: at, most: at, by, low, high }
    }

    #[test]
    fn a_condition_holds_at_all_corners_of_what_it_leaves() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        for _ in 0..20_000 {
            let count = std::array::from_fn(|_| next(9) as u32 + 1);
            let mut region = Region::new(GridBox { count, ..GridBox::whole([1; 3]) });
            let by = std::array::from_fn(|_| next(21) as i64 - 10);
            let at = i128::from(next(41)) - 20;
            let (low, high) = (at - i128::from(next(60)), at + i128::from(next(60)));
            region.keep(&condition(at, by, low, high));
            let corners = |count: [u32; 3]| {
                (0..8).map(move |corner: u32| {
                    let steps = |axis: usize| i128::from((corner >> axis & 1) * (count[axis] - 1));
                    at + (0..3).map(|axis| i128::from(by[axis]) * steps(axis)).sum::<i128>()
                })
            };
            assert!(corners(region.count).all(|value| (low..=high).contains(&value)));
            // Along a single dimension nothing more would do.
            let moving: Vec<_> = (0..3).filter(|&axis| by[axis] != 0 && count[axis] > 1).collect();
            if let [axis] = moving[..] {
                let mut larger = region.count;
                larger[axis] += 1;
                let is_all = region.count[axis] == count[axis];
                let is_inside = |value| (low..=high).contains(&value);
                assert!(is_all || !corners(larger).all(is_inside), "{region:?}");
            }
        }
    }

    #[test]
    fn the_cut_that_keeps_more_is_made() {
        // 100 x + y < 1000: ten columns of 100 rows, not a thousandth of them all.
        let mut region = Region::new(GridBox::whole([100, 100, 1]));
        region.keep(&condition(0, [100, 1, 0], i128::MIN / 2, 999));
        assert_eq!(region.count, [10, 100, 1]);
        let mut region = Region::new(GridBox::whole([4, 1_000_000, 1]));
        region.keep(&condition(5, [-1, 0, 0], 3, 5));
        assert_eq!(region.count, [3, 1_000_000, 1]);
    }
}
