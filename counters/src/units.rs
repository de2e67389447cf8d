//! Sizes that coalescing, caches and metrics share.

/// Bytes of a sector of every GPU so far, which is also one DRAM transaction of the profiler.
pub const SECTOR_BYTES: u64 = 32;

/// Bytes of a line: the memory that one tag of a cache stands for.
pub const LINE_BYTES: u64 = 128;

/// Sectors of a line if a sector has [`SECTOR_BYTES`].
pub const SECTORS_PER_LINE: u32 = (LINE_BYTES / SECTOR_BYTES) as u32;

/// Lines of one warp's local memory: the 512 KB that a thread may have at most (CUDA C
/// Programming Guide, table of technical specifications) for 32 threads.
pub const LOCAL_LINES_PER_WARP: u64 = (512 << 10) * 32 / LINE_BYTES;

/// The sectors that one access touches of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LineTouch {
    /// The line: address divided by [`LINE_BYTES`].
    pub line: u64,
    /// The sectors with at least one touched byte, lowest address in bit 0.
    pub sectors: u8,
    /// The sectors whose bytes are all touched.
    pub full: u8,
}
