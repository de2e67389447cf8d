//! # What it does
//!
//! Finds launches with fewer blocks than the GPU has SMs.
//!
//! # Why it is slow
//!
//! A block runs on one SM. SMs without a block do nothing.
//!
//! # How to fix it
//!
//! Launch smaller blocks, and more of them. Divide the work of a block among several. If there is
//! too little work, let several launches run at the same time, in streams.
//!
//! # Example
//!
//! ```cuda
//! kernel<<<7, 1024>>>(…);
//! kernel<<<168, 256>>>(…);
//! ```
//!
//! # Source
//!
//! CUDA C++ Best Practices Guide 12.9, section 11.3.

use gpucast_counters::metric;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "few-blocks";
pub(super) const TITLE: &str = "the grid has fewer blocks than the GPU has SMs";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let (blocks, sms) = (case.shape.blocks, case.sms());
    if blocks >= sms {
        return None;
    }
    let warps = case.shape.threads_per_block.div_ceil(32);
    let trial = match warps {
        0 | 1 => Trial::Unseen("blocks of one warp cannot be divided without changing the kernel"),
        _ => Trial::WhatIf(vec![WhatIf::SpreadBlocks(sms as f64)]),
    };
    Some(Suspicion {
        change: format!(
            "{} of {sms} SMs have no block. Launch at least {sms} blocks: smaller ones, or more of \
             them with a part of the work each.",
            sms - blocks
        ),
        places: Vec::new(),
        evidence: vec![Evidence::new(metric!("sm_cta_launched"), blocks as f64, sms as f64, "block")],
        trial,
    })
}
