//! The model's inputs from a kernel: Konstantinidis 2017, table 4.2, from the metrics of table 4.1.

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;

use super::{TRANSACTION_BYTES, WARP_LANES};
use crate::inputs::Totals;
use crate::prediction::Symbols;
use crate::predictor::ModelError;
use crate::tensor;
use crate::warning::Warning;

/// K_type: the operations that count as the kernel's purpose; all others are overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationType {
    /// Double precision.
    Fp64,
    /// Single precision.
    Fp32,
    /// Integer.
    Int,
    /// Of tensor cores, on formats whose throughput is known. The thesis has no such type: it is
    /// ours, with the thesis's equations.
    Tensor,
}

impl OperationType {
    /// The name that the thesis uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Int => "int",
            Self::Tensor => "tensor",
        }
    }

    /// The unit of a throughput of such operations.
    #[must_use]
    pub fn throughput_unit(self) -> &'static str {
        match self {
            Self::Fp64 | Self::Fp32 | Self::Tensor => "GFLOPS",
            Self::Int => "GIOPS",
        }
    }
}

/// The model's inputs from a kernel (table 4.2): totals over all invocations, and fractions.
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
    /// Of tensor operations, their mean throughput over that of halves; 1 for other types.
    pub relative_throughput: f64,
}

impl KernelParameters {
    /// Computes the parameters from a profiler's metrics (table 4.1).
    ///
    /// A missing `inst_fp_64` is taken to be zero if `inst_fp_32` is there. So is a missing
    /// `inst_fp_32` beside a non-zero `inst_fp_64`, where it does not matter. Each such assumption
    /// is among the warnings.
    ///
    /// # Errors
    ///
    /// When a metric that the kernel's type needs is missing, no count, or contradicts others.
    pub fn of(profile: &KernelProfile) -> Result<(Self, Vec<Warning>), ModelError> {
        let counts = Counts { profile };
        let missing = counts.missing()?;
        if !missing.is_empty() {
            return Err(counts.missing_metrics(missing));
        }
        let mut warnings = Vec::new();
        let fp64 = counts.get(metric!("inst_fp_64"))?;
        let tensor = counts.tensor_work()?;
        let operation_type = if tensor.is_some() {
            OperationType::Tensor
        } else if fp64.is_some_and(|count| count > 0.0) {
            OperationType::Fp64
        } else {
            let fp32 = counts.require(metric!("inst_fp_32"))?;
            if fp64.is_none() {
                warnings.push(Warning::AssumedZero { metric: metric!("inst_fp_64") });
            }
            if fp32 > 0.0 { OperationType::Fp32 } else { OperationType::Int }
        };

        // I_ops, eq. 4.4, and the multiply-adds among them.
        let (compute_instructions, multiply_adds) = match operation_type {
            OperationType::Fp64 => (
                counts.require(metric!("inst_fp_64"))?,
                counts.require(metric!("flop_count_dp_fma"))?,
            ),
            OperationType::Fp32 => (
                counts.require(metric!("inst_fp_32"))?,
                counts.require(metric!("flop_count_sp_fma"))?,
            ),
            // Eq. 4.1 counts an integer instruction as one operation.
            OperationType::Int => (counts.require(metric!("inst_integer"))?, 0.0),
            OperationType::Tensor => {
                let instructions =
                    WARP_LANES * counts.require(metric!("inst_executed_pipe_tensor"))?;
                (instructions, instructions)
            }
        };
        let kernel = || profile.kernel.clone();
        if multiply_adds > compute_instructions {
            return Err(ModelError::TooManyMultiplyAdds {
                kernel: kernel(),
                fma: multiply_adds,
                instructions: compute_instructions,
            });
        }
        // An instruction of tensor cores is many operations.
        let operations =
            tensor.map_or(compute_instructions + multiply_adds, |tensor| tensor.operations);
        let mix_efficiency = match operation_type {
            OperationType::Int => 0.5,
            OperationType::Tensor => 1.0,
            OperationType::Fp64 | OperationType::Fp32 => operations / (2.0 * compute_instructions),
        };

        let instructions = WARP_LANES * counts.require(metric!("inst_executed"))?;
        if instructions == 0.0 {
            return Err(ModelError::NothingExecuted { kernel: kernel() });
        }
        let load_stores = counts.require(metric!("inst_compute_ld_st"))?;
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

        let traffic_bytes = counts
            .traffic(metric!("dram_read_transactions"), metric!("dram_read_bytes"))?
            + counts.traffic(metric!("dram_write_transactions"), metric!("dram_write_bytes"))?;
        let parameters = Self {
            operation_type,
            operations,
            traffic_bytes,
            mix_efficiency,
            instructions,
            operation_density,
            load_store_density,
            other_density: 1.0 - operation_density - load_store_density,
            relative_throughput: tensor.map_or(1.0, |tensor| tensor.relative_throughput),
        };
        Ok((parameters, warnings))
    }

