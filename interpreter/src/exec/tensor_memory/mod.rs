//! `tcgen05`: tensor memory and the instructions that work on it.
//!
//! Copies and products are done when they are issued, which the manual allows, unless they are to
//! end late ([`work`]): `tcgen05.wait` and the mbarriers of `tcgen05.commit` only say when they are
//! done at the latest.
//!
//! Each CTA of a program that uses it has 128 lanes of 512 columns, behind a lock that the other
//! CTA of its pair takes too. Instruction descriptors are values of registers. So execution decodes
//! them, and the recorder hears of each product with its operations (`Recorder::tensor`).

#![allow(unsafe_code, reason = "operands of checked programs are rows of a frame")]

mod copy;
mod memory;
mod multiply;
mod shared;
mod shift;
mod tables;
mod transfer;
mod work;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::access::{self, AccessReport, checked_addresses};
use super::async_copy::aligned;
use super::lanes::{FULL_MASK, Frame};
use super::matrix::OperandFault;
use super::warp::{Context, Next, Split, Wait, Warp, WarpFault};
use crate::fault::FaultKind;
use crate::observer::{Recorder, TensorCells, TensorMemoryStep, TensorMemoryUse};
use crate::program::memory_op::{MemoryOp, Space, window};
use crate::program::op::Op;
use crate::program::tensor_memory_op::{Allocate, TensorMemoryOp};
use crate::semantics::tensor_memory::{Cell, LANES};
use memory::Request;
pub(super) use memory::TensorMemory;
pub(super) use work::TensorWork;

/// The tensor memory of a CTA, which the other CTA of its pair works on too.
pub(super) type SharedTensorMemory = Arc<Mutex<TensorMemory>>;

/// Locks a tensor memory. The CTAs of a cluster take turns on one thread, so that nobody waits.
pub(super) fn lock(memory: &Mutex<TensorMemory>) -> MutexGuard<'_, TensorMemory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tensor memories that a warp works on.
struct Memories<'a> {
    memories: &'a access::Memories<'a>,
    /// The rank of the first CTA, and the number of CTAs.
    first: u32,
    ctas: u32,
}

impl<'a> Memories<'a> {
    /// Those of the CTA alone, or of its pair.
    fn new(memories: &'a access::Memories<'a>, ctas: u32) -> Self {
        let first = if ctas == 2 { memories.rank & !1 } else { memories.rank };
        Self { memories, first, ctas }
    }

    /// The memory of the CTA at place `at` of the pair.
    fn of(&self, at: u32) -> Result<MutexGuard<'a, TensorMemory>, OperandFault> {
        let rank = self.first + at;
        match self.memories.cluster.tensor_memory(rank) {
            Some(memory) => Ok(lock(memory)),
            None => Err(no_cta(rank)),
        }
    }

    /// The address in shared memory of the CTA at place `at` that is `address` in that CTA.
    fn shared_address(&self, at: u32, address: u64) -> u64 {
        match self.first + at {
            rank if rank == self.memories.rank => self.memories.own_address(address),
            rank => window::of_rank(rank) + address % window::CTA_BYTES,
        }
    }
}

fn no_cta(rank: u32) -> OperandFault {
    OperandFault { lane: 0, kind: FaultKind::NoPair { rank } }
}

/// The fault of an operand with an undefined value.
fn undefined(lane: u32, what: &'static str, value: u64) -> OperandFault {
    OperandFault { lane, kind: FaultKind::UndefinedOperand { what, value } }
}

/// The fault of a lane.
fn of_lane(lane: u32) -> impl Fn(FaultKind) -> OperandFault {
    move |kind| OperandFault { lane, kind }
}

/// The cell that a lane's address means.
fn cell(frame: &Frame, op: &MemoryOp, lane: u32) -> Cell {
    Cell::of_address(checked_addresses(frame, op)[lane as usize & 31] as u32)
}

/// The value that all lanes of the warp must have in a row.
fn common(frame: &Frame, row: u32, what: &'static str) -> Result<u32, OperandFault> {
    same(&frame.lanes::<u32>(row), what)
}

