//! Facts about device memory across launches: the bytes of buffers that have been written, and the
//! allocated blocks of the device heap.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A buffer that the host allocates and does not fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its first address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// True if the host has written all of it before the first launch.
    pub initialised: bool,
}

/// Device memory as the launches of one program leave it.
#[derive(Debug)]
pub struct DeviceShadow {
    /// By address.
    buffers: Vec<Tracked>,
    heap: Mutex<HeapShadow>,
}

#[derive(Debug)]
struct Tracked {
    buffer: Buffer,
    /// A bit for each byte that was written; none if the host has written all of them.
    written: Vec<AtomicU64>,
}

/// Bytes that the CTAs of a launch have written, where they run in parallel: a bit for each byte of
/// each tracked buffer. Other CTAs do not see it, so that findings do not depend on the order.
#[derive(Debug)]
pub(crate) struct LaunchWrites(Vec<Vec<AtomicU64>>);

/// The blocks of the device heap.
#[derive(Debug, Default)]
pub(crate) struct HeapShadow {
    start: u64,
    bytes: u64,
    /// By address.
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
struct Block {
    bytes: u64,
    written: Vec<u64>,
}

/// Bytes of the tracked buffers that a CTA has written: bits of bytes, by address divided by 64.
pub(crate) type OwnWrites = HashMap<u64, u64>;

impl Tracked {
    fn new(buffer: Buffer) -> Self {
        let words = if buffer.initialised { 0 } else { buffer.bytes.div_ceil(64) };
        Self { written: (0..words).map(|_| AtomicU64::new(0)).collect(), buffer }
    }
}

impl DeviceShadow {
    /// Before the first launch.
    #[must_use]
    pub fn new(mut buffers: Vec<Buffer>) -> Self {
        buffers.sort_by_key(|buffer| buffer.address);
        let tracked = buffers.into_iter().map(Tracked::new);
        Self { buffers: tracked.collect(), heap: Mutex::default() }
    }

    /// The host allocates a buffer between launches.
    pub fn add(&mut self, buffer: Buffer) {
        let at = self.buffers.partition_point(|entry| entry.buffer.address < buffer.address);
        self.buffers.insert(at, Tracked::new(buffer));
    }

    /// The host frees the buffer that begins at `address`.
    pub fn remove(&mut self, address: u64) {
        self.buffers.retain(|buffer| buffer.buffer.address != address);
    }

    /// The host writes bytes of a buffer.
    pub fn host_writes(&self, address: u64, bytes: u64) {
        self.write(address, bytes, &mut OwnWrites::new(), true);
    }

    fn tracked_at(&self, address: u64) -> Option<usize> {
        let after = self.buffers.partition_point(|tracked| tracked.buffer.address <= address);
        let at = after.checked_sub(1)?;
        let tracked = self.buffers.get(at)?;
        let inside = address - tracked.buffer.address < tracked.buffer.bytes;
        (inside && !tracked.written.is_empty()).then_some(at)
    }

    fn tracked(&self, address: u64) -> Option<&Tracked> {
        self.buffers.get(self.tracked_at(address)?)
    }

    /// Returns the writes of a launch before it begins: none.
    pub(crate) fn launch_writes(&self) -> LaunchWrites {
        let bits = |tracked: &Tracked| tracked.written.iter().map(|_| AtomicU64::new(0)).collect();
        LaunchWrites(self.buffers.iter().map(bits).collect())
    }

    /// Returns true if some buffer is tracked at all.
    pub(crate) fn tracks_buffers(&self) -> bool {
        self.buffers.iter().any(|tracked| !tracked.written.is_empty())
    }

    /// The buffer at an address and the offset in it.
    pub(crate) fn buffer(&self, address: u64) -> Option<(&str, i64)> {
        let after = self.buffers.partition_point(|tracked| tracked.buffer.address <= address);
        let buffer = &self.buffers.get(after.checked_sub(1)?)?.buffer;
        let offset = address - buffer.address;
        (offset < buffer.bytes).then_some((buffer.name.as_str(), offset as i64))
    }

    /// The first of some bytes that nothing has written, neither an earlier launch nor, by `own`,
    /// this CTA.
    pub(crate) fn uninitialised(&self, address: u64, bytes: u64, own: &OwnWrites) -> Option<u64> {
        let tracked = self.tracked(address)?;
        parts(address, bytes).find_map(|(base, part)| {
            let at = (base.checked_sub(tracked.buffer.address)? / 64) as usize;
            let written = tracked.written.get(at)?.load(Ordering::Relaxed)
                | own.get(&(base / 64)).copied().unwrap_or_default();
            let missing = part & !written;
            (missing != 0).then(|| base + u64::from(missing.trailing_zeros()))
        })
    }

    /// Some bytes are written: seen by everybody if `at_once`, else by the own CTA.
    pub(crate) fn write(&self, address: u64, bytes: u64, own: &mut OwnWrites, at_once: bool) {
        let Some(tracked) = self.tracked(address) else { return };
        for (base, part) in parts(address, bytes) {
            let at = base.wrapping_sub(tracked.buffer.address) / 64;
            if !at_once {
                *own.entry(base / 64).or_default() |= part;
            } else if let Some(word) = tracked.written.get(at as usize) {
                word.fetch_or(part, Ordering::Relaxed);
            }
        }
    }

