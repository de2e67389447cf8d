//! mbarrier objects in shared memory, and the splits that wait for their phases.
//!
//! A thread whose phase is not complete waits instead of asking again and again: the split is set
//! aside and the CTA looks at the object before each of the warp's turns. It goes on if its phase
//! was completed, even if others have followed. `try_wait` gives up after [`TRY_PATIENCE`] turns,
//! `test_wait`, which the manual calls non-blocking, after one; turns in which asynchronous
//! operations are under way do not count. Both give up at once where nothing else can run. So a
//! loop around either costs a few instructions for each phase, not as many as fit into a turn.

#![allow(unsafe_code, reason = "objects are read and written at checked addresses")]

use super::access::{AccessFault, AccessReport, Memories, checked_addresses};
use super::async_copy::{PendingCopy, aligned};
use super::ending::Signal;
use super::lanes::Frame;
use super::warp::{Context, Next, Split, Wait, Warp, WarpFault, lanes_with};
use crate::fault::FaultKind;
use crate::observer::{MbarrierStep, MbarrierUse, Recorder};
use crate::program::asynchronous::{Arrival, MbarrierAction, MbarrierOp, PhaseWait};
use crate::program::memory_op::{Space, window};
use crate::program::op::Op;
use crate::semantics::mbarrier::{Mbarrier, MbarrierError};

/// Turns of a warp for which `try_wait` waits while others run.
const TRY_PATIENCE: u32 = 16;

/// The state of the splits of a warp that wait for mbarriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Polled {
    /// There are none.
    NoneWaits,
    /// None can go on.
    AllWait,
    /// Some go on although their phase is not complete.
    GaveUp,
    /// Some go on because their phase is complete.
    Complete,
}

impl Warp {
    /// An mbarrier operation by the lanes of `mask`, at least one.
    #[expect(clippy::too_many_arguments, reason = "the parts of one split's state")]
    pub(super) fn mbarrier(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &mut Split,
        mask: u32,
        report: &mut AccessReport,
    ) -> Result<Next, WarpFault> {
        let mbarrier = &context.program.tables.mbarrier_ops[op.a as usize];
        let memories = &context.memories;
        if let MbarrierAction::ArriveWithCopies { .. } = mbarrier.action {
            // The arrival follows the copies, and nothing says how soon either may be done.
            let warp = self.index;
            let mut done = |copy: &PendingCopy, lanes| {
                recorder.copy_done(&copy.done(warp, lanes, true));
            };
            self.copies.complete_all(memories, mask, &mut done);
        }
        let instruction = mbarrier.object.instruction;
        let time = self.clock(context.program, split, instruction);
        let is_signal = mbarrier.action.is_asynchronous();
        let ranks = mbarrier.multicast.map(|row| frame.lanes::<u32>(row));
        let mut done = 0;
        for rank in 0..if ranks.is_some() { u32::BITS } else { 1 } {
            let named = |ranks: &[u32; 32]| {
                (0..32).fold(0, |lanes, lane| lanes | (ranks[lane] >> rank & 1) << lane)
            };
            let (rank, lanes) = match &ranks {
                None => (None, mask),
                Some(ranks) => (Some(rank), mask & named(ranks)),
            };
            if lanes == 0 {
                continue;
            }
            let reached = perform_lanes(frame, mbarrier, memories, op.dst, (rank, lanes), report);
            let reached = reached.map_err(|fault| fault.at(split.pc))?;
            self.tell(context, recorder, &mbarrier.object, time, Space::Shared, lanes, 8, report);
            self.tell_mbarrier(recorder, mbarrier, lanes, reached, &report.addresses);
            for lane in (0..32).filter(|lane| is_signal && lanes >> lane & 1 != 0) {
                let issuer = self.issuer(context, instruction, split.pc, lane);
                let address = report.addresses[lane as usize];
                self.signal(context, recorder, issuer, address, Signal::Arrival)
                    .map_err(|fault| fault.at(split.pc))?;
            }
            done |= reached;
        }
        let wait = match mbarrier.action {
            MbarrierAction::Wait(wait) if done != mask => wait,
            MbarrierAction::Wait(_) | MbarrierAction::CheckLayout { .. } => {
                frame.set_lanes_where(op.dst, mask, done);
                return Ok(Next::Operation);
            }
            _ => return Ok(Next::Operation),
        };
        let patience = if wait.suspends { TRY_PATIENCE } else { 1 };
        let since = memories.cluster.endings.borrow().phases();
        split.wait = Wait::Mbarrier { lanes: mask, patience, since };
        self.splits.push(split.clone());
        Ok(Next::Other)
    }

