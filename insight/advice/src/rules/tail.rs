//! # What it does
//!
//! Finds grids whose last wave of blocks fills a part of the GPU.
//!
//! # Why it is slow
//!
//! Blocks are dealt to SMs in waves. The launch ends with its last block, and while the last wave
//! runs, SMs without a block have nothing to do.
//!
//! # How to fix it
//!
//! Choose the number of blocks as a multiple of those that run at a time. Let each do its part in a
//! loop over the grid. Many small waves have a smaller tail than few large ones.
//!
//! # Example
//!
//! ```cuda
//! kernel<<<29, 1024>>>(…);    // 28 SMs: the last block runs alone
//! kernel<<<28, 1024>>>(…);    // for (i = …; i < n; i += gridDim.x * blockDim.x)
//! ```
//!
//! # Source
//!
//! NVIDIA, Matrix Multiplication Background User's Guide, section 4.2 (wave quantization).

use gpucast_counters::metric;
use gpucast_model::WhatIf;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "tail";
pub(super) const TITLE: &str = "the last wave of blocks fills a part of the GPU";
pub(super) const EFFORT: Effort = Effort::Lines;

/// The filled part of all waves below which the tail counts.
const MOST_FILLED: f64 = 0.95;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let (blocks, sms) = (case.shape.blocks, case.sms());
    let wave = sms * u128::from(case.occupancy().ctas_per_sm.max(1));
    // A grid smaller than a wave is dealt one block at a time.
    let unit = if blocks < wave { sms } else { wave };
    if blocks < sms || blocks.is_multiple_of(unit) {
        return None;
    }
    let waves = blocks.div_ceil(unit);
    let filled = blocks as f64 / (waves * unit) as f64;
    if filled >= MOST_FILLED {
        return None;
    }
    let best = blocks / unit * unit;
    Some(Suspicion {
        change: format!(
            "{blocks} blocks leave the last wave of {unit} partly empty. Launch a multiple of {unit} \
             blocks, such as {best}, and let each do its part in a loop over the grid."
        ),
        places: Vec::new(),
        evidence: vec![
            Evidence::new("filled places of all waves", 100.0 * filled, 100.0, "percent"),
            Evidence::new(metric!("sm_cta_launched"), blocks as f64, best as f64, "block"),
        ],
        trial: Trial::WhatIf(vec![WhatIf::EvenWaves(unit as f64)]),
    })
}
