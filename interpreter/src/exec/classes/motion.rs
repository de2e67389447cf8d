//! The change of a register from CTA to CTA.

/// The change of each lane's value by one step of a box along each dimension.
///
/// The value at the CTA that lies `s` steps away is the one at the representative plus
/// `Σ by[d] · s[d]`, modulo 2³² or 2⁶⁴ as the register is wide. Of a narrow register the low 32
/// bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Motion {
    pub(crate) by: [[i64; 32]; 3],
}

impl Motion {
    /// That of a value which all CTAs have alike.
    pub(crate) const STILL: Self = Self { by: [[0; 32]; 3] };

    /// The same change in all lanes.
    pub(crate) fn uniform(dimension: usize, by: i64) -> Self {
        let mut motion = Self::STILL;
        motion.by[dimension] = [by; 32];
        motion
    }

    /// The change of one lane's value.
    #[inline]
    pub(crate) fn of_lane(&self, lane: usize) -> [i64; 3] {
        [self.by[0][lane], self.by[1][lane], self.by[2][lane]]
    }

    /// A motion made lane by lane of one or two others.
    pub(crate) fn zip(&self, other: &Self, f: impl Fn(i64, i64) -> i64) -> Self {
        let mut result = Self::STILL;
        for dimension in 0..3 {
            for lane in 0..32 {
                result.by[dimension][lane] = f(self.by[dimension][lane], other.by[dimension][lane]);
            }
        }
        result
    }

    /// Each lane's change times a factor of its own.
    pub(crate) fn scaled(&self, factors: &[i64; 32]) -> Self {
        let mut result = *self;
        for by in &mut result.by {
            for (by, factor) in by.iter_mut().zip(factors) {
                *by = by.wrapping_mul(*factor);
            }
        }
        result
    }

    /// Replaces the changes of the lanes of `mask` by those of another motion.
    pub(crate) fn take_lanes(&mut self, other: &Self, mask: u32) {
        for (own, new) in self.by.iter_mut().zip(&other.by) {
            for (lane, (own, new)) in own.iter_mut().zip(new).enumerate() {
                if mask >> lane & 1 != 0 {
                    *own = *new;
                }
            }
        }
    }

    /// The low 32 bits of each change, with their sign.
    pub(crate) fn narrow(&self) -> Self {
        let mut result = *self;
        result.by.as_flattened_mut().iter_mut().for_each(|by| *by = i64::from(*by as i32));
        result
    }

    /// Returns true if a lane of `mask` moves along a dimension.
    pub(crate) fn moves_along(&self, dimension: usize, mask: u32) -> bool {
        let by = self.by[dimension].iter().enumerate();
        by.fold(false, |any, (lane, &by)| any | (by != 0 && mask >> lane & 1 != 0))
    }

    /// Returns true if no lane of `mask` moves.
    pub(crate) fn is_still(&self, mask: u32) -> bool {
        (0..3).all(|dimension| !self.moves_along(dimension, mask))
    }
}