    /// Tells the recorder the steps of the lanes of `mask` at mbarrier objects; `done` is the
    /// answer of [`perform_lanes`].
    fn tell_mbarrier(
        &self,
        recorder: &mut dyn Recorder,
        op: &MbarrierOp,
        mask: u32,
        done: u32,
        addresses: &[u64; 32],
    ) {
        use MbarrierAction as A;
        let (step, mask, completes) = match op.action {
            A::Init { .. } | A::Invalidate => (MbarrierStep::Define, mask, 0),
            A::Arrive(_) | A::ArriveWithCopies { .. } | A::Commit => {
                (MbarrierStep::Arrive, mask, done)
            }
            A::ExpectTx { .. } => (MbarrierStep::Expect, mask, done),
            A::CompleteTx { .. } => (MbarrierStep::CompleteBytes, mask, done),
            A::CheckLayout { .. } => return,
            A::Wait(_) if done == 0 => return,
            A::Wait(_) => (MbarrierStep::Passed, done, 0),
        };
        let (instruction, warp) = (op.object.instruction, self.index);
        recorder.mbarrier(&MbarrierUse { instruction, warp, mask, step, completes, addresses });
    }

    /// Lets splits go on whose phases are complete or that have waited long enough; all of them if
    /// `give_up`.
    #[cold]
    pub(crate) fn poll_mbarriers(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        give_up: bool,
    ) -> Result<Polled, WarpFault> {
        let mut polled = Polled::NoneWaits;
        // What is under way may be what they wait for.
        let under_way = !context.memories.cluster.endings.borrow().is_empty();
        for at in 0..self.splits.len() {
            let Wait::Mbarrier { lanes, patience, since } = self.splits[at].wait else { continue };
            let pc = self.splits[at].pc;
            let op = &context.program.ops[pc as usize];
            let mbarrier = &context.program.tables.mbarrier_ops[op.a as usize];
            let (frame, dst) = (self.frame(context), op.dst);
            let memories = &context.memories;
            let mut report = AccessReport::new();
            let done = perform_lanes(&frame, mbarrier, memories, dst, (None, lanes), &mut report);
            let done = done.map_err(|fault| fault.at(pc))?;
            let done = done | passed_since(memories, lanes & !done, since, &report.addresses);
            if done == lanes || give_up || patience <= 1 && !under_way {
                frame.set_lanes_where(dst, lanes, done);
                self.splits[at].pass_barrier();
                self.tell_mbarrier(recorder, mbarrier, lanes, done, &report.addresses);
                polled = polled.max(if done == 0 { Polled::GaveUp } else { Polled::Complete });
            } else {
                let patience = patience - u32::from(!under_way);
                self.splits[at].wait = Wait::Mbarrier { lanes, patience, since };
                polled = polled.max(Polled::AllWait);
            }
        }
        Ok(polled)
    }

    /// Describes the mbarrier for which split `at` waits.
    pub(crate) fn mbarrier_deadlock(&mut self, context: &Context<'_>, at: usize) -> FaultKind {
        let split = &self.splits[at];
        let (waiting, op) = (split.mask, &context.program.ops[split.pc as usize]);
        let mbarrier = &context.program.tables.mbarrier_ops[op.a as usize];
        let lane = waiting.trailing_zeros() & 31;
        let address = checked_addresses(&self.frame(context), &mbarrier.object)[lane as usize];
        let address = context.memories.shared_address(mbarrier.object.space, address);
        let object = locate(mbarrier, &context.memories, lane, address.unwrap_or_default())
            // SAFETY: `locate` has checked the address.
            .map(|host| unsafe { host.read() });
        let object = object.ok().and_then(|word| Mbarrier::decode(word).ok());
        let passed = match address {
            Some(address) => {
                let place = context.memories.shared_place(address);
                context.memories.cluster.endings.borrow().phases_of(place)
            }
            None => 0,
        };
        let (pending, tx_count) = object.map_or((0, 0), |object| (object.pending, object.tx_count));
        FaultKind::MbarrierDeadlock {
            address: address.unwrap_or_default(),
            waiting: waiting.count_ones(),
            pending,
            tx_count,
            passed,
        }
    }
}

