//! The L2's contents between launches, and the launch that pays for the lines that a launch leaves
//! dirty there.
//!
//! A GPU does not empty its L2 between kernels. It writes a dirty line when that line is evicted,
//! possibly long after the kernel that wrote it. Profilers differ:
//!
//! | | before a launch | sectors that the launch leaves dirty |
//! |---|---|---|
//! | a program, nvprof | as the launch or copy before left it | written in the next launch's time |
//! | Nsight Compute, `all` | flushed and invalidated before each pass | not counted |
//! | Nsight Compute, `none` | as nvprof | as nvprof |
//! | a loop of launches | as the same launch left it | written in the next launch's time |
//! | triton's `do_bench` | lines of the buffer that it fills, many of them dirty | not counted |
//!
//! So a launch writes the dirty sectors of the launch before, as far as it evicts them. Nothing is
//! known of the launch before the first one. Under nvprof it was the same kernel, because nvprof
//! executes a kernel once per group of counters. The dirty sectors of the first launch therefore
//! stand for those that it found. `sgemm`, `sor-red-black` and `nearest-neighbour` were measured so
//! (docs/evidence/dram-study.md).
//!
//! For Nsight Compute, `all` (the default) and `none` are values of `--cache-control`.
//!
//! Source: Nsight Compute, Kernel Profiling Guide, "Cache Control".

use serde::{Deserialize, Serialize};

/// The L2's contents when a launch begins, and the fate of the lines that it leaves dirty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum L2Contents {
    /// Nothing, at each launch. Sectors that stay dirty at its end are not written in its time: as
    /// Nsight Compute counts by default.
    Cold,
    /// The contents that the launch before left, with its dirty sectors; nothing at the first.
    /// Sectors that the first launch leaves dirty count as written, in place of those of a launch
    /// before it.
    #[default]
    Keep,
    /// As [`L2Contents::Keep`], and all buffers, inputs and outputs, went through the cache before
    /// the first launch: [`L2::copy_in`](super::L2::copy_in).
    Warm,
    /// As [`L2Contents::Keep`], behind an execution of the same launches whose counts are dropped:
    /// as in a loop around them.
    Repeated,
    /// As [`L2Contents::Keep`], and before the first launch another kernel filled a buffer of its
    /// own that is larger than the cache: [`L2::overwrite`](super::L2::overwrite).
    Overwritten,
}

/// The share of the L2 that stays dirty behind a kernel that writes more. A GV100 left 2.8 MB of 6
/// behind every launch that wrote so much (public reports of Nsight Compute). On an H200, sums of
/// an array that copies had filled took 7.0 to 7.5 µs longer than on a flushed cache. At 3,927 GB/s
/// that is 28 to 29 MB of 63 (corpus/measured/h200).
pub const DIRTY_SHARE: f64 = 0.46;

impl L2Contents {
    /// All of them, with the names that options and files use.
    pub const NAMED: [(&str, Self); 5] = [
        ("cold", Self::Cold),
        ("keep", Self::Keep),
        ("warm", Self::Warm),
        ("repeated", Self::Repeated),
        ("overwritten", Self::Overwritten),
    ];

    /// The one of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(one, _)| *one == name).map(|(_, contents)| *contents)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Keep => "keep",
            Self::Warm => "warm",
            Self::Repeated => "repeated",
            Self::Overwritten => "overwritten",
        }
    }

    /// The L2 that a launch finds, in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Cold => "an empty L2",
            Self::Keep => "the L2 as earlier launches of this run left it",
            Self::Warm => "an L2 that the buffers went through",
            Self::Repeated => "the L2 as the same launches left it",
            Self::Overwritten => "an L2 that another buffer has filled",
        }
    }

    /// Returns true if a launch finds what was in the cache before it.
    #[must_use]
    pub const fn stays(self) -> bool {
        match self {
            Self::Cold => false,
            Self::Keep | Self::Warm | Self::Repeated | Self::Overwritten => true,
        }
    }
}
