//! One SM: the CTAs that it holds, and the first-level caches that their requests pass.
//!
//! SMs have nothing in common before the L2. So an SM works through a stretch of time alone: its
//! CTAs in step, and at each time its warps one after the other.

use std::collections::VecDeque;
use std::ops::Range;

use super::l1::{L1, L1Miss, LocalStores};
use super::moved::{Asked, Distance};
use super::outbox::Outbox;
use super::request::L2Operation;
use super::stream::CtaStream;
use super::warp_request::{Demand, PackedTouch, Request, first_local_line};

/// Requests between the one that is served and the one whose set of a large first-level cache the
/// CPU is asked for.
const LOOK_AHEAD: usize = 12;

/// Lines of a request whose sets the CPU is asked for, at most: more would drive each other out.
const LINES_AHEAD: usize = 8;

/// What all SMs have in common.
#[derive(Clone, Debug)]
pub(crate) struct SmRules {
    /// The caches of an SM without requests yet.
    pub(crate) empty: SmCaches,
    pub(crate) warps_per_cta: u32,
    /// Warps that an SM holds.
    pub(crate) warps_per_sm: u32,
    /// True if the first-level caches are so large that the CPU is asked for sets in advance.
    pub(crate) looks_ahead: bool,
}

/// The first-level caches of one SM.
#[derive(Clone, Debug)]
pub(crate) struct SmCaches {
    pub(crate) l1: Option<L1>,
    pub(crate) read_only: Option<L1>,
}

/// A CTA between its first and its last request.
#[derive(Clone, Debug)]
struct Resident {
    stream: CtaStream,
    next: usize,
    start: u64,
}

impl Resident {
    /// The time of its next requests; the end of time if it has none.
    #[inline]
    fn next_time(&self) -> u64 {
        let next = self.stream.requests().get(self.next);
        next.map_or(u64::MAX, |request| self.start + u64::from(request.time()))
    }
}

/// An SM with its CTAs.
#[derive(Clone, Debug)]
pub(crate) struct Sm {
    /// None until it has requests: small launches reach few SMs of a large GPU.
    caches: Option<SmCaches>,
    /// The CTAs of each slot, one after the other.
    slots: Vec<VecDeque<Resident>>,
    /// The time of each slot's next requests.
    next_times: Vec<u64>,
    /// The first of them, with the end of time if there is none.
    first_time: u64,
    /// CTAs that have requests.
    residents: usize,
    /// Streams that are empty and can be used again.
    spare: Vec<CtaStream>,
}

impl Default for Sm {
    fn default() -> Self {
        Self {
            caches: None,
            slots: Vec::new(),
            next_times: Vec::new(),
            first_time: u64::MAX,
            residents: 0,
            spare: Vec::new(),
        }
    }
}

