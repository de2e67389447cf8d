//! The work of CTAs: what one CTA in the place of several must do for each of them, and what it
//! does once.

use std::collections::{BTreeMap, HashMap, HashSet};

use gpucast_counters::table::BaseTable;
use gpucast_interpreter::Program;
use gpucast_interpreter::program::StaticInstruction;
use gpucast_model::Axes;
use gpucast_ptx_frontend::dataflow::{Uses, registers_in, results};
use gpucast_ptx_frontend::isa::{Component, Opcode, SpecialRegister};
use gpucast_ptx_frontend::module::{
    Address, AddressBase, FunctionId, Instruction, Operand, RegisterId, VariableId,
};
use gpucast_ptx_frontend::types::StateSpace;

type Register = (FunctionId, RegisterId);

/// What a value depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Origin(u64);

impl Origin {
    /// The number of the CTA along x.
    const X: Self = Self(1);
    /// The number of the CTA along y.
    const Y: Self = Self(2);
    /// Data in memory.
    const DATA: Self = Self(4);
    /// Values of other lanes.
    const LANES: Self = Self(8);

    /// The variable itself, or what it holds. Variables may share a bit, which claims too much.
    fn variable(variable: VariableId) -> Self {
        Self(1 << (4 + variable.index() % 60))
    }

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    fn axes(self) -> Axes {
        Axes { x: self.has(Self::X), y: self.has(Self::Y) }
    }
}

/// What CTAs do, of the program's instructions.
pub(super) struct CtaWork {
    /// Those that differ from CTA to CTA, with the axes of the grid that they differ along:
    /// accesses, and arithmetic on data. Addresses are not among them, as CTAs that follow each
    /// other have the same ones but for a constant. Neither are sums over threads: a thread adds up
    /// what it has before it meets others.
    pub(super) work: BTreeMap<u32, Axes>,
    /// Accesses to variables of shared memory by which threads add up what they have, round by
    /// round: what is stored there comes from there.
    pub(super) exchanges: Vec<u32>,
}

/// The work of the CTAs of a launch with these counts.
pub(super) fn cta_work(program: &Program, table: &BaseTable) -> CtaWork {
    let flow = Flow::of(program, table);
    let instructions = || (0..).zip(program.instructions());
    let work = instructions().map(|(at, one)| (at, flow.work(one.function, &one.instruction)));
    let work = work.filter(|(_, axes)| axes.x || axes.y).collect();
    let exchanges = instructions().filter(|(_, one)| {
        Access::of(&one.instruction).is_some_and(|access| access.is_shared)
            && flow.address(one.function, &one.instruction).has(flow.repeated())
    });
    CtaWork { work, exchanges: exchanges.map(|(at, _)| at).collect() }
}

/// Loads by a warp from a variable that a sum over threads goes through, for each of its loads of
/// what is added up: two for each halving of 1,024 threads, twice over.
const MOST_LOADS: u128 = 40;

/// How values reach instructions. All definitions of a register count together.
#[derive(Default)]
struct Flow {
    registers: HashMap<Register, Origin>,
    /// What was stored to variables of shared memory, by the bit of the variable.
    contents: HashMap<u64, Origin>,
    /// Registers whose values are stored.
    stored: HashSet<Register>,
    /// What other threads get a register's value by: lanes, and variables.
    given: HashMap<Register, Origin>,
    /// The lanes, and the variables by which threads exchange partial sums.
    exchanges: Origin,
}

impl Flow {
    fn of(program: &Program, table: &BaseTable) -> Self {
        let mut flow = Self::default();
        while flow.spread(program) {}
        flow.exchanges = flow.candidates(program);
        while flow.trace_back(program) {}
        flow.exchanges = flow.sums(program, table);
        flow
    }

