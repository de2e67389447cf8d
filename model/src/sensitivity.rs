//! The effect of each parameter of a GPU on a predicted time.
//!
//! The measure is the elasticity d ln t / d ln p. It is −1 if twice the bandwidth halves the time,
//! and 0 if the parameter does not matter. It is taken by finite differences. Models are maxima of
//! times, which have edges. At an edge a step up and a step down differ, so both are reported
//! beside the central difference. Fields that follow from a parameter move with it, as
//! [`Gpu::with_override`] says: more SMs bring their throughput along.
//!
//! Simulations follow the order of issue on the GPU as it is, since another order is noise
//! ([`Orders`]). Counts stay as they are, too: a parameter that shapes them, such as the size of a
//! cache, moves no time here.

use serde::Serialize;

use crate::gpu::Gpu;
use crate::prediction::{Bound, Prediction};
use crate::predictor::{Conditions, Extent, Model, ModelError};
use crate::reads;
use crate::sm_simulation::Orders;
use gpucast_counters::KernelProfile;

/// The effect of one parameter on the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The field of the GPU.
    pub field: &'static str,
    /// Its value, in `unit`.
    pub value: f64,
    /// The field's first unit.
    pub unit: &'static str,
    /// d ln t / d ln p by the central difference; none if one of the sides has no time.
    pub elasticity: Option<f64>,
    /// A step down.
    pub down: Side,
    /// A step up.
    pub up: Side,
}

/// A step in one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Side {
    /// The model predicts there.
    Time {
        /// The parameter over its former value. A whole number cannot make every step: it makes the
        /// next larger one.
        factor: f64,
        /// The time there, in milliseconds.
        time_ms: f64,
        /// d ln t / d ln p from the middle to here.
        elasticity: f64,
        /// The bound of the kernel there.
        bound: Bound,
    },
    /// There is no such GPU, or the model does not predict for it.
    Refused {
        /// The reason.
        reason: String,
    },
}

impl Side {
    /// The elasticity of this side, if it has a time.
    #[must_use]
    pub fn elasticity(&self) -> Option<f64> {
        match self {
            Self::Time { elasticity, .. } => Some(*elasticity),
            Self::Refused { .. } => None,
        }
    }
}

impl Sensitivity {
    /// The larger amount of the two sides' elasticities, by which parameters are ranked.
    #[must_use]
    pub fn strength(&self) -> f64 {
        let sides = [&self.down, &self.up].into_iter().filter_map(Side::elasticity);
        sides.map(f64::abs).fold(0.0, f64::max)
    }
}

/// The sensitivities of a prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The kernel.
    pub kernel: String,
    /// The GPU.
    pub gpu: String,
    /// The model.
    pub model: &'static str,
    /// The time from which steps are made, in milliseconds.
    pub time_ms: f64,
    /// The bound of the kernel there.
    pub bound: Bound,
    /// The step, a fraction of each parameter.
    pub step: f64,
    /// The parameters that move the time, the strongest first.
    pub parameters: Vec<Sensitivity>,
    /// The parameters that have a value and move nothing, though the model reads them.
    pub unmoved: Vec<&'static str>,
    /// The parameters that have a value and that the model does not read.
    pub unread: Vec<&'static str>,
    /// The parameters that cannot be moved in either direction, alone and by so little. For
    /// example, the width of a bank is 4 or 8 bytes, and threads of an SM are those of its warps.
    pub fixed: Vec<Fixed>,
}

/// A parameter that cannot be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fixed {
    /// The field of the GPU.
    pub field: &'static str,
    /// The reason.
    pub reason: String,
}

/// The sensitivities to the given fields, or to all, with steps of the fraction `step` up and down.
///
/// # Errors
///
/// If the model cannot predict for the GPU as it is.
pub fn analyse(
    model: &dyn Model,
    profile: &KernelProfile,
    gpu: &Gpu,
    conditions: &Conditions,
    fields: &[&'static str],
    step: f64,
) -> Result<Analysis, ModelError> {
    // Times and bounds are compared.
    let followed = conditions.following(Orders::of_gpu(gpu));
    let conditions = &Conditions { extent: Extent::WithoutWarnings, ..followed };
    let middle = model.predict(profile, gpu, conditions)?;
    let fields = if fields.is_empty() { Gpu::FIELDS } else { fields };
    let (mut parameters, mut fixed) = (Vec::new(), Vec::new());
    let (mut unmoved, mut unread) = (Vec::new(), Vec::new());
    for &field in fields {
        let Some((value, unit)) = number(gpu, field) else { continue };
        let side = |direction: f64| {
            one_side(gpu, field, (value, unit), direction * step, middle.time_ms, |gpu| {
                model.predict(profile, gpu, conditions)
            })
        };
        let (down, up) = (side(-1.0), side(1.0));
        if let (Side::Refused { .. }, Side::Refused { reason }) = (&down, &up) {
            fixed.push(Fixed { field, reason: reason.clone() });
            continue;
        }
        let elasticity = match (&down, &up) {
            (
                Side::Time { factor: low, time_ms: before, .. },
                Side::Time { factor: high, time_ms: after, .. },
            ) => Some((after / before).ln() / (high / low).ln()),
            _ => None,
        };
        let sensitivity = Sensitivity { field, value, unit, elasticity, down, up };
        match sensitivity.strength() > 0.0 {
            true => parameters.push(sensitivity),
            false if reads::reaches(field, model.reads()) => unmoved.push(field),
            false => unread.push(field),
        }
    }
    parameters
        .sort_by(|a, b| b.strength().total_cmp(&a.strength()).then_with(|| a.field.cmp(b.field)));
    let Prediction { kernel, gpu, model, time_ms, bound, .. } = middle;
    Ok(Analysis { kernel, gpu, model, time_ms, bound, step, parameters, unmoved, unread, fixed })
}

/// A field that is a number with a unit.
fn number(gpu: &Gpu, field: &'static str) -> Option<(f64, &'static str)> {
    let (unit, _) = Gpu::units(field)?.first()?;
    Some((gpu.number(field)?, unit))
}

fn one_side(
    gpu: &Gpu,
    field: &'static str,
    (value, unit): (f64, &'static str),
    step: f64,
    middle_ms: f64,
    predict: impl Fn(&Gpu) -> Result<Prediction, ModelError>,
) -> Side {
    let exact = value * (1.0 + step);
    // A field of whole numbers refuses the exact step.
    let whole = if step > 0.0 { exact.ceil() } else { exact.floor() };
    let moved = |to: f64| gpu.with_override(field, &format!("{to} {unit}")).map(|gpu| (to, gpu));
    let (to, gpu) = match moved(exact).or_else(|_| moved(whole)) {
        Ok(moved) => moved,
        Err(error) => return Side::Refused { reason: error.to_string() },
    };
    match predict(&gpu) {
        Ok(Prediction { time_ms, bound, .. }) => {
            let factor = to / value;
            // Adding zero makes a negative zero a plain one.
            let elasticity = (time_ms / middle_ms).ln() / factor.ln() + 0.0;
            Side::Time { factor, time_ms, elasticity, bound }
        }
        Err(error) => Side::Refused { reason: error.to_string() },
    }
}
