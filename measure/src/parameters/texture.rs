//! Fetches of texels.

use super::{CLOCKS, Parameter};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels;

/// Fetches of a thread.
const FETCHES: Sizes = Sizes { smaller: 128, larger: 384 };

pub(super) const ALL: &[Parameter] = &[Parameter::field(
    "texture_latency",
    CLOCKS,
    "texture_pattern of one warp with one chain",
    |bench| clocks(bench, "chains:1 lsize_0:32"),
)];

/// Clocks of a block from one fetch of each thread to the next.
fn clocks(bench: &mut Bench<'_>, tags: &str) -> Result<f64, MeasureError> {
    bench.clocks(FETCHES, How::default(), |m| {
        kernels::of_tags(&format!("texture_pattern texels:1024 ngroups:1 {tags} m:{m}"))
    })
}
