//! The first-level caches of a compute capability.

use super::Capability;
use crate::hierarchy::{L1Geometry, L1Loads, L1Stores, Replacement};

/// The caches of an SM before the L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstLevel {
    /// The first-level cache, if there is one.
    pub l1: Option<L1Geometry>,
    /// The cache for read-only loads and textures, where it is not the first-level cache.
    pub read_only: Option<L1Geometry>,
    /// Bytes that the first-level cache shares with shared memory: it has what the resident CTAs
    /// leave of them. 0 where its size is fixed.
    pub unified_bytes: u64,
}

const KB: u64 = 1 << 10;

/// Lines of 128 bytes with sectors of 32. Neither ways nor policies are published; 4 ways are
/// what Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018,
/// report of Volta.
const SECTORED: L1Geometry = L1Geometry {
    size_bytes: 24 * KB,
    line_bytes: 128,
    ways: 4,
    fill_bytes: 32,
    replacement: Replacement::Lru,
    keeps: L1Loads { global: true, read_only: true, local: true },
    stores: L1Stores::Update,
};

/// The smallest first-level cache that shared memory leaves.
const LEAST_OF_UNIFIED: u64 = 28 * KB;

impl FirstLevel {
    /// Fermi's, with the default split of 16 KB of L1 and 48 KB of shared memory.
    pub const FERMI: Self = Self {
        l1: Some(L1Geometry::FERMI),
        read_only: Some(L1Geometry::FERMI_TEXTURE),
        unified_bytes: 0,
    };

    /// What the compilers' default is on a capability: CUDA C++ Programming Guide 11.7, appendix K
    /// (3.x to 8.x) and 13, tables 30 to 32 (later ones). Kepler's L1 keeps local memory only, and
    /// Maxwell's unified cache read-only data only.
    #[must_use]
    pub fn of(capability: Capability) -> Self {
        let local_only = L1Loads { global: false, read_only: false, local: true };
        let read_only = L1Loads { global: false, read_only: true, local: false };
        let fixed = |size_bytes, keeps| Self {
            l1: Some(L1Geometry { size_bytes, keeps, ..SECTORED }),
            ..Self::default()
        };
        let unified = |kilobytes| Self {
            l1: Some(L1Geometry {
                size_bytes: kilobytes * KB,
                stores: L1Stores::Allocate,
                ..SECTORED
            }),
            read_only: None,
            unified_bytes: kilobytes * KB,
        };
        match (capability.major, capability.minor) {
            (1, _) => Self::default(),
            (2, _) => Self::FERMI,
            (3, _) => Self {
                l1: Some(L1Geometry { keeps: local_only, ..L1Geometry::FERMI }),
                read_only: Some(L1Geometry { size_bytes: 48 * KB, keeps: read_only, ..SECTORED }),
                unified_bytes: 0,
            },
            (5, _) => fixed(24 * KB, read_only),
            (6, 0) => fixed(24 * KB, SECTORED.keeps),
            (6, _) => fixed(48 * KB, SECTORED.keeps),
            (7, 5) => unified(96),
            (8, 0 | 7) => unified(192),
            (9..=11, _) => unified(256),
            // 7.0, 7.2, 8.6, 8.9, 12.x
            _ => unified(128),
        }
    }

    /// The caches when resident CTAs hold `shared_bytes` of shared memory on an SM.
    #[must_use]
    pub(super) fn beside(self, shared_bytes: u64) -> Self {
        if self.unified_bytes == 0 {
            return self;
        }
        let size_bytes = self.unified_bytes.saturating_sub(shared_bytes).max(LEAST_OF_UNIFIED);
        Self { l1: self.l1.map(|l1| L1Geometry { size_bytes, ..l1 }), ..self }
    }
}
