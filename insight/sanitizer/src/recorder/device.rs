//! Checks accesses to local and global memory: reads of bytes that nothing has written, and the
//! device heap.

use std::sync::Arc;

use gpucast_interpreter::{Access, AccessKind, Pattern};
use gpucast_ptx_frontend::types::StateSpace;

use super::{CtaChecker, address_of, locked};
use crate::checks::Check;
use crate::clocks::lanes;
use crate::device::HeapTrouble;
use crate::finding::{Key, Kind, TouchedMemory};
use crate::roles::Role;

impl CtaChecker {
    /// An access to the threads' own local memory.
    pub(super) fn local_access(&mut self, access: &Access<'_>) {
        if !self.has(Check::Init) || self.launch.local_variables.is_empty() {
            return;
        }
        let bytes = u64::from(access.bytes_per_lane);
        for lane in lanes(access.mask) {
            let thread = 32 * access.warp + lane;
            let address = address_of(access, lane);
            let end = address.saturating_add(bytes);
            let written = &mut self.local[thread as usize];
            let bit = |at: u64| (at as usize / 64, 1u64 << (at % 64));
            if access.kind != AccessKind::Store {
                let is_written = |at: u64| {
                    let (word, bit) = bit(at);
                    written.get(word).is_some_and(|word| word & bit != 0)
                };
                let launch = &self.launch;
                let missing = (address..end).find(|&at| launch.is_local(at) && !is_written(at));
                if let Some(at) = missing {
                    self.uninitialised(access, thread, StateSpace::Local, at);
                }
            }
            if !matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly) {
                let written = &mut self.local[thread as usize];
                for at in (address..end).filter(|&at| at < self.launch.local_bytes) {
                    let (word, bit) = bit(at);
                    if written.len() <= word {
                        written.resize(word + 1, 0);
                    }
                    written[word] |= bit;
                }
            }
        }
    }

    /// An access to global memory: buffers that the host has not filled, and the device heap.
    pub(super) fn global_access(&mut self, access: &Access<'_>, role: Role) {
        let (init, memory) = (self.has(Check::Init), self.has(Check::Memory));
        let tracks = init && self.launch.tracks_buffers;
        let strong = access.kind == AccessKind::Atomic
            || access.kind == AccessKind::Reduction
            || role.strong;
        let orders = self.has(Check::Race) && strong;
        if !tracks && !self.launch.uses_heap && !orders {
            return;
        }
        let bytes = u64::from(access.bytes_per_lane);
        let reads = access.kind != AccessKind::Store;
        let writes = !matches!(access.kind, AccessKind::Load | AccessKind::LoadReadOnly);
        // A full warp's consecutive bytes are one range, as long as nothing is wrong with it.
        if access.pattern == Pattern::Consecutive && !self.launch.uses_heap && !orders {
            let (device, own) = (&self.launch.device, &mut self.own_writes);
            let (start, bytes) = (access.addresses[0], 32 * bytes);
            if !reads || device.uninitialised(start, bytes, own).is_none() {
                if writes {
                    device.write(start, bytes, own, self.launch.ordered);
                }
                return;
            }
        }
        let launch = Arc::clone(&self.launch);
        let device = &launch.device;
        for lane in lanes(access.mask) {
            let thread = 32 * access.warp + lane;
            let address = address_of(access, lane);
            if orders {
                self.global_order(thread, address, role, reads, writes);
            }
            if tracks
                && reads
                && let Some(at) = device.uninitialised(address, bytes, &self.own_writes)
            {
                self.uninitialised(access, thread, StateSpace::Global, at);
            }
            if tracks && writes {
                device.write(address, bytes, &mut self.own_writes, launch.ordered);
            }
            if launch.uses_heap {
                let mut heap = device.heap();
                let trouble = match heap.holds(address) {
                    true => heap.access(address, bytes, reads, writes),
                    false => None,
                };
                let nearest = trouble.and_then(|_| heap.nearest(address));
                drop(heap);
                match trouble {
                    Some(HeapTrouble::Outside) if memory => {
                        let kind = Kind::HeapOutOfBounds;
                        let key = Key { kind, instruction: access.instruction, other: None };
                        let place = TouchedMemory {
                            space: StateSpace::Global,
                            address,
                            bytes: access.bytes_per_lane,
                            object: nearest,
                        };
                        self.add(key, thread, None, Some(place));
                    }
                    Some(HeapTrouble::Uninitialised { at }) if init => {
                        self.uninitialised(access, thread, StateSpace::Global, at);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Atomic and strong accesses to global memory may order a CTA's accesses to shared memory.
    fn global_order(&mut self, thread: u32, address: u64, role: Role, reads: bool, writes: bool) {
        let releases =
            role.releases || self.fenced[(thread / 32) as usize] >> (thread % 32) & 1 != 0;
        let Some(cluster) = &self.cluster else { return };
        let mut state = locked(cluster);
        let thread = 32 * self.launch.warps * self.cta.rank + thread;
        if reads {
            state.acquire(thread, (None, address));
        }
        if writes && releases {
            state.publish(thread, (None, address));
        }
    }
}
