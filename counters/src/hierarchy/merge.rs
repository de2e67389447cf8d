//! Merges the streams of resident CTAs in the order of their clocks, through the first-level
//! caches, into one queue for each slice of the L2.
//!
//! SMs work side by side, and each issues its warps one after the other. Requests at the same time
//! are ordered by the place of their warp in its SM, then by SM. So data that several SMs read at
//! once reaches the L2 close together.

use super::HierarchyGeometry;
use super::agenda::{Agenda, Waiting};
use super::l1::{L1, L1Geometry, L1Miss, LocalStores};
use super::l2::{L2Operation, Router, SliceRequest};
use super::schedule::Dealer;
use super::step::{Step, WarpAccess};
use super::stream::{CtaStream, Demand, PackedTouch, ROW_LIMIT, Request, first_local_line};
use super::sums::RowSums;

/// Requests whose first-level caches are looked at together before they are served.
const LOOK_AHEAD: usize = 16;

/// Lines of all first-level caches from which the CPU has to fetch them from far away.
const LARGE_LINES: u64 = 1 << 15;

/// The first-level caches of one SM.
#[derive(Clone, Debug)]
struct SmCaches {
    l1: Option<L1>,
    read_only: Option<L1>,
}

/// A CTA between its first and its last request.
#[derive(Clone, Debug)]
struct Resident {
    stream: CtaStream,
    next: usize,
    start: u64,
    sm: u32,
    /// The place of its first warp in the SM.
    first_warp: u32,
}

impl Resident {
    /// The time of its next requests, if it has any.
    #[inline]
    fn next_time(&self) -> Option<u64> {
        let request = self.stream.requests().get(self.next)?;
        Some(self.start + u64::from(request.time()))
    }
}

/// The merger with the CTAs that it holds.
#[derive(Clone, Debug)]
pub(crate) struct Merger {
    dealer: Dealer,
    /// The caches of each SM that has had requests. Small launches reach few SMs of a large GPU.
    sms: Vec<Option<SmCaches>>,
    /// Those of an SM without requests yet.
    empty: SmCaches,
    warps_per_cta: u32,
    /// Warps that an SM holds.
    warps_per_sm: u32,
    residents: Vec<Resident>,
    /// Places in `residents` whose CTA has ended; their streams are empty and can be used again.
    vacant: Vec<usize>,
    agenda: Agenda,
    /// The accesses that are in progress.
    step: Step,
    /// Places in `residents` whose last requests are in the step.
    ending: Vec<usize>,
    router: Router,
    /// True if the first-level caches together are so large that several requests read them
    /// together.
    looks_ahead: bool,
    /// Sectors that first-level caches held, by row.
    hits: RowSums<u64>,
}

impl Merger {
    pub(crate) fn new(geometry: &HierarchyGeometry) -> Self {
        let sector_bytes = geometry.l2.sector_bytes;
        let sm_count = geometry.sm_count.max(1);
        let lines = |l1: &L1Geometry| l1.size_bytes / l1.line_bytes.max(1) * u64::from(sm_count);
        let is_large = |l1: &L1Geometry| lines(l1) >= LARGE_LINES;
        let cache = |one: L1Geometry| L1::new(one, sector_bytes, is_large(&one));
        let empty =
            SmCaches { l1: geometry.l1.map(cache), read_only: geometry.read_only.map(cache) };
        Self {
            dealer: Dealer::new(geometry.schedule, geometry.resident_ctas),
            sms: vec![None; sm_count as usize],
            empty,
            warps_per_cta: geometry.warps_per_cta,
            warps_per_sm: geometry.warps_per_cta * geometry.resident_ctas.div_ceil(sm_count),
            residents: Vec::new(),
            vacant: Vec::new(),
            agenda: Agenda::default(),
            step: Step::default(),
            ending: Vec::new(),
            router: geometry.l2.router(),
            looks_ahead: geometry.l1.as_ref().is_some_and(is_large),
            hits: RowSums::default(),
        }
    }

    /// Takes over the next CTA of the grid; an empty stream for another one comes back.
    pub(crate) fn push(&mut self, mut stream: CtaStream) -> CtaStream {
        let (slot, start) = self.dealer.deal(stream.length());
        if stream.requests().is_empty() {
            stream.clear();
            return stream;
        }
        // CTAs are dealt to one SM after the other.
        let sm_count = self.sms.len() as u32;
        let (round, sm) = (slot / sm_count, slot % sm_count);
        let resident =
            Resident { stream, next: 0, start, sm, first_warp: round * self.warps_per_cta };
        let (place, empty) = match self.vacant.pop() {
            Some(place) => {
                let before = std::mem::replace(&mut self.residents[place], resident);
                (place, before.stream)
            }
            None => {
                let empty = CtaStream::new(resident.stream.limit());
                self.residents.push(resident);
                (self.residents.len() - 1, empty)
            }
        };
        if let Some(time) = self.residents[place].next_time() {
            self.agenda.push(time, Waiting { sm, place: place as u32 });
        }
        empty
    }

