//! The passes that a shared-memory access needs because of its banks.
//!
//! Shared memory is interleaved over banks, and a bank delivers one row of its memory per pass.
//! Lanes that touch the same row of a bank share it. Lanes that touch different rows of one bank
//! wait for each other. The generations differ in the figures of a [`BankGeometry`] (CUDA C
//! Programming Guide, 4.2, appendix F; 11.7, appendix K):
//!
//! | capability | banks | a bank delivers | neighbouring banks hold | lanes | section |
//! |---|---|---|---|---|---|
//! | 1.x | 16 | 4 bytes | 4-byte words | a half-warp | 4.2, F.3.3 |
//! | 2.x | 32 | 4 bytes | 4-byte words | a warp | 4.2, F.4.3 |
//! | 3.x, 4-byte mode | 32 | 8 bytes: words *i*, *i* + 32 | 4-byte words | a warp | 4.2, F.5.3.2 |
//! | 3.x, 8-byte mode | 32 | 8 bytes | 8-byte words | a warp | 4.2, F.5.3.1 |
//! | 5.0 on | 32 | 4 bytes | 4-byte words | a warp; see [`Serving::InPairedPhases`] | 11.7, K.4 |
//!
//! Neighbouring banks hold neighbouring words. The column *lanes* has those served together.
//! The profiler counts passes: `shared_load_transactions` and `shared_store_transactions`.
//!
//! Atomics and reductions on one word are serialised (guide 4.2, section 4.1: each
//! read-modify-write occurs, one after the other), so their lanes share nothing. The cost of locks
//! before capability 5.0 is not modelled.
//!
//! Simplification: capability 2.x usually takes one pass less for 128-bit accesses without
//! conflicts, which is not modelled.

mod map;
mod passes;
mod usual;

use gpucast_interpreter::{Access, AccessKind, Pattern};

use crate::patterns::lane_addresses;

pub use map::{BankCell, BankMap};

/// The most bytes that one lane loads into its registers; more are bulk copies or matrices.
const MOST_LANE_BYTES: u32 = 16;

/// The rule by which lanes that are served together share the banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Serving {
    /// Capability 2.0 on: every row of a bank that several lanes load is handed to all of them.
    /// Fewer lanes go together if they access more than a bank delivers: half-warps for 64-bit and
    /// quarter-warps for 128-bit accesses.
    InPhases,
    /// Capability 5.0 on: as [`Serving::InPhases`], but twice as many lanes of a wide load go
    /// together if all of them come in pairs with one address: each lane and its neighbour, or each
    /// and the next but one. The registers of a pair then return together. NVIDIA says so of
    /// capabilities 7.0 to 7.5 (forums.developer.nvidia.com, topic 77228). The author of maxas saw
    /// 128-bit loads of such lanes take two passes on capability 5.2
    /// (github.com/NervanaSystems/maxas, issue 8).
    InPairedPhases,
    /// Capability 1.x: wide accesses are done word by word (guide 4.2, F.3.3.4). In each pass *one*
    /// word is handed to all lanes that load it; of the other words, each bank serves one lane
    /// (F.3.3.2). The guide does not specify the word and the lanes. Here it is the word that most
    /// lanes wait for, and otherwise the lowest lane.
    WordByWord,
}

/// The banks of an SM's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BankGeometry {
    banks: u32,
    /// Bytes that a bank delivers in a pass; a power of two.
    bank_bytes: u32,
    /// Consecutive bytes in one bank before the next bank begins; a power of two.
    interleave_bytes: u32,
    /// Lanes that are served together if none needs more than a bank delivers; a power of two.
    lanes: u32,
    serving: Serving,
}

/// The bank passes of one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankPasses {
    /// Passes over the banks.
    pub passes: u32,
    /// Passes if no two lanes that are served together conflicted.
    pub conflict_free: u32,
}

impl BankPasses {
    const ONE: Self = Self { passes: 1, conflict_free: 1 };

    /// The passes of a full warp of pairs whose phases have no conflicts.
    fn in_pairs(self) -> Self {
        let halved = |passes: u32| passes.div_ceil(2);
        Self { passes: halved(self.passes), conflict_free: halved(self.conflict_free) }
    }
}

impl BankGeometry {
    /// 16 banks of 4 bytes for half-warps: compute capability 1.x.
    pub const CAPABILITY_1: Self = Self {
        banks: 16,
        bank_bytes: 4,
        interleave_bytes: 4,
        lanes: 16,
        serving: Serving::WordByWord,
    };

    /// 32 banks of 4 bytes: compute capability 2.x.
    pub const CAPABILITY_2: Self = Self {
        banks: 32,
        bank_bytes: 4,
        interleave_bytes: 4,
        lanes: 32,
        serving: Serving::InPhases,
    };

    /// 32 banks that deliver 8 bytes, in the 4-byte mode, which is the default of compute
    /// capability 3.x.
    pub const CAPABILITY_3: Self = Self { bank_bytes: 8, ..Self::CAPABILITY_2 };

    /// The same in the 8-byte mode (`cudaSharedMemBankSizeEightByte`).
    pub const CAPABILITY_3_WIDE: Self = Self { interleave_bytes: 8, ..Self::CAPABILITY_3 };

    /// 32 banks of 4 bytes whose wide loads are served in pairs of lanes: compute capability 5.0
    /// on.
    pub const CAPABILITY_5: Self = Self { serving: Serving::InPairedPhases, ..Self::CAPABILITY_2 };

    /// The most banks that are modelled.
    pub const MOST_BANKS: u32 = 128;

    /// `banks` banks, any number from 1 to [`BankGeometry::MOST_BANKS`]; `None` if it is none of
    /// them.
    #[must_use]
    pub fn with_banks(self, banks: u32) -> Option<Self> {
        (1..=Self::MOST_BANKS).contains(&banks).then_some(Self { banks, ..self })
    }

