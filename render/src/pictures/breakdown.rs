//! The parts of predicted times: how long each resource is busy.

use gpucast_forecast::prediction::KernelView;
use gpucast_model::{Bound, Component, Prediction};
use gpucast_plot::number::{TimeUnit, duration};
use gpucast_plot::pictures::bars::{Bar, Bars, Length};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, titled};

/// Resources in the order of their series.
const RESOURCES: [Bound; 6] =
    [Bound::Compute, Bound::Memory, Bound::Shared, Bound::L1, Bound::L2, Bound::Overhead];

/// The names of the resources, in the order of [`parts`].
pub(super) fn resources() -> Vec<String> {
    RESOURCES.map(|resource| name(resource).to_owned()).to_vec()
}

/// A resource in words.
pub fn name(bound: Bound) -> &'static str {
    match bound {
        Bound::Compute => "instructions",
        Bound::Memory => "device memory",
        Bound::Shared => "shared memory",
        Bound::L1 => "first-level caches",
        Bound::L2 => "L2",
        Bound::Overhead => "launch and transfers",
    }
}

/// Milliseconds of each resource.
pub(super) fn parts<'a>(components: impl IntoIterator<Item = &'a Component>) -> Vec<f64> {
    let mut parts = vec![0.0; RESOURCES.len()];
    for component in components {
        for (part, resource) in parts.iter_mut().zip(RESOURCES) {
            if resource == component.resource {
                *part += component.time_ms;
            }
        }
    }
    parts
}

/// All predictions.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn scene(kernels: &[KernelView], title: Option<&str>) -> Result<Scene, DrawError> {
    let mut picture = bars(kernels);
    picture.title = titled(picture.title, title, false);
    picture.scene()
}

/// A bar for each kernel, GPU and model.
pub fn bars(kernels: &[KernelView]) -> Bars {
    let views = || kernels.iter().flat_map(|kernel| &kernel.predictions);
    let first = views().next().map(|view| view.prediction.model);
    let several_models = views().any(|view| Some(view.prediction.model) != first);
    // Bars are as long as their parts together, and marks lie on them.
    let lengths = views().map(|view| {
        let components = view.prediction.parts.iter().flat_map(|part| &part.components);
        components.map(|component| component.time_ms).sum::<f64>()
    });
    let unit = TimeUnit::of(lengths);
    let bar = |prediction: &Prediction| Bar {
        group: short_name(&prediction.kernel),
        name: match several_models {
            true => format!("{}, {}", prediction.gpu, prediction.model),
            false => prediction.gpu.clone(),
        },
        parts: parts(prediction.parts.iter().flat_map(|part| &part.components))
            .into_iter()
            .map(|time_ms| time_ms * unit.per_ms)
            .collect(),
        marked: Some(prediction.time_ms * unit.per_ms),
        remark: format!("{}, {}", duration(prediction.time_ms), name(prediction.bound)),
    };
    let model = match (several_models, first) {
        (false, Some(model)) => format!(" by {model}"),
        _ => String::new(),
    };
    Bars {
        title: "What the predicted time is made of".to_owned(),
        subtitle: format!(
            "How long each resource is busy{model}. Resources work at the same time, so that a time can be \
             shorter than their sum."
        ),
        series: resources(),
        axis: format!("busy time, stacked ({})", unit.symbol),
        mark: "predicted time".to_owned(),
        bars: views().map(|view| bar(&view.prediction)).collect(),
        length: Length::Values,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_a_part() {
        use Bound::{Compute, L1, L2, Memory, Overhead, Shared};
        let component = |resource| Component { resource, time_ms: 1.0 };
        let components = [Compute, Memory, Shared, L1, L2, Overhead].map(component);
        // `name` matches all variants: a new one does not compile until it is added there, and
        // here.
        assert_eq!(parts(&components), [1.0; 6]);
        assert_eq!(parts(&[component(L2), component(L2)]).iter().sum::<f64>(), 2.0);
    }
}
