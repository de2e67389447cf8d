//! One access of a warp with the address of each lane, kept for a picture.

use gpucast_interpreter::{Access, AccessKind, Pattern};
use gpucast_ptx_frontend::types::StateSpace;

use crate::coalescing::{Coalescer, Coalescing, LineTouch, Protocol};
use crate::patterns;

/// An access to memory by the lanes of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneAccess {
    /// Index into the program's instructions.
    pub instruction: u32,
    /// Earlier executions of the instruction by the same warp.
    pub execution: u64,
    /// The memory that it went to.
    pub space: StateSpace,
    /// Effect on memory.
    pub kind: AccessKind,
    /// Bytes of one lane.
    pub bytes_per_lane: u32,
    /// The lanes that take part.
    pub mask: u32,
    /// Each lane's address; lanes outside `mask` hold arbitrary values.
    pub addresses: [u64; 32],
}

/// The lines that an access touches on its way to device memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMap {
    /// Each line once, by address.
    pub lines: Vec<LineTouch>,
    /// Sectors that move.
    pub sectors: u64,
    /// Sectors that the bytes would take in one piece.
    pub ideal_sectors: u64,
}

impl LaneAccess {
    /// The access of an event, the warp's `execution`-th of its instruction.
    #[must_use]
    pub fn new(access: &Access<'_>, execution: u64) -> Self {
        let mut room = [0; 32];
        Self {
            instruction: access.instruction,
            execution,
            space: access.space,
            kind: access.kind,
            bytes_per_lane: access.bytes_per_lane,
            mask: access.mask,
            addresses: *patterns::lane_addresses(access, &mut room),
        }
    }

    /// The event.
    pub(crate) fn event(&self) -> Access<'_> {
        Access {
            instruction: self.instruction,
            warp: 0,
            time: 0,
            space: self.space,
            kind: self.kind,
            bytes_per_lane: self.bytes_per_lane,
            mask: self.mask,
            pattern: Pattern::General,
            addresses: &self.addresses,
            continues: false,
            distances: None,
        }
    }

    /// The kind of access in a word.
    #[must_use]
    pub fn effect(&self) -> &'static str {
        match self.kind {
            AccessKind::Load | AccessKind::LoadReadOnly => "load",
            AccessKind::Store => "store",
            AccessKind::Atomic | AccessKind::Reduction => "atomic",
        }
    }

    /// The lanes that take part, with the address of each.
    pub fn lanes(&self) -> impl Iterator<Item = (u32, u64)> {
        let taking_part = (0..32).filter(|lane| self.mask >> lane & 1 == 1);
        taking_part.map(|lane| (lane, self.addresses[lane as usize]))
    }

    /// The lines that it touches under the rules of a GPU. `None` before capability 2.0, where
    /// segments move instead of lines.
    #[must_use]
    pub fn lines(&self, rules: Coalescing) -> Option<LineMap> {
        if rules.protocol != Protocol::Lines {
            return None;
        }
        let mut coalescer = Coalescer::new(rules);
        let mut lines = Vec::new();
        let moved = coalescer.global(&self.event(), false, |touch| lines.push(touch));
        lines.sort_unstable_by_key(|touch| touch.line);
        let mut addresses: Vec<u64> = self.lanes().map(|(_, address)| address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let bytes = addresses.len() as u64 * u64::from(self.bytes_per_lane);
        Some(LineMap {
            lines,
            sectors: moved.sectors,
            ideal_sectors: coalescer.ideal_sectors(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coalescing::{SectorSize, TransactionRule};

    fn rules(protocol: Protocol) -> Coalescing {
        let transactions = TransactionRule::Sectors;
        let sector = SectorSize::new(32).unwrap();
        Coalescing { protocol, loads: transactions, stores: transactions, sector }
    }

    fn access(stride: u64) -> LaneAccess {
        LaneAccess {
            instruction: 0,
            execution: 0,
            space: StateSpace::Global,
            kind: AccessKind::Load,
            bytes_per_lane: 4,
            mask: u32::MAX,
            addresses: std::array::from_fn(|lane| 4096 + lane as u64 * stride),
        }
    }

    /// Sectors by hand: 32 lanes of 4 bytes at a stride.
    #[test]
    fn strides_spread_over_sectors() {
        for (stride, lines, sectors, ideal) in
            [(4, 1, 4, 4), (8, 2, 8, 4), (32, 8, 32, 4), (128, 32, 32, 4), (0, 1, 1, 1)]
        {
            let map = access(stride).lines(rules(Protocol::Lines)).unwrap();
            assert_eq!((map.lines.len(), map.sectors, map.ideal_sectors), (lines, sectors, ideal));
        }
        assert_eq!(access(4).lines(rules(Protocol::HalfWarpSegments)), None);
    }
}
