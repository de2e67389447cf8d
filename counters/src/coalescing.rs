//! Which 32-byte sectors and 128-byte lines one warp access touches.
//!
//! Since compute capability 2.0 a warp's request to global memory is served line by line (128
//! bytes, the unit of a cache tag) and moved sector by sector (32 bytes, the unit of traffic to
//! the L2 and to DRAM): CUDA C Programming Guide 4.2, appendix F.4.2; Nsight Compute's Kernel
//! Profiling Guide, "Memory Tables". A warp access is therefore a short list of lines, each with
//! a mask of four sectors, and this list is all that the caches see.
//!
//! On capability 2.x the profiler splits 8- and 16-byte accesses into half- and quarter-warp
//! requests first; for coalesced accesses that gives the same lines, and only those are modelled.

/// Bytes of a sector, which is also one DRAM transaction of the profiler.
pub const SECTOR_BYTES: u64 = 32;

/// Bytes of a line, which is one global-memory transaction of the reference GPU.
pub const LINE_BYTES: u64 = 128;

/// Sectors of a line.
pub const SECTORS_PER_LINE: u32 = (LINE_BYTES / SECTOR_BYTES) as u32;

/// What one access touches of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LineTouch {
    /// The line: address divided by [`LINE_BYTES`].
    pub line: u64,
    /// The sectors of which at least one byte is touched, lowest address in bit 0.
    pub sectors: u8,
    /// The sectors of which every byte is touched.
    pub full: u8,
}

impl LineTouch {
    /// The sectors for the bytes from `low` up to but not including `high` of `line`.
    fn of_bytes(line: u64, low: u64, high: u64) -> Self {
        let below = |sector: u64| (1_u8 << sector) - 1;
        let touched = below(high.div_ceil(SECTOR_BYTES)) & !below(low / SECTOR_BYTES);
        let first_full = low.div_ceil(SECTOR_BYTES);
        let full = below(high / SECTOR_BYTES) & !below(first_full);
        Self { line, sectors: touched, full }
    }
}

/// The lines of the `bytes` bytes from `address` on: the access of a warp whose lanes are
/// consecutive, or of a single lane. `bytes` must not be 0.
pub fn contiguous(address: u64, bytes: u64) -> impl Iterator<Item = LineTouch> {
    let last = address.saturating_add(bytes.saturating_sub(1));
    let (first_line, last_line) = (address / LINE_BYTES, last / LINE_BYTES);
    (first_line..=last_line).map(move |line| {
        let low = if line == first_line { address % LINE_BYTES } else { 0 };
        let high = if line == last_line { last % LINE_BYTES + 1 } else { LINE_BYTES };
        LineTouch::of_bytes(line, low, high)
    })
}

/// The lines that an arbitrary warp access touches, in order of first touch.
///
/// Reused from access to access, so that no access allocates.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    lines: Vec<LineTouch>,
    /// For each line, a bit for each touched byte.
    bytes: Vec<u128>,
}

impl Footprint {
    /// An empty footprint with room for any aligned access.
    #[must_use]
    pub fn new() -> Self {
        Self { lines: Vec::with_capacity(64), bytes: Vec::with_capacity(64) }
    }

