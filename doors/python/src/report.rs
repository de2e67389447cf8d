//! Everything that is known of a kernel as one page, as `gpucast report` writes it.

use gpucast_advice::place::Places;
use gpucast_advice::{Depth, Known, advise};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::prediction::{KernelView, predict, tell_stand_ins};
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_forecast::{Failure, Report, Supervisor as _};
use gpucast_model::Needs;
use gpucast_render::profile::{By, SourceChoice, View};
use gpucast_render::report::{self as rendered, Part};
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::failure;
use crate::forecast::Request;
use crate::kernel::Kernel;
use crate::settings::Settings;
use crate::supervision::supervised;

/// Executes a kernel on copies of its arrays, and gives the page about it on a GPU, with notes.
/// `name` heads the page.
#[pyfunction]
pub(crate) fn report(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    name: String,
    request: Request,
    settings: Settings,
) -> PyResult<(String, Vec<String>)> {
    let kernel = kernel.get();
    // Python's lock is held while arrays are copied.
    let plan = arguments.copied_into(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let files = kernel.files();
    let done = supervised(py, &settings, |supervision| {
        let choices = request.choices()?;
        let [gpu] = choices.gpus.as_slice() else {
            return Err(Failure::Usage(Report::new("a page is about one gpu=")));
        };
        let groups = choices.count_on.groups(vec![gpu.clone()], &choices.models)?;
        let [group] = groups.as_slice() else {
            return Err(Failure::Usage(Report::new("a page is about one gpu=")));
        };
        gpu_argument::device_model(&group.counting_gpu)?;
        plan.note.iter().for_each(|note| supervision.note(note));
        let counts = Counts {
            machine: settings.machine()?,
            execution: settings.execution()?,
            needs: group.needs | Needs::STAGES,
            ..Counts::default()
        };
        let (on, loaded) = (&group.counting_gpu, &kernel.loaded);
        let mut launched = sources::launched(&plan, loaded, on, &counts, supervision)?;
        let launches = launched.len();
        let places = Places { files: &files, loaded };
        let (mut kernels, mut advice) = (Vec::new(), Vec::new());
        for (launch, one) in launched.iter_mut().enumerate() {
            one.source.ask(choices.timing);
            let view = predict(&choices.models, &one.source, &group.gpus, None, &[])?;
            let known = Known { predictions: &view.predictions, depth: Depth::AllModels };
            advice.push(advise(&plan, places, one, launch, gpu, known)?);
            kernels.push(KernelView { launch, launches, ..view });
        }
        tell_stand_ins(&kernels, supervision);
        // A simulation of another GPU has the wrong levels of memory.
        let simulation = |kernel: &KernelView| {
            let here = kernel.predictions.iter().filter(|view| view.gpu.name == on.name);
            here.filter_map(|view| view.prediction.detail.simulation()).next().cloned()
        };
        let simulations: Vec<_> = kernels.iter().map(simulation).collect();
        let counted: Vec<_> = launched.into_iter().map(|launch| launch.counted).collect();
        let profile = View {
            gpu: on,
            counted: &counted,
            loaded,
            files: &files,
            metrics: &MetricChoice::All,
            by: By::Line,
            source: SourceChoice::Auto,
            timing: false,
            width: None,
            simulations: &simulations,
            inlined: true,
        };
        let part = Part { name: &name, profile, kernels: &kernels, advice: &advice };
        Ok(rendered::page(&[part], std::slice::from_ref(gpu)))
    })?;
    Ok((done.value, done.notes))
}
