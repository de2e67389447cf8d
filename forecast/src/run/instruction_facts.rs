//! Facts of PTX instructions that what-ifs of the simulation need: see [`InstructionFacts`].

use std::collections::{BTreeMap, BTreeSet};

use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::LaunchTrace;
use gpucast_interpreter::Program;
use gpucast_interpreter::program::StaticInstruction;
use gpucast_model::InstructionFacts;
use gpucast_ptx_frontend::dataflow::Uses;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{AddressBase, FunctionId, Instruction, Operand, RegisterId};
use gpucast_ptx_frontend::types::StateSpace;

use crate::run::cta_work::{CtaWork, cta_work};
use crate::run::fusable_products::fusable_products;
use crate::run::reread_loads::reread_loads;

/// Bytes of the widest access of a thread that every GPU has.
const WIDEST_ACCESS: i64 = 16;

/// The facts of a program's instructions, with the executions and the trace of a launch.
pub(super) fn instruction_facts(
    program: &Program,
    table: &BaseTable,
    trace: &LaunchTrace,
) -> InstructionFacts {
    let mut facts = InstructionFacts {
        active_lanes: vec![0.0; program.instructions().len()],
        ..InstructionFacts::default()
    };
    for row in &table.rows {
        if let Some(lanes) = facts.active_lanes.get_mut(row.instruction as usize)
            && row.warp_executions > 0
        {
            *lanes = row.issued_lanes as f64 / row.warp_executions as f64;
        }
        if is_slow(row.description.opcode) {
            facts.slow.push(row.instruction);
        }
        if row.memory.iter().any(|counts| counts.space == StateSpace::Local) {
            facts.local.push(row.instruction);
        }
    }
    for (index, block) in program.blocks().iter().enumerate() {
        let first = block.first_instruction as usize;
        let all = first..first + block.instruction_count as usize;
        let Some(instructions) = program.instructions().get(all) else { continue };
        let accesses = accesses(first as u32, instructions);
        neighbours(&accesses, &mut facts.neighbours);
        repeated(first as u32, &accesses, instructions, &mut facts.repeated);
        let is_loop = block.successors.contains(&(index as u32));
        if is_loop
            && !instructions.iter().any(|instruction| synchronises(instruction.instruction.opcode))
        {
            invariant(&accesses, instructions, &mut facts.invariant);
        }
        if is_loop {
            facts.bytes.extend(accesses.iter().filter_map(|access| joinable_bytes(access, table)));
        }
    }
    facts.fusable = fusable_products(program);
    let CtaWork { work, exchanges } = cta_work(program, table);
    (facts.work, facts.exchanges) = (work, exchanges);
    facts.reread = reread_loads(program, table, trace);
    facts.reread.retain(|load, _| !facts.invariant.contains(load));
    facts
}

fn is_slow(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Div
            | Opcode::Rem
            | Opcode::Rcp
            | Opcode::Sqrt
            | Opcode::Rsqrt
            | Opcode::Sin
            | Opcode::Cos
            | Opcode::Lg2
            | Opcode::Ex2
            | Opcode::Tanh
    )
}

/// Instructions behind which memory may hold what other threads wrote.
fn synchronises(opcode: Opcode) -> bool {
    !matches!(opcode, Opcode::Ld | Opcode::St)
        && ["bar", "atom", "red", "membar", "fence", "mbarrier", "call", "cp"]
            .iter()
            .any(|start| opcode.text().starts_with(start))
}

/// A plain load or store by a register and an offset.
struct PlainAccess {
    instruction: u32,
    opcode: Opcode,
    /// The modifiers as text: space, type and cache operator.
    form: String,
    base: (FunctionId, RegisterId),
    /// Definitions of the base register in the block so far.
    version: u32,
    offset: i64,
    bytes: i64,
}

impl PlainAccess {
    /// Returns true if both access the same bytes in the same way.
    fn is_same_place(&self, other: &Self) -> bool {
        self.has_base_of(other)
            && (self.offset, self.bytes, &self.form) == (other.offset, other.bytes, &other.form)
    }

    /// Returns true if both surely have bytes in common.
    fn overlaps(&self, other: &Self) -> bool {
        self.has_base_of(other)
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }

    fn has_base_of(&self, other: &Self) -> bool {
        let key = |access: &Self| (access.base.0.0, access.base.1.0, access.version);
        key(self) == key(other)
    }
}

fn accesses(first: u32, instructions: &[StaticInstruction]) -> Vec<PlainAccess> {
    let mut versions: BTreeMap<RegisterId, u32> = BTreeMap::new();
    let mut accesses = Vec::new();
    for (at, one) in (first..).zip(instructions) {
        if let Some((base, offset, bytes)) = address(&one.instruction) {
            let form = one.instruction.modifiers.iter().map(|modifier| modifier.text());
            accesses.push(PlainAccess {
                instruction: at,
                opcode: one.instruction.opcode,
                form: form.collect::<Vec<_>>().join("."),
                base: (one.function, base),
                version: versions.get(&base).copied().unwrap_or_default(),
                offset,
                bytes,
            });
        }
        for register in Uses::of(&one.instruction).written {
            *versions.entry(register).or_default() += 1;
        }
    }
    accesses
}

