//! Storage formats of payloads.

use std::fmt;

/// Storage format of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As it is.
    None,
    /// A raw LZ4 block: CUDA 12 and before, and `-compress-mode=speed`.
    Lz4,
    /// A Zstandard frame: CUDA 13.
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "uncompressed",
            Self::Lz4 => "LZ4",
            Self::Zstd => "zstd",
        })
    }
}
