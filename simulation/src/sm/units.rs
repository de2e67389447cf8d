//! The execution units of a sub-core, or those that the sub-cores of an SM share.

use crate::clock::{clock_at, time_of};
use crate::parameters::{Unit, UnitUse};

/// When each unit is free again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    free: [f64; Unit::COUNT],
}

/// A unit that an instruction took, and the first whole clock from which it is free again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) unit: Unit,
    pub(super) until: u64,
}

impl Units {
    /// Units that are all free.
    pub(super) fn new() -> Self {
        Self { free: [0.0; Unit::COUNT] }
    }

    /// The time from which a unit is free.
    pub(super) fn free(&self, unit: Unit) -> f64 {
        self.free[unit as usize]
    }

    /// An instruction that issues at a clock takes the first unit that is free.
    #[inline]
    pub(super) fn take(&mut self, units: &UnitUse, clock: u64) -> Option<Taken> {
        let mut unit = units.unit?;
        if let Some(other) = units.other
            && self.free[other as usize] < self.free[unit as usize]
        {
            unit = other;
        }
        let free = &mut self.free[unit as usize];
        *free = free.max(time_of(clock)) + units.interval;
        Some(Taken { unit, until: clock_at(*free) })
    }
}
