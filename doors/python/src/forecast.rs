//! Predictions: executed, counted, and predicted as `gpucast predict` does it.

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument::{self, Running};
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::difference::{Condition, exceeded};
use gpucast_forecast::prediction::{
    KernelView, PredictionView, left_with_predictions, predict as predicted, tell_stand_ins,
};
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_forecast::{Failure, Report, what_if};
use gpucast_model::gpu::{Clock, PowerLimit};
use gpucast_model::{AskedTiming, Gpu, HierarchicalRoofline, Model as _};
use gpucast_plot::{DrawError, Scene, Theme, svg};
use gpucast_render::{Format, pictures, prediction};
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::failure;
use crate::kernel::Kernel;
use crate::settings::{Settings, chosen};
use crate::supervision::supervised;

/// What is predicted with what: attributes of `gpucast._settings.Request`.
#[derive(FromPyObject)]
pub(crate) struct Request {
    gpus: Vec<String>,
    models: Vec<String>,
    refine: Vec<String>,
    count_on: Option<String>,
    timing: Option<String>,
    clock: Option<String>,
    power_limit: Option<String>,
    what_if: Vec<String>,
}

/// The choices of a request, read.
pub(crate) struct Choices {
    pub(crate) models: Models,
    pub(crate) count_on: CountOn,
    pub(crate) timing: AskedTiming,
    pub(crate) gpus: Vec<Gpu>,
}

impl Request {
    /// Reads every choice, before anything is executed.
    pub(crate) fn choices(&self) -> Result<Choices, Failure> {
        let usage = |message: String| Failure::Usage(Report::new(message));
        let library = crate::gpus::library()?;
        let clock = self.clock.as_deref().map(str::parse::<Clock>).transpose();
        let clock = clock.map_err(|error| usage(error.to_string()))?;
        let power_limit = self.power_limit.as_deref().map(str::parse::<PowerLimit>).transpose();
        let power_limit = power_limit.map_err(|error| usage(error.to_string()))?;
        let timing = self.timing.as_deref().map(str::parse::<AskedTiming>).transpose();
        let running = Running { clock, power_limit };
        Ok(Choices {
            models: Models::read(&self.models, &self.refine)?,
            count_on: CountOn::read(library, self.count_on.as_deref())?,
            timing: timing.map_err(|error| usage(error.to_string()))?.unwrap_or_default(),
            gpus: gpu_argument::find_all_running(library, &self.gpus, running)?,
        })
    }
}

/// Predictions of a kernel's launches, with the counts that they read.
#[pyclass(frozen, module = "gpucast._gpucast")]
pub(crate) struct Forecast {
    kernels: Vec<KernelView>,
    /// Predictions with a model that knows the traffic of all levels, for rooflines.
    with_levels: Vec<KernelView>,
    #[pyo3(get)]
    notes: Vec<String>,
}

