//! # What it does
//!
//! Finds barriers of the block at which warps wait for a part of the time.
//!
//! # Why it is slow
//!
//! At a barrier every warp waits for the last one. Between two barriers that are close together no
//! warp can hide the latency of another.
//!
//! # How to fix it
//!
//! Leave barriers out where a warp reads only what it wrote itself, and use `__syncwarp`. Do more
//! work between two barriers; use two buffers and one barrier a round. Smaller blocks have fewer
//! warps to wait for, and other blocks work meanwhile.
//!
//! # Example
//!
//! ```cuda
//! next[i] = x; __syncthreads(); y = next[i ^ 1]; __syncthreads();
//! y = __shfl_xor_sync(~0u, x, 1);
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 8.1 (synchronisation instructions).

use gpucast_model::WhatIf;
use gpucast_simulation::states::State;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "barriers";
pub(super) const TITLE: &str = "warps wait at barriers of the block";
pub(super) const EFFORT: Effort = Effort::Structure;

/// The share of the time from which waiting counts.
const LEAST_SHARE: f64 = 0.03;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let share = case.time_in(&[State::Barrier]);
    if share < LEAST_SHARE {
        return None;
    }
    Some(Suspicion {
        change: "Warps wait at barriers. Leave out those that only a warp needs (__syncwarp, \
                 shuffles), do more between two of them, or use smaller blocks."
            .to_owned(),
        places: case.lines_in(&[State::Barrier]),
        evidence: vec![Evidence::new("issue slots lost at barriers", 100.0 * share, 0.0, "percent")],
        trial: Trial::WhatIf(vec![WhatIf::NoBarriers]),
    })
}
