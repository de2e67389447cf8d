//! The component-throughput model: Y. Zhang and J. D. Owens, "A Quantitative Performance Analysis
//! Model for GPU Architectures", HPCA 2011.
//!
//! A kernel keeps three components busy at the same time: the instruction pipeline, shared memory
//! and global memory. The time of each is its work over its throughput, which depends on the warps
//! of an SM. The slowest is the bottleneck and hides the others. Barriers cut the kernel into
//! stages. They follow each other if an SM has one block, and overlap if it has several.
//!
//! | file | holds |
//! |---|---|
//! | [`saturation`] | throughput by warps: measured on a GTX 285, Little's law elsewhere |
//! | [`instructions`] | the instruction pipeline |
//! | [`shared`] | shared memory |
//! | [`global`] | global memory |
//! | [`work`] | the work of a stage for each |
//! | [`stages`] | stages in sequence or overlapped, bottlenecks |
//! | [`causes`] | the causes of the bottleneck's time |

pub mod causes;
mod explanation;
pub mod global;
pub mod instructions;
pub mod saturation;
pub mod shared;
pub mod stages;
pub mod work;

use gpucast_counters::KernelProfile;
use gpucast_counters::device::DeviceModel;
use gpucast_counters::throughput::Operation;

use crate::assumptions;
use crate::gpu::Gpu;
use crate::inputs::{Totals, device_model};
use crate::needs::Needs;
use crate::prediction::{Bound, Component, Detail, Outcome, Part, Symbols};
use crate::predictor::{Conditions, GpuParameter, Model, ModelError};
use crate::reads::{FIRST_LEVEL, Fields, OCCUPANCY};
use crate::tensor;
use crate::warning::Warning;

pub use causes::Cause;
pub use global::GlobalMemory;
pub use instructions::{InstructionCounts, InstructionPipeline};
pub use shared::SharedMemory;
pub use stages::{Residency, StageAnalysis, Times};
pub use work::{StageWork, Work};

/// The model of Zhang & Owens 2011.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComponentThroughput;

/// The three components of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// The instruction pipeline.
    pub instructions: InstructionPipeline,
    /// Shared memory.
    pub shared: SharedMemory,
    /// Global memory.
    pub global: GlobalMemory,
    /// Bytes of the smallest transaction.
    pub granularity_bytes: f64,
}

impl Components {
    /// The components of a GPU.
    ///
    /// # Errors
    ///
    /// When the GPU lacks one of their parameters.
    pub fn of(gpu: &Gpu, device: &DeviceModel) -> Result<Self, ModelError> {
        Ok(Self {
            instructions: InstructionPipeline::of(gpu, device.capability.major)?,
            shared: SharedMemory::of(gpu, device)?,
            global: GlobalMemory::of(gpu)?,
            granularity_bytes: device.sector_bytes() as f64,
        })
    }
}

/// The model's results for a kernel on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The GPU's components.
    pub components: Components,
    /// The work of the stages for these components.
    pub work: Work,
    /// Matrix products of warps whose throughput is not known, so that they only have to be issued.
    pub uncharged_products: f64,
    /// The way in which blocks share SMs.
    pub residency: Residency,
    /// Warps of an SM, of all resident blocks (table 2: active warps).
    pub warps_per_sm: f64,
    /// Each stage, in order of time, as if it were alone.
    pub stages: Vec<StageAnalysis>,
    /// The time of all invocations, in milliseconds.
    pub time_ms: f64,
    /// The component that decides most of it.
    pub bottleneck: Bound,
    /// The times of each component, of all stages, in milliseconds.
    pub times: Times,
    /// The time if the bottleneck took none, in milliseconds, and the bottleneck then.
    pub next: (Bound, f64),
    /// The reason why the bottleneck takes so long, the costliest cause first.
    pub causes: Vec<Cause>,
}

