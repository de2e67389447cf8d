//! Copies and fills, by host addresses.

#![allow(unsafe_code, reason = "the program's own addresses are read and written")]

use crate::clock::{Engine, StreamId};
use crate::memory::BlockKind;
use crate::{Device, Error};

/// Rows of bytes with a pitch, which is the distance of their beginnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

impl Extent {
    /// One row.
    #[must_use]
    pub const fn row(bytes: u64) -> Self {
        Self { width: bytes, height: 1 }
    }

    /// Bytes from the first to behind the last, with a pitch.
    fn span(self, pitch: u64) -> Option<u64> {
        match (self.width, self.height) {
            (0, _) | (_, 0) => Some(0),
            (width, height) => pitch.checked_mul(height - 1)?.checked_add(width),
        }
    }

    fn bytes(self) -> u64 {
        self.width.saturating_mul(self.height)
    }
}

/// A place in memory that rows are read from or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rows {
    address: u64,
    pitch: u64,
}

impl Device {
    /// Copies `bytes` bytes from `from` to `to`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if device memory is not allocated there.
    ///
    /// # Safety
    ///
    /// Addresses that no block holds are memory of the program, valid for the copy.
    pub unsafe fn copy(
        &mut self,
        to: u64,
        from: u64,
        bytes: u64,
        stream: StreamId,
    ) -> Result<(), Error> {
        // SAFETY: the caller's contract.
        unsafe { self.copy_rows(to, bytes, from, bytes, Extent::row(bytes), stream) }
    }

    /// Copies rows that lie `from_pitch` and `to_pitch` bytes apart.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if device memory is not allocated there, and
    /// [`Error::InvalidPitch`] if a pitch is smaller than a row.
    ///
    /// # Safety
    ///
    /// As [`Self::copy`].
    pub unsafe fn copy_rows(
        &mut self,
        to: u64,
        to_pitch: u64,
        from: u64,
        from_pitch: u64,
        extent: Extent,
        stream: StreamId,
    ) -> Result<(), Error> {
        self.usable()?;
        self.clock.stream(stream)?;
        if extent.height > 1 && extent.width > to_pitch.min(from_pitch) {
            return Err(Error::InvalidPitch);
        }
        let to_block = self.check(Rows { address: to, pitch: to_pitch }, extent)?;
        let from_block = self.check(Rows { address: from, pitch: from_pitch }, extent)?;
        if extent.bytes() == 0 {
            return Ok(());
        }
        for row in 0..extent.height {
            let from = std::ptr::with_exposed_provenance::<u8>((from + row * from_pitch) as usize);
            let to = std::ptr::with_exposed_provenance_mut::<u8>((to + row * to_pitch) as usize);
            // SAFETY: blocks were checked to hold all rows; other addresses are the program's, by
            // the contract. Programs may copy within a buffer.
            unsafe { std::ptr::copy(from, to, extent.width as usize) };
        }
        if to_block.is_some() {
            self.checking.written(to, extent.span(to_pitch).unwrap_or(0));
        }
        let on_device = |block: Option<BlockKind>| block.is_some_and(BlockKind::is_on_device);
        let engine = match (on_device(from_block), on_device(to_block)) {
            (false, true) => Engine::ToDevice,
            (true, false) => Engine::ToHost,
            (true, true) => Engine::Compute,
            // The host's own business.
            (false, false) => return Ok(()),
        };
        let duration = self.copy_ms(engine, extent.bytes());
        self.clock.submit(stream, engine, duration)?;
        self.record.copied(engine, extent.bytes(), duration);
        Ok(())
    }

    /// Fills rows with a pattern of 1, 2 or 4 bytes.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if no memory is allocated there, or rows are not made of whole
    /// patterns.
    ///
    /// # Safety
    ///
    /// As [`Self::copy`].
    pub unsafe fn fill(
        &mut self,
        to: u64,
        pitch: u64,
        pattern: &[u8],
        extent: Extent,
        stream: StreamId,
    ) -> Result<(), Error> {
        self.usable()?;
        self.clock.stream(stream)?;
        if extent.height > 1 && extent.width > pitch {
            return Err(Error::InvalidPitch);
        }
        let block = self.check(Rows { address: to, pitch }, extent)?;
        let is_whole = !pattern.is_empty() && extent.width.is_multiple_of(pattern.len() as u64);
        if block.is_none() && extent.bytes() > 0 || !is_whole {
            return Err(Error::InvalidValue);
        }
        for row in 0..extent.height {
            let to = std::ptr::with_exposed_provenance_mut::<u8>((to + row * pitch) as usize);
            // SAFETY: a block holds all rows, as was checked, and nobody else borrows its bytes.
            let row = unsafe { std::slice::from_raw_parts_mut(to, extent.width as usize) };
            match *pattern {
                [byte] => row.fill(byte),
                _ => {
                    row.chunks_exact_mut(pattern.len()).for_each(|one| one.copy_from_slice(pattern))
                }
            }
        }
        self.checking.written(to, extent.span(pitch).unwrap_or(0));
        let duration = self.copy_ms(Engine::Compute, extent.bytes()) / 2.0;
        self.clock.submit(stream, Engine::Compute, duration)?;
        Ok(())
    }

    /// The kind of the block that holds the rows; none if they are memory of the program.
    fn check(&self, rows: Rows, extent: Extent) -> Result<Option<BlockKind>, Error> {
        let span = extent.span(rows.pitch).ok_or(Error::InvalidValue)?;
        if span == 0 {
            return Ok(None);
        }
        match self.block(rows.address) {
            Some(block) if span <= block.bytes - (rows.address - block.address) => {
                Ok(Some(block.kind))
            }
            None if !self.is_of_device(rows.address) && rows.address != 0 => Ok(None),
            _ => Err(Error::InvalidValue),
        }
    }

    /// The time of a copy in milliseconds. Within the device bytes are read and written.
    fn copy_ms(&self, engine: Engine, bytes: u64) -> f64 {
        let gbps = match engine {
            Engine::Compute => self.properties.memory_gbps().map(|gbps| gbps / 2.0),
            Engine::ToDevice | Engine::ToHost => self.settings.link_gbps,
        };
        gbps.map_or(0.0, |gbps| bytes as f64 / gbps / 1e6)
    }
}
