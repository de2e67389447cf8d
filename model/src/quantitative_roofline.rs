//! The quantitative roofline model: E. Konstantinidis, "A quantitative performance model for
//! GPUs", PhD thesis, 2017, chapter 4, equations 4.1 to 4.18.
//!
//! A roofline whose compute roof is lowered to what the kernel's instruction mix can reach: all
//! instructions share one pipeline, each class at the rate that micro-benchmarks measured
//! (Fermi to Pascal; on GPUs that issue integer and floating-point instructions side by side the
//! roof is pessimistic).

use gpucast_counters::KernelProfile;

use crate::assumptions;
use crate::gpu::quantity::Quantity;
use crate::gpu::{Gpu, Sourced};
use crate::prediction::{Bound, Component, Part, Prediction, Symbols};
use crate::predictor::{Conditions, GpuParameter, Model, ModelError};
use crate::warning::Warning;

/// Bytes of a DRAM transaction (text above eq. 4.2).
const TRANSACTION_BYTES: f64 = 32.0;
/// Threads that an executed warp instruction stands for (eq. 4.5).
const WARP_LANES: f64 = 32.0;

/// Table 4.3.
const GPU_PARAMETERS: &[GpuParameter] = &[
    GpuParameter::new("sp_throughput", "T_SP"),
    GpuParameter::new("dp_throughput", "T_DP"),
    GpuParameter::new("int_throughput", "T_int"),
    GpuParameter::new("int_add_throughput", "T_add"),
    GpuParameter::new("load_store_throughput", "T_ldst"),
    GpuParameter::new("memory_bandwidth", "B_mem"),
];

/// The model of Konstantinidis 2017.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuantitativeRoofline;

/// K_type: the operations that count as the kernel's purpose; all others are overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationType {
    /// Double precision.
    Fp64,
    /// Single precision.
    Fp32,
    /// Integer.
    Int,
}

impl OperationType {
    /// The name that the thesis uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Int => "int",
        }
    }
}

/// What the model knows of a kernel (table 4.2): totals over all invocations, and fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelParameters {
    /// K_type.
    pub operation_type: OperationType,
    /// W_comp, eq. 4.1: compute operations.
    pub operations: f64,
    /// W_traf, eq. 4.2: bytes to and from device memory.
    pub traffic_bytes: f64,
    /// E_mix, eq. 4.3: 1 when every compute instruction is a multiply-add, 0.5 when none is.
    pub mix_efficiency: f64,
    /// I_total, eq. 4.5: thread instructions.
    pub instructions: f64,
    /// D_ops, eq. 4.6: the share of compute instructions.
    pub operation_density: f64,
    /// D_ldst, eq. 4.7: the share of loads and stores.
    pub load_store_density: f64,
    /// D_other, eq. 4.8: the share of everything else.
    pub other_density: f64,
}

