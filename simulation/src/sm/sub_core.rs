//! A sub-core: its resident warps, and the choice of the one that issues next.

use super::NEVER;
use super::gates::{Gates, Needs};
use super::units::{Taken, Units};
use crate::parameters::{Scheduler, UnitUse};
use crate::states::Clocks;

/// The next instruction of a resident warp, as far as the scheduler looks at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// The clock from which it may issue, as far as it depends on the warp alone.
    pub(super) ready: u64,
    /// The warp's place in `Sm::warps`.
    pub(super) warp: u32,
    pub(super) needs: Needs,
}

/// The next issue of a sub-core, if nobody takes its unit before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// The warp's place among the residents.
    pub(super) at: usize,
    /// [`NEVER`] if no warp can issue.
    pub(super) clock: u64,
}

#[derive(Clone, Debug)]
pub(super) struct SubCore {
    /// Its resident warps, oldest first.
    pub(super) heads: Vec<Head>,
    /// The warp that issued last.
    pub(super) last: u32,
    /// Its place among the residents, unless it ended.
    last_at: Option<usize>,
    /// The clock after its last issue.
    pub(super) next: u64,
    /// Instructions issued in the clock of the last issue.
    pub(super) in_clock: u32,
    pub(super) units: Units,
    pub(super) gates: Gates,
    pub(super) candidate: Candidate,
    pub(super) is_stale: bool,
    /// No warp but the last one issues before this clock.
    others_from: u64,
    /// Lost issue slots and used ones.
    pub(super) slots: Clocks,
}

impl SubCore {
    pub(super) fn new() -> Self {
        Self {
            heads: Vec::new(),
            last: u32::MAX,
            last_at: None,
            next: 0,
            in_clock: 0,
            units: Units::new(),
            gates: Gates::new(),
            candidate: Candidate { at: 0, clock: NEVER },
            is_stale: true,
            others_from: 0,
            slots: Clocks::default(),
        }
    }

    /// Takes the youngest warp. Returns its place among the residents.
    pub(super) fn admit(&mut self, head: Head) -> usize {
        let at = self.heads.len();
        if head.warp == self.last {
            self.last_at = Some(at);
        }
        self.heads.push(head);
        self.reconsider();
        at
    }

    /// Its choice no longer holds: a warp may issue earlier than before, or the chosen one did not.
    pub(super) fn reconsider(&mut self) {
        self.is_stale = true;
        self.others_from = 0;
    }

    /// Lets a warp go. Those behind it are one place further in front.
    pub(super) fn dismiss(&mut self, at: usize) {
        self.heads.remove(at);
        self.last_at = match self.last_at {
            Some(last) if last == at => None,
            Some(last) if last > at => Some(last - 1),
            last => last,
        };
        self.is_stale = true;
    }

    /// The warp at a place issues. It takes the slot, and all of the clock unless it `pairs`.
    pub(super) fn take_slot(&mut self, at: usize, clock: u64, pairs: bool) {
        self.last = self.heads[at].warp;
        self.last_at = Some(at);
        self.is_stale = true;
        self.in_clock = if pairs { self.in_clock + 1 } else { 0 };
        self.next = if pairs { clock } else { clock + 1 };
    }

    /// An instruction takes a unit of the sub-core.
    #[inline]
    pub(super) fn take_unit(&mut self, units: &UnitUse, clock: u64) {
        if let Some(Taken { unit, until }) = self.units.take(units, clock) {
            self.gates.set_unit(unit, until);
        }
    }

    /// The clock from which a resident warp could issue.
    #[inline]
    pub(super) fn issuable_at(&self, at: usize) -> u64 {
        let head = self.heads[at];
        // The second half of a clock belongs to the warp that has the first one.
        let next = self.next + u64::from(self.in_clock > 0 && self.last != head.warp);
        head.ready.max(self.gates.open(head.needs)).max(next)
    }

    /// Finds the warp that issues next: the one that can do so first. Of several the last one goes
    /// on, and otherwise age decides.
    pub(super) fn find_candidate(&mut self, scheduler: Scheduler) {
        self.is_stale = false;
        let mut best = Candidate { at: 0, clock: NEVER };
        if let Some(at) = self.last_at
            && self.heads[at].ready != NEVER
        {
            best = Candidate { at, clock: self.issuable_at(at) };
        }
        // No other warp issues before this clock. Gates open later and later, and so does it.
        let next = self.next + u64::from(self.in_clock > 0);
        if best.clock > next.max(self.others_from) {
            let heads = self.heads.iter().enumerate();
            (best, self.others_from) = match scheduler {
                Scheduler::GreedyThenOldest => first_of(heads, &self.gates, next, best),
                Scheduler::GreedyThenYoungest => first_of(heads.rev(), &self.gates, next, best),
            };
        }
        self.candidate = best;
    }
}

/// The first warp of those that can issue earliest, if it can do so before the best one so far,
/// and a clock before which none of the others can.
#[inline]
fn first_of<'a>(
    heads: impl Iterator<Item = (usize, &'a Head)>,
    gates: &Gates,
    next: u64,
    mut best: Candidate,
) -> (Candidate, u64) {
    let mut second = NEVER;
    for (at, head) in heads {
        if head.ready >= second {
            continue;
        }
        let clock = head.ready.max(gates.open(head.needs)).max(next);
        if clock < best.clock {
            second = best.clock;
            best = Candidate { at, clock };
            if clock == next {
                return (best, next);
            }
        } else if clock < second && at != best.at {
            second = clock;
        }
    }
    (best, second)
}
