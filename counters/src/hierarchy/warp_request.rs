//! A warp's request and its lines, packed.

use crate::units::{LINE_BYTES, LOCAL_LINES_PER_WARP, LineTouch};

/// The kind of a request.
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
    /// Every demand.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::Load,
        Self::LoadReadOnly,
        Self::Store,
        Self::Update,
        Self::LocalLoad,
        Self::LocalStore,
        Self::LoadPastL1,
    ];

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

    /// Returns true if lines are relative to the warp's own region of local memory.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::LocalLoad | Self::LocalStore)
    }
}

/// One line of an access, in 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedTouch {
    /// From the top: 40 bits of line (bytes below 2⁴⁷), touched sectors, fully touched sectors. The
    /// lowest byte belongs to the [`Request`] that the line stands in, if any.
    bits: u64,
}

const LINE_BITS: u32 = 40;

impl PackedTouch {
    #[inline]
    pub(crate) fn new(touch: LineTouch) -> Self {
        let LineTouch { line, sectors, full } = touch;
        let masks = u64::from(sectors) << 16 | u64::from(full) << 8;
        Self { bits: line << (64 - LINE_BITS) | masks }
    }

    /// The line of 128 bytes; of local memory, the line within the warp's own region.
    #[inline]
    pub(crate) fn line(self) -> u64 {
        self.bits >> (64 - LINE_BITS)
    }

    #[inline]
    pub(crate) fn sectors(self) -> u8 {
        (self.bits >> 16) as u8
    }

    #[inline]
    pub(crate) fn full(self) -> u8 {
        (self.bits >> 8) as u8
    }
}

impl PackedTouch {
    /// The line that lies `lines` further.
    #[inline]
    pub(crate) fn moved(self, lines: i64) -> Self {
        Self { bits: self.bits.wrapping_add((lines as u64) << (64 - LINE_BITS)) }
    }

    /// The distance to a line that is touched alike.
    pub(super) fn distance_to(self, other: Self) -> Option<i64> {
        let is_alike = (self.sectors(), self.full()) == (other.sectors(), other.full());
        is_alike.then_some(other.line() as i64 - self.line() as i64)
    }
}

/// A warp's request in 16 bytes: all lines of one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The warp's clock, as far as 32 bits go; later requests stay in the order they came in.
    time: u32,
    /// The row of the base table in the upper 24 bits, the warp in the lower 8.
    row_and_warp: u32,
    /// The demand in the lowest three bits. Most requests have one line, which stands above it. If
    /// the bit `SEVERAL` is set, the top 32 bits hold the place of the lines in the stream. The
    /// next 24 bits hold their number.
    lines: PackedTouch,
}

pub(super) const WARP_BITS: u32 = 8;
const DEMAND_BITS: u64 = 0b111;
const SEVERAL: u64 = 1 << 7;
const COUNT_BITS: u32 = 24;
const COUNT_SHIFT: u32 = 8;

/// The most lines of a request.
pub(super) const MOST_LINES: usize = (1 << COUNT_BITS) - 1;

/// Rows from here on share the last one, whose traffic belongs to no instruction.
pub(crate) const ROW_LIMIT: u32 = (1 << (32 - WARP_BITS)) - 1;

/// The row of requests that belong to no row, because their traffic is not to be told.
pub(crate) const NOBODY: u32 = ROW_LIMIT - 1;

/// Rows from here on belong to single requests ([`crate::trace`]), unless a program has so many
/// instructions.
pub(crate) const FIRST_SINGLE_ROW: u32 = 1 << 23;

impl Request {
    /// A request of `warp` at its clock `time` for a row of the base table, still without lines.
    #[inline]
    pub(crate) fn new(time: u64, warp: u32, row: u32, demand: Demand) -> Self {
        Self {
            time: u32::try_from(time).unwrap_or(u32::MAX),
            row_and_warp: row.min(ROW_LIMIT) << WARP_BITS | warp & ((1 << WARP_BITS) - 1),
            lines: PackedTouch { bits: demand as u64 },
        }
    }

    /// It belongs to `row` instead.
    pub(super) fn relabel(&mut self, row: u32) {
        self.row_and_warp = row.min(ROW_LIMIT) << WARP_BITS | self.warp();
    }

    /// The same of a single line, for another row.
    #[inline]
    pub(super) fn of_line(&self, touch: LineTouch, row: u32) -> Self {
        let demand = PackedTouch { bits: self.lines.bits & DEMAND_BITS };
        let row_and_warp = row << WARP_BITS | self.warp();
        Self { row_and_warp, lines: demand, ..*self }.with_line(PackedTouch::new(touch))
    }

    #[inline]
    pub(super) fn with_line(mut self, touch: PackedTouch) -> Self {
        self.lines.bits |= touch.bits;
        self
    }

    #[inline]
    pub(super) fn with_lines(mut self, first: usize, count: usize) -> Self {
        let place = (first as u64) << 32 | (count as u64) << COUNT_SHIFT;
        self.lines.bits |= place | SEVERAL;
        self
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

    #[inline]
    pub(crate) fn demand(&self) -> Demand {
        Demand::of_code(self.lines.bits & DEMAND_BITS)
    }

    #[inline]
    fn has_several_lines(&self) -> bool {
        self.lines.bits & SEVERAL != 0
    }

    /// It as if its line, if it has a single one, were the first of all.
    pub(super) fn without_line(mut self) -> Self {
        if !self.has_several_lines() {
            self.lines.bits &= u64::MAX >> LINE_BITS;
        }
        self
    }

    /// The same with its lines, if it has several, from another place of the stream on.
    pub(super) fn with_lines_from(mut self, first: usize) -> Self {
        if self.has_several_lines() {
            self.lines.bits = self.lines.bits & u64::from(u32::MAX) | (first as u64) << 32;
        }
        self
    }

    /// The order in which a CTA's requests are served.
    #[inline]
    pub(super) fn turn(&self) -> u64 {
        u64::from(self.time) << WARP_BITS | u64::from(self.warp())
    }

    /// Its lines, of which `several` has those of requests with more than one.
    #[inline]
    pub(super) fn lines_among<'a>(&'a self, several: &'a [PackedTouch]) -> &'a [PackedTouch] {
        match self.has_several_lines() {
            true => {
                let first = (self.lines.bits >> 32) as usize;
                &several[first..first + self.line_count()]
            }
            false => std::slice::from_ref(&self.lines),
        }
    }

    /// The places of its lines in the stream, if it has several.
    pub(super) fn several(&self) -> Option<std::ops::Range<usize>> {
        let first = (self.lines.bits >> 32) as usize;
        self.has_several_lines().then(|| first..first + self.line_count())
    }

    #[inline]
    pub(crate) fn line_count(&self) -> usize {
        if self.has_several_lines() {
            (self.lines.bits >> COUNT_SHIFT) as usize & MOST_LINES
        } else {
            1
        }
    }
}

/// The first line of local memory: beyond every global address.
const LOCAL_FIRST_LINE: u64 = 1 << LINE_BITS;

/// The first byte of local memory.
pub(crate) const LOCAL_FIRST_BYTE: u64 = LOCAL_FIRST_LINE * LINE_BYTES;

/// The first line of a warp's local memory, of the `region`-th warp that the GPU holds.
pub(crate) fn first_local_line(region: u64) -> u64 {
    LOCAL_FIRST_LINE + region * LOCAL_LINES_PER_WARP
}
