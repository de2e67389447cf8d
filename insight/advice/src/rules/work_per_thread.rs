//! # What it does
//!
//! Finds instructions that a thread would do once for several results, in place of several threads
//! that do them for one result each.
//!
//! # Why it is slow
//!
//! Each thread computes its place, each block meets at its barriers, and threads of a product load
//! the same factors. Where a thread has one result, all of that is done for each result. With four
//! by four results, 16 multiply-adds need eight factors instead of 32. A thread with several
//! results also has several loads on their way at a time.
//!
//! # How to fix it
//!
//! Give a thread a strip or a patch of results in registers, and launch fewer threads or blocks.
//! Read from a tile what a row of the patch has in common, once. Before a sum over threads, add up
//! several numbers in each. Stop where registers leave too few warps, or blocks no longer fill the
//! GPU.
//!
//! # Example
//!
//! ```cuda
//! sum += a_tile[y][k] * b_tile[k][x];
//! for (i < 4…) { u[i] = a_tile[y + 16 * i][k]; v[i] = b_tile[k][x + 16 * i]; }
//! for (i < 4…) for (j < 4…) sums[i][j] += u[i] * v[j];
//! ```
//!
//! # Source
//!
//! Volkov, Better performance at lower occupancy, GTC 2010; Harris, Optimizing Parallel Reduction
//! in CUDA, kernel 7.

use gpucast_counters::table::Row;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "work-per-thread";
pub(super) const TITLE: &str = "each thread has one result, and does for it what several could share";
pub(super) const EFFORT: Effort = Effort::Structure;

/// Results of a thread in a strip, the most that leave a block for each SM.
const STRIPS: [u64; 2] = [8, 4];
/// Results of a thread in a patch whose rows and columns share data.
const PATCHES: [u64; 2] = [16, 4];
/// Instructions that are spared, over all.
const LEAST_SPARED: f64 = 0.03;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let facts = case.facts()?;
    // Where all blocks run at the same time, fewer threads would leave places empty.
    let places = case.sms() * u128::from(case.occupancy().ctas_per_sm);
    if facts.work.is_empty() || case.shape.blocks <= places {
        return None;
    }
    let sizes = if facts.shares_along_both() { PATCHES } else { STRIPS };
    // Fewer blocks than SMs help nobody.
    let fills = |results: &u64| case.shape.blocks >= u128::from(*results) * case.sms();
    let results = sizes.into_iter().find(fills)?;
    let merged = facts.merged(results);
    let spared = |row: &Row| {
        let times = facts.times(row.instruction, merged) as f64 / results as f64;
        row.warp_executions as f64 * (1.0 - times)
    };
    let (mut all, mut without) = (0.0, 0.0);
    for row in case.rows() {
        all += row.warp_executions as f64;
        without += spared(row);
    }
    if without < LEAST_SPARED * all {
        return None;
    }
    Some(Suspicion {
        change: format!(
            "A thread that has {results} results in place of one does the work of {results}, and all \
             else once. Keep several results in registers, and launch fewer threads."
        ),
        places: case.ranked(spared),
        evidence: vec![Evidence::new("instructions of PTX by warps", all, all - without, "instruction")],
        trial: Trial::WhatIf(vec![WhatIf::MergedBlocks(results as f64)]),
    })
}