    /// Takes origins from operands to results. Returns true if anything is new.
    fn spread(&mut self, program: &Program) -> bool {
        let mut is_new = false;
        for one in program.instructions() {
            let (function, instruction) = (one.function, &one.instruction);
            let mut origin = self.read(function, instruction);
            match Access::of(instruction) {
                Some(Access { is_shared: true, writes, .. }) => {
                    let values = self.values(function, instruction);
                    let variables = self.address(function, instruction).0 & !0xf;
                    for bit in (4..64).map(|at| 1_u64 << at).filter(|bit| variables & bit != 0) {
                        let held = self.contents.entry(bit).or_default();
                        // An address says nothing of what is stored there.
                        let after = if writes { held.with(values) } else { *held };
                        is_new |= after != *held;
                        *held = after;
                        origin = origin.with(after);
                    }
                }
                Some(Access { reads: true, .. }) => origin = origin.with(Origin::DATA),
                Some(_) => {}
                None if is_exchange(instruction) => origin = origin.with(Origin::LANES),
                None => {}
            }
            let uses = Uses::of(instruction);
            for register in uses.written.into_iter().chain(uses.partly_written) {
                let before = self.registers.entry((function, register)).or_default();
                is_new |= before.with(origin) != *before;
                *before = before.with(origin);
            }
        }
        is_new
    }

    /// The lanes, and variables that hold what was computed from their own values or from other
    /// lanes' values. Without a barrier they are no exchange but the threads' own.
    fn candidates(&self, program: &Program) -> Origin {
        let meets = |opcode| matches!(opcode, Opcode::Bar | Opcode::Barrier | Opcode::BarWarp);
        if !program.instructions().iter().any(|one| meets(one.instruction.opcode)) {
            return Origin::LANES;
        }
        let mut found = Origin::LANES;
        loop {
            let before = found;
            for (&bit, held) in &self.contents {
                if held.has(Origin(bit).with(found)) {
                    found = found.with(Origin(bit));
                }
            }
            if found == before {
                return found;
            }
        }
    }

    /// Finds the registers that lead to stores and to exchanges. Returns true if anything is new.
    fn trace_back(&mut self, program: &Program) -> bool {
        let mut is_new = false;
        // From the last instruction backwards, straight code needs one pass.
        for one in program.instructions().iter().rev() {
            let (function, instruction) = (one.function, &one.instruction);
            let access = Access::of(instruction);
            let mut stores = access.as_ref().is_some_and(|access| access.writes);
            let mut given = match &access {
                Some(_) if stores => {
                    Origin(self.address(function, instruction).0 & self.exchanges.0)
                }
                None if is_exchange(instruction) => Origin::LANES,
                _ => Origin::default(),
            };
            // What a load brings does not come from its address.
            if access.is_none() {
                for register in Uses::of(instruction).written {
                    stores |= self.stored.contains(&(function, register));
                    given = given.with(self.given((function, register)));
                }
            }
            for register in values_read(instruction) {
                let register = (function, register);
                is_new |= stores && self.stored.insert(register);
                let before = self.given.entry(register).or_default();
                is_new |= before.with(given) != *before;
                *before = before.with(given);
            }
        }
        is_new
    }

    /// The candidates that are sums over threads: values on their way from a variable back to it
    /// are joined and nothing else, in about as many rounds as the threads can be halved.
    fn sums(&self, program: &Program, table: &BaseTable) -> Origin {
        let rows = table.rows.iter().map(|row| (row.instruction as usize, row.warp_executions));
        let rows: HashMap<usize, u128> = rows.collect();
        let executions = |at: usize| rows.get(&at).copied().unwrap_or_default();
        let loads_data = |one: &StaticInstruction| {
            Access::of(&one.instruction).is_some_and(|access| access.reads && !access.is_shared)
        };
        let all = program.instructions().iter().enumerate();
        let of_data = all.filter(|(_, one)| loads_data(one)).map(|(at, _)| executions(at)).sum();
        let sums = executions(0).max(of_data);
        let mut kept = self.exchanges;
        for bit in (4..64).map(|at| 1_u64 << at).filter(|&bit| self.exchanges.has(Origin(bit))) {
            let variable = Origin(bit);
            let mut loads = 0_u128;
            let mut computes = false;
            for (at, one) in program.instructions().iter().enumerate() {
                let (function, instruction) = (one.function, &one.instruction);
                match Access::of(instruction) {
                    Some(access) => {
                        let is_its_load = access.reads
                            && access.is_shared
                            && self.address(function, instruction).has(variable);
                        loads += if is_its_load { executions(at) } else { 0 };
                    }
                    None => {
                        let mut results = Uses::of(instruction).written.into_iter();
                        computes |= self.read(function, instruction).has(variable)
                            && results.any(|one| self.given((function, one)).has(variable))
                            && !is_join(instruction.opcode)
                            && !is_exchange(instruction);
                    }
                }
            }
            if computes || loads > MOST_LOADS * sums {
                kept = Origin(kept.0 & !bit);
            }
        }
        kept
    }