/// The lanes of `lanes` whose object has completed a phase since they began to wait: the one that
/// they wait for, though others may have followed.
fn passed_since(memories: &Memories<'_>, lanes: u32, since: u64, addresses: &[u64; 32]) -> u32 {
    let endings = memories.cluster.endings.borrow();
    if lanes == 0 || endings.phases() == since {
        return 0;
    }
    lanes_with(lanes, |lane| {
        endings.has_completed_since(memories.shared_place(addresses[lane]), since)
    })
}

/// Name in messages of an operand whose address cannot be that of an mbarrier object.
const OBJECT: &str = "the mbarrier object";

/// The address in shared memory of a lane's object: its operand's address, or the same place in the
/// CTA of `rank`.
fn object_address(
    op: &MbarrierOp,
    memories: &Memories<'_>,
    rank: Option<u32>,
    lane: u32,
    address: u64,
) -> Result<u64, AccessFault> {
    let shared = memories.shared_address(op.object.space, address);
    let kind = FaultKind::NotShared { what: OBJECT, address };
    let shared = shared.ok_or(AccessFault { lane, kind })?;
    Ok(rank.map_or(shared, |rank| window::of_rank(rank) + shared % window::CTA_BYTES))
}

/// Returns the host address of a lane's object at a shared address.
fn locate(
    op: &MbarrierOp,
    memories: &Memories<'_>,
    lane: u32,
    address: u64,
) -> Result<*mut u64, AccessFault> {
    let reads = matches!(op.action, MbarrierAction::Wait(_) | MbarrierAction::CheckLayout { .. });
    if !address.is_multiple_of(8) {
        aligned(&[address; 32], 1 << lane, 8)?;
    }
    let host: *mut u64 = memories.shared_host(lane, address, 8, !reads)?.cast();
    if !op.action.may_be_late() && !memories.is_own_shared(host.cast()) {
        let kind = FaultKind::OtherCta { what: OBJECT, address };
        return Err(AccessFault { lane, kind });
    }
    Ok(host)
}

/// Does the operation for the lanes of `mask`, one after the other, on the objects of `rank` in a
/// multicast, and reports their addresses. If a phase is waited for, returns the lanes whose phase
/// is complete. If a layout is asked for, returns the lanes whose object has it. Otherwise returns
/// the lanes that complete a phase.
fn perform_lanes(
    frame: &Frame,
    op: &MbarrierOp,
    memories: &Memories<'_>,
    destination: u32,
    (rank, mask): (Option<u32>, u32),
    report: &mut AccessReport,
) -> Result<u32, AccessFault> {
    let mut done = 0;
    report.addresses = checked_addresses(frame, &op.object);
    if let MbarrierAction::Wait(wait) = &op.action
        && waits_alike(frame, wait, &report.addresses, mask)
    {
        let lane = mask.trailing_zeros() & 31;
        let address = object_address(op, memories, rank, lane, report.addresses[lane as usize])?;
        let is_done = perform(frame, op, memories, destination, lane, address)?;
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            report.addresses[lane] = address;
        }
        return Ok(if is_done { mask } else { 0 });
    }
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let address = &mut report.addresses[lane as usize];
        *address = object_address(op, memories, rank, lane, *address)?;
        if perform(frame, op, memories, destination, lane, *address)? {
            done |= 1 << lane;
        }
    }
    Ok(done)
}

