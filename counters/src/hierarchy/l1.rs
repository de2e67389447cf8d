//! The first-level caches of an SM: which requests they keep from the L2.
//!
//! The accesses that a first-level cache holds changed with every generation:
//!
//! | generation | global loads | read-only loads | local loads | local stores | global stores |
//! |---|---|---|---|---|---|
//! | Fermi (2.x) | L1, lines | texture cache | L1 | written back | evict |
//! | Kepler (3.x) | no | texture cache | L1 | written back | evict |
//! | Maxwell (5.x) | no | unified L1 | no | written through | update |
//! | Pascal (6.x) | unified L1, sectors | unified L1 | unified L1 | written through | update |
//! | Volta on (7.0) | L1, sectors | L1 | L1 | written through | allocate |
//!
//! A global store updates, allocates or evicts its line. Fermi loads whole lines of 128 bytes;
//! sectors have 32 bytes. Sources:
//!
//! - Fermi: CUDA C Programming Guide 4.2, F.4.2;
//! - Kepler to Volta: CUDA C++ Programming Guide 11.7, K.3 to K.7 and section 5.3.2.2. The latter
//!   caches local memory in L1 and L2 on 3.x, and from 5.x on "in the same way as global memory";
//! - sectors: Nsight Compute's Kernel Profiling Guide, "Memory Tables".
//!
//! Stores to local memory are written through on capability 7.5. In 45 Coulomb kernels on an RTX
//! 2080 Ti, the sectors written to the L2 are those of global and local stores together, to 0.003 %
//! (Nsight Compute's counts of the KTT autotuner). The guides do not tell the effect of a store to
//! global memory on a line that is there. GPGPU-Sim assumes eviction on Fermi and Kepler, and that
//! they write local memory back; so do we.

use super::known_places::KnownPlaces;
use super::lines::Lines;
use super::placement::Placement;
use super::replacement::Replacement;
use super::request::L2Operation;
use super::sectored::{LineShape, count};

/// Size and habits of a first-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L1Geometry {
    /// Data capacity of one SM's cache.
    pub size_bytes: u64,
    /// Bytes of one line: 32, 64, 128 or 256.
    pub line_bytes: u64,
    /// Lines of one set.
    pub ways: u32,
    /// Bytes that a miss brings in: a sector, or the whole line if the cache has no sectors.
    pub fill_bytes: u64,
    /// The policy that chooses the line of a set to evict.
    pub replacement: Replacement,
    /// The loads that are kept.
    pub keeps: L1Loads,
    /// The effect of a store to global memory.
    pub stores: L1Stores,
    /// The destination of a store to local memory.
    pub local_stores: LocalStores,
}

/// The loads that a first-level cache keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L1Loads {
    /// Loads of global memory.
    pub global: bool,
    /// Loads of data that the kernel promises not to write, and textures.
    pub read_only: bool,
    /// Loads of local memory.
    pub local: bool,
}

/// The destination of a store to local memory, if the cache keeps local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalStores {
    /// It stays in the cache until its line is evicted.
    WriteBack,
    /// It reaches the L2 at once, as a store to global memory does.
    WriteThrough,
}

/// The effect of a store to global memory on its line; the store reaches the L2 in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L1Stores {
    /// The line is dropped.
    Evict,
    /// Data that is in the line is updated.
    Update,
    /// The line is allocated, and the sectors that are written as a whole are there afterwards.
    Allocate,
}

impl L1Geometry {
    /// Fermi's, with the 48 KB of shared memory that is the default: 16 KB, lines of 128 bytes
    /// without sectors. Sizes: CUDA C Programming Guide 4.2, F.4.1. 4 ways: GPGPU-Sim's GTX 480.
    pub const FERMI: Self = Self {
        size_bytes: 16 << 10,
        line_bytes: 128,
        ways: 4,
        fill_bytes: 128,
        replacement: Replacement::Lru,
        keeps: L1Loads { global: true, read_only: false, local: true },
        stores: L1Stores::Evict,
        local_stores: LocalStores::WriteBack,
    };

