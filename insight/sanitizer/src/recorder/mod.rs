//! Checks the events of one CTA as they come: barriers here, accesses by the memory they go to.

mod device;
mod shared;
mod tensor;
mod warp;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpucast_interpreter::{
    Access, Arrival, BadAccess, ClusterUse, CopyDone, CtaStart, Exit, GroupUse, HeapUse,
    MbarrierUse, Pattern, Recorder, Release, ShuffleUse, TensorMemoryUse, WarpArrival, WarpRelease,
};
use gpucast_ptx_frontend::types::StateSpace;

use crate::checks::Check;
use crate::clocks::lanes;
use crate::cluster::ClusterState;
use crate::device::OwnWrites;
use crate::finding::{Collection, Example, Key, Kind, Party, TouchedMemory};
use crate::launch::LaunchFacts;
use warp::WarpLanes;

/// The compute capability since which the lanes of a warp are scheduled independently.
const INDEPENDENT_LANES: u32 = 70;

/// Checks one CTA at a time.
#[derive(Debug)]
pub struct CtaChecker {
    launch: Arc<LaunchFacts>,
    cluster: Option<Arc<Mutex<ClusterState>>>,
    cta: CtaStart,
    warps: Vec<WarpLanes>,
    /// The first threads at each barrier in its current phase.
    barriers: [Option<BarrierUse>; 16],
    /// Lanes of each warp that have executed a fence.
    fenced: Vec<u32>,
    /// Bits of the written bytes of each thread's local memory, made when it is first written.
    local: Vec<Vec<u64>>,
    own_writes: OwnWrites,
    /// Digests of the store that is reported next.
    digests: [u32; 32],
    /// Accesses to shared memory so far.
    accesses: u32,
    pub(crate) found: Collection,
}

/// Threads that use a barrier.
#[derive(Clone, Copy, Debug)]
struct BarrierUse {
    instruction: u32,
    thread: u32,
    /// The threads that it is to wait for, in whole warps.
    threads: u32,
}

impl CtaChecker {
    pub(crate) fn new(launch: &Arc<LaunchFacts>) -> Self {
        Self {
            launch: Arc::clone(launch),
            cluster: None,
            cta: CtaStart { cta: 0, ctaid: [0; 3], rank: 0, ctas_per_cluster: 1 },
            warps: Vec::new(),
            barriers: [None; 16],
            fenced: Vec::new(),
            local: Vec::new(),
            own_writes: OwnWrites::new(),
            digests: [0; 32],
            accesses: 0,
            found: Collection::default(),
        }
    }

    fn has(&self, check: Check) -> bool {
        self.launch.checks.has(check)
    }

    fn party(&self, instruction: u32, thread: u32) -> Party {
        self.launch.party(self.cta.ctaid, instruction, Some(thread))
    }

    /// Handles the CTA's last event: its storage goes back.
    pub(crate) fn end(&mut self) {
        self.launch.device.keep(&mut self.own_writes, &self.launch.writes);
        if let Some(cluster) = self.cluster.take() {
            self.launch.leave_cluster(&self.cta, cluster);
        }
    }

    /// Adds a finding about a lane of this CTA.
    fn add(&mut self, key: Key, thread: u32, other: Option<Party>, place: Option<TouchedMemory>) {
        let (launch, ctaid) = (&self.launch, self.cta.ctaid);
        self.found.add(key, 1, || Example {
            party: launch.party(ctaid, key.instruction, Some(thread)),
            other,
            place,
            detail: None,
            is_fault: false,
        });
    }

    fn uninitialised(&mut self, access: &Access<'_>, thread: u32, space: StateSpace, at: u64) {
        let key = Key { kind: Kind::Uninitialised, instruction: access.instruction, other: None };
        let launch = Arc::clone(&self.launch);
        let place = launch.place(space, at, access.bytes_per_lane);
        self.add(key, thread, None, Some(place));
    }

    /// Looks at the threads of a barrier that is passed.
    fn check_barrier(&mut self, release: &Release<'_>) {
        let role = self.launch.roles.of(release.instruction);
        let Some(&(first_warp, first_lanes)) = release.waited.first() else { return };
        let first = 32 * first_warp + first_lanes.trailing_zeros();
        if !role.counted {
            let gone = self.warps.iter().enumerate().find(|(_, warp)| warp.exited != 0);
            if let Some((index, warp)) = gone {
                let lane = warp.exited.trailing_zeros();
                let exit = warp.exits[lane as usize];
                let thread = 32 * index as u32 + lane;
                let other = self.party(exit, thread);
                let kind = Kind::ExitedBeforeBarrier;
                let key = Key { kind, instruction: release.instruction, other: Some(exit) };
                self.add(key, first, Some(other), None);
            }
        }
        if !role.aligned {
            return;
        }
        for &(warp, waited) in release.waited {
            let live = self.launch.lanes_of_warp(warp) & !self.warps[warp as usize].exited;
            let missing = live & !waited;
            if missing != 0 {
                let kind = Kind::DivergentBarrier;
                let key = Key { kind, instruction: release.instruction, other: None };
                let absent = 32 * warp + missing.trailing_zeros();
                let other = Party { site: None, ..self.party(release.instruction, absent) };
                self.add(key, 32 * warp + waited.trailing_zeros(), Some(other), None);
            }
        }
    }

