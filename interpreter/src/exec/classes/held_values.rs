//! The values that move in a warp's own memory and in registers that it has saved.

use std::collections::BTreeMap;

use super::motion::Motion;

/// The bytes of a wide register.
pub(super) const MOST_BYTES: u64 = 8;

/// A value that moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) bytes: u64,
    /// Its change by one step along each dimension.
    pub(super) by: [i64; 3],
}

/// The values that a warp holds.
#[derive(Debug, Default)]
pub(super) struct HeldValues {
    /// Those in each lane's memory, by their offsets there.
    pub(super) memory: [BTreeMap<u64, Held>; 32],
    /// The motions of saved registers, by the depth of the call and the register.
    pub(super) saved: BTreeMap<(usize, u32), Motion>,
}

impl HeldValues {
    /// Multiplies the changes along a dimension, whose steps have been made longer.
    pub(super) fn lengthen_steps(&mut self, dimension: usize, factor: u32) {
        let in_memory = self.memory.iter_mut().flat_map(BTreeMap::values_mut);
        let in_memory = in_memory.map(|held| &mut held.by[dimension]);
        let saved = self.saved.values_mut().flat_map(|motion| &mut motion.by[dimension]);
        in_memory.chain(saved).for_each(|by| *by = by.wrapping_mul(i64::from(factor)));
    }

    /// The values of which a lane's memory has bytes between `from` and `end`, with their offsets.
    pub(super) fn between(
        &self,
        lane: usize,
        from: u64,
        end: u64,
    ) -> impl Iterator<Item = (u64, Held)> {
        let near = self.memory[lane].range(from.saturating_sub(MOST_BYTES - 1)..end);
        near.map(|(&at, &held)| (at, held)).filter(move |(at, held)| at + held.bytes > from)
    }
}
