//! # What it does
//!
//! Finds loads and stores of a thread to neighbouring addresses that one vector access could do,
//! and loads of single bytes in a loop.
//!
//! # Why it is slow
//!
//! Each access passes the queue, the address stage and the tags of the load-store path. Four words
//! one by one take four passes and four times the tags, although they lie in one sector.
//!
//! # How to fix it
//!
//! Read `float4`, `float2`, `int4` or a structure with `__align__(16)`. The compiler joins accesses
//! only if it knows that the address is a multiple of the width. Let a thread take 16 bytes of text
//! or of an image at a time.
//!
//! # Example
//!
//! ```cuda
//! x = row[0]; y = row[1]; z = row[2]; w = row[3];
//! float4 v = *reinterpret_cast<const float4*>(row);
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 8.3.2 (size and alignment requirement).

use gpucast_counters::table::Row;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "narrow-accesses";
pub(super) const TITLE: &str = "neighbouring words are accessed one by one";
pub(super) const EFFORT: Effort = Effort::Lines;

/// The accesses that one vector access could do, a row's own among them.
pub(super) fn joined(case: &Case<'_>, row: &Row) -> u64 {
    let groups = case.facts().map_or(&[][..], |facts| facts.neighbours.as_slice());
    let own = groups.iter().find(|group| group.contains(&row.instruction));
    own.map_or(1, |group| group.len() as u64)
}

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let facts = case.facts()?;
    let mut members: Vec<u32> = facts.neighbours.iter().flatten().copied().collect();
    members.extend(facts.bytes.keys());
    let accesses: f64 = case
        .rows()
        .filter(|row| members.contains(&row.instruction))
        .map(|row| row.warp_executions as f64)
        .sum();
    if accesses == 0.0 {
        return None;
    }
    let widest = facts.neighbours.iter().map(Vec::len).max().unwrap_or(1);
    let firsts: Vec<u32> = facts.neighbours.iter().filter_map(|group| group.first().copied()).collect();
    let joined: f64 = case
        .rows()
        .filter(|row| firsts.contains(&row.instruction))
        .map(|row| row.warp_executions as f64)
        .sum();
    let of_bytes = case.rows().filter_map(|row| {
        let rounds = facts.bytes.get(&row.instruction)?;
        Some(row.warp_executions as f64 / f64::from(*rounds))
    });
    let joined = joined + of_bytes.sum::<f64>();
    let change = match facts.bytes.values().max() {
        None => format!(
            "A thread accesses up to {widest} neighbouring words one by one. Use one vector access \
             (float2, float4, or an aligned structure)."
        ),
        Some(rounds) => format!(
            "A lane loads one or two bytes in each round. Let it take those of {rounds} rounds in one \
             vector access (uint4), and take them out of it."
        ),
    };
    Some(Suspicion {
        change,
        places: case.lines_of(&members),
        evidence: vec![Evidence::new("accesses by warps", accesses, joined, "instruction")],
        trial: Trial::WhatIf(vec![WhatIf::VectorAccesses]),
    })
}