    /// O_krn: operations for each byte of traffic; infinite without traffic, and not a number
    /// without either.
    #[must_use]
    pub fn operational_intensity(&self) -> f64 {
        self.operations / self.traffic_bytes
    }

    /// Operations of a matrix instruction, divided by the threads of its warp.
    pub(super) fn tensor_operations_per_thread(&self) -> f64 {
        self.operations / (self.operation_density * self.instructions)
    }

    pub(super) fn symbols(&self) -> Symbols {
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

/// The operations of tensor cores.
#[derive(Clone, Copy, Debug)]
struct TensorTotals {
    operations: f64,
    /// Their mean throughput over that of halves.
    relative_throughput: f64,
}

/// The totals of a profile, refused where no count can have them.
pub(super) struct Counts<'a> {
    pub(super) profile: &'a KernelProfile,
}

impl Counts<'_> {
    /// The total of a metric over all invocations, if the profile has it.
    pub(super) fn get(&self, metric: &str) -> Result<Option<f64>, ModelError> {
        let Some(figure) = self.profile.metrics.get(metric) else { return Ok(None) };
        let value = figure.value.as_f64();
        if value.is_finite() && value >= 0.0 {
            Ok(Some(value * self.profile.invocations as f64))
        } else {
            let (kernel, metric) = (self.profile.kernel.clone(), metric.to_owned());
            Err(ModelError::ImpossibleMetric { kernel, metric, value })
        }
    }

    pub(super) fn require(&self, metric: &'static str) -> Result<f64, ModelError> {
        self.get(metric)?.ok_or_else(|| self.missing_metrics(vec![metric]))
    }

    /// A ratio or a percentage, which does not add up over invocations.
    pub(super) fn mean(&self, metric: &'static str) -> Result<f64, ModelError> {
        Ok(self.require(metric)? / self.profile.invocations as f64)
    }

    /// The work of tensor cores if it is the kernel's purpose: if they do more operations than
    /// threads, all of them on formats whose throughput is known.
    fn tensor_work(&self) -> Result<Option<TensorTotals>, ModelError> {
        let (works, others) = tensor::work(Totals(self.profile))?;
        let operations: f64 = works.iter().map(|work| work.operations).sum();
        let mut of_threads = 0.0;
        for metric in metric!["inst_fp_32", "inst_fp_64"] {
            of_threads += 2.0 * self.get(metric)?.unwrap_or_default();
        }
        if others > 0.0 || operations <= of_threads {
            return Ok(None);
        }
        let relative_throughput = tensor::relative_throughput(&works);
        Ok(Some(TensorTotals { operations, relative_throughput }))
    }

    /// The metrics that the profile does not have.
    pub(super) fn lacking(&self, metrics: &[&'static str]) -> Vec<&'static str> {
        let is_lacking = |metric: &&&str| !self.profile.metrics.contains_key(**metric);
        metrics.iter().filter(is_lacking).copied().collect()
    }

    /// The complaint about metrics that are not there.
    pub(super) fn missing_metrics(&self, metrics: Vec<&'static str>) -> ModelError {
        ModelError::MissingMetrics { kernel: self.profile.kernel.clone(), metrics }
    }

    /// Every metric that the equations need and the profile lacks, so that one complaint names all.
    ///
    /// Returns the arithmetic metrics that are needed and missing. They depend on the type of the
    /// operations. As long as that is not known, only the metric that decides it is missing.
    fn missing(&self) -> Result<Vec<&'static str>, ModelError> {
        let mut needed = Vec::new();
        let is_tensor = self.tensor_work()?.is_some();
        match (self.get(metric!("inst_fp_64"))?, self.get(metric!("inst_fp_32"))?) {
            _ if is_tensor => needed.push(metric!("inst_executed_pipe_tensor")),
            (Some(fp64), _) if fp64 > 0.0 => needed.push(metric!("flop_count_dp_fma")),
            (_, None) => needed.push(metric!("inst_fp_32")),
            (_, Some(fp32)) if fp32 > 0.0 => needed.push(metric!("flop_count_sp_fma")),
            (_, Some(_)) => needed.push(metric!("inst_integer")),
        }
        needed.extend(metric!["inst_executed", "inst_compute_ld_st"]);
        for (transactions, bytes) in [
            (metric!("dram_read_transactions"), metric!("dram_read_bytes")),
            (metric!("dram_write_transactions"), metric!("dram_write_bytes")),
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
