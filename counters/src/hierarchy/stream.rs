//! The accesses of one CTA on their way to the caches.

use crate::coalescing::LineTouch;

/// Who asks for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Demand {
    /// Loads.
    Load,
    /// Loads of data that the kernel promises not to write, and textures.
    LoadReadOnly,
    /// Stores.
    Store,
    /// Atomics and reductions.
    Update,
    /// Loads of local memory.
    LocalLoad,
    /// Stores to local memory.
    LocalStore,
    /// Loads of global memory that no first-level cache keeps.
    LoadPastL1,
}

impl Demand {
    fn of_code(code: u64) -> Self {
        match code {
            0 => Self::Load,
            1 => Self::LoadReadOnly,
            2 => Self::Store,
            3 => Self::Update,
            4 => Self::LocalLoad,
            5 => Self::LocalStore,
            _ => Self::LoadPastL1,
        }
    }

    /// Whether lines are relative to the warp's own region of local memory.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::LocalLoad | Self::LocalStore)
    }
}

/// One line of one warp access, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The warp's clock, as far as 32 bits go; later requests stay in the order they came in.
    time: u32,
    /// The row of the base table in the upper 24 bits, the warp in the lower 8.
    row_and_warp: u32,
    /// From the top: 40 bits of line (bytes below 2⁴⁷), touched sectors, sectors of which every
    /// byte is touched, demand.
    place: u64,
}

const WARP_BITS: u32 = 8;

/// Sorting by counting looks at each clock, and pays up to so many clocks per request.
const CLOCKS_PER_REQUEST: usize = 16;

/// Rows from here on share the last one, whose traffic belongs to no instruction.
pub(crate) const ROW_LIMIT: u32 = (1 << (32 - WARP_BITS)) - 1;

const LINE_BITS: u32 = 40;

impl Request {
    /// A request of `warp` at its clock `time` for a row of the base table.
    #[inline]
    pub(crate) fn new(time: u64, warp: u32, row: u32, demand: Demand) -> Self {
        Self {
            time: u32::try_from(time).unwrap_or(u32::MAX),
            row_and_warp: row.min(ROW_LIMIT) << WARP_BITS | warp & ((1 << WARP_BITS) - 1),
            place: demand as u64,
        }
    }

    /// The same request for one line of its access.
    #[inline]
    pub(crate) fn with(self, touch: LineTouch) -> Self {
        let LineTouch { line, sectors, full } = touch;
        let demand = self.place & 0xFF;
        let masks = u64::from(sectors) << 16 | u64::from(full) << 8;
        Self { place: line << (64 - LINE_BITS) | masks | demand, ..self }
    }

    #[inline]
    pub(crate) fn time(&self) -> u32 {
        self.time
    }

    #[inline]
    pub(crate) fn warp(&self) -> u32 {
        self.row_and_warp & ((1 << WARP_BITS) - 1)
    }

    #[inline]
    pub(crate) fn row(&self) -> u32 {
        self.row_and_warp >> WARP_BITS
    }

    /// The line of 128 bytes; of local memory, the line within the warp's own region.
    #[inline]
    pub(crate) fn line(&self) -> u64 {
        self.place >> (64 - LINE_BITS)
    }

    #[inline]
    pub(crate) fn sectors(&self) -> u8 {
        (self.place >> 16) as u8
    }

    #[inline]
    pub(crate) fn full(&self) -> u8 {
        (self.place >> 8) as u8
    }

    #[inline]
    pub(crate) fn demand(&self) -> Demand {
        Demand::of_code(self.place & 0xFF)
    }
}

/// Lines of one warp's local memory: the 512 KB that a thread may have at most (CUDA C
/// Programming Guide, table of technical specifications) for 32 threads.
pub(crate) const LOCAL_LINES_PER_WARP: u64 = (512 << 10) * 32 / 128;

/// Where local memory begins, in lines: beyond every global address.
const LOCAL_FIRST_LINE: u64 = 1 << LINE_BITS;

/// The line of a warp's local memory, of the `region`-th warp that the GPU holds.
pub(crate) fn local_line(region: u64, line: u64) -> u64 {
    LOCAL_FIRST_LINE + region * LOCAL_LINES_PER_WARP + line
}

/// The requests of one CTA, up to a limit.
#[derive(Clone, Debug)]
pub struct CtaStream {
    pub(crate) requests: Vec<Request>,
    limit: usize,
    /// Sectors of the requests beyond the limit: they are counted but not replayed.
    left_out_sectors: u64,
    /// Warp-instructions of the CTA's longest warp, as far as its accesses tell.
    length: u64,
}

impl CtaStream {
    /// An empty stream that keeps at most `limit` requests.
    pub(crate) fn new(limit: usize) -> Self {
        Self { requests: Vec::new(), limit, left_out_sectors: 0, length: 0 }
    }

