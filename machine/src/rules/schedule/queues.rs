//! The operations whose requests machine instructions take.

use std::collections::{BTreeMap, HashMap};

use gpucast_counters::trace::LaunchTrace;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::Combining;

use super::super::Compiled;
use super::super::emit::Role;
use super::super::passes::MergedAccess;
use super::{depend, node};
use crate::replay::{Draw, Queue};

/// The queues of a launch, in order of their operations.
pub(super) fn queues(compiled: &Compiled<'_>, trace: &LaunchTrace) -> Vec<Queue> {
    let is_recorded = |operation: u32| {
        let samples = trace.classes.iter().flat_map(|class| &class.samples);
        samples.flat_map(|cta| &cta.warps).any(|warp| warp.requests.contains_key(&operation))
    };
    let mut parts: BTreeMap<u32, u32> = BTreeMap::new();
    for emitted in &compiled.emission.instructions {
        let op = compiled.graph.op(emitted.operation);
        let accesses = emitted.selected.access.is_some() && depend::draws(op, emitted);
        let copies = emitted.role == Role::Own && is_recorded(emitted.operation);
        if accesses || copies {
            // Constants may not be recorded: they come from their cache.
            let is_constant = matches!(
                emitted.selected.access.and_then(|access| access.space),
                Some(StateSpace::Const | StateSpace::Param)
            );
            if !is_constant || copies {
                let count = if accesses { emitted.selected.count } else { 0 };
                *parts.entry(emitted.operation).or_default() += count;
            }
        }
    }
    parts.into_iter().map(|(operation, parts)| queue(compiled, operation, parts)).collect()
}

fn queue(compiled: &Compiled<'_>, operation: u32, parts: u32) -> Queue {
    let leads = |access: &&MergedAccess| access.leader == operation;
    let joined = compiled.merged.iter().find(leads).map(|access| access.followers.to_vec());
    let op = compiled.graph.op(operation);
    let space = node::space(op.memory.and_then(|memory| memory.space));
    let draw = Some(Draw { block: op.block, space, parts });
    Queue { ptx: operation, joined: joined.unwrap_or_default(), draw }
}

/// The queues of atomics that fewer lanes execute than the PTX says.
pub(super) fn combining(compiled: &Compiled<'_>, queues: &[Queue]) -> HashMap<u32, Combining> {
    let kinds: HashMap<u32, Combining> = compiled
        .emission
        .instructions
        .iter()
        .filter_map(|emitted| Some((emitted.operation, emitted.selected.combining?)))
        .collect();
    (0..)
        .zip(queues)
        .filter_map(|(number, queue)| Some((number, *kinds.get(&queue.ptx)?)))
        .collect()
}
