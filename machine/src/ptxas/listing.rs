//! The machine code of a kernel beside the PTX that each instruction stands for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gpucast_counters::table::{BaseTable, Row};
use gpucast_interpreter::Program;
use gpucast_interpreter::program::Block;
use gpucast_ptx_frontend::isa::{InstructionClass, Modifier, Opcode};
use gpucast_ptx_frontend::module::Instruction as PtxInstruction;
use gpucast_ptx_frontend::types::StateSpace;

use super::code::Code;
use super::image::Image;
use super::isa::{Decoded, Flow, Meaning, meaning};
use super::line_table::LineTable;
use super::loops::{Lanes, Loops};
use super::spills::{may_access_local, spills};
use super::updates::{Update, updates};
use super::{MachineError, Prepared};

/// The code beside the known facts about the PTX behind it.
pub(super) struct Listing<'a> {
    pub(super) code: &'a Code,
    pub(super) program: &'a Program,
    /// The counts of each PTX instruction of the program.
    pub(super) counts: HashMap<u32, &'a Row>,
    /// For each machine instruction, the PTX instruction that it stands for.
    pub(super) ptx: Vec<Option<u32>>,
    pub(super) meanings: Vec<Meaning>,
    /// PTX instructions whose machine code branches although they do not: divisions and the like,
    /// which have a path of their own for rare operands.
    pub(super) branching: Vec<u32>,
    pub(super) loops: Loops,
    /// The PTX instructions that spilled registers belong to, whatever line they have.
    pub(super) spills: BTreeMap<usize, u32>,
    /// For each machine instruction that updates memory for an atomic of the PTX, for which lanes.
    pub(super) updates: BTreeMap<usize, Update>,
    /// Machine instructions that run more often than the block of the PTX that they stand for.
    pub(super) speculated: BTreeSet<usize>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(
        image: &Image<'_>,
        lines: &LineTable,
        code: &'a Code,
        prepared: &Prepared,
        program: &'a Program,
        table: &'a BaseTable,
    ) -> Result<Self, MachineError> {
        let counts = by_instruction(table);
        let loops = loops(program, &counts);
        let mut listing = Self {
            code,
            program,
            counts,
            loops,
            ptx: ptx_of(image, lines, code, prepared, program),
            meanings: code
                .instructions
                .iter()
                .map(|instruction| meaning_of(&instruction.decoded))
                .collect(),
            branching: Vec::new(),
            spills: BTreeMap::new(),
            updates: BTreeMap::new(),
            speculated: BTreeSet::new(),
        };
        if listing.ptx.iter().all(Option::is_none) {
            return Err(MachineError::NoLines { kernel: program.kernel().to_owned() });
        }
        listing.branching = listing.find_branching();
        let parts = (listing.ptx.as_slice(), listing.meanings.as_slice());
        listing.spills =
            spills(image, code, parts, |ptx| may_access_local(listing.instruction(ptx)));
        listing.updates = updates(image, code, &|index| listing.atomic(index).is_some());
        listing.speculated = listing.find_speculated();
        Ok(listing)
    }

    /// The same code beside other counts of the same program.
    pub(super) fn recount<'b>(&self, table: &'b BaseTable) -> Listing<'b>
    where
        'a: 'b,
    {
        let counts = by_instruction(table);
        let mut listing = Listing {
            code: self.code,
            program: self.program,
            loops: loops(self.program, &counts),
            counts,
            ptx: self.ptx.clone(),
            meanings: self.meanings.clone(),
            spills: self.spills.clone(),
            updates: self.updates.clone(),
            branching: Vec::new(),
            speculated: BTreeSet::new(),
        };
        listing.branching = listing.find_branching();
        listing.speculated = listing.find_speculated();
        listing
    }

    /// PTX instructions for which there are machine instructions that compute or access memory.
    pub(super) fn work(&self) -> impl Iterator<Item = u32> {
        let works = |meaning: &Meaning| meaning.flops.is_some() || meaning.access.is_some();
        self.ptx
            .iter()
            .zip(&self.meanings)
            .filter(move |(_, one)| works(one))
            .filter_map(|(ptx, _)| *ptx)
    }

    /// Returns true if a machine instruction stores or loads a spilled register: it accesses local
    /// memory, and the PTX instruction that its line names does not.
    pub(super) fn is_spill(&self, index: usize) -> bool {
        let is_local = matches!(self.meanings[index].access, Some((Some(StateSpace::Local), _)));
        is_local && self.ptx[index].is_none_or(|ptx| !may_access_local(self.instruction(ptx)))
    }

    /// The PTX instruction that a machine instruction is counted with.
    pub(super) fn owner(&self, index: usize) -> Option<u32> {
        self.spills.get(&index).copied().or(self.ptx[index])
    }

    /// The PTX instruction with this index.
    pub(super) fn instruction(&self, ptx: u32) -> &PtxInstruction {
        &self.program.instructions()[ptx as usize].instruction
    }

    /// Executions of the kernel's first instruction, by threads and by warps.
    pub(super) fn entry(&self) -> (u128, u128) {
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

    /// Returns true if a block belongs to the path for rare operands of an instruction: it calls a
    /// subroutine that the PTX does not call. So does a block that collects the lanes of a warp
    /// that came apart, for an exchange (`ENDCOLLECTIVE`, since sm_90): `BRA.DIV` goes there only
    /// then.
    /// The path for whole warps counts as well, if whole warps are few.
    pub(super) fn is_cold(&self, block: usize) -> bool {
        let calls = self.code.blocks[block].calls.is_some()
            && self.code.blocks[block].instructions.clone().next_back().is_some_and(|last| {
                self.ptx[last].is_none_or(|ptx| self.branching.binary_search(&ptx).is_ok())
            });
        let collects = || {
            let mut instructions = self.code.blocks[block].instructions.clone();
            instructions.any(|instruction| {
                self.code.instructions[instruction].decoded.mnemonic == "ENDCOLLECTIVE"
            })
        };
        calls || collects() || self.sums_whole_warps(block)
    }

    /// Returns true if a block adds up the lanes of a whole warp for an atomic of the PTX. The
    /// warps of the atomic must be less than half full. `ptxas` writes such a sum once for whole
    /// warps and once for others.
    fn sums_whole_warps(&self, block: usize) -> bool {
        self.code.blocks[block].instructions.clone().any(|index| {
            let row = self.ptx[index].and_then(|ptx| self.counts.get(&ptx));
            self.code.instructions[index].decoded.mnemonic == "SHFL"
                && self.atomic(index).is_some()
                && row.is_some_and(|row| 2 * row.issued_lanes < 32 * row.warp_executions)
        })
    }

    /// The atomic of the PTX that a machine instruction stands for.
    pub(super) fn atomic(&self, index: usize) -> Option<u32> {
        let ptx = self.ptx[index]?;
        let opcode = self.program.instructions()[ptx as usize].instruction.opcode;
        matches!(opcode, Opcode::Atom | Opcode::Red).then_some(ptx)
    }
}