    /// The axes along which CTAs need an instruction each for itself.
    fn work(&self, function: FunctionId, instruction: &Instruction) -> Axes {
        let origin = self.read(function, instruction);
        let uses = Uses::of(instruction);
        let results = || uses.written.iter().map(|&register| (function, register));
        let result = results().fold(origin, |all, one| all.with(self.origin(one)));
        let gives = results().any(|one| self.given(one).has(self.exchanges));
        if let Some(access) = Access::of(instruction) {
            let address = self.address(function, instruction);
            return if access.is_shared && self.is_exchange_array(function, instruction) {
                Axes::NONE
            } else if access.reads && access.writes {
                // What is added to one place is added up before.
                address.axes()
            } else if access.reads {
                if access.is_shared { result.axes() } else { address.axes() }
            } else {
                origin.axes()
            };
        }
        if is_exchange(instruction) {
            let is_of_tree = gives || origin.has(self.exchanges);
            let moves = instruction.opcode == Opcode::Shfl && !is_of_tree;
            return if moves { origin.axes() } else { Axes::NONE };
        }
        // Quotients and remainders of CTAs that follow each other do not differ by a constant.
        let divides = matches!(instruction.opcode, Opcode::Div | Opcode::Rem);
        let computes_data =
            divides || result.has(Origin::DATA) || results().any(|one| self.stored.contains(&one));
        let joins = gives && origin.has(self.exchanges) && is_join(instruction.opcode);
        if !computes_data || joins || results().next().is_none() {
            return Axes::NONE;
        }
        origin.axes()
    }

    fn given(&self, register: Register) -> Origin {
        self.given.get(&register).copied().unwrap_or_default()
    }

    fn origin(&self, register: Register) -> Origin {
        self.registers.get(&register).copied().unwrap_or_default()
    }

    /// What all operands depend on.
    fn read(&self, function: FunctionId, instruction: &Instruction) -> Origin {
        let registers = Uses::of(instruction).read.into_iter();
        let of_registers = registers.map(|register| self.origin((function, register)));
        let named = instruction.operands.iter().map(named);
        of_registers.chain(named).fold(Origin::default(), Origin::with)
    }

    /// What the addresses depend on.
    fn address(&self, function: FunctionId, instruction: &Instruction) -> Origin {
        let mut origin = Origin::default();
        for operand in &instruction.operands {
            if matches!(operand, Operand::Address(_) | Operand::Indexed(_)) {
                origin = origin.with(named(operand));
                for register in registers_in(operand) {
                    origin = origin.with(self.origin((function, register)));
                }
            }
        }
        origin
    }

    /// What the operands besides addresses depend on. A copy brings data of its other address.
    fn values(&self, function: FunctionId, instruction: &Instruction) -> Origin {
        if instruction.operands.iter().filter(|one| matches!(one, Operand::Address(_))).count() > 1
        {
            return Origin(self.address(function, instruction).0 & 0xf).with(Origin::DATA);
        }
        let registers = values_read(instruction).into_iter();
        registers.fold(Origin::default(), |all, one| all.with(self.origin((function, one))))
    }

    /// The exchanges that are stored to what was computed from them.
    fn repeated(&self) -> Origin {
        let own = self.contents.iter().filter(|(bit, held)| held.has(Origin(**bit)));
        let own = own.fold(0, |all, (bit, _)| all | bit);
        Origin(own & self.exchanges.0 & !0xf)
    }

