//! Which machine instructions stand for an operation.

mod convert;
mod expansions;
mod float;
mod integer;
mod memory;
mod movement;
mod operands;

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::{InstructionClass, Modifier, Opcode};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace, TypeKind};
use smallvec::{SmallVec, smallvec};

use super::super::MachineAccess;
use super::family::{Convergence, Family};
use super::graph::{Graph, Op};
use crate::operation::Flops;

pub(super) use operands::{ConstantUses, Operands};

/// One machine instruction, or several of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Selected {
    /// As the vendor's disassembler writes it.
    pub(super) mnemonic: &'static str,
    /// What a profiler counts it as.
    pub(super) class: InstructionClass,
    /// Its floating-point operations.
    pub(super) flops: Option<Flops>,
    /// Its access to memory.
    pub(super) access: Option<MachineAccess>,
    /// How many of them.
    pub(super) count: u32,
    /// Whether its guard is false wherever numbers are ordinary: it is issued, and no thread executes it.
    pub(super) is_idle: bool,
}

/// The machine instructions of one operation.
pub(super) type Selection = SmallVec<[Selected; 2]>;

impl Selected {
    pub(super) const fn new(mnemonic: &'static str, class: InstructionClass, count: u32) -> Self {
        Self { mnemonic, class, flops: None, access: None, count, is_idle: false }
    }

    pub(super) const fn integer(mnemonic: &'static str, count: u32) -> Self {
        Self::new(mnemonic, InstructionClass::Integer, count)
    }

    /// A constant that is loaded into registers: a load, where other generations have an operand.
    pub(super) const fn constant(bytes: u32) -> Self {
        let space = Some(StateSpace::Const);
        let access = Some(MachineAccess { space, kind: AccessKind::Load, bytes });
        Self { access, ..Self::new("LDC", InstructionClass::LoadStore, 1) }
    }

    pub(super) const fn misc(mnemonic: &'static str, count: u32) -> Self {
        Self::new(mnemonic, InstructionClass::Misc, count)
    }
}

/// The instructions of a live operation, without those that bring its operands into registers and
/// without branches.
pub(super) fn select(graph: &Graph<'_>, family: &Family, index: u32) -> Selection {
    use Opcode as O;
    let op = graph.op(index);
    match op.opcode {
        O::Bra | O::BrxIdx | O::Ret | O::Exit | O::Call => smallvec![],
        O::Mov
        | O::Cvta
        | O::Shfl
        | O::Vote
        | O::Match
        | O::Activemask
        | O::Redux
        | O::Elect
        | O::Prmt
        | O::Isspacep
        | O::Mapa
        | O::Getctarank
        | O::Movmatrix => movement::select(graph, op, family),
        O::Cvt | O::CvtPack => convert::select(graph, op, family),
        O::Bar | O::Barrier => {
            let mut barrier = smallvec![Selected::misc("BAR", 1)];
            if family.barrier_fence {
                barrier.push(Selected::misc("MEMBAR", 1));
            }
            barrier
        }
        _ if op.memory.is_some() || is_memory(op) => memory::select(graph, op, family),
        _ => arithmetic(graph, op, family),
    }
}

fn is_memory(op: &Op<'_>) -> bool {
    op.source.form.form().class == InstructionClass::LoadStore
}

fn arithmetic(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Selection {
    if let Some(expansion) = expansions::expand(graph, op, family) {
        return expansion;
    }
    let class = op.source.form.form().class;
    if class == InstructionClass::Tensor {
        // Whatever the type of its elements.
        return smallvec![Selected::new(mnemonic(op.opcode), class, repeats(op, family))];
    }
    match op.ty.kind() {
        TypeKind::Float => float::select(op),
        TypeKind::Packed if op.ty != ScalarType::U16x2 && op.ty != ScalarType::S16x2 => {
            float::select(op)
        }
        TypeKind::Predicate => smallvec![Selected::misc("PLOP3", 1)],
        _ => match class {
            class @ (InstructionClass::Integer
            | InstructionClass::Fp16
            | InstructionClass::Fp32
            | InstructionClass::Fp64) => integer::select(graph, op, family, class),
            class => smallvec![Selected::new(mnemonic(op.opcode), class, repeats(op, family))],
        },
    }
}

/// How many machine instructions an operation of its own class is.
fn repeats(op: &Op<'_>, family: &Family) -> u32 {
    let barriers = family.convergence == Convergence::Barrier;
    let of_device = op.has(Modifier::Gl) || op.has(Modifier::Gpu) || op.has(Modifier::Sys);
    match op.opcode {
        // `MEMBAR`, `ERRBAR` and the invalidation of the L1 (sm_70 and later).
        Opcode::Membar | Opcode::Fence if barriers && of_device => 3,
        // Volta multiplies 8 × 8 × 4 for each quarter of a warp; later ones half of the shape.
        Opcode::WmmaMma if family.saves_barrier => 16,
        Opcode::WmmaMma => 2,
        _ => 1,
    }
}

/// The machine's name for what is one instruction in every generation.
fn mnemonic(opcode: Opcode) -> &'static str {
    use Opcode as O;
    match opcode {
        O::Membar | O::Fence => "MEMBAR",
        O::BarWarp => "WARPSYNC",
        O::Mma | O::WmmaMma => "HMMA",
        O::WgmmaMmaAsync => "HGMMA",
        O::Nanosleep => "NANOSLEEP",
        other => other.text(),
    }
}
