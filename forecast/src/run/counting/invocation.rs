//! One invocation of a launch on one GPU: its counter before, its counts afterwards.

use std::sync::Arc;

use gpucast_counters::hierarchy::{L2, L2Contents};
use gpucast_counters::{Counter, WindowSizes};
use gpucast_interpreter::{DeviceMemory, Launch, Program};

use super::Counting;
use super::observer::{Counts, MACHINE_PER_PTX};
use crate::failure::Failure;
use crate::run::instruction_facts::instruction_facts;
use crate::run::repetitions::Repetition;
use crate::settings::CacheChoice;

/// Machine instructions for one of PTX, at most.
pub(super) fn per_ptx(counting: &Counting<'_>) -> u64 {
    if counting.machine.is_none() { 1 } else { MACHINE_PER_PTX }
}

/// A counter for a launch, after which the L2 is as given; `traced` if order is recorded, too. Sums
/// may still become `times` as large.
pub(super) fn counter<C: Counts>(
    counting: &Counting<'_>,
    program: &Program,
    launch: &Launch,
    (contents, l2): (L2Contents, Option<L2>),
    traced: bool,
    times: u64,
) -> C {
    let shared_bytes = program.static_shared_bytes();
    let mut counter = Counter::new(program, launch, shared_bytes, counting.device);
    if let Some(registers) = counting.machine.thread_registers(program, &counting.device) {
        counter = counter.with_registers(registers);
    }
    // A trace has the levels that served requests.
    let traced = traced && counting.caches != CacheChoice::None && counting.sample.is_none();
    if let Some(limits) = counting.extras.trace.filter(|_| traced) {
        counter = counter.with_trace(&limits);
    }
    counter = counter.with_machine_accesses(&counting.machine.known_accesses(program));
    let counter = match counting.caches {
        CacheChoice::Full => counter.with_l2(contents, l2),
        CacheChoice::Windows => {
            counter.with_windows(times, counting.extras.windows).with_l2(contents, l2)
        }
        CacheChoice::Auto => {
            let size = WindowSizes { only_if_large: true, ..counting.extras.windows };
            counter.with_windows(times, size).with_l2(contents, l2)
        }
        CacheChoice::None => counter.without_caches(),
    };
    let counter = match counting.sample {
        Some(size) => counter.with_sample(size),
        None => counter,
    };
    C::around(counter, program, launch)
}

/// The counts of a launch that has ended, with its machine instructions.
pub(super) fn repetition<C: Counts>(
    counting: &Counting<'_>,
    counter: C,
    program: &Program,
    memory: &DeviceMemory,
) -> Result<(Repetition, Option<L2>), Failure> {
    let (Repetition { profile, stages, features, .. }, l2) = counter.end(memory);
    let code = counting.machine.code(program, &profile.table, counting.supervisor);
    let simulation = profile.trace.as_ref().and_then(|trace| code.schedule(trace));
    let machine = match counting.extras.only_executed {
        true => None,
        false => code.profile()?,
    };
    drop(code);
    let (profile, features) = match machine {
        Some(machine) => {
            let features = features.map(|features| features.with_machine(&machine));
            (profile.with_machine(machine), features)
        }
        None => (profile, features),
    };
    let instructions = profile.trace.as_ref().filter(|_| simulation.is_some());
    let instructions =
        instructions.map(|trace| Arc::new(instruction_facts(program, &profile.table, trace)));
    let simulation = simulation.map(Arc::new);
    Ok((Repetition { profile, stages, features, simulation, instructions }, l2))
}
