//! Turns one warp access to device memory into memory transactions.
//!
//! Each generation has its own way, published in the CUDA C Programming Guide:
//!
//! | capability | unit | rule | guide 4.2 |
//! |---|---|---|---|
//! | 1.0, 1.1 | half-warp | words in order and aligned, or one transaction per lane | F.3.2.1 |
//! | 1.2, 1.3 | half-warp | segments of 128 bytes that shrink to 64 and 32 | F.3.2.2 |
//! | 2.0 on | warp | lines of 128 bytes with a mask of sectors | F.4.2 |
//!
//! On capability 1.x whole transactions move. From 2.0 on sectors move, and transaction is a word
//! of the profiler whose meaning changed with the generation: [`TransactionRule`].

mod half_warp;
mod sectors;
mod transactions;

use gpucast_interpreter::{Access, AccessKind, Pattern};

pub use crate::units::{LINE_BYTES, LineTouch, SECTOR_BYTES, SECTORS_PER_LINE};
pub use sectors::{Footprint, SectorSize, contiguous};

use crate::patterns::lane_addresses;
use crate::units::LOCAL_LINES_PER_WARP;

/// The rule by which a warp's lanes are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Capability 1.0 and 1.1: the lanes of a half-warp must access the words of an aligned segment
    /// in order. Otherwise each lane has a transaction of its own.
    AlignedHalfWarps,
    /// Capability 1.2 and 1.3: the lanes of a half-warp that fall into the same segment share a
    /// transaction. It shrinks to the part that they use.
    HalfWarpSegments,
    /// Capability 2.0 on: the lanes of a warp that fall into the same line share its sectors.
    Lines,
}

/// The unit that the profiler counts as a transaction under [`Protocol::Lines`]. The other
/// protocols define their own transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionRule {
    /// The lines of 128 bytes of each request. A warp makes one request. It makes two, one per
    /// half-warp, if lanes access 8 bytes, or four if they access 16 (guide 4.2, F.4.2).
    Lines,
    /// The sectors of the warp's access.
    Sectors,
    /// For each half-warp, the distinct 16-byte pieces that it touches, or an eighth of its active
    /// lanes if that is more: 8 for a coalesced load of 4-byte words. No manual says so. The rule
    /// gives every `gld_transactions` that nvprof measured for Rodinia's backprop and hotspot (data
    /// of github.com/marcosamaris/gpuperfpredict). The GPUs are GTX 970, GTX 980, Titan X and P100;
    /// the loads have 4 bytes.
    Quads,
    /// As [`TransactionRule::Quads`], and twice as many of loads that a first-level cache keeps. No
    /// manual says so. nvprof shows 16 a request for a coalesced copy of 4-byte words on a Titan Xp
    /// and a GTX 1080 Ti, with `-dlcm=ca` (stackoverflow.com/questions/56142674). Without that
    /// option `ptxas` 12.9 writes the same machine code for sm_61, to the bit; with `-dlcm=cg` it
    /// writes another. So loads count alike by default. The P100's L1 keeps loads, too, and it
    /// shows 8. Of kept loads on Maxwell and on capability 6.2 there is no count.
    KeptQuadsTwice,
}

/// The way of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coalescing {
    /// The rule by which lanes are combined.
    pub protocol: Protocol,
    /// The transactions of loads.
    pub loads: TransactionRule,
    /// The transactions of stores.
    pub stores: TransactionRule,
    /// The smallest piece that moves: a sector, or the smallest segment of capability 1.x.
    pub sector: SectorSize,
}

/// The sectors and transactions of one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Sectors that move.
    pub sectors: u64,
    /// Transactions as the profiler counts them; of atomics and reductions, the distinct addresses.
    pub transactions: u64,
}

/// Lanes that access more than a line each are bulk copies, of a single lane.
const BULK_BYTES: u64 = LINE_BYTES;

/// Puts accesses together, one after the other.
#[derive(Clone, Debug)]
pub struct Coalescer {
    rules: Coalescing,
    footprint: Footprint,
}

impl Coalescer {
    /// A coalescer for a GPU of these rules.
    #[must_use]
    pub fn new(rules: Coalescing) -> Self {
        Self { rules, footprint: Footprint::new(rules.sector) }
    }

    /// Returns true if an access whose addresses all lie a number of whole lines further has its
    /// lines as far away, and all else alike.
    #[inline]
    #[must_use]
    pub(crate) fn is_by_lines(&self) -> bool {
        self.rules.protocol == Protocol::Lines
    }

