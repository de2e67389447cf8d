//! Replacement policies: the line of a full set that gives way, and the time that a new one may
//! stay.

/// The policy that chooses the line of a set that gives way to a new one.
///
/// Vendors publish no policy. Mei & Chu ("Dissecting GPU Memory Hierarchy through
/// Microbenchmarking", IEEE TPDS 2017) find that the L2 of Fermi, Kepler and Maxwell is *not* least
/// recently used. An NVIDIA patent of Fermi's time (US 8,868,838, filed 2008) evicts by a class of
/// re-use potential kept with each line. `docs/evidence/dram-study.md` shows each policy's DRAM
/// traffic for measured kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// The one that was not used for longest.
    Lru,
    /// Any, with equal chance: xorshift64* from `seed`, so that the same requests always evict
    /// the same lines.
    Random {
        /// The start of the sequence.
        seed: u64,
    },
    /// Any but the one that was used last.
    NotMostRecent {
        /// As for [`Replacement::Random`].
        seed: u64,
    },
    /// One reference bit per line, which hits and fills set: the victim is the first line whose bit
    /// is clear. When all are set, those of the other lines are cleared ("bit pseudo-LRU").
    NotRecentlyUsed,
    /// As [`Replacement::Lru`], but a new line starts out as the next victim. Each
    /// `promote_every`-th one of a set starts out as the most recently used. This is bimodal
    /// insertion (BIP): Qureshi et al., "Adaptive Insertion Policies for High Performance Caching",
    /// ISCA 2007. It keeps part of a working set that cycles through more than the cache.
    Bimodal {
        /// 1 is LRU; 32 is the paper's choice.
        promote_every: u32,
    },
    /// LRU or bimodal insertion, whichever misses less in a few sets that are set aside for each
    /// (DIP, the same paper).
    DuelingInsertion {
        /// As for [`Replacement::Bimodal`].
        promote_every: u32,
    },
    /// Static re-reference interval prediction with hit priority and two bits (SRRIP-HP): Jaleel
    /// et al., "High Performance Cache Replacement Using Re-Reference Interval Prediction", ISCA
    /// 2010. New lines are expected back after long, those that were hit soon; the first line
    /// that is expected last gives way.
    ReReference,
    /// As [`Replacement::ReReference`], but new lines are expected last, except each
    /// `near_every`-th one of a set (BRRIP, the same paper).
    BimodalReReference {
        /// 32 is the paper's choice.
        near_every: u32,
    },
    /// Static or bimodal re-reference prediction, whichever misses less in a few sets that are
    /// set aside for each (DRRIP, the same paper).
    DuelingReReference {
        /// As for [`Replacement::BimodalReReference`].
        near_every: u32,
    },
    /// As [`Replacement::DuelingReReference`] for whole lines that first-level caches fetch and for
    /// stores; as [`Replacement::ReReference`] for loads of sectors, which do not vote. The cache's
    /// client tells with its command how likely a re-use of the line is, as in claim 1 of the
    /// patent.
    ClientReReference {
        /// As for [`Replacement::BimodalReReference`].
        near_every: u32,
    },
}

impl Replacement {
    /// The property of lines that decides the victim of a full set.
    pub(crate) fn rank(self) -> Rank {
        match self {
            Self::Lru | Self::Bimodal { .. } | Self::DuelingInsertion { .. } => Rank::LastUse,
            Self::ReReference
            | Self::BimodalReReference { .. }
            | Self::DuelingReReference { .. }
            | Self::ClientReReference { .. } => Rank::Prediction,
            Self::Random { .. } => Rank::Nothing,
            Self::NotMostRecent { .. } => Rank::AnyButLast,
            Self::NotRecentlyUsed => Rank::Referenced,
        }
    }

    /// The start of a random sequence; anything but 0.
    pub(crate) fn seed(self) -> u64 {
        match self {
            Self::Random { seed } | Self::NotMostRecent { seed } => seed.max(1),
            Self::Lru
            | Self::NotRecentlyUsed
            | Self::Bimodal { .. }
            | Self::DuelingInsertion { .. }
            | Self::ReReference
            | Self::BimodalReReference { .. }
            | Self::DuelingReReference { .. }
            | Self::ClientReReference { .. } => 1,
        }
    }

    /// The requests that take part in a duel.
    pub(crate) fn duels_for(self) -> DuelsFor {
        match self {
            Self::ClientReReference { .. } => DuelsFor::AllButSectorLoads,
            Self::Lru
            | Self::Random { .. }
            | Self::NotMostRecent { .. }
            | Self::NotRecentlyUsed
            | Self::Bimodal { .. }
            | Self::DuelingInsertion { .. }
            | Self::ReReference
            | Self::BimodalReReference { .. }
            | Self::DuelingReReference { .. } => DuelsFor::AllRequests,
        }
    }

    /// The insertion of new lines.
    pub(crate) fn insertion(self) -> Insertion {
        match self {
            Self::Bimodal { promote_every } => Insertion::Rarely(promote_every.max(1)),
            Self::BimodalReReference { near_every } => Insertion::Rarely(near_every.max(1)),
            Self::DuelingInsertion { promote_every: every }
            | Self::DuelingReReference { near_every: every }
            | Self::ClientReReference { near_every: every } => Insertion::Dueling(every.max(1)),
            Self::Lru
            | Self::Random { .. }
            | Self::NotMostRecent { .. }
            | Self::NotRecentlyUsed
            | Self::ReReference => Insertion::Always,
        }
    }
}

/// The property of each line that is remembered to find the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// The time of its last use.
    LastUse,
    /// The same, but only the last one is safe.
    AnyButLast,
    /// Its predicted re-reference interval.
    Prediction,
    /// A bit for lines used since the bits were cleared.
    Referenced,
    /// Nothing at all.
    Nothing,
}

/// The requests whose lines take part in a duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DuelsFor {
    /// All.
    AllRequests,
    /// All but loads of sectors.
    AllButSectorLoads,
}

/// A request for a line that is not there, as far as replacement is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newcomer {
    /// A load of sectors: it goes past first-level caches, or fills sectors of one.
    SectorLoad,
    /// A whole line that a first-level cache fetches, a store, or an update.
    Other,
}

/// The new lines that are inserted with the good prospects of the policy's plain form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// Each.
    Always,
    /// One miss of a set out of this many.
    Rarely(u32),
    /// As one or the other, whichever proves better.
    Dueling(u32),
}
