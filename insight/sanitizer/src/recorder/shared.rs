//! Checks accesses to shared memory: races and reads of bytes that nothing has written.

use gpucast_interpreter::{Access, AccessKind, GroupQueue, GroupUse, Pattern};
use gpucast_ptx_frontend::types::StateSpace;

use super::{CtaChecker, INDEPENDENT_LANES, address_of, locked};
use crate::checks::Check;
use crate::clocks::{Stamp, lanes};
use crate::cluster::{ClusterState, Location, RemoteUse};
use crate::finding::{Between, Hazard, Key, Kind};
use crate::pending::PendingRead;
use crate::products::ProductRead;
use crate::roles::Role;
use crate::shadow::{Conflict, Touch, flag};
use std::sync::Arc;

impl CtaChecker {
    /// An access to the shared memory of a CTA of the cluster.
    pub(super) fn shared_access(&mut self, access: &Access<'_>, role: Role) {
        let Some(cluster) = self.cluster.clone() else { return };
        let mut state = locked(&cluster);
        let state = &mut *state;
        let (init, race) = (self.has(Check::Init), self.has(Check::Race));
        let warps_per_cta = self.launch.warps;
        let bytes = u64::from(access.bytes_per_lane);
        let writes = !matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
        let reads = !matches!(access.kind, AccessKind::Store);
        let agent = if role.bulk && writes { state.take_bulk(access.instruction) } else { None };
        let event = state.next_event();
        let flags = flags_of(access.kind, role);
        let mut touch = Touch {
            thread: 0,
            lanes: 0,
            instruction: access.instruction,
            event,
            write: writes && !(role.mbarrier && access.kind == AccessKind::Load),
            flags,
            digest: 0,
            agent,
            lockstep: self.launch.target_sm < INDEPENDENT_LANES,
            warps_per_cta,
            by_cores: !writes && role.reads_later == Some(GroupQueue::Warpgroup),
        };
        let first_thread = 32 * (warps_per_cta * self.cta.rank + access.warp);
        if race && self.cta.ctas_per_cluster > 1 {
            self.note_remote(state, access, agent);
        }
        // A broadcast of bytes that were written long ago is one read.
        if access.pattern == Pattern::Uniform
            && !writes
            && flags == 0
            && let Some((rank, offset)) = state.locate(self.cta.rank, access.addresses[0])
        {
            let shadow = &mut state.shadows[rank as usize];
            if shadow.is_settled(&state.clocks, offset, bytes)
                && shadow.uninitialised(offset, bytes).is_none()
            {
                (touch.thread, touch.lanes) = (first_thread, access.mask);
                return shadow.touch(&state.clocks, &touch, offset, bytes, |_| {});
            }
        }
        for lane in lanes(access.mask) {
            let address = address_of(access, lane);
            let Some((rank, offset)) = state.locate(self.cta.rank, address) else { continue };
            let own_thread = 32 * access.warp + lane;
            touch.thread = first_thread + lane;
            touch.lanes = 1 << lane;
            if access.kind == AccessKind::Store {
                touch.digest = self.digests[lane as usize];
            }
            let ordered_by_value = flags & (flag::ATOMIC | flag::STRONG) != 0 && !role.mbarrier;
            let location: Location = (Some(rank), offset);
            if ordered_by_value && reads {
                state.acquire(touch.thread, location);
            }
            let shadow = &mut state.shadows[rank as usize];
            if init
                && reads
                && let Some(at) = shadow.uninitialised(offset, bytes)
            {
                self.uninitialised(access, own_thread, StateSpace::Shared, at);
            }
            if writes && !role.copy {
                shadow.initialise(offset, bytes);
            }
            if race {
                let mut last: Option<Conflict> = None;
                let clocks = &state.clocks;
                let mut conflicts = Vec::new();
                if touch.write
                    && let Some(read) = state.pending.of(rank, offset, bytes)
                {
                    conflicts.push(Conflict {
                        hazard: Hazard::WriteAfterRead,
                        between: Between::PendingRead,
                        instruction: read.instruction,
                        thread: read.thread,
                    });
                }
                let written = (rank, offset, bytes);
                if touch.write
                    && let Some(read) = state.products.unordered(clocks, touch.thread, written)
                {
                    conflicts.push(Conflict {
                        hazard: Hazard::WriteAfterRead,
                        between: read.between,
                        instruction: read.instruction,
                        thread: read.thread,
                    });
                }
                shadow.touch(clocks, &touch, offset, bytes, |conflict| {
                    // An access of several words conflicts once.
                    if last.replace(conflict) != Some(conflict) {
                        conflicts.push(conflict);
                    }
                });
                for conflict in conflicts {
                    let other_cta = state.ctaid(conflict.thread / (32 * warps_per_cta));
                    self.conflict(access, own_thread, offset, conflict, other_cta);
                }
                let (thread, instruction) = (touch.thread, touch.instruction);
                if let (false, Some(GroupQueue::Warpgroup)) = (writes, role.reads_later) {
                    let warp = thread / 32;
                    let stamp = state.products.of_warpgroup(&mut state.clocks, warp);
                    let between = Between::PendingRead;
                    let read = ProductRead { instruction, thread, stamp, between };
                    state.products.read(rank, offset, bytes, read);
                } else if let (false, Some(queue)) = (writes, role.reads_later) {
                    let read = PendingRead { thread, instruction, rank, offset, bytes };
                    state.pending.issue(queue, read);
                }
            }
            let releases = role.releases || self.fenced[access.warp as usize] >> lane & 1 != 0;
            if ordered_by_value && writes && releases {
                state.publish(touch.thread, location);
            }
        }
    }

