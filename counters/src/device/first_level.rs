//! The first-level caches of the generations.

use crate::hierarchy::{L1Geometry, L1Loads, L1Stores, LocalStores, Replacement};

/// The caches of an SM before the L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstLevel {
    /// The first-level cache, if there is one.
    pub l1: Option<L1Geometry>,
    /// The cache for read-only loads and textures, if it is not the first-level cache.
    pub read_only: Option<L1Geometry>,
    /// Bytes that the first-level cache shares with shared memory. 0 if its size is fixed.
    pub unified_bytes: u64,
    /// Sizes that shared memory can have of them, ascending. The driver takes the least that holds
    /// what the resident CTAs need, and the cache has the rest.
    pub carve_outs: &'static [u64],
}

const KB: u64 = 1 << 10;

/// Lines of 128 bytes with sectors of 32. Neither ways nor policies are published. Jia et al.,
/// "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, report 4 ways for
/// Volta, which are kept for the caches before it.
const SECTORED: L1Geometry = L1Geometry {
    size_bytes: 24 * KB,
    line_bytes: 128,
    ways: 4,
    fill_bytes: 32,
    replacement: Replacement::Lru,
    keeps: L1Loads { global: true, read_only: true, local: true },
    stores: L1Stores::Evict,
    local_stores: LocalStores::WriteThrough,
};

/// Sizes of shared memory by the CUDA C++ Programming Guide, appendix of compute capabilities.
pub(super) const CARVE_OUTS_7_0: &[u64] = &[0, 8 * KB, 16 * KB, 32 * KB, 64 * KB, 96 * KB];
pub(super) const CARVE_OUTS_7_5: &[u64] = &[32 * KB, 64 * KB];
pub(super) const CARVE_OUTS_8_0: &[u64] =
    &[0, 8 * KB, 16 * KB, 32 * KB, 64 * KB, 100 * KB, 132 * KB, 164 * KB];
pub(super) const CARVE_OUTS_8_6: &[u64] = &[0, 8 * KB, 16 * KB, 32 * KB, 64 * KB, 100 * KB];
/// The guide has 0, 8 and 16 KB, too. But a CTA without shared memory has no 248 KB of cache on an
/// H100 or H200: read in turn, 216 KB all hit, 224 KB miss here and there, 256 KB miss throughout.
/// So the least carve-out is 32 KB.
pub(super) const CARVE_OUTS_9_0: &[u64] =
    &[32 * KB, 64 * KB, 100 * KB, 132 * KB, 164 * KB, 196 * KB, 228 * KB];

/// The smallest first-level cache that shared memory leaves.
const LEAST_OF_UNIFIED: u64 = 28 * KB;

impl FirstLevel {
    /// No caches: capability 1.x, or an L1 that is switched off.
    pub const NONE: Self = Self { l1: None, read_only: None, unified_bytes: 0, carve_outs: &[] };

    /// Fermi's, with the default split of 16 KB of L1 and 48 KB of shared memory.
    pub const FERMI: Self = Self {
        l1: Some(L1Geometry::FERMI),
        read_only: Some(L1Geometry::FERMI_TEXTURE),
        ..Self::NONE
    };

    /// Kepler's, with the same split; its L1 keeps local memory only.
    pub(super) const KEPLER: Self = Self {
        l1: Some(L1Geometry {
            keeps: L1Loads { global: false, read_only: false, local: true },
            ..L1Geometry::FERMI
        }),
        read_only: Some(L1Geometry {
            size_bytes: 48 * KB,
            keeps: L1Loads { global: false, read_only: true, local: false },
            stores: L1Stores::Update,
            ..SECTORED
        }),
        ..Self::NONE
    };

    /// Maxwell's unified cache, which keeps read-only data only.
    pub(super) const MAXWELL: Self = Self {
        l1: Some(L1Geometry {
            keeps: L1Loads { global: false, read_only: true, local: false },
            stores: L1Stores::Update,
            ..SECTORED
        }),
        ..Self::NONE
    };

    /// Pascal's unified cache, which keeps all loads.
    pub(super) const fn pascal(kilobytes: u64) -> Self {
        let l1 = L1Geometry { size_bytes: kilobytes * KB, stores: L1Stores::Update, ..SECTORED };
        Self { l1: Some(l1), ..Self::NONE }
    }

    /// A cache that shares its bytes with shared memory: capability 7.0 and later.
    ///
    /// Sixteen ways: on an H200 the CTAs of `leukocyte-dilate` on an SM read 1,095 lines again and
    /// again, of a cache of 1,792. 94.8 % of their sectors hit: 63.0 % by four ways, and 94.8 % by
    /// sixteen as by 64. Accel-Sim's Quadro GV100 has four sets of 256 ways (`dl1 S:4:128:64`,
    /// adaptive).
    pub(super) const fn unified(kilobytes: u64, carve_outs: &'static [u64]) -> Self {
        let size_bytes = kilobytes * KB;
        let l1 = L1Geometry { size_bytes, ways: 16, stores: L1Stores::Allocate, ..SECTORED };
        Self { l1: Some(l1), read_only: None, unified_bytes: size_bytes, carve_outs }
    }

    /// The same cache, of which any line may give way.
    ///
    /// Counters of a Turing GPU speak for it: KTT's Coulomb sum on an RTX 2080 Ti. It goes through
    /// up to 128 KB of local memory an SM again and again, beside a cache of 64 KB. Of its loads 55
    /// to 65 % hit; we count 17 %. Jia et al. 2018 are remembered to report it for Volta; their
    /// text was not at hand. On Hopper a chase through slightly more than the cache misses
    /// throughout, so that one keeps recency.
    pub(super) const fn evicting_any(mut self) -> Self {
        if let Some(mut l1) = self.l1 {
            l1.replacement = Replacement::Random { seed: 1 };
            self.l1 = Some(l1);
        }
        self
    }

    /// The caches when resident CTAs hold `shared_bytes` of shared memory on an SM.
    #[must_use]
    pub(crate) fn beside(self, shared_bytes: u64) -> Self {
        if self.unified_bytes == 0 {
            return self;
        }
        let taken = self.carve_out(shared_bytes);
        let size_bytes = self.unified_bytes.saturating_sub(taken).max(LEAST_OF_UNIFIED);
        Self { l1: self.l1.map(|l1| L1Geometry { size_bytes, ..l1 }), ..self }
    }

    /// Bytes that shared memory takes from the cache when resident CTAs hold `shared_bytes` of it.
    fn carve_out(self, shared_bytes: u64) -> u64 {
        let holds = |carve_out: &&u64| **carve_out >= shared_bytes;
        self.carve_outs.iter().find(holds).map_or(shared_bytes, |carve_out| *carve_out)
    }

    /// Bytes that an SM sets aside as shared memory; `None` where no cache shares them.
    pub(crate) fn set_aside(self, shared_bytes: u64) -> Option<u64> {
        (self.unified_bytes > 0).then(|| self.carve_out(shared_bytes))
    }
}