    /// All who use a barrier at the same time must give the same number of threads.
    fn check_count(&mut self, arrival: &Arrival) {
        let all = self.launch.warps * 32;
        let now = BarrierUse {
            instruction: arrival.instruction,
            thread: 32 * arrival.warp + arrival.mask.trailing_zeros(),
            threads: arrival.threads.unwrap_or(all),
        };
        let Some(first) = self.barriers.get_mut(arrival.barrier as usize) else { return };
        let first = *first.get_or_insert(now);
        if first.threads == now.threads {
            return;
        }
        let other = Some(first.instruction);
        let key = Key { kind: Kind::DifferingCounts, instruction: now.instruction, other };
        let (launch, ctaid) = (&self.launch, self.cta.ctaid);
        self.found.add(key, 1, || Example {
            party: launch.party(ctaid, now.instruction, Some(now.thread)),
            other: Some(launch.party(ctaid, first.instruction, Some(first.thread))),
            place: None,
            detail: Some(format!(
                "barrier {}, {} and {} threads",
                arrival.barrier, now.threads, first.threads
            )),
            is_fault: false,
        });
    }

    /// The CTA has exited: did other CTAs of the cluster use its shared memory without telling it?
    fn check_uses_after_exit(&mut self) {
        if !self.has(Check::Race) || self.cta.ctas_per_cluster == 1 {
            return;
        }
        let Some(cluster) = self.cluster.clone() else { return };
        let state = locked(&cluster);
        let unseen = state.unseen_uses(self.cta.rank);
        let last = self.warps.iter().enumerate().next_back();
        let last = last.map(|(index, warp)| {
            let lane = 31 - warp.exited.leading_zeros().min(31);
            (warp.exits[lane as usize], 32 * index as u32 + lane)
        });
        let Some((exit, thread)) = last else { return };
        for used in unseen {
            let ctaid = state.ctaid(used.thread / (32 * self.launch.warps));
            let user = used.thread % (32 * self.launch.warps);
            let (launch, own) = (&self.launch, self.cta.ctaid);
            let instruction = used.instruction;
            let key = Key { kind: Kind::UsedAfterExit, instruction, other: Some(exit) };
            self.found.add(key, 1, || Example {
                party: launch.party(ctaid, instruction, Some(user)),
                other: Some(launch.party(own, exit, Some(thread))),
                place: Some(launch.shared_place(used.offset, used.bytes)),
                detail: None,
                is_fault: false,
            });
        }
    }

    /// Counts an access to shared memory. Returns true if it is one too many to be looked at.
    fn has_seen_enough(&mut self) -> bool {
        self.accesses = self.accesses.saturating_add(1);
        self.accesses > self.launch.most_accesses
    }

    /// Tells the clocks of something, where they are needed.
    fn order(&mut self, change: impl FnOnce(&mut ClusterState, u32)) {
        if self.launch.checks.has(Check::Race)
            && let Some(cluster) = &self.cluster
        {
            change(&mut locked(cluster), self.cta.rank);
        }
    }
}

fn locked(cluster: &Mutex<ClusterState>) -> MutexGuard<'_, ClusterState> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address_of(access: &Access<'_>, lane: u32) -> u64 {
    match access.pattern {
        Pattern::Uniform => access.addresses[0],
        Pattern::Consecutive => {
            access.addresses[0] + u64::from(lane) * u64::from(access.bytes_per_lane)
        }
        Pattern::General => access.addresses[lane as usize],
    }
}

