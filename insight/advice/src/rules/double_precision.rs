//! # What it does
//!
//! Finds double-precision arithmetic on a GPU that has few units for it.
//!
//! # Why it is slow
//!
//! Consumer GPUs do one double-precision operation in the time of 32 or 64 single-precision ones. A
//! literal such as `0.5` is a double, and makes doubles of everything that it is computed with.
//!
//! # How to fix it
//!
//! Write `0.5f`, and the functions with an f: `sqrtf`, `expf`. If the digits are needed, use
//! doubles only where sums are accumulated.
//!
//! # Example
//!
//! ```cuda
//! x = x * 0.99 + 0.01;
//! x = x * 0.99f + 0.01f;
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, table 5 (arithmetic throughput); Best Practices Guide 12.1.1.

use gpucast_counters::metric;
use gpucast_counters::table::Row;
use gpucast_model::WhatIf;
use gpucast_ptx_frontend::isa::InstructionClass;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "double-precision";
pub(super) const TITLE: &str = "arithmetic is done in double precision";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let doubles = case.metric(metric!("inst_fp_64"));
    if doubles == 0.0 {
        return None;
    }
    let is_double = |row: &Row| row.description.class == InstructionClass::Fp64;
    Some(Suspicion {
        change: "Arithmetic is done in double precision. Where single precision suffices, write \
                 literals with an f (0.5f) and use functions such as sqrtf."
            .to_owned(),
        places: case.ranked(|row| if is_double(row) { row.thread_executions as f64 } else { 0.0 }),
        evidence: vec![Evidence::new(metric!("inst_fp_64"), doubles, 0.0, "instruction")],
        trial: Trial::WhatIf(vec![WhatIf::SinglePrecision]),
    })
}
