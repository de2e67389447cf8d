//! # What it does
//!
//! Finds loads and stores of global memory whose threads use a part of the sectors that they move.
//!
//! # Why it is slow
//!
//! Global memory is moved in sectors of 32 bytes, four to a line. Where the threads of a warp read
//! words that lie apart, each word brings a sector of its own. The first-level cache compares tags
//! line by line, so the load-store path is busy even if all sectors are found there.
//!
//! # How to fix it
//!
//! Let `threadIdx.x` run along the dimension that is contiguous in memory. If the layout forbids
//! it, load a tile row by row into shared memory and read it by columns there. Or store structures
//! of arrays instead of arrays of structures.
//!
//! # Example
//!
//! ```cuda
//! sum += a[i * 64 + j];   // thread i reads 256 bytes behind thread i - 1
//! sum += a[j * n + i];    // thread i reads 4 bytes behind thread i - 1
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 8.3.2; CUDA C++ Best Practices Guide 12.9, section
//! 9.2.1.

use gpucast_counters::counts::MemoryCounts;
use gpucast_counters::table::Row;
use gpucast_model::WhatIf;
use gpucast_ptx_frontend::types::StateSpace;

use super::narrow_accesses::joined;
use super::{Effort, Evidence, Suspicion};
use crate::case::{Case, accesses};
use crate::trial::Trial;

pub(super) const CODE: &str = "uncoalesced-access";
pub(super) const TITLE: &str = "threads of a warp access words that lie apart";
pub(super) const EFFORT: Effort = Effort::Lines;

/// Sectors over those that the bytes fill, from which accesses count as apart. A warp that begins
/// in the middle of a line moves five sectors instead of four.
const LEAST_EXCESS: f64 = 1.25;

/// Sectors of a row, and those that words side by side fill: a request moves one at least. So many
/// accesses fill them together.
///
/// Lanes that take no part count as the others. They leave gaps between words that lie side by
/// side, and no other order of the words closes these.
fn sectors(row: &Row, together: u64) -> (f64, f64) {
    let bytes = row.memory.iter().map(|counts| counts.requested_bytes).sum::<u128>();
    let lane_bytes = bytes.div_ceil(row.thread_executions.max(1));
    // 32 lanes, in sectors of 32 bytes.
    let of_request = lane_bytes.saturating_mul(together.into()).max(1);
    let sum = |(moved, filled): (f64, f64), counts: &MemoryCounts| {
        let ideal = counts.requests.saturating_mul(of_request).min(counts.sectors);
        (moved + counts.sectors as f64, filled + ideal as f64)
    };
    accesses(row, StateSpace::Global).fold((0.0, 0.0), sum)
}

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let excess = |row: &Row| {
        // What one vector access could do is another rule's.
        let (moved, filled) = sectors(row, joined(case, row));
        if moved > LEAST_EXCESS * filled { moved - filled } else { 0.0 }
    };
    let (mut moved, mut filled, mut requests) = (0.0, 0.0, 0.0);
    for row in case.rows().filter(|row| excess(row) > 0.0) {
        let (of_row, ideal) = sectors(row, 1);
        moved += of_row;
        filled += ideal;
        requests += accesses(row, StateSpace::Global).map(|access| access.requests as f64).sum::<f64>();
    }
    if requests == 0.0 {
        return None;
    }
    let per_request = moved / requests;
    let apart = match per_request {
        all if all >= 31.5 => "32 bytes or more".to_owned(),
        _ => format!("about {per_request:.0} bytes in the mean"),
    };
    Some(Suspicion {
        change: format!(
            "Neighbouring threads access words that lie {apart} apart. Let threadIdx.x run along the \
             contiguous dimension, or pass a tile through shared memory."
        ),
        places: case.ranked(excess),
        evidence: vec![Evidence::new(
            "sectors of a request",
            per_request,
            filled / requests,
            "sector",
        )],
        trial: Trial::WhatIf(vec![WhatIf::PerfectCoalescing]),
    })
}
