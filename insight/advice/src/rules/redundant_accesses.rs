//! # What it does
//!
//! Finds loads and stores in a loop whose address is the same in each round.
//!
//! # Why it is slow
//!
//! The value could stay in a register. The compiler must not keep it there if another pointer may
//! lead to the same place. Each store may have changed it, and each load may see a store.
//!
//! # How to fix it
//!
//! Add up in a local variable and store it behind the loop. Declare pointers that share no memory
//! as `__restrict__`, and those that are only read as `const` too.
//!
//! # Example
//!
//! ```cuda
//! for (…) out[i] += a[j] * weight[0];                     // load, load, store
//! float sum = 0; for (…) sum += a[j] * w; out[i] = sum;   // load
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 10.2.6 (`__restrict__`).

use gpucast_counters::metric;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "redundant-accesses";
pub(super) const TITLE: &str = "a loop accesses the same address in each round";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let invariant = case.facts()?.invariant.as_slice();
    let those = || case.rows().filter(|row| invariant.contains(&row.instruction));
    let executions: f64 = those().map(|row| row.warp_executions as f64).sum();
    if executions == 0.0 {
        return None;
    }
    let once = those().count() as f64 * case.metric(metric!("warps_launched"));
    Some(Suspicion {
        change: "The loop loads or stores the same address in each round. Keep the value in a \
                 local variable, and declare pointers as __restrict__."
            .to_owned(),
        places: case.lines_of(invariant),
        evidence: vec![Evidence::new("accesses by warps", executions, once, "instruction")],
        trial: Trial::WhatIf(vec![WhatIf::HoistedAccesses]),
    })
}
