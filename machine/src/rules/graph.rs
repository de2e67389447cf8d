//! The program as a compiler sees it: operations with results and arguments.
//!
//! There is one operation for each PTX instruction, at the same index. Passes rewrite opcodes,
//! types and arguments, and say of operations that no machine instruction stands for them. A
//! register that is written at one place only and without a guard is a *value*: it may be replaced
//! by its equal. Registers that are written at several places (the remains of the compiler's φ
//! functions) are variables and stay.

use std::collections::HashMap;

use gpucast_counters::table::BaseTable;
use gpucast_interpreter::Program;
use gpucast_ptx_frontend::isa::{Access, Modifier, Opcode, SpecialRegister};
use gpucast_ptx_frontend::module::{
    AddressBase, FunctionId, Immediate, Instruction, Operand, RegisterId, VariableId,
};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use smallvec::SmallVec;

/// A register of any function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Register(pub(super) u32);

impl Register {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A place in the banks of constants, which instructions read as operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Bank {
    /// A kernel parameter or a variable in constant memory, and a byte offset in it.
    Variable(VariableId, i64),
    /// A launch dimension: `%ntid`, `%nctaid`.
    Launch(SpecialRegister),
    /// The address of a variable outside shared memory.
    Address(VariableId, i64),
}

/// An argument of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Arg {
    /// A register.
    Register(Register),
    /// A literal, as bits of the operation's type.
    Constant(u64),
    /// A value in the constant bank.
    Bank(Bank),
    /// The address of a shared variable: a byte offset in the CTA's shared memory.
    Shared(u64),
    /// A special register that an instruction of its own reads.
    Special(SpecialRegister),
}

/// The part of a product that an operation yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// The low half, or the whole result of an operation that is no product.
    Low,
    /// The high half.
    High,
    /// Both, twice as wide as the operation's type.
    Wide,
}

/// `[base + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryOperand {
    /// The space, if the instruction names one.
    pub(super) space: Option<StateSpace>,
    /// The base that the offset is added to; `None` for an absolute address.
    pub(super) base: Option<Arg>,
    /// Bytes added to the base.
    pub(super) offset: i64,
}

/// Says if machine instructions stand for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// They do.
    Live,
    /// Part of the operations that use its result.
    Folded,
    /// Nothing uses it, or control never gets there.
    Dead,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct GuardedBy {
    pub(super) predicate: Register,
    pub(super) negated: bool,
}

/// One operation.
#[derive(Clone, Debug)]
pub(super) struct Op<'p> {
    /// The instruction as written.
    pub(super) source: &'p Instruction,
    /// Its opcode, which passes may have changed.
    pub(super) opcode: Opcode,
    /// The first type among its modifiers, which passes may have changed; `B32` if it has none.
    pub(super) ty: ScalarType,
    /// The part of a product that it yields.
    pub(super) part: Part,
    /// The registers that it writes.
    pub(super) results: SmallVec<[Register; 2]>,
    /// The arguments, apart from memory operand and guard.
    pub(super) args: SmallVec<[Arg; 4]>,
    /// Its memory operand.
    pub(super) memory: Option<MemoryOperand>,
    /// Its guard as written.
    pub(super) guard: Option<GuardedBy>,
    /// The block that it belongs to, an index into [`Graph::blocks`].
    pub(super) block: u32,
    /// Says if machine instructions stand for it.
    pub(super) state: State,
    /// Iterations of an unrolled loop that share it; 1 where nothing is unrolled.
    pub(super) shared_by: u32,
    /// True if nobody reads the high half of its 64-bit result.
    pub(super) low_half_only: bool,
    /// The registers among which the thread chooses those that it accesses, in place of memory.
    pub(super) choice: Option<Choice>,
}

/// An access to a local array in registers whose place a thread chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Places that the access can have.
    pub(super) places: u32,
    /// Registers that it loads or stores.
    pub(super) words: u32,
    /// True if the address is compared with those of all places for it; false if an access before
    /// it has done so.
    pub(super) compares: bool,
}

