//! Counts for each machine instruction: those of the PTX instruction that it stands for.

use std::collections::{BTreeMap, HashMap};

use gpucast_interpreter::{AccessKind, Program};
use gpucast_ptx_frontend::isa::{InstructionClass, Modifier, Opcode};
use gpucast_ptx_frontend::module::Instruction as PtxInstruction;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use super::super::{BackEnd, MachineAccess, MachineProfile, MachineRow};
use super::code::Code;
use super::flow::{self, Observation, Solution};
use super::image::Image;
use super::isa::{Flow, Guard, Meaning, meaning};
use super::line_table::LineTable;
use super::{MachineError, Prepared};
use crate::operation::{Flops, Precision};
use crate::table::{BaseTable, Row};

/// Counts the machine instructions of `program`'s kernel in the cubin `image`, which was assembled
/// from `prepared` by an assembler of that `version`; `table` holds the counts of the execution.
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
    let observations = listing.observations();
    let solution =
        flow::solve(&code, &observations, listing.entry(), &|block| listing.is_cold(block));
    let rows = listing.rows(&solution);
    let (found, expected) = work_found(&rows, listing.work(), |ptx| {
        let row = listing.counts.get(&ptx)?;
        let bytes = bytes_accessed(&program.instructions()[ptx as usize].instruction);
        is_kept(row.description.class).then_some((row.thread_executions, bytes))
    });
    if u128::from(found) * 100 < u128::from(expected) * LEAST_PERCENT_FOUND {
        let kernel = program.kernel().to_owned();
        return Err(MachineError::Unsolved { kernel, found, expected });
    }
    Ok(MachineProfile {
        back_end: BackEnd::Ptxas { version: version.to_owned() },
        target: image.target.to_string(),
        registers_per_thread: Some(image.registers),
        rows,
        notes: listing.notes(&solution),
    })
}

/// How much of the arithmetic and of the accesses must be found again. Less than all may be right:
/// an assembler may move what does not change out of a loop.
const LEAST_PERCENT_FOUND: u128 = 75;

/// Whether a machine instruction that stands for PTX of this class runs at least as often.
fn is_kept(class: InstructionClass) -> bool {
    use InstructionClass as C;
    matches!(class, C::Fp16 | C::Fp32 | C::Fp64 | C::LoadStore)
}

/// Executions of threads that the arithmetic and the accesses among `rows` account for, and those
/// of the PTX instructions in `listed`, for which the code has some; `expected` knows those that
/// count, with the bytes of an access. An access of twice the bytes stands for two, as where iterations of a
/// loop were unrolled and their loads became one.
fn work_found(
    rows: &[MachineRow],
    listed: impl Iterator<Item = u32>,
    expected: impl Fn(u32) -> Option<(u64, u32)>,
) -> (u64, u64) {
    let mut of_ptx: HashMap<u32, u64> = listed.map(|ptx| (ptx, 0)).collect();
    for row in rows.iter().filter(|row| row.flops.is_some() || row.access.is_some()) {
        if let Some(ptx) = row.instruction {
            let bytes = expected(ptx).map_or(0, |(_, bytes)| bytes);
            let wider = row.access.and_then(|access| access.bytes.checked_div(bytes)).unwrap_or(1);
            *of_ptx.entry(ptx).or_default() += row.thread_executions * u64::from(wider.max(1));
        }
    }
    of_ptx.into_iter().fold((0, 0), |(found, all), (ptx, executions)| match expected(ptx) {
        Some((expected, _)) => (found + executions.min(expected), all + expected),
        None => (found, all),
    })
}

/// The code beside what is known of the PTX behind it.
struct Listing<'a> {
    code: &'a Code,
    program: &'a Program,
    /// The counts of each PTX instruction of the program.
    counts: HashMap<u32, &'a Row>,
    /// For each machine instruction, the PTX instruction that it stands for.
    ptx: Vec<Option<u32>>,
    meanings: Vec<Meaning>,
    /// PTX instructions whose machine code branches although they do not: divisions and the like,
    /// which have a path of their own for rare operands.
    branching: Vec<u32>,
}

