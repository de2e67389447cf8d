//! One warp: a set of splits, each a group of lanes at one program counter.
//!
//! The split whose block comes first in reverse post-order runs first, deepest call first, so
//! that lanes that fell behind catch up and splits meet at the reconvergence point; splits at the same
//! place merge. A split that has run [`SPLIT_QUANTUM`] blocks while others wait gives way, so
//! that lanes which spin on what another lane of their warp does make progress, as on Volta and later.

#![allow(unsafe_code, reason = "the lane loop is entered with a frame of the right size")]

use super::access::{AccessFault, AccessReport, Memories, generic_part, reported_space};
use super::async_copy::{CopyQueue, PendingCopy};
use super::asynchronous::Outcome;
use super::call::{Next, SavedActivation};
use super::cluster_barrier::ClusterLanes;
use super::lane::Row;
use super::lanes::{FULL_MASK, Frame};
use super::level::Level;
use crate::fault::FaultKind;
use crate::observer::{
    Access, AccessKind, Arrival, BadAccess, Exit, HeapUse, Pattern, Recorder, WarpArrival,
    WarpRelease,
};
use crate::program::Program;
use crate::program::memory_op::MemoryOp;
use crate::program::op::{ALIGNED, Code, MEMBERS, NO_BLOCK, Op, barrier};

/// Blocks that a split runs before it gives way to the other splits of its warp.
const SPLIT_QUANTUM: u32 = 1 << 10;

/// Why a split does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It can run.
    Nothing,
    /// It has arrived at a barrier of its CTA.
    Barrier { id: u32 },
    /// It waits for the other lanes of `members`: where lanes exchange values, to reach the same
    /// instruction, otherwise to reach any `bar.warp.sync` with these members.
    Lanes { members: u32, exchange: bool },
    /// `lanes` of it wait for the phase of an mbarrier, for `patience` more turns.
    Mbarrier { lanes: u32, patience: u32 },
    /// It waits for the cluster's barrier, at which it has arrived.
    ClusterBarrier,
}

/// Lanes that execute together.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    /// The block of `pc`.
    pub(super) block: u32,
    /// Whether the block is still to be entered (and counted).
    entering: bool,
    pub(crate) wait: Wait,
    /// Return addresses, innermost last: block and program counter.
    pub(super) stack: Vec<(u32, u32)>,
    /// Blocks run since other splits began to wait.
    ran: u32,
}

/// What became of a warp's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// All lanes have exited.
    Done,
    /// All lanes wait.
    Blocked,
    /// The turn's instructions are used up.
    Expired,
}

/// A fault at an operation of a warp.
#[derive(Debug)]
pub(crate) struct WarpFault {
    pub(crate) pc: u32,
    /// The lane, where one is to blame.
    pub(crate) lane: Option<u32>,
    pub(crate) kind: FaultKind,
}

impl AccessFault {
    /// The fault, at the operation that is to blame.
    pub(crate) fn at(self, pc: u32) -> WarpFault {
        WarpFault { pc, lane: Some(self.lane), kind: self.kind }
    }
}

/// A warp's registers and control state.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    pub(crate) rows: Vec<Row>,
    pub(crate) predicates: Vec<u32>,
    pub(crate) splits: Vec<Split>,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    /// Warp-instructions issued.
    pub(crate) issued: u64,
    /// Lanes active in them.
    pub(crate) issued_lanes: u64,
    /// Lanes that have arrived at each barrier without waiting.
    pub(crate) arrived: [u32; 16],
    /// Registers saved around calls, by depth of the call stack.
    pub(super) saved: Vec<SavedActivation>,
    /// The highest top that a stack of its threads has had in this CTA.
    pub(crate) stack_top: u64,
    /// What its threads have printed since the CTA took it last.
    pub(crate) printed: Vec<u8>,
    /// Asynchronous copies on their way.
    pub(crate) copies: CopyQueue,
    /// Where its lanes are with the cluster's barrier.
    pub(crate) cluster: ClusterLanes,
}