impl KernelParameters {
    /// Computes the parameters from a profiler's metrics (table 4.1).
    ///
    /// A missing `inst_fp_64` is taken to be zero if `inst_fp_32` is there; so is a missing
    /// `inst_fp_32` beside a non-zero `inst_fp_64`, where it does not matter. What was assumed
    /// is among the warnings.
    ///
    /// # Errors
    ///
    /// When a metric that the kernel's type needs is missing, no count, or contradicts others.
    pub fn of(profile: &KernelProfile) -> Result<(Self, Vec<Warning>), ModelError> {
        let counts = Counts { profile };
        let missing = counts.missing()?;
        if !missing.is_empty() {
            let kernel = profile.kernel.clone();
            return Err(ModelError::MissingMetrics { kernel, metrics: missing });
        }
        let mut warnings = Vec::new();
        let fp64 = counts.get("inst_fp_64")?;
        let operation_type = if fp64.is_some_and(|count| count > 0.0) {
            OperationType::Fp64
        } else {
            let fp32 = counts.require("inst_fp_32")?;
            if fp64.is_none() {
                warnings.push(Warning::AssumedZero { metric: "inst_fp_64" });
            }
            if fp32 > 0.0 { OperationType::Fp32 } else { OperationType::Int }
        };

        // I_ops, eq. 4.4, and the multiply-adds among them.
        let (compute_instructions, multiply_adds) = match operation_type {
            OperationType::Fp64 => {
                (counts.require("inst_fp_64")?, counts.require("flop_count_dp_fma")?)
            }
            OperationType::Fp32 => {
                (counts.require("inst_fp_32")?, counts.require("flop_count_sp_fma")?)
            }
            // Eq. 4.1 counts an integer instruction as one operation.
            OperationType::Int => (counts.require("inst_integer")?, 0.0),
        };
        let kernel = || profile.kernel.clone();
        if multiply_adds > compute_instructions {
            return Err(ModelError::TooManyMultiplyAdds {
                kernel: kernel(),
                fma: multiply_adds,
                instructions: compute_instructions,
            });
        }
        let operations = compute_instructions + multiply_adds;
        let mix_efficiency = match operation_type {
            OperationType::Int => 0.5,
            OperationType::Fp64 | OperationType::Fp32 => operations / (2.0 * compute_instructions),
        };

        let instructions = WARP_LANES * counts.require("inst_executed")?;
        if instructions == 0.0 {
            return Err(ModelError::NothingExecuted { kernel: kernel() });
        }
        let load_stores = counts.require("inst_compute_ld_st")?;
        if compute_instructions + load_stores > instructions {
            return Err(ModelError::TooManyInstructions {
                kernel: kernel(),
                classified: compute_instructions + load_stores,
                total: instructions,
                metric: "32 × `inst_executed`",
            });
        }
        let operation_density = compute_instructions / instructions;
        let load_store_density = load_stores / instructions;

        let traffic_bytes = counts.traffic("dram_read_transactions", "dram_read_bytes")?
            + counts.traffic("dram_write_transactions", "dram_write_bytes")?;
        let parameters = Self {
            operation_type,
            operations,
            traffic_bytes,
            mix_efficiency,
            instructions,
            operation_density,
            load_store_density,
            other_density: 1.0 - operation_density - load_store_density,
        };
        Ok((parameters, warnings))
    }

    /// O_krn: operations for each byte of traffic; infinite without traffic, and not a number
    /// without either.
    #[must_use]
    pub fn operational_intensity(&self) -> f64 {
        self.operations / self.traffic_bytes
    }

    fn symbols(&self) -> Symbols {
        let mut symbols = Symbols::default();
        symbols.push_name("K_type", self.operation_type.name());
        symbols.push_total("W_comp", self.operations, "operation");
        symbols.push_total("W_traf", self.traffic_bytes, "byte");
        symbols.push("E_mix", self.mix_efficiency, "");
        symbols.push("D_ops", self.operation_density, "");
        symbols.push("D_ldst", self.load_store_density, "");
        symbols.push("D_other", self.other_density, "");
        symbols.push("O_krn", self.operational_intensity(), "operation/byte");
        symbols
    }
}

/// What an instruction of each class costs, in single-precision multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// W_op, eq. 4.10.
    pub operation: f64,
    /// W_ldst, eq. 4.11.
    pub load_store: f64,
    /// W_other, eq. 4.12.
    pub other: f64,
}

impl Weights {
    /// The weights on a GPU for kernels of a type.
    ///
    /// # Errors
    ///
    /// When the GPU lacks one of its throughputs.
    pub fn of(operation_type: OperationType, gpu: &Gpu) -> Result<Self, ModelError> {
        let multiply_adds = parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0;
        // T_SP counts two operations for each multiply-add instruction.
        let instructions = multiply_adds / 2.0;
        let load_store = parameter(gpu, "load_store_throughput", &gpu.load_store_throughput)?.0;
        let other = parameter(gpu, "int_add_throughput", &gpu.int_add_throughput)?.0;
        Ok(Self {
            operation: multiply_adds / peak_throughput(operation_type, gpu)?,
            load_store: instructions / load_store,
            other: instructions / other,
        })
    }
}

/// T_op, eq. 4.9: 10⁹ operations of a type per second.
fn peak_throughput(operation_type: OperationType, gpu: &Gpu) -> Result<f64, ModelError> {
    match operation_type {
        OperationType::Fp64 => Ok(parameter(gpu, "dp_throughput", &gpu.dp_throughput)?.0),
        OperationType::Fp32 => Ok(parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0),
        OperationType::Int => Ok(parameter(gpu, "int_throughput", &gpu.int_throughput)?.0),
    }
}