impl<'a> Listing<'a> {
    fn new(
        image: &Image<'_>,
        lines: &LineTable,
        code: &'a Code,
        prepared: &Prepared,
        program: &'a Program,
        table: &'a BaseTable,
    ) -> Result<Self, MachineError> {
        let by_place: HashMap<u32, u32> = program
            .instructions()
            .iter()
            .enumerate()
            .map(|(index, one)| (one.instruction.span.start, index as u32))
            .collect();
        let mut listing = Self {
            code,
            program,
            counts: table.rows.iter().map(|row| (row.instruction, row)).collect(),
            ptx: Vec::with_capacity(code.instructions.len()),
            meanings: Vec::with_capacity(code.instructions.len()),
            branching: Vec::new(),
        };
        for instruction in &code.instructions {
            let section = &image.sections[instruction.section];
            let function = section.function_at(instruction.offset);
            let line = lines.line(section.index, function, instruction.offset);
            let span = line.and_then(|line| prepared.instruction(line));
            listing.ptx.push(span.and_then(|span| by_place.get(&span.start).copied()));
            // Every mnemonic of the tables has a meaning; a test looks at all of them.
            let other = Meaning { class: InstructionClass::Misc, flops: None, access: None };
            listing.meanings.push(meaning(instruction.decoded.mnemonic).unwrap_or(other));
        }
        if listing.ptx.iter().all(Option::is_none) {
            return Err(MachineError::NoLines { kernel: program.kernel().to_owned() });
        }
        listing.branching = listing.find_branching();
        Ok(listing)
    }

    /// PTX instructions for which there are machine instructions that compute or access memory.
    fn work(&self) -> impl Iterator<Item = u32> {
        let works = |meaning: &Meaning| meaning.flops.is_some() || meaning.access.is_some();
        self.ptx
            .iter()
            .zip(&self.meanings)
            .filter(move |(_, one)| works(one))
            .filter_map(|(ptx, _)| *ptx)
    }

    /// Executions of the kernel's first instruction, by threads and by warps.
    fn entry(&self) -> (u64, u64) {
        let first = self.program.blocks().first().map_or(0, |block| block.first_instruction);
        self.counts.get(&first).map_or((0, 0), |row| (row.issued_lanes, row.warp_executions))
    }

