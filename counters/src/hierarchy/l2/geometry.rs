//! Size and habits of a second-level cache.

use super::super::placement::Placement;
use super::super::replacement::Replacement;
use super::super::request::Router;
use super::super::sectored::LineShape;
use crate::units::SECTOR_BYTES;

/// The effect of a write to part of a sector that is not in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartialWrites {
    /// The sector is read from DRAM first: ECC bits in the same memory are those of whole sectors.
    Fill,
    /// Byte masks remember the bytes that were written; DRAM is read only if the sector is read
    /// later.
    ///
    /// Boards without ECC do this. For Rodinia's hotspot on a 1024² grid, nvprof shows 262 157
    /// sectors read on a GTX 680. The inputs are 262 144 sectors, and the stores come in runs of 48
    /// bytes. Approximation: a sector that was pieced together by several partial writes still
    /// counts one fill when it is read.
    Masked,
}

/// Size and habits of a second-level cache.
///
/// Sizes are rounded to possible ones: powers of two, sectors of 16 to 128 bytes, lines of a sector
/// to 256 bytes. Fills have a sector to a line, and sets are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2Geometry {
    /// Data capacity of all slices.
    pub size_bytes: u64,
    /// Bytes of one line: 32, 64, 128 or 256.
    pub line_bytes: u64,
    /// Bytes of one sector, the smallest piece that moves: 32 on every GPU so far. Requests must
    /// be coalesced into sectors of the same size.
    pub sector_bytes: u64,
    /// Bytes that a miss reads from DRAM: a sector, or several ("sector promotion").
    pub fill_bytes: u64,
    /// Parts of the cache that work side by side, each with its share of the addresses.
    pub slices: u32,
    /// Lines of one set.
    pub ways: u32,
    /// The share of lines, in percent, that hold different addresses; 100 on most GPUs.
    ///
    /// An L2 of two partitions keeps copies of a far partition's lines near the SMs that read them
    /// (NVIDIA A100 white paper). Copies leave less room for a set of data that all SMs read.
    pub distinct_percent: u32,
    /// The policy that chooses the line of a set to evict.
    pub replacement: Replacement,
    /// The cost of writing a part of a sector.
    pub partial_writes: PartialWrites,
    /// Clocks from a miss until the line is there; a slice serves one sector a clock. Requests for
    /// the line in the meantime are merged with the miss and do not count as re-use of the line.
    pub fill_clocks: u32,
}

impl L2Geometry {
    /// The router that finds the slice of a request.
    pub(crate) fn router(&self) -> Router {
        Router::new(self.shape(), Placement::new(self.slice_count(), self.sets()))
    }

    pub(crate) fn slice_count(&self) -> usize {
        self.slices.max(1) as usize
    }

    /// The GTX 480's: 768 KB with lines of 128 bytes and 4 sectors, re-reference prediction that
    /// duels for whole lines and stores.
    ///
    /// NVIDIA publishes the size and the six partitions (Fermi white paper). Two slices a partition
    /// are GPGPU-Sim's. 16 ways are assumed. The policy is not published; this one is the best over
    /// all measured kernels (`docs/evidence/dram-study.md`). The fill time is the difference of the
    /// latencies of DRAM and L2 (685 and 310 shader clocks on a Fermi: Andersch et al., "On Latency
    /// in GPU Throughput Microarchitectures", ISPASS 2015) in clocks of the L2, half as many. The
    /// board has no ECC.
    pub const GTX_480: Self = Self {
        size_bytes: 768 << 10,
        line_bytes: 128,
        sector_bytes: SECTOR_BYTES,
        fill_bytes: SECTOR_BYTES,
        slices: 12,
        ways: 16,
        distinct_percent: 100,
        replacement: Replacement::ClientReReference { near_every: 32 },
        partial_writes: PartialWrites::Masked,
        fill_clocks: 188,
    };

    /// No cache at all: capability 1.x. Every sector goes to DRAM and comes from there.
    pub const NONE: Self = Self { size_bytes: 0, slices: 1, ..Self::GTX_480 };

    pub(super) fn shape(&self) -> LineShape {
        LineShape::new(self.sector_bytes, self.line_bytes, self.fill_bytes)
    }

    /// Bytes of different addresses that the cache holds.
    #[must_use]
    pub fn distinct_bytes(&self) -> u64 {
        self.size_bytes * u64::from(self.distinct_percent.clamp(1, 100)) / 100
    }

    /// Sets of one slice.
    pub(super) fn sets(&self) -> usize {
        let lines = self.distinct_bytes() / self.shape().line_bytes();
        let ways = u64::from(self.ways.max(1)) * u64::from(self.slices.max(1));
        (lines / ways).max(1) as usize
    }
}
