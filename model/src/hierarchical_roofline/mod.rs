//! The hierarchical roofline: C. Yang and S. Williams, "Performance Analysis of GPU-Accelerated
//! Applications using the Roofline Model", GTC 2019 (S9624).
//!
//! A roofline for each level of memory, above each other. The time is the longest of the operations
//! over the peak and the bytes of each level over its bandwidth. The peak is that of multiply-adds.
//! A kernel with a share α of them among its floating-point instructions reaches β = (2 α + (1 −
//! α)) / 2 of it at most.
//!
//! We add to the slides: on GPUs whose first-level cache shares the banks of shared memory
//! (capability 7.0 on), the L1 takes at least a clock per pass. It also takes the clocks of the
//! load/store units and of the way back to the lanes (`first_level`). The bytes, and the
//! intensities made of them, stay those of the slides. If the grid has fewer blocks than the GPU
//! has SMs, only as many SMs compute and load. If the way of measuring is given, the last wave of
//! blocks counts in full on all SMs.
//!
//! The model tracks throughput: it presumes enough threads to reach it, and leaves out instructions
//! that are no floating-point ones, launches and transfers (slides "Making good use of your GPU?"
//! and "Can performance be below roofline?").

mod roofline;
mod work;

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;
use gpucast_counters::tensor::TensorFormat;

use crate::assumptions;
use crate::first_level::{self, LoadStorePath};
use crate::gpu::Gpu;
use crate::inputs::{Totals, optional};
use crate::prediction::{Bound, Component, Detail, Outcome, Part, Symbols};
use crate::predictor::{Conditions, GpuParameter, Model, ModelError};
use crate::reads::{FIRST_LEVEL, Fields};
use crate::tensor;
use crate::text::duration;
use crate::warning::Warning;

pub use roofline::{Basis, Ceiling, Limit, Mix, Point, Roofline};
pub use work::{Level, Operations, Precision, Work, attainable_share};

/// The model of Yang & Williams 2019.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HierarchicalRoofline;

/// The model's results for a kernel on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The computation and the traffic of the kernel.
    pub work: Work,
    /// Ceilings and points.
    pub roofline: Roofline,
    /// Milliseconds of operations and of each level's bytes.
    pub times: Vec<(Bound, f64)>,
    /// The longest of them.
    pub bottleneck: (Bound, f64),
    /// Levels that the counts do not cover.
    pub unknown: Vec<Level>,
    /// The limit that decides the time of the L1.
    pub l1_limit: L1Limit,
    /// The share of the SMs that have a block: 1 if the launch is not known.
    pub busy_sms: f64,
    /// True if that share is the mean over waves of which the last one is not full.
    pub has_tail: bool,
}

/// The limit that decides the time of a first-level cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum L1Limit {
    /// The bytes of its sectors.
    Bytes,
    /// This many passes over its banks: lanes read the same bank of different lines.
    Passes(f64),
    /// The load/store units.
    Units,
    /// The way back to the lanes: several lanes read the same words.
    Return,
}

/// The time of a first-level cache.
struct L1Time {
    milliseconds: f64,
    limit: L1Limit,
}

impl L1Time {
    /// The slowest of the cache's bytes, which take `bytes_ms`, its banks and the load/store path.
    fn of(profile: &KernelProfile, gpu: &Gpu, bytes_ms: f64) -> Result<Self, ModelError> {
        let mut time = Self { milliseconds: bytes_ms, limit: L1Limit::Bytes };
        if let Some(passes) = passes(profile, gpu)? {
            time.raise(passes / first_level::passes_per_ms(gpu)?, L1Limit::Passes(passes));
        }
        let path = LoadStorePath::of(gpu, profile)?;
        time.raise(path.units_ms, L1Limit::Units);
        time.raise(path.return_ms, L1Limit::Return);
        Ok(time)
    }

    fn raise(&mut self, milliseconds: f64, limit: L1Limit) {
        if milliseconds > self.milliseconds {
            *self = Self { milliseconds, limit };
        }
    }
}

