//! What an execution tells whoever watches it.
//!
//! Everything static follows from block counts, so a warp that runs through a block reports once;
//! only guarded instructions, branches and memory accesses report one by one. Each CTA reports
//! to a [`Recorder`] of its own, in parallel with other CTAs; the [`Observer`] gets the recorders
//! back in CTA order, so that its result does not depend on the number of CPU threads.

mod synchronisation;

use gpucast_ptx_frontend::types::StateSpace;

use crate::program::Program;
pub use synchronisation::{
    BadAccess, ClusterStep, ClusterUse, CopyDone, CtaStart, Exit, GroupQueue, GroupStep, GroupUse,
    HeapUse, MbarrierStep, MbarrierUse, ShuffleUse, WarpArrival, WarpRelease,
};

/// Collects what the CTAs of one launch recorded.
pub trait Observer: Send {
    /// Records one CTA at a time.
    type Recorder: Recorder;

    /// A recorder for `program`; the engine reuses it for many CTAs.
    fn recorder(&self, program: &Program) -> Self::Recorder;

    /// How many consecutive CTAs run at the same time on the modelled device; the engine hands
    /// back this many recorders at once (fewer at the end of the grid).
    fn wave(&self) -> usize;

    /// Takes over what the CTAs from `first_cta` on recorded and empties the recorders.
    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut Self::Recorder]);

    /// The launch ends with a fault: what the CTAs from `first_cta` on, which have not been
    /// collected, recorded up to then. The last one is of the cluster that failed.
    fn collect_failed(&mut self, _first_cta: u64, _recorders: &mut [&mut Self::Recorder]) {}
}

/// Receives the events of one CTA.
pub trait Recorder: Send {
    /// Whether [`Recorder::storing`] and [`Recorder::shuffle`] are to be called.
    const WANTS_VALUES: bool = false;

    /// A warp starts to execute basic block `block` with the lanes of `mask`.
    fn block(&mut self, warp: u32, block: u32, mask: u32);

    /// The CTA has ended: how many lanes executed each guarded instruction, by
    /// [`Program::guarded`] index.
    fn guarded_lanes(&mut self, lanes: &[u64]);

    /// A conditional branch was issued by `active` lanes, of which `taken` branch.
    fn branch(&mut self, instruction: u32, active: u32, taken: u32);