impl Model for QuantitativeRoofline {
    fn name(&self) -> &'static str {
        "quantitative-roofline"
    }

    fn citation(&self) -> &'static str {
        "Konstantinidis 2017, eq. 4.1–4.18"
    }

    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        GPU_PARAMETERS
    }

    fn predict(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Prediction, ModelError> {
        let (kernel, mut warnings) = KernelParameters::of(profile)?;
        let weights = Weights::of(kernel.operation_type, gpu)?;
        let peak = peak_throughput(kernel.operation_type, gpu)?;
        let bandwidth = parameter(gpu, "memory_bandwidth", &gpu.memory_bandwidth)?.0;

        // Eq. 4.13 to 4.15.
        let operation_cost = kernel.operation_density * weights.operation;
        let load_store_cost = kernel.load_store_density * weights.load_store;
        let other_cost = kernel.other_density * weights.other;
        let cost = operation_cost + load_store_cost + other_cost;
        // Eq. 4.16 and 4.17.
        let instruction_efficiency = operation_cost / cost;
        let adjusted = kernel.mix_efficiency * instruction_efficiency * peak;

        // Eq. 4.18, with the comparison O_krn > O_dev written as one of times, which also holds
        // where a kernel has no traffic or no operations and the quotients lose their meaning.
        // W_comp / T'_op is I_total × cost ÷ (T_SP / 2): T_op and D_ops cancel.
        let memory_ms = kernel.traffic_bytes / bandwidth / 1e6;
        let compute_ms = if kernel.operations > 0.0 {
            kernel.operations / adjusted / 1e6
        } else {
            let sp = parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0;
            kernel.instructions * cost / (sp / 2.0) / 1e6
        };
        let (bound, time_ms) = if compute_ms > memory_ms {
            (Bound::Compute, compute_ms)
        } else {
            (Bound::Memory, memory_ms)
        };
        if !(compute_ms.is_finite() && memory_ms.is_finite() && time_ms > 0.0) {
            let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
            return Err(ModelError::NotFinite { kernel, gpu });
        }
        let predicted =
            if bound == Bound::Compute { adjusted } else { kernel.operations / memory_ms / 1e6 };
        let device_intensity = adjusted / bandwidth;

        let mut intermediate = Symbols::default();
        intermediate.push("T_op", peak, "GFLOPS");
        intermediate.push("W_op", weights.operation, "");
        intermediate.push("W_ldst", weights.load_store, "");
        intermediate.push("W_other", weights.other, "");
        intermediate.push("C_op", operation_cost, "");
        intermediate.push("C_ldst", load_store_cost, "");
        intermediate.push("C_other", other_cost, "");
        intermediate.push("E_instr", instruction_efficiency, "");
        intermediate.push("T_op_adjusted", adjusted, "GFLOPS");
        intermediate.push("B_mem", bandwidth, "GB/s");
        intermediate.push("O_dev", device_intensity, "operation/byte");
        intermediate.push("T_predicted", predicted, "GFLOPS");

        warnings.extend(assumptions::broken(profile, gpu, conditions, time_ms));
        if kernel.operations == 0.0 {
            warnings.push(Warning::NoOperations);
        } else if kernel.operation_type == OperationType::Int {
            warnings.push(Warning::IntegerOperations);
        }
        if kernel.traffic_bytes == 0.0 {
            warnings.push(Warning::NoTraffic);
        }
        let explanation = explain(
            &format!("{} on {}", profile.kernel, gpu.name),
            (bound, compute_ms, memory_ms),
            [operation_cost / cost, load_store_cost / cost, other_cost / cost],
        );
        Ok(Prediction {
            kernel: profile.kernel.clone(),
            gpu: gpu.name.clone(),
            model: self.name(),
            time_ms,
            bound,
            parameters: kernel.symbols(),
            intermediate,
            parts: vec![Part {
                name: "kernel".to_owned(),
                time_ms,
                bound,
                components: vec![
                    Component { resource: Bound::Compute, time_ms: compute_ms },
                    Component { resource: Bound::Memory, time_ms: memory_ms },
                ],
            }],
            explanation,
            warnings,
        })
    }
}

