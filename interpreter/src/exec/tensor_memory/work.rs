//! Operations of tensor cores that end some time after they were issued: products, copies from
//! shared memory, and shifts.
//!
//! As a rule they are done when they are issued, which the manual allows. Those that are to end
//! late ([`AsyncTiming`](crate::AsyncTiming)) wait in the queue of the cluster's asynchronous
//! operations with the values of their registers. Then they read and write both memories at their
//! end. Operations end in the order in which they were issued, and a commit arrives behind those
//! before it: so it is with the operations of one thread, whatever their pipes.

use super::super::access::{self, KnownRead, KnownReads, tell_reads};
use super::super::lanes::Frame;
use super::super::matrix::OperandFault;
use super::copy::{self, CopyValues};
use super::multiply::{self, ProductValues};
use super::{Teller, cell, shift};
use crate::observer::{TensorCells, TensorMemoryStep, TensorUse};
use crate::program::Program;
use crate::program::tensor_memory_op::{CopyFromShared, ShiftRows, TensorMemoryOp, TensorMultiply};
use crate::semantics::tensor_memory::Cell;

/// An operation by one lane, with the values of its registers.
#[derive(Debug)]
pub(in crate::exec) struct TensorWork {
    /// Index into the program's table of instructions of tensor memory.
    op: u32,
    warp: u32,
    lane: u32,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Copy(CopyValues),
    Shift(Cell),
    Multiply(Box<ProductValues>),
}

/// An operation with its values.
enum Known<'a> {
    Copy(&'a CopyFromShared, CopyValues),
    Shift(&'a ShiftRows, Cell),
    Multiply(&'a TensorMultiply, &'a ProductValues),
}

/// What an operation reads and writes.
pub(super) enum Done {
    Copy(copy::Copied),
    Shift(Vec<TensorCells>),
    Multiply(Box<multiply::Done>),
}

impl TensorWork {
    /// Bytes that it takes, its values included: those of two CTAs' lanes, too.
    pub(in crate::exec) const BYTES: usize = size_of::<ProductValues>() + size_of::<[u32; 8]>();

    /// The work of a lane of a warp, if the operation is one that ends later.
    pub(super) fn of(
        frame: &Frame,
        program: &Program,
        op: u32,
        (warp, lane): (u32, u32),
    ) -> Option<Self> {
        let values = match &program.tables.tensor_memory_ops[op as usize] {
            TensorMemoryOp::Copy(copy) => Values::Copy(CopyValues::of(frame, copy, lane)),
            TensorMemoryOp::Shift(shift) => Values::Shift(cell(frame, &shift.address, lane)),
            TensorMemoryOp::Multiply(multiply) => {
                Values::Multiply(Box::new(ProductValues::of(frame, multiply, lane)))
            }
            TensorMemoryOp::Allocate(_)
            | TensorMemoryOp::Free { .. }
            | TensorMemoryOp::Relinquish
            | TensorMemoryOp::Transfer(_)
            | TensorMemoryOp::Wait { .. } => return None,
        };
        Some(Self { op, warp, lane, values })
    }

    fn known<'a>(&'a self, program: &'a Program) -> Option<Known<'a>> {
        let op = &program.tables.tensor_memory_ops[self.op as usize];
        match (op, &self.values) {
            (TensorMemoryOp::Copy(op), Values::Copy(values)) => Some(Known::Copy(op, *values)),
            (TensorMemoryOp::Shift(op), Values::Shift(base)) => Some(Known::Shift(op, *base)),
            (TensorMemoryOp::Multiply(op), Values::Multiply(values)) => {
                Some(Known::Multiply(op, values))
            }
            _ => None,
        }
    }

    /// True if something needs the result.
    pub(super) fn computes(&self, program: &Program) -> bool {
        match self.known(program) {
            Some(Known::Copy(op, _)) => op.computes,
            Some(Known::Shift(op, _)) => op.computes,
            Some(Known::Multiply(op, _)) => op.computes,
            None => false,
        }
    }

    /// Reads and writes at its end.
    pub(in crate::exec) fn end(
        &self,
        program: &Program,
        memories: &access::Memories<'_>,
    ) -> Result<(), OperandFault> {
        self.perform(program, memories, None, true).map(|_| ())
    }

    /// Reads and writes, or without `computes` checks the addresses alone. The reads of products
    /// that are checked become `known`.
    pub(super) fn perform(
        &self,
        program: &Program,
        memories: &access::Memories<'_>,
        known: Option<&mut KnownReads>,
        computes: bool,
    ) -> Result<Option<Done>, OperandFault> {
        let lane = self.lane;
        let done = match self.known(program) {
            Some(Known::Copy(op, values)) => {
                Done::Copy(copy::copy(memories, op, values, lane, computes)?)
            }
            Some(Known::Shift(op, base)) => {
                Done::Shift(shift::shift(memories, op, base, lane, computes)?)
            }
            Some(Known::Multiply(op, values)) => {
                let by = (self.warp, lane);
                let done = multiply::multiply(memories, op, values, by, known, computes)?;
                Done::Multiply(Box::new(done))
            }
            None => return Ok(None),
        };
        Ok(Some(done))
    }

    /// Tells the recorder what an operation by a lane uses, at a time of its warp's clock.
    pub(super) fn tell(&self, teller: &mut Teller<'_>, done: &Done, time: u64) {
        let (lane, instruction, warp) = (self.lane, teller.instruction, self.warp);
        let of_copy: Vec<KnownRead>;
        let (reads, product): (&[KnownRead], Option<&TensorUse>) = match done {
            Done::Copy(copied) => {
                teller.tell(lane, TensorMemoryStep::Write, &copied.writes);
                of_copy = KnownRead::of_rows(&copied.reads).collect();
                (&of_copy, None)
            }
            Done::Shift(cells) => {
                teller.tell(lane, TensorMemoryStep::Read, cells);
                teller.tell(lane, TensorMemoryStep::Write, cells);
                (&[], None)
            }
            Done::Multiply(done) => {
                teller.tell(lane, TensorMemoryStep::Read, &done.cells_read);
                teller.tell(lane, TensorMemoryStep::Write, &done.cells_written);
                (&done.reads, Some(&done.product))
            }
        };
        tell_reads(teller.recorder, reads, instruction, warp, time);
        if let Some(product) = product {
            teller.recorder.tensor(product);
        }
    }
}
