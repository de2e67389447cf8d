//! A cluster of CTAs, which run together. Without a cluster launch every CTA is a cluster of its
//! own.
//!
//! The CTAs of a cluster take turns on one CPU thread. They therefore see each other's shared
//! memory in one order, whatever the number of threads.

use std::collections::TryReserveError;

use super::cta::{Blocked, Cta, LaunchContext, Round};
use super::ending::{Endings, Issuer};
use super::mbarrier::Polled;
use super::shared::ClusterShared;
use super::warp::{Wait, WarpFault};
use crate::fault::{Fault, FaultKind};
use crate::observer::{ClusterStep, ClusterUse, Recorder};
use crate::program::op::{Code, cluster_barrier};

/// Rounds after which threads that do nothing but ask for the phases of mbarriers are taken to be
/// stuck; more than a loop with a limit of its own would make.
const IDLE_ROUNDS: u32 = 1 << 16;

/// The same where another cluster may still help: then this one gives way.
const IDLE_ROUNDS_OF_TURN: u32 = 1 << 12;

/// Warp-instructions after which a cluster asks whether the run is to stop: some milliseconds of
/// execution, a tenth of a second under checks. A CTA's round ends at barriers, at the latest after
/// twice as many.
const INSTRUCTIONS_BETWEEN_POLLS: u64 = 1 << 20;

/// The outcome of a cluster's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterTurn {
    Done,
    /// It has taken work, and others may ask before it does so again.
    Taken,
    /// The limit was reached with threads left, only another cluster can help them, or the run
    /// stops.
    Expired,
}

/// A cluster in execution; reused for one after the other.
#[derive(Debug)]
pub(crate) struct Cluster {
    ctas: Vec<Cta>,
    /// True if the program uses the cluster's barrier.
    has_barrier: bool,
    /// Its asynchronous operations that have not ended.
    endings: Endings,
}

impl Cluster {
    /// Memory and registers for clusters of a launch.
    pub(crate) fn new(launch: &LaunchContext<'_>) -> Result<Self, TryReserveError> {
        let ctas = (0..launch.shape.ctas_per_cluster()).map(|_| Cta::new(launch));
        let has_barrier = launch.program.ops.iter().any(|op| op.code == Code::ClusterBarrier);
        let endings = Endings::default();
        Ok(Self { ctas: ctas.collect::<Result<_, _>>()?, has_barrier, endings })
    }

    /// Bytes that a cluster of a launch takes: its CTAs' registers, shared and local memory.
    pub(crate) fn bytes(launch: &LaunchContext<'_>) -> u64 {
        u64::from(launch.shape.ctas_per_cluster()).saturating_mul(launch.bytes_per_cta())
    }

    /// Begins the cluster whose first CTA is `first` in the order of CTAs. There is one recorder
    /// for each CTA.
    pub(crate) fn start(
        &mut self,
        launch: &LaunchContext<'_>,
        recorders: &mut [&mut dyn Recorder],
        first: u64,
    ) {
        self.endings = Endings::new(launch.async_timing, first);
        for ((cta, recorder), index) in self.ctas.iter_mut().zip(recorders).zip(first..) {
            cta.start(launch, *recorder, index);
        }
    }

    /// As [`Self::start`], with recorders that have recorded the cluster before.
    pub(crate) fn go_on(
        &mut self,
        launch: &LaunchContext<'_>,
        recorders: &mut [&mut dyn Recorder],
        first: u64,
    ) {
        self.endings = Endings::new(launch.async_timing, first);
        for ((cta, recorder), index) in self.ctas.iter_mut().zip(recorders).zip(first..) {
            cta.go_on(launch, *recorder, index);
        }
    }

    /// Begins the CTA at a place of a grid without clusters.
    pub(crate) fn start_at(
        &mut self,
        launch: &LaunchContext<'_>,
        recorder: &mut dyn Recorder,
        place: [u32; 3],
    ) {
        // Where CTAs have no index, they are told of by class, and nobody singles one out.
        let index = launch.shape.index_of(place).unwrap_or(u64::MAX);
        self.endings = Endings::new(launch.async_timing, index);
        if let Some(cta) = self.ctas.first_mut() {
            cta.start_with(launch, recorder, launch.shape.coordinates_of(place), index);
        }
    }

