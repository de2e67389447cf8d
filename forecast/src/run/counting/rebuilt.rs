//! The counts of a plan's launches from the counts of each instruction, which were found otherwise.

use std::collections::BTreeMap;

use gpucast_counters::cells::{Cells, Frame};
use gpucast_interpreter::Program;
use gpucast_model::Evidence;

use super::invocation::per_ptx;
use super::{Counted, Counting, with_load_caching};
use crate::failure::Failure;
use crate::input::plan::Plan;
use crate::inspection::MachineFacts;
use crate::run::execute::Timing;
use crate::run::repetitions::{Mean, Repeated, Repetition};
use crate::run::rung::CountedBy;
use crate::settings::CacheChoice;

/// Everything that an execution finds out about a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundOut {
    /// The counts of one invocation.
    pub(crate) cells: Cells,
    /// As in [`Counted::ordered_because`].
    pub(crate) ordered_because: Option<String>,
    /// As in [`Counted::watched`].
    pub(crate) watched: bool,
}

impl FoundOut {
    /// What the execution of a launch found out. `None` if that is more than counts, or if
    /// invocations differ.
    pub(crate) fn of(counted: &Counted) -> Option<Self> {
        let mut ranges = counted.ranges.values();
        if !ranges.all(|(least, most)| least == most) {
            return None;
        }
        Some(Self {
            cells: counted.profile.cells()?,
            ordered_because: counted.ordered_because.clone(),
            watched: counted.watched,
        })
    }
}

/// The counts of the launches of a plan, of which `found_out` is known, as an execution would give
/// them. `None` if no launch has such counts.
///
/// # Errors
///
/// If the user insists on an assembler whose code cannot be read.
pub(crate) fn rebuilt(
    plan: &Plan,
    programs: &[Program],
    counting: &Counting<'_>,
    found_out: Vec<FoundOut>,
    counted_by: &CountedBy,
) -> Result<Option<Vec<Counted>>, Failure> {
    if programs.len() != plan.launches.len() || found_out.len() != plan.launches.len() {
        return Ok(None);
    }
    let machine = counting.machine;
    let repetitions: u64 = plan.launches.iter().map(|launch| u64::from(launch.repeat)).sum();
    let mut all = Vec::new();
    for ((planned, program), launch) in plan.launches.iter().zip(programs).zip(found_out) {
        let device = with_load_caching(counting.device, plan);
        let frame = Frame {
            program,
            grid: planned.grid,
            block: planned.block,
            dynamic_shared_bytes: planned.shared_bytes,
            registers: machine.thread_registers(program, &device),
            cluster_ctas: program.cluster_ctas(planned.cluster),
            device,
            has_caches: counting.caches != CacheChoice::None,
            times: per_ptx(counting).saturating_mul(repetitions),
        };
        let Some(profile) = frame.profile(&launch.cells) else { return Ok(None) };
        let code = machine.code(program, &profile.table, counting.supervisor);
        let instructions = code.profile()?;
        drop(code);
        let profile = match instructions {
            Some(instructions) => profile.with_machine(instructions),
            None => profile,
        };
        let mut mean = Mean::default();
        for _ in 0..planned.repeat {
            mean.add(Repetition::new(profile.clone(), None));
        }
        let Some(Repeated { profile, ranges, .. }) = mean.finish() else { return Ok(None) };
        all.push(Counted {
            machine_code: MachineFacts::of(plan, &profile.kernel),
            profile,
            ranges,
            evidence: Evidence::default(),
            timing: Timing::default(),
            ordered_because: launch.ordered_because,
            watched: launch.watched,
            transfers: None,
            buffers_sha256: BTreeMap::new(),
            counted_by: counted_by.clone(),
        });
    }
    Ok(Some(all))
}
