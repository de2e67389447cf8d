//! Why a model cannot predict.

use thiserror::Error;

use crate::cost_model::FeatureError;
use crate::gpu::{CountingError, MissingField};

/// The reason why a model cannot predict.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelError {
    /// Counts that the model cannot do without.
    #[error("the counts of kernel `{kernel}` lack {}", listed(metrics))]
    MissingMetrics {
        /// The kernel.
        kernel: String,
        /// All that are missing, at least one.
        metrics: Vec<&'static str>,
    },
    /// A parameter that the model cannot do without.
    #[error("the GPU `{gpu}` has no `{parameter}`, which this kernel's prediction needs")]
    MissingParameter {
        /// The GPU.
        gpu: String,
        /// The field of its file.
        parameter: &'static str,
    },
    /// A GPU that the counters cannot model.
    #[error("the GPU `{gpu}` cannot be modelled: {error}")]
    Uncountable {
        /// The GPU.
        gpu: String,
        /// The reason.
        error: CountingError,
    },
    /// Something that only an execution tells.
    #[error("the counts of kernel `{kernel}` come without {what}, which this model needs")]
    MissingCondition {
        /// The kernel.
        kernel: String,
        /// The missing input.
        what: &'static str,
    },
    /// A GPU of a generation that the model does not describe.
    #[error("the GPU `{gpu}` has compute capability {major}.x; this model begins with {least}.0")]
    OlderGeneration {
        /// The GPU.
        gpu: String,
        /// The major number of its capability.
        major: u32,
        /// That of the first one that the model describes.
        least: u32,
    },
    /// The cost model without a calibration.
    #[error("the cost model has no calibrated parameters")]
    NoCostModel,
    /// Calibrations of other GPUs only.
    #[error("no calibrated cost model is for `{gpu}`; those given are for {known}")]
    OtherGpu {
        /// The GPU.
        gpu: String,
        /// The GPUs that there are calibrations of.
        known: String,
    },
    /// A feature that cannot be gathered.
    #[error("the cost model cannot be evaluated for kernel `{kernel}`: {error}")]
    Feature {
        /// The kernel.
        kernel: String,
        /// The reason.
        error: FeatureError,
    },
    /// No instruction was executed.
    #[error("kernel `{kernel}` executed no instruction, so there is nothing to predict")]
    NothingExecuted {
        /// The kernel.
        kernel: String,
    },
    /// Counts that cannot come from one run.
    #[error(
        "the counts of kernel `{kernel}` contradict each other: {classified:.0} compute and \
         load/store instructions are more than the {total:.0} that {metric} allows"
    )]
    TooManyInstructions {
        /// The kernel.
        kernel: String,
        /// Compute and load/store instructions of threads.
        classified: f64,
        /// All instructions of threads.
        total: f64,
        /// The metric of the total.
        metric: &'static str,
    },
    /// Counts that cannot come from one run.
    #[error(
        "the counts of kernel `{kernel}` contradict each other: {fma:.0} multiply-adds are more \
         than the {instructions:.0} instructions that could be ones"
    )]
    TooManyMultiplyAdds {
        /// The kernel.
        kernel: String,
        /// Multiply-adds.
        fma: f64,
        /// Compute instructions.
        instructions: f64,
    },
    /// A metric that is negative, infinite or not a number.
    #[error("the metric `{metric}` of kernel `{kernel}` is {value}, which no count can be")]
    ImpossibleMetric {
        /// The kernel.
        kernel: String,
        /// The metric.
        metric: String,
        /// Its value.
        value: f64,
    },
    /// Counts or parameters so extreme that arithmetic on them overflows.
    #[error(
        "the time of kernel `{kernel}` on `{gpu}` is not finite: its counts or the GPU's figures are absurd"
    )]
    NotFinite {
        /// The kernel.
        kernel: String,
        /// The GPU.
        gpu: String,
    },
    /// A measured time that cannot be one.
    #[error(
        "the measured time on the reference GPU `{gpu}` is {milliseconds} ms, which no time can be"
    )]
    ImpossibleReference {
        /// The reference GPU.
        gpu: String,
        /// The time.
        milliseconds: f64,
    },
}

impl From<MissingField> for ModelError {
    fn from(MissingField { gpu, field }: MissingField) -> Self {
        Self::MissingParameter { gpu, parameter: field }
    }
}

impl ModelError {
    /// Returns true if the model only lacks an input that another kernel, GPU or way of counting
    /// would have. All other errors say that an input is wrong.
    #[must_use]
    pub fn is_lack(&self) -> bool {
        matches!(
            self,
            Self::MissingMetrics { .. }
                | Self::MissingParameter { .. }
                | Self::Uncountable { .. }
                | Self::MissingCondition { .. }
                | Self::OlderGeneration { .. }
                | Self::NoCostModel
                | Self::OtherGpu { .. }
        )
    }
}

/// ``the metric `a` ``, or ``the metrics `a`, `b` ``.
fn listed(metrics: &[&'static str]) -> String {
    let names: Vec<String> = metrics.iter().map(|name| format!("`{name}`")).collect();
    let noun = if metrics.len() == 1 { "metric" } else { "metrics" };
    format!("the {noun} {}", names.join(", "))
}
