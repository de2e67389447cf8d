//! Distances between a full warp's addresses, remembered from access to access.
//!
//! An instruction mostly finds its lanes as far from each other as the last time, wherever the
//! first lane is: two half-warps that read a word each, sixteen words twice, a column of a tile.
//! One comparison of vectors then replaces the work of finding out what the lanes do: the least and
//! the greatest address, alignment, and runs of lanes that one copy serves. The recorder is told a
//! number for the distances, so that it need not look at the lanes either.

#![allow(unsafe_code, reason = "addresses are checked here and then followed")]

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memories::{Memories, Segment};
use super::racing::{Element, load_run, store_run};
use crate::exec::lanes::Frame;
use crate::lane::Lane;
use crate::observer::AccessKind;
use crate::program::memory_op::{MemoryOp, Space};

/// Operations of one CTA that are remembered, at most: 50 KB.
const MOST: usize = 256;

/// The most accesses that may pass before distances are learned anew.
const LONGEST_WAIT: u8 = 63;

/// The number of distances that are learned next, of all launches.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The distances that the operations of one CTA had last; operations with the same place share it.
#[derive(Debug)]
pub(in crate::exec) struct Patterns {
    /// A power of two.
    places: Vec<Remembered>,
}

impl Patterns {
    /// Nothing is remembered yet, of a program with so many memory operations.
    pub(in crate::exec) fn new(operations: usize) -> Self {
        Self { places: vec![Remembered::NOTHING; Self::places(operations)] }
    }

    fn places(operations: usize) -> usize {
        operations.next_power_of_two().clamp(1, MOST)
    }

    /// Bytes that it takes.
    pub(in crate::exec) fn bytes(operations: usize) -> u64 {
        (Self::places(operations) * size_of::<Remembered>()) as u64
    }

    /// The places, to be lent to one warp after the other.
    pub(in crate::exec) fn lend(&mut self) -> LentPatterns {
        LentPatterns { last: self.places.len() - 1, places: self.places.as_mut_ptr() }
    }
}

/// The places of [`Patterns`].
///
/// # Invariants
///
/// They exist as long as this is used, and nothing else uses them meanwhile. `last` is one less
/// than their number, which is a power of two.
#[derive(Clone, Copy)]
pub(in crate::exec) struct LentPatterns {
    places: *mut Remembered,
    last: usize,
}

impl LentPatterns {
    /// The place of memory operation `index`.
    #[inline(always)]
    pub(super) fn of(&mut self, index: u32) -> &mut Remembered {
        // SAFETY: by the invariants; no place lies beyond the last one.
        unsafe { &mut *self.places.add(index as usize & self.last) }
    }
}

/// The runs of neighbouring lanes that one copy serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    /// Half-warps, each with one address (true) or consecutive ones.
    Halves([bool; 2]),
    /// Eight lanes each.
    Quarters([bool; 4]),
    /// Each lane goes its own way.
    None,
}

/// The distances of a full warp's addresses from that of its first lane.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    /// The number of the distances, if any are remembered.
    id: Option<NonZeroU64>,
    /// The operation that has them.
    operation: u32,
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
}

impl Remembered {
    const NOTHING: Self = Self {
        id: None,
        operation: 0,
        wait: 0,
        next_wait: 0,
        runs: Runs::None,
        distances: [0; 32],
        lowest: 0,
        span: 0,
    };

    /// The number of the distances.
    #[inline(always)]
    pub(super) fn id(&self) -> Option<NonZeroU64> {
        self.id
    }

