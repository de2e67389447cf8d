//! Distances between a full warp's addresses, remembered from access to access.
//!
//! An instruction mostly finds its lanes as far from each other as the last time, wherever the
//! first lane is: two half-warps that read a word each, sixteen words twice, a column of a tile.
//! One comparison of vectors then replaces the work of finding out what the lanes do: the least and
//! the greatest address, alignment, and runs of lanes that one copy serves. The recorder is told a
//! number for the distances, so that it need not look at the lanes either.
//!
//! Operations with the same base register share what is remembered ([`SameBase`]).
//!
//! [`SameBase`]: crate::program::memory_op::SameBase

#![allow(unsafe_code, reason = "base registers are rows of checked programs")]

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memories::Segment;
use super::runs::Runs;
use crate::exec::lanes::Frame;
use crate::observer::Pattern;
use crate::program::memory_op::MemoryOp;

/// The most accesses that may pass before distances are learned anew.
const LONGEST_WAIT: u8 = 63;

/// The number of distances that are learned next, of all launches.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A number for distances that nobody has. A launch learns far fewer than there are numbers.
pub(super) fn next_number() -> Option<NonZeroU64> {
    NonZeroU64::new(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The distances of a full warp's addresses from that of its first lane.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    /// The number of the distances.
    id: NonZeroU64,
    /// The operations that have them ([`SameBase::shape`]), or a number that none has.
    shape: u32,
    pattern: Pattern,
    /// Accesses with other distances that pass before they are learned.
    wait: u8,
    /// The same, for the next time.
    next_wait: u8,
    runs: Runs,
    /// In bytes. Those of narrow bases are numbers modulo 2³².
    distances: [i32; 32],
    /// The least of them.
    lowest: i32,
    /// Bytes from the lowest byte that any lane accesses to the highest.
    span: u64,
    /// The buffer where the last access to global memory was: the next one is mostly there too.
    buffer: u32,
}

impl Remembered {
    pub(super) const NOTHING: Self = Self {
        id: NonZeroU64::MAX,
        shape: u32::MAX,
        pattern: Pattern::General,
        wait: 0,
        next_wait: 0,
        runs: Runs::None,
        distances: [0; 32],
        lowest: 0,
        span: 0,
        buffer: 0,
    };

    /// The number of the distances.
    #[inline(always)]
    pub(super) fn id(&self) -> NonZeroU64 {
        self.id
    }

    /// The pattern that they are.
    #[inline(always)]
    pub(super) fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// The runs of lanes that one copy serves.
    #[inline(always)]
    pub(super) fn runs(&self) -> Runs {
        self.runs
    }

    /// The distance of each lane's address from that of the first, in bytes.
    #[inline(always)]
    pub(super) fn distances(&self) -> &[i32; 32] {
        &self.distances
    }

    /// The number of the buffer that is tried first.
    #[inline(always)]
    pub(super) fn buffer(&mut self) -> &mut u32 {
        &mut self.buffer
    }

    /// Returns true if distances of the operations of `shape` are remembered.
    #[inline(always)]
    pub(super) fn is_of(&self, shape: u32) -> bool {
        self.shape == shape
    }

    /// Returns true if the lanes' bases are as far from each other as is remembered.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`]; `op` belongs to its program, and distances of its shape are
    /// remembered.
    #[inline(always)]
    pub(super) unsafe fn matches(&self, frame: &Frame, op: &MemoryOp) -> bool {
        // Without a base all lanes have one address, the only distances that were ever learned.
        let Some(row) = op.base else { return true };
        /// The compiler must see neither that the first lane is one of them nor the test on the
        /// deviation, or it treats lanes one by one instead of joining vectors.
        macro_rules! compare {
            ($base:expr, $ty:ty, $vector:literal) => {{
                let base = $base;
                let first = base[0];
                let bases = std::hint::black_box(base).as_chunks::<$vector>().0;
                let distances = self.distances.as_chunks::<$vector>().0;
                let mut deviation = [0; $vector];
                for (bases, distances) in bases.iter().zip(distances) {
                    for lane in 0..$vector {
                        let distance = bases[lane].wrapping_sub(first);
                        deviation[lane] |= distance ^ distances[lane] as $ty;
                    }
                }
                let deviation = deviation.into_iter().fold(0, |all, one| all | one);
                std::hint::black_box(deviation) == 0
            }};
        }
        // SAFETY: the base is a row of the width that the operation says.
        unsafe {
            if op.wide_base {
                let base = frame.row::<u64>(row);
                compare!(base, u64, 8)
            } else {
                let base = frame.row::<u32>(row);
                compare!(base, u32, 16)
            }
        }
    }

    /// Returns true if the lanes' accesses lie within a segment and are aligned, with the first
    /// lane's at `first`. The distances that have been learned are aligned.
    ///
    /// A narrow base plus the offset may wrap around. Within the segment and below 2³², the sums
    /// with the distances are the addresses all the same, since both are equal modulo 2³².
    #[inline(always)]
    pub(super) fn fits(&self, op: &MemoryOp, segment: &Segment, first: u64) -> bool {
        let low = first.wrapping_add(i64::from(self.lowest) as u64);
        let is_aligned = first & (u64::from(op.bytes_per_lane()) - 1) == 0;
        let is_whole = op.wide_base || low.saturating_add(self.span) <= 1 << 32;
        is_aligned && is_whole && segment.holds(low, self.span)
    }

    /// Each lane's address.
    #[inline(always)]
    pub(super) fn addresses(&self, first: u64, addresses: &mut [u64; 32]) {
        let distances = self.distances;
        // A row of its own, so that the compiler knows that no store changes a distance.
        let mut result = [0; 32];
        for lane in 0..32 {
            result[lane] = first.wrapping_add(i64::from(distances[lane]) as u64);
        }
        *addresses = result;
    }

    /// The distances have been met again.
    #[inline(always)]
    pub(super) fn confirm(&mut self) {
        self.wait = 0;
        self.next_wait = 0;
    }

    /// Learns the distances of an access of all lanes by an operation, which had others than those
    /// remembered. Of a regular pattern only the first address counts. Where distances always
    /// change, learning becomes rarer.
    #[inline(never)]
    pub(super) fn learn(&mut self, op: &MemoryOp, pattern: Pattern, addresses: &[u64; 32]) {
        if self.wait > 0 {
            self.wait -= 1;
            return;
        }
        self.wait = self.next_wait;
        self.next_wait = (2 * self.next_wait + 1).min(LONGEST_WAIT);
        self.shape = u32::MAX;
        let bytes = op.bytes_per_lane();
        let mut highest = 0;
        self.lowest = 0;
        for (lane, distance) in self.distances.iter_mut().enumerate() {
            let far = match pattern {
                Pattern::Uniform => 0,
                Pattern::Consecutive => lane as i64 * i64::from(bytes),
                Pattern::General => addresses[lane].wrapping_sub(addresses[0]) as i64,
            };
            let Ok(bytes) = i32::try_from(far) else { return };
            *distance = bytes;
            self.lowest = self.lowest.min(bytes);
            highest = highest.max(bytes);
        }
        self.span = (i64::from(highest) - i64::from(self.lowest)) as u64 + u64::from(bytes);
        self.pattern = pattern;
        self.runs = self.find_runs(op);
        let Some(id) = next_number() else { return };
        (self.id, self.shape) = (id, op.same_base.shape);
    }

    fn find_runs(&self, op: &MemoryOp) -> Runs {
        if op.elements != 1 {
            return Runs::None;
        }
        let bytes = i32::from(op.element_bytes);
        let step = |lanes: &[i32], step: i32| {
            lanes.windows(2).all(|pair| i64::from(pair[1]) - i64::from(pair[0]) == i64::from(step))
        };
        let is_run = |lanes: &[i32]| step(lanes, 0) || step(lanes, bytes);
        let is_same = |lanes: &[i32]| step(lanes, 0);
        if is_run(&self.distances) {
            return Runs::Whole([is_same(&self.distances)]);
        }
        let (halves, quarters) =
            (self.distances.as_chunks::<16>().0, self.distances.as_chunks::<8>().0);
        if let [low, high] = halves
            && is_run(low)
            && is_run(high)
        {
            return Runs::Halves([is_same(low), is_same(high)]);
        }
        match quarters {
            [a, b, c, d] if [a, b, c, d].into_iter().all(|lanes| is_run(lanes)) => {
                Runs::Quarters([a, b, c, d].map(|lanes| is_same(lanes)))
            }
            _ => Runs::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::AccessKind;
    use crate::program::memory_op::Space;

    fn op(element_bytes: u8, elements: u8, wide_base: bool) -> MemoryOp {
        MemoryOp {
            instruction: 0,
            space: Space::Shared,
            kind: AccessKind::Load,
            element_bytes,
            elements,
            wide_registers: element_bytes == 8,
            extend: crate::program::memory_op::Extend::Zero,
            rows: [None; 8],
            base: Some(0),
            wide_base,
            offset: 0,
            atomic: None,
            counted: true,
            moves: true,
            simple: None,
            same_base: crate::program::memory_op::SameBase::default(),
        }
    }

    fn learned(op: &MemoryOp, addresses: [u64; 32]) -> Remembered {
        let mut remembered = Remembered::NOTHING;
        remembered.learn(op, Pattern::General, &addresses);
        remembered
    }

    #[test]
    fn runs_are_those_that_one_copy_serves() {
        let of = |bytes, elements, address: fn(usize) -> u64| {
            learned(&op(bytes, elements, true), std::array::from_fn(address)).runs
        };
        assert_eq!(of(4, 1, |_| 64), Runs::Whole([true]));
        assert_eq!(of(8, 1, |lane| 8 * lane as u64), Runs::Whole([false]));
        assert_eq!(of(4, 1, |lane| 64 * (lane as u64 / 16)), Runs::Halves([true; 2]));
        assert_eq!(of(4, 1, |lane| 4 * (lane as u64 % 16)), Runs::Halves([false; 2]));
        assert_eq!(of(8, 1, |lane| 8 * (lane as u64 % 8)), Runs::Quarters([false; 4]));
        assert_eq!(of(4, 1, |lane| 96 * (lane as u64 / 8)), Runs::Quarters([true; 4]));
        assert_eq!(of(4, 1, |lane| 4 * (lane as u64).min(16)), Runs::Halves([false, true]));
        assert_eq!(of(4, 1, |lane| 8 * lane as u64), Runs::None);
        assert_eq!(of(4, 2, |lane| 64 * (lane as u64 / 16)), Runs::None);
    }

    #[test]
    fn all_lanes_must_lie_in_the_segment() {
        let segment = Segment { host: std::ptr::null_mut(), start: 1000, bytes: 1000 };
        let op_ = op(4, 1, true);
        // From 40 bytes below the first lane's address to 84 above it, and four more.
        let remembered = learned(&op_, std::array::from_fn(|lane| 40 + 4 * lane as u64));
        assert!(remembered.fits(&op_, &segment, 1000));
        let below = learned(&op_, std::array::from_fn(|lane| 4000 - 4 * lane as u64));
        assert!(below.fits(&op_, &segment, 1124) && !below.fits(&op_, &segment, 1120));
        assert!(remembered.fits(&op_, &segment, 1872) && !remembered.fits(&op_, &segment, 1876));
        assert!(!remembered.fits(&op_, &segment, 1002), "misaligned");
        assert!(!below.fits(&op_, &segment, 64), "around zero");
    }

    #[test]
    fn narrow_addresses_do_not_wrap_around() {
        let segment = Segment { host: std::ptr::null_mut(), start: 0, bytes: 1 << 33 };
        for (wide, fits) in [(true, true), (false, false)] {
            let op = op(4, 1, wide);
            let remembered = learned(&op, std::array::from_fn(|lane| 8 * lane as u64));
            assert_eq!(remembered.fits(&op, &segment, (1 << 32) - 16), fits);
            assert!(remembered.fits(&op, &segment, (1 << 32) - 252));
        }
    }

    #[test]
    fn distances_that_always_change_are_learned_more_and_more_rarely() {
        let op = op(4, 1, true);
        let mut remembered = Remembered::NOTHING;
        let mut ids = std::collections::BTreeSet::new();
        for stride in 0..1000 {
            let addresses = std::array::from_fn(|lane| stride * lane as u64);
            remembered.learn(&op, Pattern::General, &addresses);
            ids.insert(remembered.id());
        }
        assert!((10..40).contains(&ids.len()), "{}", ids.len());
        let far = learned(&op, std::array::from_fn(|lane| (lane as u64) << 31));
        assert!(!far.is_of(0));
    }
}
