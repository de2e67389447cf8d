//! What a host sends to buffers before a launch, and fetches from them afterwards.

use std::collections::BTreeSet;

use gpucast_interpreter::DeviceMemory;
use gpucast_model::offload::Transfers;
use sha2::{Digest as _, Sha256};

use crate::input::plan::{Plan, PlannedArgument};

/// The buffers as a launch is given them, to be compared with their state afterwards.
pub(super) struct Transferred {
    dispatch_bytes: u64,
    /// Index and hash of each buffer.
    buffers: Vec<(usize, [u8; 32])>,
}

impl Transferred {
    pub(super) fn of(plan: &Plan, launch: usize, memory: &DeviceMemory) -> Self {
        let mut taken = Self { dispatch_bytes: 0, buffers: Vec::new() };
        for index in buffer_arguments(&plan.launches[launch].arguments) {
            let bytes = memory.bytes(&plan.buffers[index].name).unwrap_or_default();
            // A host clears a buffer where it is; nothing needs to be sent for that.
            if bytes.iter().any(|&byte| byte != 0) {
                taken.dispatch_bytes += bytes.len() as u64;
            }
            taken.buffers.push((index, Sha256::digest(bytes).into()));
        }
        taken
    }

    /// What was sent before the launch, and what has changed since.
    pub(super) fn until(&self, plan: &Plan, memory: &DeviceMemory) -> Transfers {
        let changed = |(index, before): &(usize, [u8; 32])| {
            let bytes = memory.bytes(&plan.buffers[*index].name).unwrap_or_default();
            let after: [u8; 32] = Sha256::digest(bytes).into();
            if after == *before { 0 } else { bytes.len() as u64 }
        };
        Transfers {
            dispatch_bytes: self.dispatch_bytes,
            collect_bytes: self.buffers.iter().map(changed).sum(),
        }
    }
}

/// The buffers that arguments refer to, by their index in the plan.
pub(super) fn buffer_arguments(arguments: &[PlannedArgument]) -> BTreeSet<usize> {
    arguments.iter().flat_map(PlannedArgument::buffers).collect()
}
