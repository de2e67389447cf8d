//! What can go wrong while a kernel runs.
//!
//! A fault is a result: it says what happened, where in the PTX and the CUDA source, and to which
//! thread, so that the caller can render it like any other diagnostic.

use std::fmt;

use gpucast_ptx_frontend::module::Location;
use gpucast_ptx_frontend::types::StateSpace;

/// A kernel's execution came to an end that it should not have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Fault {
    /// What happened.
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
        /// For global addresses, the nearest buffer.
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
    /// Threads of one warp reached an aligned barrier at different instructions.
    #[error("divergent barrier: threads of one warp wait at different barrier instructions")]
    DivergentBarrier,
    /// `trap` was executed.
    #[error("the kernel executed trap")]
    Trap,
    /// A branch or call through a register went nowhere valid.
    #[error("indirect {what} to {value:#x}, which is not a valid target")]
    BadTarget {
        /// `branch` or `call`.
        what: &'static str,
        /// The index or address used.
        value: u64,
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