impl Analysis {
    /// Analyses a kernel on a GPU.
    ///
    /// # Errors
    ///
    /// When the profile lacks operations or DRAM traffic, or the GPU the ceiling of something that
    /// the kernel does.
    pub fn of(
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Self, ModelError> {
        let missing =
            |field| ModelError::MissingParameter { gpu: gpu.name.clone(), parameter: field };
        let work = Work::of(profile, pass_bytes(gpu))?;
        // Formats have pipelines of their own, which work side by side.
        let mut compute_ms: f64 = 0.0;
        for operations in &work.operations {
            let (peak, field) = roofline::effective_throughput(gpu, operations.precision);
            let attainable =
                peak.ok_or_else(|| missing(field))? * attainable_share(operations.fma_share());
            compute_ms = compute_ms.max(operations.flops() / attainable / 1e6);
        }
        // Tensor cores work beside them, on one format at a time.
        let mut tensor_ms = 0.0;
        for work in &work.tensor {
            let peak = tensor::throughput(gpu, work.format);
            tensor_ms += work.operations / peak.ok_or_else(|| missing("tensor_throughput"))? / 1e6;
        }
        let sms = optional!(gpu.sm_count).map_or(0.0, |sms| sms as f64);
        let busy_sms = conditions.busy_sms(sms);
        let waves = conditions.launch.map_or(0.0, |launch| launch.blocks as f64) / sms;
        compute_ms = compute_ms.max(tensor_ms) / busy_sms;
        let mut times = vec![(Bound::Compute, compute_ms)];
        let mut unknown = Vec::new();
        let mut l1_limit = L1Limit::Bytes;
        for (level, bytes) in work.bytes {
            match bytes {
                // A GPU without this cache moves nothing there.
                Some(0.0) => {}
                Some(bytes) => {
                    let bandwidth = roofline::effective_bandwidth(gpu, level)
                        .ok_or_else(|| missing(roofline::bandwidth_field(level)))?;
                    let mut time_ms = bytes / bandwidth / 1e6;
                    if level == Level::L1 {
                        let time = L1Time::of(profile, gpu, time_ms)?;
                        l1_limit = time.limit;
                        time_ms = time.milliseconds / busy_sms;
                    }
                    times.push((bound_of(level), time_ms));
                }
                None => unknown.push(level),
            }
        }
        let first = (Bound::Compute, compute_ms);
        let longest =
            |most: (Bound, f64), one: &(Bound, f64)| if one.1 > most.1 { *one } else { most };
        let bottleneck = times.iter().fold(first, longest);
        let roofline = Roofline::of(gpu, &work, bottleneck.1);
        let has_tail = busy_sms < 1.0 && waves > 1.0;
        Ok(Self { work, roofline, times, bottleneck, unknown, l1_limit, busy_sms, has_tail })
    }

    fn parameters(&self) -> Symbols {
        let mut symbols = Symbols::default();
        symbols.push_total("FLOPs", self.work.flops(), "operation");
        for operations in &self.work.operations {
            let (alpha, beta) = match operations.precision {
                Precision::Double => ("alpha_fp64", "beta_fp64"),
                Precision::Single => ("alpha_fp32", "beta_fp32"),
                Precision::Half => ("alpha_fp16", "beta_fp16"),
            };
            symbols.push(alpha, operations.fma_share(), "");
            symbols.push(beta, attainable_share(operations.fma_share()), "");
        }
        for work in &self.work.tensor {
            symbols.push_total(tensor_symbols(work.format).0, work.operations, "operation");
        }
        for point in &self.roofline.points {
            let (bytes, intensity) = match point.level {
                Level::L1 => ("bytes_L1", "AI_L1"),
                Level::L2 => ("bytes_L2", "AI_L2"),
                Level::Dram => ("bytes_DRAM", "AI_DRAM"),
            };
            symbols.push_total(bytes, point.bytes, "byte");
            symbols.push(intensity, point.intensity, "operation/byte");
        }
        if let L1Limit::Passes(passes) = self.l1_limit {
            symbols.push_total("passes_L1", passes, "pass");
        }
        symbols
    }

    fn intermediate(&self) -> Symbols {
        let mut symbols = Symbols::default();
        for ceiling in &self.roofline.ceilings {
            let (name, unit) = symbol(ceiling);
            symbols.push(name, ceiling.value, unit);
        }
        symbols.push("T_predicted", self.work.flops() / self.bottleneck.1 / 1e6, "GFLOPS");
        symbols
    }
}

/// All passes over the banks if the L1 shares them with shared memory.
fn passes(profile: &KernelProfile, gpu: &Gpu) -> Result<Option<f64>, ModelError> {
    let Some(mut passes) = first_level::load_passes(gpu, profile)? else { return Ok(None) };
    for metric in metric!["shared_load_transactions", "shared_store_transactions"] {
        passes += Totals(profile).get(metric)?.unwrap_or_default();
    }
    Ok(Some(passes))
}

/// The cost of a pass of shared memory at the first level, in bytes.
///
/// All banks deliver during the whole pass. In that time a cache of the first level delivers its
/// own rate. On Kepler, Maxwell, Pascal and consumer Ampere, that is half of the banks' rate.
fn pass_bytes(gpu: &Gpu) -> Option<f64> {
    let delivered = (optional!(gpu.shared_banks)? * optional!(gpu.shared_bank_width)?) as f64;
    let rates = (optional!(gpu.l1_bytes_rate), optional!(gpu.shared_bytes_rate));
    Some(match rates {
        (Some(l1), Some(shared)) => delivered * l1 / shared,
        _ => delivered,
    })
}

/// The symbol of a ceiling.
fn symbol(ceiling: &Ceiling) -> (&'static str, &'static str) {
    let measured = ceiling.basis == Basis::Measured;
    let pick = |theoretical, in_fact| if measured { in_fact } else { theoretical };
    match ceiling.limit {
        Limit::Bandwidth(Level::L1) => (pick("L1", "L1_measured"), "GB/s"),
        Limit::Bandwidth(Level::L2) => (pick("L2", "L2_measured"), "GB/s"),
        Limit::Bandwidth(Level::Dram) => (pick("DRAM", "DRAM_measured"), "GB/s"),
        Limit::Compute(precision, mix) => {
            let name = match (precision, mix) {
                (Precision::Double, Mix::Fma) => pick("fp64_FMA", "fp64_FMA_measured"),
                (Precision::Double, Mix::PartialFma(_)) => {
                    pick("fp64_partial_FMA", "fp64_partial_FMA_measured")
                }
                (Precision::Double, Mix::NoFma) => pick("fp64_no_FMA", "fp64_no_FMA_measured"),
                (Precision::Single, Mix::Fma) => pick("fp32_FMA", "fp32_FMA_measured"),
                (Precision::Single, Mix::PartialFma(_)) => {
                    pick("fp32_partial_FMA", "fp32_partial_FMA_measured")
                }
                (Precision::Single, Mix::NoFma) => pick("fp32_no_FMA", "fp32_no_FMA_measured"),
                (Precision::Half, Mix::Fma) => pick("fp16_FMA", "fp16_FMA_measured"),
                (Precision::Half, Mix::PartialFma(_)) => {
                    pick("fp16_partial_FMA", "fp16_partial_FMA_measured")
                }
                (Precision::Half, Mix::NoFma) => pick("fp16_no_FMA", "fp16_no_FMA_measured"),
            };
            (name, "GFLOPS")
        }
        Limit::Tensor(format) => {
            let (_, theoretical, in_fact) = tensor_symbols(format);
            (pick(theoretical, in_fact), "GFLOPS")
        }
    }
}

/// The symbols of a format's operations and of its ceiling, theoretical and measured.
fn tensor_symbols(format: TensorFormat) -> (&'static str, &'static str, &'static str) {
    match format {
        TensorFormat::Bf16 => ("FLOPs_bf16_tensor", "tensor_bf16", "tensor_bf16_measured"),
        TensorFormat::Tf32 => ("FLOPs_tf32_tensor", "tensor_tf32", "tensor_tf32_measured"),
        _ => ("FLOPs_fp16_tensor", "tensor", "tensor_measured"),
    }
}

fn bound_of(level: Level) -> Bound {
    match level {
        Level::L1 => Bound::L1,
        Level::L2 => Bound::L2,
        Level::Dram => Bound::Memory,
    }
}

const GPU_PARAMETERS: &[GpuParameter] = &[
    GpuParameter::new("dp_throughput", "fp64"),
    GpuParameter::new("sp_throughput", "fp32"),
    GpuParameter::new("hp_throughput", "fp16"),
    GpuParameter::new("tensor_throughput", "tensor"),
    GpuParameter::new("l1_bandwidth", "L1"),
    GpuParameter::new("l2_bandwidth", "L2"),
    GpuParameter::new("memory_bandwidth", "DRAM"),
    GpuParameter::new("peak_memory_bandwidth", "DRAM, peak"),
];

/// The fields that the equations read.
const READ: &[&str] = &[
    "sp_throughput",
    "dp_throughput",
    "hp_throughput",
    "tensor_throughput",
    "memory_bandwidth",
    "l1_bandwidth",
    "l2_bandwidth",
    "shared_banks",
    "shared_bank_width",
];

impl Model for HierarchicalRoofline {
    fn name(&self) -> &'static str {
        "hierarchical-roofline"
    }

