//! A check of machine code against the PTX that it stands for, which knows nothing of the rules.
//!
//! It walks a block of PTX, finds for each register that an instruction reads the one that wrote
//! it, and looks for both in one block of machine code. If a result comes after an unknown time,
//! something between both must wait for its barrier; else so many clocks must lie between them as
//! the table says. An instruction of PTX that no machine instruction stands for is what it reads.

use std::collections::{BTreeMap, HashMap};

use gpucast_interpreter::Program;
use gpucast_ptx_frontend::isa::{Access, Opcode};
use gpucast_ptx_frontend::module::{AddressBase, Instruction, Operand, RegisterId};
use gpucast_simulation::code::Code;

/// The clocks that results of fixed latency take at least, on each architecture that is checked.
pub(crate) struct Clocks {
    pub(crate) result: u32,
    /// From a comparison to the branch or guard that it decides.
    pub(crate) guard: u32,
}

/// Mnemonics whose results a barrier announces on every architecture from Maxwell on.
const VARIABLE: &[&str] = &[
    "LDG", "LDS", "LD", "LDL", "LDC", "ATOM", "ATOMG", "ATOMS", "MUFU", "S2R", "F2I", "I2F", "F2F",
    "SHFL", "POPC", "FLO",
];

/// The uses that were looked at, and what is wrong with some.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) fixed: u64,
    pub(crate) variable: u64,
    pub(crate) problems: Vec<String>,
}

/// The registers that an instruction reads or writes.
fn registers(instruction: &Instruction, wanted: Access) -> Vec<RegisterId> {
    fn collect(operand: &Operand, access: Access, wanted: Access, into: &mut Vec<RegisterId>) {
        let fits = access == wanted || access == Access::ReadWrite;
        match operand {
            Operand::Register(id)
            | Operand::Negated(id)
            | Operand::Part { register: id, .. }
            | Operand::Lanes { register: id, .. }
            | Operand::Element(id, _) => into.extend(fits.then_some(*id)),
            Operand::Negative(inner) => collect(inner, access, wanted, into),
            Operand::Address(address) => {
                if let (AddressBase::Register(id), Access::Read) = (address.base, wanted) {
                    into.push(id);
                }
            }
            Operand::Vector(parts) | Operand::List(parts) | Operand::Indexed(parts) => {
                for part in parts {
                    collect(part, access, wanted, into);
                }
            }
            Operand::Pair(pair) => {
                for part in pair.iter() {
                    collect(part, access, wanted, into);
                }
            }
            _ => {}
        }
    }
    let shapes = &instruction.form.form().operands;
    let mut found = Vec::new();
    for (position, operand) in instruction.operands.iter().enumerate() {
        let access = shapes.get(position).map_or(Access::Read, |shape| shape.access);
        collect(operand, access, wanted, &mut found);
    }
    found
}

/// Machine code by the PTX that it stands for.
struct Places<'c> {
    code: &'c Code,
    /// The machine instructions of each PTX instruction.
    of_ptx: BTreeMap<u32, Vec<u32>>,
    /// The block of each machine instruction.
    block: Vec<u32>,
    /// The clock of its block in which each one issues.
    issued: Vec<u32>,
}

impl<'c> Places<'c> {
    fn new(code: &'c Code) -> Self {
        let count = code.instructions.len();
        let (block, issued) = (vec![0; count], vec![0; count]);
        let mut places = Self { code, of_ptx: BTreeMap::new(), block, issued };
        for (number, range) in (0..).zip(&code.blocks) {
            let mut clock = 0;
            for place in range.clone() {
                let instruction = &code.instructions[place as usize];
                places.block[place as usize] = number;
                places.issued[place as usize] = clock;
                clock += u32::from(instruction.control.stall);
                let aside = ["NOP", "DEPBAR", "SSY", "SYNC", "BSSY", "BSYNC", "BMOV", "YIELD"];
                if !aside.contains(&&*instruction.mnemonic) {
                    places.of_ptx.entry(instruction.ptx.unwrap()).or_default().push(place);
                }
            }
        }
        places
    }

    fn of(&self, ptx: u32) -> &[u32] {
        self.of_ptx.get(&ptx).map_or(&[], Vec::as_slice)
    }
}

