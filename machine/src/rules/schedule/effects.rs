//! The effects of instructions on memory, and the order that they force.

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::{Effect as OpcodeEffect, opcode_facts};
use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use smallvec::SmallVec;

use super::super::emit::{Emitted, Role};
use super::super::graph::{Arg, Graph, Op, Register};

/// The effect of an instruction on memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// None.
    None,
    /// Reads or writes some bytes.
    Access(Access),
    /// Anything: no access moves across it.
    Any,
}

/// Bytes that an instruction reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    pub(super) writes: bool,
    /// The space; `None` if the address is generic.
    pub(super) space: Option<StateSpace>,
    /// The value that the offset is added to, if it is known to be one.
    pub(super) base: Option<Base>,
    pub(super) offset: i64,
    pub(super) bytes: i64,
}

/// What an address starts from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Base {
    /// Nothing: the offset is the address.
    Absolute,
    /// A parameter or variable.
    Fixed(Arg),
    /// A register with the value that these instructions gave it; none if it is from before the
    /// block.
    Register(Register, SmallVec<[u32; 2]>),
}

impl Access {
    /// Returns true if both must stay in order.
    fn conflicts(&self, other: &Self) -> bool {
        if !self.writes && !other.writes {
            return false;
        }
        let spaces_differ = matches!((self.space, other.space), (Some(a), Some(b)) if a != b);
        if spaces_differ {
            return false;
        }
        match (&self.base, &other.base) {
            (Some(left), Some(right)) if left == right => {
                self.offset < other.offset + other.bytes && other.offset < self.offset + self.bytes
            }
            _ => true,
        }
    }
}

/// The instructions of a block whose effects later ones must respect.
#[derive(Debug, Default)]
pub(super) struct Memory {
    accesses: Vec<(u32, Access)>,
    last: Option<u32>,
}

impl Memory {
    /// The instructions that `node` has to stay behind; remembers its effect.
    pub(super) fn order(&mut self, node: u32, effect: Effect) -> SmallVec<[u32; 2]> {
        let mut after = SmallVec::new();
        match effect {
            Effect::None => {}
            Effect::Any => {
                after.extend(self.accesses.drain(..).map(|(other, _)| other));
                after.extend(self.last.replace(node));
            }
            Effect::Access(access) => {
                after.extend(self.last);
                let conflicting = self.accesses.iter().filter(|(_, other)| access.conflicts(other));
                after.extend(conflicting.map(|(other, _)| *other));
                self.accesses.push((node, access));
            }
        }
        after
    }
}

/// The effect of an emitted instruction, whose address register has been written by `writers` of
/// the same block, and `stepped` bytes after the values of this round.
pub(super) fn effect(
    graph: &Graph<'_>,
    emitted: &Emitted,
    writers: impl Fn(Register) -> SmallVec<[u32; 2]>,
    stepped: impl Fn(Register) -> i64,
) -> Effect {
    if emitted.role != Role::Own {
        return Effect::None;
    }
    let op = graph.op(emitted.operation);
    let Some(access) = emitted.selected.access else {
        let lasts = opcode_facts(op.opcode).effect == OpcodeEffect::Lasting;
        // The other instructions of an atomic compute.
        let computes = op.memory.is_some() && matches!(op.opcode, Opcode::Atom | Opcode::Red)
            || matches!(op.opcode, Opcode::Prefetch | Opcode::Prefetchu);
        return if lasts && !computes { Effect::Any } else { Effect::None };
    };
    let is_promise = op.has(Modifier::Nc) || access.space == Some(StateSpace::Const);
    if is_promise && access.kind == AccessKind::Load {
        return Effect::None;
    }
    if op.opcode == Opcode::CpAsync || is_ordered(op) {
        return Effect::Any;
    }
    let memory = op.memory;
    let (base, step) = match memory.and_then(|memory| memory.base) {
        None => (Base::Absolute, 0),
        Some(Arg::Shared(start)) => (Base::Absolute, i64::try_from(start).unwrap_or(i64::MAX / 2)),
        Some(Arg::Register(register)) => {
            (Base::Register(register, writers(register)), stepped(register))
        }
        Some(fixed) => (Base::Fixed(fixed), 0),
    };
    let elements = op.results.len().max(op.args.len()).max(1) as i64;
    let bytes = i64::from(op.source.types().last().map_or(4, ScalarType::bytes));
    let wide = i64::from(access.bytes);
    let own = elements * bytes;
    let offset = memory.map_or(0, |memory| memory.offset);
    // A load that stands for its neighbours begins where they do.
    let offset = if wide > own { offset.div_euclid(wide) * wide } else { offset };
    // Fragments reach over memory that no operand states.
    let is_fragment = matches!(
        op.opcode,
        Opcode::WmmaLoad | Opcode::WmmaStore | Opcode::Ldmatrix | Opcode::Stmatrix
    );
    Effect::Access(Access {
        writes: access.kind != AccessKind::Load && access.kind != AccessKind::LoadReadOnly,
        space: access.space,
        base: (!is_fragment).then_some(base),
        offset: offset.saturating_add(step),
        bytes: own.max(wide),
    })
}

/// Returns true if accesses before and behind keep their places.
fn is_ordered(op: &Op<'_>) -> bool {
    use Modifier as M;
    [M::Volatile, M::Acquire, M::Release, M::AcqRel].iter().any(|&modifier| op.has(modifier))
}
