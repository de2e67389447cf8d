//! What the clocks of warps and issue slots were spent on.
//!
//! Each clock of a warp has one state. A sub-core's slot that nobody issued in is charged to the
//! warp that issues next, under the state in which that warp was. So the slots add up to the time.
//! Slots in front of a new warp are shared between the launch and the server behind the SM: the
//! server gets the share of the time in which it works.

use super::Sm;
use super::held::Held;
use super::prepared::Op;
use super::scoreboard::Event;
use super::sub_core::Head;
use crate::clock::time_of;
use crate::memory::Served;
use crate::observer::{Observer, Spent};
use crate::states::{Clocks, State};

/// What a warp waits for.
#[derive(Clone, Copy)]
enum Cause<'a, T> {
    /// All of the clocks are of one state; and the instruction that the warp waits for.
    State(State, T),
    /// An event, which divides them.
    Event(&'a Event<T>),
}

impl<T: Copy> Cause<'_, T> {
    /// The instruction that the warp waits for.
    fn by(&self) -> T {
        match self {
            Self::State(_, by) => *by,
            Self::Event(event) => event.by,
        }
    }

    /// Divides clocks among states.
    #[inline]
    fn divide(&self, clocks: f64, mut add: impl FnMut(State, f64)) {
        match self {
            Self::State(state, _) => add(*state, clocks),
            Self::Event(event) => event.divide(clocks, add),
        }
    }
}

/// Divides the clocks before an issue among states, from the last one backwards.
struct Charge<'a, O: Observer> {
    /// Those of the instruction that issues.
    own: &'a mut Clocks,
    /// Those of the sub-core's slots.
    slots: &'a mut Clocks,
    /// A queue is full because of what keeps the path; the warp's own state is the queue.
    held: &'a Held,
    observer: &'a mut O,
    /// The place of the warp.
    place: u32,
    /// The clock from which the sub-core has issued nothing.
    idle_from: u64,
    /// The clock behind the last one that is left.
    until: u64,
}

impl<O: Observer> Charge<'_, O> {
    /// Charges the clocks from one on that are left.
    // Out of line, its calls are three in a hundred of the instructions of a prediction.
    #[inline(always)]
    fn since(&mut self, from: u64, cause: Cause<'_, O::Tag>) {
        let Self { own, slots, held, observer, place, idle_from, until } = self;
        let from = from.min(*until);
        if *until > from {
            let mut at = time_of(from);
            let spend = |state, clocks| {
                own.add(state, clocks);
                let (from, by) = (at, cause.by());
                at += clocks;
                observer.warp_spends(*place, Spent { state, from, until: at, by });
            };
            cause.divide(time_of(*until - from), spend);
            let idle = time_of(until.saturating_sub(from.max(*idle_from)));
            let mut at = time_of(*until) - idle;
            let lose = |state, clocks| {
                slots.add(state, clocks);
                let from = at;
                at += clocks;
                observer.slots_go_to(Spent { state, from, until: at, by: () });
            };
            match cause {
                _ if idle <= 0.0 => {}
                Cause::State(queue @ (State::LgThrottle | State::MioThrottle), _) => {
                    held.divide(idle, queue, lose);
                }
                Cause::State(..) | Cause::Event(_) => cause.divide(idle, lose),
            }
        }
        *until = from;
    }

    /// Charges the slots before the start of a new warp, which are nobody's. In those in which the
    /// L2 or DRAM works, an earlier start would only have made its queue longer.
    fn before_start(self, clock: u64, served: Served) {
        let idle = self.until.saturating_sub(self.idle_from) as f64;
        let (served, awaited) = served.busiest();
        let busy = (served / clock.max(1) as f64).min(1.0);
        let mut at = time_of(self.idle_from);
        for (state, clocks) in [(awaited, idle * busy), (State::Launch, idle * (1.0 - busy))] {
            self.slots.add(state, clocks);
            let from = at;
            at += clocks;
            self.observer.slots_go_to(Spent { state, from, until: at, by: () });
        }
    }
}