/// Returns true if the lanes of `mask` wait for the same phase of the same object: a warp mostly
/// waits as a whole.
fn waits_alike(frame: &Frame, wait: &PhaseWait, addresses: &[u64; 32], mask: u32) -> bool {
    let first = mask.trailing_zeros() as usize & 31;
    let mut lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
    let phases: [u64; 32] = match wait.parity {
        true => frame.lanes::<u32>(wait.phase).map(u64::from),
        false => frame.lanes::<u64>(wait.phase),
    };
    lanes.all(|lane| addresses[lane] == addresses[first] && phases[lane] == phases[first])
}

/// Does one lane's operation on the object at a shared address. Returns true if a phase that is
/// waited for is complete, or if the object has the layout that is asked for. Otherwise returns
/// true if the operation completes a phase.
fn perform(
    frame: &Frame,
    op: &MbarrierOp,
    memories: &Memories<'_>,
    destination: u32,
    lane: u32,
    address: u64,
) -> Result<bool, AccessFault> {
    use MbarrierAction as A;
    let at = lane as usize;
    // SAFETY: `locate` checks the address.
    unsafe {
        let host = match locate(op, memories, lane, address) {
            // Nobody is left who could learn of it.
            Err(AccessFault { kind: FaultKind::CtaExited { .. }, .. })
                if op.action.may_be_late() =>
            {
                return Ok(false);
            }
            located => located?,
        };
        let fault = |problem| AccessFault { lane, kind: FaultKind::Mbarrier { address, problem } };
        let word = host.read();
        let count = |row: u32| frame.lane::<u32>(row, at);
        let decoded = match op.action {
            A::Init { count: row, layout_v1 } => {
                Mbarrier::init(count(row)).map(|object| Mbarrier { layout_v1, ..object })
            }
            _ => Mbarrier::decode(word),
        };
        let mut object = decoded.map_err(fault)?;
        let before = object.odd_phase;
        match op.action {
            A::Init { .. } => {}
            A::Invalidate => {
                host.write(Mbarrier::INVALIDATED);
                return Ok(false);
            }
            A::ExpectTx { bytes } => object.expect_tx(count(bytes)).map_err(fault)?,
            A::CompleteTx { bytes } => object.complete_tx(count(bytes)).map_err(fault)?,
            A::Commit => return Ok(false),
            A::Arrive(arrival) => {
                arrive(&mut object, &arrival, count).map_err(fault)?;
                frame.set_lane::<u64>(destination, at, word);
            }
            A::ArriveWithCopies { counted } => {
                if !counted {
                    object.add_pending().map_err(fault)?;
                }
            }
            A::CheckLayout { v1 } => return Ok(object.layout_v1 == v1),
            A::Wait(wait) => {
                return phase(frame, &wait, at).map(|p| object.has_completed(p)).map_err(fault);
            }
        }
        host.write(object.encode());
        let completes = object.odd_phase != before;
        if completes {
            let place = memories.shared_place(address);
            memories.cluster.endings.borrow_mut().complete_phase(place);
        }
        Ok(completes)
    }
}

/// The parity of the phase that a lane waits for.
fn phase(frame: &Frame, wait: &PhaseWait, lane: usize) -> Result<bool, MbarrierError> {
    if wait.parity {
        // The lowest bit counts, as on a GPU.
        return Ok(frame.lane::<u32>(wait.phase, lane) & 1 != 0);
    }
    Mbarrier::phase_of_state(frame.lane::<u64>(wait.phase, lane))
}

/// `mbarrier.arrive` and `mbarrier.arrive_drop`: first the bytes, then who drops out, then the
/// arrival.
fn arrive(
    object: &mut Mbarrier,
    arrival: &Arrival,
    value: impl Fn(u32) -> u32,
) -> Result<(), MbarrierError> {
    if let Some(bytes) = arrival.expect_tx {
        object.expect_tx(value(bytes))?;
    }
    let count = arrival.count.map_or(1, value);
    if arrival.drops {
        object.drop_out(count)?;
    }
    if arrival.must_not_complete {
        object.arrive_without_completing(count)
    } else {
        object.arrive(count)
    }
}
