//! One warp: a set of splits, each a group of lanes at one program counter.
//!
//! Structured code reconverges exactly at the immediate post-dominator. Unstructured code merges at
//! the first common block, which can be earlier. A call with a guard has a meeting place of its
//! own: lanes that skip it wait behind the fetched results, as they would where a branch goes
//! around the call. `.sync` instructions wait until all member lanes that have not exited are
//! there.

#![allow(unsafe_code, reason = "the lane loop is entered with a frame of the right size")]

mod branch;
mod memory;
mod split;
mod stepwise;
mod synchronise;

use std::sync::Mutex;

use super::access::{AccessFault, AccessReport, Hearing, LentPatterns, LoopAccesses, Memories};
use super::async_copy::CopyQueue;
use super::call::SavedActivation;
use super::classes::Representative;
use super::cluster_barrier::ClusterLanes;
use super::lanes::{Extents, FULL_MASK, Frame, lane_count};
use super::late_stores::LateStores;
use super::level::Level;
use super::watch::Watching;
use crate::fault::FaultKind;
use crate::lane::Row;
use crate::observer::{Access, HeapUse, NoRecorder, Recorder, Wants};
use crate::program::Program;
use crate::program::op::{Code, Op};
use crate::program::registers::WIDEST;

pub(super) use split::{Next, Split, Wait, lanes_with};

/// The outcome of a warp's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All lanes have exited.
    Done,
    /// All lanes wait.
    Blocked,
    /// The turn's instructions are used up, or the warp has taken work.
    Expired,
}

/// A fault at an operation of a warp.
#[derive(Debug)]
pub(super) struct WarpFault {
    pub(super) pc: u32,
    /// The lane, where one is to blame.
    pub(super) lane: Option<u32>,
    pub(super) kind: FaultKind,
}

impl AccessFault {
    /// The fault, at the operation that is to blame.
    pub(super) fn at(self, pc: u32) -> WarpFault {
        WarpFault { pc, lane: Some(self.lane), kind: self.kind }
    }
}

/// A warp's registers and control state.
#[derive(Debug)]
pub(super) struct Warp {
    pub(super) index: u32,
    pub(super) rows: Vec<Row>,
    /// Results of operations of some lanes only, before the lanes are taken.
    scratch: Box<[Row; WIDEST]>,
    pub(super) predicates: Vec<u32>,
    pub(super) splits: Vec<Split>,
    /// Lanes that have not exited.
    pub(super) live: u32,
    /// Warp-instructions issued.
    pub(super) issued: u64,
    /// Lanes active in them.
    pub(super) issued_lanes: u64,
    /// Lanes that have arrived at each barrier without waiting.
    pub(super) arrived: [u32; 16],
    /// Registers saved around calls, by depth of the call stack.
    pub(super) saved: Vec<SavedActivation>,
    /// The highest top that a stack of its threads has had in this CTA.
    pub(super) stack_top: u64,
    /// Output that its threads have printed since the CTA took it last.
    pub(super) printed: Vec<u8>,
    /// Asynchronous copies on their way.
    pub(super) copies: CopyQueue,
    /// Bulk copies out of shared memory that are held back.
    pub(super) late_stores: LateStores,
    /// State of its lanes at the cluster's barrier.
    pub(super) cluster: ClusterLanes,
    /// True if it has taken work since the cluster last looked.
    pub(super) has_taken: bool,
}

/// The surroundings that a warp needs for a turn.
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    pub(super) level: Level,
    /// The CTA's rank in its cluster.
    pub(super) rank: u32,
    pub(super) memories: Memories<'a>,
    /// One count for each guarded instruction of the program, the CTA's own.
    pub(super) guarded_lanes: *mut u64,
    /// The distances of its addresses that each memory operation had last, the CTA's own.
    pub(super) patterns: LentPatterns,
    /// True if bad accesses are left out instead of ending the launch.
    pub(super) skip_bad_accesses: bool,
    /// Events that the recorder is told of.
    pub(super) wants: Wants,
    /// How accesses are told.
    pub(super) hearing: Hearing,
    /// Detector of accesses whose order another CTA could tell.
    pub(super) watching: Option<Watching<'a>>,
    /// The place of the CTA, if it is executed for others.
    pub(super) representative: Option<&'a Mutex<Option<Representative>>>,
}

