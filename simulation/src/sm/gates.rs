//! What an instruction needs besides its warp: a unit, and room in the queue for the load-store
//! path.
//!
//! Each sub-core has one table of the clocks from which these take an instruction. The units that
//! sub-cores share have a copy in each table. So the scheduler reads three numbers per warp and
//! asks nobody.

use crate::parameters::{Unit, UnitUse};

/// Places of a sub-core's own units, then those of the shared ones.
const SHARED: u8 = Unit::COUNT as u8;
/// Always open, for what needs no unit or no queue.
const OPEN: u8 = 2 * Unit::COUNT as u8;
/// The queue in front of the load-store path.
const QUEUE: u8 = OPEN + 1;

/// Places of a table, a power of two so that an index needs no check.
const PLACES: usize = 32;

const _: () = assert!((QUEUE as usize) < PLACES);

/// The gates that an instruction passes: one of two units, and a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    unit: u8,
    other: u8,
    queue: u8,
}

impl Needs {
    pub(super) fn new(units: &UnitUse, is_queued: bool) -> Self {
        let place = |unit: Unit| unit as u8 + if units.is_shared { SHARED } else { 0 };
        let unit = units.unit.map_or(OPEN, place);
        let other = units.unit.and(units.other).map_or(unit, place);
        Self { unit, other, queue: if is_queued { QUEUE } else { OPEN } }
    }
}

/// The clocks from which the gates of a sub-core are open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gates {
    clocks: [u64; PLACES],
}

impl Gates {
    /// All are open.
    pub(super) fn new() -> Self {
        Self { clocks: [0; PLACES] }
    }

    /// The clock from which an instruction is taken.
    #[inline]
    pub(super) fn open(&self, needs: Needs) -> u64 {
        let at = |place: u8| self.clocks[usize::from(place) % PLACES];
        at(needs.unit).min(at(needs.other)).max(at(needs.queue))
    }

    /// A unit of the sub-core is free from a clock on.
    pub(super) fn set_unit(&mut self, unit: Unit, clock: u64) {
        self.clocks[unit as usize] = clock;
    }

    /// A unit that sub-cores share is free from a clock on.
    pub(super) fn set_shared_unit(&mut self, unit: Unit, clock: u64) {
        self.clocks[usize::from(SHARED) + unit as usize] = clock;
    }

    /// The queue has room from a clock on.
    pub(super) fn set_queue(&mut self, clock: u64) {
        self.clocks[usize::from(QUEUE)] = clock;
    }
}
