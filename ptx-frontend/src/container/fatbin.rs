//! The fatbin container.
//!
//! ```text
//! container  u32 magic · u16 version · u16 header_size · u64 size behind this header
//! entry      u16 kind · u16 0x101 · u32 header_size · u64 padded_payload_size
//!            u32 compressed_size · u32 options_offset · u16 minor · u16 major · u32 sm
//!            u32 name_offset · u32 name_length · u64 flags · u64 0 · u64 uncompressed_size
//!            then, up to header_size: name, options
//! options    u32 text_offset · u32 text_length, offsets from the entry's beginning
//! bundle     an entry; at options_offset: u32 members · u32 table_size · the members' headers
//! member     an entry header whose `header_size` is the place of the payload in the
//!            decompressed bundle, and whose extent follows from its name and options
//! ```
//!
//! NVIDIA does not document it; the layout was read off the output of CUDA 11.8 to 13.5.

use super::bytes::{slice, u16_at, u32_at, u64_at};
use super::decompress::Payload;
use super::{Compression, ContainerError, Entry, EntryKind, Limits, Suffix, Target};

pub(super) const MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
const VERSION: u16 = 1;
const CONTAINER_HEADER_BYTES: usize = 16;
const ENTRY_HEADER_BYTES: usize = 64;

const KIND_PTX: u16 = 1;
const KIND_CUBIN: u16 = 2;
const KIND_LTO_IR: u16 = 8;
const KIND_BUNDLE: u16 = 256;

const FLAG_DEBUG: u64 = 0x2;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_ACCELERATED: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;

/// The container at `start`, one of possibly several in `data`. Returns its entries and the
/// offset behind it.
pub(super) fn parse<'a>(
    data: &'a [u8],
    start: usize,
    limits: Limits,
) -> Result<(Vec<Entry<'a>>, usize), ContainerError> {
    const WHAT: &str = "the fatbin";
    let available = data.len().saturating_sub(start) as u64;
    let truncated =
        |needed| ContainerError::Truncated { what: WHAT, offset: start, needed, available };
    let header = slice(data, start as u64, CONTAINER_HEADER_BYTES as u64)
        .ok_or_else(|| truncated(CONTAINER_HEADER_BYTES as u64))?;
    let version = u16_at(header, 4).unwrap_or_default();
    if version != VERSION {
        return Err(ContainerError::Version { offset: start, version });
    }
    let header_size = u64::from(u16_at(header, 6).unwrap_or_default());
    if header_size < CONTAINER_HEADER_BYTES as u64 {
        return Err(ContainerError::HeaderSize {
            what: WHAT,
            offset: start,
            size: header_size,
            minimum: CONTAINER_HEADER_BYTES as u64,
        });
    }
    let size = u64_at(header, 8).unwrap_or_default();
    let needed = header_size.saturating_add(size);
    if needed > available {
        return Err(truncated(needed));
    }
    // Both fit: the sum is at most the length of `data`.
    let end = start + needed as usize;
    let mut at = start + header_size as usize;
    let mut entries = Vec::new();
    while at < end {
        let container = &data[..end];
        let header = EntryHeader::read(container, at)?;
        let record = header.record(container, at)?;
        let payload_at = at + record.len();
        let stored = slice(container, payload_at as u64, header.padded_size).ok_or(
            ContainerError::Truncated {
                what: "the payload",
                offset: payload_at,
                needed: header.padded_size,
                available: (end - payload_at) as u64,
            },
        )?;
        let payload = header.payload(stored, payload_at, limits)?;
        if header.kind == KIND_BUNDLE {
            members(record, at, &header, &payload, &mut entries)?;
        } else {
            entries.push(header.entry(record, at, payload));
        }
        at = payload_at + stored.len();
    }
    Ok((entries, end))
}

/// The fixed part of an entry's header, field by field.
struct EntryHeader {
    kind: u16,
    /// In a member of a bundle: where its payload begins in the decompressed bundle.
    header_size: u32,
    padded_size: u64,
    compressed_size: u32,
    options_offset: u32,
    minor: u16,
    major: u16,
    sm: u32,
    name_offset: u32,
    name_length: u32,
    flags: u64,
    uncompressed_size: u64,
}

impl EntryHeader {
    fn read(data: &[u8], at: usize) -> Result<Self, ContainerError> {
        let fields =
            slice(data, at as u64, ENTRY_HEADER_BYTES as u64).ok_or(ContainerError::Truncated {
                what: "the entry header",
                offset: at,
                needed: ENTRY_HEADER_BYTES as u64,
                available: data.len().saturating_sub(at) as u64,
            })?;
        let short = |at| u16_at(fields, at).unwrap_or_default();
        let word = |at| u32_at(fields, at).unwrap_or_default();
        let long = |at| u64_at(fields, at).unwrap_or_default();
        Ok(Self {
            kind: short(0),
            header_size: word(4),
            padded_size: long(8),
            compressed_size: word(16),
            options_offset: word(20),
            minor: short(24),
            major: short(26),
            sm: word(28),
            name_offset: word(32),
            name_length: word(36),
            flags: long(40),
            uncompressed_size: long(56),
        })
    }

