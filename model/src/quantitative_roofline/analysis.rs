//! Equations 4.13 to 4.18 on a kernel and a GPU.

use gpucast_counters::KernelProfile;

use super::kernel::{KernelParameters, OperationType};
use super::refinements::{Refinement, Refinements};
use super::weights::{Weights, peak_throughput};
use crate::gpu::Gpu;
use crate::inputs::number;
use crate::prediction::{Bound, Component, Part, Symbols};
use crate::predictor::ModelError;
use crate::warning::Warning;

/// Cost of the kernel's instructions by class, in single-precision multiply-adds per instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PipelineCosts {
    /// C_op, eq. 4.13: compute instructions.
    pub operation: f64,
    /// C_ldst, eq. 4.14: loads and stores.
    pub load_store: f64,
    /// C_other, eq. 4.15: all others.
    pub other: f64,
    /// The three together, with the costs that refinements add.
    pub total: f64,
}

impl PipelineCosts {
    fn of(kernel: &KernelParameters, weights: &Weights, refined: &Refinements) -> Self {
        let operation = kernel.operation_density * weights.operation;
        let load_store = kernel.load_store_density * weights.load_store;
        let other = kernel.other_density * weights.other;
        let mut total = operation + load_store + other;
        refined.costs.iter().for_each(|added| total += added.cost);
        Self { operation, load_store, other, total }
    }
}

/// The model's values for a kernel on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The kernel's parameters, table 4.2.
    pub kernel: KernelParameters,
    /// W_op, W_ldst and W_other, equations 4.9 to 4.12.
    pub weights: Weights,
    /// The cost of the kernel's instructions.
    pub costs: PipelineCosts,
    /// T_op: the peak of the kernel's operations, in GFLOPS or GIOPS.
    pub peak_throughput: f64,
    /// E_instr, eq. 4.16.
    pub instruction_efficiency: f64,
    /// T'_op, eq. 4.17: the throughput that the instruction mix allows, in GFLOPS or GIOPS.
    pub adjusted_throughput: f64,
    /// B_mem, in GB/s.
    pub bandwidth_gbps: f64,
    /// The time of instructions alone, in milliseconds.
    pub compute_ms: f64,
    /// The time of traffic to device memory alone, in milliseconds.
    pub memory_ms: f64,
    /// The time without launches, in milliseconds: that of the slowest resource.
    pub throughput_ms: f64,
    /// The slowest resource apart from launches.
    pub throughput_bound: Bound,
    /// The time of all invocations, in milliseconds.
    pub time_ms: f64,
    /// The resource that it is spent on.
    pub bound: Bound,
    pub(super) refined: Refinements,
}

impl Analysis {
    /// Evaluates the equations with refinements, which are in the order of [`Refinement::ALL`].
    ///
    /// Returns the warnings of the kernel's parameters beside the values.
    ///
    /// # Errors
    ///
    /// When the profile lacks a metric or the GPU a parameter, and when a time is not finite.
    pub fn of(
        profile: &KernelProfile,
        gpu: &Gpu,
        refinements: &[Refinement],
    ) -> Result<(Self, Vec<Warning>), ModelError> {
        let (kernel, warnings) = KernelParameters::of(profile)?;
        let weights = Weights::of(&kernel, gpu)?;
        let peak = peak_throughput(&kernel, gpu)?;
        let bandwidth = number!(gpu.memory_bandwidth);
        let refined = Refinements::of(refinements, profile, gpu, &kernel, &weights)?;
        let costs = PipelineCosts::of(&kernel, &weights, &refined);
        let instruction_efficiency = costs.operation / costs.total;
        let adjusted = kernel.mix_efficiency * instruction_efficiency * peak;

        // Eq. 4.18, with the comparison O_krn > O_dev written as one of times. That also holds if a
        // kernel has no traffic or no operations and the quotients lose their meaning. W_comp /
        // T'_op is I_total × cost ÷ (T_SP / 2): T_op and D_ops cancel.
        let memory_ms = kernel.traffic_bytes / bandwidth / 1e6;
        let compute_ms = if kernel.operations > 0.0 {
            kernel.operations / adjusted / 1e6
        } else {
            kernel.instructions * costs.total / (number!(gpu.sp_throughput) / 2.0) / 1e6
        };
        let mut analysis = Self {
            kernel,
            weights,
            costs,
            peak_throughput: peak,
            instruction_efficiency,
            adjusted_throughput: adjusted,
            bandwidth_gbps: bandwidth,
            compute_ms,
            memory_ms,
            throughput_ms: memory_ms,
            throughput_bound: Bound::Memory,
            time_ms: 0.0,
            bound: Bound::Memory,
            refined,
        };
        analysis.find_bound();
        let finite = analysis.components().iter().all(|component| component.time_ms.is_finite());
        if finite && analysis.costs.total > 0.0 && analysis.throughput_ms > 0.0 {
            return Ok((analysis, warnings));
        }
        let (kernel, gpu) = (profile.kernel.clone(), gpu.name.clone());
        Err(ModelError::NotFinite { kernel, gpu })
    }

