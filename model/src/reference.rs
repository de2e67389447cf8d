//! Predictions against measurements: equations 5.12 and 5.13 of Konstantinidis 2017.

use gpucast_counters::KernelProfile;

use crate::gpu::Gpu;
use crate::prediction::Prediction;
use crate::predictor::{Conditions, Model, ModelError};
use crate::warning::Warning;

/// The relative error of a predicted time, eq. 5.12, as a fraction: negative when the kernel ran
/// longer than predicted. The times share a unit.
#[must_use]
pub fn error_fraction(predicted: f64, measured: f64) -> f64 {
    (predicted - measured) / measured
}

/// E_util, eq. 5.13: measured over predicted time on the reference GPU.
#[must_use]
pub fn utilisation_factor(measured: f64, predicted: f64) -> f64 {
    measured / predicted
}

/// A GPU on which the kernel's time is known.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'a> {
    /// The GPU.
    pub gpu: &'a Gpu,
    /// The time of all invocations that the profile covers.
    pub measured_ms: f64,
}

/// Predicts, and corrects the time by the model's error on the reference GPU.
///
/// The prediction gains the symbols `E_util` and `T_uncorrected_ms`, and a warning.
///
/// # Errors
///
/// As [`Model::predict`], on either GPU, and when the measured time is not positive.
pub fn predict_with_reference(
    model: &dyn Model,
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
    reference: &Reference<'_>,
) -> Result<Prediction, ModelError> {
    if !(reference.measured_ms.is_finite() && reference.measured_ms > 0.0) {
        return Err(ModelError::ImpossibleReference {
            gpu: reference.gpu.name.clone(),
            milliseconds: reference.measured_ms,
        });
    }
    let on_reference = model.predict(profile, reference.gpu, conditions)?;
    let factor = utilisation_factor(reference.measured_ms, on_reference.time_ms);
    let mut prediction = model.predict(profile, gpu, conditions)?;
    prediction.intermediate.push("T_uncorrected_ms", prediction.time_ms, "ms");
    prediction.intermediate.push("E_util", factor, "");
    prediction.scale_time(factor);
    prediction.warnings.push(Warning::Corrected { reference: reference.gpu.name.clone(), factor });
    Ok(prediction)
}