impl Recorder for CtaChecker {
    fn start(&mut self, start: &CtaStart) {
        self.cta = *start;
        let warps = self.launch.warps as usize;
        self.warps.clear();
        self.warps.resize(warps, WarpLanes::new());
        self.barriers = [None; 16];
        self.fenced.clear();
        self.fenced.resize(warps, 0);
        self.local.resize(32 * warps, Vec::new());
        self.local.iter_mut().for_each(Vec::clear);
        self.own_writes.clear();
        self.accesses = 0;
        self.cluster = Some(self.launch.join_cluster(start));
    }

    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        if self.launch.roles.fences(block)
            && let Some(fenced) = self.fenced.get_mut(warp as usize)
        {
            *fenced |= mask;
        }
    }

    fn tensor_memory(&mut self, used: &TensorMemoryUse<'_>) {
        self.tensor_use(used);
    }

    fn guarded_lanes(&mut self, _lanes: &[u64]) {
        self.check_uses_after_exit();
        self.end();
    }

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn storing(&mut self, digests: &[u32; 32]) {
        self.digests = *digests;
    }

    fn access(&mut self, access: &Access<'_>) {
        let role = self.launch.roles.of(access.instruction);
        match access.space {
            StateSpace::Shared if self.has_seen_enough() => {}
            StateSpace::Shared if role.of_no_thread => self.core_access(access),
            _ if role.of_no_thread => {}
            StateSpace::Shared if self.launch.watches_shared => self.shared_access(access, role),
            StateSpace::Local => self.local_access(access),
            StateSpace::Global => self.global_access(access, role),
            _ => {}
        }
        self.digests = [0; 32];
    }

    fn arrive(&mut self, arrival: &Arrival) {
        if self.has(Check::Sync) {
            self.check_count(arrival);
        }
        self.order(|state, rank| state.arrive(rank, arrival));
    }

    fn release(&mut self, release: &Release<'_>) {
        if self.has(Check::Sync) {
            self.check_barrier(release);
        }
        if let Some(barrier) = self.barriers.get_mut(release.barrier as usize) {
            *barrier = None;
        }
        let counted = self.launch.roles.of(release.instruction).counted;
        let for_all = !counted || self.warps.iter().all(|warp| warp.exited == 0);
        self.order(|state, rank| state.release(rank, release, for_all));
    }

    fn exit(&mut self, exit: &Exit) {
        self.warps[exit.warp as usize].exit(exit);
        if self.has(Check::Sync) {
            self.check_exit(exit);
        }
        self.order(|state, rank| state.exit(rank, exit));
    }

    fn warp_arrive(&mut self, arrival: &WarpArrival<'_>) {
        if self.has(Check::Sync) {
            self.check_masks(arrival);
        }
    }

    fn shuffle(&mut self, shuffle: &ShuffleUse<'_>) {
        if self.has(Check::Sync) {
            self.check_sources(shuffle);
        }
    }

    fn warp_release(&mut self, release: &WarpRelease) {
        self.order(|state, rank| state.warp_release(rank, release.warp, release.lanes));
    }

    fn mbarrier(&mut self, mbarrier: &MbarrierUse<'_>) {
        let commits = self.launch.roles.of(mbarrier.instruction).commits;
        self.order(|state, rank| state.mbarrier(rank, mbarrier, commits));
    }

    fn cluster_barrier(&mut self, cluster: &ClusterUse) {
        self.order(|state, rank| state.cluster_barrier(rank, cluster));
    }

    fn copy_done(&mut self, copy: &CopyDone<'_>) {
        if !self.launch.watches_shared {
            return;
        }
        let Some(cluster) = &self.cluster else { return };
        let mut state = locked(cluster);
        let state = &mut *state;
        let rank = self.cta.rank;
        let first_thread = 32 * (self.launch.warps * rank + copy.warp);
        for lane in lanes(copy.mask) {
            let (offset, bytes) = (u64::from(copy.offsets[lane as usize]), u64::from(copy.bytes));
            let shadow = &mut state.shadows[rank as usize];
            shadow.initialise(offset, bytes);
            // A copy of a lane that exits without having waited stays pending for ever.
            if copy.waited {
                let thread = first_thread + lane;
                shadow.complete(&state.clocks, thread, copy.instruction, offset, bytes);
            }
        }
    }

    fn group(&mut self, group: &GroupUse) {
        self.groups(group);
    }

    fn bad_access(&mut self, bad: &BadAccess<'_>) {
        let Some(kind) = Kind::of_fault(bad.kind) else { return };
        let key = Key { kind, instruction: bad.instruction, other: None };
        let (launch, ctaid) = (&self.launch, self.cta.ctaid);
        self.found.add(key, 1, || Example {
            party: launch.party(ctaid, bad.instruction, Some(32 * bad.warp + bad.lane)),
            other: None,
            place: None,
            detail: Some(bad.kind.to_string()),
            is_fault: true,
        });
    }

    fn heap(&mut self, heap: &HeapUse) {
        let mut shadow = self.launch.device.heap();
        match heap.bytes {
            Some(bytes) => shadow.allocate(heap.heap, heap.address, bytes),
            None => shadow.free(heap.address),
        }
    }
}
