//! Facts that all CTAs of a launch have in common.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpucast_interpreter::program::{PlacedVariable, SharedAddresses, StaticInstruction};
use gpucast_interpreter::{CtaStart, Launch, Program};
use gpucast_ptx_frontend::types::StateSpace;

use crate::checks::{Check, Checks};
use crate::cluster::ClusterState;
use crate::device::{DeviceShadow, LaunchWrites};
use crate::finding::{Party, Site, TouchedMemory};
use crate::roles::Roles;

/// A state that several CTAs may hold.
type Shared<T> = Arc<Mutex<T>>;

/// Facts about a launch and its program, and the states of the clusters that run.
#[derive(Debug)]
pub(crate) struct LaunchFacts {
    pub(crate) checks: Checks,
    pub(crate) device: Arc<DeviceShadow>,
    pub(crate) writes: LaunchWrites,
    pub(crate) tracks_buffers: bool,
    pub(crate) roles: Roles,
    pub(crate) target_sm: u32,
    /// True if CTAs run one after the other, so that each may see earlier writes of others.
    pub(crate) ordered: bool,
    pub(crate) uses_heap: bool,
    pub(crate) watches_shared: bool,
    /// Accesses of a CTA's warps to shared memory after which it is looked at no more.
    pub(crate) most_accesses: u32,
    /// Warps of a CTA.
    pub(crate) warps: u32,
    pub(crate) local_variables: Vec<PlacedVariable>,
    /// Bytes of local memory up to the end of the last variable.
    pub(crate) local_bytes: u64,
    shared_variables: Vec<PlacedVariable>,
    shared_bytes: u64,
    shared_addresses: SharedAddresses,
    sites: Vec<Site>,
    block: [u32; 3],
    /// By the first CTA: the state, and the number of the cluster's CTAs that have ended.
    clusters: Mutex<HashMap<u64, (Shared<ClusterState>, u32)>>,
    /// States that no cluster uses.
    idle: Mutex<Vec<Shared<ClusterState>>>,
}

impl LaunchFacts {
    pub(crate) fn new(
        program: &Program,
        launch: &Launch,
        checks: Checks,
        device: Arc<DeviceShadow>,
    ) -> Self {
        let of_space = |space| {
            let of_space = program.variables().iter().filter(|v| v.space == space);
            of_space.cloned().collect::<Vec<_>>()
        };
        let local_variables = of_space(StateSpace::Local);
        let end = |variable: &PlacedVariable| variable.offset.saturating_add(variable.bytes);
        let site = |instruction: &StaticInstruction| Site {
            line: instruction.line,
            span: instruction.instruction.span,
            location: instruction.instruction.location,
        };
        let dynamic = u64::from(launch.dynamic_shared_bytes);
        let threads = u32::try_from(launch.threads_per_cta()).unwrap_or(u32::MAX);
        Self {
            tracks_buffers: device.tracks_buffers(),
            roles: Roles::new(program),
            target_sm: program.target_sm(),
            ordered: program.ordered_because().is_some(),
            uses_heap: program.uses_heap() || device.heap().holds_blocks(),
            watches_shared: checks.has(Check::Race) || checks.has(Check::Init),
            most_accesses: u32::MAX,
            warps: threads.div_ceil(32),
            local_bytes: local_variables.iter().map(end).max().unwrap_or_default(),
            local_variables,
            shared_variables: of_space(StateSpace::Shared),
            shared_bytes: program.static_shared_bytes().saturating_add(dynamic),
            shared_addresses: program.shared_addresses(),
            sites: program.instructions().iter().map(site).collect(),
            block: launch.block,
            clusters: Mutex::default(),
            idle: Mutex::default(),
            checks,
            writes: device.launch_writes(),
            device,
        }
    }

