//! The accesses of CTAs on their way to the L2, and how those of a wave are interleaved.
//!
//! **Lockstep waves.** The CTAs that are resident together (a wave) are taken to run in step: the
//! requests of all their warps reach the L2 ordered by the number of instructions that the
//! warp had issued before, then by CTA, then by warp. The next wave starts when the last request
//! of this one is served. On hardware a CTA starts as soon as another one ends, and warps drift
//! apart; but the order here needs no timing model and never depends on the CPU's threads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::coalescing::LineTouch;
use crate::l2::{L2, L2Operation};

/// One line of one warp access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The warp's clock in the upper 48 bits, the warp in the lower 16.
    key: u64,
    /// The 128-byte line; of local memory, the line within the warp's own region.
    pub(crate) line: u64,
    /// The row of the base table that it belongs to.
    pub(crate) row: u32,
    /// Touched sectors.
    pub(crate) sectors: u8,
    /// Sectors of which every byte is touched.
    pub(crate) full: u8,
    /// What is done to them.
    pub(crate) operation: L2Operation,
    /// Whether `line` is relative to the warp's region of local memory.
    pub(crate) local: bool,
}

impl Request {
    pub(crate) fn key(time: u64, warp: u32) -> u64 {
        time << WARP_BITS | u64::from(warp) & ((1 << WARP_BITS) - 1)
    }

    pub(crate) fn new(key: u64, row: u32, operation: L2Operation, local: bool) -> Self {
        Self { key, line: 0, row, sectors: 0, full: 0, operation, local }
    }

    /// The same request for one line of its access.
    pub(crate) fn with(self, touch: LineTouch) -> Self {
        let LineTouch { line, sectors, full } = touch;
        Self { line, sectors, full, ..self }
    }

    fn time(&self) -> u64 {
        self.key >> WARP_BITS
    }

    fn warp(&self) -> u64 {
        self.key & ((1 << WARP_BITS) - 1)
    }
}

const WARP_BITS: u32 = 16;

/// Lines of one warp's local memory: the 512 KB that a thread may have at most (CUDA C
/// Programming Guide, table of technical specifications) for 32 threads.
pub(crate) const LOCAL_LINES_PER_WARP: u64 = (512 << 10) * 32 / 128;

/// Where local memory begins, in lines: beyond every global address.
const LOCAL_FIRST_LINE: u64 = 1 << 56;

/// The requests of one CTA, up to a limit.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    requests: Vec<Request>,
    limit: usize,
    /// Sectors of the requests beyond the limit: they are counted but not replayed.
    left_out_sectors: u64,
}

