//! The values that models read from a GPU and a profile, or the error that says which is missing.

use gpucast_counters::KernelProfile;
use gpucast_counters::device::DeviceModel;

use crate::gpu::quantity::Quantity;
use crate::gpu::{CountingError, Gpu, Sourced};
use crate::predictor::ModelError;

/// A parameter of the GPU, or an error that names its field.
pub(crate) fn parameter<T: Quantity + Copy>(
    gpu: &Gpu,
    field: &'static str,
    value: &Option<Sourced<T>>,
) -> Result<T, ModelError> {
    value
        .as_ref()
        .map(|sourced| sourced.value)
        .ok_or_else(|| ModelError::MissingParameter { gpu: gpu.name.clone(), parameter: field })
}

/// The rules that a GPU counts by, or an error that says why there are none.
pub(crate) fn device_model(gpu: &Gpu) -> Result<DeviceModel, ModelError> {
    gpu.device_model().map_err(|error| match error {
        CountingError::Missing { field } => {
            ModelError::MissingParameter { gpu: gpu.name.clone(), parameter: field }
        }
        CountingError::Impossible { .. } | CountingError::UnknownCapability { .. } => {
            ModelError::Uncountable { gpu: gpu.name.clone(), error }
        }
    })
}

/// The number of a GPU's field, or an error that names the field.
macro_rules! number {
    ($gpu:ident.$field:ident) => {
        $crate::inputs::parameter($gpu, stringify!($field), &$gpu.$field)?.0
    };
}

/// The number of a GPU's field, if it has it.
macro_rules! optional {
    ($gpu:ident.$field:ident) => {
        $gpu.$field.as_ref().map(|sourced| sourced.value.0)
    };
}

pub(crate) use {number, optional};

/// The totals of a profile over its invocations, refused where no count can have them.
#[derive(Clone, Copy)]
pub(crate) struct Totals<'a>(pub(crate) &'a KernelProfile);

impl Totals<'_> {
    /// The total of a metric, if the profile has it.
    pub(crate) fn get(self, metric: &str) -> Result<Option<f64>, ModelError> {
        let Some(figure) = self.0.metrics.get(metric) else { return Ok(None) };
        let value = figure.value.as_f64();
        if value.is_finite() && value >= 0.0 {
            Ok(Some(value * self.0.invocations as f64))
        } else {
            let (kernel, metric) = (self.0.kernel.clone(), metric.to_owned());
            Err(ModelError::ImpossibleMetric { kernel, metric, value })
        }
    }

    /// The totals of metrics, or an error that names all that are missing.
    pub(crate) fn require<const N: usize>(
        self,
        metrics: [&'static str; N],
    ) -> Result<[f64; N], ModelError> {
        let missing: Vec<&'static str> =
            metrics.into_iter().filter(|metric| !self.0.metrics.contains_key(*metric)).collect();
        if !missing.is_empty() {
            let kernel = self.0.kernel.clone();
            return Err(ModelError::MissingMetrics { kernel, metrics: missing });
        }
        let mut totals = [0.0; N];
        for (total, metric) in totals.iter_mut().zip(metrics) {
            *total = self.get(metric)?.unwrap_or_default();
        }
        Ok(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU file of this capability.
    fn gpu(capability: &str) -> Gpu {
        let source = "source = { assumed = \"for this test\" }";
        let text = format!(
            "name = \"later\"\ndisplay_name = \"Later\"\n{capability}\n\
             sm_count = {{ value = 10, unit = \"SM\", {source} }}\n\
             l2_size = {{ value = 1, unit = \"MiB\", {source} }}\n"
        );
        Gpu::from_toml(&text.replace("SOURCE", source)).unwrap()
    }

    #[test]
    fn a_capability_that_nothing_is_known_of_is_no_missing_figure() {
        let later = gpu("compute_capability = { value = \"13.0\", SOURCE }");
        let error = device_model(&later).unwrap_err();
        let ModelError::Uncountable { gpu: name, error: reason } = &error else {
            panic!("{error}")
        };
        assert_eq!(name, "later");
        assert!(matches!(reason, CountingError::UnknownCapability { .. }), "{reason}");
        let sentence = "the GPU `later` cannot be modelled: nothing is known of compute capability \
                        13.0";
        assert_eq!(error.to_string(), sentence);
        // Other models can still predict for it.
        assert!(error.is_lack());
        let error = device_model(&gpu("")).unwrap_err();
        assert!(
            matches!(&error, ModelError::MissingParameter { parameter: "compute_capability", .. }),
            "{error}"
        );
    }
}
