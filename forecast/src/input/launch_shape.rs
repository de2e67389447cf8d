//! What the code of a kernel says of the launches that it is written for.
//!
//! A kernel asks for the places of its threads and blocks along some axes. Where it computes
//! `blockIdx.x * 32 + threadIdx.x`, it takes blocks of 32 threads for granted. Registers are
//! followed as sums of places times constants; of everything else it is known only that it is
//! there.

use std::collections::{BTreeSet, HashMap};

use gpucast_ptx_frontend::isa::{Component, InstructionClass, Modifier, Opcode, SpecialRegister};
use gpucast_ptx_frontend::module::{Function, Immediate, Instruction, Operand, RegisterId};

/// More threads than a block has along an axis.
const MOST_THREADS: i64 = 1024;

/// The shape of the launches that a kernel is written for. Arrays have the axes x, y, z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchShape {
    /// Axes along which threads of a block are told apart. Lanes and warps lie along x.
    pub(crate) threads: [bool; 3],
    /// Axes along which blocks are told apart.
    pub(crate) blocks: [bool; 3],
    /// Threads of a block, where indices have them as constants.
    pub(crate) extents: [Option<u32>; 3],
    /// True if threads may be told apart by atomics, as those that take work from a queue.
    pub(crate) has_atomics: bool,
}

impl LaunchShape {
    pub(crate) fn of(function: &Function) -> Self {
        let mut shape = Self::default();
        let mut forms = Forms::default();
        for instruction in function.body.iter().flat_map(|body| &body.instructions) {
            shape.has_atomics |= matches!(instruction.opcode, Opcode::Atom | Opcode::Red);
            shape.threads[0] |= takes_several(instruction);
            for operand in &instruction.operands {
                shape.ask(operand);
            }
            forms.follow(instruction);
        }
        shape.extents = [0, 1, 2].map(|axis| forms.extent(axis));
        shape
    }

    fn ask(&mut self, operand: &Operand) {
        let Operand::Special(register) = operand else { return };
        let (axes, axis) = match register {
            SpecialRegister::Tid(axis) => (&mut self.threads, axis),
            SpecialRegister::Ctaid(axis)
            | SpecialRegister::Clusterid(axis)
            | SpecialRegister::ClusterCtaid(axis) => (&mut self.blocks, axis),
            SpecialRegister::Laneid
            | SpecialRegister::Warpid
            | SpecialRegister::LanemaskEq
            | SpecialRegister::LanemaskLe
            | SpecialRegister::LanemaskLt
            | SpecialRegister::LanemaskGe
            | SpecialRegister::LanemaskGt => (&mut self.threads, &Component::X),
            _ => return,
        };
        if let Some(asked) = axes.get_mut(axis.index()) {
            *asked = true;
        }
    }

    /// Axes along which a block has several threads.
    pub(crate) fn axes_of_block(&self) -> impl Iterator<Item = usize> {
        let Self { threads, has_atomics, .. } = *self;
        (0..3).filter(move |&axis| threads[axis] || (axis == 0 && has_atomics))
    }

    /// Axes along which a grid has several blocks.
    pub(crate) fn axes_of_grid(&self) -> impl Iterator<Item = usize> {
        let Self { blocks, has_atomics, .. } = *self;
        (0..3).filter(move |&axis| blocks[axis] || (axis == 0 && has_atomics))
    }

    /// The shape of a kernel that calls a function of the `other` shape.
    pub(crate) fn calling(self, other: Self) -> Self {
        let either = |one: [bool; 3], other: [bool; 3]| [0, 1, 2].map(|at| one[at] || other[at]);
        Self {
            threads: either(self.threads, other.threads),
            blocks: either(self.blocks, other.blocks),
            has_atomics: self.has_atomics || other.has_atomics,
            ..self
        }
    }
}

/// True for what the threads of a warp or a block do together.
fn takes_several(instruction: &Instruction) -> bool {
    let class = instruction.form.form().class;
    matches!(class, InstructionClass::InterThread | InstructionClass::Tensor)
        || matches!(instruction.opcode, Opcode::Bar | Opcode::BarWarp | Opcode::Barrier)
}

/// How often a sum has the place of the thread or the block along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    Constant(i64),
    /// Nobody knows.
    Unknown,
}

/// The places of a thread: `threadIdx.x` to `.z`, `blockIdx.x` to `.z`.
const PLACES: usize = 6;

/// A register's value: a sum of places, of a constant, and of what is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    places: [Times; PLACES],
    constant: i64,
    /// True if there is something else.
    has_more: bool,
}

impl Form {
    const NONE: [Times; PLACES] = [Times::Constant(0); PLACES];
    /// A value that has nothing to do with places.
    const OTHER: Self = Self { places: Self::NONE, constant: 0, has_more: true };

    fn number(constant: i64) -> Self {
        Self { places: Self::NONE, constant, has_more: false }
    }