/// For each machine instruction, the PTX instruction that it stands for.
pub(super) fn ptx_of(
    image: &Image<'_>,
    lines: &LineTable,
    code: &Code,
    prepared: &Prepared,
    program: &Program,
) -> Vec<Option<u32>> {
    let instructions = (0..).zip(program.instructions());
    let by_place: HashMap<u32, u32> =
        instructions.map(|(index, one)| (one.instruction.span.start, index)).collect();
    let ptx = code.instructions.iter().map(|instruction| {
        let section = &image.sections[instruction.section];
        let function = section.function_at(instruction.offset);
        let line = lines.line(section.index, function, instruction.offset)?;
        let ptx = by_place.get(&prepared.instruction(line)?.start).copied()?;
        match instruction.decoded.mnemonic {
            "SYNCS" => Some(mbarrier_from(program, ptx).unwrap_or(ptx)),
            _ => Some(ptx),
        }
    });
    ptx.collect()
}

/// The operation on an mbarrier that an instruction of the PTX prepares, or is. An address or a
/// parity that became part of the machine instruction may have given it its line. A wait may be a
/// loop, so that it begins a block.
fn mbarrier_from(program: &Program, ptx: u32) -> Option<u32> {
    let blocks = program.blocks();
    let own = blocks.partition_point(|block| block.first_instruction <= ptx).checked_sub(1)?;
    let Block { first_instruction, instruction_count, .. } =
        blocks.get(own + 1).unwrap_or(&blocks[own]);
    let operates = |&ptx: &u32| {
        let opcode = program.instructions()[ptx as usize].instruction.opcode;
        matches!(
            opcode,
            Opcode::MbarrierInit
                | Opcode::MbarrierInval
                | Opcode::MbarrierExpectTx
                | Opcode::MbarrierCompleteTx
                | Opcode::MbarrierArrive
                | Opcode::MbarrierArriveDrop
                | Opcode::MbarrierTestWait
                | Opcode::MbarrierTryWait
                | Opcode::MbarrierPendingCount
                | Opcode::MbarrierCheckLayout
        )
    };
    (ptx..first_instruction + instruction_count).find(operates)
}

fn by_instruction(table: &BaseTable) -> HashMap<u32, &Row> {
    table.rows.iter().map(|row| (row.instruction, row)).collect()
}

fn loops(program: &Program, counts: &HashMap<u32, &Row>) -> Loops {
    let lanes = |ptx| {
        let row = counts.get(&ptx);
        Lanes {
            issued: row.map_or(0, |row| row.issued_lanes),
            executed: row.map_or(0, |row| row.thread_executions),
        }
    };
    Loops::new(program, &lanes)
}

/// The meaning that an instruction counts with. Every mnemonic of the tables has a meaning; an
/// instruction that they do not have gets the class of its neighbours.
pub(super) fn meaning_of(decoded: &Decoded) -> Meaning {
    let class = decoded.assumed.unwrap_or(InstructionClass::Misc);
    let other = Meaning { class, flops: None, access: None };
    meaning(decoded.mnemonic).unwrap_or(other)
}

/// Bytes that an access of the type and length of an instruction moves for one thread.
pub(super) fn bytes_accessed(instruction: &PtxInstruction) -> u32 {
    instruction.types().next().map_or(0, |ty| ty.bits() / 8 * vector_length(instruction))
}

/// Elements of a vector access.
fn vector_length(instruction: &PtxInstruction) -> u32 {
    let lengths = [(Modifier::V2, 2), (Modifier::V4, 4), (Modifier::V8, 8)];
    lengths.into_iter().find(|&(modifier, _)| instruction.has(modifier)).map_or(1, |(_, n)| n)
}
