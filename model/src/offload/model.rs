//! The offload model beside the others: a kernel's time with its transfers.

use gpucast_counters::KernelProfile;

use super::{Offload, Workload};
use crate::gpu::Gpu;
use crate::prediction::{Bound, Component, Detail, Outcome, Part, Symbols};
use crate::predictor::{Conditions, Model, ModelError};
use crate::quantitative_roofline::{KernelParameters, QuantitativeRoofline};
use crate::reads::Fields;
use crate::text::duration;
use crate::warning::Warning;

/// A model of one machine, and which GPU that machine has.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedOffload {
    /// Rates and constant.
    pub model: Offload,
    /// The library name of the GPU that was measured, if the calibration says it.
    pub gpu: Option<String>,
}

/// The bytes that go to the GPU and come back when a launch is made on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Bytes of the argument buffers that hold anything but zeros before the launch.
    pub dispatch_bytes: u64,
    /// Bytes of the argument buffers that the launch changed.
    pub collect_bytes: u64,
}

/// The model of Velho et al. 2013 for kernels that were executed or counted.
///
/// A calibration knows the host's link and the speed of one application on one GPU. On that GPU
/// equations 1 to 4 hold as they are. On another one the link is taken to be the same. The time of
/// the execution comes from [`QuantitativeRoofline`]; the paper has no equation for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadModel;

impl Model for OffloadModel {
    fn name(&self) -> &'static str {
        "offload"
    }

    fn citation(&self) -> &'static str {
        "Velho et al. 2013, eq. 1–4"
    }

    /// The time of the kernel alone is that of the quantitative roofline.
    fn reads_counts_of_gtx_480(&self) -> bool {
        true
    }

    fn includes_transfers(&self) -> bool {
        true
    }

    fn includes_launches(&self) -> bool {
        true
    }

    fn reads(&self) -> Fields {
        // The time on another GPU than the calibration's is another model's.
        crate::reads::BY_ANY_MODEL
    }

    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError> {
        let missing = |what| ModelError::MissingCondition { kernel: profile.kernel.clone(), what };
        let calibrated = conditions
            .offload
            .as_ref()
            .ok_or_else(|| missing("a calibration of transfers (`calibrate offload`)"))?;
        let transfers =
            conditions.transfers.ok_or_else(|| missing("the sizes of what is transferred"))?;
        let (kernel, mut warnings) = KernelParameters::of(profile)?;
        let workload = Workload {
            dispatch_bytes: transfers.dispatch_bytes as f64,
            operations: kernel.operations,
            collect_bytes: transfers.collect_bytes as f64,
        };
        let Offload { dispatch_bandwidth, gpu_speed, collect_bandwidth, constant } =
            calibrated.model;
        let dispatch_ms = 1e3 * workload.dispatch_bytes / dispatch_bandwidth;
        let collect_ms = 1e3 * workload.collect_bytes / collect_bandwidth;
        let constant_ms = 1e3 * constant;

        let measured_here = calibrated.gpu.as_ref() == Some(&gpu.name);
        let (execution, speed) = if measured_here {
            let time_ms = 1e3 * workload.operations / gpu_speed;
            let busy = vec![Component { resource: Bound::Compute, time_ms }];
            let name = "execution".to_owned();
            let part = Part { name, time_ms, bound: Bound::Compute, components: busy };
            (part, gpu_speed / 1e9)
        } else {
            let on_gpu = QuantitativeRoofline.evaluate(profile, gpu, conditions)?;
            warnings = on_gpu.warnings;
            warnings.push(Warning::OtherMachine {
                measured: calibrated.gpu.clone(),
                executed_by: QuantitativeRoofline.name(),
            });
            let components = on_gpu.parts.into_iter().flat_map(|part| part.components).collect();
            let part = Part {
                name: "execution".to_owned(),
                time_ms: on_gpu.time_ms,
                bound: on_gpu.bound,
                components,
            };
            let speed = workload.operations / (on_gpu.time_ms * 1e6);
            (part, speed)
        };

        let time_ms = dispatch_ms + execution.time_ms + collect_ms + constant_ms;
        if !(time_ms.is_finite() && time_ms > 0.0) {
            let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
            return Err(ModelError::NotFinite { kernel, gpu });
        }
        let overhead_ms = time_ms - execution.time_ms;
        let bound = if overhead_ms > execution.time_ms { Bound::Overhead } else { execution.bound };

        let mut parameters = Symbols::default();
        parameters.push_total("W_dispatch", workload.dispatch_bytes, "byte");
        parameters.push_total("W_exec", workload.operations, "operation");
        parameters.push_total("W_collect", workload.collect_bytes, "byte");
        let mut intermediate = Symbols::default();
        intermediate.push("dispatchBandwidth", dispatch_bandwidth / 1e9, "GB/s");
        intermediate.push("GPUSpeed", speed, "GFLOPS");
        intermediate.push("collectBandwidth", collect_bandwidth / 1e9, "GB/s");
        intermediate.push("T_dispatch", dispatch_ms, "ms");
        intermediate.push("T_exec", execution.time_ms, "ms");
        intermediate.push("T_collect", collect_ms, "ms");
        intermediate.push("β", constant_ms, "ms");

        let explanation = format!(
            "{} on {} spends {:.1} % of its time outside the kernel: {} until the GPU has its data, {} of \
             execution, {} to fetch the results, and {} whatever the size.",
            profile.kernel,
            gpu.name,
            100.0 * overhead_ms / time_ms,
            duration(dispatch_ms),
            duration(execution.time_ms),
            duration(collect_ms),
            duration(constant_ms)
        );
        let step = |name: &str, time_ms: f64| Part {
            name: name.to_owned(),
            time_ms,
            bound: Bound::Overhead,
            components: vec![Component { resource: Bound::Overhead, time_ms }],
        };
        Ok(Outcome {
            time_ms,
            bound,
            parameters,
            intermediate,
            parts: vec![
                step("dispatch", dispatch_ms),
                execution,
                step("collection", collect_ms),
                step("constant", constant_ms),
            ],
            explanation,
            warnings,
            detail: Detail::Offload,
        })
    }
}
