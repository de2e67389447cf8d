//! Queues in front of device memory, by the share of the bytes that are written.
//!
//! An access waits for *L* · (*a* · *u* + *b* · *u* / (1 − *u*)). Here *L* is the latency of an
//! idle memory, and *u* is how far the memory is used. Three numbers of warps give three uses.
//! These give *a*, *b* and the time of a pass without queues.

use super::{Parameter, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, Mix, Waiting};

/// A field with its mix.
macro_rules! queueing {
    ($field:literal, $part:ident, $kernel:literal, $mix:expr) => {
        Parameter::field($field, UNIT, $kernel, |bench| Ok(queueing(bench, $mix)?.$part))
    };
}

pub(super) const ALL: &[Parameter] = &[
    queueing!(
        "read_queueing_linear",
        linear,
        "reads of some warps that each wait for the last one, by the number of warps",
        READS
    ),
    queueing!("read_queueing_hyperbolic", hyperbolic, "the same", READS),
    queueing!(
        "quarter_written_queueing_linear",
        linear,
        "the same, with a write for three reads",
        QUARTER_WRITTEN
    ),
    queueing!("quarter_written_queueing_hyperbolic", hyperbolic, "the same", QUARTER_WRITTEN),
    queueing!(
        "half_written_queueing_linear",
        linear,
        "the same, with a write for each read",
        HALF_WRITTEN
    ),
    queueing!("half_written_queueing_hyperbolic", hyperbolic, "the same", HALF_WRITTEN),
];

/// The unit of these fields: latencies of an idle memory.
const UNIT: &str = "latency";

const READS: Mix = Mix { reads: 1, writes: 0 };
const QUARTER_WRITTEN: Mix = Mix { reads: 3, writes: 1 };
const HALF_WRITTEN: Mix = Mix { reads: 1, writes: 1 };

/// What accesses wait for, in latencies of an idle memory.
struct Queueing {
    /// Times the use.
    linear: f64,
    /// Times the use over the rest.
    hyperbolic: f64,
}

/// A use of the memory, and the clocks of a read at that use.
#[derive(Clone, Copy, Debug)]
struct Point {
    used: f64,
    clocks: f64,
}

/// Threads of a warp.
const WARP: u64 = 32;

/// Warps of the largest block.
const MOST_WARPS: u64 = 32;

/// So many times these bytes use the memory fully while accesses queue.
const FULL: f64 = 2.5;

/// A memory that is used fully moves no more than so many times the bytes by an eighth more warps.
const STILL_MORE: f64 = 1.05;

/// Accesses of a thread, widest last.
const ACCESS_BYTES: [u64; 3] = [4, 8, 16];

/// Bytes on their way that would use the memory fully if nothing queued, of an SM: times these, the
/// warps of the three points have as many.
const SHARES: [f64; 3] = [0.25, 0.55, 0.95];

/// Queues by the latencies at three uses.
fn queueing(bench: &mut Bench<'_>, mix: Mix) -> Result<Queueing, MeasureError> {
    let latency = figure_of(bench, "memory_latency")?;
    let kept_busy = bytes_under_way(bench, latency)?;
    let of_reads = mix.reads as f64 / (mix.reads + mix.writes) as f64;
    // Bytes of all reads of a warp that are under way where nothing queues.
    let warps = |bytes: u64, share: f64| {
        (share * of_reads * kept_busy / (WARP * bytes) as f64).round() as u64
    };
    let [.., widest] = ACCESS_BYTES;
    let fills = |&bytes: &u64| warps(bytes, FULL) <= MOST_WARPS;
    let bytes = ACCESS_BYTES.into_iter().find(fills).unwrap_or(widest);
    let peak = reached(bench, mix, bytes, MOST_WARPS)?.bytes_in_clock;
    let fewer = reached(bench, mix, bytes, MOST_WARPS * 7 / 8)?.bytes_in_clock;
    if peak > STILL_MORE * fewer {
        let reason = "more warps move more bytes, so the memory is not what limits them";
        return Err(MeasureError::unfit(reason));
    }
    let mut points = [Point { used: 0.0, clocks: 0.0 }; SHARES.len()];
    for (point, share) in points.iter_mut().zip(SHARES) {
        let warps = warps(bytes, share).clamp(1, MOST_WARPS);
        let Reached { bytes_in_clock, pass } = reached(bench, mix, bytes, warps)?;
        *point = Point { used: bytes_in_clock / peak, clocks: pass / mix.reads as f64 };
    }
    solved(points, latency)
}

/// Bytes that an SM has to have on their way to use its share of an idle memory fully.
fn bytes_under_way(bench: &mut Bench<'_>, latency: f64) -> Result<f64, MeasureError> {
    let peak = bench.facts().peak_bandwidth().ok_or_else(|| {
        MeasureError::unfit("the driver tells neither the clock nor the width of the memory's bus")
    })?;
    let seconds = latency / (bench.clock_mhz()? * 1e6);
    Ok(peak * 1e9 * seconds / bench.facts().sm_count as f64)
}

/// What a number of warps reaches.
struct Reached {
    /// Bytes that all SMs read and write in a clock.
    bytes_in_clock: f64,
    /// Clocks of a pass.
    pass: f64,
}

