//! What the clocks of warps and issue slots were spent on.
//!
//! Each clock of a warp has one state. A sub-core's slot that nobody issued in is charged to the
//! warp that issues next, under the state in which that warp was. So the slots add up to the time.
//! Slots in front of a new warp are shared between the launch and the server behind the SM: the
//! server gets the share of the time in which it works.

use super::Sm;
use super::prepared::Op;
use super::scoreboard::Event;
use super::sub_core::Head;
use crate::clock::time_of;
use crate::memory::Served;
use crate::states::{Clocks, State};

impl Sm<'_> {
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
        let warp = &self.warps[warp as usize];
        let unit_state = if !op.is_queued {
            State::MathPipe
        } else if op.is_global {
            State::LgThrottle
        } else {
            State::MioThrottle
        };
        // A queue is full because of what keeps the path; the warp's own state is the queue.
        let held = self.load_store.held();
        // From the last clock backwards: another warp's turn, the unit, fetch, events, the stall.
        let own = &mut self.by_instruction[warp.pc as usize];
        own.add(State::Selected, 1.0);
        let idle_from = if core.last == u32::MAX { 0 } else { core.next.min(clock) };
        let slots = &mut core.slots;
        if clock >= idle_from {
            slots.add(State::Selected, f64::from(u8::from(core.in_clock == 0)));
        }
        let mut until = clock;
        let mut charge = |from: u64, state: Option<State>, event: Option<&Event>| {
            let from = from.min(until);
            if until > from {
                let clocks = time_of(until - from);
                let idle = time_of(until.saturating_sub(idle_from.max(from)));
                match (state, event) {
                    (Some(state), _) => {
                        own.add(state, clocks);
                        let is_queue = [State::LgThrottle, State::MioThrottle].contains(&state);
                        if idle > 0.0 && is_queue {
                            held.divide(idle, state, |state, clocks| slots.add(state, clocks));
                        } else if idle > 0.0 {
                            slots.add(state, idle);
                        }
                    }
                    (None, Some(event)) => {
                        event.divide(clocks, |state, clocks| own.add(state, clocks));
                        if idle > 0.0 {
                            event.divide(idle, |state, clocks| slots.add(state, clocks));
                        }
                    }
                    (None, None) => {}
                }
            }
            until = from;
        };
        charge(ready.max(unit_free), Some(State::NotSelected), None);
        charge(ready, Some(unit_state), None);
        charge(warp.fetched, Some(State::ConstantMiss), None);
        charge(warp.resume.max(warp.event.done), Some(State::NoInstruction), None);
        charge(warp.resume, None, Some(&warp.event));
        let stalled = warp.issued_at + u64::from(warp.stall).max(1);
        match warp.blocked_since() {
            Some(_) => charge(stalled, Some(State::Barrier), None),
            None if warp.is_new => {
                // The clocks before its start are nobody's. In those in which the L2 or DRAM works,
                // an earlier start would only have made its queue longer.
                let idle = until.saturating_sub(idle_from) as f64;
                let (served, awaited) = served.busiest();
                let busy = (served / clock.max(1) as f64).min(1.0);
                slots.add(awaited, idle * busy);
                slots.add(State::Launch, idle * (1.0 - busy));
                return;
            }
            None => charge(stalled, None, Some(&warp.awaited)),
        }
        charge(warp.issued_at + 1, Some(State::Wait), None);
    }

    /// Clocks of each sub-core by state, averaged, up to the clock `end`. Behind the last warp,
    /// atomics that nobody waits for may still queue.
    pub(crate) fn slots(&self, end: f64) -> Clocks {
        let mut all = Clocks::default();
        let queued = self.load_store.queued_at_end();
        for core in &self.sub_cores {
            for (sum, clocks) in all.0.iter_mut().zip(core.slots.0) {
                *sum += clocks;
            }
            let idle = (end - core.slots.total()).max(0.0);
            all.add(State::L2Queue, idle.min(queued));
            all.add(State::Tail, idle - idle.min(queued));
        }
        all.scaled(1.0 / self.sub_cores.len() as f64)
    }
}
