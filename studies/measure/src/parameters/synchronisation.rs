//! Barriers and fences.

use super::memory::{CHASE_STRIDE, L2_CHASE_BYTES};
use super::{CLOCKS, Parameter, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, Copies, Waiter};

pub(super) const ALL: &[Parameter] = &[
    Parameter::field(
        "barrier_latency",
        CLOCKS,
        "bar.sync of one warp, less the fence behind it (5.x, 6.x)",
        |bench| {
            let barrier = of_block(bench, "bar.sync 0", 1)?;
            // Compilers put a fence of the block behind each barrier there.
            let has_fence = matches!(bench.facts().compute_capability.major, 5 | 6);
            let fence = if has_fence { figure_of(bench, "fence_cta_latency")? } else { 0.0 };
            Ok(barrier - fence)
        },
    ),
    Parameter::field(
        "barrier_arrival_interval",
        CLOCKS,
        "bar.sync of 32 warps less that of 8, over the warps between",
        |bench| {
            const FEW: u64 = 8;
            const MANY: u64 = 32;
            let few = of_block(bench, "bar.sync 0", FEW)?;
            Ok((of_block(bench, "bar.sync 0", MANY)? - few) / (MANY - FEW) as f64)
        },
    ),
    Parameter::field(
        "mbarrier_latency",
        CLOCKS,
        "copies awaited by an mbarrier, less those awaited by their group beside one",
        mbarrier_latency,
    ),
    Parameter::field("fence_cta_latency", CLOCKS, "membar.cta of one warp", |bench| {
        of_block(bench, "membar.cta", 1)
    }),
    Parameter::field("fence_gpu_latency", CLOCKS, "membar.gl of one warp", |bench| {
        of_block(bench, "membar.gl", 1)
    }),
    Parameter::field("fence_system_latency", CLOCKS, "membar.sys of one warp", |bench| {
        of_block(bench, "membar.sys", 1)
    }),
];

/// Clocks of an instruction of one block, one after the other.
fn of_block(bench: &mut Bench<'_>, instruction: &str, warps: u64) -> Result<f64, MeasureError> {
    let passes = Sizes { smaller: 64, larger: 192 };
    bench.clocks_of_copy([8, 16], passes, |copies, passes| {
        Ok(kernels::repeated(instruction, warps, copies, passes))
    })
}

/// Both kernels make the same copies and have the same instructions on an mbarrier, all of which
/// run beside the copy. So the rest is what waits for the copy: the mbarrier or the group.
fn mbarrier_latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const TRY_WAIT_SINCE: u32 = 9;
    let tries = bench.facts().compute_capability.major >= TRY_WAIT_SINCE;
    let how = How { pointers: Some(CHASE_STRIDE), is_cold: false };
    let passes = Sizes { smaller: 64, larger: 192 };
    let clock = bench.clock_mhz()? * 1e6;
    let mut clocks = |waiter| {
        let (stride, bytes) = (CHASE_STRIDE, L2_CHASE_BYTES);
        let seconds = bench.seconds_of_copy([4, 8], passes, how, |number, passes| {
            Ok(kernels::awaited_copies(Copies { waiter, stride, bytes, number, passes, tries }))
        })?;
        Ok::<f64, MeasureError>(seconds * clock)
    };
    Ok(clocks(Waiter::Mbarrier)? - clocks(Waiter::Group)?)
}