impl Op<'_> {
    pub(super) fn is_live(&self) -> bool {
        self.state == State::Live
    }

    /// The only result, if nothing else is written.
    pub(super) fn result(&self) -> Option<Register> {
        match self.results.as_slice() {
            [result] => Some(*result),
            _ => None,
        }
    }

    /// Width of the result in bits.
    pub(super) fn result_bits(&self) -> u32 {
        if self.part == Part::Wide { 2 * self.ty.bits() } else { self.ty.bits() }
    }

    /// Every register that it reads, guard and address included.
    pub(super) fn reads(&self) -> impl Iterator<Item = Register> + '_ {
        let base = self.memory.and_then(|memory| memory.base);
        let args = self.args.iter().copied().chain(base);
        let registers = args.filter_map(|arg| match arg {
            Arg::Register(register) => Some(register),
            _ => None,
        });
        registers.chain(self.guard.map(|guard| guard.predicate))
    }

    pub(super) fn is_integer(&self) -> bool {
        use gpucast_ptx_frontend::types::TypeKind as K;
        matches!(self.ty.kind(), K::Unsigned | K::Signed | K::Bits)
    }

    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.source.has(modifier)
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub(super) struct GraphBlock {
    /// The first operation.
    pub(super) first: u32,
    /// One past the last operation.
    pub(super) end: u32,
    /// Blocks that control can go to.
    pub(super) successors: SmallVec<[u32; 2]>,
    /// Blocks that control can come from.
    pub(super) predecessors: SmallVec<[u32; 2]>,
    /// The block where separated lanes come together.
    pub(super) reconvergence: Option<u32>,
    /// Times that a warp ran it.
    pub(super) warps: u128,
    /// Times that a lane ran it.
    pub(super) lanes: u128,
    /// The block whose instructions it has become part of, its own being guarded, if any.
    pub(super) merged_into: Option<u32>,
}

/// The whole program.
#[derive(Clone, Debug)]
pub(super) struct Graph<'p> {
    /// One for each instruction of the program, at its index.
    pub(super) ops: Vec<Op<'p>>,
    /// One for each block of the program, at its index.
    pub(super) blocks: Vec<GraphBlock>,
    /// The operations that write each register.
    pub(super) definitions: Vec<SmallVec<[u32; 1]>>,
    /// The operations that read each register, as of the last [`Graph::find_uses`].
    uses: Vec<SmallVec<[u32; 2]>>,
    /// The reads of each register; each read by one operation counts.
    use_counts: Vec<u32>,
}

impl<'p> Graph<'p> {
    /// The graph of `program`, whose counts are in `table`.
    pub(super) fn new(program: &'p Program, table: &BaseTable) -> Self {
        let mut names = Names { program, registers: HashMap::new() };
        let kernel = program.instructions().first().map(|first| first.function);
        let mut ops: Vec<Op<'p>> = program
            .instructions()
            .iter()
            .map(|entry| {
                build(
                    &mut names,
                    entry.function,
                    kernel == Some(entry.function),
                    &entry.instruction,
                )
            })
            .collect();
        let counts = |first: u32| {
            let row = table.rows.get(first as usize);
            row.map_or((0, 0), |row| (row.warp_executions, row.issued_lanes))
        };
        let mut blocks: Vec<GraphBlock> = program
            .blocks()
            .iter()
            .map(|block| {
                let (warps, lanes) = counts(block.first_instruction);
                GraphBlock {
                    first: block.first_instruction,
                    end: block.first_instruction + block.instruction_count,
                    successors: block.successors.clone(),
                    predecessors: SmallVec::new(),
                    reconvergence: block.reconvergence,
                    warps,
                    lanes,
                    merged_into: None,
                }
            })
            .collect();
        for index in 0..blocks.len() {
            for successor in blocks[index].successors.clone() {
                blocks[successor as usize].predecessors.push(index as u32);
            }
            for op in blocks[index].first..blocks[index].end {
                let op = &mut ops[op as usize];
                op.block = index as u32;
                op.state = State::Live;
            }
        }
        let registers = names.registers.len();
        let mut graph = Self {
            ops,
            blocks,
            definitions: vec![SmallVec::new(); registers],
            uses: vec![SmallVec::new(); registers],
            use_counts: vec![0; registers],
        };
        for index in 0..graph.ops.len() {
            if graph.ops[index].is_live() {
                for result in graph.ops[index].results.clone() {
                    graph.definitions[result.index()].push(index as u32);
                }
            }
        }
        graph.find_uses();
        graph
    }

    /// Finds the readers of each register anew.
    pub(super) fn find_uses(&mut self) {
        self.uses.iter_mut().for_each(SmallVec::clear);
        self.use_counts.fill(0);
        for (index, op) in self.ops.iter().enumerate() {
            if op.state == State::Dead {
                continue;
            }
            for register in op.reads() {
                let uses = &mut self.uses[register.index()];
                if uses.last() != Some(&(index as u32)) {
                    uses.push(index as u32);
                }
                self.use_counts[register.index()] += 1;
            }
        }
    }