    fn place(at: usize) -> Self {
        let mut form = Self::number(0);
        form.places[at] = Times::Constant(1);
        form
    }

    /// The value, if it is the same in all threads and known.
    fn known(&self) -> Option<i64> {
        (self.places == Self::NONE && !self.has_more).then_some(self.constant)
    }

    fn scaled(self, by: i64) -> Self {
        let product = |it: i64| it.checked_mul(by);
        let places = self.places.map(|times| match times {
            Times::Constant(it) => product(it).map_or(Times::Unknown, Times::Constant),
            Times::Unknown => Times::Unknown,
        });
        let constant = product(self.constant);
        let has_more = self.has_more || constant.is_none();
        Self { places, constant: constant.unwrap_or(0), has_more }
    }

    fn plus(self, other: Self) -> Self {
        let places = std::array::from_fn(|at| match (self.places[at], other.places[at]) {
            (Times::Constant(one), Times::Constant(other)) => {
                one.checked_add(other).map_or(Times::Unknown, Times::Constant)
            }
            _ => Times::Unknown,
        });
        let constant = self.constant.checked_add(other.constant);
        let has_more = self.has_more || other.has_more || constant.is_none();
        Self { places, constant: constant.unwrap_or(0), has_more }
    }

    fn times(self, other: Self) -> Self {
        match (self.known(), other.known()) {
            (_, Some(by)) => self.scaled(by),
            (Some(by), None) => other.scaled(by),
            (None, None) => self.muddled(other),
        }
    }

    /// Something that depends on both, nobody knows how.
    fn muddled(self, other: Self) -> Self {
        let is_there = |times: Times| times != Times::Constant(0);
        let places = std::array::from_fn(|at| {
            match is_there(self.places[at]) || is_there(other.places[at]) {
                true => Times::Unknown,
                false => Times::Constant(0),
            }
        });
        Self { places, constant: 0, has_more: true }
    }

    /// What is known of a register that has one value or the other.
    fn or(self, other: Self) -> Self {
        let places = std::array::from_fn(|at| match self.places[at] == other.places[at] {
            true => self.places[at],
            false => Times::Unknown,
        });
        let has_more = self.has_more || other.has_more || self.constant != other.constant;
        Self { places, constant: self.constant, has_more }
    }
}

/// The values of registers, and what indices say of blocks.
#[derive(Debug, Default)]
struct Forms {
    registers: HashMap<RegisterId, Form>,
    /// By axis: the threads that a step to the next block leaves behind, with the threads between
    /// the place itself and the one that is computed.
    shares: [BTreeSet<(i64, i64)>; 3],
}

impl Forms {
    fn follow(&mut self, instruction: &Instruction) {
        let [to, from @ ..] = &instruction.operands[..] else { return };
        let of = |at: usize| from.get(at).map_or(Form::OTHER, |operand| self.of(operand));
        let form = match instruction.opcode {
            Opcode::Mov | Opcode::Cvt | Opcode::Cvta => of(0),
            // Bits that are put together do not overlap.
            Opcode::Add | Opcode::Or => of(0).plus(of(1)),
            Opcode::Sub => of(0).plus(of(1).scaled(-1)),
            Opcode::Mul if !instruction.has(Modifier::Hi) => of(0).times(of(1)),
            Opcode::Mad if !instruction.has(Modifier::Hi) => of(0).times(of(1)).plus(of(2)),
            Opcode::Shl => match of(1).known() {
                Some(by @ 0..=62) => of(0).scaled(1 << by),
                _ => of(0).muddled(of(1)),
            },
            _ => from.iter().fold(Form::OTHER, |all, operand| all.muddled(self.of(operand))),
        };
        match to {
            Operand::Register(register) => self.set(*register, form),
            // Vectors of loads, and a result with a predicate.
            Operand::Vector(all) => self.set_all(all),
            Operand::Pair(both) => self.set_all(&**both),
            _ => {}
        }
    }

    fn set_all(&mut self, operands: &[Operand]) {
        for operand in operands {
            if let Operand::Register(register) = operand {
                self.set(*register, Form::OTHER);
            }
        }
    }

    fn set(&mut self, register: RegisterId, form: Form) {
        let form = self.registers.get(&register).map_or(form, |before| before.or(form));
        self.registers.insert(register, form);
        for (axis, shares) in self.shares.iter_mut().enumerate() {
            if let (Times::Constant(thread), Times::Constant(block)) =
                (form.places[axis], form.places[axis + 3])
                && thread != 0
                && block % thread == 0
                && (2..=MOST_THREADS).contains(&(block / thread))
                && form.constant % thread == 0
            {
                shares.insert((block / thread, form.constant / thread));
            }
        }
    }

