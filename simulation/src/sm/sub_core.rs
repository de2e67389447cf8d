//! A sub-core: its resident warps, and the choice of the one that issues next.

use super::NEVER;
use super::gates::{Gates, Needs};
use super::units::{Taken, Units};
use crate::parameters::{Scheduler, Unit, UnitUse};
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

    /// Returns true if it ever had a warp that issued.
    pub(super) fn has_issued(&self) -> bool {
        self.last != u32::MAX
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

    /// An instruction takes a unit of the sub-core. Returns the unit.
    #[inline]
    pub(super) fn take_unit(&mut self, units: &UnitUse, clock: u64) -> Option<Unit> {
        let Taken { unit, until } = self.units.take(units, clock)?;
        self.gates.set_unit(unit, until);
        Some(unit)
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
            let choice = match scheduler {
                Scheduler::GreedyThenOldest => first_of(heads, &self.gates, next, best),
                Scheduler::GreedyThenYoungest => first_of(heads.rev(), &self.gates, next, best),
            };
            best = choice.candidate;
            self.others_from = choice.others_from;
        }
        self.candidate = best;
    }
}

/// A warp that a scheduler chose.
#[derive(Clone, Copy, Debug)]
struct Choice {
    candidate: Candidate,
    /// A clock before which none of the others can issue.
    others_from: u64,
}

/// The first warp of those that can issue earliest, if it can do so before the best one so far.
#[inline]
fn first_of<'a>(
    heads: impl Iterator<Item = (usize, &'a Head)>,
    gates: &Gates,
    next: u64,
    mut best: Candidate,
) -> Choice {
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
                return Choice { candidate: best, others_from: next };
            }
        } else if clock < second && at != best.at {
            second = clock;
        }
    }
    Choice { candidate: best, others_from: second }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below a limit, the same in each run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % limit
        }
    }

    /// The choice by its definition: the earliest clock, then the last warp, then age.
    fn by_definition(core: &SubCore, scheduler: Scheduler) -> Option<(u64, u32)> {
        let choices = (0..core.heads.len()).filter(|&at| core.heads[at].ready != NEVER);
        let best = choices.min_by_key(|&at| {
            let age = match scheduler {
                Scheduler::GreedyThenOldest => 1 + at,
                Scheduler::GreedyThenYoungest => 1 + core.heads.len() - at,
            };
            let rank = if core.heads[at].warp == core.last { 0 } else { age };
            (core.issuable_at(at), rank)
        });
        best.map(|at| (core.issuable_at(at), core.heads[at].warp))
    }

    #[test]
    fn the_choice_is_that_of_a_look_at_every_warp() {
        let uses = [Unit::Fma, Unit::Alu, Unit::Special].map(|unit| UnitUse {
            unit: Some(unit),
            other: (unit == Unit::Fma).then_some(Unit::FmaSecond),
            interval: f64::from(unit as u8 + 1),
            is_shared: false,
        });
        for scheduler in [Scheduler::GreedyThenOldest, Scheduler::GreedyThenYoungest] {
            let mut numbers = Numbers(7);
            let mut core = SubCore::new();
            let mut units = Vec::new();
            for _ in 0..20_000 {
                let warps = core.heads.len() as u64;
                if warps < 3 || numbers.below(50) == 0 && warps < 16 {
                    // A place of a warp that ended may be taken again.
                    let free = (0..).find(|&warp| core.heads.iter().all(|head| head.warp != warp));
                    let (use_of, warp) = (numbers.below(3) as usize, free.unwrap_or(0));
                    let needs = Needs::new(&uses[use_of], false);
                    units.push(use_of);
                    core.admit(Head { ready: core.next + numbers.below(40), warp, needs });
                }
                if numbers.below(4) == 0 {
                    // A warp goes on behind a barrier.
                    let at = numbers.below(core.heads.len() as u64) as usize;
                    if core.heads[at].ready == NEVER {
                        core.heads[at].ready = core.next + numbers.below(8);
                        core.reconsider();
                    }
                }
                if core.is_stale {
                    core.find_candidate(scheduler);
                }
                let Candidate { at, clock } = core.candidate;
                if clock == NEVER {
                    assert_eq!(by_definition(&core, scheduler), None);
                    continue;
                }
                assert_eq!(by_definition(&core, scheduler), Some((clock, core.heads[at].warp)));
                if numbers.below(10) == 0 {
                    // Somebody else takes the unit.
                    core.take_unit(&uses[units[at]], clock);
                    core.reconsider();
                    continue;
                }
                if core.in_clock > 0 && clock > core.next {
                    (core.in_clock, core.next) = (0, core.next + 1);
                }
                let pairs = core.in_clock == 0 && numbers.below(4) == 0;
                core.take_slot(at, clock, pairs);
                core.take_unit(&uses[units[at]], clock);
                units[at] = numbers.below(3) as usize;
                let stall = if pairs { 0 } else { 1 + numbers.below(6) };
                let head = &mut core.heads[at];
                head.needs = Needs::new(&uses[units[at]], numbers.below(3) == 0);
                head.ready = if numbers.below(20) == 0 { NEVER } else { clock + stall };
                if numbers.below(40) == 0 {
                    core.dismiss(at);
                    units.remove(at);
                }
                if numbers.below(3) == 0 {
                    core.gates.set_queue(core.next + 5);
                }
            }
        }
    }
}
