//! Ceilings of a GPU and points of a kernel, for a roofline plot.

use gpucast_counters::tensor::TensorFormat;
use serde::Serialize;

use super::work::{Level, Precision, Work, attainable_share};
use crate::gpu::{Gpu, Source};
use crate::inputs::optional;
use crate::tensor;

/// The quantity that a ceiling limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// GB/s of a level: a diagonal.
    Bandwidth(Level),
    /// GFLOP/s of arithmetic: a horizontal.
    Compute(Precision, Mix),
    /// GFLOP/s of matrix products of the tensor cores: a horizontal.
    Tensor(TensorFormat),
}

/// The instructions that arithmetic consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mix {
    /// Multiply-adds only.
    Fma,
    /// The kernel's share of multiply-adds, α.
    PartialFma(f64),
    /// No multiply-add at all.
    NoFma,
}

/// The origin of a ceiling's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Units, widths and clocks.
    Theoretical,
    /// A benchmark on the GPU.
    Measured,
}

/// A limit of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The quantity that it limits.
    pub limit: Limit,
    /// The origin of its value.
    pub basis: Basis,
    /// GB/s or GFLOP/s.
    pub value: f64,
}

impl Ceiling {
    /// `L2`, `fp64 FMA`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.limit {
            Limit::Bandwidth(level) => level.name().to_owned(),
            Limit::Compute(precision, mix) => {
                let mix = match mix {
                    Mix::Fma => "FMA".to_owned(),
                    Mix::PartialFma(share) => format!("{:.0} % FMA", 100.0 * share),
                    Mix::NoFma => "no FMA".to_owned(),
                };
                format!("{} {mix}", precision.name())
            }
            Limit::Tensor(format) => format!("{} tensor", format.name()),
        }
    }
}

/// A kernel at one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The level.
    pub level: Level,
    /// Bytes there.
    pub bytes: f64,
    /// Operations for each byte; infinite where nothing moves.
    pub intensity: f64,
    /// The performance that the model predicts, the same at every level, in GFLOP/s.
    pub gflops: f64,
}

/// The hierarchical roofline of a kernel on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    /// Diagonals and horizontals, theoretical and measured.
    pub ceilings: Vec<Ceiling>,
    /// The kernel, at each level that the counts know.
    pub points: Vec<Point>,
}

impl Roofline {
    /// The ceilings of a GPU for formats that a kernel uses; the points follow from its time.
    #[must_use]
    pub fn of(gpu: &Gpu, work: &Work, time_ms: f64) -> Self {
        let mut ceilings: Vec<Ceiling> =
            Level::ALL.into_iter().flat_map(|level| bandwidths(gpu, level)).collect();
        for operations in &work.operations {
            let share = operations.fma_share();
            ceilings.extend(compute(gpu, operations.precision, share));
        }
        // Halves have a ceiling of tensor cores even if they do not use them.
        let has_halves =
            work.operations.iter().any(|operation| operation.precision == Precision::Half);
        let mut formats: Vec<TensorFormat> =
            work.tensor.iter().map(|product| product.format).collect();
        if has_halves && !formats.contains(&TensorFormat::Fp16) {
            formats.push(TensorFormat::Fp16);
        }
        ceilings.extend(formats.into_iter().filter_map(|format| tensor_ceiling(gpu, format)));
        let flops = work.flops();
        let points = work.bytes.iter().filter_map(|&(level, bytes)| {
            let bytes = bytes?;
            Some(Point { level, bytes, intensity: flops / bytes, gflops: flops / time_ms / 1e6 })
        });
        Self { ceilings, points: points.collect() }
    }
}

/// A figure of a GPU with its basis; a figure that follows from rates is theoretical, even if
/// derived here.
fn figure(value: Option<f64>, source: Option<&Source>) -> Option<(Basis, f64)> {
    let basis = match source {
        Some(Source::Benchmark(_)) => Basis::Measured,
        _ => Basis::Theoretical,
    };
    value.map(|value| (basis, value))
}