impl Analysis {
    /// Analyses a kernel on a GPU.
    ///
    /// # Errors
    ///
    /// When the counts come without stages or the shape of the launch, and when the GPU lacks a
    /// parameter.
    pub fn of(
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Self, ModelError> {
        let missing = |what| ModelError::MissingCondition { kernel: profile.kernel.clone(), what };
        let stages = conditions
            .evidence
            .stages
            .as_ref()
            .ok_or_else(|| missing("the counts between barriers"))?;
        let launch = conditions.launch.ok_or_else(|| missing("the shape of the launch"))?;
        let device = device_model(gpu)?;
        let mut components = Components::of(gpu, &device)?;
        let folds = components.instructions.reads_shared_operands();
        let work = Work::of(profile, stages, components.granularity_bytes, folds)?;
        let products = work.combined(1.0).instructions.of(Operation::Tensor);
        let uncharged_products = match tensor::clocks(gpu, Totals(profile))? {
            Some(clocks) if products > 0.0 => {
                let rate = products / clocks;
                components.instructions = components.instructions.multiplying_matrices(rate);
                0.0
            }
            _ => products,
        };

        let fit = device.ctas_per_sm(launch.cta());
        let (blocks, sms) = (launch.blocks.max(1) as f64, f64::from(device.sm_count));
        let warps_per_block = launch.threads_per_block.div_ceil(32).max(1) as f64;
        let of_an_sm = match conditions.occupancy {
            Some(occupancy) => occupancy * f64::from(device.limits.max_warps) / warps_per_block,
            None => f64::from(fit).min((blocks / sms).ceil()),
        };
        let residency = Residency {
            blocks,
            blocks_per_sm: of_an_sm,
            busy: conditions.busy_sms(sms),
            waves: blocks / sms,
            invocations: profile.invocations.max(1) as f64,
        };
        let serialised = residency.serialises();
        let stages: Vec<StageAnalysis> = work
            .stages
            .iter()
            .map(|stage| {
                // If blocks overlap, their stages differ, and all warps are there (table 2).
                let warps = if serialised { stage.active_warps } else { warps_per_block };
                residency.analyse(stage, &components, warps)
            })
            .collect();
        let combined = work.combined(warps_per_block);
        if let Some(field) = components.instructions.lacks(&combined.instructions) {
            return Err(ModelError::MissingParameter { gpu: gpu.name.clone(), parameter: field });
        }
        // The paper's synthetic benchmark has the configuration of the whole kernel.
        let together = [residency.analyse(&combined, &components, warps_per_block)];
        let deciding = if serialised { stages.as_slice() } else { &together };
        let total = stages::sum(deciding.iter().map(|stage| stage.times), serialised);
        let without = |stage: &StageAnalysis| stage.times.without(total.bottleneck);
        let next = stages::sum(deciding.iter().map(without), serialised);
        let causes = causes::of(total.bottleneck, &combined, deciding, &components);
        Ok(Self {
            warps_per_sm: warps_per_block * residency.blocks_per_sm,
            components,
            work,
            uncharged_products,
            residency,
            stages,
            time_ms: total.time_ms,
            bottleneck: total.bottleneck,
            times: total.times,
            next: (next.bottleneck, next.time_ms),
            causes,
        })
    }

    /// Returns true if stages follow each other.
    #[must_use]
    pub fn is_serialised(&self) -> bool {
        self.residency.serialises()
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name: String, times: &Times| {
            let (bound, time_ms) = times.bottleneck();
            let component = |(resource, time_ms)| Component { resource, time_ms };
            Part { name, time_ms, bound, components: times.components().map(component).to_vec() }
        };
        if self.is_serialised() && self.stages.len() > 1 {
            let stages = self.stages.iter().enumerate();
            stages.map(|(index, stage)| part(format!("stage {index}"), &stage.times)).collect()
        } else {
            vec![part("kernel".to_owned(), &self.times)]
        }
    }

    fn parameters(&self) -> Symbols {
        let sum = |of: fn(&StageWork) -> f64| self.work.stages.iter().map(of).sum::<f64>();
        let mut symbols = Symbols::default();
        symbols.push("N_instruction", sum(|stage| stage.instructions.total()), "warp instruction");
        symbols.push(
            "N_computing",
            sum(|stage| stage.instructions.computations()),
            "warp instruction",
        );
        symbols.push_total("N_shared", sum(|stage| stage.passes), "pass");
        symbols.push_total("N_shared_free", sum(|stage| stage.conflict_free), "pass");
        symbols.push_total("W_global", sum(|stage| stage.bytes), "byte");
        symbols.push_total("N_stages", self.stages.len() as f64, "stage");
        symbols
    }

    fn intermediate(&self) -> Symbols {
        let warps = self.warps_per_sm;
        let mut symbols = Symbols::default();
        symbols.push_total("blocks_per_SM", self.residency.blocks_per_sm, "block");
        symbols.push_total("warps_per_SM", warps, "warp");
        symbols.push_name("stages", if self.is_serialised() { "serialised" } else { "overlapped" });
        symbols.push(
            "T_II",
            self.components.instructions.throughput(Operation::Fp32, warps),
            "10⁹ warp instructions/s",
        );
        symbols.push("B_shared", self.components.shared.bandwidth(warps), "GB/s");
        let bytes: f64 = self.work.stages.iter().map(|stage| stage.bytes).sum();
        symbols.push("B_global", bytes / self.times.global_ms / 1e6, "GB/s");
        symbols.push("t_instruction", self.times.instructions_ms, "ms");
        symbols.push("t_shared", self.times.shared_ms, "ms");
        symbols.push("t_global", self.times.global_ms, "ms");
        symbols.push("t_next", self.next.1, "ms");
        symbols
    }
}

const GPU_PARAMETERS: &[GpuParameter] = &[
    GpuParameter::new("fp32_rate", "units, type II"),
    GpuParameter::new("fp32_mul_rate", "units, type I"),
    GpuParameter::new("special_rate", "units, type III"),
    GpuParameter::new("fp64_rate", "units, type IV"),
    GpuParameter::new("int_add_rate", "integer add"),
    GpuParameter::new("load_store_rate", "load/store"),
    GpuParameter::new("issue_rate", "issue"),
    GpuParameter::new("arithmetic_latency", "latency"),
    GpuParameter::new("shared_bytes_rate", "shared memory"),
    GpuParameter::new("shared_latency", "its latency"),
    GpuParameter::new("memory_bandwidth", "global memory"),
    GpuParameter::new("memory_latency", "its latency"),
    GpuParameter::new("l2_latency", "of the L2"),
    GpuParameter::new("l1_latency", "of the L1"),
    GpuParameter::new("sms_per_cluster", "SMs of a path"),
];

/// The fields that the equations read.
const READ: &[&str] = &[
    "arithmetic_latency",
    "compare_rate",
    "conversion_rate",
    "fp16_rate",
    "fp32_mul_rate",
    "fp32_rate",
    "fp64_rate",
    "int_add_rate",
    "int_mul_rate",
    "issue_rate",
    "l1_latency",
    "l2_latency",
    "l2_size",
    "load_store_rate",
    "logic_rate",
    "memory_bandwidth",
    "memory_latency",
    "shared_bytes_rate",
    "shared_latency",
    "shift_rate",
    "shuffle_rate",
    "sm_count",
    "sms_per_cluster",
    "sp_clock",
    "special_rate",
    "tensor_rate",
    "wide_conversion_rate",
];

impl Model for ComponentThroughput {
    fn name(&self) -> &'static str {
        "component-throughput"
    }

