//! All that one CTA remembers of the addresses of its memory operations.

#![allow(unsafe_code, reason = "places are lent to one warp after the other")]

use super::known_reads::KnownReads;
use super::remembered::Remembered;
use super::tally::{Slots, Tally};
use crate::observer::Recorder;

/// Operations of one CTA that are remembered, at most: 100 KB.
const MOST: usize = 256;

/// The distances that the operations of one CTA had last, and the accesses that its recorder is
/// still to be told of. Operations with the same place share it.
#[derive(Debug)]
pub(in crate::exec) struct Patterns {
    /// By shape of the operation; a power of two.
    remembered: Vec<Remembered>,
    /// By operation; as many.
    tallies: Vec<Tally>,
    /// Outside the CTA: who borrows that, as each warp's turn does, claims what lies within.
    slots: Box<Slots>,
    /// What products of matrices read.
    reads: Box<KnownReads>,
}

impl Patterns {
    /// Nothing is remembered yet, of a program with so many memory operations.
    pub(in crate::exec) fn new(operations: usize) -> Self {
        let places = Self::places(operations);
        Self {
            remembered: vec![Remembered::NOTHING; places],
            tallies: vec![Tally::NOTHING; places],
            slots: Box::default(),
            reads: Box::default(),
        }
    }

    fn places(operations: usize) -> usize {
        operations.next_power_of_two().clamp(1, MOST)
    }

    /// Bytes that it takes.
    pub(in crate::exec) fn bytes(operations: usize) -> u64 {
        (Self::places(operations) * (size_of::<Remembered>() + size_of::<Tally>())) as u64
    }

    /// The places, to be lent to one warp after the other.
    pub(in crate::exec) fn lend(&mut self) -> LentPatterns {
        LentPatterns {
            last: self.remembered.len() - 1,
            remembered: self.remembered.as_mut_ptr(),
            tallies: self.tallies.as_mut_ptr(),
            slots: &raw mut *self.slots,
            reads: &raw mut *self.reads,
        }
    }

    /// The CTA has ended: tells its recorder of the rest. The recorder may go on with another one.
    pub(in crate::exec) fn tell(&mut self, recorder: &mut dyn Recorder) {
        for tally in &mut self.tallies {
            tally.tell(recorder);
        }
    }

    /// A CTA begins whose recorder has recorded the one before. Where distances change from CTA to
    /// CTA, slots are given anew before there are none.
    pub(in crate::exec) fn go_on(&mut self) {
        if self.slots.are_scarce() {
            self.begin();
        }
    }

    /// A recorder begins. Distances stay.
    pub(in crate::exec) fn begin(&mut self) {
        self.tallies.iter_mut().for_each(Tally::forget);
        *self.slots = Slots::default();
    }
}

/// The places of [`Patterns`].
///
/// # Invariants
///
/// They exist as long as this is used, and nothing else uses them meanwhile. `last` is one less
/// than the number of either kind, which is a power of two.
#[derive(Clone, Copy)]
pub(in crate::exec) struct LentPatterns {
    remembered: *mut Remembered,
    tallies: *mut Tally,
    last: usize,
    slots: *mut Slots,
    reads: *mut KnownReads,
}

impl LentPatterns {
    /// The place of operations of `shape`.
    #[inline(always)]
    pub(super) fn remembered(&mut self, shape: u32) -> &mut Remembered {
        // SAFETY: by the invariants; no place lies beyond the last one.
        unsafe { &mut *self.remembered.add(shape as usize & self.last) }
    }

    /// The place of memory operation `index`, and the numbers that are still to be given.
    #[inline(always)]
    pub(super) fn tally(&mut self, index: u32) -> (&mut Tally, &mut Slots) {
        // SAFETY: as above.
        unsafe { (&mut *self.tallies.add(index as usize & self.last), &mut *self.slots) }
    }

    /// What is known of products.
    pub(in crate::exec) fn reads(&mut self) -> &mut KnownReads {
        // SAFETY: as above.
        unsafe { &mut *self.reads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a CTA does between the turns of two warps: it borrows itself.
    fn borrowed(patterns: &mut Patterns) -> usize {
        patterns.tallies.len()
    }

    #[test]
    fn places_stay_lent_while_their_owner_is_borrowed() {
        let mut patterns = Patterns::new(2);
        let mut lent = patterns.lend();
        let mut taken = Vec::new();
        for _ in 0..3 {
            taken.extend(lent.tally(0).1.take());
            lent.remembered(1).confirm();
            assert_eq!(borrowed(&mut patterns), 2);
        }
        assert_eq!(taken, [0, 1, 2]);
    }
}
