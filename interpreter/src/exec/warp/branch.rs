//! Branches, returns and exits.

use super::split::{Split, lanes_with};
use super::{Context, Warp, WarpFault};
use crate::exec::async_copy::PendingCopy;
use crate::exec::lanes::Frame;
use crate::fault::FaultKind;
use crate::observer::{Exit, Recorder};
use crate::program::Program;
use crate::program::op::{Code, Op};

impl Warp {
    /// `bra`: where the lanes disagree, those that take it become a split of their own.
    #[inline(always)]
    pub(super) fn branch(
        &mut self,
        program: &Program,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &mut Split,
    ) {
        let taken = frame.count_lanes_of(op, split.mask);
        recorder.branch(program.op_instruction[split.pc as usize], split.mask, taken);
        if taken == split.mask {
            split.enter(program, op.a);
        } else if taken == 0 {
            split.fall_through(program, op.b);
        } else {
            let mut other = split.clone();
            other.mask = taken;
            other.enter(program, op.a);
            self.splits.push(other);
            split.mask &= !taken;
            split.fall_through(program, op.b);
        }
    }

    /// `brx.idx`: one split for each index that occurs.
    pub(super) fn branch_indexed(
        &mut self,
        program: &Program,
        frame: &Frame,
        op: &Op,
        split: Split,
    ) -> Result<(), WarpFault> {
        let (mut rest, indices) = (frame.count_lanes_of(op, split.mask), frame.lanes::<u32>(op.a));
        let fall_through = split.mask & !rest;
        if fall_through != 0 {
            let mut other = split.clone();
            other.mask = fall_through;
            other.fall_through(program, op.b);
            self.splits.push(other);
        }
        let targets = &program.tables.branch_tables[op.c as usize];
        while rest != 0 {
            let index = indices[rest.trailing_zeros() as usize];
            let lanes = lanes_with(rest, |lane| indices[lane] == index);
            let Some(&target) = targets.get(index as usize) else {
                let kind = FaultKind::BadTarget { what: "branch", value: u64::from(index) };
                return Err(WarpFault { pc: split.pc, lane: Some(rest.trailing_zeros()), kind });
            };
            let mut other = split.clone();
            other.mask = lanes;
            other.enter(program, target);
            self.splits.push(other);
            rest &= !lanes;
        }
        Ok(())
    }

    /// `ret` and `exit`: the lanes whose guard holds leave, and the split is over.
    pub(super) fn leave(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        mut split: Split,
    ) {
        let program = context.program;
        let mask = frame.count_lanes_of(op, split.mask);
        let rest = split.mask & !mask;
        if rest != 0 {
            let mut remaining = split.clone();
            remaining.mask = rest;
            remaining.fall_through(program, op.b);
            self.splits.push(remaining);
        }
        if mask == 0 {
            return;
        }
        split.mask = mask;
        let exit = split.pc;
        match split.stack.pop() {
            Some((block, pc)) if op.code == Code::Return => {
                (split.block, split.pc) = (block, pc);
                self.splits.push(split);
            }
            _ => {
                let warp = self.index;
                let mut done = |copy: &PendingCopy, lanes| {
                    recorder.copy_done(&copy.done(warp, lanes, false));
                };
                self.copies.complete_all(&context.memories, mask, &mut done);
                self.live &= !mask;
                let instruction = program.op_instruction[exit as usize];
                recorder.exit(&Exit { instruction, warp, mask });
            }
        }
    }
}