    /// The address of the first lane, if the lanes' bases are as far from each other as the last
    /// time that operation `index` was executed.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`]; `op` belongs to its program and has the index.
    #[inline(always)]
    pub(super) unsafe fn recall(&self, frame: &Frame, op: &MemoryOp, index: u32) -> Option<u64> {
        if self.id.is_none() || self.operation != index {
            return None;
        }
        let row = op.base?;
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
                compare!(base, u64, 8).then(|| base[0].wrapping_add(op.offset))
            } else {
                let base = frame.row::<u32>(row);
                compare!(base, u32, 16).then(|| u64::from(base[0].wrapping_add(op.offset as u32)))
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

    /// Learns the distances of an access of operation `index` by all lanes, which had others than
    /// those remembered. Where they always change, it becomes rarer.
    #[inline(never)]
    pub(super) fn learn(&mut self, op: &MemoryOp, index: u32, addresses: &[u64; 32]) {
        if self.wait > 0 {
            self.wait -= 1;
            return;
        }
        self.wait = self.next_wait;
        self.next_wait = (2 * self.next_wait + 1).min(LONGEST_WAIT);
        self.id = None;
        let bytes = op.bytes_per_lane();
        let mut highest = 0;
        self.lowest = 0;
        for (distance, &address) in self.distances.iter_mut().zip(addresses) {
            let Ok(bytes) = i32::try_from(address.wrapping_sub(addresses[0]) as i64) else {
                return;
            };
            *distance = bytes;
            self.lowest = self.lowest.min(bytes);
            highest = highest.max(bytes);
        }
        self.span = (i64::from(highest) - i64::from(self.lowest)) as u64 + u64::from(bytes);
        self.runs = self.find_runs(op);
        self.operation = index;
        self.id = NonZeroU64::new(NEXT.fetch_add(1, Ordering::Relaxed));
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

/// Loads or stores of a full warp whose distances are remembered. Returns `false` if there is
/// something wrong with an address; then nothing has been done.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program and is simple; the lanes' addresses are
/// `first` and the distances of `remembered`.
#[inline(always)]
pub(super) unsafe fn access_remembered(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    remembered: &Remembered,
    first: u64,
) -> bool {
    let Some(segment) = memories.segment(op.space, first) else { return false };
    if !remembered.fits(op, &segment, first) {
        return false;
    }
    // SAFETY: the segment holds the accesses of all lanes, that of the first among them, aligned
    // to the whole access; rows are as wide as the element.
    unsafe {
        let host = segment.at(first);
        match (op.element_bytes == 4, op.space == Space::Global) {
            (true, true) => transfer::<u32, true>(frame, op, memories, remembered, host),
            (true, false) => transfer::<u32, false>(frame, op, memories, remembered, host),
            (false, true) => transfer::<u64, true>(frame, op, memories, remembered, host),
            (false, false) => transfer::<u64, false>(frame, op, memories, remembered, host),
        }
    }
    true
}

/// [`access_remembered`] for elements `T` at `host` and the distances from there. `GLOBAL` says
/// whether CTAs may use the space at the same time.
///
/// # Safety
///
/// As [`access_remembered`], and memory is good for the accesses of all lanes.
#[inline(always)]
unsafe fn transfer<T: Lane<Store = T> + Element + Default, const GLOBAL: bool>(
    frame: &Frame,
    op: &MemoryOp,
    memories: &Memories<'_>,
    remembered: &Remembered,
    host: *mut u8,
) {
    let stores = op.kind == AccessKind::Store;
    let distances = &remembered.distances;
    // SAFETY: by the contract.
    let at = |lane: usize| unsafe { host.offset(distances[lane] as isize).cast::<T>() };
    /// One copy for each run of `$lanes` lanes. Of lanes that store to one address, the highest is
    /// the last, and so is the highest run.
    macro_rules! runs {
        ($same:expr, $lanes:literal) => {
            if let [Some(row), ..] = op.rows {
                // SAFETY: by the contract; the runs' elements lie where those of their lanes do.
                unsafe {
                    let row = frame.row_mut::<T>(row).as_chunks_mut::<$lanes>().0;
                    for (run, (same, row)) in $same.into_iter().zip(row).enumerate() {
                        let host = at($lanes * run);
                        match (same, stores) {
                            (true, true) if GLOBAL => row[$lanes - 1].store(host),
                            (true, true) => host.write(row[$lanes - 1]),
                            (false, true) if GLOBAL => store_run(row, host, memories.vectors),
                            (false, true) => host.cast::<[T; $lanes]>().write(*row),
                            (true, false) if GLOBAL => *row = [T::load(host); $lanes],
                            (true, false) => *row = [host.read(); $lanes],
                            (false, false) if GLOBAL => load_run(host, row, memories.vectors),
                            (false, false) => *row = host.cast::<[T; $lanes]>().read(),
                        }
                    }
                }
            }
        };
    }
    match remembered.runs {
        Runs::Halves(same) => runs!(same, 16),
        Runs::Quarters(same) => runs!(same, 8),
        Runs::None => {
            for (element, row) in op.rows[..usize::from(op.elements)].iter().enumerate() {
                let Some(row) = *row else { continue };
                // SAFETY: by the contract; all elements lie behind the address of each lane.
                unsafe {
                    let row = frame.row_mut::<T>(row);
                    let mut values = *row;
                    for lane in 0..32 {
                        let host = at(lane).add(element);
                        match (stores, GLOBAL) {
                            (true, true) => values[lane].store(host),
                            (true, false) => host.write(values[lane]),
                            (false, true) => values[lane] = T::load(host),
                            (false, false) => values[lane] = host.read(),
                        }
                    }
                    if !stores {
                        *row = values;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            is_simple: true,
        }
    }

    fn learned(op: &MemoryOp, addresses: [u64; 32]) -> Remembered {
        let mut remembered = Remembered::NOTHING;
        remembered.learn(op, 7, &addresses);
        remembered
    }

    #[test]
    fn runs_are_those_that_one_copy_serves() {
        let of = |bytes, elements, address: fn(usize) -> u64| {
            learned(&op(bytes, elements, true), std::array::from_fn(address)).runs
        };
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
            remembered.learn(&op, 7, &std::array::from_fn(|lane| stride * lane as u64));
            ids.insert(remembered.id());
        }
        assert!((10..40).contains(&ids.len()), "{}", ids.len());
        let far = learned(&op, std::array::from_fn(|lane| (lane as u64) << 31));
        assert_eq!(far.id(), None);
    }
}