    /// Sets the bounds and the times that follow from the times of each resource.
    fn find_bound(&mut self) {
        if self.compute_ms > self.memory_ms {
            (self.throughput_bound, self.throughput_ms) = (Bound::Compute, self.compute_ms);
        }
        for Component { resource, time_ms } in self.refined.roofs.iter().map(|it| it.component) {
            if time_ms > self.throughput_ms {
                (self.throughput_bound, self.throughput_ms) = (resource, time_ms);
            }
        }
        let overhead_ms = self.refined.overhead_ms.unwrap_or_default();
        self.time_ms = self.throughput_ms + overhead_ms;
        let launches_take_longer = overhead_ms > self.throughput_ms;
        self.bound = if launches_take_longer { Bound::Overhead } else { self.throughput_bound };
    }

    fn components(&self) -> Vec<Component> {
        let mut components = vec![
            Component { resource: Bound::Compute, time_ms: self.compute_ms },
            Component { resource: Bound::Memory, time_ms: self.memory_ms },
        ];
        components.extend(self.refined.roofs.iter().map(|roof| roof.component));
        components
    }

    /// The throughput of the prediction, in GFLOPS or GIOPS.
    #[must_use]
    pub fn predicted_throughput(&self) -> f64 {
        match self.throughput_bound {
            Bound::Compute => self.adjusted_throughput,
            _ => self.kernel.operations / self.throughput_ms / 1e6,
        }
    }

    /// The kernel, and its launches if they are charged.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mut parts = vec![Part {
            name: "kernel".to_owned(),
            time_ms: self.throughput_ms,
            bound: self.throughput_bound,
            components: self.components(),
        }];
        if let Some(time_ms) = self.refined.overhead_ms {
            parts.push(Part {
                name: "launch".to_owned(),
                time_ms,
                bound: Bound::Overhead,
                components: vec![Component { resource: Bound::Overhead, time_ms }],
            });
        }
        parts
    }

    /// The values that were computed for the GPU, by the thesis's symbols.
    pub(super) fn symbols(&self) -> Symbols {
        let unit = self.kernel.operation_type.throughput_unit();
        let mut symbols = Symbols::default();
        symbols.push("T_op", self.peak_throughput, unit);
        symbols.push("W_op", self.weights.operation, "");
        symbols.push("W_ldst", self.weights.load_store, "");
        symbols.push("W_other", self.weights.other, "");
        symbols.push("C_op", self.costs.operation, "");
        symbols.push("C_ldst", self.costs.load_store, "");
        symbols.push("C_other", self.costs.other, "");
        self.refined.costs.iter().for_each(|added| symbols.push(added.symbol, added.cost, ""));
        symbols.push("E_instr", self.instruction_efficiency, "");
        symbols.push("T_op_adjusted", self.adjusted_throughput, unit);
        symbols.push("B_mem", self.bandwidth_gbps, "GB/s");
        for roof in &self.refined.roofs {
            let (traffic, bandwidth) = roof.symbols;
            symbols.push_total(traffic, roof.bytes, "byte");
            symbols.push(bandwidth, roof.bandwidth, "GB/s");
        }
        let device_intensity = self.adjusted_throughput / self.bandwidth_gbps;
        symbols.push("O_dev", device_intensity, "operation/byte");
        symbols.push("T_predicted", self.predicted_throughput(), unit);
        if let Some(overhead_ms) = self.refined.overhead_ms {
            symbols.push("T_launch", overhead_ms, "ms");
        }
        symbols
    }

    /// Returns true if the operations are integer ones.
    #[must_use]
    pub fn counts_integers(&self) -> bool {
        self.kernel.operation_type == OperationType::Int
    }
}
