//! Faults of a running kernel.
//!
//! A fault is a result: it names the event, its place in the PTX and the CUDA source, and the
//! thread. The caller can render it like any other diagnostic.

use std::fmt;

use gpucast_ptx_frontend::module::Location;
use gpucast_ptx_frontend::types::StateSpace;

use crate::semantics::mbarrier::MbarrierError;

/// A kernel's execution came to an end that it should not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Fault {
    /// Kind of the fault.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: String,
    /// The instruction as written, where one is to blame.
    pub instruction: Option<FaultSite>,
    /// The CTA's coordinates.
    pub cta: [u32; 3],
    /// The thread's coordinates within its CTA, where one thread is to blame.
    pub thread: Option<[u32; 3]>,
}

/// The instruction that a fault happened at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSite {
    /// Byte range in the PTX text.
    pub span: gpucast_ptx_frontend::Span,
    /// The CUDA line, where `.loc` gives one.
    pub location: Option<Location>,
}

/// The buffer nearest to an address that is in none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestBuffer {
    /// Its name.
    pub name: String,
    /// Its first address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The ways in which a kernel's execution fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FaultKind {
    /// An access outside every object of its space.
    #[error("{}", out_of_bounds(*space, *address, *bytes, *write, nearest.as_ref(), *limit))]
    OutOfBounds {
        /// The space accessed; `None` through a generic address in no window.
        space: Option<StateSpace>,
        /// The address, in that space.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// Store or atomic.
        write: bool,
        /// For global addresses, the nearest buffer if one is near.
        nearest: Option<NearestBuffer>,
        /// For the other spaces, their size in bytes.
        limit: Option<u64>,
    },
    /// An address that is no multiple of the access's size.
    #[error("misaligned access: address {address:#x} is not a multiple of {bytes} bytes")]
    Misaligned {
        /// The address.
        address: u64,
        /// Bytes accessed, which is also the alignment asked for.
        bytes: u32,
    },
    /// A store to memory that cannot be written.
    #[error("store to read-only {space} memory at address {address:#x}")]
    ReadOnly {
        /// `constant` or `parameter`.
        space: &'static str,
        /// The address.
        address: u64,
    },
    /// The instruction budget is used up: very likely an endless loop.
    #[error("the launch used up its budget of {budget} warp instructions; is this loop endless?")]
    BudgetExhausted {
        /// The budget in warp-instructions.
        budget: u64,
    },
    /// Every thread that could still run waits, and nothing can wake it.
    #[error("deadlock at a barrier: {waiting} threads wait at barrier {barrier} for {expected}")]
    BarrierDeadlock {
        /// The barrier's number.
        barrier: u32,
        /// Threads that have arrived.
        waiting: u32,
        /// Threads that it waits for.
        expected: u32,
    },
    /// A barrier that does not exist.
    #[error("there is no barrier {barrier}: a CTA has barriers 0 to 15")]
    BadBarrier {
        /// The number used.
        barrier: u32,
    },
    /// Lanes of one warp wait for others that will never come.
    #[error("deadlock in a warp: lanes {waiting:#010x} wait for lanes {members:#010x}")]
    WarpDeadlock {
        /// Lanes that wait.
        waiting: u32,
        /// The member mask of the instruction that they wait at.
        members: u32,
    },
    /// An aligned instruction of the whole warp was executed by a part of it.
    #[error(
        "only lanes {lanes:#010x} of the warp execute this instruction, which is .aligned: all 32 \
         lanes must execute it together, and none may have exited"
    )]
    PartialWarp {
        /// Lanes that execute it.
        lanes: u32,
    },
    /// Not all warps of a warpgroup come to an instruction that they execute together.
    #[error(
        "deadlock: {here} of the four warps of this warpgroup wait at this instruction, which all \
         four must execute together; {live} of them have not exited"
    )]
    WarpgroupDeadlock {
        /// Warps that wait here.
        here: u32,
        /// Warps of the warpgroup that have not exited.
        live: u32,
    },
    /// An operand whose value the manual leaves undefined.
    #[error("PTX gives no meaning to {what}: {value:#x}")]
    UndefinedOperand {
        /// The operand.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// Threads of one warp reached an aligned barrier at different instructions.
    #[error("divergent barrier: threads of one warp wait at different barrier instructions")]
    DivergentBarrier,
    /// `trap` was executed.
    #[error("the kernel executed trap")]
    Trap,
    /// An instruction was reached that this executor does not know how to execute.
    #[error("{instruction} cannot be executed: {reason}")]
    Unsupported {
        /// The mnemonic with its modifiers.
        instruction: String,
        /// Reason for the refusal.
        reason: String,
    },
    /// More asynchronous copies are under way than shared memory could need.
    #[error(
        "a warp has {copies} cp.async under way that nobody waits for; is a cp.async.wait_group \
         missing in a loop?"
    )]
    TooManyCopies {
        /// Copies of the warp that have been issued and not waited for.
        copies: u32,
    },
    /// A branch or call through a register went nowhere valid.
    #[error("indirect {what} to {value:#x}, which is not a valid target")]
    BadTarget {
        /// `branch` or `call`.
        what: &'static str,
        /// The index or address used.
        value: u64,
    },
    /// An indirect call of a function that takes or returns something else.
    #[error(
        "indirect call to {address:#x}, a function whose parameters or results are not those of \
         the call's prototype"
    )]
    CallMismatch {
        /// The function's address.
        address: u64,
    },
    /// A thread's stack is full.
    #[error(
        "stack overflow: a thread needs {bytes} bytes of local memory and stack; it has {limit}"
    )]
    StackOverflow {
        /// Bytes needed so far.
        bytes: u64,
        /// Bytes that there are.
        limit: u64,
    },
    /// An assertion of the kernel does not hold.
    #[error("assertion `{message}` failed in {function} ({file}:{line})")]
    Assertion {
        /// The assertion as written.
        message: String,
        /// The source file.
        file: String,
        /// The line in it.
        line: u32,
        /// The function.
        function: String,
    },
    /// `free` of something that `malloc` did not return, or a second time.
    #[error("free of address {address:#x}, which is no allocated block of the device heap")]
    BadFree {
        /// The address.
        address: u64,
    },
    /// A format of `printf` that C does not define.
    #[error("printf: {what} in the format {format:?}")]
    BadFormat {
        /// The format.
        format: String,
        /// The fault of the format.
        what: &'static str,
    },
    /// More text than is kept.
    #[error("printf: the block has printed more than {limit} bytes")]
    TooMuchPrinted {
        /// Bytes that are kept of each block until it ends or gives way.
        limit: u64,
    },
    /// A text without an end.
    #[error("the text at address {address:#x} has no end within {bytes} bytes")]
    EndlessText {
        /// Address of its first byte.
        address: u64,
        /// Number of bytes that were read.
        bytes: u64,
    },
    /// An operand that an instruction cannot work with.
    #[error("{what} is {value}, but must be {allowed}")]
    BadOperand {
        /// The operand.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// An operand that must lie in shared memory and does not.
    #[error("{what} must be in shared memory, but {address:#x} is a generic address elsewhere")]
    NotShared {
        /// The operand.
        what: &'static str,
        /// Its generic address.
        address: u64,
    },
    /// An operand that must lie in the CTA's own shared memory and does not.
    #[error("{what} at shared address {address:#x} belongs to another CTA of the cluster")]
    OtherCta {
        /// The operand.
        what: &'static str,
        /// Its address in shared memory.
        address: u64,
    },
    /// A use of an mbarrier object that its state does not allow.
    #[error("mbarrier at shared address {address:#x}: {problem}")]
    Mbarrier {
        /// The object's address in shared memory.
        address: u64,
        /// The error of the mbarrier.
        problem: MbarrierError,
    },
    /// Every thread that could still run waits for the phase of an mbarrier, or does nothing but
    /// ask for it.
    #[error(
        "deadlock at the mbarrier at shared address {address:#x}: {waiting} threads wait for a \
         phase that lacks {pending} arrivals and {tx_count} bytes; it has completed {passed} phases"
    )]
    MbarrierDeadlock {
        /// The object's address in shared memory.
        address: u64,
        /// Threads of one warp that wait for it.
        waiting: u32,
        /// Arrivals that its phase still waits for.
        pending: u32,
        /// Bytes that its phase still waits for.
        tx_count: i32,
        /// Phases that it has completed.
        passed: u64,
    },
    /// A cell of tensor memory that is not allocated.
    #[error("lane {lane}, column {column} of tensor memory is not allocated")]
    TensorMemoryBounds {
        /// The lane.
        lane: u32,
        /// The column.
        column: u32,
    },
    /// `tcgen05.alloc` after `tcgen05.relinquish_alloc_permit`.
    #[error("the CTA allocates tensor memory after it has given up the permit to do so")]
    TensorMemoryPermit,
    /// Nobody frees the columns that `tcgen05.alloc` waits for, or asks for them in the pair's
    /// other CTA.
    #[error(
        "deadlock at tcgen05.alloc: nobody who could still run frees columns, or asks for the same in the other CTA of the pair"
    )]
    TensorMemoryDeadlock,
    /// A CTA has ended and holds tensor memory.
    #[error(
        "the CTA ends without freeing {columns} columns of tensor memory that it allocates here"
    )]
    TensorMemoryLeft {
        /// Columns of the first such allocation.
        columns: u32,
    },
    /// An instruction of a pair of CTAs without the second one.
    #[error(
        "the CTA with rank {rank} of the cluster, the other one of the pair, does not exist or has exited"
    )]
    NoPair {
        /// The missing CTA's rank.
        rank: u32,
    },
    /// Shared memory of a CTA that has exited.
    #[error(
        "shared address {address:#x} belongs to the CTA with rank {rank} of the cluster, which has \
         exited"
    )]
    CtaExited {
        /// The CTA's rank.
        rank: u32,
        /// The address in the cluster's window.
        address: u64,
    },
    /// Every thread of the cluster that could still run waits.
    #[error(
        "deadlock at the cluster's barrier: {arrived} threads have arrived of {expected} that have \
         not exited"
    )]
    ClusterDeadlock {
        /// Threads that have arrived.
        arrived: u32,
        /// Threads that it waits for.
        expected: u32,
    },
    /// `barrier.cluster.arrive` twice.
    #[error("the thread arrives at the cluster's barrier again without having waited there")]
    ClusterArrivedTwice,
    /// `barrier.cluster.wait` without `arrive`.
    #[error("the thread waits at the cluster's barrier without having arrived there")]
    ClusterWaitFirst,
    /// A slice was executed that leaves out values which it needs after all: an address was not
    /// made the way that the analysis has understood.
    #[error("contents at address {address:#x} are needed that counting did not compute")]
    NotComputed {
        /// The address.
        address: u64,
    },
    /// More nested calls than the call stack holds.
    #[error("call stack overflow: more than {depth} nested calls")]
    CallDepth {
        /// The limit.
        depth: u32,
    },
}

