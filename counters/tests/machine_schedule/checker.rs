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

/// Checks the uses inside of each block of PTX.
pub(crate) fn check(program: &Program, code: &Code, clocks: &Clocks) -> Findings {
    let mut findings = Findings::default();
    let home: HashMap<u32, u32> = code
        .blocks
        .iter()
        .zip(0_u32..)
        .flat_map(|(range, block)| range.clone().map(move |place| (place, block)))
        .collect();
    // The machine instructions of each PTX instruction, and the clocks in which they issue.
    let mut places: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut issued = vec![0_u32; code.instructions.len()];
    for range in &code.blocks {
        let mut clock = 0;
        for place in range.clone() {
            let instruction = &code.instructions[place as usize];
            issued[place as usize] = clock;
            clock += u32::from(instruction.control.stall);
            let aside = ["NOP", "DEPBAR", "SSY", "SYNC", "BSSY", "BSYNC", "BMOV", "YIELD"];
            if !aside.contains(&&*instruction.mnemonic) {
                places.entry(instruction.ptx.unwrap()).or_default().push(place);
            }
        }
    }
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
                    let from = places.get(&producer).map_or(&[][..], Vec::as_slice);
                    if from.is_empty() {
                        // Part of another instruction, or the same as what it reads.
                        let source = &program.instructions()[producer as usize].instruction;
                        let before = registers(source, Access::Read);
                        let earlier = |id: &RegisterId| writer.get(id).copied();
                        open.extend(before.iter().filter_map(earlier).filter(|&at| at < producer));
                        is_guard = false;
                        continue;
                    }
                    use_of(
                        program,
                        code,
                        (producer, index),
                        (&places, &home, &issued),
                        is_guard,
                        clocks,
                        &mut findings,
                    );
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

/// Checks that the last machine instruction of a user waits for the last one of a producer.
fn use_of(
    program: &Program,
    code: &Code,
    (producer, user): (u32, u32),
    (places, home, issued): (&BTreeMap<u32, Vec<u32>>, &HashMap<u32, u32>, &[u32]),
    is_guard: bool,
    clocks: &Clocks,
    findings: &mut Findings,
) {
    let Some(to) = places.get(&user) else { return };
    let from = &places[&producer];
    let blocks = from.iter().chain(to).map(|place| home[place]);
    let mut blocks: Vec<u32> = blocks.collect();
    blocks.dedup();
    // Constants that are brought in front of a loop stand elsewhere.
    let [_] = blocks.as_slice() else { return };
    let (Some(&from), Some(&to)) = (from.iter().max(), to.iter().max()) else { return };
    let line = |index: u32| program.instructions()[index as usize].line;
    let name = |place: u32| &*code.instructions[place as usize].mnemonic;
    let what = || {
        format!("{} of line {} for {} of line {}", name(from), line(producer), name(to), line(user))
    };
    if to <= from {
        findings.problems.push(format!("{} comes late", what()));
        return;
    }
    let source = &program.instructions()[producer as usize].instruction;
    if VARIABLE.contains(&name(from)) && source.opcode != Opcode::Mov || name(from) == "S2R" {
        findings.variable += 1;
        let Some(barrier) = code.instructions[from as usize].control.write_barrier else {
            findings.problems.push(format!("{} signals nothing", what()));
            return;
        };
        let waits = (from + 1..=to)
            .any(|place| code.instructions[place as usize].control.wait_mask >> barrier & 1 == 1);
        if !waits {
            findings.problems.push(format!("nobody waits for {}", what()));
        }
    } else {
        findings.fixed += 1;
        let distance = issued[to as usize] - issued[from as usize];
        let need =
            if is_guard && name(from).ends_with("SETP") { clocks.guard } else { clocks.result };
        let is_variable = code.instructions[from as usize].control.write_barrier.is_some();
        if !is_variable && distance < need {
            findings.problems.push(format!("{} after {distance} clocks", what()));
        }
    }
}