    /// A memory instruction was executed by at least one lane.
    fn access(&mut self, access: &Access<'_>);

    /// Lanes of a warp arrive at a barrier of their CTA.
    #[inline]
    fn arrive(&mut self, _arrival: &Arrival) {}

    /// A barrier of the CTA lets those that wait at it go on.
    #[inline]
    fn release(&mut self, _release: &Release<'_>) {}

    /// The CTA begins: the first event of all.
    #[inline]
    fn start(&mut self, _start: &CtaStart) {}

    /// Lanes of a warp exit.
    #[inline]
    fn exit(&mut self, _exit: &Exit) {}

    /// Lanes arrive at an instruction of several lanes of the warp.
    #[inline]
    fn warp_arrive(&mut self, _arrival: &WarpArrival<'_>) {}

    /// Lanes execute `shfl`.
    #[inline]
    fn shuffle(&mut self, _shuffle: &ShuffleUse<'_>) {}

    /// `bar.warp.sync` lets the lanes go on that have met.
    #[inline]
    fn warp_release(&mut self, _release: &WarpRelease) {}

    /// Lanes use mbarrier objects.
    #[inline]
    fn mbarrier(&mut self, _mbarrier: &MbarrierUse<'_>) {}

    /// Something happens at the cluster's barrier.
    #[inline]
    fn cluster_barrier(&mut self, _cluster: &ClusterUse) {}

    /// `cp.async` has written shared memory, which was reported as an access when it was issued.
    #[inline]
    fn copy_done(&mut self, _copy: &CopyDone<'_>) {}

    /// Lanes commit groups of bulk copies or of products of warpgroups, or wait for them.
    #[inline]
    fn group(&mut self, _group: &GroupUse) {}

    /// A lane's access is left out, being out of bounds or misaligned.
    #[inline]
    fn bad_access(&mut self, _bad: &BadAccess<'_>) {}

    /// `malloc` or `free` was called.
    #[inline]
    fn heap(&mut self, _heap: &HeapUse) {}

    /// What the store reported next writes: a digest of each lane's bytes, equal if the bytes are.
    #[inline]
    fn storing(&mut self, _digests: &[u32; 32]) {}
}

/// Lanes of one warp that arrive at a CTA barrier (`bar`, `barrier`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index into [`Program::instructions`].
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// Which of the CTA's 16 barriers.
    pub barrier: u32,
    /// The lanes.
    pub mask: u32,
    /// Whether they wait; `bar.arrive` does not.
    pub waits: bool,
    /// The number of threads that the instruction gives; none if it is for all.
    pub threads: Option<u32>,
}

/// A CTA barrier that is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'a> {
    /// Which of the CTA's 16 barriers.
    pub barrier: u32,
    /// An instruction at which threads waited, an index into [`Program::instructions`].
    pub instruction: u32,
    /// The warps with the lanes that waited and go on.
    pub waited: &'a [(u32, u32)],
    /// Whether every thread of the CTA that has not exited waited: what was executed so far lies
    /// before the barrier, and what follows behind it.
    pub whole: bool,
    /// How many lanes have executed each guarded instruction of the CTA so far, by
    /// [`Program::guarded`] index.
    pub guarded_lanes: &'a [u64],
}

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Reads data that the kernel promises not to write (`ld.global.nc`, `ldu`).
    LoadReadOnly,
    /// Writes.
    Store,
    /// Reads and writes in one step and returns the old value.
    Atomic,
    /// Reads and writes in one step and returns nothing.
    Reduction,
}

/// How the lanes' addresses relate, as far as the engine found out on its way.
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
    /// What it does.
    pub kind: AccessKind,
    /// Bytes of one lane: element size times vector length.
    pub bytes_per_lane: u32,
    /// The lanes that take part.
    pub mask: u32,
    /// How the addresses relate.
    pub pattern: Pattern,
    /// Each lane's address in `space`; lanes outside `mask` hold arbitrary values, and so do all
    /// but the first if the pattern is not [`Pattern::General`].
    pub addresses: &'a [u64; 32],
    /// Whether it goes on with what the same execution of the instruction has reported of this space
    /// already: bulk copies report a range at a time.
    pub continues: bool,
}

/// Watches nothing; costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

/// The recorder of [`NoObserver`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecorder;

impl Observer for NoObserver {
    type Recorder = NoRecorder;

    fn recorder(&self, _program: &Program) -> NoRecorder {
        NoRecorder
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, _recorders: &mut [&mut NoRecorder]) {}
}

impl Recorder for NoRecorder {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, _access: &Access<'_>) {}
}

/// Two observers of the same launch; the first one says how many CTAs are resident.
impl<A: Observer, B: Observer> Observer for (A, B) {
    type Recorder = (A::Recorder, B::Recorder);

    fn recorder(&self, program: &Program) -> Self::Recorder {
        (self.0.recorder(program), self.1.recorder(program))
    }

    fn wave(&self) -> usize {
        self.0.wave()
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
}

/// The recorders of either observer.
fn parts<'a, A, B>(recorders: &'a mut [&mut (A, B)]) -> (Vec<&'a mut A>, Vec<&'a mut B>) {
    let both = recorders.iter_mut().map(|recorder| {
        let (first, second) = &mut **recorder;
        (first, second)
    });
    both.unzip()
}

impl<A: Recorder, B: Recorder> Recorder for (A, B) {
    const WANTS_VALUES: bool = A::WANTS_VALUES || B::WANTS_VALUES;

    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        self.0.block(warp, block, mask);
        self.1.block(warp, block, mask);
    }

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        self.0.guarded_lanes(lanes);
        self.1.guarded_lanes(lanes);
    }

    fn branch(&mut self, instruction: u32, active: u32, taken: u32) {
        self.0.branch(instruction, active, taken);
        self.1.branch(instruction, active, taken);
    }

    fn access(&mut self, access: &Access<'_>) {
        self.0.access(access);
        self.1.access(access);
    }

    fn arrive(&mut self, arrival: &Arrival) {
        self.0.arrive(arrival);
        self.1.arrive(arrival);
    }

    fn release(&mut self, release: &Release<'_>) {
        self.0.release(release);
        self.1.release(release);
    }

    fn start(&mut self, start: &CtaStart) {
        self.0.start(start);
        self.1.start(start);
    }

    fn exit(&mut self, exit: &Exit) {
        self.0.exit(exit);
        self.1.exit(exit);
    }

    fn warp_arrive(&mut self, arrival: &WarpArrival<'_>) {
        self.0.warp_arrive(arrival);
        self.1.warp_arrive(arrival);
    }

    fn shuffle(&mut self, shuffle: &ShuffleUse<'_>) {
        self.0.shuffle(shuffle);
        self.1.shuffle(shuffle);
    }

    fn warp_release(&mut self, release: &WarpRelease) {
        self.0.warp_release(release);
        self.1.warp_release(release);
    }

    fn mbarrier(&mut self, mbarrier: &MbarrierUse<'_>) {
        self.0.mbarrier(mbarrier);
        self.1.mbarrier(mbarrier);
    }

    fn cluster_barrier(&mut self, cluster: &ClusterUse) {
        self.0.cluster_barrier(cluster);
        self.1.cluster_barrier(cluster);
    }

    fn copy_done(&mut self, copy: &CopyDone<'_>) {
        self.0.copy_done(copy);
        self.1.copy_done(copy);
    }

    fn bad_access(&mut self, bad: &BadAccess<'_>) {
        self.0.bad_access(bad);
        self.1.bad_access(bad);
    }

    fn heap(&mut self, heap: &HeapUse) {
        self.0.heap(heap);
        self.1.heap(heap);
    }

    fn storing(&mut self, digests: &[u32; 32]) {
        self.0.storing(digests);
        self.1.storing(digests);
    }
}