/// The value that all lanes have.
fn same(values: &[u32; 32], what: &'static str) -> Result<u32, OperandFault> {
    match values.iter().position(|&value| value != values[0]) {
        None => Ok(values[0]),
        Some(lane) => Err(undefined(lane as u32, what, values[lane].into())),
    }
}

/// Tells the recorder of the cells that one instruction of a warp uses.
struct Teller<'a> {
    recorder: &'a mut dyn Recorder,
    instruction: u32,
    warp: u32,
}

impl Teller<'_> {
    fn tell(&mut self, lane: u32, step: TensorMemoryStep, cells: &[TensorCells]) {
        let (instruction, warp) = (self.instruction, self.warp);
        self.recorder.tensor_memory(&TensorMemoryUse { instruction, warp, lane, step, cells });
    }
}

impl Warp {
    /// An instruction of tensor memory by the lanes of `mask`, at least one.
    #[expect(clippy::too_many_arguments, reason = "the parts of one split's state")]
    pub(super) fn tensor_memory(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &Split,
        mask: u32,
        report: &mut AccessReport,
    ) -> Result<Next, WarpFault> {
        let pc = split.pc;
        let index = op.a;
        let op = &context.program.tables.tensor_memory_ops[index as usize];
        let of_threads = matches!(
            op,
            TensorMemoryOp::Copy(_)
                | TensorMemoryOp::Multiply(_)
                | TensorMemoryOp::Shift(_)
                | TensorMemoryOp::Wait { .. }
        );
        if !of_threads && mask != FULL_MASK {
            return Err(WarpFault { pc, lane: None, kind: FaultKind::PartialWarp { lanes: mask } });
        }
        let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
        let mut teller = Teller {
            recorder,
            instruction: context.program.op_instruction[pc as usize],
            warp: self.index,
        };
        match op {
            TensorMemoryOp::Allocate(op) => {
                return self.allocate(context, teller, frame, op, split, report);
            }
            TensorMemoryOp::Free { address, columns, exclusive } => {
                let address = common(frame, *address, "an address that differs between lanes");
                let columns = common(frame, *columns, "a number that differs between lanes");
                let freed = address.and_then(|address| {
                    let mut memory = Memories::new(&context.memories, 1).of(0)?;
                    memory.free(address, columns?, *exclusive).map_err(of_lane(0))
                });
                freed.map_err(|fault| fault.at(pc))?;
            }
            TensorMemoryOp::Relinquish => {
                let memory = Memories::new(&context.memories, 1).of(0);
                memory.map_err(|fault| fault.at(pc))?.relinquish();
            }
            TensorMemoryOp::Transfer(op) => {
                let memory = Memories::new(&context.memories, 1).of(0);
                let cells = memory
                    .and_then(|mut memory| transfer::transfer(frame, &mut memory, op, self.index))
                    .map_err(|fault| fault.at(pc))?;
                let step = match op.is_store {
                    true => TensorMemoryStep::Write,
                    false => TensorMemoryStep::Read,
                };
                let rank = context.rank;
                let cells: Vec<_> =
                    cells.into_iter().map(|cells| TensorCells { rank, ..cells }).collect();
                teller.tell(0, step, &cells);
            }
            TensorMemoryOp::Wait { loads } => {
                let step = match loads {
                    true => TensorMemoryStep::WaitLoads,
                    false => TensorMemoryStep::WaitStores,
                };
                teller.tell(mask.trailing_zeros(), step, &[]);
            }
            TensorMemoryOp::Copy(_) | TensorMemoryOp::Shift(_) | TensorMemoryOp::Multiply(_) => {
                for lane in lanes {
                    self.tensor_work(context, &mut teller, frame, index, split, lane)
                        .map_err(|fault| fault.at(pc))?;
                }
            }
        }
        Ok(Next::Operation)
    }