/// A parameter of the GPU, or an error that names its field.
fn parameter<T: Quantity + Copy>(
    gpu: &Gpu,
    field: &'static str,
    value: &Option<Sourced<T>>,
) -> Result<T, ModelError> {
    value
        .as_ref()
        .map(|sourced| sourced.value)
        .ok_or_else(|| ModelError::MissingParameter { gpu: gpu.name.clone(), parameter: field })
}

/// The totals of a profile, refused where no count can have them.
struct Counts<'a> {
    profile: &'a KernelProfile,
}

impl Counts<'_> {
    /// The total of a metric over all invocations, if the profile has it.
    fn get(&self, metric: &str) -> Result<Option<f64>, ModelError> {
        let Some(figure) = self.profile.metrics.get(metric) else { return Ok(None) };
        let value = figure.value.as_f64();
        if value.is_finite() && value >= 0.0 {
            Ok(Some(value * self.profile.invocations as f64))
        } else {
            let (kernel, metric) = (self.profile.kernel.clone(), metric.to_owned());
            Err(ModelError::ImpossibleMetric { kernel, metric, value })
        }
    }

    fn require(&self, metric: &'static str) -> Result<f64, ModelError> {
        self.get(metric)?.ok_or_else(|| ModelError::MissingMetrics {
            kernel: self.profile.kernel.clone(),
            metrics: vec![metric],
        })
    }

    /// Every metric that the equations need and the profile lacks, so that one complaint names all.
    ///
    /// Which arithmetic metrics are needed depends on the type of the operations; as long as that
    /// is not known, only the metric that decides it is missing.
    fn missing(&self) -> Result<Vec<&'static str>, ModelError> {
        let mut needed = Vec::new();
        match (self.get("inst_fp_64")?, self.get("inst_fp_32")?) {
            (Some(fp64), _) if fp64 > 0.0 => needed.push("flop_count_dp_fma"),
            (_, None) => needed.push("inst_fp_32"),
            (_, Some(fp32)) if fp32 > 0.0 => needed.push("flop_count_sp_fma"),
            (_, Some(_)) => needed.push("inst_integer"),
        }
        needed.extend(["inst_executed", "inst_compute_ld_st"]);
        for (transactions, bytes) in [
            ("dram_read_transactions", "dram_read_bytes"),
            ("dram_write_transactions", "dram_write_bytes"),
        ] {
            if self.get(bytes)?.is_none() {
                needed.push(transactions);
            }
        }
        needed.retain(|metric| !self.profile.metrics.contains_key(*metric));
        Ok(needed)
    }

    /// Bytes of DRAM traffic; profilers since Maxwell can count them directly.
    fn traffic(&self, transactions: &'static str, bytes: &str) -> Result<f64, ModelError> {
        match (self.get(transactions)?, self.get(bytes)?) {
            (None, Some(bytes)) => Ok(bytes),
            _ => Ok(TRANSACTION_BYTES * self.require(transactions)?),
        }
    }
}

/// A time with three decimals in the unit that suits it.
fn duration(ms: f64) -> String {
    match ms {
        ms if ms >= 0.1 || ms == 0.0 => format!("{ms:.3} ms"),
        ms if ms >= 1e-4 => format!("{:.3} µs", ms * 1e3),
        ms => format!("{:.3} ns", ms * 1e6),
    }
}

/// A sentence: what bounds the kernel, by how much, and what takes the pipeline's time.
fn explain(
    subject: &str,
    (bound, compute_ms, memory_ms): (Bound, f64, f64),
    [operations, load_stores, other]: [f64; 3],
) -> String {
    let times = format!(
        "{} of instructions against {} of traffic",
        duration(compute_ms),
        duration(memory_ms)
    );
    let shares = format!(
        "compute instructions take {:.0} % of the pipeline, loads and stores {:.0} %, all others \
         {:.0} %",
        100.0 * operations,
        100.0 * load_stores,
        100.0 * other
    );
    let what = if bound == Bound::Compute { "its instructions" } else { "device memory" };
    format!("{subject} is bound by {what}: {times} to device memory; {shares}.")
}
