//! # What it does
//!
//! Finds atomics of many blocks to the same lines of global memory, whose results nobody reads.
//!
//! # Why it is slow
//!
//! Atomics on global memory are done by the L2, those on one line by one slice of it, one after the
//! other. However many SMs there are, they wait for the same slice.
//!
//! # How to fix it
//!
//! Let each block add up in shared memory, or in registers and by shuffles. At the end it does one
//! atomic for each word. So there are as many as blocks, not as many as warps or numbers.
//!
//! # Example
//!
//! ```cuda
//! atomicAdd(&bins[x], 1);
//! atomicAdd(&of_block[x], 1); __syncthreads(); atomicAdd(&bins[i], of_block[i]);
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 9.2.3 (shared memory); Sakharnykh, GPU Pro Tip: Fast
//! Histograms Using Shared Atomics on Maxwell.

use gpucast_counters::table::Row;
use gpucast_model::WhatIf;
use gpucast_ptx_frontend::types::StateSpace;

use super::{Effort, Evidence, Suspicion};
use crate::case::{Case, updates};
use crate::trial::Trial;

pub(super) const CODE: &str = "global-atomics";
pub(super) const TITLE: &str = "blocks update the same words of global memory";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    if !case.recorded()?.turns.iter().any(|turn| turn.is_shared) {
        return None;
    }
    let requests = |row: &Row| -> f64 {
        let global = row.memory.iter().filter(|counts| counts.space == StateSpace::Global);
        global.filter(|counts| updates(counts)).map(|counts| counts.requests as f64).sum()
    };
    let all: f64 = case.rows().map(requests).sum();
    let blocks = case.shape.blocks as f64;
    if all <= blocks {
        return None;
    }
    Some(Suspicion {
        change: format!(
            "A block does {:.0} atomics on words that other blocks update, too. Let it add up in \
             shared memory, and do one atomic for each word at its end.",
            all / blocks
        ),
        places: case.ranked(requests),
        evidence: vec![Evidence::new("atomics of warps on global memory", all, blocks, "request")],
        trial: Trial::WhatIf(vec![WhatIf::BlockAtomics]),
    })
}
