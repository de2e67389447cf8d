//! Counts for each machine instruction: those of the PTX instruction that it stands for.

use std::collections::HashMap;

use gpucast_counters::machine::{BackEnd, MachineProfile, MachineRow};
use gpucast_counters::metric::Kind;
use gpucast_counters::operation::class_metric;
use gpucast_counters::table::BaseTable;
use gpucast_interpreter::{AccessKind, Program};
use gpucast_ptx_frontend::isa::InstructionClass;

use super::agreement::{Contradiction, contradictions, is_tolerable};
use super::code::Code;
use super::flow::Solution;
use super::image::Image;
use super::large::{self, Executions};
use super::line_table::LineTable;
use super::listing::{Listing, bytes_accessed};
use super::{MachineError, Prepared};

/// Counts the machine instructions of `program`'s kernel in the cubin `image`. An assembler of that
/// `version` made it from `prepared`. `table` holds the counts of the execution.
///
/// # Errors
///
/// [`MachineError`] if the cubin is damaged or of another kernel, or has instructions that are
/// not in the opcode tables.
pub fn attribute(
    image: &[u8],
    version: &str,
    prepared: &Prepared,
    program: &Program,
    table: &BaseTable,
) -> Result<MachineProfile, MachineError> {
    let image = Image::parse(image, program.kernel())?;
    let lines = LineTable::parse(&image.line_table, prepared.file)?;
    let code = Code::read(&image)?;
    let listing = Listing::new(&image, &lines, &code, prepared, program, table)?;
    let Solved { solution, rounded, rows, contradicted } = solve(&listing)?;
    let agrees = contradicted.is_empty() && !rounded;
    let mut notes = listing.notes(&solution, &contradicted);
    if rounded {
        notes.push(
            "counts of machine instructions are rounded to 53 bits of the largest one".to_owned(),
        );
    }
    Ok(MachineProfile {
        kind: if agrees { Kind::Modelled } else { Kind::Estimated },
        back_end: BackEnd::Ptxas { version: version.to_owned() },
        target: image.target.to_string(),
        registers_per_thread: Some(image.registers),
        rows,
        notes,
    })
}

/// The executions of a launch's machine code.
pub(super) struct Solved {
    pub(super) solution: Solution,
    /// True if its counts are accurate to 53 bits only.
    rounded: bool,
    rows: Vec<MachineRow>,
    contradicted: Vec<Contradiction>,
}

/// Finds the executions of all blocks. Refuses those that account for too little of the PTX or
/// contradict it too often.
pub(super) fn solve(listing: &Listing<'_>) -> Result<Solved, MachineError> {
    let observations = listing.observations();
    let Executions { solution, rounded } = large::executions(listing, &observations);
    let rows = listing.rows(&solution);
    let (found, expected) = work_found(&rows, listing.work(), |ptx| {
        let row = listing.counts.get(&ptx)?;
        let bytes = bytes_accessed(listing.instruction(ptx));
        is_kept(row.description.class).then_some((row.thread_executions, bytes))
    });
    if found.saturating_mul(100) < expected.saturating_mul(LEAST_PERCENT_FOUND) {
        let kernel = listing.program.kernel().to_owned();
        return Err(MachineError::Unsolved { kernel, found, expected });
    }
    let contradicted = contradictions(listing, &observations, &solution);
    if let Some(worst) = contradicted.first()
        && !is_tolerable(&contradicted, rows.iter().map(|row| row.issued_lanes).sum())
    {
        return Err(MachineError::Contradiction {
            kernel: listing.program.kernel().to_owned(),
            offset: worst.offset,
            line: worst.line,
            found: worst.found,
            expected: worst.expected,
        });
    }
    Ok(Solved { solution, rounded, rows, contradicted })
}

/// Checks that a cubin can be counted: that it is whole, holds the kernel, and says which PTX its
/// instructions come from.
///
/// # Errors
///
/// [`MachineError`], which names the fault.
pub fn examine(image: &[u8], prepared: &Prepared, kernel: &str) -> Result<(), MachineError> {
    let image = Image::parse(image, kernel)?;
    let lines = LineTable::parse(&image.line_table, prepared.file)?;
    let code = Code::read(&image)?;
    let has_line = code.instructions.iter().any(|instruction| {
        let section = &image.sections[instruction.section];
        let function = section.function_at(instruction.offset);
        lines.line(section.index, function, instruction.offset).is_some()
    });
    has_line.then_some(()).ok_or_else(|| MachineError::NoLines { kernel: kernel.to_owned() })
}

/// The percentage of the arithmetic and of the accesses that must be found again. Less than all may
/// be right: an assembler may move invariant code out of a loop.
const LEAST_PERCENT_FOUND: u128 = 75;

/// Returns true if a machine instruction that stands for PTX of this class runs at least as often.
fn is_kept(class: InstructionClass) -> bool {
    use InstructionClass as C;
    matches!(class, C::Fp16 | C::Fp32 | C::Fp64 | C::LoadStore)
}