    /// Records the end of a CTA: keeps its writes for the next launch.
    pub(crate) fn keep(&self, own: &mut OwnWrites, launch: &LaunchWrites) {
        for (word, part) in own.drain() {
            let Some(buffer) = self.tracked_at(word * 64) else { continue };
            let at = (word * 64 - self.buffers[buffer].buffer.address) / 64;
            if let Some(bits) = launch.0.get(buffer).and_then(|words| words.get(at as usize)) {
                bits.fetch_or(part, Ordering::Relaxed);
            }
        }
    }

    /// Records the end of the launch: everybody sees the writes of its CTAs.
    pub(crate) fn publish(&self, launch: &LaunchWrites) {
        for (tracked, words) in self.buffers.iter().zip(&launch.0) {
            for (written, bits) in tracked.written.iter().zip(words) {
                written.fetch_or(bits.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn heap(&self) -> MutexGuard<'_, HeapShadow> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fault of an access to the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeapTrouble {
    /// It is not inside a block that is allocated.
    Outside,
    /// It reads this byte, which nothing has written.
    Uninitialised { at: u64 },
}

impl HeapShadow {
    pub(crate) fn allocate(&mut self, heap: (u64, u64), address: u64, bytes: u64) {
        (self.start, self.bytes) = heap;
        let written = vec![0; bytes.div_ceil(64) as usize];
        self.blocks.insert(address, Block { bytes, written });
    }

    pub(crate) fn free(&mut self, address: u64) {
        self.blocks.remove(&address);
    }

    /// Returns true if blocks are allocated.
    pub(crate) fn holds_blocks(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Returns true if an address lies in the heap.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }

    /// Records an access to the heap.
    pub(crate) fn access(
        &mut self,
        address: u64,
        bytes: u64,
        reads: bool,
        writes: bool,
    ) -> Option<HeapTrouble> {
        let block = self.blocks.range_mut(..=address).next_back();
        let Some((&start, block)) = block.filter(|(start, block)| {
            address - **start < block.bytes && block.bytes - (address - **start) >= bytes
        }) else {
            return Some(HeapTrouble::Outside);
        };
        let offset = address - start;
        let mut trouble = None;
        for (base, part) in parts(offset, bytes) {
            let Some(written) = block.written.get_mut((base / 64) as usize) else { break };
            let missing = part & !*written;
            if reads && missing != 0 && trouble.is_none() {
                let at = start + base + u64::from(missing.trailing_zeros());
                trouble = Some(HeapTrouble::Uninitialised { at });
            }
            if writes {
                *written |= part;
            }
        }
        trouble
    }

    /// The block nearest to an address and the distance from its first byte.
    pub(crate) fn nearest(&self, address: u64) -> Option<(String, i64)> {
        let before = self.blocks.range(..=address).next_back();
        let after = self.blocks.range(address..).next();
        let gap = |&(&start, block): &(&u64, &Block)| {
            start.saturating_sub(address).max(address.saturating_sub(start + block.bytes))
        };
        let nearest = [before, after].into_iter().flatten().min_by_key(gap)?;
        let name = format!("block of {} bytes of the device heap", nearest.1.bytes);
        Some((name, address.wrapping_sub(*nearest.0) as i64))
    }
}

/// Some bytes, cut at multiples of 64: where each part's 64 bytes begin, and which of them it is.
fn parts(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = address.saturating_add(bytes);
    (address / 64..end.div_ceil(64)).map(move |word| {
        let base = word * 64;
        let low = address.saturating_sub(base);
        let high = (end - base).min(64);
        (base, (u64::MAX << low) & (u64::MAX >> (64 - high)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadow() -> DeviceShadow {
        let buffer = |name: &str, address, initialised| Buffer {
            name: name.to_owned(),
            address,
            bytes: 200,
            initialised,
        };
        DeviceShadow::new(vec![buffer("new", 4096, false), buffer("filled", 0, true)])
    }

    #[test]
    fn a_byte_is_uninitialised_until_it_is_written() {
        let shadow = shadow();
        let mut own = OwnWrites::new();
        assert_eq!(shadow.uninitialised(0, 200, &own), None, "the host has filled it");
        assert_eq!(shadow.uninitialised(4096, 8, &own), Some(4096));
        // From byte 60 to byte 68, across a boundary of the bitmap.
        shadow.write(4096 + 60, 8, &mut own, false);
        assert_eq!(shadow.uninitialised(4096 + 60, 8, &own), None);
        assert_eq!(shadow.uninitialised(4096 + 60, 16, &own), Some(4096 + 68));
        assert_eq!(shadow.uninitialised(4096 + 60, 8, &OwnWrites::new()), Some(4096 + 60));
        let launch = shadow.launch_writes();
        shadow.keep(&mut own, &launch);
        assert_eq!(shadow.uninitialised(4096 + 60, 8, &own), Some(4096 + 60), "not yet published");
        shadow.publish(&launch);
        assert_eq!(shadow.uninitialised(4096 + 60, 8, &own), None);
    }

    #[test]
    fn heap_blocks_know_their_bounds_and_what_was_written() {
        let mut heap = HeapShadow::default();
        heap.allocate((1000, 500), 1008, 20);
        assert!(heap.holds(1499) && !heap.holds(1500) && !heap.holds(999));
        assert_eq!(heap.access(1008, 4, false, true), None);
        assert_eq!(heap.access(1008, 4, true, false), None);
        let missing = HeapTrouble::Uninitialised { at: 1012 };
        assert_eq!(heap.access(1008, 8, true, false), Some(missing));
        for outside in [1004, 1025, 1028] {
            assert_eq!(heap.access(outside, 4, false, true), Some(HeapTrouble::Outside));
        }
        heap.free(1008);
        assert_eq!(heap.access(1008, 4, false, true), Some(HeapTrouble::Outside));
    }
}
