//! The static side of a launch, as far as features need it.

use gpucast_interpreter::{GridBox, Launch, Program};
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::module::Instruction;

use super::kind::{ElementType, operation};
use crate::operation::class;

/// One instruction.
#[derive(Clone, Debug)]
pub(super) struct FeatureInstruction {
    /// The type that it is written with, if it can be that of an access.
    element: Option<ElementType>,
    /// Its place among the instructions that access memory.
    pub(super) access: Option<u32>,
    /// Its arithmetic: name, type, operations of a thread.
    pub(super) operation: Option<(&'static str, ElementType, u64)>,
    /// True if threads wait at it for the others of their CTA.
    pub(super) is_barrier: bool,
}

impl FeatureInstruction {
    fn of(instruction: &Instruction) -> Self {
        let arrives = instruction.modifiers.iter().any(|modifier| modifier.text() == "arrive");
        Self {
            access: None,
            operation: operation(instruction),
            is_barrier: matches!(instruction.opcode, Opcode::Bar | Opcode::Barrier) && !arrives,
            element: ElementType::of_instruction(instruction),
        }
    }

    /// The type of its elements if each lane moves `lane_bytes` bytes. It is the instruction's type
    /// if whole elements make up those bytes. Copies have none.
    #[inline]
    pub(super) fn element(&self, lane_bytes: u32) -> ElementType {
        match self.element {
            Some(element) if lane_bytes.is_multiple_of(element.bytes()) => element,
            _ if matches!(lane_bytes, 1 | 2 | 4 | 8 | 16) => ElementType::untyped(8 * lane_bytes),
            _ => ElementType::untyped(8),
        }
    }
}

/// A program and the grid that it is launched with.
#[derive(Debug)]
pub(super) struct FeatureCode {
    pub(super) kernel: String,
    pub(super) instructions: Vec<FeatureInstruction>,
    /// Instructions that may access memory.
    pub(super) accesses: usize,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// The coordinates of the CTAs whose addresses are sampled, along each axis.
    sampled: [Vec<u32>; 3],
}

impl FeatureCode {
    pub(super) fn of(program: &Program, launch: &Launch) -> Self {
        let of = |one: &gpucast_interpreter::program::StaticInstruction| {
            FeatureInstruction::of(&one.instruction)
        };
        let mut instructions: Vec<FeatureInstruction> =
            program.instructions().iter().map(of).collect();
        let mut accesses = 0;
        for (one, source) in instructions.iter_mut().zip(program.instructions()) {
            if may_access(&source.instruction) {
                one.access = Some(accesses);
                accesses += 1;
            }
        }
        Self {
            kernel: program.kernel().to_owned(),
            instructions,
            accesses: accesses as usize,
            grid: launch.grid,
            block: launch.block,
            sampled: launch.grid.map(sampled_coordinates),
        }
    }

    /// The CTAs of a box whose addresses are sampled.
    pub(super) fn sampled_within(&self, places: &GridBox) -> Vec<[u32; 3]> {
        let along = |axis: usize| -> Vec<u32> {
            let is_there = |at: &&u32| places.steps_to(axis, **at).is_some();
            self.sampled[axis].iter().filter(is_there).copied().collect()
        };
        let [x, y, z] = [0, 1, 2].map(along);
        let mut all = Vec::new();
        for &z in &z {
            for &y in &y {
                all.extend(x.iter().map(|&x| [x, y, z]));
            }
        }
        all
    }

    /// Returns true if the addresses of a CTA are sampled.
    pub(super) fn is_sampled(&self, ctaid: [u32; 3]) -> bool {
        (0..3).all(|axis| self.sampled[axis].binary_search(&ctaid[axis]).is_ok())
    }
}

/// Returns true if an instruction can report an access to device memory: loads, stores, copies,
/// calls of the runtime, but no arithmetic.
fn may_access(instruction: &Instruction) -> bool {
    use InstructionClass::{BitConvert, Fp16, Fp32, Fp64, Integer};
    !matches!(class(instruction), Integer | Fp16 | Fp32 | Fp64 | BitConvert)
}

/// Coordinates along an axis of `extent` CTAs that are sampled: the first four, the last two, and
/// some between. All combinations of the axes' coordinates are taken, so that CTAs that differ in
/// one axis alone are among them.
fn sampled_coordinates(extent: u32) -> Vec<u32> {
    let between = (1..5).map(|part| (u64::from(extent) * part / 5) as u32);
    let mut all: Vec<u32> = (0..4)
        .chain(between)
        .chain([extent.saturating_sub(2), extent.saturating_sub(1)])
        .filter(|&at| at < extent)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_in_the_grid_and_hold_neighbours() {
        assert_eq!(sampled_coordinates(1), [0]);
        assert_eq!(sampled_coordinates(3), [0, 1, 2]);
        assert_eq!(sampled_coordinates(100), [0, 1, 2, 3, 20, 40, 60, 80, 98, 99]);
    }
}