/// Returns two numbers of thread executions. The first is those that the arithmetic and the
/// accesses among `rows` account for. The second is those of the PTX instructions in `listed`,
/// which are those that the code has machine instructions for. `expected` knows the instructions
/// that count, with the bytes of an access. An access of twice the bytes stands for two, as when
/// iterations of a loop were unrolled and their loads became one.
fn work_found(
    rows: &[MachineRow],
    listed: impl Iterator<Item = u32>,
    expected: impl Fn(u32) -> Option<(u128, u32)>,
) -> (u128, u128) {
    let mut of_ptx: HashMap<u32, u128> = listed.map(|ptx| (ptx, 0)).collect();
    for row in rows.iter().filter(|row| row.flops.is_some() || row.access.is_some()) {
        if let Some(ptx) = row.instruction {
            let bytes = expected(ptx).map_or(0, |(_, bytes)| bytes);
            let wider = row.access.and_then(|access| access.bytes.checked_div(bytes)).unwrap_or(1);
            // One lane may update memory for all.
            let threads = match row.access.map(|access| access.kind) {
                Some(AccessKind::Atomic | AccessKind::Reduction) => row.issued_lanes,
                _ => row.thread_executions,
            };
            *of_ptx.entry(ptx).or_default() += threads * u128::from(wider.max(1));
        }
    }
    of_ptx.into_iter().fold((0, 0), |(found, all), (ptx, executions)| match expected(ptx) {
        Some((expected, _)) => (found + executions.min(expected), all + expected),
        None => (found, all),
    })
}

impl Listing<'_> {
    fn notes(&self, solution: &Solution, contradicted: &[Contradiction]) -> Vec<String> {
        let mut notes = Vec::new();
        let executed = |blocks: &[usize]| {
            let blocks = blocks.iter().filter(|&&block| solution.lanes[block] > 0);
            blocks.map(|&block| self.code.blocks[block].instructions.len()).sum::<usize>()
        };
        if !solution.assumed.is_empty() {
            notes.push(format!(
                "the PTX leaves open how often {} blocks of machine code ran ({} of the counted \
                 instructions): unrolled loops are given all whole rounds, rare paths of divisions \
                 and roots none, and other branches go each way equally often",
                solution.assumed.len(),
                executed(&solution.assumed)
            ));
        }
        let estimated = executed(&solution.estimated_warps);
        if estimated > 0 {
            notes.push(format!(
                "the warps of {estimated} machine instructions are estimated from their threads, \
                 as if they were as full as those of the PTX"
            ));
        }
        for one in contradicted {
            notes.push(format!(
                "the block of machine code at {:#x} is counted {} times, but line {} of the PTX \
                 that it stands for ran {} times: the figures are estimates",
                one.offset, one.found, one.line, one.expected
            ));
        }
        for unknown in &self.code.unknown {
            notes.push(format!(
                "{} instructions of machine code have opcode {:#05x}, which the tables do not \
                 know: they are counted as {} instructions, like their neighbours",
                unknown.count,
                unknown.opcode,
                class_name(unknown.class)
            ));
        }
        for mnemonic in &self.code.unresolved {
            notes.push(format!("it is not known where {mnemonic} goes"));
        }
        notes
    }
}

/// A class in a sentence.
fn class_name(class: InstructionClass) -> &'static str {
    class_metric(class).trim_start_matches("inst_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpucast_counters::machine::MachineAccess;
    use gpucast_counters::operation::{FlopKind, Flops, Precision};

    #[test]
    fn copies_of_an_instruction_add_up_and_what_is_missing_is_missed() {
        let sum = Some(Flops { precision: Precision::Double, kind: FlopKind::Add, per_thread: 1 });
        let row = |ptx, thread_executions, flops| MachineRow {
            mnemonic: "DADD".into(),
            class: InstructionClass::Fp64,
            flops,
            access: None,
            instruction: Some(ptx),
            warp_executions: 0,
            issued_lanes: thread_executions,
            thread_executions,
        };
        let expected = |ptx| (ptx != 9).then_some((100, 4));
        let found = |rows: &[MachineRow]| work_found(rows, [1].into_iter(), expected);
        // Two copies of one sum, and one of another; a move and an unknown line do not count.
        let whole = [row(1, 60, sum), row(1, 40, sum), row(2, 100, sum), row(3, 7, None)];
        assert_eq!(found(&whole), (200, 200));
        assert_eq!(found(&[row(1, 60, sum), row(9, 500, sum)]), (60, 100));
        // A division is more than one instruction, which does not make up for another one.
        assert_eq!(found(&[row(1, 900, sum), row(2, 10, sum)]), (110, 200));
        // A load of 16 bytes stands for four of 4.
        let load = MachineAccess { space: None, kind: AccessKind::Load, bytes: 16 };
        let loads = MachineRow { access: Some(load), ..row(1, 25, None) };
        assert_eq!(found(&[loads]), (100, 100));
        // Code that is there and has no executions is missed, too.
        assert_eq!(found(&[row(2, 100, sum)]), (100, 200));
    }
}
