//! Machine instructions before they have an order.

use gpucast_counters::machine::MachineAccess;
use gpucast_counters::tensor::{TensorFormat as Counted, tensor_operations};
use gpucast_interpreter::AccessKind as Kind;
use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use gpucast_simulation::code::{
    AccessKind, Action, Class, Constant, FenceScope, MemoryAccess, Space, TensorFormat,
};
use smallvec::SmallVec;

use super::super::emit::{Emitted, Role};
use super::super::family::{Family, Multiplier};
use super::super::graph::{Arg, Graph, Op, Part, Register};
use super::constants::Banks;
use super::latency::Use;
use crate::bulk_copies;
use crate::tensor_memory;
use crate::unit_class::unit_class;

/// The barrier that asynchronous copies signal.
pub(super) const COPIES: u8 = 63;

/// A result of an instruction of the same block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) node: u32,
    pub(super) by: Use,
}

/// A value from before the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveIn {
    pub(super) register: Register,
    pub(super) by: Use,
}

/// One machine instruction of a block.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) mnemonic: &'static str,
    pub(super) class: Class,
    pub(super) action: Action,
    /// The operation that it stands for.
    pub(super) operation: u32,
    /// The constant that it reads.
    pub(super) constant: Option<Constant>,
    /// Results of the block that it uses.
    pub(super) sources: SmallVec<[Source; 4]>,
    /// Values from before the block that it uses.
    pub(super) live_in: SmallVec<[LiveIn; 2]>,
    /// Instructions of the block that it must not be issued before.
    pub(super) after: SmallVec<[u32; 2]>,
    /// True if nothing moves across it.
    pub(super) is_fence: bool,
    /// True if somebody may wait for its result.
    pub(super) has_result: bool,
    /// Registers of 32 bits that the result takes.
    pub(super) words: u32,
}

impl Node {
    /// The `number`-th instruction of an emitted group.
    pub(super) fn new(
        graph: &Graph<'_>,
        banks: &Banks<'_>,
        emitted: &Emitted,
        number: u32,
        queue: Option<u32>,
    ) -> Self {
        let op = graph.op(emitted.operation);
        let family = banks.family;
        let mnemonic = emitted.selected.mnemonic;
        let class = class(op, family, emitted);
        let action = match emitted.selected.access {
            Some(access) => Action::Access(memory_access(op, family, mnemonic, access, queue)),
            None if emitted.role == Role::Own => {
                let ends_group = is_beside(op.opcode) && ends_group(graph, emitted.operation);
                action(op, emitted, number, queue, ends_group)
            }
            None if emitted.role == Role::Control && mnemonic == "EXIT" && ends_warp(op) => {
                Action::Exit
            }
            None => Action::Compute,
        };
        Self {
            mnemonic,
            class,
            action,
            operation: emitted.operation,
            constant: banks.constant(op, emitted),
            sources: SmallVec::new(),
            live_in: SmallVec::new(),
            after: SmallVec::new(),
            is_fence: class == Class::Branch && !matches!(mnemonic, "SSY" | "BSSY" | "BMOV"),
            has_result: false,
            words: 1,
        }
    }

    /// True if it is a barrier or fence, which hold a warp up by themselves.
    pub(super) const fn is_barrier(&self) -> bool {
        matches!(
            self.action,
            Action::CtaBarrier { .. } | Action::CtaArrive { .. } | Action::Fence(_)
        )
    }

    /// True if memory behind the SM may have to answer.
    pub(super) const fn is_far(&self) -> bool {
        match self.action {
            Action::Access(access) => !matches!(access.space, Space::Shared | Space::Constant),
            _ => matches!(self.class, Class::Texture),
        }
    }
}

