//! Barriers of a CTA: that of all its warps, and named ones of some of them.
//!
//! The record says which arrivals at a named barrier belong together. They are a phase, as those at
//! an mbarrier are. A guarded arrival that no lane takes part in has none.

use super::Sm;
use super::blocked::Blocked;
use super::scoreboard::Event;
use crate::launch::Beside;
use crate::observer::Observer;
use crate::states::State;

impl<O: Observer> Sm<'_, O> {
    /// A warp arrives at the barrier of all, or at a `named` one, and waits for the others. Returns
    /// the clock from which it goes on, unless that is not known yet.
    pub(super) fn meet(
        &mut self,
        place: u32,
        named: Option<Beside>,
        clock: u64,
    ) -> (u64, Option<Blocked>) {
        if named.is_some_and(|beside| !matches!(beside, Beside::Phase(_))) {
            return (clock, None);
        }
        let told = self.take_arrival(clock);
        let warp = &mut self.warps[place as usize];
        warp.arrived = clock;
        let cta = warp.cta;
        if let Some(beside) = named {
            self.tell_meeting(cta, beside, told);
            return self.await_phase(place, beside, clock);
        }
        let cta = &mut self.ctas[cta as usize];
        cta.note_arrival(told, self.issuing);
        cta.waiting.push(place);
        (clock, Some(Blocked::Barrier))
    }

    /// A warp arrives and goes on.
    pub(super) fn arrive(&mut self, place: u32, named: Option<Beside>, clock: u64) {
        let cta = self.warps[place as usize].cta;
        if let Some(beside) = named {
            return self.tell_meeting(cta, beside, clock);
        }
        let state = &mut self.ctas[cta as usize];
        state.arrived += 1;
        state.note_arrival(clock, self.issuing);
        self.release_if_complete(cta);
    }

    fn tell_meeting(&mut self, cta: u32, beside: Beside, clock: u64) {
        // Behind the last arrival comes the latency of mbarriers. That of barriers is another one.
        let synchronisation = &self.parameters.synchronisation;
        let more = synchronisation.barrier_latency - synchronisation.mbarrier_latency;
        let clock = clock.saturating_add_signed(more as i64);
        self.tell_phase(cta, beside, Event::of(State::Barrier, clock, clock, self.issuing));
    }

    /// One unit takes the arrivals of all CTAs. An H200 with eight CTAs of eight warps takes 2.1
    /// clocks for each, and 2.0 with one CTA.
    fn take_arrival(&mut self, clock: u64) -> u64 {
        let interval = self.parameters.synchronisation.barrier_arrival_interval as u64;
        self.barrier_free = clock.max(self.barrier_free + interval);
        self.barrier_free
    }

    pub(super) fn release_if_complete(&mut self, cta: u32) {
        let state = &self.ctas[cta as usize];
        let there = state.waiting.len() as u32 + state.arrived;
        if !state.waiting.is_empty() && there >= state.live {
            self.release(cta, state.last_arrival);
        }
    }

    pub(super) fn release(&mut self, cta: u32, clock: u64) {
        let latency = self.parameters.synchronisation.barrier_latency as u64;
        let state = &mut self.ctas[cta as usize];
        state.arrived = 0;
        let by = state.last_arrival_by;
        let waiting = std::mem::take(&mut state.waiting);
        for &place in &waiting {
            let warp = &mut self.warps[place as usize];
            warp.released_by = by;
            let resume = warp.resume.max(clock + latency);
            self.fetch(place, resume);
            let sub_core = self.warps[place as usize].sub_core as usize;
            self.sub_cores[sub_core].reconsider();
        }
        let state = &mut self.ctas[cta as usize];
        state.waiting = waiting;
        state.waiting.clear();
    }
}