/// Executes a kernel on copies of its arrays and predicts its time.
#[pyfunction]
pub(crate) fn predict(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    request: Request,
    settings: Settings,
) -> PyResult<Forecast> {
    let kernel = kernel.get();
    // Python's lock is held while arrays are copied.
    let plan = arguments.copied_into(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let done = supervised(py, &settings, |supervision| {
        let choices = request.choices()?;
        let what_ifs = what_if::read(&request.what_if)?;
        let levels = Models::read(&[HierarchicalRoofline.name().to_owned()], &[])?;
        let (mut kernels, mut with_levels) = (Vec::new(), Vec::new());
        for group in choices.count_on.groups(choices.gpus, &choices.models)? {
            let counts = Counts {
                machine: settings.machine()?,
                execution: settings.execution()?,
                needs: group.needs,
                ..Counts::default()
            };
            let (gpu, loaded) = (&group.counting_gpu, &kernel.loaded);
            let launched = sources::launched(&plan, loaded, gpu, &counts, supervision)?;
            let launches = launched.len();
            for (launch, one) in launched.into_iter().enumerate() {
                let mut source = one.source;
                source.ask(choices.timing);
                let view = predicted(&choices.models, &source, &group.gpus, None, &what_ifs)?;
                let view = KernelView { launch, launches, ..view };
                // A roofline shows the traffic of all levels, where the counts have it.
                let again = sources::of_counted(&one.counted, &plan, gpu);
                let further = predicted(&levels, &again, &group.gpus, None, &[]).ok();
                with_levels.push(joined(&view, further));
                kernels.push(view);
            }
        }
        let kernels = left_with_predictions(kernels, supervision)?;
        tell_stand_ins(&kernels, supervision);
        Ok((kernels, with_levels))
    })?;
    let (kernels, with_levels) = done.value;
    Ok(Forecast { kernels, with_levels, notes: done.notes })
}

/// A launch with further predictions, each model once.
fn joined(view: &KernelView, further: Option<KernelView>) -> KernelView {
    let mut view = view.clone();
    for one in further.into_iter().flat_map(|further| further.predictions) {
        let is_same = |other: &PredictionView| {
            (other.prediction.model, &other.gpu.name) == (one.prediction.model, &one.gpu.name)
        };
        if !view.predictions.iter().any(is_same) {
            view.predictions.push(one);
        }
    }
    view
}

/// The pictures that predictions have.
#[derive(Clone, Copy)]
enum Picture {
    Breakdown,
    Roofline,
    Stages,
}

const PICTURES: [(&str, Picture); 3] = [
    ("breakdown", Picture::Breakdown),
    ("roofline", Picture::Roofline),
    ("stages", Picture::Stages),
];

const THEMES: [(&str, Theme); 2] = [("light", Theme::Light), ("dark", Theme::Dark)];

#[pymethods]
impl Forecast {
    /// What `gpucast predict --format json` writes.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, Format::Json)
    }

    /// What `gpucast predict` prints.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, Format::Text)
    }

    /// What `gpucast predict --format csv` writes.
    fn csv(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, Format::Csv)
    }

    /// The limits that are not kept on each GPU: as it was written, and what happened.
    fn exceeded(&self, py: Python<'_>, limits: Vec<String>) -> PyResult<Vec<(String, String)>> {
        let found = || -> Result<_, Failure> {
            let limits = limits.iter().map(|limit| Condition::holding(limit));
            let limits = limits.collect::<Result<Vec<_>, Report>>().map_err(Failure::Usage)?;
            let exceeded = exceeded(&limits, &self.kernels)?;
            Ok(exceeded.into_iter().map(|one| (one.limit.clone(), one.to_string())).collect())
        };
        found().map_err(|failure| failure::raised(py, failure))
    }

    /// A picture as SVG: `breakdown`, `roofline` or `stages`, in the theme `light` or `dark`.
    fn picture(&self, py: Python<'_>, kind: &str, theme: &str) -> PyResult<String> {
        let drawn = || -> Result<String, Failure> {
            let kernels = &self.kernels;
            let cannot = |error: DrawError| Failure::from(Report::new(error.to_string()));
            let scene: Result<Scene, DrawError> = match chosen("kind", kind, &PICTURES)? {
                Picture::Breakdown => pictures::breakdown::scene(kernels, None),
                Picture::Roofline => pictures::roofline::scene(&self.with_levels, None),
                Picture::Stages => pictures::stages::scene(kernels, None),
            };
            let theme = chosen("theme", theme, &THEMES)?;
            scene.and_then(|scene| svg::write(&scene, theme)).map_err(cannot)
        };
        drawn().map_err(|failure| failure::raised(py, failure))
    }
}

impl Forecast {
    fn document(&self, py: Python<'_>, format: Format) -> PyResult<String> {
        prediction::document(&self.kernels, &[], format)
            .map_err(|report| failure::error(py, vec![report]))
    }
}
