//! Stages between barriers: a picture for each kernel, GPU and model that tells them apart.

use gpucast_forecast::prediction::KernelView;
use gpucast_model::Prediction;
use gpucast_plot::pictures::stages::{Stage, Stages};
use gpucast_plot::{DrawError, Scene};

use super::breakdown::{parts, resources};
use super::{short_name, titled};

/// One below the other.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn scene(kernels: &[KernelView], title: Option<&str>) -> Result<Scene, DrawError> {
    let predictions = kernels.iter().flat_map(|kernel| &kernel.predictions);
    let predictions: Vec<&Prediction> = predictions.map(|view| &view.prediction).collect();
    let several = predictions.len() > 1;
    let scenes = predictions.into_iter().map(|prediction| {
        let mut picture = stages(prediction);
        picture.title = titled(picture.title, title, several);
        picture.scene()
    });
    Ok(Scene::stacked(scenes.collect::<Result<Vec<Scene>, DrawError>>()?))
}

/// The stages of a prediction; the whole kernel is one if the model does not part it.
pub fn stages(prediction: &Prediction) -> Stages {
    let stage = |part: &gpucast_model::Part| Stage {
        name: part.name.trim_start_matches("stage ").to_owned(),
        parts: parts(&part.components),
        time_ms: part.time_ms,
    };
    Stages {
        title: format!("Stages of {} on {}", short_name(&prediction.kernel), prediction.gpu),
        subtitle: format!(
            "How long each resource is busy by {}; the kernel takes {} and is bound by {}",
            prediction.model,
            gpucast_plot::number::duration(prediction.time_ms),
            prediction.bound
        ),
        series: resources(),
        stages: prediction.parts.iter().map(stage).collect(),
        notes: Vec::new(),
    }
}
