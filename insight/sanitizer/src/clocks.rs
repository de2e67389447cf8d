//! Vector clocks of a cluster's threads: the accesses of which each thread knows.
//!
//! Every warp has a *tick* that grows when one of its lanes publishes its actions: at a barrier, an
//! mbarrier, a release. An access is stamped with its thread and its warp's tick. It happened
//! before the present action of thread `u` if `u` has learnt of that thread at that tick or a later
//! one. A barrier of all threads begins a new *generation* instead: every access of earlier
//! generations has happened before.
//!
//! Asynchronous copies that tell an mbarrier of their bytes are *agents*, with clocks behind those
//! of the threads. Only a thread that waits for the mbarrier learns of them. No barrier of threads
//! passes that knowledge on.
//!
//! Threads that learnt something together share the knowledge, so that a barrier of a warp copies
//! one vector.

use std::ops::Range;
use std::sync::Arc;

/// Ticks that have been learnt of each thread, then of each agent; short vectors end in zeros.
pub(crate) type Knowledge = Vec<u32>;

/// The clocks of a cluster's threads.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// Tick of each warp, CTA after CTA.
    ticks: Vec<u32>,
    /// Knowledge of each thread in this generation; nothing at first.
    known: Vec<Option<Arc<Knowledge>>>,
    generation: u32,
    /// Tick of each agent.
    agents: Vec<u32>,
    /// Ticks of each agent that every thread knew when the generation began.
    agents_known: Vec<u32>,
}

/// Logical time of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// A thread, or an agent behind the threads.
    pub(crate) owner: u32,
    pub(crate) tick: u32,
    pub(crate) generation: u32,
}

impl Clocks {
    /// Forgets everything; there are `warps` warps. Generations go on, so that no old stamp is
    /// taken for a new one.
    pub(crate) fn reset(&mut self, warps: usize) {
        self.ticks.clear();
        self.ticks.resize(warps, 1);
        self.known.clear();
        self.known.resize(32 * warps, None);
        self.generation = self.generation.wrapping_add(1);
        self.agents.clear();
        self.agents_known.clear();
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    pub(crate) fn tick(&self, warp: u32) -> u32 {
        self.ticks[warp as usize]
    }

    /// Returns the stamp of a thread's present action.
    pub(crate) fn now(&self, thread: u32) -> Stamp {
        let tick = self.ticks[(thread / 32) as usize];
        Stamp { owner: thread, tick, generation: self.generation }
    }

    /// Returns true if the event of `stamp` happened before the present event of `thread`.
    pub(crate) fn ordered(&self, stamp: Stamp, thread: u32) -> bool {
        if stamp.owner == thread {
            return true;
        }
        let agent = (stamp.owner as usize).checked_sub(self.known.len());
        let base = match agent {
            None if stamp.generation != self.generation => return true,
            None => 0,
            Some(agent) => self.agents_known.get(agent).copied().unwrap_or_default(),
        };
        base >= stamp.tick || self.learnt(thread, stamp.owner) >= stamp.tick
    }

    /// Returns the last tick of `owner` that `thread` has learnt in this generation.
    pub(crate) fn learnt(&self, thread: u32, owner: u32) -> u32 {
        let known = self.known[thread as usize].as_ref();
        known.and_then(|known| known.get(owner as usize)).copied().unwrap_or_default()
    }

    /// Returns true if the thread has learnt nothing in this generation: then only the generation
    /// orders.
    pub(crate) fn knows_nothing(&self, thread: u32) -> bool {
        self.known[thread as usize].is_none()
    }

    /// Returns the joint knowledge of the threads of some warps.
    pub(crate) fn known_to(&self, warps: Range<u32>) -> Knowledge {
        let mut known = Knowledge::new();
        warps.for_each(|warp| self.collect(&mut known, warp, u32::MAX));
        known
    }

    /// Returns true if the event of `stamp` is part of `known`.
    pub(crate) fn is_known(&self, stamp: Stamp, known: &[u32]) -> bool {
        let agent = (stamp.owner as usize).checked_sub(self.known.len());
        let base = match agent {
            None if stamp.generation != self.generation => return true,
            None => 0,
            Some(agent) => self.agents_known.get(agent).copied().unwrap_or_default(),
        };
        let learnt = known.get(stamp.owner as usize).copied().unwrap_or_default();
        base.max(learnt) >= stamp.tick
    }

    /// Adds the knowledge and the actions of the lanes of `mask` of a warp to `into`.
    pub(crate) fn collect(&self, into: &mut Knowledge, warp: u32, mask: u32) {
        into.resize(into.len().max(self.known.len()), 0);
        let mut last: Option<&Arc<Knowledge>> = None;
        for lane in lanes(mask) {
            let thread = (32 * warp + lane) as usize;
            let Some(known) = &self.known[thread] else { continue };
            if !last.is_some_and(|last| Arc::ptr_eq(last, known)) {
                merge(into, known);
            }
            last = Some(known);
        }
        let tick = self.ticks[warp as usize];
        for lane in lanes(mask) {
            into[(32 * warp + lane) as usize] = tick;
        }
    }

    /// Marks the further actions of a warp as not yet published.
    pub(crate) fn advance(&mut self, warp: u32) {
        let tick = &mut self.ticks[warp as usize];
        *tick = tick.saturating_add(1);
    }

    /// Lets the lanes of `mask` learn the knowledge in `from`.
    pub(crate) fn learn(&mut self, warp: u32, mask: u32, from: &Arc<Knowledge>) {
        // Lanes that knew the same know the same afterwards, and share it.
        let mut last: Option<(Option<Arc<Knowledge>>, Arc<Knowledge>)> = None;
        for lane in lanes(mask) {
            let known = &mut self.known[(32 * warp + lane) as usize];
            let same = |a: &Option<Arc<Knowledge>>| match (a, &*known) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (a, b) => a.is_none() && b.is_none(),
            };
            let merged = match &last {
                Some((before, after)) if same(before) => Arc::clone(after),
                _ => match &*known {
                    Some(known) if !Arc::ptr_eq(known, from) => {
                        let mut merged = Knowledge::clone(known);
                        merge(&mut merged, from);
                        Arc::new(merged)
                    }
                    _ => Arc::clone(from),
                },
            };
            let before = known.replace(Arc::clone(&merged));
            last = Some((before, merged));
        }
    }

