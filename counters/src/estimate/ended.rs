//! The dirty sectors of a launch of which a part went through the caches.

use crate::hierarchy::L2Traffic;

/// A launch at its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    /// Sectors of the L2 that were dirty when it began.
    pub(crate) dirty_at_start: u64,
    /// True if the caches hold at the end what the last window alone brought in.
    pub(crate) is_filled: bool,
    /// Sectors that the L2 holds.
    pub(crate) capacity: u64,
    /// The fewest and the most dirty ones after a window.
    pub(crate) left: [u64; 2],
    /// True if those stand for the ones that the launch found: `L2::end_launch`.
    pub(crate) is_first: bool,
}

impl Ended {
    /// Writes to DRAM of a launch that made `dirtied` sectors dirty. Where the last window has not
    /// filled the cache, more of them may be left in it: `least` of 0 to 1 says how few.
    pub(crate) fn balance(&self, dirtied: f64, least: f64, l2: &mut L2Traffic) {
        let all = self.dirty_at_start as f64 + dirtied;
        let [fewest, most] = self.left.map(|sectors| (sectors as f64).min(all));
        let most = if self.is_filled { most } else { all.min(self.capacity as f64) };
        let left = most + (fewest - most) * least;
        l2.dirty_sectors = left.round() as u64;
        l2.dram_write_sectors = (all - left).round() as u64;
        if self.is_first {
            l2.dram_write_sectors += l2.dirty_sectors;
        }
    }
}
