//! Machine instructions with the fields that schedule them.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The machine code of a kernel, as basic blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Code {
    /// All instructions, block by block.
    pub instructions: Vec<Instruction>,
    /// The instructions of each block.
    pub blocks: Vec<Range<u32>>,
    /// The number of request queues that instructions name ([`MemoryAccess::queue`]).
    pub queues: u32,
    /// Bytes of machine code, which the first CTA of an SM fetches.
    pub bytes: u32,
}

impl Code {
    /// The instructions of a block, as far as there are such.
    #[must_use]
    pub fn range(&self, block: usize) -> Range<u32> {
        let all = self.instructions.len() as u32;
        let Some(range) = self.blocks.get(block) else { return 0..0 };
        let end = range.end.min(all);
        range.start.min(end)..end
    }
}

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// Its name without modifiers, such as `FFMA`.
    pub mnemonic: Cow<'static, str>,
    /// The units that execute it.
    pub class: Class,
    /// What it does besides occupying a unit.
    pub action: Action,
    /// When it may issue and what it signals.
    pub control: Control,
    /// The PTX instruction that it stands for, an index into the program's instructions.
    pub ptx: Option<u32>,
    /// The constant that it reads, if the code says which.
    pub constant: Option<Constant>,
}

/// The place of a constant: launch parameters, launch dimensions, constant memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Constant {
    /// The bank of constants, or any number that tells one area from the others.
    pub bank: u32,
    /// Bytes from the start of the bank.
    pub offset: u32,
}

/// The kind of work that decides which unit executes an instruction, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// Single-precision addition, multiplication, multiply-add.
    Fp32,
    /// Half-precision arithmetic on pairs.
    Fp16,
    /// Double-precision arithmetic.
    Fp64,
    /// Integer addition, logic of three operands, moves and selections of the integer unit.
    Integer,
    /// Comparisons, minimum and maximum, also of floating-point numbers.
    Compare,
    /// Shifts and bit fields.
    Shift,
    /// Integer multiplication of 32 bits, and moves that go its way (`IMAD.MOV`).
    IntegerMultiply,
    /// Integer multiplication with a result of 64 bits.
    WideMultiply,
    /// Reciprocals, roots and transcendentals.
    Special,
    /// Conversions between types of at most 32 bits; counts of bits.
    Conversion,
    /// Conversions from and to types of 64 bits.
    WideConversion,
    /// Shuffles, votes and matches, which go through the load-store path.
    Shuffle,
    /// Matrix products.
    Tensor,
    /// Loads, stores, atomics and copies.
    Memory,
    /// Texture instructions.
    Texture,
    /// Jumps, barriers of convergence, exits.
    Branch,
    /// The uniform datapath.
    Uniform,
    /// Whatever only has to be issued.
    Other,
}

impl Class {
    /// Every class, in order of declaration.
    pub const ALL: [Self; 18] = [
        Self::Fp32,
        Self::Fp16,
        Self::Fp64,
        Self::Integer,
        Self::Compare,
        Self::Shift,
        Self::IntegerMultiply,
        Self::WideMultiply,
        Self::Special,
        Self::Conversion,
        Self::WideConversion,
        Self::Shuffle,
        Self::Tensor,
        Self::Memory,
        Self::Texture,
        Self::Branch,
        Self::Uniform,
        Self::Other,
    ];
}

impl Action {
    /// The queue that its requests come from ([`MemoryAccess::queue`]).
    #[must_use]
    pub const fn queue(&self) -> Option<u32> {
        match self {
            Self::Access(access) => access.queue,
            Self::CtaBarrier { queue }
            | Self::CtaArrive { queue }
            | Self::ArriveAtPhase { queue }
            | Self::AwaitPhase { queue }
            | Self::CommitCopies { queue }
            | Self::TensorMemory(
                TensorMemoryAction::Multiply(TensorProduct { queue, .. })
                | TensorMemoryAction::Copy { queue }
                | TensorMemoryAction::Commit { queue },
            ) => *queue,
            Self::Compute
            | Self::Multiply { .. }
            | Self::AwaitCounter { .. }
            | Self::AwaitProducts { .. }
            | Self::TensorMemory(
                TensorMemoryAction::Transfer { .. } | TensorMemoryAction::AwaitTransfers,
            )
            | Self::Fence(_)
            | Self::Exit => None,
        }
    }
}

