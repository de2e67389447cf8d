//! What buffers hold, as hashes.
//!
//! A hash has 128 bits (XXH3). Two contents that a program meets have the same one by a chance
//! below 10⁻²⁰, however many launches it makes.

use std::collections::BTreeMap;

use gpucast_interpreter::DeviceMemory;
use rayon::prelude::*;
use twox_hash::XxHash3_128;

use crate::block::{BlockKind, BlockRange};

/// Bytes that one thread hashes at a time.
const PART: usize = 1 << 20;

/// Hashes of the buffers that have not changed since.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// By address. Buffers that the host may write without a call have none.
    settled: BTreeMap<u64, u128>,
}

/// What all buffers held at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Address, size in bytes, and hash of each buffer.
    pub(crate) buffers: Vec<(u64, u64, u128)>,
    /// The hash of all that.
    pub(crate) all: u128,
}

impl Contents {
    /// The buffer at this address has changed, appeared or gone.
    pub(crate) fn changed(&mut self, address: u64) {
        self.settled.remove(&address);
    }

    /// Any buffer may have changed.
    pub(crate) fn all_changed(&mut self) {
        self.settled.clear();
    }

    /// The buffer at this address holds what has this hash, and did when the snapshot was taken
    /// that the caller knows.
    pub(crate) fn set(&mut self, address: u64, hash: u128, blocks: &BTreeMap<u64, BlockRange>) {
        if is_settled(address, blocks) {
            self.settled.insert(address, hash);
        }
    }

    /// Hashes what has changed.
    pub(crate) fn snapshot(
        &mut self,
        memory: &DeviceMemory,
        blocks: &BTreeMap<u64, BlockRange>,
    ) -> Snapshot {
        let mut buffers = Vec::new();
        let mut text = Vec::new();
        for (_, address, bytes) in memory.buffers() {
            let hash = self.settled.get(&address).copied().unwrap_or_else(|| {
                let hash = memory.slice(address, bytes).map_or(0, hash);
                self.set(address, hash, blocks);
                hash
            });
            buffers.push((address, bytes, hash));
            text.extend(address.to_le_bytes());
            text.extend(bytes.to_le_bytes());
            text.extend(hash.to_le_bytes());
        }
        Snapshot { buffers, all: XxHash3_128::oneshot(&text) }
    }
}

/// Only calls and launches change memory of the device. Managed and host memory changes under the
/// host's hands, and variables may be managed.
fn is_settled(address: u64, blocks: &BTreeMap<u64, BlockRange>) -> bool {
    let kind = blocks.get(&address).map(|block| block.kind);
    matches!(kind, Some(BlockKind::Device | BlockKind::Array | BlockKind::Mipmap))
}

fn hash(bytes: &[u8]) -> u128 {
    if bytes.len() <= PART {
        return XxHash3_128::oneshot(bytes);
    }
    let parts: Vec<[u8; 16]> =
        bytes.par_chunks(PART).map(|part| XxHash3_128::oneshot(part).to_le_bytes()).collect();
    XxHash3_128::oneshot(parts.as_flattened())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(address: u64, bytes: u64, kind: BlockKind) -> (u64, BlockRange) {
        (address, BlockRange { address, bytes, kind })
    }

    #[test]
    fn every_byte_of_every_buffer_matters() {
        let mut memory = DeviceMemory::new();
        let bytes = 3 * PART as u64 + 5;
        let large = memory.allocate("large", bytes).unwrap();
        let small = memory.allocate("small", 7).unwrap();
        let blocks = BTreeMap::from([
            block(large, bytes, BlockKind::Device),
            block(small, 7, BlockKind::Managed),
        ]);
        let mut contents = Contents::default();
        let before = contents.snapshot(&memory, &blocks);
        assert_eq!(contents.snapshot(&memory, &blocks), before);
        for at in [0, PART as u64, bytes - 1] {
            memory.slice_mut(large + at, 1).unwrap()[0] = 1;
            contents.changed(large);
            assert_ne!(contents.snapshot(&memory, &blocks), before);
            memory.slice_mut(large + at, 1).unwrap()[0] = 0;
            contents.all_changed();
            assert_eq!(contents.snapshot(&memory, &blocks), before);
        }
        // Nobody tells of writes of the host.
        memory.slice_mut(small + 6, 1).unwrap()[0] = 1;
        assert_ne!(contents.snapshot(&memory, &blocks), before);
    }

    #[test]
    fn addresses_and_sizes_matter() {
        let of_sizes = |sizes: &[u64]| {
            let mut memory = DeviceMemory::new();
            for (at, &bytes) in sizes.iter().enumerate() {
                memory.allocate(&at.to_string(), bytes).unwrap();
            }
            Contents::default().snapshot(&memory, &BTreeMap::new()).all
        };
        assert_ne!(of_sizes(&[8]), of_sizes(&[16]));
        assert_ne!(of_sizes(&[8]), of_sizes(&[8, 8]));
        assert_eq!(of_sizes(&[8, 8]), of_sizes(&[8, 8]));
    }
}