impl<O: Observer> Sm<'_, O> {
    /// Divides the clocks since the warp's last issue, and those that the sub-core issued nothing,
    /// among states.
    pub(super) fn account(
        &mut self,
        sub_core: usize,
        at: usize,
        op: &Op,
        clock: u64,
        served: Served,
    ) {
        let core = &mut self.sub_cores[sub_core];
        let Head { ready, warp, needs } = core.heads[at];
        let unit_free = core.gates.open(needs);
        let place = warp;
        let warp = &self.warps[place as usize];
        let unit_state = if !op.is_queued {
            State::MathPipe
        } else if op.is_global {
            State::LgThrottle
        } else {
            State::MioThrottle
        };
        let held = self.load_store.held();
        // From the last clock backwards: another warp's turn, the unit, fetch, events, the stall.
        let own = &mut self.by_instruction[warp.pc as usize];
        own.add(State::Selected, 1.0);
        let idle_from = if core.has_issued() { core.next.min(clock) } else { 0 };
        let slots = &mut core.slots;
        let observer = &mut self.observer;
        if clock >= idle_from && core.in_clock == 0 {
            slots.add(State::Selected, 1.0);
            observer.slots_go_to(Spent::new(State::Selected, clock, clock + 1));
        }
        let mut charge = Charge { own, slots, held, observer, place, idle_from, until: clock };
        let nobody = O::Tag::default();
        charge.since(ready.max(unit_free), Cause::State(State::NotSelected, nobody));
        charge.since(ready, Cause::State(unit_state, nobody));
        charge.since(warp.fetched, Cause::State(State::ConstantMiss, nobody));
        let event_done = warp.resume.max(warp.event.done);
        charge.since(event_done, Cause::State(State::NoInstruction, nobody));
        charge.since(warp.resume, Cause::Event(&warp.event));
        let stalled = warp.issued_at + u64::from(warp.stall).max(1);
        match warp.blocked_since() {
            Some(_) => charge.since(stalled, Cause::State(State::Barrier, warp.released_by)),
            None if warp.is_new => return charge.before_start(clock, served),
            None => charge.since(stalled, Cause::Event(&warp.awaited)),
        }
        charge.since(warp.issued_at + 1, Cause::State(State::Wait, nobody));
    }

    /// Tells of the slots behind the last issue of each sub-core, as [`Self::slots`] counts them:
    /// up to the clock at which the CTAs have ended, and `behind` clocks more. Tells of that end,
    /// too.
    pub(crate) fn tell_end(&mut self, ended: f64, behind: f64) {
        let end = ended + behind;
        let queued = self.load_store.queued_at_end();
        for (sub_core, core) in self.sub_cores.iter().enumerate() {
            let mut from = core.slots.total();
            let idle = (end - from).max(0.0);
            let parts =
                [(State::L2Queue, idle.min(queued)), (State::Tail, idle - idle.min(queued))];
            for (state, clocks) in parts {
                let until = from + clocks;
                self.observer.slots_go_to(Spent { state, from, until, by: () });
                from = until;
            }
            self.observer.sub_core_ends(sub_core);
        }
        let awaited = (self.last_store() > self.clock).then(|| self.last_store_by());
        self.observer.sm_ends(ended, end, awaited);
    }

    /// Clocks of each sub-core that had a warp by state, averaged, up to the clock `end`. Behind
    /// the last warp, atomics that nobody waits for may still queue.
    pub(crate) fn slots(&self, end: f64) -> Clocks {
        let mut all = Clocks::default();
        let queued = self.load_store.queued_at_end();
        // Where a CTA of one warp is alone on the SM, three of four sub-cores say nothing of it.
        let used = self.sub_cores.iter().filter(|core| core.has_issued()).count();
        for core in self.sub_cores.iter().filter(|core| used == 0 || core.has_issued()) {
            for (sum, clocks) in all.0.iter_mut().zip(core.slots.0) {
                *sum += clocks;
            }
            let idle = (end - core.slots.total()).max(0.0);
            all.add(State::L2Queue, idle.min(queued));
            all.add(State::Tail, idle - idle.min(queued));
        }
        let averaged = if used == 0 { self.sub_cores.len() } else { used };
        all.scaled(1.0 / averaged as f64)
    }
}