/// What an instruction does besides occupying a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Action {
    /// Computes.
    Compute,
    /// Multiplies matrices: multiply-adds of the warp, at the rate of a format.
    Multiply {
        /// Multiply-adds of one execution by a warp.
        multiply_adds: u32,
        /// The format of the factors.
        format: TensorFormat,
        /// True if the product runs beside the warp and a later instruction waits for it (`wgmma`).
        is_asynchronous: bool,
        /// True if it is the last one of its group (`wgmma.commit_group`).
        ends_group: bool,
    },
    /// Accesses memory.
    Access(MemoryAccess),
    /// Waits until all warps of the CTA have arrived (`BAR.SYNC`), or those of a named barrier.
    CtaBarrier {
        /// The queue of requests that say at which phase of a named barrier it arrives. Without one
        /// it is the barrier of all warps.
        queue: Option<u32>,
    },
    /// Arrives at the barrier of the CTA and goes on (`BAR.ARV`).
    CtaArrive {
        /// As for [`Action::CtaBarrier`].
        queue: Option<u32>,
    },
    /// Waits until at most `pending` of a counter's events are outstanding (`DEPBAR.LE`).
    AwaitCounter {
        /// The counter, as in [`Control::write_barrier`].
        counter: u8,
        /// Events that may be outstanding.
        pending: u8,
    },
    /// Signals its write barrier when the warp's asynchronous copies so far are done (`LDGDEPBAR`),
    /// and tells an mbarrier (`ARRIVES.LDGSTSBAR`).
    CommitCopies {
        /// The queue of requests that say which phase of an mbarrier is told.
        queue: Option<u32>,
    },
    /// Arrives at an mbarrier and goes on (`SYNCS.ARRIVE`).
    ArriveAtPhase {
        /// The queue of requests that say at which phase, as in [`MemoryAccess::queue`].
        queue: Option<u32>,
    },
    /// Waits for a phase of an mbarrier (`SYNCS.PHASECHK`).
    AwaitPhase {
        /// The queue of requests that say for which one. A request without a phase asks in vain.
        queue: Option<u32>,
    },
    /// Waits for asynchronous matrix products (`WARPGROUP.DEPBAR`), all but the latest `pending`.
    AwaitProducts {
        /// Groups that may be outstanding.
        pending: u8,
    },
    /// Does something with tensor memory.
    TensorMemory(TensorMemoryAction),
    /// Waits as long as a fence of this scope takes (`MEMBAR`).
    Fence(FenceScope),
    /// Ends the warp.
    Exit,
}

/// What an instruction does with tensor memory.
///
/// Products and copies from shared memory queue for the tensor core of the SM and run beside the
/// warp. An execution without a request has no lane that issues one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TensorMemoryAction {
    /// Multiplies matrices (`UTCHMMA` and its like). Requests are the reads of shared memory.
    Multiply(TensorProduct),
    /// Copies from shared memory (`UTCCP`).
    Copy {
        /// The queue of its requests.
        queue: Option<u32>,
    },
    /// Tells an mbarrier when the CTA's products and copies so far are done (`UTCBAR`).
    Commit {
        /// The queue of requests that say which phase of an mbarrier is told.
        queue: Option<u32>,
    },
    /// Moves cells between tensor memory and the registers of a warp (`LDTM`, `STTM`).
    Transfer {
        /// Bytes of the warp.
        bytes: u32,
        /// True if tensor memory is written.
        writes: bool,
    },
    /// Waits for the warp's transfers so far (`tcgen05.wait`).
    AwaitTransfers,
}

/// A product whose sum is in tensor memory, as far as the instruction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TensorProduct {
    /// The format of the factors.
    pub format: TensorFormat,
    /// Stored elements of a row of A.
    pub depth: u32,
    /// True if A is in shared memory, else in tensor memory.
    pub reads_a: bool,
    /// SMs that multiply together: one, or a pair.
    pub sms: u32,
    /// The queue of its requests.
    pub queue: Option<u32>,
}

