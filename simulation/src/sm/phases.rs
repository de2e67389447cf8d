//! Phases of mbarriers and named barriers: what each of them waits for, and who waits for it.
//!
//! The record says which phase each arrival, copy and wait belongs to. A phase ends when all that
//! belongs to it has happened. A warp that waits for one whose end is not known yet is blocked, as
//! at a barrier of its CTA.

use super::Sm;
use super::blocked::Blocked;
use super::scoreboard::Event;
use crate::code::{AccessKind, Action, MemoryAccess, TensorMemoryAction};
use crate::launch::{Beside, CtaTrace, Launch};
use crate::observer::Observer;
use crate::states::State;
use crate::walk::{QueueUses, Walk};

/// The phases of a resident CTA.
#[derive(Clone, Debug, Default)]
pub(super) struct Phases<T> {
    phases: Vec<Phase<T>>,
    /// Warps that wait, each for a phase.
    waiting: Vec<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    phase: u32,
    warp: u32,
}

/// A phase.
#[derive(Clone, Copy, Debug, Default)]
struct Phase<T> {
    /// Arrivals and copies that have not been issued.
    pending: u32,
    /// The last of those that have.
    last: Event<T>,
}

impl<T: Copy + Default> Phases<T> {
    /// Those of a CTA that begins, with the arrivals that each will see.
    pub(super) fn begin(&mut self, expected: &[u32]) {
        let phase = |&pending: &u32| Phase { pending, last: Event::default() };
        self.phases.clear();
        self.phases.extend(expected.iter().map(phase));
        self.waiting.clear();
    }

    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A warp does not wait any longer.
    pub(super) fn forget(&mut self, warp: u32) {
        self.waiting.retain(|waiter| waiter.warp != warp);
    }
}

/// The arrivals and copies that each phase of a CTA will see; those of other CTAs are not known.
pub(super) fn expected(launch: &Launch, uses: &QueueUses, cta: &CtaTrace) -> Vec<u32> {
    let mut expected = Vec::new();
    if !launch.code.instructions.iter().any(|instruction| tells(&instruction.action)) {
        return expected;
    }
    for warp in &cta.warps {
        for step in Walk::new(&launch.code, uses, warp) {
            let Some(Beside::Phase(phase)) = step.request.map(|request| request.beside) else {
                continue;
            };
            let phase = phase as usize;
            if expected.len() <= phase {
                expected.resize(phase + 1, 0);
            }
            expected[phase] += u32::from(tells(&step.instruction.action));
        }
    }
    expected
}

/// True if an instruction tells a phase of an arrival or of copied bytes.
const fn tells(action: &Action) -> bool {
    matches!(
        action,
        Action::CtaBarrier { queue: Some(_) }
            | Action::CtaArrive { queue: Some(_) }
            | Action::ArriveAtPhase { .. }
            | Action::CommitCopies { .. }
            | Action::Access(MemoryAccess { kind: AccessKind::BulkCopy, .. })
            | Action::TensorMemory(TensorMemoryAction::Commit { .. })
    )
}

impl<O: Observer> Sm<'_, O> {
    /// Something happens that a phase waits for. Warps go on behind the last of its kind.
    pub(super) fn tell_phase(&mut self, cta: u32, beside: Beside, event: Event<O::Tag>) {
        let Beside::Phase(phase) = beside else { return };
        let all = &mut self.ctas[cta as usize].phases;
        let Some(this) = all.phases.get_mut(phase as usize) else { return };
        this.pending = this.pending.saturating_sub(1);
        if event.done >= this.last.done {
            this.last = event;
        }
        if this.pending == 0 && all.is_awaited() {
            self.end_phase(cta, phase);
        }
    }

    /// Lets the warps go on that wait for a phase.
    fn end_phase(&mut self, cta: u32, phase: u32) {
        let all = &mut self.ctas[cta as usize].phases;
        let last = all.phases[phase as usize].last;
        let waiting = std::mem::take(&mut all.waiting);
        let (done, others): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|waiter| waiter.phase == phase);
        self.ctas[cta as usize].phases.waiting = others;
        for Waiting { warp: place, .. } in done {
            let seen = self.seen(last);
            let warp = &mut self.warps[place as usize];
            warp.blocked = None;
            warp.awaited = seen;
            let resume = warp.resume.max(seen.done);
            let sub_core = warp.sub_core as usize;
            self.fetch(place, resume);
            self.sub_cores[sub_core].reconsider();
        }
    }

    /// A warp asks for a phase. Returns the clock from which it goes on; blocks it if that is not
    /// known yet.
    pub(super) fn await_phase(
        &mut self,
        place: u32,
        beside: Beside,
        clock: u64,
    ) -> (u64, Option<Blocked>) {
        let Beside::Phase(phase) = beside else { return (clock, None) };
        let cta = self.warps[place as usize].cta as usize;
        let all = &mut self.ctas[cta].phases;
        let Some(this) = all.phases.get(phase as usize).copied() else { return (clock, None) };
        if this.pending > 0 {
            all.waiting.push(Waiting { phase, warp: place });
            self.warps[place as usize].arrived = clock;
            return (clock, Some(Blocked::Phase));
        }
        if this.last.done <= clock {
            return (clock, None);
        }
        let seen = self.seen(this.last);
        self.warps[place as usize].awaited = seen;
        (seen.done, None)
    }

    /// The end of a phase as a warp sees it.
    fn seen(&self, last: Event<O::Tag>) -> Event<O::Tag> {
        let latency = self.parameters.synchronisation.mbarrier_latency;
        Event { done: last.done + latency as u64, span: last.span + latency, ..last }
    }

    /// Lets the warps of a CTA go on that wait for phases which nothing can end any more.
    pub(super) fn abandon_phases(&mut self, cta: u32) {
        let waiting = self.ctas[cta as usize].phases.waiting.first().copied();
        let Some(Waiting { phase, .. }) = waiting else { return };
        let this = &mut self.ctas[cta as usize].phases.phases[phase as usize];
        this.pending = 0;
        if this.last.done < self.clock {
            this.last = Event::of(State::Barrier, self.clock, self.clock, O::Tag::default());
        }
        self.end_phase(cta, phase);
    }
}