    fn citation(&self) -> &'static str {
        "Yang & Williams 2019, \"(DRAM) Roofline\", \"Cache Effects\", \"Failure to Exploit CISC Instructions\""
    }

    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        GPU_PARAMETERS
    }

    fn reads(&self) -> Fields {
        &[READ, FIRST_LEVEL]
    }

    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError> {
        let analysis = Analysis::of(profile, gpu, conditions)?;
        let (bound, time_ms) = analysis.bottleneck;
        if !(time_ms.is_finite() && time_ms > 0.0) {
            let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
            return Err(match time_ms {
                0.0 => ModelError::NothingExecuted { kernel },
                _ => ModelError::NotFinite { kernel, gpu },
            });
        }
        let component = |&(resource, time_ms): &(Bound, f64)| Component { resource, time_ms };
        let components = analysis.times.iter().map(component).collect();
        Ok(Outcome {
            time_ms,
            bound,
            parameters: analysis.parameters(),
            intermediate: analysis.intermediate(),
            parts: vec![Part { name: "kernel".to_owned(), time_ms, bound, components }],
            explanation: explain(&format!("{} on {}", profile.kernel, gpu.name), &analysis),
            warnings: warnings(profile, gpu, conditions, &analysis),
            detail: Detail::Hierarchical(Box::new(analysis)),
        })
    }
}

