//! The lane loop one operation at a time, for observers that ask for every instruction.

use super::{Context, Warp};
use crate::exec::access::LoopAccesses;
use crate::exec::lanes::Frame;
use crate::observer::{RegisterName, RegisterValues, Registers, Step};
use crate::program::Program;
use crate::program::lower::Slot;
use crate::program::op::{Code, Op};

use super::Split;

/// An operation that leaves the lane loop.
const LEAVE: Op = Op { code: Code::Exit, n: 0, guard: 0, dst: 0, a: 0, b: 0, c: 0 };

impl Warp {
    /// As [`Level::run`](crate::exec::level::Level::run) from the split's operation on, but tells
    /// the recorder of each instruction before its first operation. Instructions of which no
    /// operation is left are told, too.
    ///
    /// # Safety
    ///
    /// As for the lane loop: `frame` and `accesses` are those of the program and this warp.
    // Kept out of the loop over splits, which runs faster the smaller it is.
    #[inline(never)]
    pub(super) unsafe fn run_stepwise(
        &self,
        context: &Context<'_>,
        frame: &Frame,
        accesses: &mut LoopAccesses<'_>,
        split: &Split,
    ) -> u32 {
        let program = context.program;
        let mut pc = split.pc;
        let mut untold = first_untold(program, split);
        loop {
            let op = program.ops[pc as usize];
            let reached = untold_until(program, split, pc);
            for instruction in untold..reached {
                // An instruction before this one has no operation of its own, and so no guard.
                let is_own = program.op_instruction[pc as usize] == instruction;
                let executing = if is_own { frame.lanes_of(&op, split.mask) } else { split.mask };
                let registers: &Registers<'_> = &|name| value(program, frame, name);
                accesses.recorder().step(&Step {
                    instruction,
                    warp: self.index,
                    lanes: split.mask,
                    executing,
                    registers,
                });
            }
            untold = untold.max(reached);
            let alone = [op, LEAVE];
            let frame = Frame { ops: alone.as_ptr(), ..*frame };
            // SAFETY: the list has an operation of the program and one that leaves the lane loop;
            // everything else is by the contract.
            let ran = unsafe { (context.level.run)(&frame, accesses, 0, split.mask) };
            if ran == 0 {
                return pc;
            }
            pc += 1;
        }
    }
}

/// The first instruction of the split's block that has not been told of: that of its operation,
/// unless it goes on in the middle of it.
fn first_untold(program: &Program, split: &Split) -> u32 {
    let block = &program.blocks[split.block as usize];
    match split.pc.checked_sub(1).filter(|_| split.pc > block.first_op) {
        Some(before) => (program.op_instruction[before as usize] + 1).max(block.first_instruction),
        None => block.first_instruction,
    }
}

/// The end of the instructions that come to execution with an operation of the split's block.
fn untold_until(program: &Program, split: &Split, pc: u32) -> u32 {
    let block = &program.blocks[split.block as usize];
    let end = block.first_instruction + block.instruction_count;
    (program.op_instruction[pc as usize] + 1).min(end)
}

/// The value of a register.
fn value(program: &Program, frame: &Frame, name: RegisterName) -> Option<RegisterValues> {
    Some(match *program.slots.get(&name)? {
        Slot::Predicate(predicate) => RegisterValues::Predicate(frame.lanes_where(predicate)),
        Slot::Row { row, bits: 128 } => RegisterValues::Bits128(Box::new(frame.lanes::<u128>(row))),
        Slot::Row { row, bits: 64 } => RegisterValues::Bits64(frame.lanes::<u64>(row)),
        Slot::Row { row, .. } => RegisterValues::Bits32(frame.lanes::<u32>(row)),
    })
}
