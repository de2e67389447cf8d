//! The fraction of its peak that a component reaches with few warps.
//!
//! Zhang & Owens measured it on a GTX 285 (figure 2). Throughput grows with the warps of an SM
//! until they cover the pipeline's latency, and slowly from there on. The points are those that the
//! text prints (section 5.1), with straight lines between them. Below the first one every warp adds
//! what it reaches alone:
//!
//! - an instruction in each latency (Little's law), until the measured plateau is met;
//! - of shared memory, 272 GB/s. Section 5.2 prints 397 GB/s as the average over the nine steps of
//!   cyclic reduction. They have 8, 4, 2, 1, 1, 1, 1, 1 and 1 warps. With straight lines that is so
//!   if one warp reaches 272 GB/s. The latency says so, too. The benchmark copies, so that a warp
//!   reads and writes 128 bytes in 38 clocks of latency and 4 of issue. That is 271 GB/s.
//!
//! For other GPUs the law alone decides. The warps that cover the latency at the peak's rate reach
//! the peak; fewer reach their share of it.

/// A fraction of the peak at a number of warps of an SM.
type Point = (f64, f64);

/// The peak that the paper computes for instructions of type II: 8 units, 30 SMs, 1.48 GHz, 32
/// lanes (section 4.1), in 10⁹ warp instructions.
const INSTRUCTION_PEAK: f64 = 8.0 * 30.0 * 1.48 / 32.0;
/// The peak that the paper computes for shared memory: 4 bytes for each of 8 processors (section
/// 4.2), in GB/s.
const SHARED_PEAK: f64 = 4.0 * 8.0 * 30.0 * 1.48;

/// Section 5.1: 6, 16 and 32 warps reach 8.39, 9.05 and 9.33 GI/s. Warps are those that cover the
/// latency of type II, 6, and their multiples.
const INSTRUCTION: [Point; 3] = [
    (1.0, 8.39 / INSTRUCTION_PEAK),
    (16.0 / 6.0, 9.05 / INSTRUCTION_PEAK),
    (32.0 / 6.0, 9.33 / INSTRUCTION_PEAK),
];

/// Section 5.1: 6, 16 and 32 warps reach 870, 1112 and 1165 GB/s; one warp as the module derives
/// it.
const SHARED: [Point; 4] = [
    (1.0, 272.0 / SHARED_PEAK),
    (6.0, 870.0 / SHARED_PEAK),
    (16.0, 1112.0 / SHARED_PEAK),
    (32.0, 1165.0 / SHARED_PEAK),
];

/// Throughput as a function of the warps of an SM, as a fraction of the peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Measured, with warps in multiples of a unit; each warp alone reaches a fraction.
    Measured { points: &'static [Point], unit: f64, alone: f64 },
    /// Little's law: the warps that cover the latency.
    Latency { warps: f64 },
}

impl Saturation {
    /// The instruction pipeline of a GT200, for instructions of which `covering` warps cover the
    /// latency. The fewer units execute a type, the fewer warps it takes (section 4.1).
    #[must_use]
    pub fn instructions_of_gt200(covering: f64) -> Self {
        let alone = if covering > 0.0 { 1.0 / covering } else { 1.0 };
        Self { kind: Kind::Measured { points: &INSTRUCTION, unit: covering, alone } }
    }

    /// Shared memory of a GT200.
    #[must_use]
    pub fn shared_of_gt200() -> Self {
        Self { kind: Kind::Measured { points: &SHARED, unit: 1.0, alone: SHARED[0].1 } }
    }

    /// A component whose latency `warps` warps cover.
    #[must_use]
    pub fn covered_by(warps: f64) -> Self {
        Self { kind: Kind::Latency { warps } }
    }

    /// The fraction of the peak that `warps` warps of an SM reach; 0 for none.
    #[must_use]
    pub fn fraction(&self, warps: f64) -> f64 {
        match self.kind {
            Kind::Latency { warps: covering } if covering <= 0.0 => f64::from(warps > 0.0),
            Kind::Latency { warps: covering } => (warps / covering).clamp(0.0, 1.0),
            Kind::Measured { points, unit, alone } => {
                interpolated(points, warps / unit).min(warps * alone)
            }
        }
    }

