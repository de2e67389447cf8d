//! The reasons why a file could not be opened or an entry not be read.

use super::{Compression, EntryKind, FileKind};

/// A file, or a part of one, that cannot be read. Offsets are bytes from the beginning of the
/// file that was opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// There is nothing to read.
    #[error("the file is empty")]
    Empty,
    /// None of the formats that hold device code.
    #[error("the file holds no PTX and no fatbin: {hint}")]
    Unrecognised {
        /// The likely kind of the file, and what to give instead.
        hint: &'static str,
    },
    /// A host file without any device code.
    #[error(
        "{kind} without device code: it has no fatbin container, in `.nv_fatbin`, in \
         `__nv_relfatbin` or anywhere else"
    )]
    NoDeviceCode {
        /// The kind of host file.
        kind: FileKind,
    },
    /// A structure reaches past the end of its container.
    #[error("{what} at offset {offset:#x} needs {needed} bytes, but only {available} follow")]
    Truncated {
        /// The structure.
        what: &'static str,
        /// Offset of the structure.
        offset: usize,
        /// Its size in bytes, as the file claims.
        needed: u64,
        /// The bytes that there are.
        available: u64,
    },
    /// A container of a version that is not known.
    #[error("the fatbin at offset {offset:#x} has version {version}; only version 1 is known")]
    Version {
        /// Offset of the container.
        offset: usize,
        /// The version in its header.
        version: u16,
    },
    /// A header that says it is shorter than its fixed part.
    #[error(
        "{what} at offset {offset:#x} claims a header of {size} bytes; it takes at least \
         {minimum}"
    )]
    HeaderSize {
        /// The structure.
        what: &'static str,
        /// Offset of the structure.
        offset: usize,
        /// The size in the file.
        size: u64,
        /// The smallest size that makes sense.
        minimum: u64,
    },
    /// A bundle whose table of members does not add up.
    #[error("the bundle at offset {offset:#x} is damaged: {reason}")]
    Bundle {
        /// Offset of the bundle's header.
        offset: usize,
        /// The fault of the bundle.
        reason: &'static str,
    },
    /// More than the limits allow.
    #[error(
        "the payload at offset {offset:#x} would take {size} bytes decompressed; the limit is \
         {limit}"
    )]
    TooLarge {
        /// Offset of the payload.
        offset: usize,
        /// The decompressed size that the file claims.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A decompressed size that no honest compiler output reaches.
    #[error(
        "the payload at offset {offset:#x} claims that {stored} bytes decompress to {size}, \
         more than {ratio} times as much; it looks like a decompression bomb"
    )]
    Ratio {
        /// Offset of the payload.
        offset: usize,
        /// The compressed size.
        stored: u64,
        /// The decompressed size that the file claims.
        size: u64,
        /// The largest ratio allowed.
        ratio: u64,
    },
    /// Compressed data that does not decompress.
    #[error("the {codec} payload at offset {offset:#x} does not decompress: {reason}")]
    Decompress {
        /// The compression.
        codec: Compression,
        /// Offset of the payload.
        offset: usize,
        /// The decoder's message.
        reason: String,
    },
    /// Compressed data that decompresses to another size than claimed.
    #[error(
        "the {codec} payload at offset {offset:#x} decompresses to {}, but its header says \
         {claimed} bytes",
        if *actual > *claimed { "more".to_owned() } else { format!("{actual} bytes") }
    )]
    SizeMismatch {
        /// The compression.
        codec: Compression,
        /// Offset of the payload.
        offset: usize,
        /// The size in the header.
        claimed: u64,
        /// The bytes that came out, at most one more than claimed.
        actual: u64,
    },
    /// An entry whose flags name no known compression although its sizes say it is compressed.
    #[error(
        "the entry at offset {offset:#x} is compressed in a way that is not known (flags \
         {flags:#x}); rebuild it with `nvcc -compress-mode=none`"
    )]
    UnknownCompression {
        /// Offset of the payload.
        offset: usize,
        /// The entry's flags.
        flags: u64,
    },
    /// LTO-IR was asked for its contents.
    #[error(
        "the entry at offset {offset:#x} is LTO-IR, the compiler's encrypted intermediate code; \
         only nvJitLink can read it. Compile with `-gencode arch=compute_XX,code=compute_XX` \
         to embed PTX"
    )]
    LtoIr {
        /// Offset of the entry.
        offset: usize,
    },
    /// Another kind of entry was asked for PTX.
    #[error("the entry at offset {offset:#x} is not PTX: {kind}")]
    NotPtx {
        /// Kind of the entry.
        kind: EntryKind,
        /// Offset of the entry.
        offset: usize,
    },
    /// Another kind of entry was asked for launch facts.
    #[error("the entry at offset {offset:#x} is not a cubin: {kind}")]
    NotCubin {
        /// Kind of the entry.
        kind: EntryKind,
        /// Offset of the entry.
        offset: usize,
    },
    /// PTX with bytes that are not text.
    #[error("the PTX at offset {offset:#x} is not UTF-8 text behind its byte {valid}")]
    NotUtf8 {
        /// Offset of the entry.
        offset: usize,
        /// Bytes of the text that are valid.
        valid: usize,
    },
    /// An ELF file whose structure is damaged.
    #[error("the ELF file is damaged: {reason}")]
    Elf {
        /// The part that could not be read.
        reason: String,
    },
    /// An ELF file for another machine where a cubin was expected.
    #[error("the ELF file is for machine {machine}, not for NVIDIA's GPUs (190)")]
    NotGpuElf {
        /// The machine number in the ELF header.
        machine: u16,
    },
}

impl ContainerError {
    /// Returns advice on what to do; `None` where the message says it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        const DAMAGED: &str = "the file is damaged or was cut off: build or download it again; \
                               `cuobjdump -all -xptx all` says whether NVIDIA's tools can read it";
        const RAISED: &str = "if the file can be trusted, extract the PTX with `cuobjdump -xptx \
                              all` and give that";
        Some(
            match self {
                Self::Empty => {
                    "a PTX module is a text that begins with `.version`; a compiler \
                                that failed may have left the file empty"
                }
                Self::NoDeviceCode { .. } => {
                    "give the library or object that holds the kernels: a program that links \
                     them dynamically has none itself"
                }
                Self::Version { .. }
                | Self::Truncated { .. }
                | Self::HeaderSize { .. }
                | Self::Bundle { .. }
                | Self::Decompress { .. }
                | Self::SizeMismatch { .. }
                | Self::NotUtf8 { .. }
                | Self::Elf { .. } => DAMAGED,
                Self::TooLarge { .. } | Self::Ratio { .. } => RAISED,
                Self::NotGpuElf { .. } => "give a cubin, or the host file that holds one",
                Self::Unrecognised { .. }
                | Self::UnknownCompression { .. }
                | Self::LtoIr { .. }
                | Self::NotPtx { .. }
                | Self::NotCubin { .. } => return None,
            }
            .to_owned(),
        )
    }
}