/// Words of 32 bits of all results of an operation. Predicates are no registers.
pub(super) fn result_words(op: &Op<'_>) -> u32 {
    use Opcode as O;
    let results = op.results.len() as u32;
    match op.opcode {
        O::Setp | O::Testp | O::Elect | O::MbarrierTestWait | O::MbarrierTryWait => 0,
        _ if op.ty == ScalarType::Pred => 0,
        _ if op.low_half_only => 1,
        O::Mov if results > 1 && op.args.len() == 1 => op.result_bits().div_ceil(32),
        O::Shfl | O::Match => 1,
        _ => op.result_bits().div_ceil(32).max(1) * results,
    }
}

/// A guarded exit leaves lanes behind. The exit of a device function goes on after the call.
fn ends_warp(op: &Op<'_>) -> bool {
    op.guard.is_none() && matches!(op.opcode, Opcode::Exit | Opcode::Ret)
}

/// Reads of registers beside the scheduler. A barrier announces their results.
pub(super) fn reads_special_registers(mnemonic: &str) -> bool {
    matches!(mnemonic, "S2R" | "S2UR" | "CS2UR" | "B2R" | "R2B")
}

/// The class that tells how an assembler spaces an instruction: special registers are read like
/// conversions.
fn class(op: &Op<'_>, family: &Family, emitted: &Emitted) -> Class {
    let mnemonic = emitted.selected.mnemonic;
    if reads_special_registers(mnemonic) {
        return Class::Conversion;
    }
    let class = unit_class(mnemonic).unwrap_or(Class::Other);
    if emitted.role != Role::Own {
        return class;
    }
    let is_wide = |ty: ScalarType| ty.bits() == 64;
    match class {
        Class::IntegerMultiply
            if op.part == Part::Wide
                && family.multiplier == Multiplier::ImadWide
                && mnemonic == "IMAD" =>
        {
            Class::WideMultiply
        }
        Class::Conversion
            if matches!(mnemonic, "F2F" | "F2I" | "I2F" | "FRND")
                && op.source.types().any(is_wide) =>
        {
            Class::WideConversion
        }
        other => other,
    }
}

/// The space of an access; generic if the instruction names none.
pub(super) const fn space(space: Option<StateSpace>) -> Space {
    match space {
        Some(StateSpace::Global) => Space::Global,
        Some(StateSpace::Local) => Space::Local,
        Some(StateSpace::Shared) => Space::Shared,
        Some(StateSpace::Const | StateSpace::Param) => Space::Constant,
        _ => Space::Generic,
    }
}

fn memory_access(
    op: &Op<'_>,
    family: &Family,
    mnemonic: &str,
    access: MachineAccess,
    queue: Option<u32>,
) -> MemoryAccess {
    let space = space(access.space);
    let kind = match access.kind {
        _ if mnemonic == "LDGSTS" => AccessKind::AsyncCopy { bypasses_l1: op.has(Modifier::Cg) },
        Kind::Load | Kind::LoadReadOnly => AccessKind::Load,
        Kind::Store => AccessKind::Store,
        Kind::Atomic => AccessKind::Atomic,
        Kind::Reduction => AccessKind::Reduction,
    };
    // Addresses of global memory take two registers up to Ada. Shared memory's are literals, or in
    // a uniform register.
    let is_near = matches!(space, Space::Shared | Space::Constant | Space::Local);
    let has_uniform_address = match op.memory.and_then(|memory| memory.base) {
        None => true,
        Some(Arg::Register(_)) => false,
        Some(_) => is_near || family.descriptor && family.shared_window,
    };
    MemoryAccess { space, kind, bytes: access.bytes, has_uniform_address, queue }
}

