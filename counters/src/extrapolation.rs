//! Traffic of all requests, from that of the replayed ones.

use crate::hierarchy::{L2Traffic, LocalTraffic, RowTraffic};

/// Scales the caches' traffic to all requests, in proportion to the replayed ones. All of it has
/// fewer than 2⁶⁴ sectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extrapolation {
    /// Sectors of all requests.
    all: u128,
    /// The sectors of the requests that were replayed.
    replayed: u128,
}

impl Extrapolation {
    /// The scaling for the sectors of all requests and of those that were left out.
    pub(crate) fn new(all: u128, left_out: u64) -> Self {
        Self { all, replayed: all.saturating_sub(left_out.into()) }
    }

    pub(crate) fn scale(self, sectors: u64) -> u64 {
        match self.replayed {
            0 => sectors,
            replayed => (u128::from(sectors) * self.all / replayed) as u64,
        }
    }

    pub(crate) fn row(self, traffic: RowTraffic) -> RowTraffic {
        RowTraffic {
            l1_hit_sectors: self.scale(traffic.l1_hit_sectors),
            l2_sectors: self.scale(traffic.l2_sectors),
            l2_hit_sectors: self.scale(traffic.l2_hit_sectors),
            dram_read_sectors: self.scale(traffic.dram_read_sectors),
            ..traffic
        }
    }

    pub(crate) fn total(self, traffic: L2Traffic) -> L2Traffic {
        L2Traffic {
            read_sectors: self.scale(traffic.read_sectors),
            write_sectors: self.scale(traffic.write_sectors),
            update_sectors: self.scale(traffic.update_sectors),
            read_hit_sectors: self.scale(traffic.read_hit_sectors),
            write_hit_sectors: self.scale(traffic.write_hit_sectors),
            update_hit_sectors: self.scale(traffic.update_hit_sectors),
            dram_read_sectors: self.scale(traffic.dram_read_sectors),
            dram_write_sectors: self.scale(traffic.dram_write_sectors),
            // No more than the cache holds, however much was left out.
            dirty_sectors: traffic.dirty_sectors,
            local: LocalTraffic {
                write_back_sectors: self.scale(traffic.local.write_back_sectors),
                write_back_hit_sectors: self.scale(traffic.local.write_back_hit_sectors),
                dram_write_sectors: self.scale(traffic.local.dram_write_sectors),
                dirty_sectors: traffic.local.dirty_sectors,
            },
        }
    }
}
