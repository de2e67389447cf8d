//! The verdict over several GPUs: which is fastest, by how much, and what bounds each.

use gpucast_forecast::comparison::distinct;
use gpucast_forecast::prediction::{KernelView, PredictionView};
use gpucast_model::{Bound, Gpu, Model};

/// Times that differ by less than this factor are called equal.
const EQUAL: f64 = 1.01;

/// The answer for a GPU by its default model, or else by the model that the command line puts
/// first.
pub(crate) fn of_gpu<'a>(
    views: impl Iterator<Item = &'a PredictionView> + Clone,
    gpu: &Gpu,
) -> Option<&'a PredictionView> {
    let mut of_gpu = views.filter(|view| view.gpu.name == gpu.name);
    let default = <dyn Model>::default_for(gpu).name();
    of_gpu.clone().find(|view| view.prediction.model == default).or_else(|| of_gpu.next())
}

/// The answers for all GPUs of a launch, which may be counted once for each of them.
pub(crate) fn answers<'a>(kernels: &[&'a KernelView]) -> Vec<&'a PredictionView> {
    let views = kernels.iter().flat_map(|kernel| &kernel.predictions);
    let names = distinct(views.clone().map(|view| view.gpu.name.as_str()));
    let gpu = |name: &str| views.clone().find(|view| view.gpu.name == name).map(|view| &view.gpu);
    names.into_iter().filter_map(|name| of_gpu(views.clone(), gpu(name)?)).collect()
}

/// Two sentences on several answers, each for a GPU of its own; `None` for less than two.
pub(crate) fn verdict(answers: &[&PredictionView]) -> Option<String> {
    let mut sorted = answers.to_vec();
    sorted.sort_by(|a, b| a.prediction.time_ms.total_cmp(&b.prediction.time_ms));
    let [first, others @ ..] = sorted.as_slice() else { return None };
    if others.is_empty() {
        return None;
    }
    let name = |view: &PredictionView| view.gpu.display_name.clone();
    let time = |view: &PredictionView| view.prediction.time_text();
    let factor = |view: &PredictionView| view.prediction.time_ms / first.prediction.time_ms;
    let slower = others.iter().map(|view| match factor(view) {
        equal if equal < EQUAL => format!("as fast as the {} ({})", name(view), time(view)),
        factor => format!("{factor:.2} × as fast as the {} ({})", name(view), time(view)),
    });
    let slower: Vec<String> = slower.collect();
    let mut text =
        format!("The {} is fastest with {}: {}.", name(first), time(first), slower.join(", "));
    text += &bounds(&sorted);
    let models = distinct(sorted.iter().map(|view| view.prediction.model));
    if let [_, _, ..] = models.as_slice() {
        text += &format!(" The times are by {}, whose errors differ.", models.join(" and "));
    }
    Some(text)
}

/// What bounds the kernel on each GPU.
fn bounds(answers: &[&PredictionView]) -> String {
    let mut bounds: Vec<Bound> = Vec::new();
    for view in answers {
        if !bounds.contains(&view.prediction.bound) {
            bounds.push(view.prediction.bound);
        }
    }
    if let [only] = bounds.as_slice() {
        return format!(" Bound by {only} on each.");
    }
    let on = |bound: &Bound| {
        let names = answers.iter().filter(|view| view.prediction.bound == *bound);
        let names: Vec<&str> = names.map(|view| view.gpu.display_name.as_str()).collect();
        format!("by {bound} on {}", names.join(" and "))
    };
    let bounds: Vec<String> = bounds.iter().map(on).collect();
    format!(" Bound {}.", bounds.join(", "))
}
