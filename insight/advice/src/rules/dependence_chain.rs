//! # What it does
//!
//! Finds time in which every warp waits for the result of its own last arithmetic instruction.
//!
//! # Why it is slow
//!
//! The result of an instruction is there after four to six clocks, of double precision or a special
//! function later. A chain in which each instruction needs the one before runs at that pace. Other
//! warps hide it, if there are enough of them.
//!
//! # How to fix it
//!
//! Work on several independent elements in each thread. Divide a sum among several accumulators and
//! add them up at the end. Or launch more warps.
//!
//! # Example
//!
//! ```cuda
//! for (k…) y = y * x + 1;
//! for (k += 8…) { y0 = y0 * z + 1; y1 = y1 * z + 1; … }
//! ```
//!
//! # Source
//!
//! Volkov, Better performance at lower occupancy, GTC 2010; CUDA C++ Best Practices Guide 11.2.

use gpucast_model::WhatIf;
use gpucast_simulation::states::State;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "dependence-chain";
pub(super) const TITLE: &str = "each instruction waits for the one before";
pub(super) const EFFORT: Effort = Effort::Lines;

/// The share of the time from which waiting counts. Loops whose counter is waited for have less.
const LEAST_SHARE: f64 = 0.2;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let share = case.time_in(&[State::Wait]);
    if share < LEAST_SHARE {
        return None;
    }
    Some(Suspicion {
        change: "All warps wait for their own last result. Give each thread several independent \
                 sums or elements, or launch more warps."
            .to_owned(),
        places: case.lines_in(&[State::Wait]),
        evidence: vec![Evidence::new(
            "issue slots lost to arithmetic latency",
            100.0 * share,
            0.0,
            "percent",
        )],
        trial: Trial::WhatIf(vec![WhatIf::IndependentInstructions]),
    })
}
