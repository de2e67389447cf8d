//! What leaves the first-level caches of some SMs: requests for the slices of the L2, and hits.

use super::request::{L2Operation, Router, SliceRequest};
use super::sums::RowSums;
use super::warp_request::ROW_LIMIT;

/// Requests of some consecutive SMs, by slice; those of each SM in the order of their turns.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    by_slice: Vec<Vec<SliceRequest>>,
    /// The time at which turns begin.
    pub(crate) time: TurnTime,
}

/// The place of the turns of a stretch of time among those of the launch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TurnTime {
    /// Turns of the launch before them; it wraps.
    pub(crate) first: u32,
    /// Turns in which each warp issues an instruction.
    pub(crate) of_instruction: u32,
}

impl Queues {
    /// Empty ones for as many slices.
    pub(crate) fn new(slices: usize) -> Self {
        Self { by_slice: vec![Vec::new(); slices], time: TurnTime::default() }
    }

    /// Those of a slice.
    pub(crate) fn of(&self, slice: usize) -> &[SliceRequest] {
        self.by_slice.get(slice).map_or(&[], Vec::as_slice)
    }

    /// Requests for all slices.
    pub(crate) fn len(&self) -> usize {
        self.by_slice.iter().map(Vec::len).sum()
    }

    pub(crate) fn clear(&mut self) {
        self.by_slice.iter_mut().for_each(Vec::clear);
    }
}

/// The destination of requests that first-level caches do not keep, and of hits.
#[derive(Debug)]
pub(crate) struct Outbox<'a> {
    queues: &'a mut Queues,
    router: &'a Router,
    /// Sectors that first-level caches held, by row.
    hits: &'a mut RowSums<u64>,
    /// Those of the latest row: warps reach an instruction together, so that rows come in runs.
    of_row: u64,
    row: u32,
    /// The turn of the warp whose requests come.
    pub(crate) turn: u32,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(
        queues: &'a mut Queues,
        router: &'a Router,
        hits: &'a mut RowSums<u64>,
    ) -> Self {
        Self { queues, router, hits, of_row: 0, row: 0, turn: 0 }
    }

    #[inline]
    pub(crate) fn send(
        &mut self,
        (line, sectors, full): (u64, u8, u8),
        operation: L2Operation,
        row: u32,
    ) {
        self.send_all(std::iter::once((line, sectors, full)), operation, row);
    }

    /// Sends lines of a request.
    #[inline]
    pub(crate) fn send_all(
        &mut self,
        lines: impl Iterator<Item = (u64, u8, u8)>,
        operation: L2Operation,
        row: u32,
    ) {
        let Self { queues, router, turn, .. } = self;
        // On the stack, so that its numbers stay in registers from line to line.
        let router = **router;
        for (line, sectors, full) in lines {
            router.route(line, sectors, full, operation, row, |slice, mut request| {
                request.turn = *turn;
                queues.by_slice[slice].push(request);
            });
        }
    }

    /// Sectors of local memory that leave an L1; nobody knows any more who wrote them.
    pub(crate) fn write_back(&mut self, line: u64, sectors: u8) {
        self.send((line, sectors, sectors), L2Operation::Write, ROW_LIMIT);
    }

    /// First-level caches held as many sectors of a request.
    #[inline]
    pub(crate) fn hit(&mut self, row: u32, sectors: u64) {
        if row != self.row {
            self.end_row();
            self.row = row;
        }
        self.of_row += sectors;
    }

    /// Nothing else comes.
    pub(crate) fn end(mut self) {
        self.end_row();
    }

    fn end_row(&mut self) {
        if self.of_row > 0 {
            self.hits.add(self.row, std::mem::take(&mut self.of_row));
        }
    }
}
