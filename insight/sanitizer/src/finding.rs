//! Findings, as data.

use std::collections::HashMap;

use gpucast_interpreter::fault::FaultKind;
use gpucast_ptx_frontend::Span;
use gpucast_ptx_frontend::module::Location;
use gpucast_ptx_frontend::types::StateSpace;

use crate::checks::Check;

/// In which order two accesses happened here, which another run may turn round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hazard {
    /// A read after a write (RAW).
    ReadAfterWrite,
    /// A write after a read (WAR).
    WriteAfterRead,
    /// A write after a write of something else (WAW).
    WriteAfterWrite,
}

/// Whose accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Between {
    /// Lanes of one warp, without `bar.warp.sync` between their instructions.
    Lanes,
    /// Lanes of one warp in one instruction.
    OneInstruction,
    /// Warps of one CTA.
    Warps,
    /// CTAs of one cluster.
    Ctas,
    /// A thread and a `cp.async` that its own thread has not waited for.
    PendingCopy,
    /// A thread and a bulk copy whose mbarrier it has not waited for.
    BulkCopy,
    /// A thread and an asynchronous operation that still reads: a bulk copy out of shared memory,
    /// or a product of a warpgroup, whose group its own thread has not waited for.
    PendingRead,
    /// A thread, or the tensor cores, and a transfer of tensor memory that its own warp has not
    /// waited for.
    PendingTransfer,
    /// A thread and the tensor cores, whose commit it has not waited for.
    TensorCores,
}

/// Reason why a shuffle gets nothing from a lane that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Absence {
    /// The mask does not name the lane.
    OutsideMask,
    /// The lane has exited.
    Exited,
    /// The warp has fewer lanes.
    NoThread,
    /// The lane does not execute the shuffle now; only without `.sync`, which would wait for it.
    Inactive,
}

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An access outside every object of its space.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// A store to memory that cannot be written, or an operand in the wrong memory.
    WrongMemory,
    /// An access to the device heap outside every block that is allocated.
    HeapOutOfBounds,
    /// `free` of something that is no block.
    BadFree,
    /// Two accesses that nothing orders.
    Race(Hazard, Between),
    /// A read of memory that nothing has written.
    Uninitialised,
    /// Columns of tensor memory that a CTA has not freed when it ends.
    ColumnsLeft,
    /// Threads have exited when others pass a barrier that is for all of them.
    ExitedBeforeBarrier,
    /// Some lanes of a warp are at an aligned barrier and some are not.
    DivergentBarrier,
    /// A thread is not in the mask of lanes that it gives itself.
    NotInMask,
    /// Lanes that a mask names have exited and do not execute the instruction.
    MissingLanes,
    /// Lanes that a mask names execute the instruction with another mask.
    DifferingMasks,
    /// A shuffle reads a lane from which it gets an undefined value.
    ReadsLane(Absence),
    /// Threads meet at one barrier with different numbers of threads.
    DifferingCounts,
    /// Nothing orders a use of a CTA's shared memory by another CTA before the first one's exit.
    UsedAfterExit,
    /// Threads wait for others that will not come.
    Deadlock,
    /// A barrier, an mbarrier or a warp-wide instruction that is used in a way that has no
    /// meaning.
    InvalidBarrier,
}

impl Kind {
    /// The check that finds it.
    #[must_use]
    pub const fn check(self) -> Check {
        match self {
            Self::OutOfBounds
            | Self::Misaligned
            | Self::WrongMemory
            | Self::HeapOutOfBounds
            | Self::BadFree
            | Self::ColumnsLeft => Check::Memory,
            Self::Race(..) | Self::UsedAfterExit => Check::Race,
            Self::Uninitialised => Check::Init,
            Self::ExitedBeforeBarrier
            | Self::DivergentBarrier
            | Self::NotInMask
            | Self::MissingLanes
            | Self::DifferingMasks
            | Self::ReadsLane(_)
            | Self::DifferingCounts
            | Self::Deadlock
            | Self::InvalidBarrier => Check::Sync,
        }
    }