    fn is_exchange_array(&self, function: FunctionId, instruction: &Instruction) -> bool {
        self.address(function, instruction).has(Origin(self.exchanges.0 & !0xf))
    }
}

/// What an operand brings without a register.
fn named(operand: &Operand) -> Origin {
    match operand {
        Operand::Special(SpecialRegister::Ctaid(Component::X)) => Origin::X,
        Operand::Special(SpecialRegister::Ctaid(Component::Y)) => Origin::Y,
        Operand::Variable(variable, _)
        | Operand::Address(Address { base: AddressBase::Variable(variable), .. }) => {
            Origin::variable(*variable)
        }
        Operand::Vector(operands) | Operand::List(operands) | Operand::Indexed(operands) => {
            operands.iter().map(named).fold(Origin::default(), Origin::with)
        }
        _ => Origin::default(),
    }
}

/// The registers that an instruction reads besides those of its addresses.
fn values_read(instruction: &Instruction) -> Vec<RegisterId> {
    let mut read = Uses::of(instruction).read;
    for operand in &instruction.operands {
        if matches!(operand, Operand::Address(_) | Operand::Indexed(_)) {
            for register in registers_in(operand) {
                if let Some(at) = read.iter().position(|&one| one == register) {
                    read.swap_remove(at);
                }
            }
        }
    }
    read
}

/// An access to memory that threads share.
struct Access {
    is_shared: bool,
    reads: bool,
    writes: bool,
}

impl Access {
    fn of(instruction: &Instruction) -> Option<Self> {
        let (reads, writes) = match instruction.opcode {
            Opcode::Ld | Opcode::Ldu | Opcode::Tex | Opcode::Ldmatrix => (true, false),
            Opcode::St => (false, true),
            Opcode::Atom | Opcode::Red => (true, true),
            opcode if opcode.text().starts_with("cp.async") => (false, true),
            _ => return None,
        };
        let spaces = || instruction.modifiers.iter().filter_map(|modifier| modifier.as_space());
        let is_given = |space| matches!(space, StateSpace::Param | StateSpace::Const);
        if spaces().any(is_given) {
            return None;
        }
        let is_shared = spaces().any(|space| space == StateSpace::Shared);
        Some(Self { is_shared, reads, writes })
    }
}

/// Returns true if threads get values of others, without memory.
fn is_exchange(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Shfl => true,
        // Barriers that count or vote.
        Opcode::Bar | Opcode::Barrier => results(instruction) > 0,
        opcode => ["redux", "vote", "match"].iter().any(|start| opcode.text().starts_with(start)),
    }
}

/// Returns true if an operation joins two partial results, or chooses between them.
fn is_join(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Add
            | Opcode::Min
            | Opcode::Max
            | Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Mov
            | Opcode::Selp
            | Opcode::Setp
            | Opcode::Popc
    )
}

#[cfg(test)]
mod tests {
    use gpucast_interpreter::program::StaticInstruction;

    use super::*;