/// The action of an instruction without an access that is part of its operation.
fn action(
    op: &Op<'_>,
    emitted: &Emitted,
    number: u32,
    queue: Option<u32>,
    ends_group: bool,
) -> Action {
    use Opcode as O;
    let mnemonic = emitted.selected.mnemonic;
    let pending = || match op.args.first() {
        Some(Arg::Constant(groups)) => u8::try_from(*groups).unwrap_or(u8::MAX),
        _ => 0,
    };
    match op.opcode {
        O::Bar | O::Barrier if mnemonic == "MEMBAR" => Action::Fence(FenceScope::Cta),
        O::Bar | O::Barrier if op.has(Modifier::Arrive) => Action::CtaArrive { queue },
        O::Bar | O::Barrier => Action::CtaBarrier { queue },
        O::Membar | O::Fence if number == 0 => Action::Fence(scope(op)),
        O::CpAsyncCommitGroup | O::CpAsyncMbarrierArrive | O::CpAsyncBulkCommitGroup => {
            Action::CommitCopies { queue }
        }
        O::CpAsyncWaitGroup | O::CpAsyncBulkWaitGroup => {
            Action::AwaitCounter { counter: COPIES, pending: pending() }
        }
        O::CpAsyncWaitAll => Action::AwaitCounter { counter: COPIES, pending: 0 },
        O::MbarrierTestWait | O::MbarrierTryWait => Action::AwaitPhase { queue },
        O::MbarrierArrive | O::MbarrierArriveDrop => Action::ArriveAtPhase { queue },
        O::WgmmaWaitGroup => Action::AwaitProducts { pending: pending() },
        _ => match (bulk_copies::kind(op.source), tensor_memory::action(op.source, queue)) {
            (Some(kind), _) => Action::Access(MemoryAccess {
                space: Space::Global,
                kind,
                bytes: 0,
                has_uniform_address: true,
                queue,
            }),
            (None, Some(action)) => Action::TensorMemory(action),
            (None, None) => multiply(op, emitted, ends_group).unwrap_or(Action::Compute),
        },
    }
}

/// Products of a warpgroup run beside its warps.
const fn is_beside(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::WgmmaMmaAsync | Opcode::WgmmaMmaAsyncSp)
}

/// Returns true if a group of products is closed behind this one, before another one begins.
fn ends_group(graph: &Graph<'_>, product: u32) -> bool {
    let block = graph.op(product).block;
    let behind = (product + 1..graph.ops.len() as u32).map(|index| graph.op(index));
    let behind = behind.take_while(|op| op.block == block).map(|op| op.opcode);
    behind.take_while(|&opcode| !is_beside(opcode)).any(|opcode| opcode == Opcode::WgmmaCommitGroup)
}

fn scope(op: &Op<'_>) -> FenceScope {
    if op.has(Modifier::Sys) {
        FenceScope::System
    } else if op.has(Modifier::Gl) || op.has(Modifier::Gpu) {
        FenceScope::Gpu
    } else {
        FenceScope::Cta
    }
}

/// The product of a matrix instruction, divided among its machine instructions.
fn multiply(op: &Op<'_>, emitted: &Emitted, ends_group: bool) -> Option<Action> {
    let operations = tensor_operations(op.source)?;
    let accumulates_halves =
        op.source.types().next().is_some_and(|ty| matches!(ty, ScalarType::F16));
    let format = match operations.format {
        Counted::Fp64 => TensorFormat::Fp64,
        Counted::Tf32 => TensorFormat::Tf32,
        Counted::Fp16 if accumulates_halves => TensorFormat::HalfInHalf,
        Counted::Bf16 | Counted::Fp16 => TensorFormat::HalfInSingle,
        Counted::Fp8 => TensorFormat::Fp8,
        Counted::Fp6OrFp4 => TensorFormat::Fp6OrFp4,
        // `tcgen05.mma` alone has them, and is no multiplication of a warp.
        Counted::Int16 => return None,
        Counted::Int8 => TensorFormat::Int8,
        Counted::Int4 => TensorFormat::Int4,
        Counted::Int1 => TensorFormat::Int1,
    };
    let parts = u64::from(emitted.selected.count.max(1));
    Some(Action::Multiply {
        multiply_adds: u32::try_from(operations.per_warp / 2 / parts).unwrap_or(u32::MAX),
        format,
        is_asynchronous: is_beside(op.opcode),
        ends_group,
    })
}
