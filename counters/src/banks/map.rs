//! The banks that the lanes of one access meet in, for a picture.

use super::{BankGeometry, BankPasses, Banks, Serving, loads, updates};
use crate::lane_access::LaneAccess;

/// Lanes that want one row of a bank together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankCell {
    /// The lanes' phase: those of a phase are served together.
    pub phase: u32,
    /// The bank.
    pub bank: u32,
    /// The row of the bank.
    pub row: u64,
    /// The lanes.
    pub lanes: u32,
}

/// All that an access wants of the banks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankMap {
    /// By phase and bank, and in the order of lanes.
    pub cells: Vec<BankCell>,
    /// The passes that it takes.
    pub passes: BankPasses,
}

impl BankGeometry {
    /// The banks and rows that an access wants. `None` on capability 1.x, where passes are no
    /// matter of rows alone.
    #[must_use]
    pub fn map(self, access: &LaneAccess) -> Option<BankMap> {
        if self.serving == Serving::WordByWord {
            return None;
        }
        let event = access.event();
        let (mask, bytes) = (access.mask, access.bytes_per_lane);
        let together = self.lanes_together(mask, &access.addresses, bytes, loads(access.kind));
        // A bank serves atomics lane by lane, whatever their address.
        let shares = !updates(access.kind);
        let mut cells: Vec<BankCell> = Vec::new();
        for (lane, address) in access.lanes() {
            for (bank, row) in self.places(address, bytes) {
                let place = BankCell { phase: lane / together, bank: bank as u32, row, lanes: 0 };
                let same = |cell: &&mut BankCell| BankCell { lanes: 0, ..**cell } == place;
                match cells.iter_mut().find(same).filter(|_| shares) {
                    Some(cell) => cell.lanes |= 1 << lane,
                    None => cells.push(BankCell { lanes: 1 << lane, ..place }),
                }
            }
        }
        cells.sort_by_key(|cell| (cell.phase, cell.bank));
        Some(BankMap { cells, passes: Banks::new(self).passes(&event) })
    }
}
