//! # What it does
//!
//! Finds sums over the threads of a block that go through shared memory and a barrier in each
//! round.
//!
//! # Why it is slow
//!
//! A tree over 1,024 threads has ten rounds. In each of them, all warps come to a barrier, also
//! those that have nothing to add. Loads and stores of shared memory lie between the additions.
//!
//! # How to fix it
//!
//! Add up the lanes of a warp by `__shfl_down_sync` or `__reduce_add_sync`, in five rounds without
//! a barrier. Let the warps put their sums into shared memory, wait once, and let the first warp
//! add these up in the same way. `__shfl_up_sync` does the same for sums up to each thread.
//!
//! # Example
//!
//! ```cuda
//! for (d = 512; d > 0; d /= 2) { if (t < d) part[t] += part[t + d]; __syncthreads(); }
//! for (d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
//! ```
//!
//! # Source
//!
//! Luitjens, CUDA Pro Tip: Faster Parallel Reductions on Kepler; CUDA C++ Programming Guide 12.9,
//! section 10.22 (warp shuffle functions).

use gpucast_counters::table::Row;
use gpucast_model::WhatIf;
use gpucast_ptx_frontend::isa::Opcode;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "shared-sums";
pub(super) const TITLE: &str = "threads add up through shared memory and barriers";
pub(super) const EFFORT: Effort = Effort::Lines;

/// Barriers of a warp that a sum by shuffles has.
const BARRIERS: f64 = 2.0;
/// Barriers of a warp from which sums go through rounds.
const LEAST_BARRIERS: f64 = 5.0;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let exchanges = case.facts()?.exchanges.as_slice();
    let is_barrier = |row: &&Row| matches!(row.description.opcode, Opcode::Bar | Opcode::Barrier);
    let barriers: f64 = case.rows().filter(is_barrier).map(|row| row.warp_executions as f64).sum();
    let warps = case.shape.blocks as f64 * case.shape.threads_per_block.div_ceil(32) as f64;
    if exchanges.is_empty() || barriers < LEAST_BARRIERS * warps {
        return None;
    }
    Some(Suspicion {
        change: "Threads add up through shared memory, with a barrier in each round. Add up the lanes \
                 of a warp by shuffles, and the sums of warps behind one barrier."
            .to_owned(),
        places: case.lines_of(exchanges),
        evidence: vec![Evidence::new("barriers by warps", barriers, BARRIERS * warps, "instruction")],
        trial: Trial::WhatIf(vec![WhatIf::Shuffles]),
    })
}