impl Context<'_> {
    /// Tells the recorder of an access, and the watcher if there is one.
    #[inline(always)]
    pub(super) fn tell(&self, recorder: &mut dyn Recorder, access: &Access<'_>) {
        if let Some(watching) = &self.watching {
            watching.hear(access);
        }
        recorder.access(access);
    }
}

impl Warp {
    /// A warp with registers for `program`.
    pub(super) fn new(program: &Program, index: u32) -> Self {
        Self {
            index,
            rows: vec![Row::ZERO; program.registers.held_rows()],
            scratch: Box::new([Row::ZERO; WIDEST]),
            predicates: vec![0; program.registers.predicates as usize],
            splits: Vec::new(),
            live: 0,
            issued: 0,
            issued_lanes: 0,
            arrived: [0; 16],
            saved: Vec::new(),
            stack_top: 0,
            printed: Vec::new(),
            copies: CopyQueue::new(),
            late_stores: LateStores::default(),
            cluster: ClusterLanes::default(),
            has_taken: false,
        }
    }

    /// Computes the rows that all CTAs have in common; `report` is room for reports.
    pub(super) fn settle(&mut self, context: &Context<'_>, report: &mut AccessReport) {
        let program = context.program;
        let frame = Frame { ops: program.settling.as_ptr(), ..self.frame(context) };
        let clock = BlockClock { issued_before: 0, first_instruction: 0 };
        let mut recorder = NoRecorder;
        let teller = self.teller(context, &mut recorder, &frame, clock);
        let (ops, patterns) = (&program.tables.memory_ops, context.patterns);
        let mut accesses = LoopAccesses::new(ops, &context.memories, report, patterns, teller);
        accesses.enter(clock);
        // SAFETY: the frame is made of the program and this warp's register file, which was sized
        // for it, and so are the accesses; the list ends in an operation that leaves the lane loop,
        // and the level is one of this CPU.
        unsafe { (context.level.run)(&frame, &mut accesses, 0, FULL_MASK) };
    }

    /// Puts all of `mask` at the kernel's entry.
    pub(super) fn start(&mut self, entry_block: u32, entry_pc: u32, mask: u32) {
        self.live = mask;
        self.issued = 0;
        self.issued_lanes = 0;
        self.arrived = [0; 16];
        self.copies.clear();
        self.late_stores.clear();
        self.cluster = ClusterLanes::default();
        self.has_taken = false;
        self.splits.clear();
        self.splits.push(Split {
            mask,
            pc: entry_pc,
            block: entry_block,
            entering: true,
            wait: Wait::Nothing,
            stack: Vec::new(),
            ran: 0,
        });
    }

    /// Returns true if lanes go on in the middle of a block, which they have issued before.
    pub(super) fn resumes(&self) -> bool {
        self.splits.iter().any(|split| !split.entering && split.wait == Wait::Nothing)
    }

    /// Runs until every lane has exited or waits, or `limit` warp-instructions have been issued.
    /// `report` is room for reports of accesses.
    pub(super) fn run(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        report: &mut AccessReport,
        limit: u64,
    ) -> Result<Turn, Box<WarpFault>> {
        loop {
            if self.live == 0 {
                return Ok(Turn::Done);
            }
            if self.issued >= limit || self.has_taken {
                return Ok(Turn::Expired);
            }
            let Some(next) = self.next_split(recorder) else { return Ok(Turn::Blocked) };
            let split = self.splits.swap_remove(next);
            self.run_split(context, recorder, report, split, limit)?;
        }
    }

