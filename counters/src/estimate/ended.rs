//! The dirty sectors of a launch of which a part went through the caches.

use crate::hierarchy::{Estimated, L2Traffic, ScaledSectors};
use crate::student::student;

/// A launch at its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// Sectors of the L2 that were dirty when it began.
    pub(crate) dirty_at_start: Estimated,
    /// True if the caches hold at the end what the last window alone brought in.
    pub(crate) is_filled: bool,
    /// Dirty sectors of an L2 that it has not filled, if the windows tell.
    pub(crate) unfilled: Option<u64>,
    /// Sectors that the L2 holds.
    pub(crate) capacity: u64,
    /// Dirty sectors at the end.
    pub(crate) left: Left,
    /// True if those stand for the ones that the launch found: `L2::end_launch`.
    pub(crate) is_first: bool,
}

/// Dirty sectors at the end of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// After the last CTAs that were replayed.
    pub(crate) last: u64,
    /// The fewest and the most, with a confidence of 95 %.
    pub(crate) bounds: [u64; 2],
}

/// Standard deviations of a confidence of 95 %.
const CONFIDENCE: f64 = 1.96;

impl Left {
    /// Requests before the last CTAs were others. So the real number differs as those after other
    /// windows do, `others`, and lies in Student's interval of one more draw (Hahn and Meeker,
    /// "Statistical Intervals", 1991, section 4.7).
    ///
    /// Of sampled lines each stands for `of_line` sectors; it is 0 where all lines were looked at.
    /// Which of the dirty lines were drawn is chance: their number has the score interval of a
    /// count (Barker, "A comparison of nine confidence intervals for a Poisson parameter", The
    /// American Statistician 56, 2002).
    pub(crate) fn of(
        others: &[u64],
        ScaledSectors { sectors: last, of_line }: ScaledSectors,
    ) -> Self {
        let all = || others.iter().copied().chain([last]).map(|other| other as f64);
        let count = all().count() as f64;
        let mean = all().sum::<f64>() / count;
        let squares: f64 = all().map(|value| (value - mean).powi(2)).sum();
        let reach = match others {
            [] => 0.0,
            [..] => student(count - 1.0) * (squares / (count - 1.0) * (1.0 + 1.0 / count)).sqrt(),
        };
        let of_line = of_line as f64;
        let drawn = if of_line > 0.0 { last as f64 / of_line } else { 0.0 };
        let middle = drawn + CONFIDENCE.powi(2) / 2.0;
        let about = CONFIDENCE * (drawn + CONFIDENCE.powi(2) / 4.0).sqrt();
        let least = last as f64 - reach.hypot(of_line * (drawn - (middle - about)));
        let most = last as f64 + reach.hypot(of_line * (middle + about - drawn));
        Self { last, bounds: [least.floor().max(0.0) as u64, most.ceil() as u64] }
    }

    /// The same, where any of `others` may be left as well: what either party of a duel leaves.
    pub(crate) fn or(mut self, others: impl Iterator<Item = ScaledSectors>) -> Self {
        for Self { bounds: [least, most], .. } in others.map(|other| Self::of(&[], other)) {
            self.bounds = [self.bounds[0].min(least), self.bounds[1].max(most)];
        }
        self
    }
}

impl Ended {
    /// Writes to DRAM of a launch that made `dirtied` sectors dirty. `least` of 0 to 1 says how few
    /// are left. Where the last window has not filled the cache, it may hold more.
    pub(crate) fn balance(&self, dirtied: f64, least: f64, l2: &mut L2Traffic) {
        let Estimated { least: fewest, likely, most } = self.dirty_at_start.real();
        let at_start = between([fewest, likely, most], least);
        let all = at_start + dirtied;
        let capacity = (self.capacity as f64).min(all);
        let [fewest, most] = self.left.bounds.map(|sectors| (sectors as f64).min(capacity));
        let (likely, most) = if self.is_filled {
            ((self.left.last as f64).min(capacity), most)
        } else {
            let known = self.unfilled.map(|dirty| (dirty as f64).max(fewest).min(capacity));
            (known.unwrap_or((fewest + capacity) / 2.0), capacity)
        };
        let left = between([most, likely, fewest], least);
        // One of both is rounded, so that none of the sectors is written and left.
        l2.dirty_sectors = left.round() as u64;
        l2.dram_write_sectors = (all.round() as u64).saturating_sub(l2.dirty_sectors);
        if self.is_first {
            l2.dram_write_sectors += l2.dirty_sectors;
        }
    }
}