    /// Replaces the footprint by that of the lanes in `mask`, each of which touches
    /// `bytes_per_lane` bytes from its address on.
    pub fn gather(&mut self, mask: u32, addresses: &[u64; 32], bytes_per_lane: u32) {
        self.clear();
        let mut lanes = mask;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            self.touch(addresses[lane], u64::from(bytes_per_lane));
        }
        self.finish();
    }

    /// Forgets every line.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.bytes.clear();
    }

    /// Adds `bytes` bytes from `address` on; [`Footprint::finish`] turns them into sectors.
    pub fn touch(&mut self, address: u64, bytes: u64) {
        let low = address % LINE_BYTES;
        if low + bytes <= LINE_BYTES {
            self.touch_line(address / LINE_BYTES, low, low + bytes);
        } else {
            for part in contiguous(address, bytes) {
                let first = part.line * LINE_BYTES;
                let low = address.max(first) - first;
                let high = (address.saturating_add(bytes) - first).min(LINE_BYTES);
                self.touch_line(part.line, low, high);
            }
        }
    }

    fn touch_line(&mut self, line: u64, low: u64, high: u64) {
        if low >= high {
            return;
        }
        let touched = (u128::MAX >> (128 - (high - low))) << low;
        // Lanes mostly walk upwards: the line is the last one or lies beyond it.
        let index = match self.lines.last() {
            Some(last) if last.line == line => Some(self.lines.len() - 1),
            _ => self.lines.iter().position(|entry| entry.line == line),
        };
        match index {
            Some(index) => self.bytes[index] |= touched,
            None => {
                self.lines.push(LineTouch { line, sectors: 0, full: 0 });
                self.bytes.push(touched);
            }
        }
    }

    /// Computes the sector masks from the bytes that were touched.
    pub fn finish(&mut self) {
        for (entry, &bytes) in self.lines.iter_mut().zip(&self.bytes) {
            for sector in 0..SECTORS_PER_LINE {
                let of_sector = (bytes >> (sector * SECTOR_BYTES as u32)) as u32;
                entry.sectors |= u8::from(of_sector != 0) << sector;
                entry.full |= u8::from(of_sector == u32::MAX) << sector;
            }
        }
    }

    /// The lines, in order of first touch.
    #[must_use]
    pub fn lines(&self) -> &[LineTouch] {
        &self.lines
    }

    /// Distinct 32-byte sectors.
    #[must_use]
    pub fn sectors(&self) -> u32 {
        self.lines.iter().map(|entry| entry.sectors.count_ones()).sum()
    }

    /// Distinct 128-byte lines.
    #[must_use]
    pub fn transactions(&self) -> u32 {
        self.lines.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The definition: the set of touched bytes, then whatever contains them.
    fn naive(mask: u32, addresses: &[u64; 32], bytes_per_lane: u32) -> Vec<LineTouch> {
        let mut touched = BTreeSet::new();
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            touched.extend((0..u64::from(bytes_per_lane)).map(|byte| addresses[lane] + byte));
        }
        let lines: BTreeSet<u64> = touched.iter().map(|byte| byte / LINE_BYTES).collect();
        let sector_of = |line: u64, sector: u64| {
            let first = line * LINE_BYTES + sector * SECTOR_BYTES;
            touched.range(first..first + SECTOR_BYTES).count()
        };
        let mask_where = |line: u64, holds: &dyn Fn(usize) -> bool| {
            (0..4).filter(|&sector| holds(sector_of(line, sector))).fold(0, |m, s| m | 1 << s)
        };
        lines
            .into_iter()
            .map(|line| LineTouch {
                line,
                sectors: mask_where(line, &|bytes| bytes > 0),
                full: mask_where(line, &|bytes| bytes == 32),
            })
            .collect()
    }

    fn sorted(lines: &[LineTouch]) -> Vec<LineTouch> {
        let mut lines = lines.to_vec();
        lines.sort_by_key(|entry| entry.line);
        lines
    }

    fn strided(base: u64, stride: u64) -> [u64; 32] {
        std::array::from_fn(|lane| base + lane as u64 * stride)
    }

    #[track_caller]
    fn check(addresses: [u64; 32], mask: u32, bytes: u32, transactions: u32, sectors: u32) {
        let mut footprint = Footprint::new();
        footprint.gather(mask, &addresses, bytes);
        assert_eq!((footprint.transactions(), footprint.sectors()), (transactions, sectors));
    }

    #[test]
    fn known_patterns_have_the_profilers_counts() {
        check(strided(0x1000, 4), !0, 4, 1, 4);
        check(strided(0x1000, 8), !0, 8, 2, 8);
        check(strided(0x1000, 16), !0, 16, 4, 16);
        // Misaligned by one word: one more line and one more sector.
        check(strided(0x1004, 4), !0, 4, 2, 5);
        // Stride 2 doubles, stride 32 gives every lane a line of its own.
        check(strided(0x1000, 8), !0, 4, 2, 8);
        check(strided(0x1000, 128), !0, 4, 32, 32);
        // All lanes on one word; no lane at all.
        check(strided(0x1000, 0), !0, 4, 1, 1);
        check(strided(0x1000, 4), 0, 4, 0, 0);
        // Half a warp of bytes.
        check(strided(0x1000, 1), 0xFFFF, 1, 1, 1);
    }

    #[test]
    fn a_sector_is_full_only_if_every_byte_is_touched() {
        let mut footprint = Footprint::new();
        footprint.gather(0x1FF, &strided(0x1000, 4), 4);
        assert_eq!(footprint.lines(), [LineTouch { line: 0x20, sectors: 0b11, full: 0b01 }]);
    }

    proptest! {
        #[test]
        fn gathering_equals_the_set_of_touched_bytes(
            mask: u32,
            base in 0_u64..4096,
            offsets in prop::array::uniform32(0_u64..1024),
            log_bytes in 0_u32..6,
            aligned: bool,
        ) {
            let bytes = 1 << log_bytes;
            let unit = if aligned { bytes } else { 1 };
            let addresses = offsets.map(|offset| base * unit + offset * unit);
            let mut footprint = Footprint::new();
            // What an earlier access left behind must not show.
            footprint.gather(!0, &strided(7, 100), 4);
            footprint.gather(mask, &addresses, bytes as u32);
            prop_assert_eq!(sorted(footprint.lines()), naive(mask, &addresses, bytes as u32));
        }

        #[test]
        fn contiguous_equals_the_set_of_touched_bytes(base in 0_u64..4096, log_bytes in 0_u32..6) {
            let bytes = 1_u32 << log_bytes;
            let addresses = strided(base, u64::from(bytes));
            let lines: Vec<_> = contiguous(base, 32 * u64::from(bytes)).collect();
            prop_assert_eq!(lines, naive(!0, &addresses, bytes));
        }
    }
}