    /// Records that the lanes have met: each knows the actions of all.
    pub(crate) fn meet(&mut self, groups: &[(u32, u32)], mut with: Knowledge) {
        for &(warp, mask) in groups {
            self.collect(&mut with, warp, mask);
        }
        let all = Arc::new(with);
        for &(warp, mask) in groups {
            for lane in lanes(mask) {
                self.known[(32 * warp + lane) as usize] = Some(Arc::clone(&all));
            }
            self.advance(warp);
        }
    }

    /// All threads have met.
    pub(crate) fn meet_all(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if !self.agents.is_empty() {
            self.agents_known.resize(self.agents.len(), 0);
            for known in self.known.iter().flatten() {
                let of_agents = known.get(self.known.len()..).unwrap_or_default();
                merge(&mut self.agents_known, of_agents);
            }
        }
        self.known.fill(None);
    }

    /// A new agent.
    pub(crate) fn new_agent(&mut self) -> u32 {
        self.agents.push(0);
        (self.known.len() + self.agents.len() - 1) as u32
    }

    /// The stamp of an agent's next access.
    pub(crate) fn agent_acts(&mut self, agent: u32) -> Stamp {
        let at = agent as usize - self.known.len();
        self.agents[at] += 1;
        Stamp { owner: agent, tick: self.agents[at], generation: self.generation }
    }
}

/// The greater of each two.
pub(crate) fn merge(into: &mut Knowledge, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (into, &from) in into.iter_mut().zip(from) {
        *into = (*into).max(from);
    }
}

/// The lanes of a mask, in ascending order.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(warps: usize) -> Clocks {
        let mut clocks = Clocks::default();
        clocks.reset(warps);
        clocks
    }

    #[test]
    fn only_who_met_knows_and_only_of_what_came_before() {
        let mut clocks = clocks(3);
        let (before, stranger) = (clocks.now(3), clocks.now(70));
        assert!(!clocks.ordered(before, 4) && clocks.ordered(before, 3));
        clocks.meet(&[(0, 0xff), (1, 1)], Knowledge::new());
        let after = clocks.now(3);
        for thread in [4, 7, 32] {
            assert!(clocks.ordered(before, thread), "{thread}");
            assert!(!clocks.ordered(after, thread) && !clocks.ordered(stranger, thread));
        }
        for thread in [8, 33, 64] {
            assert!(!clocks.ordered(before, thread), "{thread}");
        }
    }

    #[test]
    fn knowledge_is_handed_on() {
        let mut clocks = clocks(3);
        let first = clocks.now(0);
        clocks.meet(&[(0, 1), (1, 1)], Knowledge::new());
        clocks.meet(&[(1, 1), (2, 1)], Knowledge::new());
        assert!(clocks.ordered(first, 64));
        assert!(!clocks.ordered(first, 65));
        let mut published = Knowledge::new();
        clocks.collect(&mut published, 2, 1);
        clocks.advance(2);
        let later = clocks.now(64);
        clocks.learn(1, 0b110, &Arc::new(published));
        assert!(clocks.ordered(first, 33) && clocks.ordered(first, 34));
        assert!(!clocks.ordered(later, 33) && !clocks.ordered(first, 35));
    }

    #[test]
    fn a_barrier_of_all_orders_threads_but_not_agents() {
        let mut clocks = clocks(2);
        let agent = clocks.new_agent();
        let (thread, bulk) = (clocks.now(5), clocks.agent_acts(agent));
        clocks.meet_all();
        assert!(clocks.ordered(thread, 40) && !clocks.ordered(bulk, 40));
        let mut done = vec![0; agent as usize + 1];
        done[agent as usize] = bulk.tick;
        clocks.learn(0, 1, &Arc::new(done));
        assert!(clocks.ordered(bulk, 0) && !clocks.ordered(bulk, 40));
        clocks.meet_all();
        assert!(clocks.ordered(bulk, 40), "thread 0 waited, and then met the others");
    }
}
