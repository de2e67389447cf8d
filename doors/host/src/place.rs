//! Rows and slices of bytes, and where they are.

use crate::Error;

/// Bytes of rows, rows of slices, and slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

impl Extent {
    /// One row.
    #[must_use]
    pub const fn row(bytes: u64) -> Self {
        Self::rows(bytes, 1)
    }

    /// Rows of one slice.
    #[must_use]
    pub const fn rows(width: u64, height: u64) -> Self {
        Self { width, height, depth: 1 }
    }

    pub(crate) fn bytes(self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }
}

/// A place in memory that rows are read from or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PitchedMemory {
    /// The first byte.
    pub address: u64,
    /// Bytes from the beginning of a row to that of the next one.
    pub pitch: u64,
    /// Bytes from the beginning of a slice to that of the next one.
    pub slice_pitch: u64,
}

impl PitchedMemory {
    /// The place of rows in one slice.
    #[must_use]
    pub const fn rows(address: u64, pitch: u64) -> Self {
        Self { address, pitch, slice_pitch: 0 }
    }

    /// Bytes from the first to behind the last.
    pub(crate) fn span(self, extent: Extent) -> Option<u64> {
        if extent.bytes() == 0 {
            return Some(0);
        }
        let slices = self.slice_pitch.checked_mul(extent.depth - 1)?;
        let rows = self.pitch.checked_mul(extent.height - 1)?;
        slices.checked_add(rows)?.checked_add(extent.width)
    }

    /// Rows and slices must not overlap.
    pub(crate) fn check_pitch(self, extent: Extent) -> Result<(), Error> {
        let slice = Self { slice_pitch: 0, ..self }.span(Extent { depth: 1, ..extent });
        let overlaps = extent.height > 1 && extent.width > self.pitch
            || extent.depth > 1 && slice.is_none_or(|slice| slice > self.slice_pitch);
        if overlaps { Err(Error::InvalidPitch) } else { Ok(()) }
    }

    /// The addresses of all rows.
    pub(crate) fn addresses(self, extent: Extent) -> impl Iterator<Item = u64> {
        (0..extent.depth).flat_map(move |slice| {
            (0..extent.height)
                .map(move |row| self.address + slice * self.slice_pitch + row * self.pitch)
        })
    }
}