    /// The work of a kernel with this body, and its exchanges: opcodes, with their axes.
    fn work(body: &str) -> (Vec<String>, Vec<String>) {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .pred p; .reg .b32 r<9>; .reg .f32 f<9>; .reg .b64 d<9>; \
             .shared .b32 part[256];\n\
             ld.param.u64 d0, [in]; ld.param.u64 d1, [out]; mov.u32 r0, %tid.x;\n{body}\nret;\n}}"
        );
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = Program::new(&module, &text, "k").unwrap();
        let CtaWork { work, exchanges } = cta_work(&program, &BaseTable::default());
        let name = |at: u32| {
            let StaticInstruction { instruction, .. } = &program.instructions()[at as usize];
            instruction.opcode.text().to_owned()
        };
        let axes = |axes: Axes| match axes {
            Axes { x: true, y: true } => "xy",
            Axes { x: true, y: false } => "x",
            _ => "y",
        };
        let work = work.into_iter().map(|(at, of)| format!("{} {}", name(at), axes(of)));
        (work.collect(), exchanges.into_iter().map(name).collect())
    }

    #[test]
    fn data_differs_from_cta_to_cta_and_addresses_do_not() {
        let (work, exchanges) = work(
            "mov.u32 r1, %ctaid.x; mad.lo.s32 r2, r1, 256, r0; mul.wide.s32 d2, r2, 4;
             add.s64 d3, d0, d2; ld.global.f32 f0, [d3];
             ld.global.f32 f1, [d0]; mul.f32 f1, f1, f1; mul.f32 f2, f0, f1;
             add.s64 d4, d1, d2; st.global.f32 [d4], f2;",
        );
        assert_eq!(work, ["ld x", "mul x", "st x"]);
        assert!(exchanges.is_empty());
    }

    #[test]
    fn each_cta_has_remainders_of_its_own() {
        let (work, _) = work(
            "mov.u32 r1, %ctaid.x; mad.lo.s32 r2, r1, 256, r0; rem.u32 r3, r2, 7;
             mul.wide.s32 d2, r3, 4; add.s64 d3, d0, d2; ld.global.f32 f0, [d3];
             add.s64 d4, d1, d2; st.global.f32 [d4], f0;",
        );
        assert_eq!(work, ["rem x", "ld x", "st x"]);
    }

    #[test]
    fn a_product_shares_rows_along_x_and_columns_along_y() {
        let (work, _) = work(
            "mov.u32 r1, %ctaid.x; mov.u32 r2, %ctaid.y;
             mul.wide.s32 d2, r1, 4; add.s64 d2, d0, d2; ld.global.f32 f0, [d2];
             mul.wide.s32 d3, r2, 4; add.s64 d3, d0, d3; ld.global.f32 f1, [d3];
             mov.u32 r3, part; st.shared.f32 [r3], f0; bar.sync 0; ld.shared.f32 f2, [r3];
             fma.rn.f32 f3, f1, f2, f3; st.global.f32 [d1], f3;",
        );
        assert_eq!(work, ["ld x", "ld y", "st x", "ld x", "fma xy", "st xy"]);
    }

    const TREE: &str = "
        mov.u32 r1, %ctaid.x; mad.lo.s32 r2, r1, 256, r0; mul.wide.s32 d2, r2, 4;
        add.s64 d3, d0, d2; ld.global.f32 f0, [d3];
        mov.u32 r3, part; mad.lo.s32 r4, r0, 4, r3; st.shared.f32 [r4], f0; bar.sync 0;
        ld.shared.f32 f1, [r4]; ld.shared.f32 f2, [r4+64]; JOIN.f32 f3, f1, f2;
        st.shared.f32 [r4], f3; bar.sync 0;";

    #[test]
    fn a_sum_over_threads_is_done_once() {
        let (sum, exchanges) = work(&TREE.replace("JOIN", "add"));
        assert_eq!(sum, ["ld x"]);
        assert_eq!(exchanges, ["st", "ld", "ld", "st"]);
    }

    #[test]
    fn what_threads_keep_in_shared_memory_is_no_sum() {
        // Products are no partial sums; without a barrier nobody else reads them.
        for body in
            [TREE.replace("JOIN", "mul"), TREE.replace("JOIN", "add").replace("bar.sync 0;", "")]
        {
            let (all, exchanges) = work(&body);
            assert_eq!((all.len(), exchanges.len()), (6, 0), "{all:?}");
        }
    }

    #[test]
    fn shuffles_of_sums_and_atomics_on_one_word_are_done_once() {
        let (work, _) = work(
            "mov.u32 r1, %ctaid.x; mul.wide.s32 d2, r1, 4; add.s64 d3, d0, d2;
             ld.global.b32 r2, [d3]; shfl.sync.down.b32 r3, r2, 16, 31, -1; add.s32 r4, r2, r3;
             shfl.sync.down.b32 r5, r4, 8, 31, -1; add.s32 r6, r4, r5;
             red.global.add.u32 [d1], r6;",
        );
        // The last sum leads to no other lane: each CTA has it.
        assert_eq!(work, ["ld x", "add x"]);
    }
}
