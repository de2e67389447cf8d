//! Payloads, decompressed within bounds.
//!
//! A size in a header is a claim. It is first held against the limits, then the decoder may produce
//! that many bytes and no more. The memory in use therefore stays within a small multiple of the
//! limit, whatever the file says.

use std::borrow::Cow;
use std::fmt;
use std::io::Read as _;
use std::ops::Range;

use ruzstd::decoding::StreamingDecoder;

use super::bytes::slice;
use super::{Compression, ContainerError};

/// The memory that a file may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest payload or bundle, in bytes decompressed. Payloads are decompressed one at a
    /// time and on demand, so this bounds the memory in use.
    pub payload_bytes: u64,
    /// Payloads up to this many bytes may have any ratio of compression.
    pub trusted_bytes: u64,
    /// The largest ratio of decompressed to compressed size of all others.
    pub ratio: u64,
}

impl Default for Limits {
    /// 256 MiB, and 1024 to 1 above 16 MiB. PTX reaches about 50 to 1.
    fn default() -> Self {
        Self { payload_bytes: 256 << 20, trusted_bytes: 16 << 20, ratio: 1024 }
    }
}

/// The largest ratio that LZ4 can express: one byte of a match length stands for 255 bytes.
const LZ4_RATIO: u64 = 255;
/// Bytes that the first tokens of an LZ4 block can add to that.
const LZ4_SLACK: u64 = 64;
/// A Zstandard window may be larger than a short content; no encoder goes beyond this there.
const MIN_WINDOW_LIMIT: u64 = 8 << 20;

/// A stretch of the file that is, or contains, an entry's contents.
#[derive(Clone, Debug)]
pub(super) struct Payload<'a> {
    pub(super) stored: &'a [u8],
    pub(super) codec: Compression,
    /// Size of the whole after decompression, in bytes.
    pub(super) size: u64,
    /// The part of the decompressed whole that is meant; everything where `None`.
    pub(super) member: Option<Range<u64>>,
    /// Offset of `stored` in the file.
    pub(super) offset: usize,
    /// Set where the header claims a compression that is not known.
    pub(super) unknown_flags: Option<u64>,
    pub(super) limits: Limits,
}

impl<'a> Payload<'a> {
    /// A payload that stands in the file as it is.
    pub(super) fn stored(stored: &'a [u8], offset: usize, limits: Limits) -> Self {
        Self {
            stored,
            codec: Compression::None,
            size: stored.len() as u64,
            member: None,
            offset,
            unknown_flags: None,
            limits,
        }
    }

    pub(super) fn bytes(&self) -> Result<Cow<'a, [u8]>, ContainerError> {
        if let Some(flags) = self.unknown_flags {
            return Err(ContainerError::UnknownCompression { offset: self.offset, flags });
        }
        let whole = match self.codec {
            Compression::None => Cow::Borrowed(self.stored),
            Compression::Lz4 => Cow::Owned(self.lz4()?),
            Compression::Zstd => Cow::Owned(self.zstd()?),
        };
        let Some(member) = &self.member else { return Ok(whole) };
        let length = member.end.saturating_sub(member.start);
        let outside = || ContainerError::Bundle {
            offset: self.offset,
            reason: "a member lies outside the decompressed bundle",
        };
        Ok(match whole {
            Cow::Borrowed(whole) => {
                Cow::Borrowed(slice(whole, member.start, length).ok_or_else(outside)?)
            }
            Cow::Owned(whole) => {
                Cow::Owned(slice(&whole, member.start, length).ok_or_else(outside)?.to_vec())
            }
        })
    }

    /// Refuses claims that are too large to be true or to be dealt with.
    fn check_claim(&self, ratio: u64) -> Result<(), ContainerError> {
        let Limits { payload_bytes, trusted_bytes, .. } = self.limits;
        let (offset, size, stored) = (self.offset, self.size, self.stored.len() as u64);
        if size > payload_bytes {
            return Err(ContainerError::TooLarge { offset, size, limit: payload_bytes });
        }
        if size > trusted_bytes && size / ratio > stored {
            return Err(ContainerError::Ratio { offset, stored, size, ratio });
        }
        Ok(())
    }

    fn check_size(&self, actual: usize) -> Result<(), ContainerError> {
        if actual as u64 == self.size {
            return Ok(());
        }
        Err(ContainerError::SizeMismatch {
            codec: self.codec,
            offset: self.offset,
            claimed: self.size,
            actual: actual as u64,
        })
    }

    fn damaged(&self, reason: impl fmt::Display) -> ContainerError {
        ContainerError::Decompress {
            codec: self.codec,
            offset: self.offset,
            reason: reason.to_string(),
        }
    }

    fn lz4(&self) -> Result<Vec<u8>, ContainerError> {
        self.check_claim(self.limits.ratio)?;
        let possible = (self.stored.len() as u64).saturating_mul(LZ4_RATIO) + LZ4_SLACK;
        if self.size > possible {
            return Err(self.damaged("the claimed size is more than LZ4 can express"));
        }
        let mut out = vec![0; self.size as usize];
        let length = lz4_flex::block::decompress_into(self.stored, &mut out)
            .map_err(|error| self.damaged(error))?;
        self.check_size(length)?;
        Ok(out)
    }

    fn zstd(&self) -> Result<Vec<u8>, ContainerError> {
        self.check_claim(self.limits.ratio)?;
        let window = self.size.max(MIN_WINDOW_LIMIT);
        let mut decoder = StreamingDecoder::new_with_max_window_size(self.stored, window)
            .map_err(|error| self.damaged(error))?;
        let mut out = Vec::new();
        decoder
            .by_ref()
            .take(self.size.saturating_add(1))
            .read_to_end(&mut out)
            .map_err(|error| self.damaged(error))?;
        self.check_size(out.len())?;
        Ok(out)
    }
}
