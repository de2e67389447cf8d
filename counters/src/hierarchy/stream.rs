//! The accesses of one CTA on their way to the caches.

use std::sync::{Arc, OnceLock};

use super::PARTS;
use super::line_sample::{Drawn, LineSample};
use super::moved::{Asked, Moved, Represented, StreamShift};
use super::warp_request::{FIRST_SINGLE_ROW, MOST_LINES, NOBODY, PackedTouch, Request, WARP_BITS};
use crate::units::LineTouch;

/// Sorting by counting looks at each clock, and pays up to this many clocks per request.
const CLOCKS_PER_REQUEST: usize = 16;

/// The requests of one CTA, up to a limit.
#[derive(Clone, Debug)]
pub struct CtaStream {
    requests: Vec<Request>,
    /// The lines of requests that have several, and of the one that is under way.
    lines: Vec<PackedTouch>,
    /// The part of `lines` that belongs to a request.
    closed: usize,
    /// Lines of all requests.
    kept: usize,
    limit: usize,
    /// Sectors of the lines beyond the limit: they are counted but not replayed.
    left_out_sectors: u64,
    /// Warp-instructions of the CTA's longest warp, as far as its accesses tell.
    length: u64,
    /// The same requests for CTAs that this one stands for, if there are any.
    represented: OnceLock<Arc<Represented>>,
    /// The requests instead of those here, if another CTA stands for this one.
    moved: Option<Moved>,
}

