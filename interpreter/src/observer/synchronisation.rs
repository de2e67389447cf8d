//! Events beyond those that counters need: waits between threads, arrivals of asynchronous writes,
//! faults. A checker needs them to order the accesses of a CTA's threads.

use gpucast_ptx_frontend::ScalarType;

use crate::fault::FaultKind;

/// A CTA begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaStart {
    /// Its place in the order of CTAs: x runs fastest, except that a cluster's CTAs are
    /// neighbours.
    pub cta: u64,
    /// Its coordinates in the grid.
    pub ctaid: [u32; 3],
    /// Its rank in its cluster.
    pub rank: u32,
    /// CTAs of a cluster; 1 without clusters.
    pub ctas_per_cluster: u32,
}

/// Lanes of a warp that exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes.
    pub mask: u32,
}

/// Lanes that arrive at an instruction which names the lanes that execute it together:
/// `bar.warp.sync`, `shfl.sync`, `vote.sync` and their like, `wmma` and `mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpArrival<'a> {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes that arrive.
    pub mask: u32,
    /// Each lane's member mask.
    pub members: &'a [u32; 32],
}

/// Lanes that execute `shfl`, and whose registers they read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleUse<'a> {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes that arrive. Those of `shfl.sync` wait for the others of their members.
    pub mask: u32,
    /// Each lane's member mask; none without `.sync`.
    pub members: Option<&'a [u32; 32]>,
    /// The lane that each lane reads: itself if the source is out of range.
    pub sources: &'a [u32; 32],
}

/// Lanes that `bar.warp.sync` lets go on together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpRelease {
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes that have met.
    pub lanes: u32,
}

/// A step at an mbarrier object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierStep {
    /// It begins or ends to exist.
    Define,
    /// Arrivals, by threads or by their copies.
    Arrive,
    /// Bytes are announced: no arrival by itself.
    Expect,
    /// Bytes are on their way; the phase to which they belong waits for them.
    CompleteBytes,
    /// An asynchronous operation has ended, and with it a phase. The instruction, warp and lane are
    /// those that issued it. If their CTA has exited, the recorder of the object's CTA is told.
    Completed,
    /// A phase that was waited for is complete.
    Passed,
}

/// Lanes of a warp use mbarrier objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierUse<'a> {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes, which take their turns in ascending order.
    pub mask: u32,
    /// The step they take.
    pub step: MbarrierStep,
    /// The lanes whose step completed the phase.
    pub completes: u32,
    /// Each lane's object: its address in shared memory.
    pub addresses: &'a [u64; 32],
}

/// A step at the barrier of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterStep {
    /// Lanes arrive.
    Arrive,
    /// All threads of the cluster have arrived. It happens once for the cluster, and is told to the
    /// recorder of its first CTA that has not exited.
    Complete,
    /// Lanes have waited and go on.
    Passed,
}

/// Lanes of a warp at the barrier of their cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterUse {
    /// The warp's index within its CTA; 0 for [`ClusterStep::Complete`].
    pub warp: u32,
    /// The lanes; none for [`ClusterStep::Complete`].
    pub mask: u32,
    /// The step at the barrier.
    pub step: ClusterStep,
}

/// `cp.async` has written shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyDone<'a> {
    /// The `cp.async`, an index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes whose part is done.
    pub mask: u32,
    /// Bytes for each lane.
    pub bytes: u32,
    /// Each lane's offset in the CTA's own shared memory.
    pub offsets: &'a [u32; 32],
    /// True if the lanes have waited for it, or made an mbarrier wait; otherwise they exit.
    pub waited: bool,
}

/// The queues of asynchronous operations that read shared memory and that a thread waits for by the
/// group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupQueue {
    /// Bulk copies (`cp.async.bulk.commit_group`, `.wait_group`).
    Bulk,
    /// Products of warpgroups (`wgmma.commit_group`, `.wait_group`).
    Warpgroup,
}

/// A step of a thread with its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupStep {
    /// Close the group of all operations since the last one was closed.
    Commit,
    /// Wait until the sources of all but the latest `left` groups have been read.
    Wait {
        /// Number of groups that may be left.
        left: u32,
    },
}

/// Lanes of a warp commit groups of asynchronous operations or wait for them. The operations
/// themselves have been reported when they were issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupUse {
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes, each of which has groups of its own.
    pub mask: u32,
    /// Queue of the operations.
    pub queue: GroupQueue,
    /// The step they take.
    pub step: GroupStep,
}

/// A lane's access that cannot be done and is left out: loads give zero, stores do nothing. Only
/// with [`Options::skip_bad_accesses`](crate::Options::skip_bad_accesses).
#[derive(Clone, Copy, Debug)]
pub struct BadAccess<'a> {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
    /// Kind of the fault.
    pub kind: &'a FaultKind,
}

/// A product of matrices whose extents are known when it is issued (`tcgen05.mma`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorUse {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The format of the elements of A.
    pub ty: ScalarType,
    /// The format of the sums.
    pub sum: ScalarType,
    /// Operations, a multiply-add being two; of a sparse A the elements that are stored count.
    pub operations: u64,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// Rows of A in each CTA that takes part.
    pub rows: u32,
    /// Columns of tensor memory that hold the sums, in each CTA.
    pub columns: u32,
}

/// A call of `malloc` or `free` that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapUse {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
    /// The block's address.
    pub address: u64,
    /// The bytes asked for; `None` if the block is freed.
    pub bytes: Option<u64>,
    /// Address of the heap, and its size in bytes.
    pub heap: (u64, u64),
}
