//! A CTA that is executed for others: how its registers move, and the region it stands for.

use std::sync::Arc;

use super::held_values::HeldValues;
use super::motion::Motion;
use super::region::Region;
use super::upcoming::Upcoming;
use crate::grid_box::GridBox;
use crate::program::follow::Following;

/// The least common multiple of everything in an address on which counting depends: lines, sectors
/// and banks of all generations.
pub(super) const GRANULE_BYTES: u64 = 128;

/// The state of a representative while it is executed.
#[derive(Debug)]
pub(crate) struct Representative {
    following: Arc<Following>,
    pub(super) region: Region,
    /// The motions of each warp's rows, by slot.
    warps: Vec<Vec<Motion>>,
    /// What moves and lies elsewhere, of each warp.
    pub(super) held: Vec<HeldValues>,
    /// The line of the first operation that made the region smaller because it is not followed.
    pub(super) not_followed: Option<u32>,
    /// Reason why no CTA of this launch can stand for others, once it is known.
    refusal: Option<String>,
}

impl Representative {
    /// The first CTA of `whole`, with `warps` warps, before it has begun.
    pub(crate) fn new(following: Arc<Following>, whole: GridBox, warps: usize) -> Self {
        let mut rows = vec![Motion::STILL; following.count];
        for place in &following.places {
            if let Some(slot) = following.slot(place.row) {
                let step = i64::from(whole.step[place.dimension]);
                rows[slot] = Motion::uniform(place.dimension, step);
            }
        }
        let region = Region::new(whole);
        let held = (0..warps).map(|_| HeldValues::default()).collect();
        Self {
            following,
            region,
            warps: vec![rows; warps],
            held,
            not_followed: None,
            refusal: None,
        }
    }

    /// The box of CTAs that it stands for, or the reason why it stands for none.
    pub(crate) fn finish(self) -> Result<GridBox, String> {
        match self.refusal {
            Some(refusal) => Err(refusal),
            None => Ok(self.region.as_box()),
        }
    }

    /// Refuses to stand for others.
    pub(super) fn refuse(&mut self, because: String) {
        self.refusal.get_or_insert(because);
        self.region.count = [1; 3];
    }

    /// How a row moves within the region. A row of 32 bits moves by as many.
    pub(super) fn motion(&self, warp: usize, row: u32, wide: bool) -> Motion {
        let Some(slot) = self.following.slot(row) else { return Motion::STILL };
        let motion = self.region.within(&self.warps[warp][slot]);
        if wide { motion } else { motion.narrow() }
    }

    /// Notes how the lanes of `mask` of a row move from now on.
    pub(super) fn set_motion(&mut self, warp: usize, row: u32, mask: u32, motion: &Motion) {
        let Some(slot) = self.following.slot(row) else {
            // The analysis follows every row to which a motion may come.
            debug_assert!(motion.is_still(mask), "row {row} is not followed");
            return;
        };
        self.warps[warp][slot].take_lanes(motion, mask);
    }

    /// True if a row may move.
    pub(super) fn is_followed(&self, row: u32) -> bool {
        self.following.slot(row).is_some()
    }

    /// Keeps CTAs in which nothing moves that an operation reads which is not followed.
    pub(super) fn keep_reads_still(&mut self, upcoming: &Upcoming<'_>, reads: &[u32], line: u32) {
        let before = self.region.count;
        for &row in reads {
            self.keep_row_still(upcoming, row, true);
        }
        if self.region.count != before {
            self.not_followed.get_or_insert(line);
        }
    }

    /// Keeps each `factor`th CTA along a dimension.
    fn lengthen_steps(&mut self, dimension: usize, factor: u32) {
        self.region.lengthen_steps(dimension, factor);
        for motion in self.warps.iter_mut().flatten() {
            for by in &mut motion.by[dimension] {
                *by = by.wrapping_mul(i64::from(factor));
            }
        }
        self.held.iter_mut().for_each(|held| held.lengthen_steps(dimension, factor));
    }

    /// Keeps CTAs in which every lane of `mask` moves by a multiple of its modulus. Returns true
    /// if steps have changed, so that motions have to be read again.
    pub(super) fn keep_congruent(
        &mut self,
        motion: &Motion,
        mask: u32,
        modulus: impl Fn(usize) -> u64,
    ) -> bool {
        for dimension in 0..3 {
            let count = self.region.count[dimension];
            let factor = common_factor(&motion.by[dimension], mask, &modulus);
            if count == 1 || factor == 1 {
                continue;
            }
            match u32::try_from(factor) {
                Ok(factor) if factor < count => {
                    self.lengthen_steps(dimension, factor);
                    return true;
                }
                _ => self.region.count[dimension] = 1,
            }
        }
        false
    }

    /// Prepares a division of each lane's value by its own divisor. Afterwards the lanes move along
    /// each dimension either by multiples of their divisors or so little that no quotient changes.
    /// Returns the dimensions of the former kind; `None` if steps have changed, so that
    /// motions have to be read again.
    pub(super) fn keep_quotients(
        &mut self,
        mask: u32,
        remainders: &[i128; 32],
        motion: &Motion,
        divisor: impl Fn(usize) -> u64,
    ) -> Option<[bool; 3]> {
        let mut whole = [true; 3];
        let mut within = *motion;
        for dimension in 0..3 {
            let by = &motion.by[dimension];
            let factor = common_factor(by, mask, &divisor);
            if factor == 1 {
                within.by[dimension] = [0; 32];
                continue;
            }
            whole[dimension] = false;
            // Either the CTAs up to the first change of a quotient, or each `factor`th one.
            let count = self.region.count[dimension];
            let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0 && by[*lane] != 0);
            let near = lanes.map(|lane| {
                let room = match by[lane] > 0 {
                    true => i128::from(divisor(lane)) - 1 - remainders[lane],
                    false => remainders[lane],
                };
                (room / i128::from(by[lane].unsigned_abs()) + 1).min(count.into()) as u32
            });
            let near = near.min().unwrap_or(count);
            if let Ok(factor) = u32::try_from(factor)
                && factor < count
                && count.div_ceil(factor) > near
            {
                self.lengthen_steps(dimension, factor);
                return None;
            }
        }
        let values = super::region::Values { mask, at: remainders, by: &within };
        self.region.keep_each_between(values, |lane| (0, i128::from(divisor(lane)) - 1));
        Some(whole)
    }
}

/// The least factor by which the lanes' steps become multiples of their moduli; 0 stands for 2⁶⁴.
/// At most `u64::MAX` where there is none that small.
fn common_factor(by: &[i64; 32], mask: u32, modulus: &impl Fn(usize) -> u64) -> u64 {
    let mut factor = 1_u64;
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let (by, modulus) = (by[lane].unsigned_abs(), modulus(lane));
        if by % modulus != 0 {
            let own = modulus / gcd(by, modulus);
            factor = factor.saturating_mul(own / gcd(factor, own));
        }
    }
    factor
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
