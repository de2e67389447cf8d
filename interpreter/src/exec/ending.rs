//! When asynchronous operations end: copies that tell an mbarrier, and commits of products.
//!
//! On a GPU they end some time after they were issued. Warps that wait get there in the meantime,
//! so that each of them sees each phase of the mbarrier. Here an operation ends when the warps of
//! its cluster have gone as far as they can without it, or have had [`PATIENCE`] rounds or
//! [`PATIENCE_INSTRUCTIONS`]. An object completes at most one phase before warps run again.
//!
//! What an operation writes is there at once, which the manual allows too. [`AsyncTiming`] can ask
//! for other times: no correct program can tell them apart. What ends late is held until then, up
//! to [`MOST_BYTES`] of a cluster; beyond, operations end when they are issued.

#![allow(unsafe_code, reason = "objects and copies lie at checked places")]

use std::collections::{HashMap, VecDeque};

use super::access::{AccessFault, Memories};
use super::cluster::Cluster;
use super::cta::LaunchContext;
use super::shared::ClusterShared;
use super::tensor_memory::TensorWork;
use super::warp::{Context, Warp, WarpFault};
use crate::fault::{Fault, FaultKind};
use crate::launch::AsyncTiming;
use crate::mixing::SplitMix64;
use crate::observer::{MbarrierStep, MbarrierUse, Recorder};
use crate::program::memory_op::Space;
use crate::semantics::mbarrier::{Mbarrier, MbarrierError};

/// Rounds of a cluster after which an operation ends although other warps still run.
const PATIENCE: u32 = 8;

/// The same in warp-instructions of the cluster: a warp that asks for something again and again has
/// long rounds. No copy takes so many on a GPU.
const PATIENCE_INSTRUCTIONS: u64 = 1 << 16;

/// Bytes that the operations of a cluster that have not ended may take, about: several times the
/// shared memory of the largest cluster. A round may issue millions of copies.
const MOST_BYTES: usize = 1 << 24;

/// A place in the shared memory of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SharedPlace {
    pub(super) rank: u32,
    pub(super) offset: u64,
}

/// An instruction whose asynchronous operation has not ended, and the thread that issued it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issuer {
    /// The CTA's rank.
    pub(super) rank: u32,
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) instruction: u32,
    pub(super) pc: u32,
}

/// The last step of an asynchronous operation.
#[derive(Debug)]
enum Ending {
    /// These bytes arrive.
    Write { at: SharedPlace, bytes: Vec<u8> },
    /// Tensor cores read and write.
    Tensor(TensorWork),
    /// An mbarrier is told, by the shared address that its observer is told.
    Signal { object: SharedPlace, address: u64, signal: Signal },
}

/// The news for an mbarrier.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Bytes(u32),
    Arrival,
}

/// The asynchronous operations of a cluster that have not ended, in order of issue, and the phases
/// of its mbarriers.
#[derive(Debug, Default)]
pub(super) struct Endings {
    pub(super) timing: AsyncTiming,
    queue: VecDeque<(Issuer, Ending)>,
    /// Bytes that the queue takes.
    bytes: usize,
    /// Operations of tensor cores in it.
    works: usize,
    /// State of the generator of random times.
    random: SplitMix64,
    /// Rounds since the cluster's operations last ended.
    rounds: u32,
    /// Warp-instructions that the cluster had issued then.
    issued: u64,
    /// Phases that have been completed in the cluster.
    completed: u64,
    /// The phases that each object has completed.
    objects: HashMap<SharedPlace, Phases>,
}

/// The phases that an object has completed.
#[derive(Clone, Copy, Debug, Default)]
struct Phases {
    count: u64,
    /// The phases that the cluster had completed with the last of them.
    last: u64,
}