    fn of(&self, operand: &Operand) -> Form {
        match operand {
            Operand::Register(register) => {
                self.registers.get(register).copied().unwrap_or(Form::OTHER)
            }
            Operand::Immediate(Immediate::Integer(value)) => {
                i64::try_from(*value).map_or(Form::OTHER, Form::number)
            }
            Operand::Special(SpecialRegister::Tid(axis)) if axis.index() < 3 => {
                Form::place(axis.index())
            }
            Operand::Special(SpecialRegister::Ctaid(axis)) if axis.index() < 3 => {
                Form::place(axis.index() + 3)
            }
            _ => Form::OTHER,
        }
    }

    /// The threads of a block along an axis. A block whose threads have several items each, a
    /// block's extent apart, has as many times fewer.
    fn extent(&self, axis: usize) -> Option<u32> {
        let shares = &self.shares[axis];
        let &(share, _) = shares.first()?;
        let has_item = |offset: i64| shares.contains(&(share, offset));
        let are_items_apart = |extent: &i64| {
            share % extent == 0 && (0..share / extent).all(|item| has_item(item * extent))
        };
        let extent = (2..share).find(are_items_apart).unwrap_or(share);
        u32::try_from(extent).ok()
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// The shape of a kernel with this body, whose places are in `%r1` to `%r4`: x of threads and
    /// blocks, then y.
    fn shape(body: &str) -> LaunchShape {
        let text = format!(
            ".version 7.0\n.target sm_52\n.address_size 64\n
             .visible .entry k(.param .u64 to, .param .u32 n)\n{{
             .reg .b32 %r<20>; .reg .b64 %d<9>; ld.param.u32 %r9, [n];
             mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %ctaid.y;
             {body} ret; }}"
        );
        let loaded = gpucast_ptx_frontend::load(&text).unwrap();
        LaunchShape::of(&loaded.functions[0])
    }

    fn extents(body: &str) -> [Option<u32>; 3] {
        shape(body).extents
    }

    #[test]
    fn constants_of_indices_are_extents_of_blocks() {
        let product = "mad.lo.s32 %r5, %r2, 32, %r1; mad.lo.s32 %r6, %r4, 8, %r3;";
        assert_eq!(extents(product), [Some(32), Some(8), None]);
        let shift = "shl.b32 %r5, %r2, 7; or.b32 %r6, %r5, %r1;";
        assert_eq!(extents(shift), [Some(128), None, None]);
        let bytes = "mul.wide.u32 %d1, %r2, 1024; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;";
        assert_eq!(extents(bytes), [Some(256), None, None]);
        // Four elements of a thread beside each other.
        let vectors = "shl.b32 %r5, %r2, 10; shl.b32 %r6, %r1, 2; add.s32 %r7, %r5, %r6;
                       add.s32 %r8, %r7, 1; add.s32 %r10, %r7, 2; add.s32 %r11, %r7, 3;";
        assert_eq!(extents(vectors), [Some(256), None, None]);
    }

    #[test]
    fn items_of_a_thread_are_a_blocks_extent_apart() {
        let items = "mad.lo.s32 %r5, %r2, 512, %r1; add.s32 %r6, %r5, 128; add.s32 %r7, %r5, 256;
                     add.s32 %r8, %r5, 384;";
        assert_eq!(extents(items), [Some(128), None, None]);
        let neighbours = "mad.lo.s32 %r5, %r2, 64, %r1; add.s32 %r6, %r5, 1; add.s32 %r7, %r5, -1;";
        assert_eq!(extents(neighbours), [Some(64), None, None]);
    }

    #[test]
    fn what_the_launch_gives_is_no_constant() {
        for body in [
            "mov.u32 %r5, %ntid.x; mad.lo.s32 %r6, %r2, %r5, %r1;",
            "mad.lo.s32 %r5, %r2, %r9, %r1;",
            // The other axis.
            "mad.lo.s32 %r5, %r2, 32, %r3;",
            "shr.u32 %r5, %r1, 5; mad.lo.s32 %r6, %r2, 8, %r5;",
            "mad.lo.s32 %r5, %r2, 4096, %r1;",
        ] {
            assert_eq!(extents(body), [None; 3], "{body}");
        }
        // It has one value or the other.
        let joined = "mad.lo.s32 %r5, %r2, 32, %r1; mad.lo.s32 %r6, %r2, 16, %r9; mov.u32 %r6, %r1;
                      mov.u32 %r6, %r5;";
        assert_eq!(extents(joined), [Some(32), None, None]);
    }

    #[test]
    fn axes_are_those_that_are_asked_for() {
        let asked = shape("mov.u32 %r5, %ctaid.z; mov.u32 %r6, %ntid.z;");
        assert_eq!(asked.threads, [true, true, false]);
        assert_eq!(asked.blocks, [true; 3]);
        assert_eq!(asked.axes_of_grid().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(asked.axes_of_block().collect::<Vec<_>>(), [0, 1]);
    }
}