fn out_of_bounds(
    space: Option<StateSpace>,
    address: u64,
    bytes: u32,
    write: bool,
    nearest: Option<&NearestBuffer>,
    limit: Option<u64>,
) -> String {
    let what = if write { "store" } else { "load" };
    let space_name = match space {
        Some(StateSpace::Global) => "global",
        Some(StateSpace::Shared) => "shared",
        Some(StateSpace::Local) => "local",
        Some(StateSpace::Const) => "constant",
        Some(StateSpace::Param) => "parameter",
        _ => "generic",
    };
    let mut text =
        format!("out-of-bounds {what} of {bytes} bytes at {space_name} address {address:#x}");
    if let Some(buffer) = nearest {
        let end = buffer.address + buffer.bytes;
        let distance = if address >= end {
            format!("{} bytes past the end", address - end)
        } else if address < buffer.address {
            format!("{} bytes before the start", buffer.address - address)
        } else {
            format!("{} bytes before the end", end - address)
        };
        text += &format!(", {distance} of buffer {} ({} bytes)", buffer.name, buffer.bytes);
    } else if let Some(limit) = limit {
        text += &format!("; {limit} bytes are allocated");
    } else if space == Some(StateSpace::Global) {
        text += ", which belongs to no buffer";
    }
    text
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.cta;
        write!(f, "{} (kernel {}, CTA {x},{y},{z}", self.kind, self.kernel)?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread {x},{y},{z}")?;
        }
        write!(f, ")")
    }
}