impl Endings {
    /// Of a cluster that begins; `first` is the number of its first CTA.
    pub(super) fn new(timing: AsyncTiming, first: u64) -> Self {
        let seed = match timing {
            AsyncTiming::Random(seed) => seed ^ first.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            _ => 0,
        };
        Self { timing, random: SplitMix64::new(seed), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The number of phases that have been completed in the cluster.
    pub(super) fn phases(&self) -> u64 {
        self.completed
    }

    /// A phase of an object is complete.
    pub(super) fn complete_phase(&mut self, object: SharedPlace) {
        self.completed += 1;
        let phases = self.objects.entry(object).or_default();
        *phases = Phases { count: phases.count + 1, last: self.completed };
    }

    /// The number of phases that an object has completed.
    pub(super) fn phases_of(&self, object: SharedPlace) -> u64 {
        self.objects.get(&object).map_or(0, |phases| phases.count)
    }

    /// Returns true if a phase of an object was completed after `since` others of the cluster.
    pub(super) fn has_completed_since(&self, object: SharedPlace, since: u64) -> bool {
        self.completed > since
            && self.objects.get(&object).is_some_and(|phases| phases.last > since)
    }

    /// A random number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.random.next_word() % end.max(1) as u64) as usize
    }

    fn push(&mut self, issuer: Issuer, ending: Ending) {
        self.bytes += ending.bytes();
        self.works += usize::from(matches!(ending, Ending::Tensor(_)));
        self.queue.push_back((issuer, ending));
    }

    fn pop(&mut self) -> Option<(Issuer, Ending)> {
        let (issuer, ending) = self.queue.pop_front()?;
        self.bytes -= ending.bytes();
        self.works -= usize::from(matches!(ending, Ending::Tensor(_)));
        Some((issuer, ending))
    }

    /// True if nothing more is to be held.
    fn is_full(&self) -> bool {
        self.bytes >= MOST_BYTES
    }

    /// True if news of `issuer` is to reach its mbarrier at once. It comes behind what the same
    /// instruction of the same lane has yet to write, and behind all operations of tensor cores.
    fn tells_at_once(&self, issuer: &Issuer) -> bool {
        let is_own = |(other, ending): &(Issuer, Ending)| {
            matches!(ending, Ending::Write { .. })
                && (other.rank, other.warp, other.lane) == (issuer.rank, issuer.warp, issuer.lane)
        };
        let has_yet_to_write = || self.queue.back().is_some_and(is_own);
        match self.timing {
            AsyncTiming::Early => true,
            _ => self.is_full() && self.works == 0 && !has_yet_to_write(),
        }
    }

    /// Returns true if the next copy is made when it ends, not when it is issued.
    fn ends_late(&mut self) -> bool {
        match self.timing {
            _ if self.is_full() => false,
            AsyncTiming::Usual | AsyncTiming::Early => false,
            AsyncTiming::Late => true,
            AsyncTiming::Random(_) => self.below(2) == 1,
        }
    }

    /// The number of operations that end after a round, with which the cluster has issued `issued`
    /// warp-instructions; `quiet` if nothing else can run.
    fn due(&mut self, quiet: bool, issued: u64) -> usize {
        let all = self.queue.len();
        if quiet || all == 0 {
            (self.rounds, self.issued) = (0, issued);
        } else {
            self.rounds += 1;
        }
        if self.rounds >= PATIENCE || issued.saturating_sub(self.issued) >= PATIENCE_INSTRUCTIONS {
            (self.rounds, self.issued) = (0, issued);
            return all;
        }
        match self.timing {
            AsyncTiming::Random(_) => (self.below(all + 1)).max(usize::from(quiet)),
            _ if quiet => all,
            _ => 0,
        }
    }
}

impl Ending {
    /// Bytes that it takes in a queue.
    fn bytes(&self) -> usize {
        let held = match self {
            Self::Write { bytes, .. } => bytes.len(),
            Self::Tensor(_) => TensorWork::BYTES,
            Self::Signal { .. } => 0,
        };
        held + size_of::<(Issuer, Self)>()
    }
}

/// Lets tensor cores do the work of an issuer.
type Worker<'a> = &'a mut dyn FnMut(&Issuer, &TensorWork) -> Result<(), WarpFault>;

impl ClusterShared {
    /// Ends an operation. Returns true if that completes a phase.
    fn end(&self, ending: &Ending) -> Result<bool, MbarrierError> {
        let (at, bytes) = match ending {
            Ending::Write { at, bytes } => (*at, bytes.len()),
            Ending::Signal { object, .. } => (*object, size_of::<u64>()),
            Ending::Tensor(_) => return Ok(false),
        };
        // What is left for a CTA that has exited is lost.
        let Some(memory) = self.memory(at.rank) else { return Ok(false) };
        let host = memory.wrapping_add(at.offset as usize);
        match ending {
            Ending::Write { bytes: contents, .. } => {
                // SAFETY: the place was checked for `bytes` bytes when the copy was issued.
                unsafe { std::ptr::copy_nonoverlapping(contents.as_ptr(), host, bytes) };
                Ok(false)
            }
            Ending::Signal { object, signal, .. } => {
                let host = host.cast::<u64>();
                // SAFETY: the object's place was checked when the operation was issued.
                let mut state = Mbarrier::decode(unsafe { host.read() })?;
                let before = state.odd_phase;
                match *signal {
                    Signal::Bytes(bytes) => state.complete_tx(bytes)?,
                    Signal::Arrival => state.arrive(1)?,
                }
                // SAFETY: as above.
                unsafe { host.write(state.encode()) };
                let completes = state.odd_phase != before;
                if completes {
                    self.endings.borrow_mut().complete_phase(*object);
                }
                Ok(completes)
            }
            Ending::Tensor(_) => Ok(false),
        }
    }

