//! Fetches of texels.

use super::{CLOCKS, Parameter};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels;

/// Fetches of a thread.
const FETCHES: Sizes = Sizes { smaller: 128, larger: 384 };

pub(super) const ALL: &[Parameter] = &[
    Parameter::field(
        "texture_latency",
        CLOCKS,
        "texture_pattern of one warp with one chain",
        |bench| clocks(bench, "chains:1 lsize_0:32"),
    ),
    Parameter::field(
        "texture_interval",
        CLOCKS,
        "fetches of 16 warps that do not wait for each other, of a sub-core",
        interval,
    ),
];

/// Clocks of a sub-core for a fetch of a warp.
///
/// All fetches of a warp wait at the same time. So many keep the unit busy for longer than one
/// takes, and a further one takes its clocks of the unit. Where the unit is not the limit, three
/// numbers of fetches do not lie on a line.
fn interval(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    /// As many threads have registers for so many fetches.
    const WARPS: u64 = 16;
    const FETCHES: [u32; 3] = [20, 24, 28];
    const TOLERANCE: f64 = 0.1;
    let passes = Sizes { smaller: 32, larger: 96 };
    let mut clocks = |fetches| {
        bench.clocks_of_copy(fetches, passes, |fetches, passes| {
            Ok(kernels::texels(WARPS, fetches.into(), passes))
        })
    };
    let [few, some, many] = FETCHES;
    let (whole, half) = (clocks([few, many])?, clocks([few, some])?);
    if (half - whole).abs() > TOLERANCE * whole {
        return Err(MeasureError::unfit("the unit is not what limits the fetches of a warp"));
    }
    Ok(whole * bench.capability("sub_partitions")? / WARPS as f64)
}

/// Clocks of a block from one fetch of each thread to the next.
fn clocks(bench: &mut Bench<'_>, tags: &str) -> Result<f64, MeasureError> {
    bench.clocks(FETCHES, How::default(), |m| {
        kernels::of_tags(&format!("texture_pattern texels:1024 ngroups:1 {tags} m:{m}"))
    })
}