/// Base, offset and bytes of a plain load or store without a guard.
fn address(instruction: &Instruction) -> Option<(RegisterId, i64, i64)> {
    if !matches!(instruction.opcode, Opcode::Ld | Opcode::St) || instruction.guard.is_some() {
        return None;
    }
    let is_strict = |text: &str| matches!(text, "volatile" | "relaxed" | "acquire" | "release");
    if instruction.modifiers.iter().any(|modifier| is_strict(modifier.text())) {
        return None;
    }
    let address = instruction.operands.iter().find_map(|operand| match operand {
        Operand::Address(address) => Some(address),
        _ => None,
    })?;
    let AddressBase::Register(base) = address.base else { return None };
    let elements = instruction.operands.iter().find_map(|operand| match operand {
        Operand::Vector(elements) => Some(elements.len()),
        _ => None,
    });
    let bytes = i64::from(instruction.types().next()?.bytes());
    Some((base, address.offset, bytes * elements.unwrap_or(1) as i64))
}

/// Groups of accesses of one block, to addresses that follow each other from a multiple of their
/// common width on.
fn neighbours(accesses: &[PlainAccess], groups: &mut Vec<Vec<u32>>) {
    let mut by_base: BTreeMap<_, Vec<&PlainAccess>> = BTreeMap::new();
    for access in accesses {
        let PlainAccess { opcode, form, base, version, bytes, .. } = access;
        by_base
            .entry((opcode.text(), form, base.0.0, base.1.0, version, bytes))
            .or_default()
            .push(access);
    }
    for mut accesses in by_base.into_values() {
        accesses.sort_by_key(|access| access.offset);
        accesses.dedup_by_key(|access| access.offset);
        let mut rest = accesses.as_slice();
        while let [first, ..] = rest {
            let follows = rest
                .windows(2)
                .take_while(|pair| pair[1].offset == pair[0].offset + pair[0].bytes)
                .count();
            let (run, others) = rest.split_at(follows + 1);
            rest = others;
            let most = (WIDEST_ACCESS / first.bytes.max(1)).max(1) as usize;
            for chunk in run.chunks(most) {
                // A vector has two or four elements, and begins at a multiple of its size.
                let elements = if chunk.len() >= 4 { chunk.len() & !3 } else { chunk.len() & !1 };
                if elements >= 2 {
                    groups
                        .push(chunk[..elements].iter().map(|member| member.instruction).collect());
                }
            }
        }
    }
}

/// A load of one or two bytes of global memory by neighbouring lanes, with the number of them in
/// the widest access.
fn joinable_bytes(access: &PlainAccess, table: &BaseTable) -> Option<(u32, u32)> {
    if access.opcode != Opcode::Ld || access.bytes > 2 {
        return None;
    }
    let row = table.rows.iter().find(|row| row.instruction == access.instruction)?;
    let global = row.memory.iter().filter(|counts| counts.space == StateSpace::Global);
    let (sectors, bytes) = global.fold((0, 0), |(sectors, bytes), counts| {
        (sectors + counts.sectors, bytes + counts.requested_bytes)
    });
    // Bytes of a sector: 32. A word that several lanes load counts for each of them.
    let is_dense = sectors > 0 && (24 * sectors..=32 * sectors).contains(&bytes);
    is_dense.then_some((access.instruction, (WIDEST_ACCESS / access.bytes.max(1)) as u32))
}

/// Loads of global memory whose address the block loaded before. Only stores to other addresses are
/// between them: without any, compilers merge loads themselves.
fn repeated(
    first: u32,
    accesses: &[PlainAccess],
    instructions: &[StaticInstruction],
    found: &mut Vec<u32>,
) {
    // The loads whose values registers still hold, and whether a store came since.
    let mut held: Vec<(&PlainAccess, bool)> = Vec::new();
    let mut accesses = accesses.iter().peekable();
    for (at, one) in (first..).zip(instructions) {
        if synchronises(one.instruction.opcode) {
            held.clear();
        }
        let plain = accesses.next_if(|access| access.instruction == at);
        if one.instruction.opcode == Opcode::St {
            // A store whose address is not plain may well lead to any of them.
            match plain {
                Some(store) => held.retain(|(load, _)| !load.overlaps(store)),
                None => held.clear(),
            }
            held.iter_mut().for_each(|(_, stored)| *stored = true);
            continue;
        }
        let Some(load) = plain.filter(|access| access.form.starts_with("global")) else { continue };
        match held.iter_mut().find(|(other, _)| other.is_same_place(load)) {
            Some((_, true)) => found.push(at),
            Some((_, false)) => {}
            None => held.push((load, false)),
        }
    }
}

/// Accesses of a block that follows itself, whose base no instruction of it changes.
fn invariant(accesses: &[PlainAccess], instructions: &[StaticInstruction], found: &mut Vec<u32>) {
    let written: BTreeSet<RegisterId> = instructions
        .iter()
        .flat_map(|instruction| Uses::of(&instruction.instruction).written)
        .collect();
    let same = accesses.iter().filter(|access| !written.contains(&access.base.1));
    found.extend(same.map(|access| access.instruction));
}