    /// Ends the first operation of the queue, unless it tells one of the objects in `told`. Returns
    /// `None` if nothing has ended, and the fault if it ends badly.
    fn end_next(
        &self,
        told: &mut Vec<SharedPlace>,
        tell: &mut dyn FnMut(&Issuer, SharedPlace, &MbarrierUse<'_>),
        work: Worker<'_>,
    ) -> Option<Result<(), (Issuer, WarpFault)>> {
        let (issuer, ending) = {
            let mut endings = self.endings.borrow_mut();
            match endings.queue.front()? {
                (_, Ending::Signal { object, .. }) if told.contains(object) => return None,
                _ => endings.pop()?,
            }
        };
        let ended = match &ending {
            Ending::Tensor(of_tensor) => work(&issuer, of_tensor),
            Ending::Write { .. } | Ending::Signal { .. } => {
                self.end_one(&issuer, &ending, told, tell)
            }
        };
        Some(ended.map_err(|fault| (issuer, fault)))
    }

    /// Ends one operation, and tells of the phase that it completes.
    fn end_one(
        &self,
        issuer: &Issuer,
        ending: &Ending,
        told: &mut Vec<SharedPlace>,
        tell: &mut dyn FnMut(&Issuer, SharedPlace, &MbarrierUse<'_>),
    ) -> Result<(), WarpFault> {
        let Issuer { instruction, warp, lane, pc, .. } = *issuer;
        let completes = self.end(ending).map_err(|problem| {
            let address = match ending {
                Ending::Signal { address, .. } => *address,
                Ending::Write { .. } | Ending::Tensor(_) => 0,
            };
            let kind = FaultKind::Mbarrier { address, problem };
            WarpFault { pc, lane: Some(lane), kind }
        })?;
        if let (true, Ending::Signal { object, address, .. }) = (completes, ending) {
            told.push(*object);
            let (mask, step) = (1 << lane, MbarrierStep::Completed);
            let addresses = &[*address; 32];
            tell(
                issuer,
                *object,
                &MbarrierUse { instruction, warp, mask, step, completes: mask, addresses },
            );
        }
        Ok(())
    }
}

impl Memories<'_> {
    /// Checks the mbarrier object at a shared address, and returns its place. It must have been
    /// initialised, unless its CTA has exited.
    fn object(&self, lane: u32, address: u64) -> Result<SharedPlace, AccessFault> {
        super::async_copy::aligned(&[address; 32], 1 << lane, 8)?;
        match self.read(Space::Shared, lane, address) {
            Ok(word) => {
                Mbarrier::decode(u64::from_le_bytes(word)).map_err(|problem| AccessFault {
                    lane,
                    kind: FaultKind::Mbarrier { address, problem },
                })?;
            }
            Err(FaultKind::CtaExited { .. }) => {}
            Err(kind) => return Err(AccessFault { lane, kind }),
        }
        Ok(self.shared_place(address))
    }

    /// Holds back what a copy has written at a shared address until it ends, if it is to end late.
    /// `before` has what was there.
    pub(super) fn hold_back(&self, issuer: Issuer, host: *mut u8, address: u64, before: &[u8]) {
        let mut bytes = vec![0; before.len()];
        // SAFETY: the host address is good for as many bytes as were read from it before. It lies
        // in shared memory, as all places that are held back, so that nobody else uses it.
        unsafe {
            std::ptr::copy_nonoverlapping(host, bytes.as_mut_ptr(), bytes.len());
            std::ptr::copy_nonoverlapping(before.as_ptr(), host, before.len());
        }
        let at = self.shared_place(address);
        let ending = Ending::Write { at, bytes };
        self.cluster.endings.borrow_mut().push(issuer, ending);
    }

    /// Returns true if the next operation of tensor cores is to end late. It does not overtake
    /// those before it.
    pub(super) fn works_late(&self) -> bool {
        let mut endings = self.cluster.endings.borrow_mut();
        endings.works > 0 || endings.ends_late()
    }

    /// Holds an operation of tensor cores back until it ends.
    pub(super) fn hold_work(&self, issuer: Issuer, work: TensorWork) {
        self.cluster.endings.borrow_mut().push(issuer, Ending::Tensor(work));
    }

    /// Returns true if the next copy is made when it ends, not when it is issued.
    pub(super) fn copies_late(&self) -> bool {
        self.cluster.endings.borrow_mut().ends_late()
    }

    /// The contents of `bytes` bytes that a copy is about to overwrite, if it is to end late.
    pub(super) fn contents_before(&self, host: *const u8, bytes: u32) -> Option<Vec<u8>> {
        self.copies_late().then(|| {
            let mut before = vec![0; bytes as usize];
            // SAFETY: the host address is good for `bytes` bytes, of shared memory.
            unsafe { std::ptr::copy_nonoverlapping(host, before.as_mut_ptr(), before.len()) };
            before
        })
    }
}

impl Warp {
    /// An operation will tell the mbarrier at a shared address when it ends.
    pub(super) fn signal(
        &self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        issuer: Issuer,
        address: u64,
        signal: Signal,
    ) -> Result<(), AccessFault> {
        let cluster = context.memories.cluster;
        let object = context.memories.object(issuer.lane, address)?;
        let ending = Ending::Signal { object, address, signal };
        let at_once = cluster.endings.borrow().tells_at_once(&issuer);
        if !at_once {
            cluster.endings.borrow_mut().push(issuer, ending);
            return Ok(());
        }
        let mut tell = |_: &Issuer, _: SharedPlace, step: &MbarrierUse<'_>| recorder.mbarrier(step);
        cluster
            .end_one(&issuer, &ending, &mut Vec::new(), &mut tell)
            .map_err(|fault| AccessFault { lane: issuer.lane, kind: fault.kind })
    }