impl Stream {
    pub(crate) fn new(limit: usize) -> Self {
        Self { requests: Vec::new(), limit, left_out_sectors: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, request: Request) {
        if self.requests.len() < self.limit {
            self.requests.push(request);
        } else {
            self.left_out_sectors += u64::from(request.sectors.count_ones());
        }
    }

    /// Sectors that did not fit, since the last call.
    pub(crate) fn take_left_out_sectors(&mut self) -> u64 {
        std::mem::take(&mut self.left_out_sectors)
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
    }
}

/// Replays the streams of one wave, in CTA order, through `l2`; `on_fill` learns the row and the
/// DRAM read transactions of each request that missed. Empties the streams.
pub(crate) fn replay(streams: &mut [&mut Stream], l2: &mut L2, mut on_fill: impl FnMut(u32, u32)) {
    for stream in streams.iter_mut() {
        // Each warp's requests are in order already, so this merges a few runs. The sort is
        // stable: lines of one access keep their order.
        stream.requests.sort_by_key(|request| request.key);
    }
    let mut heads: BinaryHeap<Reverse<(u64, usize)>> = streams
        .iter()
        .enumerate()
        .filter_map(|(cta, stream)| Some(Reverse((stream.requests.first()?.time(), cta))))
        .collect();
    let mut positions = vec![0_usize; streams.len()];
    let warps = streams
        .iter()
        .flat_map(|stream| stream.requests.iter().filter(|request| request.local))
        .map(|request| request.warp() + 1)
        .max()
        .unwrap_or(0);
    while let Some(Reverse((time, cta))) = heads.pop() {
        let rest = &streams[cta].requests[positions[cta]..];
        let now = rest.iter().take_while(|request| request.time() == time).count();
        for request in &rest[..now] {
            let mut line = request.line;
            if request.local {
                // A resident warp has its region; the CTAs of the next wave take them over.
                let region = cta as u64 * warps + request.warp();
                line += LOCAL_FIRST_LINE + region * LOCAL_LINES_PER_WARP;
            }
            let fills = l2.access(line, request.sectors, request.full, request.operation);
            if fills > 0 {
                on_fill(request.row, fills);
            }
        }
        positions[cta] += now;
        if let Some(next) = rest.get(now) {
            heads.push(Reverse((next.time(), cta)));
        }
    }
    for stream in streams {
        stream.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::l2::L2Geometry;

    fn request(time: u64, warp: u32, line: u64) -> Request {
        let base = Request::new(Request::key(time, warp), line as u32, L2Operation::Read, false);
        Request { line, sectors: 0xF, full: 0xF, ..base }
    }

    /// The order in which a wave's lines reach the L2; each line is requested once, so each
    /// one misses and reports.
    fn order(ctas: &[&[Request]]) -> Vec<u32> {
        let mut streams: Vec<_> = ctas.iter().map(|_| Stream::new(100)).collect();
        for (stream, requests) in streams.iter_mut().zip(ctas) {
            requests.iter().for_each(|&request| stream.push(request));
        }
        let mut seen = Vec::new();
        let mut streams: Vec<_> = streams.iter_mut().collect();
        replay(&mut streams, &mut L2::new(L2Geometry::GTX_480), |row, _| seen.push(row));
        assert!(streams.iter().all(|stream| stream.requests.is_empty()));
        seen
    }

    #[test]
    fn a_wave_runs_by_time_then_cta_then_warp() {
        // CTA 0 reports warp 1 before warp 0, as after a barrier.
        let cta_0 = [request(5, 1, 51), request(9, 1, 91), request(5, 0, 50), request(7, 0, 70)];
        let cta_1 = [request(5, 0, 150), request(6, 0, 160), request(9, 0, 190)];
        assert_eq!(order(&[&cta_0, &cta_1]), [50, 51, 150, 160, 70, 91, 190]);
        assert_eq!(order(&[&[], &cta_1, &[]]), [150, 160, 190]);
    }

    #[test]
    fn lines_of_one_access_keep_their_order() {
        let cta = [request(5, 0, 9), request(5, 0, 3), request(5, 0, 6)];
        assert_eq!(order(&[&cta]), [9, 3, 6]);
    }

    #[test]
    fn warps_have_local_memory_of_their_own_and_waves_share_it() {
        let local = |warp| Request { local: true, ..request(1, warp, 7) };
        let mut l2 = L2::new(L2Geometry::GTX_480);
        for wave in 0..2 {
            let mut streams = vec![Stream::new(10), Stream::new(10)];
            for stream in &mut streams {
                stream.push(local(0));
                stream.push(local(1));
            }
            let mut fills = 0;
            let mut streams: Vec<_> = streams.iter_mut().collect();
            replay(&mut streams, &mut l2, |_, sectors| fills += sectors);
            assert_eq!(fills, if wave == 0 { 4 * 4 } else { 0 });
        }
    }

    #[test]
    fn what_exceeds_the_limit_is_counted() {
        let mut stream = Stream::new(2);
        (0..5).for_each(|line| stream.push(request(line, 0, line)));
        assert_eq!(stream.requests.len(), 2);
        assert_eq!(stream.take_left_out_sectors(), 12);
        assert_eq!(stream.take_left_out_sectors(), 0);
    }

    #[test]
    fn a_request_stays_small() {
        assert_eq!(size_of::<Request>(), 24);
    }
}
