//! # What it does
//!
//! Finds multiplications whose product is only added, where a rounding of its own (`.rn`) keeps a
//! compiler from joining both to a multiply-add.
//!
//! # Why it is slow
//!
//! A multiply-add takes the time of an addition. A product and a sum take two instructions.
//!
//! # How to fix it
//!
//! Compile without `-fmad=false`. Write `fmaf(x, y, z)`. Avoid `__fmul_rn` and `__fadd_rn`, which
//! are never joined. Bring sums into the form `x * y + z`.
//!
//! # Example
//!
//! ```cuda
//! x = __fadd_rn(__fmul_rn(x, x), c);
//! x = x * x + c;
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 12.1.7; Precision and Performance: Floating Point
//! and IEEE 754 Compliance for NVIDIA GPUs, section 2.3.

use gpucast_counters::operation::FlopKind;
use gpucast_counters::table::Row;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "missing-fma";
pub(super) const TITLE: &str = "products and sums are not joined to multiply-adds";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let pairs = |precision: &str| {
        let of = |kind: &str| case.metric(&format!("flop_count_{precision}_{kind}"));
        of("add").min(of("mul"))
    };
    let fusable = &case.facts()?.fusable;
    let is_product = |row: &Row| {
        let multiplies = row.description.flops.is_some_and(|flops| flops.kind == FlopKind::Mul);
        multiplies && fusable.binary_search(&row.instruction).is_ok()
    };
    let products: f64 =
        case.rows().filter(|row| is_product(row)).map(|row| row.thread_executions as f64).sum();
    let joined = (pairs("sp") + pairs("dp") + pairs("hp")).min(products);
    if joined == 0.0 {
        return None;
    }
    Some(Suspicion {
        change: "Products and sums are separate instructions. Let the compiler join them (no \
                 -fmad=false, no __fmul_rn), or write fmaf."
            .to_owned(),
        places: case.ranked(|row| if is_product(row) { row.thread_executions as f64 } else { 0.0 }),
        evidence: vec![Evidence::new("pairs of a product and a sum", joined, 0.0, "operation")],
        trial: Trial::WhatIf(vec![WhatIf::Fma]),
    })
}
