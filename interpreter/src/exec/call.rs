//! Calls of one warp: the called functions, the saved registers, and the threads' stacks.
//!
//! Storage for saved registers is indexed by the depth of the call stack, because a recursive
//! function is active several times. Each value of the argument area has 16 bytes, so a prototype
//! is enough to know the places. A function's address lies in a window of its own, where nothing
//! can be loaded.

use super::lanes::Frame;
use super::runtime::HeapEvents;
use super::warp::{Context, Next, Split, Warp, WarpFault, lanes_with};
use crate::fault::FaultKind;
use crate::program::Program;
use crate::program::lower::function_at;
use crate::program::op::{Code, Op};

/// The deepest nesting of calls.
const MAX_CALL_DEPTH: usize = 1 << 12;

/// Saved registers of the activations at one depth of the call stack.
///
/// A lane is in one activation at a depth. All functions that are active at the depth therefore
/// share the same storage, each lane using its own part.
#[derive(Debug, Default)]
pub(super) struct SavedActivation {
    rows: Vec<crate::lane::Row>,
    predicates: Vec<u32>,
}

impl Warp {
    /// Executes `op`, a call or an operation that goes with one; `heap` is told of `malloc` and
    /// `free`.
    // Kept out of the loop over splits, which runs faster the smaller it is.
    #[inline(never)]
    pub(super) fn call_operation(
        &mut self,
        context: &Context<'_>,
        frame: &Frame,
        op: &Op,
        split: &mut Split,
        heap: HeapEvents<'_>,
    ) -> Result<Next, WarpFault> {
        let program = context.program;
        let mask = frame.count_lanes_of(op, split.mask);
        match op.code {
            Code::Call if mask == 0 => split.pc += u32::from(op.n),
            Code::Call => {
                self.call(program, op, split, mask, u64::from(op.a))?;
                return Ok(Next::Block);
            }
            Code::CallIndirect => {
                self.call_indirect(program, frame, op, split, mask)?;
                return Ok(Next::Other);
            }
            Code::SaveRegisters => self.save_registers(program, op.a, split.stack.len(), mask),
            Code::RestoreRegisters => {
                self.restore_registers(program, op.a, split.stack.len(), mask);
            }
            Code::CopyLocal => {
                let frames = match op.n {
                    0 => [0; 32],
                    _ => frame.lanes::<u32>(op.dst),
                };
                context.memories.copy_local(op, &frames, mask);
            }
            Code::EnterFrame | Code::Allocate => {
                let (bytes, align) = match op.code {
                    Code::EnterFrame => ([u64::from(op.a); 32], 16),
                    _ => (frame.lanes::<u64>(op.a), op.c),
                };
                let limit = context.memories.local_bytes;
                self.allocate_stack(split.pc, mask, op.dst, op.b, &bytes, align, limit)?;
            }
            Code::Runtime => {
                let call = &program.tables.runtime_calls[op.a as usize];
                let called = context.runtime(frame, call, mask, &mut self.printed, heap);
                called.map_err(|(lane, kind)| WarpFault {
                    pc: split.pc,
                    lane: Some(lane),
                    kind,
                })?;
            }
            _ => {}
        }
        Ok(Next::Operation)
    }

    /// Lets the lanes of `mask` call function `function` of the module. The rest of the split goes
    /// on behind the call.
    fn call(
        &mut self,
        program: &Program,
        op: &Op,
        split: &mut Split,
        mask: u32,
        function: u64,
    ) -> Result<(), WarpFault> {
        let fault = |split: &Split, kind| WarpFault {
            pc: split.pc,
            lane: Some(mask.trailing_zeros()),
            kind,
        };
        if split.stack.len() >= MAX_CALL_DEPTH {
            let kind = FaultKind::CallDepth { depth: MAX_CALL_DEPTH as u32 };
            return Err(fault(split, kind));
        }
        let Some(callable) = program.callable(function) else {
            let kind = FaultKind::BadTarget { what: "call", value: function };
            return Err(fault(split, kind));
        };
        if mask != split.mask {
            let mut rest = split.clone();
            rest.mask &= !mask;
            rest.pc += 1 + u32::from(op.n);
            self.splits.push(rest);
            split.mask = mask;
        }
        split.stack.push((split.block, split.pc + 1));
        split.enter(program, callable.block);
        split.pc = callable.first_op;
        Ok(())
    }

