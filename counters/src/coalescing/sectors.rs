//! The sectors that one warp access touches, by 128-byte line.
//!
//! A warp access is a short list of lines, each with a mask of sectors, and this list is all that
//! the caches see. Sectors have 32 bytes on every GPU so far; other sizes are for GPUs that do not
//! exist.

use crate::units::{LINE_BYTES, LineTouch};

/// The size of a sector: the smallest piece of memory that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SectorSize {
    log2: u8,
}

impl SectorSize {
    /// 32 bytes, as on every GPU so far.
    pub const BYTES_32: Self = Self { log2: 5 };

    /// A sector of 16, 32, 64 or 128 bytes: the mask of a line has eight bits.
    #[must_use]
    pub const fn new(bytes: u64) -> Option<Self> {
        match bytes {
            16 | 32 | 64 | 128 => Some(Self { log2: bytes.trailing_zeros() as u8 }),
            _ => None,
        }
    }

    /// Bytes.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> u64 {
        1 << self.log2
    }

    /// Sectors of a line.
    #[must_use]
    #[inline]
    pub const fn per_line(self) -> u32 {
        (LINE_BYTES >> self.log2) as u32
    }

    /// The sectors that have at least one byte in `bytes`, and those that have every byte in it.
    /// `bytes` has a bit for each byte of a line.
    #[inline]
    fn masks(self, bytes: u128) -> (u8, u8) {
        match self.log2 {
            4 => masks::<16>(bytes),
            5 => masks::<32>(bytes),
            6 => masks::<64>(bytes),
            _ => masks::<128>(bytes),
        }
    }
}

#[inline]
fn masks<const BYTES: u32>(bytes: u128) -> (u8, u8) {
    let all = u128::MAX >> (128 - BYTES);
    let (mut touched, mut full) = (0, 0);
    for sector in 0..128 / BYTES {
        let of_sector = bytes >> (sector * BYTES) & all;
        touched |= u8::from(of_sector != 0) << sector;
        full |= u8::from(of_sector == all) << sector;
    }
    (touched, full)
}

/// A bit for each of the `bytes` bytes from `low` on, at most up to the end of the line.
pub(super) fn byte_mask(low: u64, bytes: u64) -> u128 {
    match bytes.min(LINE_BYTES - low) {
        0 => 0,
        bytes => (u128::MAX >> (LINE_BYTES - bytes)) << low,
    }
}

impl LineTouch {
    /// The sectors for the bytes from `low` up to but not including `high` of `line`.
    #[inline]
    fn of_range(line: u64, low: u64, high: u64, size: SectorSize) -> Self {
        let below = |sector: u64| ((1_u16 << sector) - 1) as u8;
        let (down, up) =
            (|byte: u64| byte >> size.log2, |byte| (byte + size.bytes() - 1) >> size.log2);
        let touched = below(up(high)) & !below(down(low));
        let full = below(down(high)) & !below(up(low));
        Self { line, sectors: touched, full }
    }

    /// A transfer of the `bytes` bytes from `low` of `line` on, whole, for the sake of those in
    /// `wanted`.
    pub(super) fn of_transfer(
        line: u64,
        low: u64,
        bytes: u64,
        wanted: u128,
        size: SectorSize,
    ) -> Self {
        let (_, full) = size.masks(wanted);
        Self { full, ..Self::of_range(line, low, low + bytes, size) }
    }
}

/// The lines of the `bytes` bytes from `address` on: the access of a warp whose lanes are
/// consecutive, or of a single lane. `bytes` must not be 0.
#[inline]
pub fn contiguous(address: u64, bytes: u64, size: SectorSize) -> impl Iterator<Item = LineTouch> {
    let last = address.saturating_add(bytes.saturating_sub(1));
    let (first_line, last_line) = (address / LINE_BYTES, last / LINE_BYTES);
    (first_line..=last_line).map(move |line| {
        let low = if line == first_line { address % LINE_BYTES } else { 0 };
        let high = if line == last_line { last % LINE_BYTES + 1 } else { LINE_BYTES };
        LineTouch::of_range(line, low, high, size)
    })
}

/// The lines that an arbitrary warp access touches, in order of first touch.
///
/// Reused from access to access, so that no access allocates.
#[derive(Clone, Debug)]
pub struct Footprint {
    size: SectorSize,
    lines: Vec<LineTouch>,
    /// For each line, a bit for each touched byte.
    bytes: Vec<u128>,
}

impl Footprint {
    /// An empty footprint with room for any aligned access.
    #[must_use]
    pub fn new(size: SectorSize) -> Self {
        Self { size, lines: Vec::with_capacity(64), bytes: Vec::with_capacity(64) }
    }

    /// Replaces the footprint by that of the lanes in `mask`, each of which touches
    /// `bytes_per_lane` bytes from its address on.
    pub fn gather(&mut self, mask: u32, addresses: &[u64; 32], bytes_per_lane: u32) {
        self.clear();
        let bytes = u64::from(bytes_per_lane);
        // Neighbouring lanes mostly touch neighbouring bytes, or the same: they go together.
        let (mut first, mut last, mut end) = (0, 0, 0);
        let mut lanes = mask;
        while lanes != 0 {
            let address = addresses[lanes.trailing_zeros() as usize];
            lanes &= lanes - 1;
            let begins = first == end || address != last && address != end;
            if begins {
                self.touch(first, end - first);
                first = address;
            }
            last = address;
            end = address.saturating_add(bytes);
        }
        self.touch(first, end - first);
        self.finish();
    }