/// Explains the bound of the kernel, its lead, and the kernel's reuse at each level.
fn explain(subject: &str, analysis: &Analysis) -> String {
    let times: Vec<String> = analysis
        .times
        .iter()
        .map(|(bound, time)| match bound {
            Bound::Compute => format!("{} of arithmetic", duration(*time)),
            Bound::L1 => format!("{} of the L1", duration(*time)),
            Bound::L2 => format!("{} of the L2", duration(*time)),
            _ => format!("{} of device memory", duration(*time)),
        })
        .collect();
    let mut text =
        format!("{subject} is bound by {}: {}.", analysis.bottleneck.0, times.join(", "));
    text.push_str(match analysis.l1_limit {
        L1Limit::Bytes => "",
        L1Limit::Passes(_) => {
            " The L1 takes longer than its bytes would: lanes of a warp read the same bank of different \
             lines."
        }
        L1Limit::Units => {
            " The L1 takes longer than its bytes would: the load/store units issue that many accesses."
        }
        L1Limit::Return => {
            " The L1 takes longer than its bytes would: several lanes read the same words, and each gets \
             its own."
        }
    });
    if analysis.has_tail {
        text.push_str(&format!(
            " The last wave of blocks is not full, so that SMs compute and load {:.0} % of the time; \
             the slides leave this out.",
            100.0 * analysis.busy_sms
        ));
    } else if analysis.busy_sms < 1.0 {
        text.push_str(&format!(
            " Only {:.0} % of the SMs have a block, and only they compute and load.",
            100.0 * analysis.busy_sms
        ));
    }
    for operations in &analysis.work.operations {
        let alpha = operations.fma_share();
        text.push_str(&format!(
            " Of its {} instructions {:.0} % are multiply-adds, so that it can reach {:.0} % of the \
             peak.",
            operations.precision.name(),
            100.0 * alpha,
            100.0 * attainable_share(alpha)
        ));
    }
    let bytes = |level| {
        let points = &analysis.roofline.points;
        points.iter().find(|point| point.level == level).map(|point| point.bytes)
    };
    if let (Some(near), Some(far)) = (bytes(Level::L1), bytes(Level::Dram))
        && near > 0.0
        && far > 0.0
    {
        text.push_str(&format!(
            " Caches answer {:.0} % of the bytes that the L1 delivers.",
            100.0 * (1.0 - far / near).max(0.0)
        ));
    }
    text
}

/// The assumptions that the kernel breaks.
fn warnings(
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
    analysis: &Analysis,
) -> Vec<Warning> {
    let time_ms = analysis.bottleneck.1;
    let mut warnings = assumptions::common(profile, gpu, conditions, time_ms);
    warnings.extend(assumptions::few_threads(gpu, conditions));
    for level in &analysis.unknown {
        warnings.push(Warning::UnknownLevel { level: level.name() });
    }
    if analysis.work.flops() == 0.0 {
        warnings.push(Warning::NoOperations);
    }
    let count =
        |metric: &str| profile.metrics.get(metric).map_or(0.0, |metric| metric.value.as_f64());
    let tensor = count(metric!("inst_executed_pipe_tensor"));
    let operations = analysis.work.other_tensor_operations;
    if operations > 0.0 {
        warnings.push(Warning::OtherTensorFormats { operations });
    } else if tensor > 0.0 && analysis.work.tensor.is_empty() {
        // A profiler's file may have the instructions without their operations.
        warnings.push(Warning::Uncharged { what: "tensor-core", instructions: tensor });
    }
    let compute = arithmetic(profile) + WARP_LANES * tensor;
    let all = count(metric!("thread_inst_executed"));
    if all > 0.0 && compute < MOSTLY * all {
        warnings.push(Warning::FewComputations { share: compute / all });
    }
    warnings
}

/// Below this share of floating-point instructions, the part that the roofline leaves out is worth
/// a warning ("Too many non-FP instructions"). The slides set no limit; this one is ours.
const MOSTLY: f64 = 0.5;

/// Threads that execute an instruction on tensor cores.
const WARP_LANES: f64 = 32.0;

/// Floating-point instructions of threads.
fn arithmetic(profile: &KernelProfile) -> f64 {
    metric!["inst_fp_16", "inst_fp_32", "inst_fp_64"]
        .iter()
        .filter_map(|metric| profile.metrics.get(*metric))
        .map(|figure| figure.value.as_f64())
        .sum()
}