    /// Returns the data on which the lane loop works: the program and this warp's registers.
    pub(super) fn frame(&mut self, context: &Context<'_>) -> Frame {
        Frame {
            ops: context.program.ops.as_ptr(),
            guards: context.program.guards.as_ptr(),
            rows: self.rows.as_mut_ptr(),
            scratch: self.scratch.as_mut_ptr(),
            predicates: self.predicates.as_mut_ptr(),
            guarded_lanes: context.guarded_lanes,
            extents: Extents {
                rows: self.rows.len(),
                predicates: self.predicates.len(),
                guards: context.program.guards.len().min(context.program.guarded.len()),
                #[cfg(debug_assertions)]
                widths: context.program.registers.widths.as_slice(),
            },
        }
    }

    /// Runs one split until it has to give way, and puts the rest of it back.
    fn run_split(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        report: &mut AccessReport,
        mut split: Split,
        limit: u64,
    ) -> Result<(), WarpFault> {
        let program = context.program;
        let frame = self.frame(context);
        let clock = self.block_clock(program, &split);
        let teller = self.teller(context, recorder, &frame, clock);
        let (ops, patterns) = (&program.tables.memory_ops, context.patterns);
        let mut accesses = LoopAccesses::new(ops, &context.memories, report, patterns, teller);
        loop {
            if split.entering {
                let block = &program.blocks[split.block as usize];
                accesses.recorder().block(self.index, split.block, split.mask);
                let instructions = u64::from(block.instruction_count);
                self.issued += instructions;
                self.issued_lanes += instructions * lane_count(split.mask);
                split.entering = false;
            }
            accesses.enter(self.block_clock(program, &split));
            // SAFETY: the frame is made of the program and this warp's register file, which was
            // sized for it, and so are the accesses; every block ends in an operation that leaves
            // the lane loop, and the level is one of this CPU.
            split.pc = unsafe {
                match context.wants.steps {
                    false => (context.level.run)(&frame, &mut accesses, split.pc, split.mask),
                    true => self.run_stepwise(context, &frame, &mut accesses, &split),
                }
            };
            let op = &program.ops[split.pc as usize];
            let next = match op.code {
                Code::Memory | Code::Probe => {
                    let mask = frame.count_lanes_of(op, split.mask);
                    if mask != 0 {
                        let op = &program.tables.memory_ops[op.a as usize];
                        let (recorder, report) = accesses.outside();
                        self.memory(context, recorder, &frame, op, &split, mask, report)
                            .map_err(|fault| fault.at(split.pc))?;
                        if program.takes_work_at(op.instruction) {
                            // Others have their turns before it asks again.
                            self.has_taken = true;
                            split.pc += 1;
                            self.splits.push(split);
                            return Ok(());
                        }
                    }
                    Next::Operation
                }
                Code::Jump => {
                    split.enter(program, op.a);
                    Next::Block
                }
                Code::Branch => {
                    self.branch(program, accesses.recorder(), &frame, op, &mut split);
                    Next::Block
                }
                Code::BranchIndexed => {
                    return self.branch_indexed(program, &frame, op, split);
                }
                Code::Return | Code::Exit => {
                    self.leave(context, accesses.recorder(), &frame, op, split);
                    return Ok(());
                }
                Code::WarpSync => {
                    self.warp_sync(context, accesses.recorder(), &frame, op, &mut split)?
                }
                Code::Barrier => {
                    self.barrier(program, accesses.recorder(), &frame, op, &mut split)?
                }
                Code::Matrix => {
                    let mask = frame.count_lanes_of(op, split.mask);
                    if mask == FULL_MASK
                        && program.tables.matrix_ops[op.a as usize].is_of_warpgroup()
                    {
                        // The CTA executes it once all four warps have come.
                        split.wait = Wait::Warpgroup;
                        self.splits.push(split);
                        return Ok(());
                    }
                    if mask != 0 {
                        self.matrix(context, accesses.recorder(), &frame, op, &split, mask)?;
                    }
                    Next::Operation
                }
                Code::AsyncCopy
                | Code::AsyncWait
                | Code::Mbarrier
                | Code::Bulk
                | Code::Tensor
                | Code::Texture
                | Code::TensorMemory
                | Code::ClusterBarrier => {
                    let (recorder, report) = accesses.outside();
                    self.asynchronous(context, recorder, &frame, op, &mut split, report)?
                }
                // Nobody is left to meet where the split is alone.
                Code::Rejoin if self.splits.is_empty() => Next::Operation,
                Code::Rejoin => {
                    split.pc += 1;
                    self.splits.push(split);
                    return Ok(());
                }
                Code::CopyLocal
                | Code::Call
                | Code::CallIndirect
                | Code::SaveRegisters
                | Code::RestoreRegisters
                | Code::EnterFrame
                | Code::Allocate
                | Code::Runtime => {
                    let (instruction, warp) =
                        (program.op_instruction[split.pc as usize], self.index);
                    let recorder = accesses.recorder();
                    let mut heap = |lane, address, bytes| {
                        let heap = context.memories.device.heap_range();
                        recorder.heap(&HeapUse { instruction, warp, lane, address, bytes, heap });
                    };
                    self.call_operation(context, &frame, op, &mut split, &mut heap)?
                }
                Code::Clock => {
                    self.read_clock(program, &frame, op, &split);
                    Next::Operation
                }
                Code::Trap => {
                    let mask = frame.count_lanes_of(op, split.mask);
                    if mask != 0 {
                        let lane = Some(mask.trailing_zeros());
                        return Err(WarpFault { pc: split.pc, lane, kind: program.trap(op) });
                    }
                    Next::Operation
                }
                Code::Follow => {
                    self.follow(context, &frame, &split);
                    Next::Operation
                }
                // The lane loop has executed all others.
                _ => Next::Operation,
            };
            match next {
                Next::Operation => {
                    split.pc += 1;
                    continue;
                }
                Next::Block => {}
                Next::Other => return Ok(()),
            }
            // At the start of a block: other splits may go first, or the turn may be over.
            if !self.splits.is_empty() || self.issued >= limit {
                split.ran = split.ran.saturating_add(1);
                self.splits.push(split);
                return Ok(());
            }
        }
    }

