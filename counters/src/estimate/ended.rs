//! The dirty sectors of a launch of which a part went through the caches.

use crate::hierarchy::L2Traffic;
use crate::student::student;

/// A launch at its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// Sectors of the L2 that were dirty when it began.
    pub(crate) dirty_at_start: u64,
    /// True if the caches hold at the end what the last window alone brought in.
    pub(crate) is_filled: bool,
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

impl Left {
    /// Requests before the last CTAs were others. So the real number differs as those after other
    /// windows do, `others`, and lies in Student's interval of one more draw (Hahn and Meeker,
    /// "Statistical Intervals", 1991, section 4.7).
    pub(crate) fn of(others: &[u64], last: u64) -> Self {
        let all = || others.iter().copied().chain([last]).map(|one| one as f64);
        let count = all().count() as f64;
        let mean = all().sum::<f64>() / count;
        let squares: f64 = all().map(|one| (one - mean).powi(2)).sum();
        let reach = match others {
            [] => 0.0,
            [..] => student(count - 1.0) * (squares / (count - 1.0) * (1.0 + 1.0 / count)).sqrt(),
        };
        let (least, most) = (last as f64 - reach, last as f64 + reach);
        Self { last, bounds: [least.floor().max(0.0) as u64, most.ceil() as u64] }
    }
}

impl Ended {
    /// Writes to DRAM of a launch that made `dirtied` sectors dirty. `least` of 0 to 1 says how few
    /// are left. Where the last window has not filled the cache, it may hold more.
    pub(crate) fn balance(&self, dirtied: f64, least: f64, l2: &mut L2Traffic) {
        let all = self.dirty_at_start as f64 + dirtied;
        let capacity = (self.capacity as f64).min(all);
        let [fewest, most] = self.left.bounds.map(|sectors| (sectors as f64).min(capacity));
        let (likely, most) = if self.is_filled {
            ((self.left.last as f64).min(capacity), most)
        } else {
            ((fewest + capacity) / 2.0, capacity)
        };
        let left = if least < 0.5 {
            most + (likely - most) * 2.0 * least
        } else {
            likely + (fewest - likely) * (2.0 * least - 1.0)
        };
        // One of both is rounded, so that none of the sectors is written and left.
        l2.dirty_sectors = left.round() as u64;
        l2.dram_write_sectors = (all.round() as u64).saturating_sub(l2.dirty_sectors);
        if self.is_first {
            l2.dram_write_sectors += l2.dirty_sectors;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_sectors_at_the_end_may_be_one_more_draw() {
        let bounds = |others: &[u64], last: u64| Left::of(others, last).bounds;
        assert_eq!(bounds(&[], 70), [70, 70]);
        assert_eq!(bounds(&[70, 70, 70], 70), [70, 70], "windows that are alike");
        // Of 90, 110 and 100: s = 10, and 4.303 · 10 · √(4/3) = 49.7.
        assert_eq!(bounds(&[90, 110], 100), [50, 150]);
        // All of them lie in it.
        let [least, most] = bounds(&[1000, 1000, 1000], 10);
        assert!(least == 0 && most > 1000);
    }

    /// Of 1,000 sectors that became dirty, those of the last window are left.
    #[test]
    fn what_is_not_left_was_written() {
        let left = Left { last: 100, bounds: [40, 900] };
        let ended =
            Ended { dirty_at_start: 0, is_filled: true, capacity: 500, left, is_first: false };
        let balance = |ended: &Ended, least: f64| {
            let mut l2 = L2Traffic::default();
            ended.balance(1000.0, least, &mut l2);
            [l2.dirty_sectors, l2.dram_write_sectors]
        };
        let all = [0.0, 0.25, 0.5, 1.0].map(|least| balance(&ended, least));
        assert_eq!(all, [[500, 500], [300, 700], [100, 900], [40, 960]]);
        let unfilled = Ended { is_filled: false, ..ended.clone() };
        assert_eq!([0.0, 0.5, 1.0].map(|least| balance(&unfilled, least)[0]), [500, 270, 40]);
        // Half a sector is on one side only.
        let odd = Left { last: 100, bounds: [41, 900] };
        let unfilled = Ended { is_filled: false, left: odd, ..ended };
        assert_eq!(balance(&unfilled, 0.5), [271, 729]);
    }
}