    /// Changes some live operations, and keeps account of who reads each register.
    pub(super) fn change(&mut self, indices: &[u32], change: impl FnOnce(&mut Self)) {
        for &index in indices {
            for register in self.ops[index as usize].reads() {
                self.uses[register.index()].retain(|user| *user != index);
                self.use_counts[register.index()] -= 1;
            }
        }
        change(self);
        for &index in indices {
            let op = &self.ops[index as usize];
            if op.state == State::Dead {
                continue;
            }
            for register in op.reads() {
                let uses = &mut self.uses[register.index()];
                if let Err(place) = uses.binary_search(&index) {
                    uses.insert(place, index);
                }
                self.use_counts[register.index()] += 1;
            }
        }
    }

    /// The operations that read a register.
    pub(super) fn uses(&self, register: Register) -> &[u32] {
        &self.uses[register.index()]
    }

    /// The number of reads of a register.
    pub(super) fn use_count(&self, register: Register) -> u32 {
        self.use_counts[register.index()]
    }

    /// The operation that writes a value; `None` for variables.
    pub(super) fn value(&self, register: Register) -> Option<u32> {
        match self.definitions[register.index()].as_slice() {
            [only] if self.ops[*only as usize].guard.is_none() => Some(*only),
            _ => None,
        }
    }

    /// The operation behind an argument, if it is a value.
    pub(super) fn value_of(&self, arg: Arg) -> Option<u32> {
        match arg {
            Arg::Register(register) => self.value(register),
            _ => None,
        }
    }

    pub(super) fn op(&self, index: u32) -> &Op<'p> {
        &self.ops[index as usize]
    }

    pub(super) fn op_mut(&mut self, index: u32) -> &mut Op<'p> {
        &mut self.ops[index as usize]
    }

    /// Replaces reads of registers, `None` meaning that one stays.
    pub(super) fn replace(&mut self, replacement: impl Fn(Register) -> Option<Arg>) {
        let replaced = |arg: &mut Arg| {
            // The replacement of a register may have been replaced itself.
            while let Arg::Register(register) = *arg {
                match replacement(register) {
                    Some(new) if new != *arg => *arg = new,
                    _ => break,
                }
            }
        };
        for op in &mut self.ops {
            op.args.iter_mut().for_each(replaced);
            if let Some(base) = op.memory.as_mut().and_then(|memory| memory.base.as_mut()) {
                replaced(base);
            }
            if let Some(guard) = &mut op.guard {
                let mut arg = Arg::Register(guard.predicate);
                replaced(&mut arg);
                if let Arg::Register(predicate) = arg {
                    guard.predicate = predicate;
                }
            }
        }
        self.find_uses();
    }
}

/// Numbers for the registers of all functions.
struct Names<'p> {
    program: &'p Program,
    registers: HashMap<(FunctionId, RegisterId, u8), Register>,
}

impl Names<'_> {
    fn register(&mut self, function: FunctionId, register: RegisterId, element: u8) -> Register {
        let next = Register(self.registers.len() as u32);
        *self.registers.entry((function, register, element)).or_insert(next)
    }

    fn variable(&self, variable: VariableId, offset: i64) -> Arg {
        match self.program.shared_offset(variable) {
            Some(start) => Arg::Shared(start.wrapping_add_signed(offset)),
            None => Arg::Bank(Bank::Address(variable, offset)),
        }
    }
}

/// The operands of one instruction, resolved.
#[derive(Default)]
struct Operands {
    results: SmallVec<[Register; 2]>,
    args: SmallVec<[Arg; 4]>,
    memory: Option<MemoryOperand>,
}

