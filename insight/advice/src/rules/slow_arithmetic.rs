//! # What it does
//!
//! Finds divisions, remainders, roots and transcendentals that take a part of the time.
//!
//! # Why it is slow
//!
//! GPUs have no instruction that divides integers: a quotient takes about twenty. Exact quotients
//! and roots of floating-point numbers take as many. Reciprocals, roots and exponentials run on
//! units that are an eighth or a quarter as wide as others.
//!
//! # How to fix it
//!
//! Divide by constants or powers of two; use shifts and masks. Count indices up instead of
//! computing them by `%`. Multiply by a reciprocal that is computed once. Where digits allow, use
//! `__fdividef`, `__expf`, `rsqrtf` or `-use_fast_math`.
//!
//! # Example
//!
//! ```cuda
//! x = (x * 5 + 17) % size;
//! x = (x * 5 + 17) & (size - 1);   // size is a power of two
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, sections 12.1.1 to 12.1.5.

use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "slow-arithmetic";
pub(super) const TITLE: &str = "divisions, roots or transcendentals take long";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let slow = case.facts()?.slow.as_slice();
    let executions: f64 = case
        .rows()
        .filter(|row| slow.contains(&row.instruction))
        .map(|row| row.warp_executions as f64)
        .sum();
    if executions == 0.0 {
        return None;
    }
    let machine = case.profile.machine.as_ref().map(|machine| {
        let of_slow = machine.rows.iter().filter(|row| {
            row.instruction.is_some_and(|instruction| slow.contains(&instruction))
        });
        of_slow.map(|row| row.warp_executions as f64).sum::<f64>()
    });
    Some(Suspicion {
        change: "Divisions, remainders, roots or transcendentals take many instructions or narrow \
                 units. Use shifts and masks, reciprocals computed once, or the fast functions."
            .to_owned(),
        places: case.lines_of(slow),
        evidence: vec![Evidence::new(
            "machine instructions for them",
            machine.unwrap_or(executions),
            executions,
            "instruction",
        )],
        trial: Trial::WhatIf(vec![WhatIf::FastArithmetic]),
    })
}
