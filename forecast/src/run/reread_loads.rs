//! Loads of global memory whose data the CTA has asked for before: a tile in shared memory could
//! hold it.

use std::collections::{BTreeMap, HashSet};

use gpucast_counters::table::{BaseTable, Row};
use gpucast_counters::trace::LaunchTrace;
use gpucast_interpreter::Program;
use gpucast_ptx_frontend::dataflow::{Uses, registers_in};
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{Instruction, Operand, RegisterId};
use gpucast_ptx_frontend::types::StateSpace;

/// The least share of a load's sectors that its CTA has asked for before.
const LEAST_SHARE: f64 = 0.5;

/// Sectors over those that the bytes fill, from which words lie apart: tiles mend that as well, but
/// it is another cause.
const MOST_EXCESS: f64 = 1.25;

/// A register of a function.
type Register = (usize, RegisterId);

/// Those loads, each with the share of its sectors that the CTA has asked for before. Loads whose
/// address depends on loaded data are not among them, for nobody knows before what a tile must
/// hold.
pub(super) fn reread_loads(
    program: &Program,
    table: &BaseTable,
    trace: &LaunchTrace,
) -> BTreeMap<u32, f64> {
    let mut loads: BTreeMap<u32, f64> = trace
        .reuse
        .iter()
        .map(|(&load, reuse)| (load, reuse.share()))
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .collect();
    if loads.is_empty() {
        return loads;
    }
    let loaded = loaded_registers(program);
    loads.retain(|&load, _| {
        let Some(one) = program.instructions().get(load as usize) else { return false };
        let function = one.function.0 as usize;
        let mut address = addresses(&one.instruction).into_iter();
        let is_plain = one.instruction.opcode == Opcode::Ld;
        is_plain && !address.any(|register| loaded.contains(&(function, register)))
    });
    for row in table.rows.iter().filter(|row| !is_dense(row)) {
        loads.remove(&row.instruction);
    }
    loads
}

/// Returns true if the accesses of a row to global memory fill the sectors that they move. A
/// request moves one at least.
fn is_dense(row: &Row) -> bool {
    let global = row.memory.iter().filter(|counts| counts.space == StateSpace::Global);
    let (moved, filled) = global.fold((0, 0), |(moved, filled), counts| {
        let ideal = counts.requested_bytes.div_ceil(32).max(counts.requests);
        (moved + counts.sectors, filled + ideal)
    });
    moved as f64 <= MOST_EXCESS * filled as f64
}

/// The registers of an instruction's addresses.
fn addresses(instruction: &Instruction) -> Vec<RegisterId> {
    let is_address = |operand: &&Operand| matches!(operand, Operand::Address(_));
    instruction.operands.iter().filter(is_address).flat_map(registers_in).collect()
}

/// The registers whose values may depend on data in memory, parameters and constants aside. All
/// definitions of a register count together.
fn loaded_registers(program: &Program) -> HashSet<Register> {
    let mut loaded = HashSet::new();
    loop {
        let before = loaded.len();
        for one in program.instructions() {
            let function = one.function.0 as usize;
            let uses = Uses::of(&one.instruction);
            let depends = brings_data(&one.instruction)
                || uses.read.iter().any(|&register| loaded.contains(&(function, register)));
            if depends {
                let written = uses.written.into_iter().chain(uses.partly_written);
                loaded.extend(written.map(|register| (function, register)));
            }
        }
        if loaded.len() == before {
            return loaded;
        }
    }
}

/// Returns true if an instruction brings data from memory that threads write or the host fills.
fn brings_data(instruction: &Instruction) -> bool {
    let loads = matches!(instruction.opcode, Opcode::Ld | Opcode::Ldu | Opcode::Atom | Opcode::Tex);
    let is_given = |space| matches!(space, StateSpace::Param | StateSpace::Const);
    let mut spaces = instruction.modifiers.iter().filter_map(|modifier| modifier.as_space());
    loads && !spaces.any(is_given)
}

#[cfg(test)]
mod tests {
    use gpucast_counters::trace::SectorReuse;

    use super::*;

    const KERNEL: &str = "
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 in) {
            .reg .b32 %r<4>; .reg .b64 %d<4>;
            ld.param.u64 %d0, [in];
            ld.global.u32 %r0, [%d0];
            mad.wide.u32 %d1, %r0, 4, %d0;
            ld.global.u32 %r1, [%d1];
            add.s64 %d2, %d0, 64;
            ld.global.u32 %r2, [%d2];
            ret;
        }";

    fn reread(share: f64) -> Vec<u32> {
        let module = gpucast_ptx_frontend::load(KERNEL).unwrap();
        let program = Program::new(&module, KERNEL, "k").unwrap();
        let again = (100.0 * share) as u64;
        let all = 0..program.instructions().len() as u32;
        let reuse = all.map(|load| (load, SectorReuse { sectors: 100, again })).collect();
        let trace = LaunchTrace { reuse, ..LaunchTrace::default() };
        let loads = reread_loads(&program, &BaseTable::default(), &trace);
        let is_global = |load: &&u32| {
            let instruction = &program.instructions()[**load as usize].instruction;
            instruction
                .modifiers
                .iter()
                .any(|modifier| modifier.as_space() == Some(StateSpace::Global))
        };
        loads.keys().filter(is_global).copied().collect()
    }

    #[test]
    fn loads_whose_address_was_loaded_are_left_out() {
        assert_eq!(reread(0.9), [1, 5]);
    }

    #[test]
    fn loads_that_hardly_repeat_are_left_out() {
        assert_eq!(reread(0.4), Vec::<u32>::new());
    }
}
