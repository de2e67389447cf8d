//! # What it does
//!
//! Finds accesses to local memory: arrays that are indexed at run time, and spilled registers.
//!
//! # Why it is slow
//!
//! Registers have no addresses. What is indexed by a variable, or does not fit the registers, lies
//! in memory that each thread has for itself. Its accesses take the load-store path and the caches.
//!
//! # How to fix it
//!
//! Index arrays by constants only, which unrolled loops do. Put a small table into shared memory, a
//! column for each thread. For spills, raise the register limit (`__launch_bounds__`,
//! `-maxrregcount`) or keep fewer values at a time.
//!
//! # Example
//!
//! ```cuda
//! int bins[16];                    bins[a[i] & 15] += 1;
//! __shared__ int bins[16][128];    bins[a[i] & 15][threadIdx.x] += 1;
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 8.3.2 (local memory); Best Practices Guide 9.2.4.

use gpucast_counters::attribution::spills;
use gpucast_counters::table::Row;
use gpucast_model::WhatIf;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::code::{Action, Space};

use super::{Effort, Evidence, Suspicion};
use crate::case::{Case, accesses};
use crate::trial::Trial;

pub(super) const CODE: &str = "local-memory";
pub(super) const TITLE: &str = "arrays or spilled registers lie in local memory";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let requests = |row: &Row| -> f64 {
        let counts = accesses(row, StateSpace::Local).filter(|counts| counts.sectors > 0);
        counts.map(|counts| counts.requests as f64).sum()
    };
    let arrays: f64 = case.rows().map(requests).sum();
    let machine = case.profile.machine.as_ref();
    let spilled = machine.map(|machine| spills(&case.profile.table, machine)).unwrap_or_default();
    let of_row = |row: &Row| spilled.get(&row.instruction).map_or(0.0, |&spills| spills as f64);
    let spills = case.recorded().map_or(0, |launch| {
        let is_spill = |action: &Action| {
            matches!(action, Action::Access(access)
                if access.space == Space::Local && access.queue.is_none())
        };
        launch.code.instructions.iter().filter(|instruction| is_spill(&instruction.action)).count()
    });
    if arrays == 0.0 && spills == 0 {
        return None;
    }
    let change = match arrays > 0.0 {
        true => {
            "An array that is indexed at run time lies in local memory. Index it by constants \
             (unrolled loops), or put it into shared memory with a column for each thread."
        }
        false => {
            "Registers are spilled to local memory. Raise the limit of registers \
             (__launch_bounds__, -maxrregcount), or keep fewer values at a time. The gain is that of \
             this code without them, as many blocks being resident."
        }
    };
    let mut evidence = Vec::new();
    if arrays > 0.0 {
        evidence.push(Evidence::new("requests to local memory", arrays, 0.0, "request"));
    }
    if spills > 0 {
        let spills = spills as f64;
        evidence.push(Evidence::new("machine instructions that spill", spills, 0.0, "instruction"));
    }
    Some(Suspicion {
        change: change.to_owned(),
        places: case.ranked(|row| requests(row) + of_row(row)),
        evidence,
        trial: Trial::WhatIf(vec![WhatIf::NoLocalMemory]),
    })
}
