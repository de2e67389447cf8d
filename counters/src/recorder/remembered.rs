//! Counts of accesses whose lanes are as far from each other as those of earlier ones.
//!
//! The interpreter numbers the distances that full warps come back to ([`Access::distances`]).
//! Passes and sectors depend on two things: the number, and the place of the first lane's address
//! among the banks or in its line. So they are computed once for each such place.
//!
//! [`Access::distances`]: gpucast_interpreter::Access::distances

use std::num::NonZeroU64;

use gpucast_interpreter::{Access, AccessKind, Pattern};
use smallvec::SmallVec;

use crate::banks::BankPasses;
use crate::coalescing::{LineTouch, Moved};

/// The places among the banks that are remembered: all that words have among 32 banks.
const BANK_PLACES: usize = 32;

/// The places in a line that are remembered: rows mostly begin with a sector.
const LINE_PLACES: usize = 4;

/// The number of an access's distances: the interpreter's, or one of our own for full warps whose
/// lanes use one address or consecutive ones. Ours count down from the greatest number, which the
/// interpreter never reaches by counting up. Within an instruction they tell all that counts apart.
#[inline]
pub(super) fn distances(access: &Access<'_>) -> Option<NonZeroU64> {
    let consecutive = match access.pattern {
        Pattern::General => return access.distances,
        Pattern::Uniform => 0,
        Pattern::Consecutive => 1,
    };
    let kind = match access.kind {
        AccessKind::Load => 0,
        AccessKind::LoadReadOnly => 1,
        AccessKind::Store => 2,
        AccessKind::Atomic | AccessKind::Reduction => return None,
    };
    let number = u64::from(access.bytes_per_lane) << 3 | kind << 1 | consecutive;
    NonZeroU64::new(u64::MAX - number)
}

/// The passes of one instruction's accesses. Products of matrices have several numbers of
/// distances in one instruction, so each place has its own.
#[derive(Clone, Debug, Default)]
pub(super) struct RememberedPasses<P> {
    places: [Option<KnownPasses<P>>; BANK_PLACES],
}

/// The passes of accesses with a number of distances, whose first lane accesses `byte` among the
/// banks.
#[derive(Clone, Copy, Debug)]
struct KnownPasses<P> {
    id: NonZeroU64,
    byte: u32,
    passes: P,
}

impl<P: Copy + Default> RememberedPasses<P> {
    /// Neighbouring numbers are those of accesses of one product, which begin at equal places.
    #[inline]
    fn place(id: NonZeroU64, byte: u64) -> usize {
        (byte / 4 + id.get()) as usize % BANK_PLACES
    }

    /// The passes where the first lane accesses `byte` among the banks.
    #[inline]
    pub(super) fn of(&self, id: NonZeroU64, byte: u64) -> Option<P> {
        let known = self.places[Self::place(id, byte)]?;
        (known.id == id && u64::from(known.byte) == byte).then_some(known.passes)
    }

    /// Remembers passes, and forgets others at their place.
    #[cold]
    pub(super) fn learn(&mut self, id: NonZeroU64, byte: u64, passes: P) {
        self.places[Self::place(id, byte)] = Some(KnownPasses { id, byte: byte as u32, passes });
    }
}

/// The lines of an access, counted from that of the first lane. Those below it wrap around.
pub(super) type Lines = SmallVec<[LineTouch; 4]>;

/// All that is counted of an access to global memory.
#[derive(Clone, Debug)]
pub(super) struct KnownLines {
    /// The place of the first lane's access in its line, in bytes.
    byte: u64,
    pub(super) lines: Lines,
    pub(super) moved: Moved,
    /// Passes over the banks of a first-level cache.
    pub(super) passes: BankPasses,
}

/// The lines of one instruction's accesses, for one number of distances.
#[derive(Clone, Debug, Default)]
pub(super) struct RememberedLines {
    id: Option<NonZeroU64>,
    places: [Option<KnownLines>; LINE_PLACES],
}

impl RememberedLines {
    fn place(byte: u64) -> usize {
        byte as usize / 32 % LINE_PLACES
    }

    /// The lines where the first lane accesses `byte` of its line.
    #[inline]
    pub(super) fn of(&self, id: NonZeroU64, byte: u64) -> Option<&KnownLines> {
        let known = self.places[Self::place(byte)].as_ref()?;
        (known.byte == byte && self.id == Some(id)).then_some(known)
    }

    /// Remembers the lines of an access, its sectors and its passes, and forgets those of other
    /// distances.
    #[cold]
    pub(super) fn learn(
        &mut self,
        id: NonZeroU64,
        byte: u64,
        (lines, moved, passes): (Lines, Moved, BankPasses),
    ) {
        if self.id != Some(id) {
            *self = Self { id: Some(id), ..Self::default() };
        }
        self.places[Self::place(byte)] = Some(KnownLines { byte, lines, moved, passes });
    }
}
