//! Reads of shared memory by products of matrices, found once for each descriptor.
//!
//! A loop over tiles comes back to few descriptors: one for each stage of its pipeline and each
//! step within a tile. The rows that a product reads follow from the descriptors alone, and so
//! does whether they lie within shared memory. To find them takes a thousand times as long as to
//! look them up.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use gpucast_ptx_frontend::types::StateSpace;

use super::remembered::next_number;
use crate::exec::lanes::FULL_MASK;
use crate::observer::{Access, AccessKind, Pattern, Recorder};

/// Products that are remembered of one CTA, at most.
const MOST: usize = 512;

/// Everything on which the reads of one product depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::exec) struct ReadsKey {
    /// Index into [`Program::instructions`](crate::program::Program::instructions).
    pub(in crate::exec) instruction: u32,
    /// The part of the product that the warp computes.
    pub(in crate::exec) part: u32,
    /// Where shared memory begins, that of the first CTA of a pair.
    pub(in crate::exec) window: u64,
    /// The descriptors of the product and of its factors as registers hold them.
    pub(in crate::exec) product: u32,
    pub(in crate::exec) a: Option<u64>,
    pub(in crate::exec) b: u64,
}

/// An access to 16-byte rows by a warp's first lanes.
#[derive(Clone, Debug)]
pub(in crate::exec) struct KnownRead {
    lanes: u32,
    addresses: [u64; 32],
    /// [`Access::distances`](crate::observer::Access::distances).
    distances: Option<NonZeroU64>,
}

impl KnownRead {
    /// The accesses to rows at these addresses, a lane for each row.
    pub(in crate::exec) fn of_rows(rows: &[u64]) -> impl Iterator<Item = Self> {
        rows.chunks(32).map(|rows| {
            let mut addresses = [0; 32];
            addresses[..rows.len()].copy_from_slice(rows);
            Self { lanes: rows.len() as u32, addresses, distances: None }
        })
    }
}

/// Tells the recorder of what an instruction reads of shared memory.
pub(in crate::exec) fn tell_reads(
    recorder: &mut dyn Recorder,
    reads: &[KnownRead],
    instruction: u32,
    warp: u32,
    time: u64,
) {
    for (at, read) in reads.iter().enumerate() {
        recorder.access(&Access {
            instruction,
            warp,
            time,
            space: StateSpace::Shared,
            kind: AccessKind::Load,
            bytes_per_lane: 16,
            mask: FULL_MASK >> (32 - read.lanes),
            pattern: Pattern::General,
            addresses: &read.addresses,
            continues: at != 0,
            distances: read.distances,
        });
    }
}

/// The reads of products that one CTA has come to.
#[derive(Debug, Default)]
pub(in crate::exec) struct KnownReads {
    products: HashMap<ReadsKey, Arc<[KnownRead]>>,
    /// The numbers of distances from the first lane, by instruction.
    numbers: HashMap<(u32, [u64; 32]), NonZeroU64>,
}

impl KnownReads {
    /// The reads of a product. Rows that are not known are found, by their addresses.
    pub(in crate::exec) fn of<E>(
        &mut self,
        key: &ReadsKey,
        find: impl FnOnce() -> Result<Vec<u64>, E>,
    ) -> Result<Arc<[KnownRead]>, E> {
        if let Some(reads) = self.products.get(key) {
            return Ok(Arc::clone(reads));
        }
        let rows = find()?;
        if self.products.len() >= MOST {
            self.products.clear();
            self.numbers.clear();
        }
        let reads = KnownRead::of_rows(&rows).map(|read| {
            let distances = self.number(key.instruction, read.lanes, &read.addresses);
            KnownRead { distances, ..read }
        });
        let reads: Arc<[KnownRead]> = reads.collect();
        self.products.insert(*key, Arc::clone(&reads));
        Ok(reads)
    }

    /// The number of the distances of a full warp's addresses.
    fn number(
        &mut self,
        instruction: u32,
        lanes: u32,
        addresses: &[u64; 32],
    ) -> Option<NonZeroU64> {
        if lanes != 32 {
            return None;
        }
        let distances = addresses.map(|address| address.wrapping_sub(addresses[0]));
        if let Some(number) = self.numbers.get(&(instruction, distances)) {
            return Some(*number);
        }
        let number = next_number()?;
        self.numbers.insert((instruction, distances), number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(b: u64) -> ReadsKey {
        ReadsKey { instruction: 3, part: 0, window: 0, product: 0, a: None, b }
    }

    /// 32 rows, and perhaps some more.
    fn rows(first: u64, step: u64, more: u64) -> Vec<u64> {
        (0..32 + more).map(|row| first + step * row).collect()
    }

    fn numbers(known: &mut KnownReads, b: u64, rows: Vec<u64>) -> Vec<Option<u64>> {
        let reads = known.of(&key(b), || Ok::<_, ()>(rows)).unwrap();
        reads.iter().map(|read| read.distances.map(NonZeroU64::get)).collect()
    }

    #[test]
    fn reads_are_found_once_and_failures_every_time() {
        let mut known = KnownReads::default();
        assert_eq!(known.of(&key(1), || Err("outside")).unwrap_err(), "outside");
        let first = known.of(&key(1), || Ok::<_, &str>(rows(64, 16, 8))).unwrap();
        let again = known.of(&key(1), || Err("not asked")).unwrap();
        assert_eq!(first[0].addresses, again[0].addresses);
        assert_eq!(again[0].addresses[31], 64 + 31 * 16);
        assert_eq!((again[1].lanes, again[1].addresses[7]), (8, 64 + 39 * 16));
    }

    #[test]
    fn equal_distances_have_one_number_wherever_they_begin() {
        let mut known = KnownReads::default();
        let here = numbers(&mut known, 1, [rows(0, 16, 0), rows(512, 32, 8)].concat());
        let there = numbers(&mut known, 2, [rows(1024, 16, 0), rows(0, 32, 8)].concat());
        assert_eq!(here, there);
        assert!(here[0].is_some() && here[0] != here[1] && here[2].is_none());
    }

    #[test]
    fn what_is_known_stays_small() {
        let mut known = KnownReads::default();
        for b in 0..10 * MOST as u64 {
            numbers(&mut known, b, rows(16 * b, b, 0));
            assert!(known.products.len() <= MOST && known.numbers.len() <= MOST);
        }
    }
}
