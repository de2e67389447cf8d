//! Tensor cores: the work that a kernel has for them, and their speed.

use gpucast_counters::metric;
use gpucast_counters::tensor::TensorFormat;

use crate::gpu::Gpu;
use crate::inputs::{Totals, optional};
use crate::predictor::ModelError;

/// The formats whose throughput follows from that of halves.
///
/// By the vendor's data sheets, `bf16` is as fast as `f16`, and `tf32` half as fast, wherever there
/// are any. An A100 has 312, 312 and 156 TFLOPS, an A40 149.7, 149.7 and 74.8, an H100 SXM5 989.4,
/// 989.4 and 494.7. The ratio of 8-bit formats differs between cards of one generation. Cards that
/// accumulate halves in single precision at half the rate do not slow these formats down.
pub(crate) const CHARGED: [(TensorFormat, &str, f64); 3] = [
    (TensorFormat::Fp16, metric!("tensor_op_count_fp16"), 1.0),
    (TensorFormat::Bf16, metric!("tensor_op_count_bf16"), 1.0),
    (TensorFormat::Tf32, metric!("tensor_op_count_tf32"), 0.5),
];

/// Operations of tensor cores on one format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorWork {
    /// The format of the factors.
    pub format: TensorFormat,
    /// Operations, a multiply-add being two.
    pub operations: f64,
}

/// The operations of a profile on formats whose throughput is known, and the number of others.
pub(crate) fn work(totals: Totals<'_>) -> Result<(Vec<TensorWork>, f64), ModelError> {
    let mut works = Vec::new();
    for (format, metric, _) in CHARGED {
        let operations = totals.get(metric)?.unwrap_or_default();
        if operations > 0.0 {
            works.push(TensorWork { format, operations });
        }
    }
    let charged: f64 = works.iter().map(|work| work.operations).sum();
    let all = totals.get(metric!("tensor_op_count"))?.unwrap_or(charged);
    Ok((works, (all - charged).max(0.0)))
}

/// The throughput of dense products, in GFLOPS.
pub(crate) fn throughput(gpu: &Gpu, format: TensorFormat) -> Option<f64> {
    Some(ratio(format)? * optional!(gpu.tensor_throughput)?)
}

/// The mean throughput of some work over that of halves.
pub(crate) fn relative_throughput(works: &[TensorWork]) -> f64 {
    let operations: f64 = works.iter().map(|work| work.operations).sum();
    let as_halves = works.iter().filter_map(|work| Some(work.operations / ratio(work.format)?));
    operations / as_halves.sum::<f64>()
}

/// The throughput of a format in that of halves.
fn ratio(format: TensorFormat) -> Option<f64> {
    CHARGED.into_iter().find(|(charged, ..)| *charged == format).map(|(.., ratio)| ratio)
}

/// Clocks of one SM that the operations of a profile take its tensor cores, if the rate of all of
/// them is known.
pub(crate) fn clocks(gpu: &Gpu, totals: Totals<'_>) -> Result<Option<f64>, ModelError> {
    let (works, others) = work(totals)?;
    let Some(rate) = optional!(gpu.tensor_rate).filter(|_| others == 0.0) else { return Ok(None) };
    let of = |work: &TensorWork| Some(work.operations / 2.0 / (rate * ratio(work.format)?));
    let clocks: f64 = works.iter().filter_map(of).sum();
    Ok((clocks > 0.0).then_some(clocks))
}