    /// Banks that deliver `bank_bytes`, of which `interleave_bytes` are consecutive: 4 or 8 each,
    /// and the second not more than the first; `None` otherwise.
    #[must_use]
    pub fn with_widths(self, bank_bytes: u32, interleave_bytes: u32) -> Option<Self> {
        let valid = matches!((bank_bytes, interleave_bytes), (4, 4) | (8, 4 | 8));
        valid.then_some(Self { bank_bytes, interleave_bytes, ..self })
    }

    /// `lanes` lanes that are served together: 8, 16 or 32; `None` otherwise.
    #[must_use]
    pub fn with_lanes(self, lanes: u32) -> Option<Self> {
        matches!(lanes, 8 | 16 | 32).then_some(Self { lanes, ..self })
    }

    /// Another way of serving lanes.
    #[must_use]
    pub fn with_serving(self, serving: Serving) -> Self {
        Self { serving, ..self }
    }

    /// The number of banks.
    #[must_use]
    pub fn banks(self) -> u32 {
        self.banks
    }

    /// Bytes that a bank delivers in one pass.
    #[must_use]
    pub fn bank_bytes(self) -> u32 {
        self.bank_bytes
    }

    /// Consecutive bytes in one bank before the next bank begins.
    #[must_use]
    pub fn interleave_bytes(self) -> u32 {
        self.interleave_bytes
    }

    /// Lanes that are served together if none needs more than a bank delivers.
    #[must_use]
    pub fn lanes(self) -> u32 {
        self.lanes
    }

    /// The rule by which lanes share the banks.
    #[must_use]
    pub fn serving(self) -> Serving {
        self.serving
    }
}

/// Counts the passes of accesses over banks.
#[derive(Clone, Copy, Debug)]
pub struct Banks {
    geometry: BankGeometry,
    /// True if the geometry is [`BankGeometry::CAPABILITY_2`] or [`BankGeometry::CAPABILITY_5`],
    /// as on most GPUs. It needs no divisions.
    usual: bool,
    /// True if lanes with one address go together.
    pairs: bool,
}

impl Banks {
    /// Banks of a geometry.
    #[must_use]
    pub fn new(geometry: BankGeometry) -> Self {
        let pairs = geometry.serving == Serving::InPairedPhases;
        let usual = geometry.with_serving(Serving::InPhases) == BankGeometry::CAPABILITY_2;
        Self { geometry, usual: usual && geometry.serving != Serving::WordByWord, pairs }
    }

    /// Bytes by which all addresses may move without a change of passes: what all banks deliver.
    /// Each row of a bank then becomes the next one. `None` if it is no power of two.
    #[must_use]
    #[inline]
    pub(crate) fn period(&self) -> Option<u64> {
        let bytes = self.geometry.pass_bytes();
        bytes.is_power_of_two().then_some(u64::from(bytes))
    }

    /// Passes of a warp access.
    #[must_use]
    #[inline]
    pub fn passes(&self, access: &Access<'_>) -> BankPasses {
        if self.usual && access.pattern != Pattern::General && !updates(access.kind) {
            let passes = usual_without_conflicts(access.bytes_per_lane);
            let is_paired = self.pairs && access.pattern == Pattern::Uniform;
            let is_piece = access.bytes_per_lane <= MOST_LANE_BYTES && loads(access.kind);
            return if is_paired && is_piece { passes.in_pairs() } else { passes };
        }
        self.general(access)
    }

    #[inline(never)]
    fn general(&self, access: &Access<'_>) -> BankPasses {
        let (mask, bytes) = (access.mask, access.bytes_per_lane);
        if updates(access.kind) {
            return self.geometry.updates(access);
        }
        let loads = loads(access.kind);
        if self.usual && mask.is_power_of_two() && is_usual_piece(access) {
            return BankPasses::ONE;
        }
        if self.usual
            && let Some(passes) = usual::passes(mask, access.addresses, bytes, self.pairs && loads)
        {
            return passes;
        }
        self.geometry.gather(mask, lane_addresses(access, &mut [0; 32]), bytes, loads)
    }
}

/// Returns true if the one lane of an access wants an aligned piece of at most 16 bytes, which no
/// bank delivers in two passes.
fn is_usual_piece(access: &Access<'_>) -> bool {
    let bytes = u64::from(access.bytes_per_lane);
    let address = access.addresses[access.mask.trailing_zeros() as usize & 31];
    bytes <= 16 && bytes.is_power_of_two() && address & (bytes - 1) == 0
}

fn loads(kind: AccessKind) -> bool {
    kind != AccessKind::Store
}

/// Returns true if the lanes of `mask` come in pairs with one address: either each lane *n* and
/// lane *n* xor 1, or each lane *n* and lane *n* xor 2. A lane whose partner takes no part counts
/// as paired.
pub(crate) fn come_in_pairs(mask: u32, addresses: &[u64; 32]) -> bool {
    [1, 2].into_iter().any(|distance| {
        (0..32_usize).all(|lane| {
            let other = lane ^ distance;
            let both = mask >> lane & mask >> other & 1 == 1;
            !both || addresses[lane] == addresses[other]
        })
    })
}

fn updates(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Atomic | AccessKind::Reduction)
}

/// A full warp on the usual banks whose lanes touch the same address or consecutive ones: no phase
/// has a conflict.
#[inline]
fn usual_without_conflicts(bytes_per_lane: u32) -> BankPasses {
    if bytes_per_lane <= 4 {
        return BankPasses::ONE;
    }
    let passes = bytes_per_lane / 4;
    BankPasses { passes, conflict_free: passes }
}

#[cfg(test)]
mod tests;