    /// Forgets every line.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.bytes.clear();
    }

    /// Adds `bytes` bytes from `address` on; [`Footprint::finish`] turns them into sectors.
    pub fn touch(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let low = address % LINE_BYTES;
        if low + bytes <= LINE_BYTES {
            self.touch_line(address / LINE_BYTES, low, low + bytes);
        } else {
            for part in contiguous(address, bytes, self.size) {
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
            (entry.sectors, entry.full) = self.size.masks(bytes);
        }
    }

    /// The lines, in order of first touch.
    #[must_use]
    pub fn lines(&self) -> &[LineTouch] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The definition: the set of touched bytes, then whatever contains them.
    fn naive(mask: u32, addresses: &[u64; 32], bytes_per_lane: u32, size: u64) -> Vec<LineTouch> {
        let mut touched = BTreeSet::new();
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            touched.extend((0..u64::from(bytes_per_lane)).map(|byte| addresses[lane] + byte));
        }
        let lines: BTreeSet<u64> = touched.iter().map(|byte| byte / 128).collect();
        let sector_of = |line: u64, sector: u64| {
            let first = line * 128 + sector * size;
            touched.range(first..first + size).count() as u64
        };
        let mask_where = |line: u64, holds: &dyn Fn(u64) -> bool| {
            (0..128 / size)
                .filter(|&sector| holds(sector_of(line, sector)))
                .fold(0, |mask, sector| mask | 1 << sector)
        };
        lines
            .into_iter()
            .map(|line| LineTouch {
                line,
                sectors: mask_where(line, &|bytes| bytes > 0),
                full: mask_where(line, &|bytes| bytes == size),
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
        let mut footprint = Footprint::new(SectorSize::BYTES_32);
        footprint.gather(mask, &addresses, bytes);
        let lines = footprint.lines();
        let touched = lines.iter().map(|entry| entry.sectors.count_ones()).sum::<u32>();
        assert_eq!((lines.len() as u32, touched), (transactions, sectors));
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
    fn a_sector_of_16_bytes_is_half_as_large() {
        let size = SectorSize::new(16).unwrap();
        let mut footprint = Footprint::new(size);
        // Every fourth word: each 16-byte piece is wanted, none as a whole.
        footprint.gather(0xFF, &strided(0x1000, 16), 4);
        assert_eq!(footprint.lines(), [LineTouch { line: 0x20, sectors: 0xFF, full: 0 }]);
        assert_eq!((size.bytes(), size.per_line()), (16, 8));
        assert_eq!([0, 8, 24, 256].map(SectorSize::new), [None; 4]);
    }

    #[test]
    fn a_sector_is_full_only_if_every_byte_is_touched() {
        let mut footprint = Footprint::new(SectorSize::BYTES_32);
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
            log_sector in 4_u32..8,
        ) {
            let bytes = 1 << log_bytes;
            let unit = if aligned { bytes } else { 1 };
            let addresses = offsets.map(|offset| base * unit + offset * unit);
            let mut footprint = Footprint::new(SectorSize::new(1 << log_sector).unwrap());
            // What an earlier access left behind must not show.
            footprint.gather(!0, &strided(7, 100), 4);
            footprint.gather(mask, &addresses, bytes as u32);
            prop_assert_eq!(sorted(footprint.lines()), naive(mask, &addresses, bytes as u32, 1 << log_sector));
        }

        #[test]
        fn lines_come_in_order_of_first_touch_however_lanes_go_together(
            mask: u32,
            base in 0_u64..64,
            steps in prop::array::uniform32(prop_oneof![3 => Just(1_i64), 1 => Just(0), 1 => -64_i64..64]),
            log_bytes in 0_u32..5,
        ) {
            let bytes = 1 << log_bytes;
            let mut at = base + 4096;
            let addresses = steps.map(|step| {
                at = at.wrapping_add_signed(step);
                at * bytes
            });
            let mut expected = Vec::new();
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                let line = addresses[lane] / LINE_BYTES;
                if !expected.contains(&line) {
                    expected.push(line);
                }
            }
            let mut footprint = Footprint::new(SectorSize::BYTES_32);
            footprint.gather(mask, &addresses, bytes as u32);
            let lines: Vec<_> = footprint.lines().iter().map(|touch| touch.line).collect();
            prop_assert_eq!(lines, expected);
            prop_assert_eq!(sorted(footprint.lines()), naive(mask, &addresses, bytes as u32, 32));
        }

        #[test]
        fn contiguous_equals_the_set_of_touched_bytes(
            base in 0_u64..4096,
            log_bytes in 0_u32..6,
            log_sector in 4_u32..8,
        ) {
            let bytes = 1_u32 << log_bytes;
            let size = SectorSize::new(1 << log_sector).unwrap();
            let addresses = strided(base, u64::from(bytes));
            let lines: Vec<_> = contiguous(base, 32 * u64::from(bytes), size).collect();
            prop_assert_eq!(lines, naive(!0, &addresses, bytes, 1 << log_sector));
        }
    }
}
