//! The execution units of a sub-core, or those that the sub-cores of an SM share.

use crate::clock::clock_at;
use crate::parameters::{Unit, UnitUse};

/// When each unit is free again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    free: [f64; Unit::COUNT],
    /// The first whole clocks from which they are free. Each issue asks for those of many warps,
    /// and changes one.
    clocks: [u64; Unit::COUNT],
}

impl Units {
    /// Units that are all free.
    pub(super) fn new() -> Self {
        Self { free: [0.0; Unit::COUNT], clocks: [0; Unit::COUNT] }
    }

    /// The time from which a unit is free.
    pub(super) fn free(&self, unit: Unit) -> f64 {
        self.free[unit as usize]
    }

    /// The clock from which one of the units that an instruction may use is free.
    #[inline]
    pub(super) fn clock(&self, unit: Unit, other: Option<Unit>) -> u64 {
        let clock = self.clocks[unit as usize];
        other.map_or(clock, |other| clock.min(self.clocks[other as usize]))
    }

    /// An instruction that issues at a clock takes the first unit that is free.
    pub(super) fn take(&mut self, units: &UnitUse, clock: u64) {
        let Some(unit) = units.unit else { return };
        let mut taken = unit as usize;
        if let Some(other) = units.other
            && self.free[other as usize] < self.free[taken]
        {
            taken = other as usize;
        }
        self.free[taken] = self.free[taken].max(clock as f64) + units.interval;
        self.clocks[taken] = clock_at(self.free[taken]);
    }
}