    /// A name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds",
            Self::Misaligned => "misaligned",
            Self::WrongMemory => "wrong-memory",
            Self::HeapOutOfBounds => "heap-out-of-bounds",
            Self::BadFree => "bad-free",
            Self::Race(Hazard::ReadAfterWrite, _) => "read-after-write",
            Self::Race(Hazard::WriteAfterRead, _) => "write-after-read",
            Self::Race(Hazard::WriteAfterWrite, _) => "write-after-write",
            Self::Uninitialised => "uninitialised-read",
            Self::ColumnsLeft => "columns-left",
            Self::ExitedBeforeBarrier => "exited-before-barrier",
            Self::DivergentBarrier => "divergent-barrier",
            Self::NotInMask => "not-in-mask",
            Self::MissingLanes => "missing-lanes",
            Self::DifferingMasks => "differing-masks",
            Self::ReadsLane(Absence::OutsideMask) => "reads-lane-outside-mask",
            Self::ReadsLane(Absence::Exited) => "reads-exited-lane",
            Self::ReadsLane(Absence::NoThread) => "reads-lane-without-thread",
            Self::ReadsLane(Absence::Inactive) => "reads-inactive-lane",
            Self::DifferingCounts => "differing-counts",
            Self::UsedAfterExit => "used-after-exit",
            Self::Deadlock => "deadlock",
            Self::InvalidBarrier => "invalid-barrier",
        }
    }

    /// The kind of a fault, unless no check is concerned with it.
    #[must_use]
    pub fn of_fault(fault: &FaultKind) -> Option<Self> {
        Some(match fault {
            FaultKind::OutOfBounds { .. }
            | FaultKind::CtaExited { .. }
            | FaultKind::TensorMemoryBounds { .. } => Self::OutOfBounds,
            FaultKind::Misaligned { .. } => Self::Misaligned,
            FaultKind::ReadOnly { .. }
            | FaultKind::NotShared { .. }
            | FaultKind::OtherCta { .. } => Self::WrongMemory,
            FaultKind::BadFree { .. } => Self::BadFree,
            FaultKind::TensorMemoryLeft { .. } => Self::ColumnsLeft,
            FaultKind::DivergentBarrier => Self::DivergentBarrier,
            FaultKind::BarrierDeadlock { .. }
            | FaultKind::WarpDeadlock { .. }
            | FaultKind::WarpgroupDeadlock { .. }
            | FaultKind::MbarrierDeadlock { .. }
            | FaultKind::TensorMemoryDeadlock
            | FaultKind::ClusterDeadlock { .. } => Self::Deadlock,
            FaultKind::BadBarrier { .. }
            | FaultKind::PartialWarp { .. }
            | FaultKind::Mbarrier { .. }
            | FaultKind::ClusterArrivedTwice
            | FaultKind::ClusterWaitFirst => Self::InvalidBarrier,
            FaultKind::BudgetExhausted { .. }
            | FaultKind::NotComputed { .. }
            | FaultKind::UndefinedOperand { .. }
            | FaultKind::Trap
            | FaultKind::Unsupported { .. }
            | FaultKind::TooManyCopies { .. }
            | FaultKind::BadTarget { .. }
            | FaultKind::CallMismatch { .. }
            | FaultKind::StackOverflow { .. }
            | FaultKind::Assertion { .. }
            | FaultKind::BadFormat { .. }
            | FaultKind::TooMuchPrinted { .. }
            | FaultKind::EndlessText { .. }
            | FaultKind::BadOperand { .. }
            | FaultKind::TensorMemoryPermit
            | FaultKind::NoPair { .. }
            | FaultKind::CallDepth { .. } => return None,
        })
    }
}

/// An instruction of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// One-based line of the PTX.
    pub line: u32,
    /// Byte range in the PTX text.
    pub span: Span,
    /// The CUDA line, where `.loc` gives one.
    pub location: Option<Location>,
}

/// A thread at an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The instruction, where one is to blame.
    pub site: Option<Site>,
    /// The CTA's coordinates in the grid.
    pub cta: [u32; 3],
    /// The thread's coordinates in its CTA, where one is to blame.
    pub thread: Option<[u32; 3]>,
}

/// Memory that an access touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedMemory {
    /// The space.
    pub space: StateSpace,
    /// The address in that space.
    pub address: u64,
    /// Bytes accessed.
    pub bytes: u32,
    /// The variable, buffer or block that holds the address, or the nearest, and the address's
    /// distance from its first byte.
    pub object: Option<(String, i64)>,
}

/// The first of the occurrences that a finding stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The thread that did it.
    pub party: Party,
    /// The thread that did the other access, or is missing at the barrier.
    pub other: Option<Party>,
    /// The memory concerned.
    pub place: Option<TouchedMemory>,
    /// Sentence of a fault, or masks and numbers that belong to the kind.
    pub detail: Option<String>,
    /// True if `detail` is a fault's own sentence.
    pub is_fault: bool,
}

/// All occurrences of one thing at one instruction, or at one pair of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the finding.
    pub kind: Kind,
    /// Number of occurrences: one for each thread and execution.
    pub count: u64,
    /// The first occurrence, in the order of CTAs.
    pub example: Example,
}

/// The properties by which findings differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) instruction: u32,
    pub(crate) other: Option<u32>,
}

/// The most findings that are kept apart; a kernel with more has one problem that shows everywhere.
const MOST_FINDINGS: usize = 1000;

/// Findings by their [`Key`].
#[derive(Debug, Default)]
pub(crate) struct Collection {
    findings: Vec<(Key, Finding)>,
    index: HashMap<Key, usize>,
    /// Occurrences of findings that were one too many.
    pub(crate) dropped: u64,
}

impl Collection {
    /// Counts an occurrence; `example` is asked for the first.
    pub(crate) fn add(&mut self, key: Key, count: u64, example: impl FnOnce() -> Example) {
        if let Some(&at) = self.index.get(&key) {
            self.findings[at].1.count += count;
        } else if self.findings.len() == MOST_FINDINGS {
            self.dropped += count;
        } else {
            self.index.insert(key, self.findings.len());
            let finding = Finding { kind: key.kind, count, example: example() };
            self.findings.push((key, finding));
        }
    }

    /// Takes over the findings of a later CTA.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.dropped += std::mem::take(&mut other.dropped);
        other.index.clear();
        for (key, finding) in other.findings.drain(..) {
            self.add(key, finding.count, || finding.example);
        }
    }

    /// All findings: by check, then in order of the text.
    pub(crate) fn into_findings(mut self) -> Vec<Finding> {
        self.findings
            .sort_by_key(|(key, _)| (key.kind.check(), key.instruction, key.other, key.kind));
        self.findings.into_iter().map(|(_, finding)| finding).collect()
    }
}