    fn find_branching(&self) -> Vec<u32> {
        let branches = |index: &usize| {
            matches!(self.code.instructions[*index].decoded.flow, Flow::Branch(_) | Flow::Call(_))
        };
        let sums = |index: &usize| self.code.instructions[*index].decoded.mnemonic == "SHFL";
        let whole: Vec<u32> = (0..self.ptx.len())
            .filter(sums)
            .filter_map(|index| self.atomic(index))
            .filter(|ptx| {
                let row = self.counts.get(ptx);
                row.is_some_and(|row| row.issued_lanes == 32 * row.warp_executions)
            })
            .collect();
        let mut found: Vec<u32> = (0..self.ptx.len())
            .filter(branches)
            .filter_map(|index| self.ptx[index])
            .filter(|&ptx| {
                let resolved = &self.program.instructions()[ptx as usize].instruction;
                resolved.form.form().class != InstructionClass::Control
            })
            // All warps being whole, all take the same way.
            .filter(|&ptx| !whole.contains(&ptx))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a block belongs to the path for rare operands of an instruction: it calls a
    /// subroutine that the PTX does not call. Or to that for whole warps, where there are few.
    fn is_cold(&self, block: usize) -> bool {
        let calls = self.code.blocks[block].calls.is_some()
            && self.code.blocks[block].instructions.clone().next_back().is_some_and(|last| {
                self.ptx[last].is_none_or(|ptx| self.branching.binary_search(&ptx).is_ok())
            });
        calls || self.sums_whole_warps(block)
    }

    /// Whether a block adds up what the lanes of a whole warp have for an atomic of the PTX, whose warps are
    /// less than half full: `ptxas` writes such a sum once for whole warps and once for others.
    fn sums_whole_warps(&self, block: usize) -> bool {
        self.code.blocks[block].instructions.clone().any(|index| {
            let row = self.ptx[index].and_then(|ptx| self.counts.get(&ptx));
            self.code.instructions[index].decoded.mnemonic == "SHFL"
                && self.atomic(index).is_some()
                && row.is_some_and(|row| 2 * row.issued_lanes < 32 * row.warp_executions)
        })
    }

    /// The atomic of the PTX that a machine instruction stands for.
    fn atomic(&self, index: usize) -> Option<u32> {
        let ptx = self.ptx[index]?;
        let opcode = self.program.instructions()[ptx as usize].instruction.opcode;
        matches!(opcode, Opcode::Atom | Opcode::Red).then_some(ptx)
    }

    /// What each PTX instruction says about the blocks that hold its machine code.
    ///
    /// The machine instructions of one PTX instruction differ in their bits, and copies of it
    /// repeat the same bits. So each kind of bits gives an equation of its own; how many belong
    /// to one copy follows from the greatest number that divides all of them.
    fn observations(&self) -> Vec<Observation> {
        // Of each PTX instruction, by kind of bits: machine instructions of each block.
        type Kinds = BTreeMap<u64, BTreeMap<usize, u32>>;
        let mut by_ptx: BTreeMap<u32, Kinds> = BTreeMap::new();
        let mut weights: BTreeMap<(u32, u64), f64> = BTreeMap::new();
        for (block, contents) in self.code.blocks.iter().enumerate() {
            for index in contents.instructions.clone() {
                let Some(ptx) = self.ptx[index] else { continue };
                let decoded = &self.code.instructions[index].decoded;
                let kinds = by_ptx.entry(ptx).or_default();
                *kinds.entry(decoded.shape).or_default().entry(block).or_default() += 1;
                weights.insert((ptx, decoded.shape), self.weight(index, ptx));
            }
        }
        /// Copies by block, executions by threads and by warps.
        type Statement = (Vec<(usize, u32)>, u64, u64);
        let mut merged: BTreeMap<Statement, f64> = BTreeMap::new();
        for (ptx, kinds) in &by_ptx {
            let Some(row) = self.counts.get(ptx) else { continue };
            if self.branching.binary_search(ptx).is_ok() {
                continue;
            }
            let all = kinds.values().flat_map(BTreeMap::values).copied().reduce(gcd).unwrap_or(1);
            for (shape, blocks) in kinds {
                let common = blocks.values().copied().reduce(gcd).unwrap_or(1);
                let of_one_copy = (common / all).max(1);
                let copies = blocks.iter().map(|(&block, &count)| (block, count / of_one_copy));
                let weight = weights.get(&(*ptx, *shape)).copied().unwrap_or(1.0);
                let key = (copies.collect(), row.issued_lanes, row.warp_executions);
                *merged.entry(key).or_insert(0.0) += weight;
            }
        }
        merged
            .into_iter()
            .map(|((copies, lanes, warps), weight)| Observation {
                copies: copies
                    .into_iter()
                    .map(|(block, count)| (block, f64::from(count)))
                    .collect(),
                lanes,
                warps,
                weight,
            })
            .collect()
    }

    /// How sure it is that a machine instruction stands where its PTX instruction stood.
    fn weight(&self, index: usize, ptx: u32) -> f64 {
        let decoded = &self.code.instructions[index].decoded;
        let meaning = &self.meanings[index];
        let guarded_in_ptx = self.program.instructions()[ptx as usize].instruction.guard.is_some();
        let is_control = meaning.class == InstructionClass::Control;
        // Several accesses became a wider one, which runs less often than each of them.
        let narrow = bytes_accessed(&self.program.instructions()[ptx as usize].instruction);
        let is_merged = meaning.access.is_some() && decoded.bytes.is_some_and(|wide| wide > narrow);
        if is_merged {
            return 0.05;
        }
        // A guard that the PTX does not have: a branch was turned into predication, and the
        // instruction stands in a block that ran more often.
        if decoded.guard != Guard::Always && !guarded_in_ptx && !is_control {
            return 0.05;
        }
        let has_effect = meaning.access.is_some_and(|(_, kind)| kind != AccessKind::Load);
        match meaning.class {
            // Neither moved nor executed in vain.
            _ if has_effect || decoded.mnemonic == "BAR" => 8.0,
            InstructionClass::LoadStore | InstructionClass::Tensor => 4.0,
            InstructionClass::Fp16 | InstructionClass::Fp32 | InstructionClass::Fp64 => 2.0,
            InstructionClass::InterThread | InstructionClass::Texture => 4.0,
            InstructionClass::Integer | InstructionClass::BitConvert => 1.0,
            // Loops that are unrolled are also controlled in other ways, and moves come and go.
            InstructionClass::Control => 0.1,
            InstructionClass::Misc => 0.05,
        }
    }

    fn rows(&self, solution: &Solution) -> Vec<MachineRow> {
        let mut rows = Vec::new();
        for (block, contents) in self.code.blocks.iter().enumerate() {
            if solution.lanes[block] == 0 {
                continue;
            }
            for index in contents.instructions.clone() {
                let decoded = &self.code.instructions[index].decoded;
                let meaning = &self.meanings[index];
                rows.push(MachineRow {
                    mnemonic: decoded.mnemonic.into(),
                    class: meaning.class,
                    flops: meaning.flops.map(|flops| match decoded.is_half_of_double {
                        true => Flops { precision: Precision::Double, ..flops },
                        false => flops,
                    }),
                    access: self.access(index),
                    instruction: self.ptx[index],
                    warp_executions: solution.warps[block],
                    issued_lanes: solution.lanes[block],
                    thread_executions: self.threads(index, block, solution),
                });
            }
        }
        rows
    }

    /// Threads that executed an instruction with its guard true.
    fn threads(&self, index: usize, block: usize, solution: &Solution) -> u64 {
        let decoded = &self.code.instructions[index].decoded;
        let lanes = solution.lanes[block];
        match decoded.guard {
            Guard::Always => lanes,
            Guard::Never => 0,
            Guard::Sometimes if decoded.conditional && is_jump(decoded.flow) => {
                solution.taken[block].min(lanes)
            }
            // The guard is that of the PTX instruction, or stands for a branch around it; copies
            // share its executions as they share those of the block.
            Guard::Sometimes => {
                let Some(row) = self.ptx[index].and_then(|ptx| self.counts.get(&ptx)) else {
                    return lanes;
                };
                let guarded = self.ptx[index].is_some_and(|ptx| {
                    self.program.instructions()[ptx as usize].instruction.guard.is_some()
                });
                if !guarded && row.thread_executions >= lanes && self.scales(index) {
                    0
                } else if guarded && row.issued_lanes > lanes {
                    let share = row.thread_executions as f64 / row.issued_lanes as f64;
                    (share * lanes as f64).round() as u64
                } else {
                    row.thread_executions.min(lanes)
                }
            }
        }
    }

    /// Whether it brings numbers too small or large for a `MUFU` into its range or back: its guard is false
    /// where numbers are ordinary.
    fn scales(&self, index: usize) -> bool {
        use Opcode as O;
        let decoded = &self.code.instructions[index].decoded;
        let Some(ptx) = self.ptx[index] else { return false };
        let ptx = &self.program.instructions()[ptx as usize].instruction;
        matches!(decoded.mnemonic, "FMUL" | "FADD")
            && matches!(ptx.opcode, O::Ex2 | O::Lg2 | O::Rcp | O::Rsqrt | O::Sqrt | O::Div)
            && ptx.types().next() == Some(ScalarType::F32)
    }

    /// The access of an instruction; what its bits do not say comes from the PTX.
    fn access(&self, index: usize) -> Option<MachineAccess> {
        let (space, kind) = self.meanings[index].access?;
        let decoded = &self.code.instructions[index].decoded;
        let ptx = self.ptx[index].map(|ptx| &self.program.instructions()[ptx as usize].instruction);
        let of_ptx = || Some(bytes_accessed(ptx?)).filter(|bytes| *bytes > 0);
        let bytes = decoded.bytes.or_else(of_ptx).unwrap_or(4);
        // Until Pascal `LD` may stand for a space that the PTX names.
        let named = || ptx?.modifiers.iter().find_map(|modifier| modifier.as_space());
        let space = space.or_else(named).filter(|&space| space != StateSpace::Param);
        Some(MachineAccess { space, kind, bytes })
    }

    fn notes(&self, solution: &Solution) -> Vec<String> {
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
        for mnemonic in &self.code.unresolved {
            notes.push(format!("it is not known where {mnemonic} goes"));
        }
        notes
    }
}

/// Whether an instruction leads away from the next one.
fn is_jump(flow: Flow) -> bool {
    !matches!(flow, Flow::Next | Flow::Push(..) | Flow::Call(_))
}

/// Bytes that an access of the type and length of an instruction moves for one thread.
fn bytes_accessed(instruction: &PtxInstruction) -> u32 {
    instruction.types().next().map_or(0, |ty| ty.bits() / 8 * vector_length(instruction))
}

/// Elements of a vector access.
fn vector_length(instruction: &PtxInstruction) -> u32 {
    let lengths = [(Modifier::V2, 2), (Modifier::V4, 4), (Modifier::V8, 8)];
    lengths.into_iter().find(|&(modifier, _)| instruction.has(modifier)).map_or(1, |(_, n)| n)
}

/// The greatest common divisor.
fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{FlopKind, Flops, Precision};

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