    /// An indirect call by the lanes of `mask`: one split for each function that is called.
    fn call_indirect(
        &mut self,
        program: &Program,
        frame: &Frame,
        op: &Op,
        split: &Split,
        mask: u32,
    ) -> Result<(), WarpFault> {
        let targets = frame.lanes::<u64>(op.a);
        let rest = split.mask & !mask;
        if rest != 0 {
            let mut others = split.clone();
            others.mask = rest;
            others.pc += 1 + u32::from(op.n);
            self.splits.push(others);
        }
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros();
            let address = targets[lane as usize & 31];
            let lanes = lanes_with(left, |lane| targets[lane] == address);
            let bad = || WarpFault {
                pc: split.pc,
                lane: Some(lane),
                kind: FaultKind::BadTarget { what: "call", value: address },
            };
            let function = function_at(address).ok_or_else(bad)?;
            let signature = u32::try_from(function).ok().and_then(|f| program.pointed_to.get(&f));
            if signature != program.tables.signatures.get(op.b as usize) {
                let kind = FaultKind::CallMismatch { address };
                return Err(WarpFault { kind, ..bad() });
            }
            let mut group = split.clone();
            group.mask = lanes;
            self.call(program, op, &mut group, lanes, function)?;
            self.splits.push(group);
            left &= !lanes;
        }
        Ok(())
    }

    /// Saves the registers of list `index` for the lanes of `mask`, which are about to make the
    /// call that `depth` others enclose.
    fn save_registers(&mut self, program: &Program, index: u32, depth: usize, mask: u32) {
        let list = &program.saved[index as usize];
        if self.saved.len() <= depth {
            self.saved.resize_with(depth + 1, SavedActivation::default);
        }
        let saved = &mut self.saved[depth];
        let needed = list.rows.iter().map(|row| row.rows as usize).sum();
        if saved.rows.len() < needed {
            saved.rows.resize(needed, crate::lane::Row::ZERO);
        }
        if saved.predicates.len() < list.predicates.len() {
            saved.predicates.resize(list.predicates.len(), 0);
        }
        let mut at = 0;
        for row in &list.rows {
            let (first, count) = (row.first as usize, row.rows as usize);
            copy_lanes(&self.rows[first..first + count], &mut saved.rows[at..at + count], mask);
            at += count;
        }
        for (saved, &predicate) in saved.predicates.iter_mut().zip(&list.predicates) {
            *saved = (*saved & !mask) | (self.predicates[predicate as usize] & mask);
        }
    }

    /// Undoes [`Self::save_registers`].
    fn restore_registers(&mut self, program: &Program, index: u32, depth: usize, mask: u32) {
        let list = &program.saved[index as usize];
        let Some(saved) = self.saved.get(depth) else { return };
        let mut at = 0;
        for row in &list.rows {
            let (first, count) = (row.first as usize, row.rows as usize);
            copy_lanes(&saved.rows[at..at + count], &mut self.rows[first..first + count], mask);
            at += count;
        }
        for (saved, &predicate) in saved.predicates.iter().zip(&list.predicates) {
            let predicate = &mut self.predicates[predicate as usize];
            *predicate = (*predicate & !mask) | (saved & mask);
        }
    }

    /// Takes memory from the stacks of the lanes of `mask`: `bytes` of each lane, beginning at a
    /// multiple of `align`. Row `dst` gets the addresses, row `top` the stacks' new tops.
    #[expect(clippy::too_many_arguments, reason = "the operands of one operation")]
    fn allocate_stack(
        &mut self,
        pc: u32,
        mask: u32,
        dst: u32,
        top: u32,
        bytes: &[u64; 32],
        align: u32,
        limit: u64,
    ) -> Result<(), WarpFault> {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let begin = u64::from(self.rows[top as usize].0[lane]);
            let begin = begin.next_multiple_of(u64::from(align.max(1)));
            let end = begin.saturating_add(bytes[lane]).saturating_add(15) & !15;
            if end > limit {
                let kind = FaultKind::StackOverflow { bytes: end, limit };
                return Err(WarpFault { pc, lane: Some(lane as u32), kind });
            }
            self.stack_top = self.stack_top.max(end);
            self.rows[dst as usize].0[lane] = begin as u32;
            self.rows[top as usize].0[lane] = end as u32;
        }
        Ok(())
    }
}

/// Copies the lanes of `mask` of a register of one, two or four rows.
fn copy_lanes(from: &[crate::lane::Row], to: &mut [crate::lane::Row], mask: u32) {
    if mask == super::lanes::FULL_MASK {
        to.copy_from_slice(from);
        return;
    }
    // A register of several rows is an array of 32 wide elements.
    let words = from.len();
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        for word in lane * words..(lane + 1) * words {
            to[word / 32].0[word % 32] = from[word / 32].0[word % 32];
        }
    }
}
