//! The quantitative roofline model: E. Konstantinidis, "A quantitative performance model for
//! GPUs", PhD thesis, 2017, chapter 4, equations 4.1 to 4.18.
//!
//! A roofline whose compute roof is lowered to the throughput that the kernel's instruction mix can
//! reach. All instructions share one pipeline, each class at the rate that micro-benchmarks
//! measured (Fermi to Pascal). On GPUs that issue integer and floating-point instructions side by
//! side, the roof is pessimistic.
//!
//! | file | holds |
//! |---|---|
//! | `kernel` | the kernel's parameters, table 4.2 |
//! | `weights` | what instructions cost on a GPU, equations 4.9 to 4.12 |
//! | `analysis` | equations 4.13 to 4.18 on a kernel and a GPU |
//! | [`refinements`] | the additions of section 7.2, each off by default |

mod analysis;
mod kernel;
pub mod refinements;
mod text;
mod weights;

use gpucast_counters::KernelProfile;

use crate::assumptions::{self, TENSOR_CORE};
use crate::gpu::Gpu;
use crate::prediction::{Detail, Outcome};
use crate::predictor::{Conditions, GpuParameter, Model, ModelError};
use crate::reads::Fields;
use crate::warning::Warning;
use refinements::Refinement;

pub use analysis::Analysis;
pub use kernel::{KernelParameters, OperationType};
pub use refinements::RefinedRoofline;
pub use weights::Weights;

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

/// The fields that the thesis's equations read.
const READ: &[&str] = &[
    "sp_throughput",
    "dp_throughput",
    "int_throughput",
    "int_add_throughput",
    "load_store_throughput",
    "memory_bandwidth",
    "tensor_throughput",
];

impl Model for QuantitativeRoofline {
    fn name(&self) -> &'static str {
        "quantitative-roofline"
    }

    fn citation(&self) -> &'static str {
        "Konstantinidis 2017, eq. 4.1–4.18"
    }

    fn reads_counts_of_gtx_480(&self) -> bool {
        true
    }

    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        GPU_PARAMETERS
    }

    fn reads(&self) -> Fields {
        &[READ]
    }

    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError> {
        outcome(profile, gpu, conditions, &[])
    }
}

/// Refinements whose absence we warn about when they would lengthen the time by a quarter. Wide
/// shared accesses are not among them: that refinement overshoots from Maxwell on.
const WARNED_OF: [(Refinement, &str); 3] = [
    (Refinement::BankConflicts, "bank conflicts"),
    (Refinement::ConstantSerialisation, "loads of several constants at once"),
    (Refinement::CacheBandwidth, "the bandwidths of caches"),
];

/// The ratio of times from which on a warning is worth it: the errors of the thesis lie below it.
const MUCH_LONGER: f64 = 1.25;

/// The equations of chapter 4 with the given refinements; with none of them, exactly the thesis.
fn outcome(
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
    refinements: &[Refinement],
) -> Result<Outcome, ModelError> {
    let (analysis, mut warnings) = Analysis::of(profile, gpu, refinements)?;
    warnings.extend(assumptions::broken(profile, gpu, conditions, analysis.time_ms));
    if analysis.kernel.operation_type == OperationType::Tensor {
        let is_charged =
            |warning: &Warning| matches!(warning, Warning::Uncharged { what: TENSOR_CORE, .. });
        warnings.retain(|warning| !is_charged(warning));
    }
    if analysis.kernel.operations == 0.0 {
        warnings.push(Warning::NoOperations);
    } else if analysis.kernel.operation_type == OperationType::Int {
        warnings.push(Warning::IntegerOperations);
    }
    if analysis.kernel.traffic_bytes == 0.0 {
        warnings.push(Warning::NoTraffic);
    }
    warnings.retain(|warning| !refinements.iter().any(|refinement| refinement.answers(warning)));
    warnings.extend(left_out(profile, gpu, refinements, analysis.time_ms));
    Ok(Outcome {
        time_ms: analysis.time_ms,
        bound: analysis.bound,
        parameters: analysis.kernel.symbols(),
        intermediate: analysis.symbols(),
        parts: analysis.parts(),
        explanation: text::explain(&format!("{} on {}", profile.kernel, gpu.name), &analysis),
        warnings,
        detail: Detail::Quantitative(Box::new(analysis)),
    })
}

/// Warnings of refinements that were not asked for and would make the time much longer.
fn left_out(
    profile: &KernelProfile,
    gpu: &Gpu,
    refinements: &[Refinement],
    time_ms: f64,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (refinement, what) in WARNED_OF {
        if refinements.contains(&refinement) {
            continue;
        }
        let with: Vec<Refinement> = Refinement::ALL
            .into_iter()
            .filter(|refinement_of| {
                *refinement_of == refinement || refinements.contains(refinement_of)
            })
            .collect();
        // A profile or a GPU that lacks the refinement's inputs cannot be warned about.
        let Ok((refined, _)) = Analysis::of(profile, gpu, &with) else { continue };
        if refined.time_ms > MUCH_LONGER * time_ms {
            let (refinement, milliseconds) = (refinement.name(), refined.time_ms);
            warnings.push(Warning::LeftOut { what, refinement, milliseconds });
        }
    }
    warnings
}
