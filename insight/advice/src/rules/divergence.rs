//! # What it does
//!
//! Finds branches on which threads of a warp part, so that lanes idle while others work.
//!
//! # Why it is slow
//!
//! A warp executes every way that one of its threads takes, one after the other. Lanes that did not
//! take it idle, but their issue slots and units are spent.
//!
//! # How to fix it
//!
//! Let the condition depend on the warp instead of the thread. Sort or compact the work so that
//! neighbouring threads take the same way. In a reduction, let the first threads work and halve
//! their number: whole warps then have nothing to do.
//!
//! # Example
//!
//! ```cuda
//! if (i % (2 * stride) == 0) part[i] += part[i + stride];   // lanes of every warp
//! if (i < stride)            part[i] += part[i + stride];   // the first warps
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 13.1; Harris, Optimizing Parallel Reduction in CUDA.

use gpucast_counters::metric;
use gpucast_counters::table::Row;
use gpucast_model::WhatIf;

use super::idle_lanes::lanes_in_blocks;
use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "divergence";
pub(super) const TITLE: &str = "threads of a warp take different ways";
pub(super) const EFFORT: Effort = Effort::Lines;

/// Active lanes, over those of the block's warps, below which divergence counts.
const MOST_ACTIVE: f64 = 0.95;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let lanes = lanes_in_blocks(case);
    let (mut issued, mut executed, mut divergent) = (0.0, 0.0, 0.0);
    for row in case.rows() {
        issued += row.issued_lanes as f64;
        executed += row.warp_executions as f64;
        divergent += row.branch.map_or(0.0, |branch| branch.divergent as f64);
    }
    let active = issued / executed.max(1.0);
    if divergent == 0.0 || active >= MOST_ACTIVE * lanes {
        return None;
    }
    let idle = |row: &Row| (lanes * row.warp_executions as f64 - row.issued_lanes as f64).max(0.0);
    let parts = case.ranked(|row| row.branch.map_or(0.0, |branch| branch.divergent as f64));
    let at = parts.first().map_or(String::new(), |place| format!(" They part on line {}.", place.line));
    Some(Suspicion {
        change: format!(
            "A warp works with {active:.0} of its lanes in the mean.{at} Let the condition depend on \
             the warp, or bring threads of one way together."
        ),
        places: case.ranked(idle),
        evidence: vec![
            Evidence::new(metric!("warp_execution_efficiency"), 100.0 * active / 32.0, 100.0 * lanes / 32.0, "percent"),
            Evidence::new(metric!("divergent_branch"), divergent, 0.0, "branch"),
        ],
        trial: Trial::WhatIf(vec![WhatIf::NoDivergence]),
    })
}