/// Runs one block on each SM. The L2 still holds what the launch before wrote. Each store evicts
/// some of it, so that the memory takes as many bytes as the SMs store.
fn reached(
    bench: &mut Bench<'_>,
    mix: Mix,
    bytes: u64,
    warps: u64,
) -> Result<Reached, MeasureError> {
    /// Bytes of the shorter kernel in sizes of the L2. Little is left of the launch before.
    const FEWEST_L2_SIZES: u64 = 8;
    const L2_SIZES: u64 = 16;
    /// As many sizes of a large L2 take long enough.
    const ENOUGH_BYTES: u64 = 1 << 29;
    /// Passes in which uses become steady.
    const LEAST_PASSES: u64 = 64;
    let waiting = Waiting { mix, blocks: bench.facts().sm_count, threads: warps * WARP, bytes };
    let pass_bytes = waiting.access_bytes() * (mix.reads + mix.writes);
    let l2_bytes = bench.facts().l2_bytes.max(1);
    let sizes_of_l2 = (ENOUGH_BYTES / l2_bytes).clamp(FEWEST_L2_SIZES, L2_SIZES);
    let smaller = match mix.writes {
        0 => LEAST_PASSES,
        _ => (sizes_of_l2 * l2_bytes).div_ceil(pass_bytes).max(LEAST_PASSES),
    };
    let how = if mix.writes == 0 { How::COLD } else { How::default() };
    let sizes = Sizes { smaller, larger: 2 * smaller };
    let pass = bench.clocks(sizes, how, |passes| Ok(kernels::waiting_reads(waiting, passes)))?;
    Ok(Reached { bytes_in_clock: pass_bytes as f64 / pass, pass })
}

/// The formula through three points. Its parts are not negative: where one would be, the other one
/// fits alone. Differences from the first point are without the rest of a pass.
fn solved([first, second, third]: [Point; 3], latency: f64) -> Result<Queueing, MeasureError> {
    let hyperbolic = |point: Point| point.used / (1.0 - point.used);
    let row = |point: Point| {
        let linear = point.used - first.used;
        [linear, hyperbolic(point) - hyperbolic(first), (point.clocks - first.clocks) / latency]
    };
    let ([a, b, x], [c, d, y]) = (row(second), row(third));
    let determinant = a * d - b * c;
    let linear = (x * d - b * y) / determinant;
    let hyperbolic = (a * y - x * c) / determinant;
    if !(linear.is_finite() && hyperbolic.is_finite()) || third.used >= 1.0 {
        let uses = [first.used, second.used, third.used].map(|used| format!("{used:.3}"));
        return Err(MeasureError::unfit(format!(
            "uses of {} of the memory do not tell its queues",
            uses.join(", ")
        )));
    }
    let fits = if hyperbolic < 0.0 {
        Queueing { linear: fitted([(a, x), (c, y)]), hyperbolic: 0.0 }
    } else if linear < 0.0 {
        Queueing { linear: 0.0, hyperbolic: fitted([(b, x), (d, y)]) }
    } else {
        Queueing { linear, hyperbolic }
    };
    if fits.linear < 0.0 || fits.hyperbolic < 0.0 {
        let reason = "reads take less time where the memory is used more";
        return Err(MeasureError::unfit(reason));
    }
    Ok(fits)
}

/// The slope of the line through the origin that is nearest to two points.
fn fitted(points: [(f64, f64); 2]) -> f64 {
    let products: f64 = points.iter().map(|(x, y)| x * y).sum();
    let squares: f64 = points.iter().map(|(x, _)| x * x).sum();
    products / squares
}

#[cfg(test)]
mod tests {
    use super::{Point, solved};

    #[test]
    fn points_of_the_formula_give_its_parts() {
        for (linear, hyperbolic) in [(0.25, 0.04), (1.1, 0.02), (0.0, 0.5), (0.4, 0.0)] {
            let points = [0.2, 0.45, 0.7].map(|used: f64| {
                let queued = linear * used + hyperbolic * used / (1.0 - used);
                Point { used, clocks: 500.0 * (1.0 + queued) + 13.0 }
            });
            let found = solved(points, 500.0).unwrap();
            assert!((found.linear - linear).abs() < 1e-9, "{}", found.linear);
            assert!((found.hyperbolic - hyperbolic).abs() < 1e-9, "{}", found.hyperbolic);
        }
    }

    /// Times that fall behind a straight line would have a negative hyperbolic part, and times that
    /// rise from nothing at the end a negative linear one.
    #[test]
    fn no_part_is_negative() {
        let found = |clocks: [f64; 3]| {
            let points = [(0.2, clocks[0]), (0.5, clocks[1]), (0.8, clocks[2])];
            solved(points.map(|(used, clocks)| Point { used, clocks }), 500.0)
        };
        let bent = found([600.0, 750.0, 880.0]).unwrap();
        assert!(bent.hyperbolic == 0.0 && (0.9..1.0).contains(&bent.linear), "{}", bent.linear);
        let late = found([500.0, 500.0, 700.0]).unwrap();
        assert!(late.linear == 0.0 && late.hyperbolic > 0.0, "{}", late.hyperbolic);
        assert!(found([600.0, 550.0, 400.0]).is_err());
    }

    #[test]
    fn equal_uses_tell_nothing() {
        let points = [Point { used: 0.5, clocks: 700.0 }; 3];
        assert!(solved(points, 500.0).is_err());
    }
}
