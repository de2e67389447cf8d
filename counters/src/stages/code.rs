//! The facts about a program that stages need.

use gpucast_interpreter::Program;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};

use super::CLASSES;
use super::batches::begins_batch;
use crate::operation::FlopKind;
use crate::table::Description;
use crate::throughput::Operation;

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct StageInstruction {
    /// Its class, as an index into [`CLASSES`].
    pub(super) class: usize,
    /// Its row of the throughput table, as an index into [`Operation::ALL`].
    pub(super) operation: usize,
    /// True if it multiplies and adds floating-point numbers.
    pub(super) multiply_add: bool,
    /// Its place among the guarded instructions.
    pub(super) guard: Option<u32>,
    /// One past the last instruction of its block.
    pub(super) block_end: u32,
    /// True if a warp that goes on here does work before the next barrier or the end of the block.
    /// Accesses to memory do not count as work.
    pub(super) works: bool,
    /// True if it is the first of a batch of loads that are under way together.
    pub(super) begins_batch: bool,
}

/// The static side of a program.
#[derive(Debug)]
pub(super) struct StageCode {
    /// First instruction and number of instructions of each block.
    pub(super) blocks: Vec<(u32, u32)>,
    pub(super) instructions: Vec<StageInstruction>,
}

impl StageCode {
    pub(super) fn of(program: &Program) -> Self {
        let mut instructions: Vec<StageInstruction> = program
            .instructions()
            .iter()
            .map(|instruction| {
                let description = Description::of(instruction);
                let class = CLASSES.iter().position(|&class| class == description.class);
                let flops = description.flops;
                StageInstruction {
                    class: class.unwrap_or(CLASSES.len() - 1),
                    operation: Operation::of(&instruction.instruction) as usize,
                    multiply_add: flops.is_some_and(|flops| flops.kind == FlopKind::Fma),
                    guard: instruction.guard_index,
                    block_end: 0,
                    works: is_work(description.class) && instruction.guard_index.is_none(),
                    begins_batch: false,
                }
            })
            .collect();
        let is_barrier = |at: usize| {
            let opcode = program.instructions()[at].instruction.opcode;
            matches!(opcode, Opcode::Bar | Opcode::Barrier)
        };
        let blocks: Vec<(u32, u32)> = program
            .blocks()
            .iter()
            .map(|block| (block.first_instruction, block.instruction_count))
            .collect();
        for &(first, count) in &blocks {
            let range = first as usize..(first + count) as usize;
            let code = program.instructions()[range.clone()]
                .iter()
                .map(|instruction| &instruction.instruction);
            for (instruction, begins) in instructions[range].iter_mut().zip(begins_batch(code)) {
                instruction.begins_batch = begins;
            }
            let mut works = false;
            for at in (first as usize..(first + count) as usize).rev() {
                works = !is_barrier(at) && (works || instructions[at].works);
                instructions[at].works = works;
                instructions[at].block_end = first + count;
            }
        }
        Self { blocks, instructions }
    }
}

/// Returns true if kernels are run for instructions of this class. They are run for memory
/// accesses, too, but those report themselves. Integers mostly compute addresses, and conditions of
/// loops.
fn is_work(class: InstructionClass) -> bool {
    matches!(
        class,
        InstructionClass::Fp16
            | InstructionClass::Fp32
            | InstructionClass::Fp64
            | InstructionClass::Tensor
    )
}
