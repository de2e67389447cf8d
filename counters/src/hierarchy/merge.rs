//! Deals the streams of CTAs to SMs, and lets these serve a stretch of time after the other.
//!
//! SMs work side by side, and each issues its warps one after the other. Requests at the same time
//! are ordered by the place of their warp in its SM, then by SM. So data that several SMs read at
//! once reaches the L2 close together.
//!
//! Before the L2 no SM knows of another. So each serves a stretch of time alone, some SMs on each
//! core, and the slices of the L2 put the requests of all SMs into that order
//! ([`turns`](super::turns)).

use rayon::prelude::*;

use super::HierarchyGeometry;
use super::l1::{L1, L1Geometry};
use super::outbox::{Outbox, Queues, TurnTime};
use super::request::Router;
use super::schedule::Dealer;
use super::sm::{Sm, SmCaches, SmRules};
use super::stream::CtaStream;
use super::sums::RowSums;

/// Lines of all first-level caches from which the CPU has to fetch them from far away.
const LARGE_LINES: u64 = 1 << 15;

/// Requests that are sent ahead of the L2, about: enough to keep the slices busy, few enough to
/// stay in the CPU's caches.
const REQUESTS_AHEAD: usize = 1 << 15;

/// Requests of a stretch of time, at most: a warp has one at a time, as a rule.
const MOST_REQUESTS: u64 = 1 << 18;

/// Requests of a stretch of time from which SMs are served by several threads.
const MANY_REQUESTS: usize = 1 << 11;

/// Consecutive SMs, which one thread serves.
#[derive(Clone, Debug)]
struct Group {
    first_sm: u32,
    sms: Vec<Sm>,
    hits: RowSums<u64>,
    /// Requests of the last stretch of time.
    served: usize,
}

impl Group {
    fn serve(
        &mut self,
        times: &std::ops::Range<u64>,
        rules: &SmRules,
        router: &Router,
        queues: &mut Queues,
    ) {
        let Self { first_sm, sms, hits, served } = self;
        let mut outbox = Outbox::new(queues, router, hits);
        *served = (*first_sm..)
            .zip(sms)
            .map(|(sm, one)| one.serve(sm, times.clone(), rules, &mut outbox))
            .sum();
        outbox.end();
    }
}

/// The merger with the CTAs that it holds.
#[derive(Clone, Debug)]
pub(crate) struct Merger {
    dealer: Dealer,
    rules: SmRules,
    router: Router,
    sm_count: u32,
    sms_per_group: u32,
    groups: Vec<Group>,
    /// The length of the next stretch of time.
    stretch: u64,
}

impl Merger {
    pub(crate) fn new(geometry: &HierarchyGeometry) -> Self {
        let sector_bytes = geometry.l2.sector_bytes;
        let sm_count = geometry.sm_count.max(1);
        let lines = |l1: &L1Geometry| l1.size_bytes / l1.line_bytes.max(1) * u64::from(sm_count);
        let is_large = |l1: &L1Geometry| lines(l1) >= LARGE_LINES;
        let cache = |one: L1Geometry| L1::new(one, sector_bytes, is_large(&one));
        let rules = SmRules {
            empty: SmCaches {
                l1: geometry.l1.map(cache),
                read_only: geometry.read_only.map(cache),
            },
            warps_per_cta: geometry.warps_per_cta,
            warps_per_sm: geometry.warps_per_cta * geometry.resident_ctas.div_ceil(sm_count),
            looks_ahead: geometry.l1.as_ref().is_some_and(is_large),
        };
        let sms_per_group = sm_count.div_ceil(rayon::current_num_threads() as u32);
        let groups = (0..sm_count).step_by(sms_per_group as usize).map(|first_sm| Group {
            first_sm,
            sms: vec![Sm::default(); sms_per_group.min(sm_count - first_sm) as usize],
            hits: RowSums::default(),
            served: 0,
        });
        Self {
            dealer: Dealer::new(geometry.schedule, geometry.resident_ctas),
            rules,
            router: geometry.l2.router(),
            sm_count,
            sms_per_group,
            groups: groups.collect(),
            stretch: 1,
        }
    }

    /// Empty queues for the requests of all SMs.
    pub(crate) fn queues(&self, slices: usize) -> Vec<Queues> {
        self.groups.iter().map(|_| Queues::new(slices)).collect()
    }

