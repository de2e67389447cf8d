//! The state of a cluster's CTAs while they run: clocks, shadows of shared memory, and the
//! knowledge published by barriers, mbarriers and releases.
//!
//! The CTAs of a cluster share it, since they see each other's shared memory; without clusters
//! each CTA has its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gpucast_interpreter::program::SharedAddresses;
use gpucast_interpreter::{
    Arrival, ClusterStep, ClusterUse, CtaStart, Exit, GroupStep, MbarrierStep, MbarrierUse, Release,
};

use crate::clocks::{Clocks, Knowledge, Stamp, lanes, merge};
use crate::pending::PendingReads;
use crate::products::{ProductRead, ProductReads};
use crate::shadow::Shadow;
use crate::tensor::{TensorShadow, TransferWaits};

/// Knowledge published at an mbarrier.
#[derive(Debug, Default)]
struct Object {
    /// Knowledge published by arrivals in the current phase.
    pending: Option<Knowledge>,
    /// Knowledge published by arrivals in the last complete phase.
    complete: Option<Arc<Knowledge>>,
    /// The agent that bulk copies which tell this object are.
    agent: Option<u32>,
}

/// A place where a release publishes: a rank and an address in shared memory, or a global address.
pub(crate) type Location = (Option<u32>, u64);

/// A use of another CTA's shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteUse {
    /// The thread of the cluster.
    pub(crate) thread: u32,
    pub(crate) instruction: u32,
    /// Offset in the other CTA's shared memory.
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) stamp: Stamp,
}

/// The state of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    pub(crate) clocks: Clocks,
    /// The shadow of each CTA's shared memory.
    pub(crate) shadows: Vec<Shadow>,
    pub(crate) pending: PendingReads,
    /// What the tensor cores have read of shared memory.
    pub(crate) products: ProductReads,
    /// The operation of the tensor cores whose reads will be reported next.
    pub(crate) core_use: Option<ProductRead>,
    /// The shadow of each CTA's tensor memory.
    pub(crate) tensors: Vec<TensorShadow>,
    pub(crate) transfer_waits: TransferWaits,
    /// The agent that the tensor cores are for each thread, and its last action.
    cores: HashMap<u32, Stamp>,
    warps_per_cta: u32,
    addresses: SharedAddresses,
    /// Coordinates of the CTAs that have begun, by rank.
    ctaids: Vec<[u32; 3]>,
    /// Knowledge published at each barrier of each CTA by threads that did not wait.
    arrived: HashMap<(u32, u32), Knowledge>,
    objects: HashMap<(u32, u64), Object>,
    /// Knowledge published by releases.
    published: HashMap<Location, Arc<Knowledge>>,
    /// Knowledge published by arrivals at the cluster's barrier, in this phase and in the last.
    cluster_pending: Knowledge,
    cluster_complete: Option<Arc<Knowledge>>,
    /// Knowledge and actions of threads that have exited: the cluster's barrier does not wait for
    /// them.
    cluster_exited: Knowledge,
    /// The last use of each CTA's shared memory by each thread or agent of other CTAs.
    remote: BTreeMap<(u32, u32), RemoteUse>,
    /// The bulk copy whose access will be reported next.
    bulk: Option<(u32, Stamp)>,
    events: u32,
}

impl ClusterState {
    /// Begins a cluster of `ctas` CTAs, each with `warps` warps and `bytes` bytes of shared memory.
    pub(crate) fn reset(&mut self, ctas: u32, warps: u32, bytes: u64) {
        let all = (ctas * warps) as usize;
        self.clocks.reset(all);
        self.shadows.resize_with(ctas as usize, Shadow::default);
        for shadow in &mut self.shadows {
            shadow.reset(bytes, all);
        }
        self.pending.clear();
        self.products.clear();
        self.core_use = None;
        self.tensors.resize_with(ctas as usize, TensorShadow::default);
        self.tensors.iter_mut().for_each(TensorShadow::reset);
        self.transfer_waits.reset(all);
        self.cores.clear();
        self.warps_per_cta = warps;
        self.ctaids.clear();
        self.ctaids.resize(ctas as usize, [0; 3]);
        self.arrived.clear();
        self.objects.clear();
        self.published.clear();
        self.cluster_pending.clear();
        self.cluster_complete = None;
        self.cluster_exited.clear();
        self.remote.clear();
        self.bulk = None;
        self.events = 0;
    }

