//! Selects the machine instructions that stand for an operation.

mod atomics;
mod convert;
mod expansions;
mod float;
mod integer;
mod memory;
mod movement;
mod operands;
mod sequences;

use gpucast_counters::machine::MachineAccess;
use gpucast_counters::operation::Flops;
use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::{InstructionClass, Modifier, Opcode, opcode_facts};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace, TypeKind};
use gpucast_simulation::Combining;
use smallvec::{SmallVec, smallvec};

use super::family::{Convergence, Family};
use super::graph::{Choice, Graph, Op};
use crate::ptxas::meaning;
pub(super) use operands::{ConstantUses, Operands};

/// One machine instruction, or several of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Selected {
    /// As the vendor's disassembler writes it.
    pub(super) mnemonic: &'static str,
    /// The class that a profiler counts it as.
    pub(super) class: InstructionClass,
    /// Its floating-point operations.
    pub(super) flops: Option<Flops>,
    /// Its access to memory.
    pub(super) access: Option<MachineAccess>,
    /// The number of such instructions.
    pub(super) count: u32,
    /// True if its guard is false for ordinary numbers: it is issued, and no thread executes it.
    pub(super) is_idle: bool,
    /// How an atomic becomes updates by fewer lanes.
    pub(super) combining: Option<Combining>,
}

/// The machine instructions of one operation.
pub(super) type Selection = SmallVec<[Selected; 2]>;

impl Selected {
    /// `count` instructions of a name, with the class and the floating-point operations that the
    /// name means in machine code.
    pub(super) fn new(mnemonic: &'static str, count: u32) -> Self {
        // Every name that a rule gives has a meaning; a test looks at all of them.
        let meaning = meaning(mnemonic);
        Self {
            mnemonic,
            class: meaning.map_or(InstructionClass::Misc, |meaning| meaning.class),
            flops: meaning.and_then(|meaning| meaning.flops),
            access: None,
            count,
            is_idle: false,
            combining: None,
        }
    }

    /// A constant that is loaded into registers: a load, although other generations have an
    /// operand.
    pub(super) fn constant(bytes: u32) -> Self {
        let space = Some(StateSpace::Const);
        let access = Some(MachineAccess { space, kind: AccessKind::Load, bytes });
        Self { access, ..Self::new("LDC", 1) }
    }
}

/// The instructions of a live operation, without those that bring its operands into registers and
/// without branches.
pub(super) fn select(graph: &Graph<'_>, family: &Family, index: u32) -> Selection {
    use Opcode as O;
    let op = graph.op(index);
    if let Some(Choice { places, words, compares }) = op.choice {
        // The words of each place are moved if it is the one; a thread executes those moves.
        let comparisons = Selected::new("ISETP", if compares { places } else { 0 });
        let others = Selected { is_idle: true, ..Selected::new("MOV", words * (places - 1)) };
        let all = [comparisons, Selected::new("MOV", words), others];
        return all.into_iter().filter(|selected| selected.count > 0).collect();
    }
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
            let mut barrier = smallvec![Selected::new("BAR", 1)];
            if family.barrier_fence {
                barrier.push(Selected::new("MEMBAR", 1));
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
    if let Some(sequence) = sequences::expand(op, family) {
        return sequence;
    }
    let class = op.source.form.form().class;
    match op.opcode {
        // Comparisons are classed by the type that they compare, whatever type they yield.
        Opcode::Set | Opcode::Setp => return comparison(op, family),
        Opcode::Selp | Opcode::Slct => return selection(op, family),
        _ => {}
    }
    if op.ty == ScalarType::Pred {
        return smallvec![Selected::new("PLOP3", 1)];
    }
    match class {
        InstructionClass::Integer => integer::select(graph, op, family),
        InstructionClass::Fp16 | InstructionClass::Fp32 | InstructionClass::Fp64 => {
            float::select(op, family)
        }
        _ => smallvec![Selected::new(opcode_facts(op.opcode).machine, repeats(op, family))],
    }
}

/// Comparisons, with a predicate or a number as their result.
fn comparison(op: &Op<'_>, family: &Family) -> Selection {
    let to_predicate = op.opcode == Opcode::Setp;
    // Passes may have made a comparison of an operation on predicates.
    let compared = if to_predicate { Some(op.ty) } else { op.source.types().last() };
    let compared = compared.unwrap_or(op.ty);
    let (predicate, number) = match compared {
        ScalarType::F64 => ("DSETP", "DSET"),
        ScalarType::F32 => ("FSETP", "FSET"),
        // Halves are compared into numbers on every generation.
        ty if matches!(ty.kind(), TypeKind::Float | TypeKind::Packed) => {
            return smallvec![Selected::new(if to_predicate { "HSETP2" } else { "HSET2" }, 1)];
        }
        _ => ("ISETP", "ISET"),
    };
    let is_float = compared.kind() == TypeKind::Float;
    let halves = if is_float { 1 } else { compared.bits().div_ceil(32).max(1) };
    match (to_predicate, family.sets_numbers) {
        (true, _) => smallvec![Selected::new(predicate, halves)],
        (false, true) => [Selected::new(predicate, halves - 1), Selected::new(number, 1)]
            .into_iter()
            .filter(|selected| selected.count > 0)
            .collect(),
        (false, false) => smallvec![Selected::new(predicate, halves), Selected::new("SEL", 1)],
    }
}

/// Selections by a predicate, or by the sign of a number.
fn selection(op: &Op<'_>, family: &Family) -> Selection {
    let words = op.ty.bits().div_ceil(32);
    let by_float = op.source.types().last() == Some(ScalarType::F32);
    let selects = match op.ty {
        ScalarType::F32 | ScalarType::F64 => family.float_selection,
        _ => "SEL",
    };
    match (op.opcode, by_float, family.sets_numbers) {
        (Opcode::Slct, true, true) => smallvec![Selected::new("FCMP", words)],
        (Opcode::Slct, false, true) => smallvec![Selected::new("ICMP", words)],
        (Opcode::Slct, true, false) => {
            smallvec![Selected::new("FSETP", 1), Selected::new(selects, words)]
        }
        (Opcode::Slct, false, false) => {
            smallvec![Selected::new("ISETP", 1), Selected::new(selects, words)]
        }
        _ => smallvec![Selected::new(selects, words)],
    }
}

/// The number of machine instructions for an operation with a class of its own.
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
