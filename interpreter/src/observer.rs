//! The events of an execution, as an observer is told of them.
//!
//! Everything static follows from block counts, so a warp that runs through a block reports once;
//! only guarded instructions, branches and memory accesses report one by one. Each CTA reports
//! to a [`Recorder`] of its own, in parallel with other CTAs; the [`Observer`] gets the recorders
//! back in CTA order, so that its result does not depend on the number of CPU threads.

mod several;
mod step;
mod synchronisation;
mod tensor_memory;

use std::num::NonZeroU64;
use std::ops::Range;

use gpucast_ptx_frontend::types::StateSpace;

pub use crate::access_kind::AccessKind;
pub use crate::grid_box::GridBox;
use crate::program::Program;
pub use several::{Several, SeveralRecorders};
pub use step::{RegisterName, RegisterValues, Registers, Step};
pub use synchronisation::{
    BadAccess, ClusterStep, ClusterUse, CopyDone, CtaStart, Exit, GroupQueue, GroupStep, GroupUse,
    HeapUse, MbarrierStep, MbarrierUse, ShuffleUse, TensorUse, WarpArrival, WarpRelease,
};
pub use tensor_memory::{TensorCells, TensorMemoryStep, TensorMemoryUse};

/// Collects the records of the CTAs of one launch.
pub trait Observer: Send {
    /// Records one CTA at a time.
    type Recorder: Recorder;

    /// True if recorders are told of accesses. A run that nobody counts saves the events.
    const WANTS_ACCESSES: bool = true;

    /// True if [`Recorder::storing`] and [`Recorder::shuffle`] are called.
    const WANTS_VALUES: bool = false;

    /// True if [`Recorder::step`] is called. Warps then execute one operation at a time, which
    /// takes several times as long; others pay nothing for it.
    const WANTS_STEPS: bool = false;

    /// A recorder for `program`; the engine uses it again when it has been collected.
    fn recorder(&self, program: &Program) -> Self::Recorder;

    /// Returns the number of consecutive CTAs that run at the same time on the modelled device. The
    /// engine hands back this many recorders at once (fewer at the end of the grid).
    fn wave(&self) -> usize;

    /// Returns true if one recorder may be told of several CTAs, one after the other. The observer
    /// then adds records up: it asks neither for the borders of CTAs nor for their order. Each
    /// thread keeps one recorder, and it hears nothing of a launch that fails.
    fn adds_up(&self) -> bool {
        false
    }

    /// Takes over the records of the CTAs from `first_cta` on and empties the recorders. There is
    /// one for each CTA, or for several if the observer [adds up](Self::adds_up).
    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut Self::Recorder]);

    /// Handles the end of a launch with a fault. The recorders are those of the CTAs from
    /// `first_cta` on, which have not been collected. The last one is of the cluster that failed.
    fn collect_failed(&mut self, _first_cta: u64, _recorders: &mut [&mut Self::Recorder]) {}

    /// An observer of the same launch that has seen nothing of it yet, asked for before anything
    /// has run.
    ///
    /// A launch that is watched may be given up and executed again in order. Then one observer sees
    /// the attempt and is dropped, and the other one sees the launch; neither may change the
    /// findings of the other.
    #[must_use]
    fn fresh(&self) -> Self
    where
        Self: Sized;
}

/// A record of one CTA that can be turned into that of another one which does the same at other
/// addresses.
pub trait StandIn: Recorder + Sync {
    /// The difference of the addresses of two such CTAs.
    type Shift: Send + Sync;

    /// Forgets what the record has been told of the CTA's own identity. It comes between
    /// [`Recorder::start`] and all other events.
    fn become_anonymous(&mut self);

    /// Returns true if CTA `cta` is looked at more closely than others, so that its own events must
    /// be told.
    fn singles_out(&self, cta: u64) -> bool;

    /// The difference to another record; `None` if they differ by more than addresses.
    fn shift_to(&self, other: &Self) -> Option<Self::Shift>;

    /// An empty recorder becomes the record of a CTA that is as many shifts away from the one of
    /// `representative`.
    fn stand_in(&mut self, representative: &Self, shifts: &[(&Self::Shift, u32)]);
}

