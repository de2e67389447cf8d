//! What an execution tells whoever watches it.
//!
//! Everything static follows from block counts, so a warp that runs through a block reports once;
//! only guarded instructions, branches and memory accesses report one by one. Each CTA reports
//! to a [`Recorder`] of its own, in parallel with other CTAs; the [`Observer`] gets the recorders
//! back in CTA order, so that its result does not depend on the number of CPU threads.

use gpucast_ptx_frontend::types::StateSpace;

use crate::program::Program;

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
    fn collect(&mut self, first_cta: u64, recorders: &mut [Self::Recorder]);
}

/// Receives the events of one CTA.
pub trait Recorder: Send {
    /// A warp starts to execute basic block `block` with the lanes of `mask`.
    fn block(&mut self, warp: u32, block: u32, mask: u32);

    /// The CTA has ended: how many lanes executed each guarded instruction, by
    /// [`Program::guarded`] index.
    fn guarded_lanes(&mut self, lanes: &[u64]);

    /// A conditional branch was issued by `active` lanes, of which `taken` branch.
    fn branch(&mut self, instruction: u32, active: u32, taken: u32);

    /// A memory instruction was executed by at least one lane.
    fn access(&mut self, access: &Access<'_>);
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

/// One memory instruction executed by one warp.
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

    fn collect(&mut self, _first_cta: u64, _recorders: &mut [NoRecorder]) {}
}

impl Recorder for NoRecorder {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, _access: &Access<'_>) {}
}
