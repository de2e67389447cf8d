//! # What it does
//!
//! Finds launches that end before the next one could begin.
//!
//! # Why it is slow
//!
//! Launching takes a few microseconds. Launches of a stream follow each other no faster, so a
//! kernel that is shorter leaves the GPU idle.
//!
//! # How to fix it
//!
//! Do the work of several launches in one. Put launches that repeat into a CUDA graph. Let the
//! kernel loop over what the host loops over.
//!
//! # Example
//!
//! ```cuda
//! for (part…) kernel<<<28, 256>>>(a + part * m, m);
//! kernel<<<2688, 256>>>(a, n);
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 6.2.9 (graphs); the GPU's fields `launch_overhead`
//! and `launch_gap`.

use gpucast_model::Timing;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "launch-overhead";
pub(super) const TITLE: &str = "launching takes longer than the kernel";
pub(super) const EFFORT: Effort = Effort::Lines;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let invocations = case.profile.invocations.max(1) as f64;
    let one_ms = case.headline.time_ms / invocations;
    let least_ms = Timing::BackToBack.least_ms(case.gpu).ok()??;
    if one_ms >= least_ms {
        return None;
    }
    let added_ms = Timing::BackToBack.added_ms(case.gpu, one_ms).ok()?;
    Some(Suspicion {
        change: "Launches of a stream cannot follow each other as fast as this kernel ends. Do \
                 more in one launch, or launch from a CUDA graph."
            .to_owned(),
        places: Vec::new(),
        evidence: vec![Evidence::new(
            "time from launch to launch",
            1e3 * (one_ms + added_ms),
            1e3 * one_ms,
            "microsecond",
        )],
        trial: Trial::Launches,
    })
}
