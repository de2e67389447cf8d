//! Accesses of a memory operation that only count, told together when a CTA ends.
//!
//! Most recorders look at three things of an access by a full warp: the operation, the distances
//! between the lanes, and the place of the first lane among the banks or in its line. The first
//! access with given ones is told as any other ([`Recorder::first_access`]). A recorder that needs
//! no more than the number of those that follow says so, and hears of it at the end
//! ([`Recorder::further_accesses`]). Each of them then costs one addition here. One that needs
//! their addresses, for caches, hears of these alone ([`Recorder::further_address`]).

use std::num::NonZeroU64;

use crate::observer::{ALIKE_BYTES, Further, Recorder};

/// Bytes between places of the first lane that are told apart.
const WORD: u64 = 4;

/// Places of the first lane, one for each word. Accesses between them are told one by one.
const PLACES: usize = (ALIKE_BYTES / WORD) as usize;

/// Kinds of accesses that a recorder keeps, at most: 150 KB.
const MOST_SLOTS: u16 = 1 << 10;

/// The numbers that accesses get for a recorder.
#[derive(Debug, Default)]
pub(super) struct Slots {
    next: u16,
}

impl Slots {
    /// Returns true if half of them are given. A CTA may need as many as are left.
    pub(super) fn are_scarce(&self) -> bool {
        self.next > MOST_SLOTS / 2
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        let slot = self.next;
        self.next += u16::from(slot < MOST_SLOTS);
        (slot < MOST_SLOTS).then_some(slot.into())
    }
}

/// Accesses with the first lane at one place. The inner loop adds to them: they are small, so that
/// those of all operations of a loop stay in the first cache of the CPU.
#[derive(Clone, Copy, Debug)]
struct TallySlot {
    /// Their number at the recorder, perhaps with [`ADDRESS`], or one of the two below.
    slot: u16,
    /// Those that the recorder has not been told of.
    further: u16,
}

impl TallySlot {
    /// Their number at the recorder.
    #[inline(always)]
    fn number(self) -> u32 {
        (self.slot & !ADDRESS).into()
    }
}

/// The slot of accesses that have not come yet.
const UNKNOWN: u16 = u16::MAX;

/// The slot of accesses that the recorder wants to hear of one by one.
const EACH: u16 = u16::MAX - 1;

/// Set in slots of accesses of which the recorder wants to hear the address.
const ADDRESS: u16 = 1 << 14;

const _: () = assert!(MOST_SLOTS <= ADDRESS);

/// The accesses of one operation with the same distances.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Tally {
    /// The number of the distances; none if nothing is kept.
    distances: Option<NonZeroU64>,
    /// The operation that has them.
    operation: u32,
    /// Places that have a slot, one bit each.
    kept: u32,
    /// The latest clock of a warp at any of the accesses.
    latest: u64,
    places: [TallySlot; PLACES],
}

const _: () = assert!(PLACES <= u32::BITS as usize);

/// The way in which the recorder is told of an access.
pub(super) enum Telling {
    /// As the first of its kind, by this number. The answer goes to [`Tally::answer`].
    AsFirst(u32),
    /// As any other.
    Plainly,
    /// By its address; it has been counted by this number.
    OfAddress(u32),
    /// It has been counted.
    Done,
}

/// Whether an access has been counted.
pub(super) enum Counted {
    /// The recorder must be asked or told.
    No,
    /// The recorder of this number wants to hear of its address.
    WithAddress(u32),
    Yes,
}

impl Tally {
    pub(super) const NOTHING: Self = Self {
        distances: None,
        operation: 0,
        kept: 0,
        latest: 0,
        places: [TallySlot { slot: UNKNOWN, further: 0 }; PLACES],
    };

    #[inline(always)]
    fn place(first: u64) -> usize {
        (first / WORD) as usize % PLACES
    }

    /// Counts an access of `operation` with the first lane at `first`, at a warp's clock `time`.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        operation: u32,
        distances: NonZeroU64,
        first: u64,
        time: u64,
    ) -> Counted {
        let place = &mut self.places[Self::place(first)];
        let is_known = self.distances == Some(distances) && self.operation == operation;
        let counts = place.slot < EACH && place.further < u16::MAX;
        if !is_known || !counts || !first.is_multiple_of(WORD) {
            return Counted::No;
        }
        place.further += 1;
        self.latest = self.latest.max(time);
        match place.slot & ADDRESS {
            0 => Counted::Yes,
            _ => Counted::WithAddress(place.number()),
        }
    }

    /// Decides how to tell of an access that [`Self::count`] has not counted.
    pub(super) fn decide(
        &mut self,
        operation: u32,
        distances: NonZeroU64,
        (first, time): (u64, u64),
        slots: &mut Slots,
        recorder: &mut dyn Recorder,
    ) -> Telling {
        if !first.is_multiple_of(WORD) {
            return Telling::Plainly;
        }
        if self.distances != Some(distances) || self.operation != operation {
            self.tell(recorder);
            *self = Self { distances: Some(distances), operation, ..Self::NOTHING };
        }
        let place = &mut self.places[Self::place(first)];
        match place.slot {
            EACH => Telling::Plainly,
            UNKNOWN => match slots.take() {
                Some(slot) => Telling::AsFirst(slot),
                None => {
                    place.slot = EACH;
                    Telling::Plainly
                }
            },
            _ => {
                recorder.further_accesses(place.number(), place.further.into(), self.latest);
                place.further = 0;
                match self.count(operation, distances, first, time) {
                    Counted::WithAddress(slot) => Telling::OfAddress(slot),
                    Counted::Yes | Counted::No => Telling::Done,
                }
            }
        }
    }

    /// The recorder has answered what it needs of accesses like the one that it was told of.
    pub(super) fn answer(&mut self, first: u64, slot: u32, needs: Further) {
        let place = Self::place(first);
        self.places[place].slot = match needs {
            Further::Each => EACH,
            Further::Address => slot as u16 | ADDRESS,
            Further::Number => slot as u16,
        };
        self.kept |= u32::from(needs != Further::Each) << place;
    }

    /// Tells the recorder of everything that it has not been told.
    pub(super) fn tell(&mut self, recorder: &mut dyn Recorder) {
        let mut kept = self.kept;
        while kept != 0 {
            let place = &mut self.places[kept.trailing_zeros() as usize % PLACES];
            kept &= kept - 1;
            if place.further != 0 {
                recorder.further_accesses(place.number(), place.further.into(), self.latest);
                place.further = 0;
            }
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.distances = None;
        self.kept = 0;
    }
}