    /// Takes over the next CTA of the grid; an empty stream for another one comes back.
    pub(crate) fn push(&mut self, mut stream: CtaStream) -> CtaStream {
        let (slot, start) = self.dealer.deal(stream.length());
        if stream.requests().is_empty() {
            stream.clear();
            return stream;
        }
        // CTAs are dealt to one SM after the other.
        let (round, sm) = (slot / self.sm_count, slot % self.sm_count);
        let group = &mut self.groups[(sm / self.sms_per_group) as usize];
        group.sms[(sm % self.sms_per_group) as usize].push(round as usize, start, stream)
    }

    /// No CTA that comes later starts before this time.
    pub(crate) fn horizon(&self) -> u64 {
        self.dealer.horizon()
    }

    /// Fills the queues with requests of the next stretch of time, and returns true if there are
    /// any. Requests that a later CTA could still precede wait, unless the grid `is_complete`.
    pub(crate) fn fill(&mut self, queues: &mut [Queues], is_complete: bool) -> bool {
        let horizon = if is_complete { u64::MAX } else { self.dealer.horizon() };
        queues.iter_mut().for_each(Queues::clear);
        loop {
            let (mut first, mut residents) = (u64::MAX, 0);
            for sm in self.groups.iter().flat_map(|group| &group.sms) {
                first = first.min(sm.first_time());
                residents += sm.residents() as u64;
            }
            if first >= horizon {
                return false;
            }
            let warps = residents * u64::from(self.rules.warps_per_cta.max(1));
            let most = (MOST_REQUESTS / warps.max(1)).max(1);
            // Turns fit their 32 bits.
            let most = most.min(u64::from(u32::MAX / self.rules.warps_per_sm.max(1)).max(1));
            let times = first..horizon.min(first.saturating_add(self.stretch.min(most)));
            self.serve(&times, queues);
            let sent: usize = queues.iter().map(Queues::len).sum();
            self.stretch = match sent {
                many if many > 2 * REQUESTS_AHEAD => (self.stretch / 2).max(1),
                few if few < REQUESTS_AHEAD / 2 => (2 * self.stretch).min(MOST_REQUESTS),
                _ => self.stretch,
            };
            if sent > 0 {
                return true;
            }
        }
    }

    fn serve(&mut self, times: &std::ops::Range<u64>, queues: &mut [Queues]) {
        let Self { groups, rules, router, .. } = self;
        let of_instruction = rules.warps_per_sm;
        let first = (times.start as u32).wrapping_mul(of_instruction);
        queues.iter_mut().for_each(|queue| queue.time = TurnTime { first, of_instruction });
        let is_much = groups.iter().map(|group| group.served).sum::<usize>() >= MANY_REQUESTS;
        if is_much {
            groups
                .par_iter_mut()
                .zip(queues)
                .for_each(|(group, queues)| group.serve(times, rules, router, queues));
        } else {
            for (group, queues) in groups.iter_mut().zip(queues) {
                group.serve(times, rules, router, queues);
            }
        }
    }

    /// Writes back the local memory that the first-level caches hold.
    pub(crate) fn clean(&mut self, queues: &mut [Queues]) {
        for (group, queues) in self.groups.iter_mut().zip(queues) {
            queues.clear();
            let mut outbox = Outbox::new(queues, &self.router, &mut group.hits);
            group.sms.iter_mut().for_each(|sm| sm.clean(&mut outbox));
            outbox.end();
        }
    }

    /// CTAs that are held.
    #[cfg(test)]
    pub(crate) fn residents(&self) -> usize {
        self.groups.iter().flat_map(|group| &group.sms).map(Sm::residents).sum()
    }

    /// Counts the sectors that first-level caches hold anew.
    pub(crate) fn forget_hits(&mut self) {
        self.groups.iter_mut().for_each(|group| group.hits.clear());
    }

    /// Sectors that first-level caches held, by row. A row may come several times.
    pub(crate) fn hits(&self) -> impl Iterator<Item = (u32, u64)> {
        let hits = self.groups.iter().flat_map(|group| group.hits.iter());
        hits.map(|(row, hits)| (row, *hits))
    }
}