    /// The tensor cores read shared memory for the thread whose operation was reported last.
    pub(super) fn core_access(&mut self, access: &Access<'_>) {
        if !self.has(Check::Race) {
            return;
        }
        let Some(cluster) = &self.cluster else { return };
        let mut state = locked(cluster);
        let Some(read) = state.core_use.filter(|read| read.instruction == access.instruction)
        else {
            return;
        };
        for lane in lanes(access.mask) {
            let address = address_of(access, lane);
            if let Some((rank, offset)) = state.locate(self.cta.rank, address) {
                state.products.read(rank, offset, access.bytes_per_lane.into(), read);
            }
        }
    }

    /// Records an access's use of the shared memory of other CTAs.
    fn note_remote(&self, state: &mut ClusterState, access: &Access<'_>, agent: Option<Stamp>) {
        let first_thread = 32 * (self.launch.warps * self.cta.rank + access.warp);
        for lane in lanes(access.mask) {
            let address = address_of(access, lane);
            let Some((rank, offset)) = state.locate(self.cta.rank, address) else { continue };
            if rank == self.cta.rank {
                continue;
            }
            let thread = first_thread + lane;
            let (instruction, bytes) = (access.instruction, access.bytes_per_lane);
            let stamp = agent.unwrap_or_else(|| state.clocks.now(thread));
            state.use_remote(rank, RemoteUse { thread, instruction, offset, bytes, stamp });
        }
    }

    /// Handles lanes that commit groups of asynchronous reads or wait for them. A read counts as
    /// done now if it was waited for.
    pub(super) fn groups(&mut self, group: &GroupUse) {
        if !self.has(Check::Race) {
            return;
        }
        let Some(cluster) = &self.cluster else { return };
        let mut state = locked(cluster);
        if group.queue == GroupQueue::Warpgroup {
            let warp = self.launch.warps * self.cta.rank + group.warp;
            return state.warpgroup_step(warp, group.mask, group.step);
        }
        let ClusterState { clocks, shadows, pending, .. } = &mut *state;
        let warps_per_cta = self.launch.warps;
        let first_thread = 32 * (warps_per_cta * self.cta.rank + group.warp);
        let lockstep = self.launch.target_sm < INDEPENDENT_LANES;
        for lane in lanes(group.mask) {
            pending.step(group.queue, first_thread + lane, group.step, |read| {
                let touch = Touch {
                    thread: read.thread,
                    lanes: 1 << lane,
                    instruction: read.instruction,
                    event: 0,
                    write: false,
                    flags: 0,
                    digest: 0,
                    agent: None,
                    lockstep,
                    warps_per_cta,
                    by_cores: false,
                };
                // Writes before the read were compared with it when it was issued.
                let shadow = &mut shadows[read.rank as usize];
                shadow.touch(clocks, &touch, read.offset, read.bytes, |_| {});
            });
        }
    }

    /// Adds a finding of two accesses that nothing orders.
    fn conflict(
        &mut self,
        access: &Access<'_>,
        thread: u32,
        offset: u64,
        conflict: Conflict,
        other_cta: [u32; 3],
    ) {
        let kind = Kind::Race(conflict.hazard, conflict.between);
        let key = Key { kind, instruction: access.instruction, other: Some(conflict.instruction) };
        let other = conflict.thread % (32 * self.launch.warps);
        let launch = Arc::clone(&self.launch);
        let place = launch.shared_place(offset, access.bytes_per_lane);
        let other = launch.party(other_cta, conflict.instruction, Some(other));
        self.add(key, thread, Some(other), Some(place));
    }
}

fn flags_of(kind: AccessKind, role: Role) -> u8 {
    let mut flags = match kind {
        AccessKind::Atomic | AccessKind::Reduction => flag::ATOMIC,
        AccessKind::Load | AccessKind::LoadReadOnly | AccessKind::Store => 0,
    };
    if role.mbarrier {
        flags |= flag::ATOMIC | flag::STRONG;
    }
    if role.strong {
        flags |= flag::STRONG;
    }
    if role.volatile {
        flags |= flag::VOLATILE;
    }
    if role.copy {
        flags |= flag::PENDING;
    }
    flags
}
