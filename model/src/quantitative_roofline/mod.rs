//! The quantitative roofline model: E. Konstantinidis, "A quantitative performance model for
//! GPUs", PhD thesis, 2017, chapter 4, equations 4.1 to 4.18.
//!
//! A roofline whose compute roof is lowered to what the kernel's instruction mix can reach: all
//! instructions share one pipeline, each class at the rate that micro-benchmarks measured
//! (Fermi to Pascal; on GPUs that issue integer and floating-point instructions side by side the
//! roof is pessimistic).

//! | file | holds |
//! |---|---|
//! | `kernel` | the kernel's parameters, table 4.2 |
//! | `weights` | what instructions cost on a GPU, equations 4.9 to 4.12 |
//! | [`refinements`] | what section 7.2 proposes to add, each off by default |

mod kernel;
pub mod refinements;
mod text;
mod weights;

use gpucast_counters::KernelProfile;

use crate::assumptions;
use crate::gpu::Gpu;
use crate::inputs::parameter;
use crate::prediction::{Bound, Component, Part, Prediction, Symbols};
use crate::predictor::{Conditions, GpuParameter, Model, ModelError};
use crate::warning::Warning;
use refinements::{Refinement, Refinements};
use weights::peak_throughput;

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
        predict(self.name(), profile, gpu, conditions, &[])
    }
}

/// The equations of chapter 4 with the given refinements; with none of them, exactly the thesis. What they
/// leave out is warned of where it would change the time much.
fn predict(
    model: &'static str,
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
    refinements: &[Refinement],
) -> Result<Prediction, ModelError> {
    let mut prediction = evaluate(model, profile, gpu, conditions, refinements)?;
    for (refinement, what) in WARNED_OF {
        if refinements.contains(&refinement) {
            continue;
        }
        let with = Refinement::ALL
            .into_iter()
            .filter(|one| *one == refinement || refinements.contains(one))
            .collect::<Vec<_>>();
        // A profile or a GPU that lacks what the refinement reads cannot be warned about.
        let Ok(refined) = evaluate(model, profile, gpu, conditions, &with) else { continue };
        if refined.time_ms > MUCH_LONGER * prediction.time_ms {
            let (refinement, milliseconds) = (refinement.name(), refined.time_ms);
            prediction.warnings.push(Warning::LeftOut { what, refinement, milliseconds });
        }
    }
    Ok(prediction)
}

/// What kernels are warned of that the unrefined model predicts too short a time for. Wide shared accesses are not
/// among it, whose refinement overshoots from Maxwell on.
const WARNED_OF: [(Refinement, &str); 3] = [
    (Refinement::BankConflicts, "bank conflicts"),
    (Refinement::ConstantSerialisation, "loads of several constants at once"),
    (Refinement::CacheBandwidth, "the bandwidths of caches"),
];

/// From which factor on a longer time is worth a warning: the errors of the thesis lie below it.
const MUCH_LONGER: f64 = 1.25;

fn evaluate(
    model: &'static str,
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
    refinements: &[Refinement],
) -> Result<Prediction, ModelError> {
    let (kernel, mut warnings) = KernelParameters::of(profile)?;
    let weights = Weights::of(kernel.operation_type, gpu)?;
    let peak = peak_throughput(kernel.operation_type, gpu)?;
    let bandwidth = parameter(gpu, "memory_bandwidth", &gpu.memory_bandwidth)?.0;
    let refined = Refinements::of(refinements, profile, gpu, &kernel, &weights)?;

    // Eq. 4.13 to 4.15.
    let operation_cost = kernel.operation_density * weights.operation;
    let load_store_cost = kernel.load_store_density * weights.load_store;
    let other_cost = kernel.other_density * weights.other;
    let mut cost = operation_cost + load_store_cost + other_cost;
    refined.costs.iter().for_each(|added| cost += added.cost);
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
    let mut components = vec![
        Component { resource: Bound::Compute, time_ms: compute_ms },
        Component { resource: Bound::Memory, time_ms: memory_ms },
    ];
    components.extend(refined.roofs.iter().map(|roof| roof.component));
    let (mut bound, mut throughput_ms) = if compute_ms > memory_ms {
        (Bound::Compute, compute_ms)
    } else {
        (Bound::Memory, memory_ms)
    };
    for roof in &refined.roofs {
        if roof.component.time_ms > throughput_ms {
            (bound, throughput_ms) = (roof.component.resource, roof.component.time_ms);
        }
    }
    let finite = components.iter().all(|component| component.time_ms.is_finite());
    if !(finite && cost > 0.0 && throughput_ms > 0.0) {
        let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
        return Err(ModelError::NotFinite { kernel, gpu });
    }
    let predicted =
        if bound == Bound::Compute { adjusted } else { kernel.operations / throughput_ms / 1e6 };
    let device_intensity = adjusted / bandwidth;

    let unit = kernel.operation_type.throughput_unit();
    let mut intermediate = Symbols::default();
    intermediate.push("T_op", peak, unit);
    intermediate.push("W_op", weights.operation, "");
    intermediate.push("W_ldst", weights.load_store, "");
    intermediate.push("W_other", weights.other, "");
    intermediate.push("C_op", operation_cost, "");
    intermediate.push("C_ldst", load_store_cost, "");
    intermediate.push("C_other", other_cost, "");
    refined.costs.iter().for_each(|added| intermediate.push(added.symbol, added.cost, ""));
    intermediate.push("E_instr", instruction_efficiency, "");
    intermediate.push("T_op_adjusted", adjusted, unit);
    intermediate.push("B_mem", bandwidth, "GB/s");
    for roof in &refined.roofs {
        let (traffic, bandwidth) = roof.symbols;
        intermediate.push_total(traffic, roof.bytes, "byte");
        intermediate.push(bandwidth, roof.bandwidth, "GB/s");
    }
    intermediate.push("O_dev", device_intensity, "operation/byte");
    intermediate.push("T_predicted", predicted, unit);

    let mut parts =
        vec![Part { name: "kernel".to_owned(), time_ms: throughput_ms, bound, components }];
    if let Some(overhead_ms) = refined.overhead_ms {
        intermediate.push("T_launch", overhead_ms, "ms");
        let component = Component { resource: Bound::Overhead, time_ms: overhead_ms };
        parts.push(Part {
            name: "launch".to_owned(),
            time_ms: overhead_ms,
            bound: Bound::Overhead,
            components: vec![component],
        });
        if overhead_ms > throughput_ms {
            bound = Bound::Overhead;
        }
    }
    let time_ms = refined.overhead_ms.map_or(throughput_ms, |overhead| throughput_ms + overhead);

    warnings.extend(assumptions::broken(profile, gpu, conditions, time_ms));
    if kernel.operations == 0.0 {
        warnings.push(Warning::NoOperations);
    } else if kernel.operation_type == OperationType::Int {
        warnings.push(Warning::IntegerOperations);
    }
    if kernel.traffic_bytes == 0.0 {
        warnings.push(Warning::NoTraffic);
    }
    warnings.retain(|warning| !refinements.iter().any(|refinement| refinement.answers(warning)));
    let explanation = text::explain(
        &format!("{} on {}", profile.kernel, gpu.name),
        (bound, compute_ms, memory_ms),
        [operation_cost / cost, load_store_cost / cost, other_cost / cost],
        &refined,
    );
    Ok(Prediction {
        kernel: profile.kernel.clone(),
        gpu: gpu.name.clone(),
        model,
        time_ms,
        bound,
        parameters: kernel.symbols(),
        intermediate,
        parts,
        explanation,
        warnings,
    })
}