    /// No CTA that comes later starts before this time.
    pub(crate) fn horizon(&self) -> u64 {
        self.dealer.horizon()
    }

    /// Sends requests to their slices until the queues hold about `budget` of them. Requests that
    /// a later CTA could still precede wait, unless the grid `is_complete`.
    pub(crate) fn fill(
        &mut self,
        queues: &mut [Vec<SliceRequest>],
        budget: usize,
        is_complete: bool,
    ) -> usize {
        let horizon = if is_complete { u64::MAX } else { self.dealer.horizon() };
        let mut sent = 0;
        while sent < budget && (!self.step.is_done() || self.begin_step(horizon)) {
            let Self { sms, empty, warps_per_sm, residents, step, router, hits, .. } = self;
            let mut sink = Sink { queues: &mut *queues, router, hits, sent: &mut sent };
            for coming in step.take_some(budget).chunks(LOOK_AHEAD) {
                if self.looks_ahead {
                    look_ahead(coming, residents, sms);
                }
                for access in coming {
                    let Resident { stream, sm, .. } = &residents[access.place as usize];
                    let index = access.request as usize;
                    let request = &stream.requests()[index];
                    // A warp's place on the GPU: of its local memory, too.
                    let region = u64::from(sm * *warps_per_sm + access.warp);
                    let lines = (stream.lines_of(request), stream.distance(index));
                    let caches = sms[*sm as usize].get_or_insert_with(|| empty.clone());
                    caches.serve(request, lines, region, &mut sink);
                }
            }
        }
        sent
    }

    /// Goes on to the next time at which somebody has requests, if that is before the `horizon`.
    fn begin_step(&mut self, horizon: u64) -> bool {
        let Self { residents, vacant, agenda, step, ending, .. } = self;
        for place in ending.drain(..) {
            residents[place].stream.clear();
            vacant.push(place);
        }
        step.clear();
        if agenda.first_time().is_none_or(|time| time >= horizon) {
            return false;
        }
        let Some(waiting) = agenda.take_first() else { return false };
        for &one in &waiting {
            let resident = &mut residents[one.place as usize];
            let requests = resident.stream.requests();
            let now = requests[resident.next].time();
            while let Some(request) = requests.get(resident.next).filter(|one| one.time() == now) {
                step.push(WarpAccess {
                    warp: resident.first_warp + request.warp(),
                    place: one.place,
                    request: resident.next as u32,
                    lines: request.line_count() as u32,
                });
                resident.next += 1;
            }
            match resident.next_time() {
                Some(next) => agenda.push(next, one),
                None => ending.push(one.place as usize),
            }
        }
        agenda.give_back(waiting);
        step.sort();
        true
    }

    /// Writes back the local memory that the first-level caches hold.
    pub(crate) fn clean(&mut self, queues: &mut [Vec<SliceRequest>]) {
        let mut sent = 0;
        let Self { sms, router, hits, .. } = self;
        let mut sink = Sink { queues, router, hits, sent: &mut sent };
        for cache in sms.iter_mut().flatten().flat_map(|sm| &mut sm.l1) {
            cache.clean(|line, sectors| sink.write_back(line, sectors));
        }
    }

    /// CTAs that are held.
    #[cfg(test)]
    pub(crate) fn residents(&self) -> usize {
        self.residents.len() - self.vacant.len()
    }

    /// Counts the sectors that first-level caches hold anew.
    pub(crate) fn forget_hits(&mut self) {
        self.hits.clear();
    }

    /// Sectors that first-level caches held, by row. A row may come several times.
    pub(crate) fn hits(&self) -> impl Iterator<Item = (u32, u64)> {
        self.hits.iter().map(|(row, hits)| (row, *hits))
    }
}

/// Reads the data that loads of single lines will need from first-level caches, so that the CPU
/// waits for all of it at once.
fn look_ahead(coming: &[WarpAccess], residents: &[Resident], sms: &[Option<SmCaches>]) {
    let mut seen = 0;
    for access in coming {
        let Resident { stream, sm, .. } = &residents[access.place as usize];
        let index = access.request as usize;
        let request = &stream.requests()[index];
        let is_kept = matches!(request.demand(), Demand::Load | Demand::LoadReadOnly);
        if let Some(SmCaches { l1: Some(l1), .. }) = &sms[*sm as usize]
            && let ([line], true) = (stream.lines_of(request), is_kept)
        {
            seen ^= l1.peek(line.moved(stream.distance(index)).line());
        }
    }
    std::hint::black_box(seen);
}

