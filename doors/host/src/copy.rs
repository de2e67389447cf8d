//! Copies and fills, by host addresses.

#![allow(unsafe_code, reason = "the program's own addresses are read and written")]

use crate::block::BlockKind;
use crate::clock::{Engine, StreamId};
use crate::graph::Work;
use crate::place::{Extent, PitchedMemory};
use crate::record::Copied;
use crate::timeline::What;
use crate::{Device, Error};

impl Device {
    /// Copies rows from one place to another.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if device memory is not allocated there, and
    /// [`Error::InvalidPitch`] if a pitch is smaller than what it holds.
    ///
    /// # Safety
    ///
    /// Addresses that no block holds are memory of the program, valid for the copy.
    pub unsafe fn copy(
        &mut self,
        to: PitchedMemory,
        from: PitchedMemory,
        extent: Extent,
        stream: StreamId,
    ) -> Result<(), Error> {
        self.usable()?;
        self.clock.stream(stream)?;
        to.check_pitch(extent)?;
        from.check_pitch(extent)?;
        let to_block = self.check(to, extent)?;
        let from_block = self.check(from, extent)?;
        if self.capture(stream, || Work::Copy { to, from, extent })? || extent.bytes() == 0 {
            return Ok(());
        }
        for (to, from) in to.addresses(extent).zip(from.addresses(extent)) {
            let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
            let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
            // SAFETY: blocks were checked to hold all rows; other addresses are the program's, by
            // the contract. Programs may copy within a buffer.
            unsafe { std::ptr::copy(from, to, extent.width as usize) };
        }
        if to_block.is_some() {
            self.written(to, extent);
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
        let start_ms = self.clock.submit(stream, engine, duration)?;
        let (bytes, stream) = (extent.bytes(), self.clock.origin(stream));
        self.record.copied(Copied { engine, bytes, stream, start_ms, time_ms: duration });
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
        to: PitchedMemory,
        pattern: &[u8],
        extent: Extent,
        stream: StreamId,
    ) -> Result<(), Error> {
        self.usable()?;
        self.clock.stream(stream)?;
        to.check_pitch(extent)?;
        let block = self.check(to, extent)?;
        let is_whole = !pattern.is_empty() && extent.width.is_multiple_of(pattern.len() as u64);
        if block.is_none() && extent.bytes() > 0 || !is_whole {
            return Err(Error::InvalidValue);
        }
        if self.capture(stream, || Work::Fill { to, pattern: pattern.to_vec(), extent })? {
            return Ok(());
        }
        // No bytes may lie anywhere, even at the null address, where no slice may begin.
        let rows = to.addresses(extent).filter(|_| extent.bytes() > 0);
        for row in rows {
            let to = std::ptr::with_exposed_provenance_mut::<u8>(row as usize);
            // SAFETY: a block holds all rows, as was checked, and nobody else borrows its bytes.
            let row = unsafe { std::slice::from_raw_parts_mut(to, extent.width as usize) };
            match *pattern {
                [byte] => row.fill(byte),
                _ => row
                    .chunks_exact_mut(pattern.len())
                    .for_each(|row_part| row_part.copy_from_slice(pattern)),
            }
        }
        self.written(to, extent);
        let duration = self.copy_ms(Engine::Compute, extent.bytes()) / 2.0;
        let start_ms = self.clock.submit(stream, Engine::Compute, duration)?;
        let stream = self.clock.origin(stream);
        if let Some(timeline) = &mut self.record.timeline {
            timeline.add(What::Fill { bytes: extent.bytes() }, stream, start_ms, duration);
        }
        Ok(())
    }

    /// Rows of a block have new contents.
    fn written(&mut self, to: PitchedMemory, extent: Extent) {
        self.checking.written(to.address, to.span(extent).unwrap_or(0));
        if let Some(block) = self.block(to.address) {
            self.contents.changed(block.address);
        }
    }

    /// The kind of the block that holds the rows; none if they are memory of the program.
    fn check(&self, rows: PitchedMemory, extent: Extent) -> Result<Option<BlockKind>, Error> {
        let span = rows.span(extent).ok_or(Error::InvalidValue)?;
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
