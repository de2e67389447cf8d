//! The parts of predicted times: how long each resource is busy.

use gpucast_forecast::prediction::KernelView;
use gpucast_model::{Bound, Component, Prediction};
use gpucast_plot::number::TimeUnit;
use gpucast_plot::pictures::bars::{Bar, Bars, Length};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, titled};

/// Resources in the order of their series.
const RESOURCES: [Bound; 6] =
    [Bound::Compute, Bound::Memory, Bound::Shared, Bound::L1, Bound::L2, Bound::Overhead];

/// The names of the resources, in the order of [`parts`].
pub(super) fn resources() -> Vec<String> {
    RESOURCES.map(|resource| resource.name().to_owned()).to_vec()
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
    // Marks lie on bars, which are as long as their parts together.
    let lengths = views().map(|view| {
        let times = components(&view.prediction).map(|component| component.time_ms);
        if overlaps(&view.prediction) { times.fold(0.0, f64::max) } else { times.sum() }
    });
    let unit = TimeUnit::of(lengths);
    let name = |prediction: &Prediction| match several_models {
        true => format!("{}, {}", prediction.gpu, prediction.model),
        false => prediction.gpu.clone(),
    };
    let mut bars = Vec::new();
    for prediction in views().map(|view| &view.prediction) {
        let kernel = short_name(&prediction.kernel);
        let times = parts(components(prediction)).into_iter().map(|ms| ms * unit.per_ms);
        let times: Vec<f64> = times.collect();
        let total = format!("{}, {}", unit.time(prediction.time_ms), prediction.bound);
        let marked = Some(prediction.time_ms * unit.per_ms);
        if !overlaps(prediction) {
            let (group, name) = (kernel, name(prediction));
            bars.push(Bar { group, name, parts: times, marked, remark: total });
            continue;
        }
        let group = format!("{kernel}, {}: {total}", name(prediction));
        for (at, (&time, resource)) in times.iter().zip(resources()).enumerate() {
            if time > 0.0 {
                let mut parts = vec![0.0; times.len()];
                parts[at] = time;
                let remark = unit.time(time / unit.per_ms);
                bars.push(Bar { group: group.clone(), name: resource, parts, marked, remark });
            }
        }
    }
    let model = match (several_models, first) {
        (false, Some(model)) => format!(" by {model}"),
        _ => String::new(),
    };
    let overlapping = views().any(|view| overlaps(&view.prediction));
    let adding_up = views().any(|view| !overlaps(&view.prediction));
    let subtitle = match (overlapping, adding_up) {
        (true, false) => {
            "Resources work at the same time: each has a bar of its own, and the time can be shorter \
             than their sum."
        }
        (false, _) => "The parts follow each other and add up to the time.",
        (true, true) => {
            "One bar: its parts add up to the time. A bar for each resource: they work at the same \
             time."
        }
    };
    Bars {
        title: "What the predicted time is made of".to_owned(),
        subtitle: format!("How long each resource is busy{model}. {subtitle}"),
        series: resources(),
        axis: format!("busy time ({})", unit.symbol),
        mark: "predicted time".to_owned(),
        bars,
        length: Length::Values,
        notes: Vec::new(),
    }
}

/// The times of all resources of a prediction.
fn components(prediction: &Prediction) -> impl Iterator<Item = &Component> {
    prediction.parts.iter().flat_map(|part| &part.components)
}

/// Returns true if the resources of a prediction work at the same time: together they take longer
/// than the whole.
fn overlaps(prediction: &Prediction) -> bool {
    let sum: f64 = components(prediction).map(|component| component.time_ms).sum();
    sum > prediction.time_ms * 1.001
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_a_part() {
        use Bound::{Compute, L1, L2, Memory, Overhead, Shared};
        let component = |resource| Component { resource, time_ms: 1.0 };
        let components = [Compute, Memory, Shared, L1, L2, Overhead].map(component);
        // `Bound::name` matches all variants: a new one does not compile until it is added there,
        // and here.
        assert_eq!(parts(&components), [1.0; 6]);
        assert_eq!(parts(&[component(L2), component(L2)]).iter().sum::<f64>(), 2.0);
    }
}