    /// The whole header, name and options included.
    fn record<'a>(&self, data: &'a [u8], at: usize) -> Result<&'a [u8], ContainerError> {
        let size = u64::from(self.header_size);
        if size < ENTRY_HEADER_BYTES as u64 {
            return Err(ContainerError::HeaderSize {
                what: "the entry",
                offset: at,
                size,
                minimum: ENTRY_HEADER_BYTES as u64,
            });
        }
        slice(data, at as u64, size).ok_or(ContainerError::Truncated {
            what: "the entry header",
            offset: at,
            needed: size,
            available: data.len().saturating_sub(at) as u64,
        })
    }

    fn compression(&self) -> Compression {
        if self.flags & FLAG_ZSTD != 0 {
            Compression::Zstd
        } else if self.flags & FLAG_LZ4 != 0 {
            Compression::Lz4
        } else {
            Compression::None
        }
    }

    fn payload<'a>(
        &self,
        padded: &'a [u8],
        offset: usize,
        limits: Limits,
    ) -> Result<Payload<'a>, ContainerError> {
        let mut payload = Payload::stored(padded, offset, limits);
        payload.codec = self.compression();
        if payload.codec != Compression::None {
            let needed = u64::from(self.compressed_size);
            payload.stored = slice(padded, 0, needed).ok_or(ContainerError::Truncated {
                what: "the compressed payload",
                offset,
                needed,
                available: padded.len() as u64,
            })?;
            payload.size = self.uncompressed_size;
        } else if self.compressed_size != 0 {
            payload.unknown_flags = Some(self.flags);
        }
        Ok(payload)
    }

    /// The source file's name: where in the record it stands.
    fn name<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        if self.name_offset == 0 || self.name_length == 0 {
            return None;
        }
        slice(record, u64::from(self.name_offset), u64::from(self.name_length))
    }

    /// The options' place in the record: offset and length.
    fn options_extent(&self, record: &[u8]) -> Option<(u32, u32)> {
        let at = usize::try_from(self.options_offset).ok().filter(|&at| at != 0)?;
        Some((u32_at(record, at)?, u32_at(record, at.checked_add(4)?)?))
    }

    fn entry<'a>(&self, record: &[u8], offset: usize, payload: Payload<'a>) -> Entry<'a> {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim_end_matches('\0').trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let options = self
            .options_extent(record)
            .and_then(|(at, length)| slice(record, u64::from(at), u64::from(length)));
        let suffix = if self.flags & FLAG_ACCELERATED != 0 {
            Some(Suffix::Accelerated)
        } else if self.flags & FLAG_FAMILY != 0 {
            Some(Suffix::Family)
        } else {
            None
        };
        Entry {
            kind: match self.kind {
                KIND_PTX => EntryKind::Ptx,
                KIND_CUBIN => EntryKind::Cubin,
                KIND_LTO_IR => EntryKind::LtoIr,
                other => EntryKind::Other(other),
            },
            target: Some(Target { sm: self.sm, suffix }),
            version: Some((self.major, self.minor)),
            name: self.name(record).and_then(text),
            options: options.and_then(text),
            compression: payload.codec,
            debug: self.flags & FLAG_DEBUG != 0,
            offset,
            section: None,
            module: 0,
            payload,
        }
    }
}

/// The members of a bundle, which `--concat` compresses together.
fn members<'a>(
    record: &[u8],
    offset: usize,
    bundle: &EntryHeader,
    payload: &Payload<'a>,
    entries: &mut Vec<Entry<'a>>,
) -> Result<(), ContainerError> {
    let damaged = |reason| ContainerError::Bundle { offset, reason };
    let table_at = bundle.options_offset as usize;
    let (count, table_size) = u32_at(record, table_at)
        .zip(table_at.checked_add(4).and_then(|at| u32_at(record, at)))
        .ok_or_else(|| damaged("it has no table of members"))?;
    let table = slice(record, table_at as u64, u64::from(table_size))
        .ok_or_else(|| damaged("its table of members is longer than its header"))?;
    let mut at = 8;
    for _ in 0..count {
        let rest = table.get(at..).unwrap_or_default();
        let member =
            EntryHeader::read(rest, 0).map_err(|_| damaged("it has fewer members than it says"))?;
        let extent = member
            .extent(rest)
            .ok_or_else(|| damaged("a member's name or options lie outside the table"))?;
        if member.kind == KIND_BUNDLE {
            return Err(damaged("it contains another bundle"));
        }
        if member.compression() != Compression::None {
            return Err(damaged("a member is compressed a second time"));
        }
        let start = u64::from(member.header_size);
        let end = start
            .checked_add(member.padded_size)
            .filter(|&end| end <= payload.size)
            .ok_or_else(|| damaged("a member lies outside the decompressed bundle"))?;
        let contents = Payload { member: Some(start..end), ..payload.clone() };
        entries.push(member.entry(&rest[..extent], offset, contents));
        at += extent;
    }
    Ok(())
}

impl EntryHeader {
    /// Bytes that a member's header takes: the fixed part, its name and its options, each with
    /// its NUL, up to a multiple of eight.
    fn extent(&self, rest: &[u8]) -> Option<usize> {
        let mut end = ENTRY_HEADER_BYTES as u64;
        let mut cover = |at: u32, length: u32| {
            end = end.max((u64::from(at) + u64::from(length) + 1).next_multiple_of(8));
        };
        if self.name_offset != 0 {
            cover(self.name_offset, self.name_length);
        }
        if self.options_offset != 0 {
            let (at, length) = self.options_extent(rest)?;
            cover(self.options_offset, 7);
            cover(at, length);
        }
        slice(rest, 0, end).map(<[u8]>::len)
    }
}
