//! Requests to the second-level cache, each on its way to the slice that holds its line.

use super::placement::Placement;
use super::sectored::LineShape;
use super::warp_request::ROW_LIMIT;

/// The effect of a request on the sectors that it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Operation {
    /// Loads.
    Read,
    /// Loads for which a first-level cache fetches a whole line.
    ReadLine,
    /// Stores.
    Write,
    /// Atomics and reductions.
    Update,
}

impl L2Operation {
    /// Returns true if it leaves the sectors dirty.
    #[inline]
    pub(super) fn writes(self) -> bool {
        match self {
            Self::Read | Self::ReadLine => false,
            Self::Write | Self::Update => true,
        }
    }
}

/// A request for sectors of one line of the cache, on its way to its slice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SliceRequest {
    pub(crate) tag: u64,
    pub(super) set: u32,
    /// Requests are served by turn: by time, then by the place of their warp in its SM.
    pub(crate) turn: u32,
    pub(super) source: Source,
    pub(super) sectors: u16,
    pub(super) full: u16,
}

/// The row of a request and its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Source(u32);

const ROW_BITS: u32 = 24;
const _: () = assert!(ROW_LIMIT < 1 << ROW_BITS);

impl Source {
    #[inline]
    pub(super) fn new(row: u32, operation: L2Operation) -> Self {
        Self(row & ((1 << ROW_BITS) - 1) | (operation as u32) << ROW_BITS)
    }

    #[inline]
    pub(super) fn row(self) -> u32 {
        self.0 & ((1 << ROW_BITS) - 1)
    }

    #[inline]
    pub(super) fn operation(self) -> L2Operation {
        match self.0 >> ROW_BITS {
            0 => L2Operation::Read,
            1 => L2Operation::ReadLine,
            2 => L2Operation::Write,
            _ => L2Operation::Update,
        }
    }
}

/// Finds the slices of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Router {
    shape: LineShape,
    placement: Placement,
}

impl Router {
    pub(super) fn new(shape: LineShape, placement: Placement) -> Self {
        Self { shape, placement }
    }

    /// Cuts a request for sectors of a 128-byte line into those of the cache's lines.
    #[inline]
    pub(crate) fn route(
        &self,
        line: u64,
        sectors: u8,
        full: u8,
        operation: L2Operation,
        row: u32,
        mut send: impl FnMut(usize, SliceRequest),
    ) {
        self.shape.cut(line, sectors, full, |tag, sectors, full| {
            let (slice, set) = self.placement.of(tag);
            let (set, source) = (set as u32, Source::new(row, operation));
            send(slice, SliceRequest { tag, set, turn: 0, source, sectors, full });
        });
    }
}