/// An observer to which the record of one CTA may count for all CTAs of its class, because it adds
/// records up and needs neither their order nor their addresses.
pub trait Tally: Observer<Recorder: StandIn> {
    /// Takes over the record of a CTA that counts for `ctas` CTAs, itself included. They stand at
    /// `places` of the grid, and differ by the shift along each dimension in which there are
    /// several.
    ///
    /// # Errors
    ///
    /// [`CountOverflow`] if a sum does not fit. The observer is of no use then.
    fn tally(
        &mut self,
        record: &mut Self::Recorder,
        ctas: u128,
        places: &GridBox,
        shifts: &Shifts<'_, Self::Recorder>,
    ) -> Result<(), CountOverflow>;
}

/// The shift along each dimension of a box of CTAs.
pub type Shifts<'a, R> = [Option<&'a <R as StandIn>::Shift>; 3];

/// An observer that adds records up, and wants to hear of some CTAs one by one afterwards.
pub trait Windows: Tally {
    /// The CTAs to hear of: ranges of the grid that do not overlap. It is asked first after all
    /// records were added up, and again when it has heard of all of them, until it wants none.
    /// [`Observer::collect`] never spans two ranges.
    ///
    /// # Errors
    ///
    /// [`CountOverflow`] if a sum is too large for what the observer would make of it.
    fn windows(&mut self) -> Result<Vec<Range<u64>>, CountOverflow>;
}

/// An observer that estimates what all CTAs do from some of them.
pub trait Samples: Observer {
    /// The CTAs to execute next: ranges of the grid in any order, which may overlap. It is asked
    /// again when it has heard of all of them, until it wants none. [`Observer::collect`] never
    /// spans two ranges.
    ///
    /// # Errors
    ///
    /// The reason why the launch is better executed as a whole. The observer is then as if it had
    /// heard nothing.
    fn next_ranges(&mut self) -> Result<Vec<Range<u64>>, String>;

    /// Time is over. Returns true if the CTAs that were heard of are a sample by themselves. It
    /// then hears of no more, and the launch has ended without an error.
    fn may_end(&mut self) -> bool;
}

/// A launch is so large that one of its counts does not fit its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountOverflow {
    /// A sum over all CTAs.
    #[error("the launch has counts of 2¹²⁸ or more, which 128 bits do not hold")]
    Sum,
    /// A sum that is to be scaled: traffic of caches from a part of the grid, or a sample.
    #[error(
        "the launch has counts of 2⁶⁴ or more, which only counting of all blocks without caches holds"
    )]
    Scaled,
}

/// The events of accesses that an observer asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wants {
    /// [`Observer::WANTS_ACCESSES`].
    pub(crate) accesses: bool,
    /// [`Observer::WANTS_VALUES`].
    pub(crate) values: bool,
    /// [`Observer::WANTS_STEPS`].
    pub(crate) steps: bool,
}

impl Wants {
    /// The wishes of an observer.
    pub(crate) fn of<O: Observer>() -> Self {
        Self { accesses: O::WANTS_ACCESSES, values: O::WANTS_VALUES, steps: O::WANTS_STEPS }
    }
}

/// Bytes by which the first lane's address may differ between accesses that a recorder is told of
/// together: a line, or what the banks of shared memory deliver in a pass.
pub const ALIKE_BYTES: u64 = 128;

/// What a recorder needs of accesses that are like one that it was told of; the first the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Further {
    /// Everything: each is told by [`Recorder::access`].
    Each,
    /// The first address of each ([`Recorder::further_address`]), and their number.
    Address,
    /// Their number ([`Recorder::further_accesses`]).
    Number,
}

/// An access that is like one that the recorder was told of ([`Recorder::first_access`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FurtherAccess {
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The warp's clock, as in [`Access::time`].
    pub time: u64,
    /// The address of the first lane.
    pub first: u64,
}

