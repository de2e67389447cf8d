//! Launches, blocks and cold code.

use super::{CLOCKS, Parameter, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::device::Facts;
use crate::error::MeasureError;
use crate::kernels;

pub(super) const ALL: &[Parameter] = &[
    Parameter::field("launch_overhead", "us", "empty_knl, launches behind each other", overhead),
    Parameter::field(
        "cta_launch_interval",
        CLOCKS,
        "fences of one warp in as many blocks as fit, slope over blocks",
        cta_launch_interval,
    ),
    Parameter::field(
        "cta_replacement",
        CLOCKS,
        "blocks of 16 warps that follow each other, less the clocks of their fences and warps",
        |bench| {
            let interval = figure_of(bench, "warp_launch_interval")?;
            Ok(turnover(bench, FEW_WARPS)? - (FEW_WARPS - 1) as f64 * interval)
        },
    ),
    Parameter::field(
        "warp_launch_interval",
        CLOCKS,
        "blocks of 32 warps less those of 16, over the warps between",
        |bench| {
            let Sizes { larger, .. } = fences(bench)?;
            let (few, many) = (round(bench, FEW_WARPS, larger)?, round(bench, MANY_WARPS, larger)?);
            Ok((many - few) / (MANY_WARPS - FEW_WARPS) as f64)
        },
    ),
    Parameter::field(
        "code_latency",
        CLOCKS,
        "jumps of one warp over code that is never executed, less those in a second pass",
        code_latency,
    ),
];

fn overhead(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const LAUNCHES: u32 = 100;
    let (smaller, larger) = (LAUNCHES, 3 * LAUNCHES);
    let sizes = Sizes { smaller: smaller.into(), larger: larger.into() };
    let empty = kernels::of_tags("empty_knl lsize_0:32 lsize_1:1 ngroups:1")?;
    let smaller_seconds = bench.seconds(empty.clone(), sizes.smaller, How::default(), smaller)?;
    let larger_seconds = bench.seconds(empty, sizes.larger, How::default(), larger)?;
    Ok(sizes.slope(smaller_seconds, larger_seconds)? * 1e6)
}

/// Blocks that all fit on the device begin behind each other and take equally long, so the last one
/// ends later by each of them. The first ones wait for their code together, so they do not show it.
/// Fences make blocks longer than a launch takes, with code that comes faster than it is run.
fn cta_launch_interval(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const FENCES: u32 = 32;
    let Facts { sm_count, max_blocks_per_sm, .. } = *bench.facts();
    let most = sm_count * max_blocks_per_sm.clamp(2, 32);
    let sizes = Sizes { smaller: most * 5 / 8, larger: most };
    bench.clocks(sizes, How::default(), |blocks| {
        let mut kernel = kernels::repeated("membar.gl", 1, FENCES, 1);
        kernel.grid = grid(blocks);
        Ok(kernel)
    })
}

fn grid(blocks: u64) -> [u32; 3] {
    [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1]
}

/// Warps of blocks that follow each other.
const FEW_WARPS: u64 = 16;
const MANY_WARPS: u64 = 32;

/// Fences of these blocks. The GPU starts one block after the other, so the shorter blocks last
/// longer than it takes to fill all places.
fn fences(bench: &mut Bench<'_>) -> Result<Sizes, MeasureError> {
    const LEAST: f64 = 8.0;
    let interval = figure_of(bench, "cta_launch_interval")?;
    let fence = figure_of(bench, "fence_gpu_latency")?;
    let starts = of_round(bench, FEW_WARPS)? as f64 * interval;
    let smaller = (starts / fence).ceil().max(LEAST) as u64;
    Ok(Sizes { smaller, larger: 2 * smaller })
}

/// Blocks that fill the SMs.
fn of_round(bench: &Bench<'_>, warps: u64) -> Result<u64, MeasureError> {
    let places = bench.capability("max_warps_per_sm")? as u64 / warps;
    Ok(bench.facts().sm_count * places.max(1))
}

/// Clocks from a block to the next one in its place. Blocks of some warps fill the SMs and consist
/// of fences.
fn round(bench: &mut Bench<'_>, warps: u64, fences: u64) -> Result<f64, MeasureError> {
    let of_round = of_round(bench, warps)?;
    let rounds = Sizes { smaller: 4, larger: 12 };
    bench.clocks(rounds, How::default(), |rounds| {
        let copies = u32::try_from(fences).unwrap_or(u32::MAX);
        let mut kernel = kernels::repeated("membar.gl", warps, copies, 1);
        kernel.grid = grid(of_round * rounds);
        Ok(kernel)
    })
}

/// Clocks from the end of a block to the start of the last warp of the next one in its place.
/// Blocks of two lengths tell what does not depend on the length.
fn turnover(bench: &mut Bench<'_>, warps: u64) -> Result<f64, MeasureError> {
    let fences = fences(bench)?;
    let shorter = round(bench, warps, fences.smaller)?;
    let longer = round(bench, warps, fences.larger)?;
    Ok(shorter - fences.smaller as f64 * fences.slope(shorter, longer)?)
}

fn code_latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let sizes = Sizes { smaller: 24, larger: 72 };
    let once =
        bench.clocks(sizes, How::default(), |segments| Ok(kernels::cold_code(segments, 1)))?;
    let twice =
        bench.clocks(sizes, How::default(), |segments| Ok(kernels::cold_code(segments, 2)))?;
    // The second pass is as long as the first one would be with warm code.
    Ok(once - (twice - once))
}