    /// The CTA of a rank.
    pub(super) fn cta_mut(&mut self, rank: u32) -> Option<&mut Cta> {
        self.ctas.get_mut(rank as usize)
    }

    /// Returns true if the CTA of a rank has threads left.
    pub(super) fn is_live(&self, rank: u32) -> bool {
        self.ctas.get(rank as usize).is_some_and(Cta::is_live)
    }

    /// Takes the output that its threads have printed since the last call, CTA by CTA.
    pub(crate) fn take_printed(&mut self) -> Vec<u8> {
        self.ctas.iter_mut().flat_map(Cta::take_printed).collect()
    }

    /// Warp-instructions issued and lanes active in them.
    pub(crate) fn issued(&self) -> (u64, u64) {
        self.ctas.iter().map(Cta::issued).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Runs until all threads have exited or about `limit` warp-instructions have been issued in
    /// all by this cluster. There is one recorder for each CTA. Threads that only wait for each
    /// other are a deadlock if no other cluster `may_help`.
    pub(crate) fn run(
        &mut self,
        launch: &LaunchContext<'_>,
        recorders: &mut [&mut dyn Recorder],
        limit: u64,
        may_help: bool,
    ) -> Result<ClusterTurn, Box<Fault>> {
        let mut shared = ClusterShared::new(std::mem::take(&mut self.endings));
        for (rank, cta) in self.ctas.iter_mut().enumerate() {
            shared.set(rank, cta.shared_memory());
            shared.set_tensor_memory(rank, cta.tensor_memory());
        }
        let turn = self.rounds(launch, recorders, &mut shared, limit, may_help);
        self.endings = shared.into_endings();
        turn
    }

    /// Runs round after round; see [`Self::run`].
    fn rounds(
        &mut self,
        launch: &LaunchContext<'_>,
        recorders: &mut [&mut dyn Recorder],
        shared: &mut ClusterShared,
        limit: u64,
        may_help: bool,
    ) -> Result<ClusterTurn, Box<Fault>> {
        // Rounds in which threads only asked for the phases of mbarriers, in vain.
        let mut idle = 0;
        let mut polled_at = self.issued().0;
        loop {
            let mut all = Round::default();
            for (rank, (cta, recorder)) in self.ctas.iter_mut().zip(&mut *recorders).enumerate() {
                if !cta.is_live() {
                    continue;
                }
                // A round of a large cluster takes long.
                if rank > 0 && launch.stop.poll() {
                    return Ok(ClusterTurn::Expired);
                }
                let round = cta.round(launch, *recorder, shared, idle > 0)?;
                all.merge(&round);
                if !round.live {
                    // Its shared memory is gone, and others may have waited for just that.
                    shared.set(rank, std::ptr::null_mut());
                    shared.set_tensor_memory(rank, None);
                    all.progress = true;
                }
            }
            if !all.live {
                return Ok(ClusterTurn::Done);
            }
            all.progress |= self.has_barrier && self.release_cluster_barrier(launch, recorders)?;
            let issued = self.issued().0;
            all.progress |=
                self.end_operations(launch, recorders, shared, !all.progress, issued)?;
            if all.progress {
                idle = 0;
            } else if all.polled == Polled::NoneWaits || idle == IDLE_ROUNDS {
                return Err(self.deadlock(launch, shared));
            } else if may_help && idle == IDLE_ROUNDS_OF_TURN {
                return Ok(ClusterTurn::Expired);
            } else {
                idle += 1;
            }
            let takes_work = !launch.program.takes_work.is_empty();
            let has_taken = |taken: bool, cta: &mut Cta| cta.has_taken() || taken;
            if takes_work && self.ctas.iter_mut().fold(false, has_taken) && may_help {
                return Ok(ClusterTurn::Taken);
            }
            let is_due = issued - polled_at >= INSTRUCTIONS_BETWEEN_POLLS;
            if is_due {
                polled_at = issued;
            }
            if is_due && launch.stop.poll() || issued >= limit || launch.is_given_up() {
                return Ok(ClusterTurn::Expired);
            }
        }
    }

    /// Begins the next phase of the cluster's barrier if every thread that has not exited has
    /// arrived. Returns true if it did.
    fn release_cluster_barrier(
        &mut self,
        launch: &LaunchContext<'_>,
        recorders: &mut [&mut dyn Recorder],
    ) -> Result<bool, Box<Fault>> {
        let warps = || self.ctas.iter().flat_map(|cta| &cta.warps);
        let arrived = warps().any(|warp| warp.cluster.arrived != 0);
        if !arrived || warps().any(|warp| warp.live & !warp.cluster.arrived != 0) {
            return Ok(false);
        }
        let waits = |wait: Wait| wait == Wait::ClusterBarrier;
        for cta in &self.ctas {
            cta.check_aligned(launch, waits, cluster_barrier::ALIGNED)?;
        }
        let mut running = self.ctas.iter().zip(&mut *recorders).filter(|(cta, _)| cta.is_live());
        if let Some((_, first)) = running.next() {
            first.cluster_barrier(&ClusterUse { warp: 0, mask: 0, step: ClusterStep::Complete });
        }
        for (cta, recorder) in self.ctas.iter_mut().zip(recorders) {
            for warp in &mut cta.warps {
                warp.cluster.arrived = 0;
                for split in warp.splits.iter_mut().filter(|split| waits(split.wait)) {
                    split.pass_barrier();
                    let (warp, mask) = (warp.index, split.mask);
                    recorder.cluster_barrier(&ClusterUse { warp, mask, step: ClusterStep::Passed });
                }
            }
        }
        Ok(true)
    }

    /// The fault of an asynchronous operation that ends badly.
    pub(super) fn fault_of(
        &self,
        launch: &LaunchContext<'_>,
        issuer: &Issuer,
        fault: WarpFault,
    ) -> Box<Fault> {
        let cta = self.ctas.get(issuer.rank as usize).unwrap_or(&self.ctas[0]);
        cta.fault(launch, issuer.warp as usize, fault)
    }

    /// The fault of a cluster in which nothing can run. Who waits at a barrier waits for those who
    /// wait for an mbarrier, and who waits at the cluster's barrier for everybody else.
    fn deadlock(&mut self, launch: &LaunchContext<'_>, shared: &ClusterShared) -> Box<Fault> {
        for blocked in [Blocked::ByMbarrier, Blocked::WithinCta] {
            for cta in &mut self.ctas {
                if let Some(fault) = cta.deadlock(launch, shared, blocked) {
                    return fault;
                }
            }
        }
        let lanes = |of: fn(&super::warp::Warp) -> u32| {
            let warps = self.ctas.iter().flat_map(|cta| &cta.warps);
            warps.map(|warp| of(warp).count_ones()).sum()
        };
        let kind = FaultKind::ClusterDeadlock {
            arrived: lanes(|warp| warp.live & warp.cluster.arrived),
            expected: lanes(|warp| warp.live),
        };
        let stuck = self.ctas.iter().find_map(|cta| {
            let (at, split) = cta.stuck(|wait| wait == Wait::ClusterBarrier)?;
            Some((cta, at, split.pc, split.mask.trailing_zeros()))
        });
        match stuck {
            Some((cta, at, pc, lane)) => {
                cta.fault(launch, at, WarpFault { pc, lane: Some(lane), kind })
            }
            None => self.budget_fault(launch),
        }
    }

    /// The fault of a cluster that has used up the launch's budget.
    pub(crate) fn budget_fault(&self, launch: &LaunchContext<'_>) -> Box<Fault> {
        let running = self.ctas.iter().find(|cta| cta.is_live());
        let cta = running.unwrap_or(&self.ctas[0]);
        cta.budget_fault(launch)
    }
}