    /// Requests that are kept at most.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    #[inline]
    pub(crate) fn push(&mut self, request: Request) {
        if self.requests.len() < self.limit {
            self.requests.push(request);
        } else {
            self.left_out_sectors += u64::from(request.sectors().count_ones());
        }
    }

    /// A warp has issued `time` instructions and then an access to any memory.
    #[inline]
    pub(crate) fn reach(&mut self, time: u64) {
        self.length = self.length.max(time + 1);
    }

    /// How long the CTA ran, by the clock of its longest warp.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Sectors that did not fit, since the last call.
    pub(crate) fn take_left_out_sectors(&mut self) -> u64 {
        std::mem::take(&mut self.left_out_sectors)
    }

    /// Brings the requests into the order of the warps' clocks; requests of different warps at
    /// the same time are ordered by warp, lines of one access keep their order.
    pub(crate) fn sort(&mut self) {
        self.sort_by_time();
        // Warps that run in turns have come in order; after a barrier they may not.
        let by_time_and_warp =
            |request: &Request| u64::from(request.time) << WARP_BITS | u64::from(request.warp());
        if !self.requests.is_sorted_by_key(by_time_and_warp) {
            self.requests.sort_by_key(by_time_and_warp);
        }
    }

    /// Sorts by the clock alone, and keeps the order of what is at the same time: by counting, where
    /// the clocks are dense enough.
    fn sort_by_time(&mut self) {
        let times = self.requests.iter().map(Request::time);
        let (Some(first), Some(last)) = (times.clone().min(), times.max()) else { return };
        let clocks = (last - first) as usize + 1;
        if clocks > CLOCKS_PER_REQUEST * self.requests.len() {
            return self.requests.sort_by_key(Request::time);
        }
        let mut places = vec![0_u32; clocks + 1];
        for request in &self.requests {
            places[(request.time - first) as usize + 1] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            before += *place;
            *place = before;
        }
        let mut sorted = self.requests.clone();
        for request in &self.requests {
            let place = &mut places[(request.time - first) as usize];
            sorted[*place as usize] = *request;
            *place += 1;
        }
        self.requests = sorted;
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.length = 0;
    }

    /// Sectors that are kept.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        self.requests.iter().map(|request| u64::from(request.sectors().count_ones())).sum()
    }

    /// Bytes that the requests take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.requests.len() * size_of::<Request>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_16_bytes_and_forgets_nothing() {
        assert_eq!(size_of::<Request>(), 16);
        let touch = LineTouch { line: (1 << 40) - 2, sectors: 0xA5, full: 0x81 };
        for demand in [
            Demand::Load,
            Demand::LoadReadOnly,
            Demand::Store,
            Demand::Update,
            Demand::LocalLoad,
            Demand::LocalStore,
            Demand::LoadPastL1,
        ] {
            let request = Request::new(7_000_000, 31, 12_345_678, demand).with(touch);
            assert_eq!(
                (request.time(), request.warp(), request.row()),
                (7_000_000, 31, 12_345_678)
            );
            assert_eq!(
                (request.line(), request.sectors(), request.full()),
                ((1 << 40) - 2, 0xA5, 0x81)
            );
            assert_eq!(request.demand(), demand);
        }
        let late = Request::new(u64::MAX, 0, u32::MAX, Demand::Load);
        assert_eq!((late.time(), late.row()), (u32::MAX, ROW_LIMIT));
    }

    #[test]
    fn requests_are_sorted_by_time_then_warp_and_lines_keep_their_order() {
        let mut stream = CtaStream::new(10);
        // Warp 1 reports before warp 0, as after a barrier.
        for (time, warp, line) in [(5, 1, 9), (5, 1, 3), (9, 1, 6), (5, 0, 7), (6, 0, 1)] {
            let touch = LineTouch { line, sectors: 1, full: 1 };
            stream.push(Request::new(time, warp, 0, Demand::Load).with(touch));
        }
        stream.sort();
        let lines: Vec<_> = stream.requests.iter().map(Request::line).collect();
        assert_eq!(lines, [7, 9, 3, 1, 6]);
    }

    #[test]
    fn what_exceeds_the_limit_is_counted() {
        let mut stream = CtaStream::new(2);
        for line in 0..5 {
            let touch = LineTouch { line, sectors: 0xF, full: 0xF };
            stream.push(Request::new(line, 0, 0, Demand::Load).with(touch));
        }
        assert_eq!((stream.requests.len(), stream.sectors()), (2, 8));
        assert_eq!(stream.take_left_out_sectors(), 12);
        assert_eq!(stream.take_left_out_sectors(), 0);
    }
}