    /// Fermi's texture cache: 12 KB (Wong et al., "Demystifying GPU Microarchitecture", ISPASS
    /// 2010, find sizes of this order on the generation before), sectors of 32 bytes, 24 ways
    /// (GPGPU-Sim's GTX 480).
    pub const FERMI_TEXTURE: Self = Self {
        size_bytes: 12 << 10,
        line_bytes: 128,
        ways: 24,
        fill_bytes: 32,
        replacement: Replacement::Lru,
        keeps: L1Loads { global: false, read_only: true, local: false },
        stores: L1Stores::Update,
        local_stores: LocalStores::WriteThrough,
    };
}

/// A request of a first-level cache to the L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum L1Miss {
    /// Sectors to read.
    Fill,
    /// Sectors of local memory to write.
    WriteBack,
}

/// The first-level cache of one SM with its contents.
#[derive(Clone, Debug)]
pub(crate) struct L1 {
    geometry: L1Geometry,
    shape: LineShape,
    placement: Placement,
    cache: Lines,
    /// Where lines were found before, if that is faster than looking for them.
    known: Option<KnownPlaces>,
    /// The last line that was loaded, with sectors that are there, if nothing was stored since.
    last: (u64, u8),
    /// True until it takes in a line: stores and atomics need not look for theirs.
    is_empty: bool,
}

/// Ways of a set that are looked through fast.
const FEW_WAYS: usize = 16;

/// No line, and no sectors.
const NO_LINE: (u64, u8) = (u64::MAX, 0);

impl L1 {
    /// An empty cache, for requests in sectors of `sector_bytes`. It `is_large` if the CPU has to
    /// fetch lines of all SMs from memory that all cores share. Then it remembers no places, which
    /// would have to be fetched, too.
    pub(crate) fn new(geometry: L1Geometry, sector_bytes: u64, is_large: bool) -> Self {
        let shape = LineShape::new(sector_bytes, geometry.line_bytes, geometry.fill_bytes);
        let ways = geometry.ways.max(1) as usize;
        let sets = (geometry.size_bytes / shape.line_bytes() / ways as u64).max(1) as usize;
        Self {
            geometry,
            shape,
            placement: Placement::new(1, sets),
            // A request that meets its line on the way is a hit: nothing is asked for twice.
            cache: Lines::new(sets, ways, geometry.replacement),
            known: (!is_large || ways > FEW_WAYS).then(|| KnownPlaces::new(sets * ways)),
            last: NO_LINE,
            is_empty: true,
        }
    }

    /// The operation that its misses request from the L2.
    pub(crate) fn fill_operation(&self) -> L2Operation {
        if self.shape.fills_lines() { L2Operation::ReadLine } else { L2Operation::Read }
    }

    pub(crate) fn keeps(&self) -> L1Loads {
        self.geometry.keeps
    }

    pub(crate) fn local_stores(&self) -> LocalStores {
        self.geometry.local_stores
    }

    /// Asks for the data that a load will need.
    #[inline]
    pub(crate) fn prefetch(&self, line: u64) {
        if self.shape.is_of_requests() {
            self.cache.prefetch(self.placement.set(line));
        }
    }

    /// A load; `ask` gets lines and sectors that the L2 must serve. Returns the sectors that were
    /// there.
    #[inline]
    pub(crate) fn load(
        &mut self,
        line: u64,
        sectors: u8,
        mut ask: impl FnMut(L1Miss, u64, u8),
    ) -> u64 {
        if self.shape.is_of_requests() {
            // Warps of a CTA often load the same line one after the other. It is the one that was
            // used last, and stays it.
            if line == self.last.0 && sectors & !self.last.1 == 0 {
                return count(sectors.into());
            }
            self.last = (line, sectors);
            if let Some(known) = &self.known
                && let Some(place) = known.of(line)
                && self.cache.reuse_at(place, line, sectors.into())
            {
                return count(sectors.into());
            }
            return self.load_line(line, sectors.into(), &mut ask);
        }
        let mut hit_sectors = 0;
        self.shape.cut(line, sectors, 0, |tag, sectors, _| {
            hit_sectors += self.load_line(tag, sectors, &mut ask);
        });
        hit_sectors
    }