/// The threads that a fence orders memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FenceScope {
    /// Those of the CTA.
    Cta,
    /// Those of the GPU.
    Gpu,
    /// Those of the system.
    System,
}

/// The formats of matrix elements that tensor cores have rates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TensorFormat {
    /// `f64`.
    Fp64,
    /// `tf32`.
    Tf32,
    /// `f16` and `bf16`, accumulated in half precision.
    HalfInHalf,
    /// `f16` and `bf16`, accumulated in single precision.
    HalfInSingle,
    /// Eight-bit floating-point numbers.
    Fp8,
    /// Six- and four-bit floating-point numbers.
    Fp6OrFp4,
    /// Four-bit floating-point numbers in blocks with a factor each.
    ScaledFp4,
    /// Eight-bit integers.
    Int8,
    /// Four-bit integers.
    Int4,
    /// Bits.
    Int1,
}

impl TensorFormat {
    /// Every format, in order of declaration.
    pub const ALL: [Self; 10] = [
        Self::Fp64,
        Self::Tf32,
        Self::HalfInHalf,
        Self::HalfInSingle,
        Self::Fp8,
        Self::Fp6OrFp4,
        Self::ScaledFp4,
        Self::Int8,
        Self::Int4,
        Self::Int1,
    ];
}

/// The access of a machine instruction to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryAccess {
    /// Its space; a generic access takes the space of each of its requests.
    pub space: Space,
    /// Its kind.
    pub kind: AccessKind,
    /// Bytes of one lane.
    pub bytes: u32,
    /// True if all lanes take their address from one uniform register or literal.
    pub has_uniform_address: bool,
    /// The queue that its requests come from: all machine instructions that stand for the same PTX
    /// instruction share one. `None` if nothing was recorded, as for spills.
    pub queue: Option<u32>,
}

/// A state space, as far as the load-store path tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Space {
    /// Global memory.
    Global,
    /// Local memory.
    Local,
    /// Shared memory.
    Shared,
    /// Constants and parameters by an instruction of their own (`LDC`).
    Constant,
    /// Any of them: requests tell.
    Generic,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads into registers.
    Load,
    /// Writes.
    Store,
    /// Changes memory and returns what was there.
    Atomic,
    /// Changes memory and returns nothing.
    Reduction,
    /// Copies from global to shared memory beside the warp (`LDGSTS`).
    AsyncCopy {
        /// True if it goes past the first-level cache (`.BYPASS`).
        bypasses_l1: bool,
    },
    /// Copies a block of memory into shared memory beside the CTA (`UBLKCP`, `UTMALDG`).
    BulkCopy,
    /// Copies a block of shared memory to global memory beside the CTA (`UBLKCP`, `UTMASTG`).
    /// Groups of such copies are waited for as those of `LDGSTS`.
    BulkStore,
    /// Adds a block of shared memory to global memory beside the CTA (`UBLKRED`, `UTMAREDG`).
    BulkReduction,
}

impl AccessKind {
    /// True if the first-level cache keeps no table of the sectors that a read waits for.
    #[must_use]
    pub const fn bypasses_l1(self) -> bool {
        matches!(self, Self::AsyncCopy { bypasses_l1: true } | Self::BulkCopy)
    }
}

/// The scheduling fields of an instruction.
///
/// Since Maxwell machine code carries them. For other code an emulated assembler writes them. A
/// *barrier* is a counter of the warp: an instruction that signals one raises it when it issues and
/// lowers it later. NVIDIA's have six; emulated code may use up to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Control {
    /// Clocks until the warp may issue its next instruction. Zero pairs both in one clock, on
    /// machines with dual issue.
    pub stall: u8,
    /// The scheduler is told to prefer another warp. The simulation does not heed it.
    pub yields: bool,
    /// The barrier that is lowered when the result is written.
    pub write_barrier: Option<u8>,
    /// The barrier that is lowered when the operands have been read.
    pub read_barrier: Option<u8>,
    /// A bit for each barrier that must be zero before the instruction issues.
    pub wait_mask: u64,
}

impl Control {
    /// No waiting and no signal: the next instruction follows in the next clock.
    pub const NEXT: Self =
        Self { stall: 1, yields: false, write_barrier: None, read_barrier: None, wait_mask: 0 };
}