    /// A CTA begins, of a program with such addresses.
    pub(crate) fn begin(&mut self, start: &CtaStart, addresses: SharedAddresses) {
        self.addresses = addresses;
        if let Some(ctaid) = self.ctaids.get_mut(start.rank as usize) {
            *ctaid = start.ctaid;
        }
    }

    /// The coordinates of the CTA of a rank.
    pub(crate) fn ctaid(&self, rank: u32) -> [u32; 3] {
        self.ctaids.get(rank as usize).copied().unwrap_or_default()
    }

    /// The rank and the offset that an address of shared memory means to the CTA of rank `own`.
    pub(crate) fn locate(&self, own: u32, address: u64) -> Option<(u32, u64)> {
        let (rank, offset) = self.addresses.place(own, address);
        ((rank as usize) < self.shadows.len()).then_some((rank, offset))
    }

    /// The number of the next execution of a memory instruction.
    pub(crate) fn next_event(&mut self) -> u32 {
        self.events = self.events.wrapping_add(1);
        self.events
    }

    /// The warp of the cluster that is warp `warp` of the CTA of rank `rank`.
    pub(crate) fn warp(&self, rank: u32, warp: u32) -> u32 {
        rank * self.warps_per_cta + warp
    }

    /// Lanes arrive at a CTA barrier. Those who wait publish when they are released.
    pub(crate) fn arrive(&mut self, rank: u32, arrival: &Arrival) {
        if arrival.waits {
            return;
        }
        let warp = self.warp(rank, arrival.warp);
        let arrived = self.arrived.entry((rank, arrival.barrier)).or_default();
        self.clocks.collect(arrived, warp, arrival.mask);
        self.clocks.advance(warp);
    }

    /// A CTA barrier is passed. If it is `for_all` threads, those that have exited count as having
    /// been there.
    pub(crate) fn release(&mut self, rank: u32, release: &Release<'_>, for_all: bool) {
        let arrived = self.arrived.remove(&(rank, release.barrier)).unwrap_or_default();
        if release.whole && for_all && self.shadows.len() == 1 {
            return self.clocks.meet_all();
        }
        let groups: Vec<_> =
            release.waited.iter().map(|&(warp, mask)| (self.warp(rank, warp), mask)).collect();
        self.clocks.meet(&groups, arrived);
    }

    /// `bar.warp.sync` is passed.
    pub(crate) fn warp_release(&mut self, rank: u32, warp: u32, mask: u32) {
        self.clocks.meet(&[(self.warp(rank, warp), mask)], Knowledge::new());
    }

    /// The stamp of what the tensor cores do next for a thread.
    pub(crate) fn core_stamp(&mut self, thread: u32) -> Stamp {
        let agent = match self.cores.get(&thread) {
            Some(last) => last.owner,
            None => self.clocks.new_agent(),
        };
        let stamp = self.clocks.agent_acts(agent);
        self.cores.insert(thread, stamp);
        stamp
    }

    /// Lanes use mbarrier objects. If they commit (`commits`), the arrival tells of what the tensor
    /// cores have done for them.
    pub(crate) fn mbarrier(&mut self, rank: u32, step: &MbarrierUse<'_>, commits: bool) {
        let warp = self.warp(rank, step.warp);
        for lane in lanes(step.mask) {
            let Some(at) = self.locate(rank, step.addresses[lane as usize]) else { continue };
            let bit = 1 << lane;
            if step.step == MbarrierStep::Define {
                self.objects.remove(&at);
                continue;
            }
            let object = self.objects.entry(at).or_default();
            match step.step {
                MbarrierStep::Arrive => {
                    let pending = object.pending.get_or_insert_default();
                    self.clocks.collect(pending, warp, bit);
                    if let Some(done) = self.cores.get(&(32 * warp + lane)).filter(|_| commits) {
                        let owner = done.owner as usize;
                        pending.resize(pending.len().max(owner + 1), 0);
                        pending[owner] = done.tick;
                    }
                }
                MbarrierStep::CompleteBytes => {
                    let agent = *object.agent.get_or_insert_with(|| self.clocks.new_agent());
                    let stamp = self.clocks.agent_acts(agent);
                    let pending = object.pending.get_or_insert_default();
                    pending.resize(pending.len().max(agent as usize + 1), 0);
                    pending[agent as usize] = stamp.tick;
                    self.bulk = Some((step.instruction, stamp));
                }
                MbarrierStep::Passed => {
                    if let Some(complete) = &object.complete {
                        self.clocks.learn(warp, bit, complete);
                    }
                }
                MbarrierStep::Expect | MbarrierStep::Define | MbarrierStep::Completed => {}
            }
            if step.completes & bit != 0 {
                object.complete = object.pending.take().map(Arc::new);
            }
        }
        if step.step == MbarrierStep::Arrive {
            self.clocks.advance(warp);
        }
    }