/// What a warp needs of its surroundings for a turn.
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    pub(crate) level: Level,
    pub(crate) memories: Memories<'a>,
    /// One count for each guarded instruction of the program, the CTA's own.
    pub(crate) guarded_lanes: *mut u64,
    /// Whether bad accesses are left out instead of ending the launch.
    pub(crate) skip_bad_accesses: bool,
}

impl Warp {
    /// A warp with registers for `program`.
    pub(crate) fn new(program: &Program, index: u32) -> Self {
        Self {
            index,
            rows: vec![Row::ZERO; program.registers.rows as usize],
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
            cluster: ClusterLanes::default(),
        }
    }

    /// Put all of `mask` at the kernel's entry.
    pub(crate) fn start(&mut self, entry_block: u32, entry_pc: u32, mask: u32) {
        self.live = mask;
        self.issued = 0;
        self.issued_lanes = 0;
        self.arrived = [0; 16];
        self.copies.clear();
        self.cluster = ClusterLanes::default();
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

    /// Run until every lane has exited or waits, or `limit` warp-instructions have been issued.
    pub(crate) fn run<R: Recorder>(
        &mut self,
        context: &Context<'_>,
        recorder: &mut R,
        limit: u64,
    ) -> Result<Turn, WarpFault> {
        loop {
            if self.live == 0 {
                return Ok(Turn::Done);
            }
            if self.issued >= limit {
                return Ok(Turn::Expired);
            }
            let Some(next) = self.next_split(recorder) else { return Ok(Turn::Blocked) };
            let split = self.splits.swap_remove(next);
            self.run_split(context, recorder, split, limit)?;
        }
    }

    /// What the lane loop works on: the program and this warp's registers.
    pub(super) fn frame(&mut self, context: &Context<'_>) -> Frame {
        Frame {
            ops: context.program.ops.as_ptr(),
            guards: context.program.guards.as_ptr(),
            rows: self.rows.as_mut_ptr(),
            predicates: self.predicates.as_mut_ptr(),
            guarded_lanes: context.guarded_lanes,
        }
    }

    /// Merge what can be merged and choose the split to run.
    fn next_split<R: Recorder>(&mut self, recorder: &mut R) -> Option<usize> {
        if self.splits.len() == 1 {
            let split = &mut self.splits[0];
            split.ran = 0;
            if let Wait::Lanes { members, exchange } = split.wait
                && members & self.live & !split.mask == 0
            {
                split.wait = Wait::Nothing;
                if !exchange {
                    let (warp, lanes) = (self.index, split.mask);
                    recorder.warp_release(&WarpRelease { warp, lanes });
                }
            }
            return (split.wait == Wait::Nothing).then_some(0);
        }
        self.merge_splits();
        self.wake_complete(recorder);
        let runnable = self.splits.iter().enumerate().filter(|(_, s)| s.wait == Wait::Nothing);
        let priority =
            |s: &Split| (s.ran / SPLIT_QUANTUM, usize::MAX - s.stack.len(), s.block, s.pc);
        runnable.min_by_key(|(_, split)| priority(split)).map(|(index, _)| index)
    }

    /// Let lanes go on for which all others have come.
    fn wake_complete<R: Recorder>(&mut self, recorder: &mut R) {
        for at in 0..self.splits.len() {
            let wait = self.splits[at].wait;
            let Wait::Lanes { members, exchange } = wait else { continue };
            let together =
                |index: usize, split: &Split| split.wait == wait && (index == at || !exchange);
            let here = self.splits.iter().enumerate();
            let here = here.filter(|(index, split)| together(*index, split));
            let here = here.fold(0, |lanes, (_, split)| lanes | split.mask);
            if members & self.live & !here == 0 {
                if !exchange {
                    recorder.warp_release(&WarpRelease { warp: self.index, lanes: here });
                }
                for (index, split) in self.splits.iter_mut().enumerate() {
                    if together(index, split) {
                        split.wait = Wait::Nothing;
                    }
                }
            }
        }
    }

    /// Join splits that stand at the same place, waiting for the same thing.
    fn merge_splits(&mut self) {
        let mut at = 0;
        while at < self.splits.len() {
            let mut other = at + 1;
            while other < self.splits.len() {
                let (a, b) = (&self.splits[at], &self.splits[other]);
                if a.pc == b.pc
                    && a.entering == b.entering
                    && a.wait == b.wait
                    && a.stack == b.stack
                {
                    let merged = self.splits.swap_remove(other);
                    self.splits[at].mask |= merged.mask;
                    self.splits[at].ran = self.splits[at].ran.min(merged.ran);
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
    }

    /// Run one split until it has to give way, and put what remains of it back.
    fn run_split<R: Recorder>(
        &mut self,
        context: &Context<'_>,
        recorder: &mut R,
        mut split: Split,
        limit: u64,
    ) -> Result<(), WarpFault> {
        let program = context.program;
        let mut report = AccessReport { addresses: [0; 32], pattern: Pattern::General };
        let frame = self.frame(context);
        loop {
            if split.entering {
                let block = &program.blocks[split.block as usize];
                recorder.block(self.index, split.block, split.mask);
                let instructions = u64::from(block.instruction_count);
                self.issued += instructions;
                self.issued_lanes += instructions * u64::from(split.mask.count_ones());
                split.entering = false;
            }
            // SAFETY: the frame is made of the program and this warp's register file, which was
            // sized for it; every block ends in an operation that leaves the lane loop.
            split.pc = unsafe { (context.level.run)(&frame, split.pc, split.mask) };
            let op = &program.ops[split.pc as usize];
            match op.code {
                Code::Memory => {
                    // SAFETY: the invariants of the frame hold.
                    let mask = unsafe { frame.guard(op, split.mask) };
                    if mask != 0 {
                        let memory_op = &program.memory_ops[op.a as usize];
                        self.memory(
                            context,
                            recorder,
                            &frame,
                            memory_op,
                            &split,
                            mask,
                            &mut report,
                        )
                        .map_err(|fault| WarpFault {
                            pc: split.pc,
                            lane: Some(fault.lane),
                            kind: fault.kind,
                        })?;
                    }
                    split.pc += 1;
                    continue;
                }
                Code::Clock => {
                    let instruction = program.op_instruction[split.pc as usize];
                    let clock = self.clock(program, &split, instruction);
                    // SAFETY: `dst` is a row of the width that `n` says.
                    unsafe {
                        let mask = frame.guard(op, split.mask);
                        if op.n == 0 {
                            frame.set_row::<u32>(op.dst, mask, [clock as u32; 32]);
                        } else {
                            frame.set_row::<u64>(op.dst, mask, [clock; 32]);
                        }
                    }
                    split.pc += 1;
                    continue;
                }
                Code::WarpSync => {
                    // SAFETY: the invariants of the frame hold; `a` is a row.
                    let (mask, members) =
                        unsafe { (frame.guard(op, split.mask), *frame.row::<u32>(op.a)) };
                    if op.n & ALIGNED != 0 && mask != 0 && mask != split.mask {
                        let kind = FaultKind::PartialWarp { lanes: mask };
                        return Err(WarpFault { pc: split.pc, lane: None, kind });
                    }
                    let exchange = op.n & MEMBERS != 0;
                    if mask != 0 {
                        recorder.warp_arrive(&WarpArrival {
                            instruction: program.op_instruction[split.pc as usize],
                            warp: self.index,
                            mask,
                            members: &members,
                        });
                    }
                    split.pc += 1;
                    let mut together = mask;
                    let mut gives_way = false;
                    if mask != FULL_MASK {
                        (together, gives_way) =
                            self.wait_for_members(&mut split, mask, &members, exchange);
                    }
                    if !exchange {
                        release_groups(recorder, self.index, together, &members);
                    }
                    if gives_way {
                        return Ok(());
                    }
                    continue;
                }
                Code::Matrix => {
                    // SAFETY: the invariants of the frame hold.
                    let mask = unsafe { frame.guard(op, split.mask) };
                    if mask != 0 {
                        self.matrix(context, recorder, &frame, op, &split, mask)?;
                    }
                    split.pc += 1;
                    continue;
                }
                Code::AsyncCopy
                | Code::AsyncWait
                | Code::Mbarrier
                | Code::Bulk
                | Code::ClusterBarrier => {
                    let outcome =
                        self.asynchronous(context, recorder, &frame, op, &mut split, &mut report)?;
                    if outcome == Outcome::Waits {
                        return Ok(());
                    }
                    split.pc += 1;
                    continue;
                }
                Code::Jump => split.enter(program, op.a),
                Code::Branch => {
                    // SAFETY: the invariants of the frame hold.
                    let taken = unsafe { frame.guard(op, split.mask) };
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
                Code::BranchIndexed => {
                    self.branch_indexed(program, &frame, op, split)?;
                    return Ok(());
                }
                Code::Barrier => {
                    // SAFETY: the invariants of the frame hold.
                    let mask = unsafe { frame.guard(op, split.mask) };
                    // SAFETY: `a` is a row.
                    let ids = unsafe { *frame.row::<u32>(op.a) };
                    let arrives = op.n & barrier::KIND == barrier::ARRIVE;
                    let mut rest = mask;
                    while rest != 0 {
                        let lane = rest.trailing_zeros();
                        let id = ids[lane as usize];
                        if id as usize >= self.arrived.len() {
                            let kind = FaultKind::BadBarrier { barrier: id };
                            return Err(WarpFault { pc: split.pc, lane: Some(lane), kind });
                        }
                        let lanes = lanes_with(rest, |lane| ids[lane] == id);
                        recorder.arrive(&Arrival {
                            instruction: program.op_instruction[split.pc as usize],
                            warp: self.index,
                            barrier: id,
                            mask: lanes,
                            waits: !arrives,
                        });
                        if arrives {
                            self.arrive(id, lanes);
                        } else {
                            // The CTA reads count and operation from the operation itself.
                            let wait = Wait::Barrier { id };
                            self.splits.push(Split { mask: lanes, wait, ..split.clone() });
                        }
                        rest &= !lanes;
                    }
                    if !arrives {
                        split.mask &= !mask;
                    }
                    split.pc += 1;
                    if split.mask != 0 && (arrives || mask == 0) {
                        continue;
                    }
                    if split.mask != 0 {
                        self.splits.push(split);
                    }
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
                    let mut heap = |lane, address, bytes| {
                        let heap = context.memories.device.heap_range();
                        recorder.heap(&HeapUse { instruction, warp, lane, address, bytes, heap });
                    };
                    match self.call_operation(context, &frame, op, &mut split, &mut heap)? {
                        Next::Operation => {
                            split.pc += 1;
                            continue;
                        }
                        Next::Block => {}
                        Next::Other => return Ok(()),
                    }
                }
                Code::Return | Code::Exit => {
                    // SAFETY: the invariants of the frame hold.
                    let mask = unsafe { frame.guard(op, split.mask) };
                    let rest = split.mask & !mask;
                    if rest != 0 {
                        let mut remaining = split.clone();
                        remaining.mask = rest;
                        remaining.fall_through(program, op.b);
                        self.splits.push(remaining);
                    }
                    if mask == 0 {
                        return Ok(());
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
                    return Ok(());
                }
                Code::Trap => {
                    // SAFETY: the invariants of the frame hold.
                    let mask = unsafe { frame.guard(op, split.mask) };
                    if mask != 0 {
                        let lane = Some(mask.trailing_zeros());
                        return Err(WarpFault { pc: split.pc, lane, kind: FaultKind::Trap });
                    }
                    split.pc += 1;
                    continue;
                }
                // The lane loop has executed all others.
                _ => {
                    split.pc += 1;
                    continue;
                }
            }
            // At the start of a block: other splits may go first, or the turn may be over.
            if !self.splits.is_empty() || self.issued >= limit {
                split.ran = split.ran.saturating_add(1);
                self.splits.push(split);
                return Ok(());
            }
        }
    }

    /// Execute a load, store or atomic and tell the recorder.
    // Matrix instructions access memory too, but the loop over splits must not pay a call for that.
    #[expect(clippy::too_many_arguments, reason = "the parts of one split's state")]
    #[inline(always)]
    pub(super) fn memory<R: Recorder>(
        &self,
        context: &Context<'_>,
        recorder: &mut R,
        frame: &Frame,
        memory_op: &MemoryOp,
        split: &Split,
        mask: u32,
        report: &mut AccessReport,
    ) -> Result<(), AccessFault> {
        let program = context.program;
        let time = self.clock(program, split, memory_op.instruction);
        let tell = |recorder: &mut R, space, mask, report: &AccessReport| {
            if !memory_op.counted {
                return;
            }
            if R::WANTS_VALUES && memory_op.kind == AccessKind::Store {
                // SAFETY: the frame's invariants hold, and the operation belongs to its program.
                recorder.storing(&unsafe { super::access::digests(frame, memory_op) });
            }
            recorder.access(&Access {
                instruction: memory_op.instruction,
                warp: self.index,
                time,
                space: reported_space(space),
                kind: memory_op.kind,
                bytes_per_lane: memory_op.bytes_per_lane(),
                mask,
                pattern: report.pattern,
                addresses: &report.addresses,
            });
        };
        // SAFETY: the frame's invariants hold, and `mask` is not empty here or below.
        unsafe {
            let mut mask = mask;
            let space = loop {
                match (context.level.access)(frame, memory_op, &context.memories, mask, report) {
                    Ok(space) => break space,
                    // Nothing has been done for any lane yet.
                    Err(bad) => {
                        mask &= self.leave_out(context, recorder, frame, memory_op, bad)?;
                        if mask == 0 {
                            return Ok(());
                        }
                    }
                }
            };
            if let Some(space) = space {
                tell(recorder, space, mask, report);
                return Ok(());
            }
            // Lanes of one generic access go to several spaces.
            let generic = super::access::addresses(frame, memory_op);
            let mut rest = mask;
            while rest != 0 {
                let (space, mut lanes, addresses) = generic_part(&generic, rest);
                rest &= !lanes;
                report.addresses = addresses;
                let memories = &context.memories;
                while lanes != 0
                    && let Err(bad) = (context.level.access_space)(
                        frame, memory_op, space, memories, lanes, report,
                    )
                {
                    lanes &= self.leave_out(context, recorder, frame, memory_op, bad)?;
                }
                if lanes != 0 {
                    tell(recorder, space, lanes, report);
                }
            }
        }
        Ok(())
    }

    /// What becomes of a lane's bad access: the fault, or, where bad accesses are left out, the
    /// mask of all other lanes.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`]; `op` belongs to its program.
    #[cold]
    #[inline(never)]
    unsafe fn leave_out<R: Recorder>(
        &self,
        context: &Context<'_>,
        recorder: &mut R,
        frame: &Frame,
        op: &MemoryOp,
        bad: AccessFault,
    ) -> Result<u32, AccessFault> {
        if !context.skip_bad_accesses {
            return Err(bad);
        }
        let (warp, lane) = (self.index, bad.lane);
        let instruction = op.instruction;
        recorder.bad_access(&BadAccess { instruction, warp, lane, kind: &bad.kind });
        // SAFETY: passed on.
        unsafe { super::access::load_zeros(frame, op, 1 << lane) };
        Ok(!(1 << lane))
    }

    /// `brx.idx`: one split for each index that occurs.
    fn branch_indexed(
        &mut self,
        program: &Program,
        frame: &Frame,
        op: &Op,
        split: Split,
    ) -> Result<(), WarpFault> {
        // SAFETY: the invariants of the frame hold; `a` is a row.
        let (mut rest, indices) = unsafe { (frame.guard(op, split.mask), *frame.row::<u32>(op.a)) };
        let fall_through = split.mask & !rest;
        if fall_through != 0 {
            let mut other = split.clone();
            other.mask = fall_through;
            other.fall_through(program, op.b);
            self.splits.push(other);
        }
        let targets = &program.branch_tables[op.c as usize];
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

    /// Warp-instructions issued before `instruction` of the block that `split` is in.
    pub(super) fn clock(&self, program: &Program, split: &Split, instruction: u32) -> u64 {
        let block = &program.blocks[split.block as usize];
        let at = u64::from(instruction.saturating_sub(block.first_instruction));
        self.issued.saturating_sub(u64::from(block.instruction_count)) + at
    }

    /// Make the lanes of `mask` wait whose fellow members have not all come with them; answers the
    /// lanes of `mask` that need not wait, and whether `split` must give way: if not, it goes on
    /// with all its lanes.
    fn wait_for_members(
        &mut self,
        split: &mut Split,
        mask: u32,
        members: &[u32; 32],
        exchange: bool,
    ) -> (u32, bool) {
        let mut waiting = lanes_with(mask, |lane| members[lane] & self.live & !mask != 0);
        let together = mask & !waiting;
        if waiting == 0 {
            return (together, false);
        }
        split.mask &= !waiting;
        while waiting != 0 {
            let members_of_first = members[waiting.trailing_zeros() as usize & 31];
            let group = lanes_with(waiting, |lane| members[lane] == members_of_first);
            let wait = Wait::Lanes { members: members_of_first, exchange };
            self.splits.push(Split { mask: group, wait, ..split.clone() });
            waiting &= !group;
        }
        if split.mask != 0 {
            self.splits.push(split.clone());
        }
        (together, true)
    }

    /// `bar.arrive`: count the lanes of `mask` at barrier `id` without making them wait.
    fn arrive(&mut self, id: u32, mask: u32) {
        let threads = self.counted_as(mask);
        if let Some(arrived) = self.arrived.get_mut(id as usize) {
            *arrived = arrived.saturating_add(threads);
        }
    }

    /// For how many threads the lanes of `mask` count at a barrier with a thread count: the count
    /// is in whole warps, so a warp that is not full, or that has lost lanes, counts as one.
    pub(crate) fn counted_as(&self, mask: u32) -> u32 {
        if mask == self.live { 32 } else { mask.count_ones() }
    }

    /// Lanes that wait at barrier `id`.
    pub(crate) fn waiting_at(&self, id: u32) -> u32 {
        let at_barrier = |split: &&Split| split.wait == Wait::Barrier { id };
        self.splits.iter().filter(at_barrier).fold(0, |lanes, split| lanes | split.mask)
    }
}

/// Tell the recorder of the lanes of `lanes` that met at `bar.warp.sync`: those with the same members.
#[inline]
fn release_groups<R: Recorder>(recorder: &mut R, warp: u32, lanes: u32, members: &[u32; 32]) {
    let mut rest = lanes;
    while rest != 0 {
        let first = members[rest.trailing_zeros() as usize & 31];
        let group = lanes_with(rest, |lane| members[lane] == first);
        recorder.warp_release(&WarpRelease { warp, lanes: group });
        rest &= !group;
    }
}

/// The lanes of `mask` for which `f` holds.
pub(super) fn lanes_with(mask: u32, f: impl Fn(usize) -> bool) -> u32 {
    let holds = |&lane: &usize| mask >> lane & 1 != 0 && f(lane);
    (0..32).filter(holds).fold(0, |lanes, lane| lanes | 1 << lane)
}

impl Split {
    /// The lanes of `mask` of it, which wait.
    pub(super) fn part(&self, mask: u32, wait: Wait) -> Self {
        Self { mask, wait, ..self.clone() }
    }

    pub(super) fn enter(&mut self, program: &Program, block: u32) {
        self.block = block;
        self.pc = program.blocks[block as usize].first_op;
        self.entering = true;
    }

    /// Enter `block`, or go on behind the branch where the text has no block after it.
    fn fall_through(&mut self, program: &Program, block: u32) {
        if block == NO_BLOCK {
            self.pc += 1;
        } else {
            self.enter(program, block);
        }
    }

    /// Continue after the instruction that the split waits at.
    pub(crate) fn pass_barrier(&mut self) {
        self.wait = Wait::Nothing;
        self.pc += 1;
    }
}
