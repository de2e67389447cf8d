//! # What it does
//!
//! Finds loads of a value that a block of code loaded before, with a store between them.
//!
//! # Why it is slow
//!
//! The compiler would keep the value in a register. But the store goes through another pointer,
//! which may lead to the same place, so that the value must be loaded again.
//!
//! # How to fix it
//!
//! Declare pointers that share no memory as `__restrict__`, and those that are only read as `const`
//! too. Loads then take the read-only path, and equal ones merge. Or load the value into a local
//! variable before the first store.
//!
//! # Example
//!
//! ```cuda
//! void f(const float* a, float* x, float* y)                                    // two loads
//! void f(const float* __restrict__ a, float* __restrict__ x, float* __restrict__ y)   // one
//! { x[i] = 2 * a[i]; y[i] = 3 * a[i]; }
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 10.2.6 (`__restrict__`), 10.10 (read-only data cache
//! load function).

use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "read-only-loads";
pub(super) const TITLE: &str = "a value is loaded again because a store may have changed it";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let repeated = case.facts()?.repeated.as_slice();
    let those = case.rows().filter(|row| repeated.contains(&row.instruction));
    let again: f64 = those.map(|row| row.warp_executions as f64).sum();
    if again == 0.0 {
        return None;
    }
    Some(Suspicion {
        change: "Between two loads of the same address is a store that may lead there. Declare the \
                 pointers as __restrict__, and those that are only read as const."
            .to_owned(),
        places: case.lines_of(repeated),
        evidence: vec![Evidence::new("loads of values that were there", again, 0.0, "instruction")],
        trial: Trial::WhatIf(vec![WhatIf::MergedLoads]),
    })
}