    /// A warp commits the products of its warpgroup to a group, or waits: then it knows of what is
    /// over.
    pub(crate) fn warpgroup_step(&mut self, warp: u32, mask: u32, step: GroupStep) {
        match step {
            GroupStep::Commit => self.products.commit(warp),
            GroupStep::Wait { left } => {
                let Some(Stamp { owner, tick, .. }) = self.products.waited(warp, left) else {
                    return;
                };
                let mut known = vec![0; owner as usize + 1];
                known[owner as usize] = tick;
                self.clocks.learn(warp, mask, &Arc::new(known));
            }
        }
    }

    /// The stamp of the bulk copy at `instruction` that has just told an mbarrier of its bytes.
    pub(crate) fn take_bulk(&mut self, instruction: u32) -> Option<Stamp> {
        self.bulk.take().filter(|&(at, _)| at == instruction).map(|(_, stamp)| stamp)
    }

    /// Something happens at the cluster's barrier.
    pub(crate) fn cluster_barrier(&mut self, rank: u32, step: &ClusterUse) {
        let warp = self.warp(rank, step.warp);
        match step.step {
            ClusterStep::Arrive => {
                self.clocks.collect(&mut self.cluster_pending, warp, step.mask);
                self.clocks.advance(warp);
            }
            ClusterStep::Complete => {
                let mut complete = std::mem::take(&mut self.cluster_pending);
                merge(&mut complete, &self.cluster_exited);
                self.cluster_complete = Some(Arc::new(complete));
            }
            ClusterStep::Passed => {
                if let Some(complete) = &self.cluster_complete {
                    self.clocks.learn(warp, step.mask, complete);
                }
            }
        }
    }

    /// Lanes exit.
    pub(crate) fn exit(&mut self, rank: u32, exit: &Exit) {
        if self.shadows.len() > 1 {
            let warp = self.warp(rank, exit.warp);
            self.clocks.collect(&mut self.cluster_exited, warp, exit.mask);
        }
    }

    /// A CTA uses the shared memory of the one of rank `rank`.
    pub(crate) fn use_remote(&mut self, rank: u32, used: RemoteUse) {
        self.remote.insert((rank, used.stamp.owner), used);
    }

    /// The uses of a CTA's shared memory by others that none of its threads has learnt of.
    pub(crate) fn unseen_uses(&self, rank: u32) -> Vec<RemoteUse> {
        let mut uses = self.remote.range((rank, 0)..=(rank, u32::MAX)).peekable();
        if uses.peek().is_none() {
            return Vec::new();
        }
        let warps = self.warp(rank, 0)..self.warp(rank + 1, 0);
        let known = self.clocks.known_to(warps);
        let unseen = |used: &RemoteUse| !self.clocks.is_known(used.stamp, &known);
        uses.map(|(_, used)| *used).filter(unseen).collect()
    }

    /// Lets a thread learn the knowledge published at a place.
    pub(crate) fn acquire(&mut self, thread: u32, location: Location) {
        if self.published.is_empty() {
            return;
        }
        if let Some(published) = self.published.get(&location) {
            self.clocks.learn(thread / 32, 1 << (thread % 32), published);
        }
    }

    /// Publishes a thread's knowledge and actions at a place.
    pub(crate) fn publish(&mut self, thread: u32, location: Location) {
        let mut knowledge =
            self.published.get(&location).map(|known| Knowledge::clone(known)).unwrap_or_default();
        self.clocks.collect(&mut knowledge, thread / 32, 1 << (thread % 32));
        self.clocks.advance(thread / 32);
        self.published.insert(location, Arc::new(knowledge));
    }
}
