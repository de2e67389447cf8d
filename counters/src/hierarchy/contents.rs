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
}

impl L2Contents {
    /// All of them, with the names that options and files use.
    pub const NAMED: [(&str, Self); 3] =
        [("cold", Self::Cold), ("keep", Self::Keep), ("warm", Self::Warm)];

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
        }
    }

    /// Returns true if a launch finds what was in the cache before it.
    #[must_use]
    pub const fn stays(self) -> bool {
        match self {
            Self::Cold => false,
            Self::Keep | Self::Warm => true,
        }
    }
}
