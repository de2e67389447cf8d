//! What is left of a prediction when its launch has ended.

use gpucast_model::Prediction;

/// The predicted time of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Predicted {
    pub(crate) time_ms: f64,
    pub(crate) bound: &'static str,
}

impl Predicted {
    pub(crate) fn of(prediction: &Prediction) -> Self {
        Self { time_ms: prediction.time_ms, bound: prediction.bound.name() }
    }
}
