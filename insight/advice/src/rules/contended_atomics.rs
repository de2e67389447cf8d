//! # What it does
//!
//! Finds atomics of a warp that go to the same address.
//!
//! # Why it is slow
//!
//! Updates of one address are done one after the other. A warp whose lanes all add to one counter
//! takes up to 32 steps for each addition.
//!
//! # How to fix it
//!
//! Add up in registers, then across the warp with `__shfl_xor_sync` or `__reduce_add_sync`, and let
//! one lane do the atomic. Give each warp a histogram of its own in shared memory.
//!
//! # Example
//!
//! ```cuda
//! atomicAdd(&count, x);
//! x = __reduce_add_sync(~0u, x); if (lane == 0) atomicAdd(&count, x);
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 4.1; Adinetz, CUDA Pro Tip: Optimized Filtering with
//! Warp-Aggregated Atomics.

use gpucast_counters::table::Row;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::{Case, updates};
use crate::trial::Trial;

pub(super) const CODE: &str = "contended-atomics";
pub(super) const TITLE: &str = "atomics of a warp meet at one address";
pub(super) const EFFORT: Effort = Effort::Lines;

/// Steps of a mean request from which lanes count as meeting.
const LEAST_STEPS: f64 = 1.5;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let (mut steps, mut requests) = (0.0, 0.0);
    for counts in case.rows().flat_map(|row| &row.memory).filter(|counts| updates(counts)) {
        steps += counts.update_steps as f64;
        requests += counts.requests as f64;
    }
    if requests == 0.0 || steps < LEAST_STEPS * requests {
        return None;
    }
    let waits = |row: &Row| -> f64 {
        let counts = row.memory.iter().filter(|counts| updates(counts));
        counts.map(|counts| counts.update_steps.saturating_sub(counts.requests) as f64).sum()
    };
    let mean = steps / requests;
    Some(Suspicion {
        change: format!(
            "{mean:.0} lanes of a warp change one address in the mean. Add up in registers and across \
             the warp, then let one lane do the atomic."
        ),
        places: case.ranked(waits),
        evidence: vec![Evidence::new("steps of an atomic", mean, 1.0, "step")],
        trial: Trial::WhatIf(vec![WhatIf::NoContention]),
    })
}
