//! How the results of operations move.
//!
//! A narrow row holds a number modulo 2³², and so does its motion. Where an operation is one of
//! whole numbers (comparison, division, widening), the region is first kept to CTAs in which the
//! operands do not wrap around.

use super::motion::Motion;
use super::region::Values;
use super::representative::Representative;
use super::upcoming::Upcoming;
use crate::program::follow::rule::{Comparison, Followed, Rule};
use crate::semantics::shuffle;

/// The least and greatest number of a width.
fn range(wide: bool, signed: bool) -> (i128, i128) {
    let bits = if wide { 64 } else { 32 };
    if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// A product's factor: an operand that is the same in all CTAs.
fn factors(values: &[i128; 32]) -> [i64; 32] {
    values.map(|value| value as i64)
}

/// Motions must be read again, since the steps of the region have changed.
struct StepsChanged;

impl Representative {
    /// Notes how the result of an operation moves, before it is executed.
    pub(super) fn follow_rule(&mut self, upcoming: &Upcoming<'_>, followed: Followed) {
        let result = loop {
            // Each change of steps makes the region smaller.
            if let Ok(result) = self.result(upcoming, followed) {
                break result;
            }
        };
        if let Some(motion) = result {
            self.set_motion(upcoming.warp, upcoming.op.dst, upcoming.mask, &motion);
        }
    }

    /// The motion of an operation's register; `None` of those that write a predicate.
    fn result(
        &mut self,
        upcoming: &Upcoming<'_>,
        Followed { rule, wide }: Followed,
    ) -> Result<Option<Motion>, StepsChanged> {
        let (op, mask) = (upcoming.op, upcoming.mask);
        let of = |all: &Self, row| all.motion(upcoming.warp, row, wide);
        let a = of(self, op.a);
        Ok(Some(match rule {
            Rule::Copy | Rule::Low => a,
            Rule::Complement | Rule::Negate => a.zip(&a, |a, _| a.wrapping_neg()),
            Rule::Add => a.zip(&of(self, op.b), i64::wrapping_add),
            Rule::Subtract => a.zip(&of(self, op.b), i64::wrapping_sub),
            Rule::Widen { signed } => {
                self.keep_from_wrapping(upcoming, op.a, wide, signed);
                self.region.within(&a)
            }
            Rule::Multiply => self.product(upcoming, wide, false),
            Rule::MultiplyAdd => {
                let product = self.product(upcoming, wide, false);
                product.zip(&of(self, op.c), i64::wrapping_add)
            }
            Rule::MultiplyWide { signed } => self.wide_product(upcoming, signed),
            Rule::MultiplyAddWide { signed } => {
                let product = self.wide_product(upcoming, signed);
                product.zip(&self.motion(upcoming.warp, op.c, true), i64::wrapping_add)
            }
            Rule::MultiplyHigh { signed } => {
                let product = self.wide_product(upcoming, signed);
                let (a, b) =
                    (upcoming.values(op.a, wide, signed), upcoming.values(op.b, wide, signed));
                let values = std::array::from_fn(|lane| a[lane] * b[lane]);
                self.divided(mask, &values, &product, |_| 1 << 32)?.quotient
            }
            Rule::ShiftLeft => {
                self.keep_row_still(upcoming, op.b, false);
                let bits = if wide { 64 } else { 32 };
                let factor = |by: i128| if by < bits { 1_i64 << by } else { 0 };
                a.scaled(&upcoming.values(op.b, false, false).map(factor))
            }
            Rule::ShiftRight { signed } => {
                self.keep_row_still(upcoming, op.b, false);
                let most = if wide { 63 } else { 31 };
                let by = upcoming.values(op.b, false, false).map(|by| by.min(most + 1));
                // A shift by the whole width leaves nothing, or the sign.
                let is_whole = |lane: usize| by[lane] > most;
                if (0..32).any(|lane| mask >> lane & 1 != 0 && is_whole(lane)) {
                    self.region.keep_still(&a, mask);
                    return Ok(Some(Motion::STILL));
                }
                self.keep_from_wrapping(upcoming, op.a, wide, signed);
                let values = upcoming.values(op.a, wide, signed);
                self.divided(mask, &values, &a, |lane| 1 << by[lane])?.quotient
            }
            Rule::High => {
                self.keep_from_wrapping(upcoming, op.a, wide, false);
                let values = upcoming.values(op.a, wide, false);
                self.divided(mask, &values, &a, |_| 1 << 32)?.quotient
            }
            Rule::Divide { signed } => match self.division(upcoming, wide, signed)? {
                Some(divided) => divided.quotient,
                None => Motion::STILL,
            },
            Rule::Remainder { signed } => match self.division(upcoming, wide, signed)? {
                Some(divided) => divided.remainder,
                None => Motion::STILL,
            },
            Rule::Extract => {
                for row in [op.b, op.c] {
                    self.keep_row_still(upcoming, row, false);
                }
                self.keep_from_wrapping(upcoming, op.a, wide, false);
                let [first, bits] = [op.b, op.c].map(|row| upcoming.values(row, false, false));
                let first = first.map(|first| first & 0xff);
                let is_plain = |lane: usize| first[lane] < 32 && bits[lane] & 0xff < 32;
                if !(0..32).all(|lane| mask >> lane & 1 == 0 || is_plain(lane)) {
                    self.region.keep_still(&a, mask);
                    return Ok(Some(Motion::STILL));
                }
                let values = upcoming.values(op.a, wide, false);
                let quotient = self.divided(mask, &values, &a, |lane| 1 << first[lane])?.quotient;
                let values = std::array::from_fn(|lane| values[lane] >> (first[lane] & 31));
                let divided =
                    self.divided(mask, &values, &quotient, |lane| 1 << (bits[lane] & 31))?;
                divided.remainder
            }
            Rule::And => self.masked(upcoming, wide)?,
            Rule::OrXor => self.combined(upcoming, wide)?,
            Rule::Extremum { signed, greater } => {
                let (b, less) = (of(self, op.b), self.keep_order(upcoming, wide, signed, 0));
                let takes_b = if greater { less } else { !less };
                self.region.within(&choose(&a, &b, !takes_b))
            }
            Rule::Absolute => {
                let values = upcoming.values(op.a, wide, true);
                let (low, high) = range(wide, true);
                self.region.keep_each_between(Values { mask, at: &values, by: &a }, |lane| {
                    if values[lane] < 0 { (low, -1) } else { (0, high) }
                });
                let negative = negative(&values);
                self.region.within(&choose(&a.zip(&a, |a, _| a.wrapping_neg()), &a, negative))
            }
            Rule::Select => choose(&a, &of(self, op.b), upcoming.selected()),
            Rule::Shuffle => {
                for row in [op.b, op.c] {
                    self.keep_row_still(upcoming, row, false);
                }
                let [b, c] = [op.b, op.c].map(|row| upcoming.values(row, false, false));
                let mut result = Motion::STILL;
                for lane in 0..32 {
                    let (b, c) = (b[lane] as u32, c[lane] as u32);
                    let (source, _) = shuffle::source_lane(op.n, lane as u32, b, c);
                    for dimension in 0..3 {
                        result.by[dimension][lane] = a.by[dimension][source as usize & 31];
                    }
                }
                self.region.within(&result)
            }
            Rule::Compare(comparison) => {
                match comparison {
                    Comparison::Equal => self.keep_equality(upcoming, wide),
                    Comparison::Less { signed } => {
                        self.keep_order(upcoming, wide, signed, 0);
                    }
                    Comparison::LessOrEqual { signed } => {
                        self.keep_order(upcoming, wide, signed, 1);
                    }
                }
                return Ok(None);
            }
        }))
    }

    /// Keeps CTAs in which a row is the same.
    pub(super) fn keep_row_still(&mut self, upcoming: &Upcoming<'_>, row: u32, wide: bool) {
        let motion = self.motion(upcoming.warp, row, wide);
        self.region.keep_still(&motion, upcoming.mask);
    }

    /// Keeps CTAs in which a row does not wrap around.
    pub(super) fn keep_from_wrapping(
        &mut self,
        upcoming: &Upcoming<'_>,
        row: u32,
        wide: bool,
        signed: bool,
    ) {
        let motion = self.motion(upcoming.warp, row, wide);
        if motion.is_still(upcoming.mask) {
            return;
        }
        let values = upcoming.values(row, wide, signed);
        let (low, high) = range(wide, signed);
        let values = Values { mask: upcoming.mask, at: &values, by: &motion };
        self.region.keep_between(values, low, high);
    }

    /// Keeps one factor of a product the same, and returns the motion of the product.
    fn product(&mut self, upcoming: &Upcoming<'_>, wide: bool, signed: bool) -> Motion {
        let (op, mask) = (upcoming.op, upcoming.mask);
        let (mut a, mut b) =
            (self.motion(upcoming.warp, op.a, wide), self.motion(upcoming.warp, op.b, wide));
        if !a.is_still(mask) && !b.is_still(mask) {
            // The one that moves along fewer CTAs is given up.
            let ctas = |motion: &Motion| -> u128 {
                let moves = |&dimension: &usize| motion.moves_along(dimension, mask);
                let counts = (0..3).filter(moves);
                counts.map(|dimension| u128::from(self.region.count[dimension])).product()
            };
            let given_up = if ctas(&a) < ctas(&b) { a } else { b };
            self.region.keep_still(&given_up, mask);
            (a, b) = (self.region.within(&a), self.region.within(&b));
        }
        let a = a.scaled(&factors(&upcoming.values(op.b, wide, signed)));
        let b = b.scaled(&factors(&upcoming.values(op.a, wide, signed)));
        a.zip(&b, i64::wrapping_add)
    }

    /// [`Self::product`] of narrow numbers in 64 bits.
    fn wide_product(&mut self, upcoming: &Upcoming<'_>, signed: bool) -> Motion {
        for row in [upcoming.op.a, upcoming.op.b] {
            self.keep_from_wrapping(upcoming, row, false, signed);
        }
        self.product(upcoming, false, signed)
    }

    /// The motions of quotients and remainders of values that do not wrap around.
    fn divided(
        &mut self,
        mask: u32,
        values: &[i128; 32],
        motion: &Motion,
        divisor: impl Fn(usize) -> u64,
    ) -> Result<Divided, StepsChanged> {
        let motion = self.region.within(motion);
        let mut remainders = [0; 32];
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            remainders[lane] = values[lane].rem_euclid(i128::from(divisor(lane)));
        }
        let whole =
            self.keep_quotients(mask, &remainders, &motion, &divisor).ok_or(StepsChanged)?;
        let mut divided = Divided { quotient: Motion::STILL, remainder: Motion::STILL };
        for (dimension, is_whole) in whole.into_iter().enumerate() {
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                let by = motion.by[dimension][lane];
                if is_whole {
                    let quotient = i128::from(by) / i128::from(divisor(lane));
                    divided.quotient.by[dimension][lane] = quotient as i64;
                } else {
                    divided.remainder.by[dimension][lane] = by;
                }
            }
        }
        divided.quotient = self.region.within(&divided.quotient);
        divided.remainder = self.region.within(&divided.remainder);
        Ok(divided)
    }

    /// A division by an operand. `None` if the dividend had to be kept the same.
    fn division(
        &mut self,
        upcoming: &Upcoming<'_>,
        wide: bool,
        signed: bool,
    ) -> Result<Option<Divided>, StepsChanged> {
        let (op, mask) = (upcoming.op, upcoming.mask);
        self.keep_row_still(upcoming, op.b, wide);
        let a = self.motion(upcoming.warp, op.a, wide);
        let values = upcoming.values(op.a, wide, signed);
        let divisors = upcoming.values(op.b, wide, signed);
        let is_plain = |lane: usize| values[lane] >= 0 && divisors[lane] > 0;
        if !(0..32).all(|lane| mask >> lane & 1 == 0 || is_plain(lane)) {
            self.region.keep_still(&a, mask);
            return Ok(None);
        }
        let (_, high) = range(wide, signed);
        self.region.keep_between(Values { mask, at: &values, by: &a }, 0, high);
        self.divided(mask, &values, &a, |lane| divisors[lane] as u64).map(Some)
    }

    /// `a & b`, one of which is a mask of low or of high bits.
    fn masked(&mut self, upcoming: &Upcoming<'_>, wide: bool) -> Result<Motion, StepsChanged> {
        let mask = upcoming.mask;
        let Some(Mixed { motion, values, fixed }) = self.mixed(upcoming, wide) else {
            return Ok(Motion::STILL);
        };
        let all = range(wide, false).1 as u64;
        let kind = |lane: usize| match fixed[lane] {
            bits if bits == all => Some((1, true)),
            0 => Some((1, false)),
            bits if bits & (bits + 1) == 0 => Some((bits + 1, false)),
            bits if (!bits & all) & ((!bits & all) + 1) == 0 => Some(((!bits & all) + 1, true)),
            _ => None,
        };
        if !(0..32).all(|lane| mask >> lane & 1 == 0 || kind(lane).is_some()) {
            self.region.keep_still(&motion, mask);
            return Ok(Motion::STILL);
        }
        let divisor = |lane: usize| kind(lane).map_or(1, |(divisor, _)| divisor);
        // Remainders of powers of two do not mind wrapping around.
        let remainder = self.divided(mask, &values, &motion, divisor)?.remainder;
        let motion = self.region.within(&motion);
        let high = motion.zip(&remainder, i64::wrapping_sub);
        let keeps_high = |lane: usize| kind(lane).is_some_and(|(_, high)| high);
        let lanes = (0..32).filter(|lane| keeps_high(*lane)).fold(0, |all, lane| all | 1 << lane);
        Ok(choose(&high, &remainder, lanes))
    }

    /// `a | b` or `a ^ b`, one of which changes only bits that are the same in all CTAs.
    fn combined(&mut self, upcoming: &Upcoming<'_>, wide: bool) -> Result<Motion, StepsChanged> {
        let Some(Mixed { motion, fixed, .. }) = self.mixed(upcoming, wide) else {
            return Ok(Motion::STILL);
        };
        let top = |lane: usize| 64 - fixed[lane].leading_zeros();
        // All bits of a wide row: nothing but the same value will do.
        let mask = upcoming.mask;
        if (0..32).any(|lane| mask >> lane & 1 != 0 && top(lane) > 63) {
            self.region.keep_still(&motion, mask);
            return Ok(Motion::STILL);
        }
        if self.keep_congruent(&motion, mask, |lane| 1 << top(lane)) {
            return Err(StepsChanged);
        }
        Ok(self.region.within(&motion))
    }

    /// The operands of a logical operation of which one is the same in all CTAs.
    fn mixed(&mut self, upcoming: &Upcoming<'_>, wide: bool) -> Option<Mixed> {
        let (op, mask) = (upcoming.op, upcoming.mask);
        let [a, b] = [op.a, op.b].map(|row| self.motion(upcoming.warp, row, wide));
        let values = |row| upcoming.values(row, wide, false);
        let (motion, moving, fixed) = match (a.is_still(mask), b.is_still(mask)) {
            (_, true) => (a, op.a, op.b),
            (true, false) => (b, op.b, op.a),
            (false, false) => {
                self.region.keep_still(&a, mask);
                self.region.keep_still(&b, mask);
                return None;
            }
        };
        let fixed = values(fixed).map(|value| value as u64);
        Some(Mixed { motion, values: values(moving), fixed })
    }

    /// Keeps CTAs in which `a < b + or_equal` has each lane's outcome. Returns the lanes in which
    /// it is true.
    fn keep_order(
        &mut self,
        upcoming: &Upcoming<'_>,
        wide: bool,
        signed: bool,
        or_equal: i128,
    ) -> u32 {
        let (op, mask) = (upcoming.op, upcoming.mask);
        for row in [op.a, op.b] {
            self.keep_from_wrapping(upcoming, row, wide, signed);
        }
        let [a, b] = [op.a, op.b].map(|row| upcoming.values(row, wide, signed));
        let at: [i128; 32] = std::array::from_fn(|lane| a[lane] - b[lane] - or_equal);
        let [a, b] = [op.a, op.b].map(|row| self.motion(upcoming.warp, row, wide));
        // The difference of two numbers of 64 bits has one more.
        let (by, is_exact) = exact_difference(&a, &b);
        if is_exact {
            self.region.keep_each_between(Values { mask, at: &at, by: &by }, |lane| {
                if at[lane] < 0 { (-FAR, -1) } else { (0, FAR) }
            });
        } else {
            self.region.keep_still(&a, mask);
            self.region.keep_still(&b, mask);
        }
        negative(&at)
    }

    /// Keeps CTAs in which the same lanes have equal operands.
    fn keep_equality(&mut self, upcoming: &Upcoming<'_>, wide: bool) {
        let (op, mask) = (upcoming.op, upcoming.mask);
        let [a, b] = [op.a, op.b].map(|row| self.motion(upcoming.warp, row, wide));
        let by = a.zip(&b, i64::wrapping_sub);
        let by = if wide { by } else { by.narrow() };
        let all = range(wide, false).1;
        let [a, b] = [op.a, op.b].map(|row| upcoming.values(row, wide, false));
        let at: [i128; 32] = std::array::from_fn(|lane| (a[lane] - b[lane]) & all);
        let equal = (0..32).filter(|&lane| at[lane] == 0).fold(0, |all, lane| all | 1 << lane);
        self.region.keep_still(&by, mask & equal);
        // Different ones stay so until their difference comes to a multiple of 2³² or 2⁶⁴.
        self.region.keep_between(Values { mask: mask & !equal, at: &at, by: &by }, 1, all);
    }
}

/// Farther than any value gets.
const FAR: i128 = 1 << 120;

/// The motions of the results of a division.
struct Divided {
    quotient: Motion,
    remainder: Motion,
}

/// Operands of a logical operation: one that moves, with its values, and one that does not.
struct Mixed {
    motion: Motion,
    values: [i128; 32],
    fixed: [u64; 32],
}

/// The lanes of `mask` of one motion, and the others of another one.
fn choose(one: &Motion, other: &Motion, mask: u32) -> Motion {
    let mut result = *other;
    for (result, one) in result.by.iter_mut().zip(&one.by) {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            result[lane] = one[lane];
        }
    }
    result
}

/// The lanes with negative values.
fn negative(values: &[i128; 32]) -> u32 {
    (0..32).filter(|&lane| values[lane] < 0).fold(0, |lanes, lane| lanes | 1 << lane)
}

/// The difference of two motions, and whether it fits.
fn exact_difference(a: &Motion, b: &Motion) -> (Motion, bool) {
    let by = a.zip(b, i64::wrapping_sub);
    let fits = |(a, b): (&i64, &i64)| a.checked_sub(*b).is_some();
    let is_exact = a.by.as_flattened().iter().zip(b.by.as_flattened()).all(fits);
    (by, is_exact)
}