/// The first of three numbers at 0, the second at 0.5, the third at 1, and what lies between.
fn between([first, second, third]: [f64; 3], part: f64) -> f64 {
    if part < 0.5 {
        first + (second - first) * 2.0 * part
    } else {
        second + (third - second) * (2.0 * part - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_sectors_at_the_end_may_be_one_more_draw() {
        let bounds = |others: &[u64], sectors: u64| {
            Left::of(others, ScaledSectors { sectors, of_line: 0 }).bounds
        };
        assert_eq!(bounds(&[], 70), [70, 70]);
        assert_eq!(bounds(&[70, 70, 70], 70), [70, 70], "windows that are alike");
        // Of 90, 110 and 100: s = 10, and 4.303 · 10 · √(4/3) = 49.7.
        assert_eq!(bounds(&[90, 110], 100), [50, 150]);
        // All of them lie in it.
        let [least, most] = bounds(&[1000, 1000, 1000], 10);
        assert!(least == 0 && most > 1000);
    }

    #[test]
    fn sampled_lines_leave_a_doubt() {
        // 32 lines were drawn, each of which stands for 256 sectors: 22.7 to 45.2 by the interval.
        let left = |sectors: u64, of_line: u64| Left::of(&[], ScaledSectors { sectors, of_line });
        assert_eq!(left(32 * 256, 256).bounds, [5803, 11565]);
        // None was drawn, and up to 3.8 may be dirty.
        assert_eq!(left(0, 256).bounds, [0, 984]);
        assert_eq!(left(70, 0).bounds, [70, 70]);
        // Sets of a duel have fewer dirty lines, or more.
        let duellists = [0, 32 * 256].map(|sectors| ScaledSectors { sectors, of_line: 256 });
        assert_eq!(
            left(2000, 0).or(duellists.into_iter()),
            Left { last: 2000, bounds: [0, 11565] }
        );
    }

    /// One line in 64 is drawn by chance, again and again: the truth lies in 19 of 20 intervals.
    #[test]
    fn the_doubt_of_sampled_lines_holds() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) & 63 == 0
        };
        for dirty_lines in [200_u64, 2_048, 20_000] {
            let trials = 400;
            let held = (0..trials).filter(|_| {
                let drawn = (0..dirty_lines).filter(|_| draw()).count() as u64;
                let of_line = 4 * 64;
                let [least, most] =
                    Left::of(&[], ScaledSectors { sectors: drawn * of_line, of_line }).bounds;
                (least..=most).contains(&(4 * dirty_lines))
            });
            let held = held.count();
            assert!(held * 100 >= trials * 93, "{dirty_lines}: {held} of {trials}");
        }
    }

    /// Of 1,000 sectors that became dirty, those of the last window are left.
    #[test]
    fn what_is_not_left_was_written() {
        let left = Left { last: 100, bounds: [40, 900] };
        let ended = Ended {
            dirty_at_start: Estimated::default(),
            is_filled: true,
            unfilled: None,
            capacity: 500,
            left,
            is_first: false,
        };
        let balance = |ended: &Ended, least: f64| {
            let mut l2 = L2Traffic::default();
            ended.balance(1000.0, least, &mut l2);
            [l2.dirty_sectors, l2.dram_write_sectors]
        };
        let all = [0.0, 0.25, 0.5, 1.0].map(|least| balance(&ended, least));
        assert_eq!(all, [[500, 500], [300, 700], [100, 900], [40, 960]]);
        let unfilled = Ended { is_filled: false, ..ended.clone() };
        assert_eq!([0.0, 0.5, 1.0].map(|least| balance(&unfilled, least)[0]), [500, 270, 40]);
        // What the windows tell lies between the fewest and all that there is room for.
        let told = |dirty: u64| Ended { unfilled: Some(dirty), ..unfilled.clone() };
        assert_eq!([300, 900, 0].map(|dirty| balance(&told(dirty), 0.5)[0]), [300, 500, 40]);
        // Half a sector is on one side only.
        let odd = Left { last: 100, bounds: [41, 900] };
        let unfilled = Ended { is_filled: false, left: odd, ..ended };
        assert_eq!(balance(&unfilled, 0.5), [271, 729]);
    }
}