impl Sm {
    /// Takes over a CTA; an empty stream for another one comes back.
    pub(crate) fn push(&mut self, slot: usize, start: u64, stream: CtaStream) -> CtaStream {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, VecDeque::new);
            self.next_times.resize(slot + 1, u64::MAX);
        }
        let limit = stream.limit();
        let resident = Resident { stream, next: 0, start };
        let queue = &mut self.slots[slot];
        if queue.is_empty() {
            self.next_times[slot] = resident.next_time();
            self.first_time = self.first_time.min(self.next_times[slot]);
        }
        queue.push_back(resident);
        self.residents += 1;
        self.spare.pop().unwrap_or_else(|| CtaStream::new(limit))
    }

    /// The time of its next requests; the end of time if it has none.
    pub(crate) fn first_time(&self) -> u64 {
        self.first_time
    }

    /// CTAs that have requests.
    pub(crate) fn residents(&self) -> usize {
        self.residents
    }

    /// Serves the requests of `times`. Turns begin with these. Returns the number of requests.
    pub(crate) fn serve(
        &mut self,
        sm: u32,
        times: Range<u64>,
        rules: &SmRules,
        outbox: &mut Outbox<'_>,
    ) -> usize {
        let mut now = self.first_time;
        if now >= times.end {
            return 0;
        }
        let Self { caches, slots, next_times, first_time, residents, spare } = self;
        let caches = caches.get_or_insert_with(|| rules.empty.clone());
        if rules.looks_ahead {
            for (resident, time) in slots.iter().zip(&*next_times) {
                if let Some(resident) = resident.front().filter(|_| *time < times.end) {
                    caches.look_ahead_from(resident);
                }
            }
        }
        let mut served = 0;
        while now < times.end {
            let first_turn = now.saturating_sub(times.start) as u32 * rules.warps_per_sm;
            let mut next = u64::MAX;
            for (slot, time) in next_times.iter_mut().enumerate() {
                // A slot's CTA ends before the next one starts.
                while *time == now {
                    let Some(resident) = slots[slot].front_mut() else { break };
                    let first_warp = slot as u32 * rules.warps_per_cta;
                    let place = CtaRegion {
                        turn: first_turn + first_warp,
                        region: u64::from(sm * rules.warps_per_sm + first_warp),
                        looks_ahead: rules.looks_ahead,
                    };
                    served += caches.serve_next(resident, &place, outbox);
                    *time = resident.next_time();
                    if *time == u64::MAX {
                        let ended = slots[slot].pop_front();
                        *residents -= 1;
                        spare.extend(ended.map(|mut ended| {
                            ended.stream.clear();
                            ended.stream
                        }));
                        *time = slots[slot].front().map_or(u64::MAX, Resident::next_time);
                    }
                }
                next = next.min(*time);
            }
            now = next;
        }
        *first_time = now;
        served
    }

    /// Writes back the local memory that the first-level cache holds.
    pub(crate) fn clean(&mut self, outbox: &mut Outbox<'_>) {
        if let Some(SmCaches { l1: Some(l1), .. }) = &mut self.caches {
            l1.clean(|line, sectors| outbox.write_back(line, sectors));
        }
    }
}

/// Where a CTA stands.
struct CtaRegion {
    /// The turn of its first warp.
    turn: u32,
    /// The place of its first warp among those that the GPU holds: of its local memory, too.
    region: u64,
    looks_ahead: bool,
}

impl SmCaches {
    /// Serves the next requests of a CTA, which come at one time. Returns their number.
    #[inline]
    fn serve_next(
        &mut self,
        resident: &mut Resident,
        place: &CtaRegion,
        outbox: &mut Outbox<'_>,
    ) -> usize {
        let Resident { stream, next, .. } = resident;
        let asked = stream.asked();
        let coming = asked.requests.get(*next..).unwrap_or_default();
        let Some(now) = coming.first().map(Request::time) else { return 0 };
        let count = coming.iter().take_while(|request| request.time() == now).count();
        let mut distance = asked.distance(*next);
        for index in *next..*next + count {
            let request = &asked.requests[index];
            if index >= distance.until {
                distance = asked.distance(index);
            }
            if place.looks_ahead {
                self.look_ahead(&asked, index + LOOK_AHEAD, distance);
            }
            outbox.turn = place.turn + request.warp();
            let region = place.region + u64::from(request.warp());
            let lines = (asked.lines_of(request), distance.lines);
            self.serve(request, lines, region, outbox);
        }
        *next += count;
        count
    }

    /// Asks for the data that a request will need from the first-level cache. `distance` may be
    /// that of the request.
    #[inline]
    fn look_ahead(&self, asked: &Asked<'_>, index: usize, mut distance: Distance) {
        let (Some(l1), Some(request)) = (&self.l1, asked.requests.get(index)) else { return };
        if !matches!(request.demand(), Demand::Load | Demand::LoadReadOnly | Demand::Store) {
            return;
        }
        if index >= distance.until {
            distance = asked.distance(index);
        }
        for line in asked.lines_of(request).iter().take(LINES_AHEAD) {
            l1.prefetch(line.moved(distance.lines).line());
        }
    }

    /// The same for the first requests of a CTA in a stretch of time.
    fn look_ahead_from(&self, resident: &Resident) {
        let asked = resident.stream.asked();
        for index in resident.next..resident.next + LOOK_AHEAD {
            if index >= asked.requests.len() {
                break;
            }
            self.look_ahead(&asked, index, asked.distance(index));
        }
    }

