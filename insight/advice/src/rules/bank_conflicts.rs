//! # What it does
//!
//! Finds accesses to shared memory whose lanes ask the same bank for different words.
//!
//! # Why it is slow
//!
//! Shared memory has 32 banks of four bytes. A bank serves one word in a pass. Lanes whose words
//! lie a multiple of 32 words apart are served one after the other, up to 32 passes for one access.
//!
//! # How to fix it
//!
//! Make the pitch of the tile an odd number of words: `tile[32][33]`. For tiles of half-precision
//! numbers add eight numbers (16 bytes) to the pitch, or exchange the column by an exclusive or
//! with the row.
//!
//! # Example
//!
//! ```cuda
//! __shared__ float tile[32][32];   // tile[threadIdx.x][k]: all lanes in one bank
//! __shared__ float tile[32][33];   // a bank for each lane
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 9.2.3.1; Zhang and Owens 2011, section 5.

use std::collections::BTreeMap;

use gpucast_counters::metric;
use gpucast_counters::table::Row;
use gpucast_counters::totals::Direction;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "bank-conflicts";
pub(super) const TITLE: &str = "lanes ask the same bank of shared memory for different words";
pub(super) const EFFORT: Effort = Effort::Lines;

/// Passes over those without conflicts, from which a line is named.
const LEAST_DEGREE: f64 = 1.1;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let directions = [Direction::Load, Direction::Store];
    let accesses = directions.map(|direction| case.profile.shared_passes(direction));
    let conflicts = |row: &Row| -> f64 {
        let of_row = accesses.iter().filter_map(|all| all.get(&Some(row.instruction)));
        of_row.map(|of_row| of_row.conflict_passes() as f64).sum()
    };
    let (mut passes, mut free, mut worst) = (0.0, 0.0, 1.0_f64);
    for counts in accesses.iter().flat_map(BTreeMap::values) {
        passes += counts.passes as f64;
        free += counts.conflict_free as f64;
        worst = worst.max(counts.passes as f64 / counts.conflict_free.max(1) as f64);
    }
    if passes <= LEAST_DEGREE * free {
        return None;
    }
    Some(Suspicion {
        change: format!(
            "Up to {worst:.0} lanes wait for one bank. Change the pitch of the array: an odd number of \
             words, or 16 bytes more for rows that are read whole."
        ),
        places: case.ranked(conflicts),
        evidence: vec![
            Evidence::new(metric!("shared_conflict_degree"), passes / free.max(1.0), 1.0, "ratio"),
            Evidence::new("passes over the banks", passes, free, "pass"),
        ],
        trial: Trial::WhatIf(vec![WhatIf::NoBankConflicts]),
    })
}
