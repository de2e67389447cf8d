//! # What it does
//!
//! Finds blocks whose number of threads is no multiple of the 32 lanes of a warp.
//!
//! # Why it is slow
//!
//! The last warp of each block has lanes without a thread. They take issue slots, registers and
//! units like the others.
//!
//! # How to fix it
//!
//! Launch blocks of a multiple of 32 threads, 128 to 256 as a rule. Let surplus threads at the end
//! of the grid do nothing.
//!
//! # Example
//!
//! ```cuda
//! kernel<<<n / 40, 40>>>(…);      // the second warp has eight threads
//! kernel<<<n / 320, 320>>>(…);
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 11.3.

use gpucast_counters::metric;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "idle-lanes";
pub(super) const TITLE: &str = "blocks leave lanes of their last warp without a thread";
pub(super) const EFFORT: Effort = Effort::Lines;

/// Lanes that have a thread, of a mean warp.
pub(super) fn lanes_in_blocks(case: &Case<'_>) -> f64 {
    let threads = case.shape.threads_per_block.max(1);
    threads as f64 / threads.div_ceil(32) as f64
}

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let threads = case.shape.threads_per_block;
    if threads == 0 || threads.is_multiple_of(32) {
        return None;
    }
    let whole = threads.next_multiple_of(32);
    Some(Suspicion {
        change: format!(
            "Blocks of {threads} threads leave {} lanes idle. Launch blocks of a multiple of 32 \
             threads, such as 128 or 256.",
            whole - threads
        ),
        places: Vec::new(),
        evidence: vec![Evidence::new(metric!("threads_per_block"), threads as f64, whole as f64, "thread")],
        trial: Trial::WhatIf(vec![WhatIf::NoDivergence]),
    })
}