/// Declares every event of a CTA once and writes the items that must know them all. These are the
/// trait [`Recorder`], the recorder that ignores events, and the pair and the list of recorders
/// that pass them on.
///
/// `required` events are those that every recorder thinks about; the others may be ignored.
macro_rules! events {
    (
        required { $($(#[doc = $required_doc:literal])+
            fn $required:ident($($required_name:ident: $required_type:ty),+);)+ }
        optional { $($(#[doc = $optional_doc:literal])+
            fn $optional:ident($($optional_name:ident: $optional_type:ty),+);)+ }
    ) => {
        /// Receives the events of one CTA, or of several if the observer adds them up.
        pub trait Recorder: Send {
            /// The recorder that the engine tells of events: a list of one hands on that one, so
            /// that nothing stands between.
            fn listening(&mut self) -> &mut dyn Recorder
            where
                Self: Sized,
            {
                self
            }

            /// As [`Recorder::access`]; more accesses like this one may follow. They are made by
            /// all lanes of any warp, with the same instruction and the same distances between the
            /// lanes. Their first address is the same modulo [`ALIKE_BYTES`].
            ///
            /// Returns what the recorder needs of those. They have the same `slot`. Slots count up
            /// from 0 in each record, and may do so anew when a further CTA begins.
            #[inline]
            fn first_access(&mut self, slot: u32, access: &Access<'_>) -> Further {
                let _ = slot;
                self.access(access);
                Further::Each
            }

            /// A further access, if the answer for its `slot` was [`Further::Address`].
            #[inline]
            fn further_address(&mut self, slot: u32, access: FurtherAccess) {
                let _ = (slot, access);
            }

            /// There were `count` further accesses of `slot`, unless the answer was
            /// [`Further::Each`]. None was later than clock `latest` of its warp, at which the
            /// instruction had an access. It comes before [`Recorder::guarded_lanes`].
            #[inline]
            fn further_accesses(&mut self, slot: u32, count: u64, latest: u64) {
                let _ = (slot, count, latest);
            }

            $($(#[doc = $required_doc])+
            fn $required(&mut self, $($required_name: $required_type),+);)+

            $($(#[doc = $optional_doc])+
            #[inline]
            fn $optional(&mut self, $($optional_name: $optional_type),+) {
                let _ = ($($optional_name),+);
            })+
        }

        impl Recorder for NoRecorder {
            $(#[inline]
            fn $required(&mut self, $($required_name: $required_type),+) {
                let _ = ($($required_name),+);
            })+
        }

        impl<A: Recorder, B: Recorder> Recorder for (A, B) {
            // Both hear of what either needs.
            fn first_access(&mut self, slot: u32, access: &Access<'_>) -> Further {
                self.0.first_access(slot, access).min(self.1.first_access(slot, access))
            }

            fn further_address(&mut self, slot: u32, access: FurtherAccess) {
                self.0.further_address(slot, access);
                self.1.further_address(slot, access);
            }

            fn further_accesses(&mut self, slot: u32, count: u64, latest: u64) {
                self.0.further_accesses(slot, count, latest);
                self.1.further_accesses(slot, count, latest);
            }

            $(#[inline]
            fn $required(&mut self, $($required_name: $required_type),+) {
                self.0.$required($($required_name),+);
                self.1.$required($($required_name),+);
            })+

            $(#[inline]
            fn $optional(&mut self, $($optional_name: $optional_type),+) {
                self.0.$optional($($optional_name),+);
                self.1.$optional($($optional_name),+);
            })+
        }

        impl<R: Recorder> Recorder for SeveralRecorders<R> {
            fn listening(&mut self) -> &mut dyn Recorder {
                match self.each.len() {
                    1 => self.each[0].listening(),
                    _ => self,
                }
            }

            // All hear of what any needs.
            fn first_access(&mut self, slot: u32, access: &Access<'_>) -> Further {
                let each = self.each.iter_mut().map(|recorder| recorder.first_access(slot, access));
                each.min().unwrap_or(Further::Number)
            }

            fn further_address(&mut self, slot: u32, access: FurtherAccess) {
                self.each.iter_mut().for_each(|recorder| recorder.further_address(slot, access));
            }

            fn further_accesses(&mut self, slot: u32, count: u64, latest: u64) {
                self.each.iter_mut().for_each(|recorder| recorder.further_accesses(slot, count, latest));
            }

            $(fn $required(&mut self, $($required_name: $required_type),+) {
                self.each.iter_mut().for_each(|recorder| recorder.$required($($required_name),+));
            })+

            $(fn $optional(&mut self, $($optional_name: $optional_type),+) {
                self.each.iter_mut().for_each(|recorder| recorder.$optional($($optional_name),+));
            })+
        }

        /// Hears every event and keeps their names.
        #[cfg(test)]
        #[derive(Debug, Default)]
        struct Names(Vec<&'static str>);

        #[cfg(test)]
        impl Recorder for Names {
            $(fn $required(&mut self, $($required_name: $required_type),+) {
                let _ = ($($required_name),+);
                self.0.push(stringify!($required));
            })+

            $(fn $optional(&mut self, $($optional_name: $optional_type),+) {
                let _ = ($($optional_name),+);
                self.0.push(stringify!($optional));
            })+
        }

        #[cfg(test)]
        impl Names {
            /// The names of all events.
            const ALL: &[&str] = &[$(stringify!($required),)+ $(stringify!($optional)),+];
        }
    };
}

events! {
    required {
        /// A warp starts to execute basic block `block` with the lanes of `mask`.
        fn block(warp: u32, block: u32, mask: u32);

        /// The CTA has ended. The numbers are the lanes that executed each guarded instruction, by
        /// [`Program::guarded`] index.
        fn guarded_lanes(lanes: &[u64]);

        /// A conditional branch was issued by `active` lanes, of which `taken` branch.
        fn branch(instruction: u32, active: u32, taken: u32);

        /// A memory instruction was executed by at least one lane.
        fn access(access: &Access<'_>);
    }
    optional {
        /// Lanes of a warp arrive at a barrier of their CTA.
        fn arrive(arrival: &Arrival);

        /// A barrier of the CTA lets those that wait at it go on.
        fn release(release: &Release<'_>);

        /// The CTA begins: the first event of all.
        fn start(start: &CtaStart);

        /// Lanes of a warp exit.
        fn exit(exit: &Exit);

        /// Lanes arrive at an instruction of several lanes of the warp.
        fn warp_arrive(arrival: &WarpArrival<'_>);

        /// Lanes execute `shfl`.
        fn shuffle(shuffle: &ShuffleUse<'_>);

        /// `bar.warp.sync` lets the lanes go on that have met.
        fn warp_release(release: &WarpRelease);

        /// Lanes use mbarrier objects.
        fn mbarrier(mbarrier: &MbarrierUse<'_>);

        /// Something happens at the cluster's barrier.
        fn cluster_barrier(cluster: &ClusterUse);

        /// `cp.async` has written shared memory, which was reported as an access when it was
        /// issued.
        fn copy_done(copy: &CopyDone<'_>);

        /// Lanes commit groups of bulk copies or of products of warpgroups, or wait for them.
        fn group(group: &GroupUse);

        /// A lane's access is left out, being out of bounds or misaligned.
        fn bad_access(bad: &BadAccess<'_>);

        /// A lane issues a product whose extents are in a register (`tcgen05.mma`).
        fn tensor(product: &TensorUse);

        /// Cells of tensor memory are allocated, read or written, or a warp waits for its
        /// transfers.
        fn tensor_memory(used: &TensorMemoryUse<'_>);

        /// `malloc` or `free` was called.
        fn heap(heap: &HeapUse);

        /// Comes before the access of a store that it belongs to: a digest of each lane's bytes,
        /// equal if the bytes are.
        fn storing(digests: &[u32; 32]);

        /// A warp is about to execute an instruction.
        fn step(step: &Step<'_>);
    }
}

/// Lanes of one warp that arrive at a CTA barrier (`bar`, `barrier`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index into [`Program::instructions`].
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// Index among the CTA's 16 barriers.
    pub barrier: u32,
    /// The lanes.
    pub mask: u32,
    /// True if they wait; `bar.arrive` does not.
    pub waits: bool,
    /// The number of threads that the instruction gives; none if it is for all.
    pub threads: Option<u32>,
}

/// A CTA barrier that is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'a> {
    /// Index among the CTA's 16 barriers.
    pub barrier: u32,
    /// An instruction at which threads waited, an index into [`Program::instructions`].
    pub instruction: u32,
    /// The warps with the lanes that waited and go on.
    pub waited: &'a [(u32, u32)],
    /// True if every thread of the CTA that has not exited waited. Everything executed so far then
    /// lies before the barrier, and everything that follows behind it.
    pub whole: bool,
    /// Number of lanes that have executed each guarded instruction of the CTA so far, by
    /// [`Program::guarded`] index.
    pub guarded_lanes: &'a [u64],
}

/// Relation of the lanes' addresses, as far as the engine found out on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All lanes of the full warp use the same address.
    Uniform,
    /// Lane `i` of the full warp uses the first address plus `i` times the access's size.
    Consecutive,
    /// Anything else, or not all lanes take part.
    General,
}

/// One memory instruction executed by one warp, or a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Index into [`Program::instructions`].
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// Warp-instructions that this warp had issued before: its own clock.
    pub time: u64,
    /// The space that the access went to; generic accesses are resolved, and one instruction
    /// whose lanes go to several spaces reports once for each.
    pub space: StateSpace,
    /// Effect on memory.
    pub kind: AccessKind,
    /// Bytes of one lane: element size times vector length.
    pub bytes_per_lane: u32,
    /// The lanes that take part.
    pub mask: u32,
    /// Relation of the addresses.
    pub pattern: Pattern,
    /// Each lane's address in `space`; lanes outside `mask` hold arbitrary values, and so do all
    /// but the first if the pattern is not [`Pattern::General`].
    pub addresses: &'a [u64; 32],
    /// True if it continues an earlier report of the same execution of the instruction in this
    /// space. Bulk copies report a range at a time.
    pub continues: bool,
    /// A number that some accesses of full warps have. Those of one instruction and kind with the
    /// same number are of the same size. Their lanes are equally far from the first lane.
    pub distances: Option<NonZeroU64>,
}

/// Watches nothing; costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

/// The recorder of [`NoObserver`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecorder;

impl Observer for NoObserver {
    type Recorder = NoRecorder;

    const WANTS_ACCESSES: bool = false;

    fn recorder(&self, _program: &Program) -> NoRecorder {
        NoRecorder
    }

    fn wave(&self) -> usize {
        1
    }

    fn adds_up(&self) -> bool {
        true
    }

    fn collect(&mut self, _first_cta: u64, _recorders: &mut [&mut NoRecorder]) {}

    fn fresh(&self) -> Self {
        Self
    }
}

/// Two observers of the same launch; the first one gives the number of resident CTAs.
impl<A: Observer, B: Observer> Observer for (A, B) {
    type Recorder = (A::Recorder, B::Recorder);

    const WANTS_ACCESSES: bool = A::WANTS_ACCESSES || B::WANTS_ACCESSES;
    const WANTS_VALUES: bool = A::WANTS_VALUES || B::WANTS_VALUES;
    const WANTS_STEPS: bool = A::WANTS_STEPS || B::WANTS_STEPS;

    fn recorder(&self, program: &Program) -> Self::Recorder {
        (self.0.recorder(program), self.1.recorder(program))
    }

    fn wave(&self) -> usize {
        self.0.wave()
    }

    fn adds_up(&self) -> bool {
        self.0.adds_up() && self.1.adds_up()
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut Self::Recorder]) {
        let (mut first, mut second) = parts(recorders);
        self.0.collect(first_cta, &mut first);
        self.1.collect(first_cta, &mut second);
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut Self::Recorder]) {
        let (mut first, mut second) = parts(recorders);
        self.0.collect_failed(first_cta, &mut first);
        self.1.collect_failed(first_cta, &mut second);
    }

    fn fresh(&self) -> Self {
        (self.0.fresh(), self.1.fresh())
    }
}

impl<A: StandIn, B: StandIn> StandIn for (A, B) {
    type Shift = (A::Shift, B::Shift);

    fn become_anonymous(&mut self) {
        self.0.become_anonymous();
        self.1.become_anonymous();
    }

    fn singles_out(&self, cta: u64) -> bool {
        self.0.singles_out(cta) || self.1.singles_out(cta)
    }

    fn shift_to(&self, other: &Self) -> Option<Self::Shift> {
        Some((self.0.shift_to(&other.0)?, self.1.shift_to(&other.1)?))
    }

    fn stand_in(&mut self, representative: &Self, shifts: &[(&Self::Shift, u32)]) {
        let first: Vec<_> = shifts.iter().map(|&((shift, _), steps)| (shift, steps)).collect();
        self.0.stand_in(&representative.0, &first);
        let second: Vec<_> = shifts.iter().map(|&((_, shift), steps)| (shift, steps)).collect();
        self.1.stand_in(&representative.1, &second);
    }
}

impl<A: Tally, B: Tally> Tally for (A, B) {
    fn tally(
        &mut self,
        record: &mut Self::Recorder,
        ctas: u128,
        places: &GridBox,
        shifts: &Shifts<'_, Self::Recorder>,
    ) -> Result<(), CountOverflow> {
        let first = shifts.map(|shift| shift.map(|(shift, _)| shift));
        self.0.tally(&mut record.0, ctas, places, &first)?;
        let second = shifts.map(|shift| shift.map(|(_, shift)| shift));
        self.1.tally(&mut record.1, ctas, places, &second)
    }
}

/// The recorders of either observer.
fn parts<'a, A, B>(recorders: &'a mut [&mut (A, B)]) -> (Vec<&'a mut A>, Vec<&'a mut B>) {
    let both = recorders.iter_mut().map(|recorder| {
        let (first, second) = &mut **recorder;
        (first, second)
    });
    both.unzip()
}

#[cfg(test)]
mod tests;