/// A use of the result of one PTX instruction by another.
#[derive(Clone, Copy)]
struct Use {
    producer: u32,
    user: u32,
    is_guard: bool,
}

/// Checks the uses inside of each block of PTX.
pub(crate) fn check(program: &Program, code: &Code, clocks: &Clocks) -> Findings {
    let mut findings = Findings::default();
    let places = Places::new(code);
    for (number, block) in (0_u32..).zip(program.blocks()) {
        if block.successors.contains(&number) {
            // Rounds of a loop are copied.
            continue;
        }
        let mut writer: HashMap<RegisterId, u32> = HashMap::new();
        let first = block.first_instruction;
        for index in first..first + block.instruction_count {
            let instruction = &program.instructions()[index as usize].instruction;
            let mut reads: Vec<(RegisterId, bool)> =
                registers(instruction, Access::Read).into_iter().map(|id| (id, false)).collect();
            reads.extend(instruction.guard.map(|guard| (guard.register, true)));
            for (register, is_guard) in reads {
                let mut open: Vec<u32> = writer.get(&register).copied().into_iter().collect();
                let mut is_guard = is_guard;
                while let Some(producer) = open.pop() {
                    if producer == 0 {
                        // What begins the kernel stands with its first instruction.
                        continue;
                    }
                    if places.of(producer).is_empty() {
                        // Part of another instruction, or the same as what it reads.
                        let source = &program.instructions()[producer as usize].instruction;
                        let before = registers(source, Access::Read);
                        let earlier = |id: &RegisterId| writer.get(id).copied();
                        open.extend(before.iter().filter_map(earlier).filter(|&at| at < producer));
                        is_guard = false;
                        continue;
                    }
                    let one = Use { producer, user: index, is_guard };
                    findings.look_at(program, &places, one, clocks);
                }
            }
            let is_guarded = instruction.guard.is_some();
            for register in registers(instruction, Access::Write) {
                if is_guarded {
                    writer.remove(&register);
                } else {
                    writer.insert(register, index);
                }
            }
        }
    }
    findings
}

impl Findings {
    /// Checks that the last machine instruction of a user waits for the last one of a producer.
    fn look_at(&mut self, program: &Program, places: &Places<'_>, one: Use, clocks: &Clocks) {
        let (from, to) = (places.of(one.producer), places.of(one.user));
        let mut blocks: Vec<u32> =
            from.iter().chain(to).map(|&place| places.block[place as usize]).collect();
        blocks.dedup();
        // Constants that are brought in front of a loop stand elsewhere.
        let ([_], Some(&from), Some(&to)) = (blocks.as_slice(), from.iter().max(), to.iter().max())
        else {
            return;
        };
        let code = places.code;
        let line = |index: u32| program.instructions()[index as usize].line;
        let name = |place: u32| &*code.instructions[place as usize].mnemonic;
        // Products of warpgroups run beside their warps, and wait for each other by themselves.
        if name(from).ends_with("GMMA") {
            return;
        }
        // An mbarrier's operation takes a sum into its address that stays for a copy as well.
        let is_sum =
            program.instructions()[one.producer as usize].instruction.opcode == Opcode::Add;
        if is_sum && name(to) == "SYNCS" {
            return;
        }
        let what = || {
            let (producer, user) = (line(one.producer), line(one.user));
            format!("{} of line {producer} for {} of line {user}", name(from), name(to))
        };
        if to <= from {
            self.problems.push(format!("{} comes late", what()));
            return;
        }
        let signal = code.instructions[from as usize].control.write_barrier;
        if VARIABLE.contains(&name(from)) {
            self.variable += 1;
            let Some(barrier) = signal else {
                self.problems.push(format!("{} signals nothing", what()));
                return;
            };
            let waits = (from + 1..=to).any(|place| {
                code.instructions[place as usize].control.wait_mask >> barrier & 1 == 1
            });
            if !waits {
                self.problems.push(format!("nobody waits for {}", what()));
            }
        } else if signal.is_none() {
            self.fixed += 1;
            let distance = places.issued[to as usize] - places.issued[from as usize];
            let is_condition = one.is_guard && name(from).ends_with("SETP");
            let need = if is_condition { clocks.guard } else { clocks.result };
            if distance < need {
                self.problems.push(format!("{} after {distance} clocks", what()));
            }
        }
    }
}