    /// The same launch, of which no CTA has begun.
    pub(crate) fn fresh(&self) -> Self {
        Self {
            checks: self.checks,
            device: Arc::clone(&self.device),
            writes: self.device.launch_writes(),
            tracks_buffers: self.tracks_buffers,
            roles: self.roles.clone(),
            target_sm: self.target_sm,
            ordered: self.ordered,
            uses_heap: self.uses_heap,
            watches_shared: self.watches_shared,
            most_accesses: self.most_accesses,
            warps: self.warps,
            local_variables: self.local_variables.clone(),
            local_bytes: self.local_bytes,
            shared_variables: self.shared_variables.clone(),
            shared_bytes: self.shared_bytes,
            shared_addresses: self.shared_addresses,
            sites: self.sites.clone(),
            block: self.block,
            clusters: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// The state of the cluster that a CTA which begins belongs to.
    pub(crate) fn join_cluster(&self, start: &CtaStart) -> Shared<ClusterState> {
        let first = start.cta - u64::from(start.rank);
        let mut clusters = lock(&self.clusters);
        let (state, _) = clusters.entry(first).or_insert_with(|| {
            let state = lock(&self.idle).pop().unwrap_or_default();
            let bytes = if self.watches_shared { self.shared_bytes } else { 0 };
            lock(&state).reset(start.ctas_per_cluster, self.warps, bytes);
            (state, 0)
        });
        lock(state).begin(start, self.shared_addresses);
        Arc::clone(state)
    }

    /// A CTA has ended and gives the state back.
    pub(crate) fn leave_cluster(&self, start: &CtaStart, state: Shared<ClusterState>) {
        let first = start.cta - u64::from(start.rank);
        let mut clusters = lock(&self.clusters);
        let Some((_, ended)) = clusters.get_mut(&first) else { return };
        *ended += 1;
        if *ended == start.ctas_per_cluster {
            clusters.remove(&first);
            lock(&self.idle).push(state);
        }
    }

    /// Returns the place of an instruction.
    fn site(&self, instruction: u32) -> Option<Site> {
        self.sites.get(instruction as usize).cloned()
    }

    /// The instruction whose text is at a place.
    pub(crate) fn instruction_at(&self, span: gpucast_ptx_frontend::Span) -> Option<u32> {
        self.sites.iter().position(|site| site.span == span).map(|at| at as u32)
    }

    /// A thread, given by its number in its CTA, at an instruction.
    pub(crate) fn party(&self, cta: [u32; 3], instruction: u32, thread: Option<u32>) -> Party {
        let thread = thread.map(|thread| place(self.block, u64::from(thread)));
        Party { site: self.site(instruction), cta, thread }
    }

    /// The lanes of a warp that there are.
    pub(crate) fn lanes_of_warp(&self, warp: u32) -> u32 {
        let threads: u64 = self.block.iter().map(|&n| u64::from(n)).product();
        let left = threads.saturating_sub(32 * u64::from(warp)).clamp(1, 32);
        u32::MAX >> (32 - left)
    }

    /// Returns true if a byte of local memory belongs to a variable.
    pub(crate) fn is_local(&self, at: u64) -> bool {
        holder(&self.local_variables, at, 0).is_some()
    }

    pub(crate) fn shared_place(&self, address: u64, bytes: u32) -> TouchedMemory {
        self.place(StateSpace::Shared, address, bytes)
    }

    /// Memory with the name of the object there.
    pub(crate) fn place(&self, space: StateSpace, address: u64, bytes: u32) -> TouchedMemory {
        let object = match space {
            StateSpace::Shared => holder(&self.shared_variables, address, self.shared_bytes),
            StateSpace::Local => holder(&self.local_variables, address, 0),
            _ => {
                let buffer = self.device.buffer(address);
                buffer
                    .map(|(name, offset)| (name.to_owned(), offset))
                    .or_else(|| self.device.heap().nearest(address))
            }
        };
        TouchedMemory { space, address, bytes, object }
    }
}

/// The variable that holds an address, and the offset in it. One without a size reaches up to
/// `end`.
fn holder(variables: &[PlacedVariable], address: u64, end: u64) -> Option<(String, i64)> {
    let holds = |variable: &&PlacedVariable| {
        let bytes = match variable.bytes {
            0 => end.saturating_sub(variable.offset),
            bytes => bytes,
        };
        address.wrapping_sub(variable.offset) < bytes
    };
    let variable = variables.iter().find(holds)?;
    Some((variable.name.clone(), (address - variable.offset) as i64))
}

/// The place of `index` in a box of these extents; x varies fastest.
fn place([x, y, _]: [u32; 3], index: u64) -> [u32; 3] {
    let (x, y) = (u64::from(x.max(1)), u64::from(y.max(1)));
    [index % x, index / x % y, index / x / y].map(|i| i as u32)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