    /// A load of sectors of a line of this cache.
    #[inline]
    fn load_line(&mut self, tag: u64, sectors: u16, mut ask: impl FnMut(L1Miss, u64, u8)) -> u64 {
        let Self { shape, placement, cache, known, is_empty, .. } = self;
        *is_empty = false;
        let (place, evicted) = cache.find_or_admit(placement.set(tag), tag, sectors);
        if let Some(known) = known {
            known.set(tag, place);
        }
        let state = cache.at(place);
        let absent = sectors & !state.valid();
        let hit_sectors = count(sectors & state.valid());
        if absent != 0 {
            let filled = shape.filled(absent) & !state.valid();
            state.add_valid(filled);
            shape.uncut(tag, filled, |line, sectors| ask(L1Miss::Fill, line, sectors));
        }
        shape.uncut(evicted.tag, evicted.dirty, |line, sectors| {
            ask(L1Miss::WriteBack, line, sectors);
        });
        hit_sectors
    }

    /// A store that goes on to the L2. Returns the sectors that were there.
    #[inline]
    pub(crate) fn store(
        &mut self,
        line: u64,
        sectors: u8,
        full: u8,
        mut write_back: impl FnMut(u64, u8),
    ) -> u64 {
        if self.is_empty && self.geometry.stores != L1Stores::Allocate {
            return 0;
        }
        self.last = NO_LINE;
        self.is_empty = false;
        let Self { geometry, shape, placement, cache, .. } = self;
        let shape = *shape;
        let mut hit_sectors = 0;
        shape.cut(line, sectors, full, |tag, sectors, full| {
            let set = placement.set(tag);
            match geometry.stores {
                L1Stores::Evict => {
                    cache.evict(set, tag);
                }
                L1Stores::Update => {
                    if let Some(state) = cache.find(set, tag, sectors) {
                        hit_sectors += count(sectors & state.valid());
                        state.add_valid(full);
                    }
                }
                L1Stores::Allocate => {
                    let (place, evicted) = cache.find_or_admit(set, tag, sectors);
                    let state = cache.at(place);
                    hit_sectors += count(sectors & state.valid());
                    state.add_valid(full);
                    shape.uncut(evicted.tag, evicted.dirty, &mut write_back);
                }
            }
        });
        hit_sectors
    }

    /// A store to local memory, which stays here until its line gives way.
    pub(crate) fn store_local(
        &mut self,
        line: u64,
        sectors: u8,
        full: u8,
        mut write_back: impl FnMut(u64, u8),
    ) {
        self.last = NO_LINE;
        self.is_empty = false;
        let Self { shape, placement, cache, .. } = self;
        let shape = *shape;
        shape.cut(line, sectors, full, |tag, sectors, full| {
            let set = placement.set(tag);
            let (place, evicted) = cache.find_or_admit(set, tag, sectors);
            let state = cache.at(place);
            state.add_valid(full);
            state.add_dirty(sectors);
            shape.uncut(evicted.tag, evicted.dirty, &mut write_back);
        });
    }

    /// An atomic or a reduction, which is done at the L2: the line is dropped.
    pub(crate) fn update(&mut self, line: u64, sectors: u8) {
        if self.is_empty {
            return;
        }
        self.last = NO_LINE;
        let Self { shape, placement, cache, .. } = self;
        shape.cut(line, sectors, 0, |tag, _, _| {
            let set = placement.set(tag);
            cache.evict(set, tag);
        });
    }

    /// Writes back dirty lines.
    pub(crate) fn clean(&mut self, mut write_back: impl FnMut(u64, u8)) {
        let shape = self.shape;
        self.cache.clean(|evicted| {
            shape.uncut(evicted.tag, evicted.dirty, &mut write_back);
            true
        });
    }
}