    /// The sectors that so many bytes take if they are aligned and consecutive.
    #[inline]
    #[must_use]
    pub fn ideal_sectors(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.rules.sector.bytes())
    }

    /// An access to global memory; `send` gets each line, or under the protocols of capability 1.x
    /// each transaction. Loads `past_l1` are those that no first-level cache keeps.
    #[inline]
    pub fn global(
        &mut self,
        access: &Access<'_>,
        past_l1: bool,
        send: impl FnMut(LineTouch),
    ) -> Moved {
        if self.rules.protocol == Protocol::Lines {
            self.lines(access, past_l1, send)
        } else {
            self.half_warps(access, send)
        }
    }

    fn lines(&mut self, access: &Access<'_>, past_l1: bool, send: impl FnMut(LineTouch)) -> Moved {
        let bytes = u64::from(access.bytes_per_lane);
        let first = access.addresses[0];
        let size = self.rules.sector;
        let mut moved = match access.pattern {
            Pattern::Uniform => send_all(contiguous(first, bytes, size), send),
            Pattern::Consecutive => send_all(contiguous(first, 32 * bytes, size), send),
            Pattern::General if bytes >= BULK_BYTES && access.mask.is_power_of_two() => {
                let first = access.addresses[access.mask.trailing_zeros() as usize];
                return send_all(contiguous(first, bytes, size), send);
            }
            Pattern::General => {
                self.footprint.gather(access.mask, access.addresses, access.bytes_per_lane);
                send_all(self.footprint.lines().iter().copied(), send)
            }
        };
        let rule = match access.kind {
            AccessKind::Load | AccessKind::LoadReadOnly => self.rules.loads,
            AccessKind::Store => self.rules.stores,
            AccessKind::Atomic | AccessKind::Reduction => {
                moved.transactions = transactions::addresses(access);
                return moved;
            }
        };
        match rule {
            // One request: its lines are those of the warp.
            TransactionRule::Lines if bytes <= 4 => {}
            TransactionRule::Lines => moved.transactions = transactions::lines(access),
            TransactionRule::Sectors => moved.transactions = moved.sectors,
            TransactionRule::Quads => moved.transactions = transactions::quads(access),
            TransactionRule::KeptQuadsTwice => {
                let times = if past_l1 { 1 } else { 2 };
                moved.transactions = times * transactions::quads(access);
            }
        }
        moved
    }

    /// The protocols of capability 1.x, which knows no words of more than 16 bytes. Larger accesses
    /// go line by line.
    #[cold]
    fn half_warps(&mut self, access: &Access<'_>, send: impl FnMut(LineTouch)) -> Moved {
        if access.bytes_per_lane > 16 {
            return self.lines(access, false, send);
        }
        let mut room = [0; 32];
        let addresses = lane_addresses(access, &mut room);
        let (mask, bytes) = (access.mask, u64::from(access.bytes_per_lane));
        let size = self.rules.sector;
        let mut transactions = Vec::with_capacity(32);
        match self.rules.protocol {
            Protocol::AlignedHalfWarps => {
                half_warp::aligned(mask, addresses, bytes, size, &mut transactions);
            }
            Protocol::HalfWarpSegments | Protocol::Lines => {
                half_warp::segments(mask, addresses, bytes, size, &mut transactions);
            }
        }
        let mut moved = send_all(transactions.into_iter(), send);
        if matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction) {
            moved.transactions = transactions::addresses(access);
        }
        moved
    }

    /// An access to local memory, whose lines count from the beginning of the warp's own region.
    ///
    /// Local memory is laid out so that the same 32-bit word of consecutive threads is consecutive
    /// (CUDA C Programming Guide 4.2, section 5.3.2.2). Word `w` of lane `l` is word `32·w + l` of
    /// the warp's region, so that one word of a whole warp is one line.
    pub fn local(&mut self, access: &Access<'_>, send: impl FnMut(LineTouch)) -> Moved {
        if self.rules.protocol != Protocol::Lines {
            return self.local_half_warps(access, send);
        }
        let bytes = u64::from(access.bytes_per_lane);
        self.footprint.clear();
        let mut lanes = access.mask;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let mut at = access.addresses[lane];
            let end = at.saturating_add(bytes);
            while at < end {
                let in_word = at % 4;
                let step = (4 - in_word).min(end - at);
                self.footprint.touch(interleaved(at / 4, lane) + in_word, step);
                at += step;
            }
        }
        self.footprint.finish();
        send_all(self.footprint.lines().iter().copied(), send)
    }

    /// As [`Coalescer::local`], for capability 1.x: one request for each 32-bit word of the
    /// access.
    #[cold]
    fn local_half_warps(&mut self, access: &Access<'_>, mut send: impl FnMut(LineTouch)) -> Moved {
        let mut room = [0; 32];
        let addresses = lane_addresses(access, &mut room);
        let words = access.bytes_per_lane.div_ceil(4).max(1);
        let mut moved = Moved::default();
        for word in 0..u64::from(words) {
            let of_word: [u64; 32] =
                std::array::from_fn(|lane| interleaved(addresses[lane] / 4 + word, lane));
            let access = Access {
                addresses: &of_word,
                bytes_per_lane: 4,
                pattern: Pattern::General,
                distances: None,
                ..*access
            };
            let of_word = self.half_warps(&access, &mut send);
            moved.sectors += of_word.sectors;
            moved.transactions += of_word.transactions;
        }
        moved
    }
}

/// The offset of word `word` of a lane's local memory in the region of its warp.
fn interleaved(word: u64, lane: usize) -> u64 {
    word % LOCAL_LINES_PER_WARP * LINE_BYTES + lane as u64 * 4
}

/// Sends each line and counts it as one transaction.
#[inline]
fn send_all(lines: impl Iterator<Item = LineTouch>, mut send: impl FnMut(LineTouch)) -> Moved {
    let mut moved = Moved::default();
    for touch in lines {
        moved.sectors += u64::from(touch.sectors.count_ones());
        moved.transactions += 1;
        send(touch);
    }
    moved
}

#[cfg(test)]
mod tests;