fn build<'p>(
    names: &mut Names<'_>,
    function: FunctionId,
    in_kernel: bool,
    source: &'p Instruction,
) -> Op<'p> {
    let mut operands = Operands::default();
    let shapes = &source.form.form().operands;
    for (position, operand) in source.operands.iter().enumerate() {
        let access = shapes.get(position).map_or(Access::Read, |shape| shape.access);
        collect(names, function, source, operand, access, &mut operands);
    }
    let ty = source.types().next().unwrap_or(ScalarType::B32);
    let part = if source.has(Modifier::Wide) {
        Part::Wide
    } else if source.has(Modifier::Hi) && source.opcode != Opcode::Setp {
        Part::High
    } else {
        Part::Low
    };
    let mut op = Op {
        source,
        opcode: source.opcode,
        ty,
        part,
        results: operands.results,
        args: operands.args,
        memory: operands.memory,
        guard: source.guard.map(|guard| GuardedBy {
            predicate: names.register(function, guard.register, 0),
            negated: guard.negated,
        }),
        block: 0,
        state: State::Dead,
        shared_by: 1,
        low_half_only: false,
        choice: None,
    };
    bank_load(names, in_kernel, &mut op);
    op
}

/// A load of a kernel parameter, or of a constant whose address the instruction states, is a move
/// from a bank of constants.
fn bank_load(names: &Names<'_>, in_kernel: bool, op: &mut Op<'_>) {
    let Some(Operand::Address(address)) = op.source.operands.get(1) else { return };
    let AddressBase::Variable(variable) = address.base else { return };
    let of_param = op.source.has(Modifier::Param) || op.source.has(Modifier::ParamEntry);
    let bytes = i64::from(op.source.types().last().map_or(4, ScalarType::bytes));
    // Operands have 32 or 64 bits; narrower values are loaded.
    let of_const = op.source.has(Modifier::Const) && bytes >= 4;
    let in_bank = (in_kernel && of_param) || of_const;
    if op.opcode != Opcode::Ld || !in_bank || names.program.shared_offset(variable).is_some() {
        return;
    }
    op.opcode = Opcode::Mov;
    op.memory = None;
    op.args = (0..op.results.len() as i64)
        .map(|index| Arg::Bank(Bank::Variable(variable, address.offset + index * bytes)))
        .collect();
}

fn collect(
    names: &mut Names<'_>,
    function: FunctionId,
    source: &Instruction,
    operand: &Operand,
    access: Access,
    into: &mut Operands,
) {
    let mut register = |id: RegisterId, element: u8, into: &mut Operands| {
        let register = names.register(function, id, element);
        if access != Access::Read {
            into.results.push(register);
        }
        if access != Access::Write {
            into.args.push(Arg::Register(register));
        }
    };
    match operand {
        Operand::Register(id)
        | Operand::Negated(id)
        | Operand::Part { register: id, .. }
        | Operand::Lanes { register: id, .. } => register(*id, 0, into),
        Operand::Element(id, element) => register(*id, *element, into),
        Operand::Negative(inner) => collect(names, function, source, inner, access, into),
        Operand::Immediate(Immediate::Integer(value)) => {
            into.args.push(Arg::Constant(*value as u64));
        }
        Operand::Immediate(Immediate::F32(bits)) => {
            into.args.push(Arg::Constant(u64::from(*bits)));
        }
        Operand::Immediate(Immediate::F64(bits)) => into.args.push(Arg::Constant(*bits)),
        Operand::Special(special) => into.args.push(match special {
            SpecialRegister::Ntid(_) | SpecialRegister::Nctaid(_) => {
                Arg::Bank(Bank::Launch(*special))
            }
            SpecialRegister::WarpSz => Arg::Constant(32),
            other => Arg::Special(*other),
        }),
        Operand::Variable(variable, offset) => into.args.push(names.variable(*variable, *offset)),
        Operand::Address(address) => {
            let base = match address.base {
                AddressBase::Register(id) => Some(Arg::Register(names.register(function, id, 0))),
                AddressBase::Variable(variable) => Some(names.variable(variable, 0)),
                AddressBase::Absolute => None,
            };
            let space = source.modifiers.iter().find_map(|modifier| modifier.as_space());
            match (&into.memory, base) {
                // A second address, as copies have: only its register matters.
                (Some(_), Some(base)) => into.args.push(base),
                (Some(_), None) => {}
                (None, base) => {
                    into.memory = Some(MemoryOperand { space, base, offset: address.offset });
                }
            }
        }
        Operand::Vector(parts) | Operand::List(parts) | Operand::Indexed(parts) => {
            for part in parts {
                collect(names, function, source, part, access, into);
            }
        }
        Operand::Pair(pair) => {
            for part in pair.iter() {
                collect(names, function, source, part, access, into);
            }
        }
        Operand::Function(_)
        | Operand::Label(_)
        | Operand::Sink
        | Operand::Targets(_)
        | Operand::Prototype(_) => {}
    }
}