    fn citation(&self) -> &'static str {
        "Zhang & Owens 2011, sections 3 and 4"
    }

    fn needs(&self) -> Needs {
        Needs::STAGES
    }

    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        GPU_PARAMETERS
    }

    fn reads(&self) -> Fields {
        &[READ, FIRST_LEVEL, OCCUPANCY]
    }

    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError> {
        let analysis = Analysis::of(profile, gpu, conditions)?;
        if !(analysis.time_ms.is_finite() && analysis.time_ms > 0.0) {
            let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
            return Err(ModelError::NotFinite { kernel, gpu });
        }
        Ok(Outcome {
            time_ms: analysis.time_ms,
            bound: analysis.bottleneck,
            parameters: analysis.parameters(),
            intermediate: analysis.intermediate(),
            parts: analysis.parts(),
            explanation: explanation::of(&format!("{} on {}", profile.kernel, gpu.name), &analysis),
            warnings: warnings(profile, gpu, conditions, &analysis),
            detail: Detail::Component(Box::new(analysis)),
        })
    }
}

/// The assumptions that the kernel breaks.
fn warnings(
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
    analysis: &Analysis,
) -> Vec<Warning> {
    let mut warnings = assumptions::common(profile, gpu, conditions, analysis.time_ms);
    if analysis.uncharged_products > 0.0 {
        let instructions = analysis.uncharged_products;
        warnings.push(Warning::Uncharged { what: "tensor-core", instructions });
    }
    if conditions.launch.is_some_and(|launch| launch.registers.is_none()) {
        warnings.push(Warning::UnknownRegisters);
    }
    if analysis.work.scaled {
        warnings.push(Warning::ScaledStages);
    }
    if let Some(merged) =
        conditions.evidence.stages.as_ref().map(|stages| stages.merged).filter(|&m| m > 0)
    {
        warnings.push(Warning::MergedStages { merged });
    }
    let (warps, needed) =
        (analysis.warps_per_sm, analysis.components.instructions.covering_warps());
    if warps < needed {
        warnings.push(Warning::FewWarps { warps, needed });
    }
    warnings
}
