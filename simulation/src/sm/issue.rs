//! What happens when an instruction issues.

use super::NEVER;
use super::Sm;
use super::blocked::Blocked;
use super::load_store::{Asker, Way};
use super::prepared::Op;
use super::scoreboard::{Done, Event};
use super::units::Taken;
use super::warp::{Product, Warp};
use crate::clock::{clock_at, time_of};
use crate::code::{AccessKind, Action, Class, MemoryAccess, Space};
use crate::launch::Beside;
use crate::memory::{Backlogs, MemorySystem};
use crate::observer::{Issue, Observer, Resource, Work};
use crate::parameters::Unit;
use crate::states::State;

/// The consequences of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect<T> {
    /// Its result, and the clock from which its operands may be overwritten.
    pub(super) way: Way<T>,
    /// The clock from which the warp may go on, beyond the stall count.
    pub(super) resume: u64,
    blocked: Option<Blocked>,
}

impl<O: Observer> Sm<'_, O> {
    /// Issues the next instruction of the warp at a place of a sub-core.
    #[inline]
    pub(super) fn issue(
        &mut self,
        sub_core: usize,
        at: usize,
        clock: u64,
        memory: &mut MemorySystem<'_>,
    ) {
        let core = &mut self.sub_cores[sub_core];
        if core.in_clock > 0 && clock > core.next {
            // The second half of that clock was not used.
            core.in_clock = 0;
            core.next += 1;
        }
        let place = core.heads[at].warp;
        let pc = self.warps[place as usize].pc;
        let code = self.code;
        let op = &code.ops[pc as usize];
        if self.accounts {
            self.account(sub_core, at, op, clock, memory.served());
        }
        self.issued += 1;
        self.issuing = self.observer.issues(Issue {
            warp: place,
            sub_core: sub_core as u32,
            instruction: pc,
            unit: op.units.unit,
            is_queued: op.is_queued,
            clock,
        });
        self.load_store.issuing = self.issuing;
        let pairs = self.occupy(sub_core, at, op, clock);
        let before = self.backlogs(memory);
        let effect = self.perform((sub_core, place), op, clock, memory);
        self.tell_work(sub_core, op, clock, before, memory);
        let stall = u64::from(op.control.stall).max(u64::from(!pairs));
        let resume = effect.resume.max(clock + stall);
        let Way { result, operands } = effect.way;
        let counted = code.counted;
        let warp = &mut self.warps[place as usize];
        if let Some(barrier) = op.control.write_barrier {
            warp.scoreboard.raise(barrier, result, counted >> (barrier & 63) & 1 == 1);
        }
        if let Some(barrier) = op.control.read_barrier {
            let span = operands.saturating_sub(clock) as f64;
            let latency = self.parameters.load_store.operand_latency;
            let waits = [(span - latency).max(0.0), 0.0, 0.0];
            let latency = Some(State::ShortScoreboard);
            let read = Event { done: operands, span, waits, latency, by: result.by };
            warp.scoreboard.raise(barrier, read, counted >> (barrier & 63) & 1 == 1);
        }
        warp.note_issue(clock);
        warp.resume = resume;
        warp.blocked = effect.blocked;
        if !warp.advance(code, op.control.stall) {
            if effect.blocked.is_some() {
                // A path may be cut at a barrier.
                let cta = warp.cta;
                self.ctas[cta as usize].waiting.retain(|&waiting| waiting != place);
                self.ctas[cta as usize].phases.forget(place);
            }
            self.end_warp(place, clock);
            return;
        }
        self.fetch(place, resume);
        let Warp { cta, sub_core, at_sub_core, .. } = self.warps[place as usize];
        if effect.blocked.is_some() {
            self.sub_cores[sub_core as usize].heads[at_sub_core as usize].ready = NEVER;
        }
        if effect.blocked == Some(Blocked::Barrier) {
            self.release_if_complete(cta);
        }
    }

    /// Takes the issue slot and the unit. Returns true if another instruction of the warp may issue
    /// in the same clock.
    #[inline]
    fn occupy(&mut self, sub_core: usize, at: usize, op: &Op, clock: u64) -> bool {
        let width = self.parameters.issue.issue_width;
        let core = &mut self.sub_cores[sub_core];
        let pairs = width > 1 && op.control.stall == 0 && core.in_clock + 1 < width;
        core.take_slot(at, clock, pairs);
        if !op.units.is_shared {
            let taken = core.take_unit(&op.units, clock);
            if let Some(unit) = taken.filter(|_| O::WATCHES) {
                let free = core.units.free(unit);
                let copies = self.parameters.issue.sub_partitions.max(1);
                self.tell_unit(unit, copies, free, op);
            }
        } else if let Some(Taken { unit, until }) = self.shared_units.take(&op.units, clock) {
            for core in &mut self.sub_cores {
                core.gates.set_shared_unit(unit, until);
            }
            if O::WATCHES {
                self.tell_unit(unit, 1, self.shared_units.free(unit), op);
            }
        }
        pairs
    }

    /// Tells of a unit that works on an instruction until it is free again.
    fn tell_unit(&mut self, unit: Unit, copies: u32, free: f64, op: &Op) {
        let from = free - op.units.interval;
        self.observer.works(Work { resource: Resource::Unit(unit), copies, from, until: free });
    }

    /// How far the servers of accesses are behind; zero if nobody watches.
    #[inline]
    fn backlogs(&self, memory: &MemorySystem<'_>) -> [f64; 3] {
        if !O::WATCHES {
            return [0.0; 3];
        }
        let Backlogs { l2, dram } = memory.backlogs();
        [self.load_store.data_backlog(), l2, dram]
    }

    /// Tells of the servers that work for the instruction that issues, by how far they were behind
    /// before it.
    #[inline]
    fn tell_work(
        &mut self,
        sub_core: usize,
        op: &Op,
        clock: u64,
        before: [f64; 3],
        memory: &MemorySystem<'_>,
    ) {
        if !O::WATCHES || !op.is_queued {
            return;
        }
        let after = self.backlogs(memory);
        let resources = [Resource::DataPath, Resource::L2, Resource::Dram];
        for (resource, (before, until)) in resources.into_iter().zip(before.into_iter().zip(after))
        {
            let from = before.max(time_of(clock));
            if until > from {
                self.observer.works(Work { resource, copies: 1, from, until });
            }
        }
        if let Some(leaves) = self.load_store.leaves_queue(sub_core) {
            let (resource, copies) = (Resource::LoadStoreQueue, 1);
            let (from, until) = (time_of(clock), time_of(leaves));
            self.observer.works(Work { resource, copies, from, until });
        }
    }

    #[inline]
    fn perform(
        &mut self,
        (sub_core, place): (usize, u32),
        op: &Op,
        clock: u64,
        memory: &mut MemorySystem<'_>,
    ) -> Effect<O::Tag> {
        let mut effect = Effect {
            way: Way {
                result: Event {
                    done: clock + op.latency_clocks,
                    span: op.latency,
                    waits: [0.0; 3],
                    latency: Some(State::ShortScoreboard),
                    by: self.issuing,
                },
                operands: clock + op.operand_clocks,
            },
            resume: clock,
            blocked: None,
        };
        match op.action {
            Action::Compute if op.class == Class::Shuffle => {
                effect.way = self.load_store.shuffle(sub_core, clock);
                let queue_free = self.load_store.free_at(sub_core);
                self.sub_cores[sub_core].gates.set_queue(queue_free);
            }
            Action::Multiply { is_asynchronous: true, ends_group, .. } => {
                self.multiply_beside((sub_core, place), clock, ends_group, &mut effect);
            }
            Action::Compute | Action::Multiply { .. } | Action::Exit => {}
            Action::CtaArrive { queue } => {
                let named = queue.map(|_| self.beside(place, queue));
                self.arrive(place, named, clock);
            }
            Action::Access(access) => {
                effect.way = self.access((sub_core, place), &access, clock, memory);
            }
            Action::CtaBarrier { queue } => {
                let named = queue.map(|_| self.beside(place, queue));
                (effect.resume, effect.blocked) = self.meet(place, named, clock);
            }
            Action::AwaitCounter { counter, pending } => {
                let warp = &mut self.warps[place as usize];
                warp.awaited = warp.scoreboard.await_all_but(counter, pending.into());
                effect.resume = warp.awaited.done;
            }
            Action::CommitCopies { queue } => {
                let beside = self.beside(place, queue);
                let warp = &self.warps[place as usize];
                effect.way.result = warp.copied;
                let (cta, copied) = (warp.cta, warp.copied);
                self.tell_phase(cta, beside, Event { latency: Some(State::Copies), ..copied });
            }
            Action::ArriveAtPhase { queue } => {
                let beside = self.beside(place, queue);
                let cta = self.warps[place as usize].cta;
                self.tell_phase(cta, beside, Event::of(State::Barrier, clock, clock, self.issuing));
            }
            Action::AwaitPhase { queue } => {
                let beside = self.beside(place, queue);
                (effect.resume, effect.blocked) = self.await_phase(place, beside, clock);
            }
            Action::TensorMemory(action) => self.tensor_memory(place, action, clock, &mut effect),
            Action::AwaitProducts { pending } => {
                let warp = &mut self.warps[place as usize];
                let last = warp.take_products(pending.into()).filter(|last| last.clock > clock);
                let last = last.unwrap_or(Done { clock, by: O::Tag::default() });
                warp.awaited = Event::of(State::Products, clock, last.clock, last.by);
                effect.resume = last.clock;
            }
            Action::Fence(scope) => {
                let clocks = self.parameters.synchronisation.fences[scope as usize];
                let waited = self.load_store.fence(sub_core, clock);
                let queue_free = self.load_store.free_at(sub_core);
                self.sub_cores[sub_core].gates.set_queue(queue_free);
                effect.resume = clock_at(time_of(clock) + waited + clocks);
                let awaited = Event::of(State::Membar, clock, effect.resume, self.issuing);
                self.warps[place as usize].awaited = awaited;
            }
        }
        effect
    }

    /// A product that runs beside the warp. The queue in front of the tensor core has an end.
    fn multiply_beside(
        &mut self,
        (sub_core, place): (usize, u32),
        clock: u64,
        ends_group: bool,
        effect: &mut Effect<O::Tag>,
    ) {
        let tensor = &self.parameters.tensor;
        let free = self.sub_cores[sub_core].units.free(Unit::Tensor);
        effect.way.result.done = clock_at(free + tensor.tensor_latency);
        let warp = &mut self.warps[place as usize];
        let done = Done { clock: effect.way.result.done, by: self.issuing };
        warp.products.push_back(Product { done, ends_group });
        let most = tensor.tensor_queue.max(1) as usize;
        if let Some(first) = warp.products.len().checked_sub(1 + most) {
            let Done { clock: done, by } = warp.products[first].done;
            effect.resume = effect.resume.max(done);
            warp.awaited = Event::of(State::Products, clock, effect.resume, by);
        }
    }

    fn access(
        &mut self,
        (sub_core, place): (usize, u32),
        access: &MemoryAccess,
        clock: u64,
        memory: &mut MemorySystem<'_>,
    ) -> Way<O::Tag> {
        let warp = &mut self.warps[place as usize];
        let (cta, pc) = (warp.cta, warp.pc);
        let request = warp.next_request(access.queue, self.queues.shared()).copied();
        let beside = request.map(|request| request.beside).unwrap_or_default();
        // Warps are in step: where another one asked then, this one was, too.
        let ago = request.and_then(|request| request.fetched_ago);
        let fetched_since = ago.and_then(|ago| warp.clocks_since(ago, clock));
        let request = request.as_ref();
        let asker = Asker { sub_core, cta, fetched_since };
        let mut way = self.load_store.access(asker, clock, access, request, memory);
        let queue_free = self.load_store.free_at(sub_core);
        self.sub_cores[sub_core].gates.set_queue(queue_free);
        if access.space == Space::Constant
            && let Some(there) = self.constants.load(pc as usize, request, clock as f64)
            && clock_at(there) > way.result.done
        {
            way.result = Event::of(State::ConstantMiss, clock, clock_at(there), self.issuing);
        }
        if O::WATCHES && request.is_some_and(|request| request.waits_for_l2(access)) {
            let (resource, copies) = (Resource::Misses, 1);
            let (from, until) = (time_of(clock), time_of(way.result.done));
            self.observer.works(Work { resource, copies, from, until });
        }
        match access.kind {
            AccessKind::AsyncCopy { .. } | AccessKind::BulkStore | AccessKind::BulkReduction => {
                if way.result.done > warp.copied.done {
                    warp.copied = way.result;
                }
                way.result.done = way.operands;
            }
            AccessKind::BulkCopy => {
                self.tell_phase(cta, beside, Event { latency: Some(State::Copies), ..way.result });
                way.result.done = way.operands;
            }
            AccessKind::Load | AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => {}
        }
        way
    }

    /// What the next execution of an instruction brings about besides.
    fn beside(&mut self, place: u32, queue: Option<u32>) -> Beside {
        let warp = &mut self.warps[place as usize];
        let request = warp.next_request(queue, self.queues.shared());
        request.map(|request| request.beside).unwrap_or_default()
    }
}