macro_rules! figure_of {
    ($gpu:ident.$field:ident) => {
        figure(optional!($gpu.$field), $gpu.$field.as_ref().map(|sourced| &sourced.source))
    };
}

/// The bandwidth that the time is predicted with: the measured one if there is one.
pub(super) fn effective_bandwidth(gpu: &Gpu, level: Level) -> Option<f64> {
    match level {
        Level::L1 => optional!(gpu.l1_bandwidth),
        Level::L2 => optional!(gpu.l2_bandwidth),
        Level::Dram => optional!(gpu.memory_bandwidth),
    }
}

/// The field that [`effective_bandwidth`] reads.
pub(super) fn bandwidth_field(level: Level) -> &'static str {
    match level {
        Level::L1 => "l1_bandwidth",
        Level::L2 => "l2_bandwidth",
        Level::Dram => "memory_bandwidth",
    }
}

/// The throughput of multiply-adds that the time is predicted with, and its field.
pub(super) fn effective_throughput(gpu: &Gpu, precision: Precision) -> (Option<f64>, &'static str) {
    match precision {
        Precision::Double => (optional!(gpu.dp_throughput), "dp_throughput"),
        Precision::Single => (optional!(gpu.sp_throughput), "sp_throughput"),
        Precision::Half => (optional!(gpu.hp_throughput), "hp_throughput"),
    }
}

fn bandwidths(gpu: &Gpu, level: Level) -> Vec<Ceiling> {
    let ceiling = |(basis, value)| Ceiling { limit: Limit::Bandwidth(level), basis, value };
    let effective = match level {
        Level::L1 => figure_of!(gpu.l1_bandwidth),
        Level::L2 => figure_of!(gpu.l2_bandwidth),
        Level::Dram => figure_of!(gpu.memory_bandwidth),
    };
    let theoretical = match (level, effective) {
        (Level::Dram, _) => optional!(gpu.peak_memory_bandwidth),
        // A figure that a file gives without a measurement goes before the rule, which it replaces.
        (Level::L1 | Level::L2, Some((Basis::Theoretical, value))) => Some(value),
        (Level::L1 | Level::L2, _) => gpu.by_rule(bandwidth_field(level)),
    };
    both(theoretical, effective).into_iter().map(ceiling).collect()
}

/// The theoretical figure and, if there is one, the measured.
fn both(theoretical: Option<f64>, effective: Option<(Basis, f64)>) -> Vec<(Basis, f64)> {
    let theoretical = theoretical.map(|value| (Basis::Theoretical, value));
    let measured = effective.filter(|(basis, _)| *basis == Basis::Measured);
    match (theoretical, measured) {
        (None, None) => effective.into_iter().collect(),
        (theoretical, measured) => theoretical.into_iter().chain(measured).collect(),
    }
}

fn compute(gpu: &Gpu, precision: Precision, fma_share: f64) -> Vec<Ceiling> {
    let ceiling =
        |mix, (basis, value)| Ceiling { limit: Limit::Compute(precision, mix), basis, value };
    let (theoretical, effective) = match precision {
        Precision::Double => (gpu.by_rule("peak_dp_throughput"), figure_of!(gpu.dp_throughput)),
        Precision::Single => (gpu.by_rule("peak_sp_throughput"), figure_of!(gpu.sp_throughput)),
        Precision::Half => (gpu.by_rule("peak_hp_throughput"), figure_of!(gpu.hp_throughput)),
    };
    let mut ceilings = Vec::new();
    for (basis, peak) in both(theoretical, effective) {
        let partial = peak * attainable_share(fma_share);
        ceilings.push(ceiling(Mix::Fma, (basis, peak)));
        ceilings.push(ceiling(Mix::PartialFma(fma_share), (basis, partial)));
        ceilings.push(ceiling(Mix::NoFma, (basis, peak / 2.0)));
    }
    ceilings
}

fn tensor_ceiling(gpu: &Gpu, format: TensorFormat) -> Option<Ceiling> {
    let (basis, _) = figure_of!(gpu.tensor_throughput)?;
    Some(Ceiling { limit: Limit::Tensor(format), basis, value: tensor::throughput(gpu, format)? })
}