    /// `%clock` and `%clock64`.
    fn read_clock(&self, program: &Program, frame: &Frame, op: &Op, split: &Split) {
        let instruction = program.op_instruction[split.pc as usize];
        let clock = self.clock(program, split, instruction);
        let mask = frame.count_lanes_of(op, split.mask);
        if op.n == 0 {
            frame.set_lanes::<u32>(op.dst, mask, [clock as u32; 32]);
        } else {
            frame.set_lanes::<u64>(op.dst, mask, [clock; 32]);
        }
    }

    /// Warp-instructions issued before `instruction` of the block that `split` is in.
    pub(super) fn clock(&self, program: &Program, split: &Split, instruction: u32) -> u64 {
        self.block_clock(program, split).at(instruction)
    }

    /// The clock in the block that `split` is in.
    fn block_clock(&self, program: &Program, split: &Split) -> BlockClock {
        let block = &program.blocks[split.block as usize];
        let issued_before = self.issued.saturating_sub(u64::from(block.instruction_count));
        BlockClock { issued_before, first_instruction: block.first_instruction }
    }
}

/// A warp's clock while it is in one block.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct BlockClock {
    /// Warp-instructions issued before the block.
    issued_before: u64,
    first_instruction: u32,
}

impl BlockClock {
    /// Warp-instructions issued before `instruction`.
    #[inline(always)]
    pub(in crate::exec) fn at(self, instruction: u32) -> u64 {
        self.issued_before + u64::from(instruction.saturating_sub(self.first_instruction))
    }
}