/// The destination of requests that the first-level caches do not keep.
struct Sink<'a> {
    queues: &'a mut [Vec<SliceRequest>],
    router: &'a Router,
    hits: &'a mut RowSums<u64>,
    sent: &'a mut usize,
}

impl Sink<'_> {
    #[inline]
    fn send(&mut self, line: u64, sectors: u8, full: u8, operation: L2Operation, row: u32) {
        let queues = &mut *self.queues;
        self.router.route(line, sectors, full, operation, row, |slice, request| {
            queues[slice].push(request);
        });
        *self.sent += 1;
    }

    /// Sends all lines of a request that no first-level cache keeps.
    #[inline]
    fn send_all(
        &mut self,
        lines: impl ExactSizeIterator<Item = (u64, u8, u8)>,
        operation: L2Operation,
        row: u32,
    ) {
        let Self { queues, router, sent, .. } = self;
        // On the stack, so that its numbers stay in registers from line to line.
        let router = **router;
        **sent += lines.len();
        for (line, sectors, full) in lines {
            router.route(line, sectors, full, operation, row, |slice, request| {
                queues[slice].push(request);
            });
        }
    }

    /// Sectors of local memory that leave an L1; nobody knows any more who wrote them.
    fn write_back(&mut self, line: u64, sectors: u8) {
        self.send(line, sectors, sectors, L2Operation::Write, ROW_LIMIT);
    }
}

impl SmCaches {
    /// Serves one request of the warp whose local memory is the `region`-th; its lines lie as many
    /// lines further.
    #[inline]
    fn serve(
        &mut self,
        request: &Request,
        (lines, distance): (&[PackedTouch], i64),
        region: u64,
        sink: &mut Sink<'_>,
    ) {
        let (row, demand) = (request.row(), request.demand());
        // A resident warp has its region; the CTAs that follow in its slot take it over.
        let first_line = if demand.is_local() { first_local_line(region) } else { 0 };
        let lines = lines
            .iter()
            .map(|one| (first_line + one.moved(distance).line(), one.sectors(), one.full()));
        match demand {
            Demand::Load | Demand::LoadReadOnly | Demand::LocalLoad => match self.keeper(demand) {
                Some(cache) => {
                    let mut hits = 0;
                    for (line, sectors, _) in lines {
                        hits += load(cache, line, sectors, row, sink);
                    }
                    if hits > 0 {
                        sink.hits.add(row, hits);
                    }
                }
                None => sink.send_all(lines, L2Operation::Read, row),
            },
            Demand::LoadPastL1 => sink.send_all(lines, L2Operation::Read, row),
            Demand::LocalStore => match self.keeper(demand) {
                Some(cache) => match cache.local_stores() {
                    LocalStores::WriteBack => {
                        for (line, sectors, full) in lines {
                            let write_back = |line, sectors| sink.write_back(line, sectors);
                            cache.store_local(line, sectors, full, write_back);
                        }
                    }
                    LocalStores::WriteThrough => {
                        write_through(&mut [Some(cache)], lines, row, sink);
                    }
                },
                None => sink.send_all(lines, L2Operation::Write, row),
            },
            Demand::Store => {
                let caches = &mut [self.l1.as_mut(), self.read_only.as_mut()];
                write_through(caches, lines, row, sink);
            }
            Demand::Update => {
                for (line, sectors, full) in lines {
                    for cache in self.l1.iter_mut().chain(&mut self.read_only) {
                        cache.update(line, sectors);
                    }
                    sink.send(line, sectors, full, L2Operation::Update, row);
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
    sink: &mut Sink<'_>,
) {
    let mut hits = 0;
    for (line, sectors, full) in lines {
        for cache in caches.iter_mut().flatten() {
            let write_back = |line, sectors| sink.write_back(line, sectors);
            hits += cache.store(line, sectors, full, write_back);
        }
        sink.send(line, sectors, full, L2Operation::Write, row);
    }
    if hits > 0 {
        sink.hits.add(row, hits);
    }
}

/// Returns the sectors that the cache held.
#[inline]
fn load(cache: &mut L1, line: u64, sectors: u8, row: u32, sink: &mut Sink<'_>) -> u64 {
    let fill = cache.fill_operation();
    cache.load(line, sectors, |miss, line, sectors| match miss {
        L1Miss::Fill => sink.send(line, sectors, sectors, fill, row),
        L1Miss::WriteBack => sink.write_back(line, sectors),
    })
}
