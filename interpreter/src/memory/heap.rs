//! The device heap, on which `malloc` and `free` of device code work.

use std::collections::{BTreeMap, BTreeSet};

/// Blocks begin at multiples of this, as CUDA's do.
const ALIGNMENT: u64 = 16;

/// `free` of an address that is no allocated block's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadFree;

/// The parts of the heap that are in use, by offset: best fit, neighbours merged when freed.
///
/// Both take logarithmic time, however many stretches there are.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Sizes of free stretches.
    free: BTreeMap<u64, u64>,
    /// The same stretches as sizes and offsets, so that one that fits is found without a search.
    free_by_size: BTreeSet<(u64, u64)>,
    /// Sizes of allocated blocks.
    used: BTreeMap<u64, u64>,
}

impl Heap {
    /// A heap of `bytes` free bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let mut heap = Self::default();
        heap.insert_free(0, bytes);
        heap
    }

    /// The offset of a new block, unless it is empty or does not fit.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return None;
        }
        let bytes = bytes.checked_next_multiple_of(ALIGNMENT)?;
        let &(size, offset) = self.free_by_size.range((bytes, 0)..).next()?;
        self.remove_free(offset);
        if size > bytes {
            self.insert_free(offset + bytes, size - bytes);
        }
        self.used.insert(offset, bytes);
        Some(offset)
    }

    /// Gives back the block at `offset`.
    pub(crate) fn free(&mut self, offset: u64) -> Result<(), BadFree> {
        let mut bytes = self.used.remove(&offset).ok_or(BadFree)?;
        let mut start = offset;
        if let Some(after) = self.remove_free(offset + bytes) {
            bytes += after;
        }
        if let Some((&before, &size)) = self.free.range(..offset).next_back()
            && before + size == offset
        {
            self.remove_free(before);
            start = before;
            bytes += size;
        }
        self.insert_free(start, bytes);
        Ok(())
    }

    fn insert_free(&mut self, offset: u64, bytes: u64) {
        self.free.insert(offset, bytes);
        self.free_by_size.insert((bytes, offset));
    }

    /// Takes the free stretch that begins at `offset`, if there is one, and returns its size.
    fn remove_free(&mut self, offset: u64) -> Option<u64> {
        let bytes = self.free.remove(&offset)?;
        self.free_by_size.remove(&(bytes, offset));
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_never_overlap_and_freed_space_comes_back_whole() {
        let mut heap = Heap::new(1 << 16);
        let mut blocks: Vec<(u64, u64)> = Vec::new();
        let mut random = 1u64;
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = random >> 33;
            if number.is_multiple_of(3) && !blocks.is_empty() {
                let (offset, _) = blocks.swap_remove(number as usize % blocks.len());
                assert_eq!(heap.free(offset), Ok(()), "step {step}");
                assert_eq!(heap.free(offset), Err(BadFree));
                continue;
            }
            let bytes = number % 1000;
            if let Some(offset) = heap.allocate(bytes) {
                assert_eq!(offset % ALIGNMENT, 0);
                assert!(offset + bytes <= 1 << 16);
                let apart = |&(at, size): &(u64, u64)| at + size <= offset || offset + bytes <= at;
                assert!(blocks.iter().all(apart), "step {step}");
                blocks.push((offset, bytes));
            }
        }
        assert!(!blocks.is_empty());
        for (offset, _) in blocks {
            assert_eq!(heap.free(offset), Ok(()));
        }
        assert_eq!(heap.allocate(1 << 16), Some(0));
        assert_eq!(heap.allocate(1), None);
    }

    #[test]
    fn nothing_is_allocated_for_nothing_or_for_too_much() {
        let mut heap = Heap::new(64);
        assert_eq!(heap.allocate(0), None);
        assert_eq!(heap.allocate(65), None);
        assert_eq!(heap.allocate(u64::MAX), None);
        assert_eq!(heap.allocate(64), Some(0));
    }
    #[test]
    fn a_fragmented_heap_is_not_searched() {
        // A search through all holes for each block would look at 10^10 of them.
        let blocks = 200_000;
        let mut heap = Heap::new(blocks * 16 + blocks * 32);
        let small: Vec<_> = (0..blocks).filter_map(|_| heap.allocate(16)).collect();
        assert_eq!(small.len() as u64, blocks);
        for &offset in small.iter().step_by(2) {
            assert_eq!(heap.free(offset), Ok(()));
        }
        for block in 0..blocks {
            assert_eq!(heap.allocate(32), Some(blocks * 16 + block * 32));
        }
        assert_eq!(heap.allocate(32), None);
        assert_eq!(heap.allocate(16), Some(0), "the holes are still there");
    }
}