    /// The warps beyond which nothing is gained.
    #[must_use]
    pub fn saturating_warps(&self) -> f64 {
        match self.kind {
            Kind::Latency { warps } => warps,
            Kind::Measured { points, unit, .. } => points.last().map_or(0.0, |last| last.0 * unit),
        }
    }

    /// The fraction of the peak that enough warps reach.
    #[must_use]
    pub fn best(&self) -> f64 {
        match self.kind {
            Kind::Latency { .. } => 1.0,
            Kind::Measured { points, .. } => points.last().map_or(0.0, |last| last.1),
        }
    }
}

/// Straight lines between the points, level before the first and behind the last.
fn interpolated(points: &[Point], at: f64) -> f64 {
    let mut from: Option<Point> = None;
    for &to in points {
        if at < to.0 {
            return from
                .map_or(to.1, |from| from.1 + (to.1 - from.1) * (at - from.0) / (to.0 - from.0));
        }
        from = Some(to);
    }
    from.map_or(0.0, |last| last.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_points_of_figure_2_are_met() {
        let instructions = Saturation::instructions_of_gt200(6.0);
        let shared = Saturation::shared_of_gt200();
        for (warps, ginst, gbps) in [(6.0, 8.39, 870.0), (16.0, 9.05, 1112.0), (32.0, 9.33, 1165.0)]
        {
            // 11.1 GI/s and 1420.8 GB/s are the paper's peaks.
            assert!((instructions.fraction(warps) * 11.1 - ginst).abs() < 1e-9);
            assert!((shared.fraction(warps) * 1420.8 - gbps).abs() < 1e-9);
        }
        assert_eq!(instructions.fraction(64.0), instructions.best());
        // "Shared memory is more vulnerable to insufficient parallelism": from 16 warps to 6.
        let loss = |curve: &Saturation| 1.0 - curve.fraction(6.0) / curve.fraction(16.0);
        assert!(loss(&shared) > 2.0 * loss(&instructions));
    }

    #[test]
    fn fewer_units_saturate_with_fewer_warps() {
        // Type III has half the units of type II, so that three warps do what six do there.
        let (two, three) =
            (Saturation::instructions_of_gt200(6.0), Saturation::instructions_of_gt200(3.0));
        assert_eq!(three.fraction(3.0), two.fraction(6.0));
        assert_eq!(three.fraction(1.5), two.fraction(3.0));
        assert!(three.fraction(2.0) > two.fraction(2.0));
    }

    #[test]
    fn a_warp_alone_runs_at_its_latency() {
        let instructions = Saturation::instructions_of_gt200(6.0);
        // One instruction every 24 clocks on 30 SMs at 1.48 GHz, and so on until the plateau.
        assert!((instructions.fraction(1.0) * 11.1 - 30.0 * 1.48 / 24.0).abs() < 1e-9);
        assert!((instructions.fraction(4.0) - 4.0 * instructions.fraction(1.0)).abs() < 1e-12);
        assert_eq!(instructions.fraction(5.0), instructions.fraction(6.0));
        assert_eq!(instructions.fraction(0.0), 0.0);
    }

    #[test]
    fn shared_memory_has_the_average_of_cyclic_reduction() {
        let shared = Saturation::shared_of_gt200();
        let warps = [8.0, 4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let mean = warps.map(|warps| shared.fraction(warps) * 1420.8).iter().sum::<f64>() / 9.0;
        assert!((mean - 397.0).abs() < 0.5, "{mean}");
        // 256 bytes of a copy in 38 clocks of latency and 4 of issue.
        let by_latency = 256.0 / 42.0 * 30.0 * 1.48;
        assert!((shared.fraction(1.0) * 1420.8 / by_latency - 1.0).abs() < 0.01);
        assert_eq!(shared.fraction(0.0), 0.0);
    }

    #[test]
    fn latency_is_covered_by_its_warps() {
        let curve = Saturation::covered_by(8.0);
        assert_eq!([0.0, 2.0, 8.0, 64.0].map(|warps| curve.fraction(warps)), [0.0, 0.25, 1.0, 1.0]);
        assert_eq!(curve.saturating_warps(), 8.0);
    }
}