    /// Serves one request of the warp whose local memory is the `region`-th; its lines lie as many
    /// lines further.
    #[inline]
    fn serve(
        &mut self,
        request: &Request,
        (lines, distance): (&[PackedTouch], i64),
        region: u64,
        outbox: &mut Outbox<'_>,
    ) {
        let (row, demand) = (request.row(), request.demand());
        // A resident warp has its region; the CTAs that follow in its slot take it over.
        let first_line = if demand.is_local() { first_local_line(region) } else { 0 };
        let lines = lines
            .iter()
            .map(|line| (first_line + line.moved(distance).line(), line.sectors(), line.full()));
        match demand {
            Demand::Load | Demand::LoadReadOnly | Demand::LocalLoad => match self.keeper(demand) {
                Some(cache) => {
                    let mut hits = 0;
                    for (line, sectors, _) in lines {
                        hits += load(cache, line, sectors, row, outbox);
                    }
                    outbox.hit(row, hits);
                }
                None => outbox.send_all(lines, L2Operation::Read, row),
            },
            Demand::LoadPastL1 => outbox.send_all(lines, L2Operation::Read, row),
            Demand::LocalStore => match self.keeper(demand) {
                Some(cache) => match cache.local_stores() {
                    LocalStores::WriteBack => {
                        for (line, sectors, full) in lines {
                            let write_back = |line, sectors| outbox.write_back(line, sectors);
                            cache.store_local(line, sectors, full, write_back);
                        }
                    }
                    LocalStores::WriteThrough => {
                        write_through(&mut [Some(cache)], lines, row, outbox);
                    }
                },
                None => outbox.send_all(lines, L2Operation::Write, row),
            },
            Demand::Store => {
                let caches = &mut [self.l1.as_mut(), self.read_only.as_mut()];
                write_through(caches, lines, row, outbox);
            }
            Demand::Update => {
                for (line, sectors, full) in lines {
                    for cache in self.l1.iter_mut().chain(&mut self.read_only) {
                        cache.update(line, sectors);
                    }
                    outbox.send((line, sectors, full), L2Operation::Update, row);
                }
            }
        }
    }

    /// The cache that keeps the demanded data, if any does.
    #[inline]
    fn keeper(&mut self, demand: Demand) -> Option<&mut L1> {
        if demand == Demand::LoadReadOnly && self.read_only.is_some() {
            return self.read_only.as_mut().filter(|cache| cache.keeps().read_only);
        }
        self.l1.as_mut().filter(|cache| match demand {
            Demand::Load => cache.keeps().global,
            Demand::LoadReadOnly => cache.keeps().read_only,
            Demand::LocalLoad | Demand::LocalStore => cache.keeps().local,
            Demand::Store | Demand::Update | Demand::LoadPastL1 => false,
        })
    }
}

/// Stores lines to the L2, past the caches that may hold them.
#[inline]
fn write_through(
    caches: &mut [Option<&mut L1>],
    lines: impl Iterator<Item = (u64, u8, u8)>,
    row: u32,
    outbox: &mut Outbox<'_>,
) {
    let mut hits = 0;
    for (line, sectors, full) in lines {
        for cache in caches.iter_mut().flatten() {
            let write_back = |line, sectors| outbox.write_back(line, sectors);
            hits += cache.store(line, sectors, full, write_back);
        }
        outbox.send((line, sectors, full), L2Operation::Write, row);
    }
    outbox.hit(row, hits);
}

/// Returns the sectors that the cache held.
#[inline]
fn load(cache: &mut L1, line: u64, sectors: u8, row: u32, outbox: &mut Outbox<'_>) -> u64 {
    let fill = cache.fill_operation();
    cache.load(line, sectors, |miss, line, sectors| match miss {
        L1Miss::Fill => outbox.send((line, sectors, sectors), fill, row),
        L1Miss::WriteBack => outbox.write_back(line, sectors),
    })
}