    /// The issuer of an operation by a lane of this warp.
    pub(super) fn issuer(
        &self,
        context: &Context<'_>,
        instruction: u32,
        pc: u32,
        lane: u32,
    ) -> Issuer {
        Issuer { rank: context.rank, warp: self.index, lane, instruction, pc }
    }
}

impl Cluster {
    /// Ends the operations that are due after a round, with which the cluster has issued `issued`
    /// warp-instructions; `quiet` if nothing else can run. Returns true if any ended.
    pub(super) fn end_operations(
        &mut self,
        launch: &LaunchContext<'_>,
        recorders: &mut [&mut dyn Recorder],
        shared: &ClusterShared,
        quiet: bool,
        issued: u64,
    ) -> Result<bool, Box<Fault>> {
        let due = shared.endings.borrow_mut().due(quiet, issued);
        if due == 0 {
            return Ok(false);
        }
        let live: Vec<bool> = (0..recorders.len()).map(|rank| self.is_live(rank as u32)).collect();
        let is_live = |rank: u32| live.get(rank as usize).is_some_and(|&live| live);
        let mut told = Vec::new();
        let mut tell = |issuer: &Issuer, object: SharedPlace, step: &MbarrierUse<'_>| {
            // The record of a CTA that has exited is closed. The object's CTA has not.
            let rank = if is_live(issuer.rank) { issuer.rank } else { object.rank };
            if let Some(recorder) = recorders.get_mut(rank as usize) {
                recorder.mbarrier(step);
            }
        };
        for ended in 0..due {
            let mut work = |issuer: &Issuer, work: &TensorWork| match is_live(issuer.rank) {
                true => self.work(launch, shared, issuer, work),
                // What is left for a CTA that has exited is lost.
                false => Ok(()),
            };
            match shared.end_next(&mut told, &mut tell, &mut work) {
                None => return Ok(ended > 0),
                Some(Ok(())) => {}
                Some(Err((issuer, fault))) => {
                    return Err(self.fault_of(launch, &issuer, fault));
                }
            }
        }
        Ok(due > 0)
    }

    /// Lets the tensor cores of the issuer's CTA work.
    fn work(
        &mut self,
        launch: &LaunchContext<'_>,
        shared: &ClusterShared,
        issuer: &Issuer,
        work: &TensorWork,
    ) -> Result<(), WarpFault> {
        let Some(cta) = self.cta_mut(issuer.rank) else { return Ok(()) };
        let context = cta.context(launch, issuer.warp as usize, shared);
        work.end(launch.program, &context.memories).map_err(|fault| fault.at(issuer.pc))
    }
}