    /// An operation of tensor cores by one lane, which is done at once or at its end.
    fn tensor_work(
        &self,
        context: &Context<'_>,
        teller: &mut Teller<'_>,
        frame: &Frame,
        op: u32,
        split: &Split,
        lane: u32,
    ) -> Result<(), OperandFault> {
        let (program, memories) = (context.program, &context.memories);
        let Some(work) = TensorWork::of(frame, program, op, (self.index, lane)) else {
            return Ok(());
        };
        let computes = work.computes(program);
        let is_late = computes && memories.works_late();
        let mut patterns = context.patterns;
        let Some(done) =
            work.perform(program, memories, Some(patterns.reads()), computes && !is_late)?
        else {
            return Ok(());
        };
        let time = self.clock(program, split, teller.instruction);
        work.tell(teller, &done, time);
        if is_late {
            let issuer = self.issuer(context, teller.instruction, split.pc, lane);
            memories.hold_work(issuer, work);
        }
        Ok(())
    }

    /// `tcgen05.alloc`: writes the address of columns to shared memory, or waits for them.
    fn allocate(
        &mut self,
        context: &Context<'_>,
        mut teller: Teller<'_>,
        frame: &Frame,
        op: &Allocate,
        split: &Split,
        report: &mut AccessReport,
    ) -> Result<Next, WarpFault> {
        let pc = split.pc;
        let address = self.find_columns(context, frame, op, pc);
        let Some(address) = address.map_err(|fault| fault.at(pc))? else {
            self.splits.push(split.part(split.mask, Wait::TensorMemory));
            return Ok(Next::Other);
        };
        let columns = frame.lane::<u32>(op.columns, 0);
        let (rank, column) = (context.rank, address);
        let cells = TensorCells { rank, lane: 0, lanes: LANES, column, columns };
        teller.tell(0, TensorMemoryStep::Allocate, &[cells]);
        let recorder = teller.recorder;
        report.addresses = checked_addresses(frame, &op.destination);
        let memories = &context.memories;
        let given = report.addresses[0];
        let kind = FaultKind::NotShared { what: "the destination of the address", address: given };
        let fault = |kind| WarpFault { pc, lane: Some(0), kind };
        let place = memories.shared_address(op.destination.space, given);
        let place = place.ok_or_else(|| fault(kind))?;
        aligned(&[place; 32], 1, 4).map_err(|fault| fault.at(pc))?;
        let host = memories.shared_host(0, place, 4, true).map_err(|fault| fault.at(pc))?;
        // SAFETY: the address has just been checked.
        unsafe { host.cast::<u32>().write_unaligned(address) };
        report.addresses = [place; 32];
        let time = self.clock(context.program, split, op.destination.instruction);
        self.tell(context, recorder, &op.destination, time, Space::Shared, 1, 4, report);
        Ok(Next::Operation)
    }

    /// The address of newly allocated columns; `None` if the warp has to wait.
    fn find_columns(
        &self,
        context: &Context<'_>,
        frame: &Frame,
        op: &Allocate,
        pc: u32,
    ) -> Result<Option<u32>, OperandFault> {
        let columns = common(frame, op.columns, "a number that differs between lanes")?;
        let request = Request { columns, warp: self.index, pc, exclusive: op.exclusive };
        let found = if op.pair {
            let pair = Memories::new(&context.memories, 2);
            let own = context.rank & 1;
            let (mut memory, mut peer) = (pair.of(own)?, pair.of(1 - own)?);
            memory.allocate_in_pair(&mut peer, request)
        } else {
            Memories::new(&context.memories, 1).of(0)?.allocate(request)
        };
        found.map_err(of_lane(0))
    }

    /// Lets splits ask again for columns of tensor memory. Returns true if there are any.
    pub(super) fn retry_allocations(&mut self) -> bool {
        let mut any = false;
        for split in self.splits.iter_mut().filter(|split| split.wait == Wait::TensorMemory) {
            split.wait = Wait::Nothing;
            any = true;
        }
        any
    }

    /// Returns true if a split waits for columns of tensor memory.
    pub(super) fn waits_for_columns(&self) -> bool {
        self.splits.iter().any(|split| split.wait == Wait::TensorMemory)
    }
}