impl CtaStream {
    /// An empty stream that keeps at most `limit` lines.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            requests: Vec::new(),
            lines: Vec::new(),
            closed: 0,
            kept: 0,
            limit: limit.min(MOST_LINES),
            left_out_sectors: 0,
            length: 0,
            represented: OnceLock::new(),
            moved: None,
        }
    }

    /// Its requests. Their lines are a distance further than they say.
    #[inline]
    pub(crate) fn requests(&self) -> &[Request] {
        self.moved.as_ref().map_or(&self.requests, Moved::requests)
    }

    /// Its requests with their lines.
    #[inline]
    pub(crate) fn asked(&self) -> Asked<'_> {
        let lines = self.moved.as_ref().map_or(self.lines.as_slice(), Moved::lines);
        Asked::new(self.requests(), lines, self.moved.as_ref())
    }

    /// Lines that are kept at most.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Keeps so many lines of the next CTA.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit.min(MOST_LINES);
    }

    /// A line of the request that [`CtaStream::close`] will tell about.
    #[inline]
    pub(crate) fn push(&mut self, touch: LineTouch) {
        self.push_packed(PackedTouch::new(touch));
    }

    #[inline]
    fn push_packed(&mut self, touch: PackedTouch) {
        if self.kept < self.limit {
            self.kept += 1;
            self.lines.push(touch);
        } else {
            self.left_out_sectors += u64::from(touch.sectors().count_ones());
        }
    }

    /// Sectors of lines that are not even told.
    #[inline]
    pub(crate) fn leave_out(&mut self, sectors: u64) {
        self.left_out_sectors += sectors;
    }

    /// A request with lines that lie as many lines further than `lines`.
    #[inline]
    pub(crate) fn request(&mut self, request: Request, lines: &[PackedTouch], by: u64) {
        match lines {
            [line] if self.kept < self.limit => {
                self.kept += 1;
                self.requests.push(request.with_line(line.moved(by as i64)));
            }
            _ => {
                for line in lines {
                    self.push_packed(line.moved(by as i64));
                }
                self.close(request);
            }
        }
    }

    /// The lines since the last call are those of `request`.
    #[inline]
    pub(crate) fn close(&mut self, request: Request) {
        let request = match self.lines[self.closed..] {
            [] => return,
            [line] => {
                self.lines.truncate(self.closed);
                request.with_line(line)
            }
            [..] => {
                let count = self.lines.len() - self.closed;
                request.with_lines(std::mem::replace(&mut self.closed, self.lines.len()), count)
            }
        };
        self.requests.push(request);
    }

    /// The latest request belongs to `row` instead.
    pub(crate) fn relabel_last(&mut self, row: u32) {
        if let Some(request) = self.requests.last_mut() {
            request.relabel(row);
        }
    }

    /// No request belongs to a row: their traffic is not to be told.
    pub(crate) fn leave_rows(&mut self) {
        for request in &mut self.requests {
            request.relabel(NOBODY);
        }
    }

    /// Lines of all its requests.
    pub(crate) fn kept_lines(&self) -> u64 {
        self.kept as u64
    }

    /// Keeps the lines of a sample, each as a request of its own. Rows of instructions are told
    /// apart by the part of the sample: `row * PARTS + part`. `cta` tells the local memory of
    /// CTAs apart, which is where no line says.
    pub(crate) fn thin(&mut self, sample: LineSample, cta: u64) {
        let draw = |line: u64, local_warp: Option<u32>| {
            let salt = local_warp.map_or(0, |warp| cta << WARP_BITS | u64::from(warp));
            sample.draw(line, salt)
        };
        let of_line = |request: &Request, touch: PackedTouch, drawn: Drawn| {
            let row = match request.row() {
                row if row < FIRST_SINGLE_ROW => row * PARTS + drawn.part,
                single => single,
            };
            let (sectors, full) = (touch.sectors(), touch.full());
            request.of_line(LineTouch { line: drawn.line, sectors, full }, row)
        };
        let requests: Vec<Request> = match &self.moved {
            Some(moved) => {
                let drawn = moved.drawn(draw).into_iter();
                drawn.map(|drawn| of_line(&drawn.request, drawn.touch, drawn.drawn)).collect()
            }
            None => {
                let asked = self.asked();
                let of_request = |request: &Request| {
                    let warp = request.demand().is_local().then(|| request.warp());
                    let lines = asked.lines_of(request).iter();
                    let drawn = lines
                        .filter_map(|&line| Some(of_line(request, line, draw(line.line(), warp)?)));
                    drawn.collect::<Vec<_>>()
                };
                asked.requests.iter().flat_map(of_request).collect()
            }
        };
        self.kept = requests.len();
        (self.requests, self.moved) = (requests, None);
        self.lines.clear();
        self.closed = 0;
        self.represented = OnceLock::new();
    }

    /// The row and the sectors of each request.
    pub(crate) fn sectors_of_rows(&self) -> impl Iterator<Item = (u32, u64)> {
        self.requests().iter().map(|request| {
            let sectors = |line: &PackedTouch| u64::from(line.sectors().count_ones());
            (request.row(), self.lines_of(request).iter().map(sectors).sum())
        })
    }

    /// Lines of the latest request.
    pub(crate) fn last_lines(&self) -> usize {
        self.requests.last().map_or(0, Request::line_count)
    }

    /// Sectors that did not fit so far.
    pub(crate) fn left_out_sectors(&self) -> u64 {
        self.left_out_sectors
    }

    /// The lines of one of its requests, without the distance.
    #[inline]
    pub(crate) fn lines_of<'a>(&'a self, request: &'a Request) -> &'a [PackedTouch] {
        self.asked().lines_of(request)
    }

    /// A warp has issued `time` instructions and then an access to any memory.
    #[inline]
    pub(crate) fn reach(&mut self, time: u64) {
        self.length = self.length.max(time + 1);
    }

    /// The time that the CTA ran, by the clock of its longest warp.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Sectors that did not fit, since the last call.
    pub(crate) fn take_left_out_sectors(&mut self) -> u64 {
        std::mem::take(&mut self.left_out_sectors)
    }

    /// Brings the requests into the order of the warps' clocks. Requests of different warps at the
    /// same time are ordered by warp; those of one warp keep their order.
    pub(crate) fn sort(&mut self) {
        // Those of another CTA are in order.
        if self.moved.is_some() || self.requests.is_sorted_by_key(Request::turn) {
            return;
        }
        self.sort_by_time();
        // Warps that run in turns have come in order; after a barrier they may not.
        if !self.requests.is_sorted_by_key(Request::turn) {
            self.requests.sort_by_key(Request::turn);
        }
    }

    /// Sorts by the clock alone, and keeps the order of requests at the same time. It sorts by
    /// counting if the clocks are dense enough.
    fn sort_by_time(&mut self) {
        let times = self.requests.iter().map(Request::time);
        let (Some(first), Some(last)) = (times.clone().min(), times.max()) else { return };
        let clocks = (last - first) as usize + 1;
        if clocks > CLOCKS_PER_REQUEST * self.requests.len() {
            return self.requests.sort_by_key(Request::time);
        }
        let mut places = vec![0_u32; clocks + 1];
        for request in &self.requests {
            places[(request.time() - first) as usize + 1] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            before += *place;
            *place = before;
        }
        let mut sorted = self.requests.clone();
        for request in &self.requests {
            let place = &mut places[(request.time() - first) as usize];
            sorted[*place as usize] = *request;
            *place += 1;
        }
        self.requests = sorted;
    }

    /// The difference to the stream of a CTA whose requests differ in their lines alone.
    pub(crate) fn shift_to(&self, other: &Self) -> Option<StreamShift> {
        let is_alike = (self.requests.len(), self.lines.len(), self.closed, self.kept)
            == (other.requests.len(), other.lines.len(), other.closed, other.kept)
            && (self.left_out_sectors, self.length) == (other.left_out_sectors, other.length);
        if !is_alike {
            return None;
        }
        StreamShift::between(self.asked(), other.asked())
    }

    /// Becomes the stream of a CTA that is as many shifts away from that of `representative`.
    pub(crate) fn move_from(&mut self, representative: &Self, shifts: &[(&StreamShift, u32)]) {
        self.clear();
        let of_shifts = || shifts.iter().map(|(shift, _)| *shift);
        let represented = || Arc::new(Represented::new(representative.asked(), of_shifts()));
        let of = Arc::clone(representative.represented.get_or_init(represented));
        self.moved = Some(Moved::new(of, shifts));
        self.kept = representative.kept;
        (self.left_out_sectors, self.length) =
            (representative.left_out_sectors, representative.length);
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.lines.clear();
        (self.closed, self.kept) = (0, 0);
        self.length = 0;
        self.represented = OnceLock::new();
        self.moved = None;
    }

    /// Sectors that are kept.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        let lines = self.requests().iter().flat_map(|request| self.lines_of(request));
        lines.map(|line| u64::from(line.sectors().count_ones())).sum()
    }

    /// Bytes that the requests take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.requests.len() * size_of::<Request>() + self.lines.len() * size_of::<PackedTouch>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::warp_request::{Demand, ROW_LIMIT};

    fn touch(line: u64) -> LineTouch {
        LineTouch { line, sectors: 1, full: 1 }
    }

    #[test]
    fn a_request_forgets_nothing_whatever_the_number_of_its_lines() {
        assert_eq!((size_of::<Request>(), size_of::<PackedTouch>()), (16, 8));
        for (demand, lines) in
            Demand::ALL.into_iter().flat_map(|demand| [(demand, 1), (demand, 2), (demand, 300)])
        {
            let mut stream = CtaStream::new(1000);
            let touched =
                |line| LineTouch { line: (1 << 40) - 2 - line, sectors: 0xA5, full: 0x81 };
            // Another one before and after, and one without lines.
            let request = |row| Request::new(7_000_000, 31, row, demand);
            for (row, lines) in [(1, 5), (2, 0), (12_345_678, lines), (3, 1)] {
                (0..lines).for_each(|line| stream.push(touched(line)));
                stream.close(request(row));
            }
            assert_eq!(stream.requests.len(), 3);
            let request = stream.requests[1];
            assert_eq!(
                (request.time(), request.warp(), request.row(), request.demand()),
                (7_000_000, 31, 12_345_678, demand)
            );
            assert_eq!(request.line_count() as u64, lines);
            let there = stream.lines_of(&request).iter();
            let there = there.map(|there| (there.line(), there.sectors(), there.full()));
            assert!(there.eq((0..lines).map(|line| ((1 << 40) - 2 - line, 0xA5, 0x81))));
            assert_eq!(stream.sectors(), (5 + lines + 1) * 4);
        }
        let late = Request::new(u64::MAX, 0, u32::MAX, Demand::Load);
        assert_eq!((late.time(), late.row()), (u32::MAX, ROW_LIMIT));
    }

    #[test]
    fn requests_are_sorted_by_time_then_warp_and_keep_their_order() {
        let mut stream = CtaStream::new(10);
        // Warp 1 reports before warp 0, as after a barrier.
        for (time, warp, lines) in
            [(5, 1, [9, 3]), (5, 1, [2, 8]), (9, 1, [6, 6]), (5, 0, [7, 4]), (6, 0, [1, 0])]
        {
            lines.into_iter().for_each(|line| stream.push(touch(line)));
            stream.close(Request::new(time, warp, 0, Demand::Load));
        }
        stream.sort();
        let lines = stream.requests.iter().flat_map(|request| stream.lines_of(request));
        let lines: Vec<_> = lines.map(|line| line.line()).collect();
        assert_eq!(lines, [7, 4, 9, 3, 2, 8, 1, 0, 6, 6]);
    }

    #[test]
    fn what_exceeds_the_limit_is_counted() {
        let mut stream = CtaStream::new(3);
        for time in 0..3 {
            for line in 0..2 {
                stream.push(LineTouch { line, sectors: 0xF, full: 0xF });
            }
            stream.close(Request::new(time, 0, 0, Demand::Load));
        }
        let counts = stream.requests.iter().map(Request::line_count).collect::<Vec<_>>();
        assert_eq!((counts, stream.sectors()), (vec![2, 1], 12));
        assert_eq!(stream.take_left_out_sectors(), 12);
        assert_eq!(stream.take_left_out_sectors(), 0);
        // The next CTA has the whole of it again.
        stream.clear();
        stream.push(touch(1));
        stream.close(Request::new(0, 0, 0, Demand::Load));
        assert_eq!((stream.sectors(), stream.bytes()), (1, 16));
    }
}
