//! Counts as formulas in the sizes of a problem, as `gpucast counts` finds them.

use gpucast_counters::definitions::definition;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::parametric::{self, MetricFormula, Question, StoredCounts, Wanted};
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{CacheChoice, ExecutionSettings};
use gpucast_forecast::{Failure, LaunchOptions, Report, SourceText};
use gpucast_render::counts::{self as rendered, View};
use gpucast_render::{Format, counts_at as evaluated};
use pyo3::prelude::*;

use crate::failure;
use crate::settings::Settings;
use crate::supervision::supervised;

/// What formulas are looked for: attributes of `gpucast._settings.CountsRequest`.
#[derive(FromPyObject)]
pub(crate) struct CountsRequest {
    /// A launch file with parameters.
    kernel: String,
    /// Parameters with ranges of sizes, as `n=64..4096`.
    parameters: Vec<String>,
    gpu: String,
    metrics: String,
}

/// Finds formulas of counts. Gives them as JSON and as text, with notes.
#[pyfunction]
pub(crate) fn counts(
    py: Python<'_>,
    request: CountsRequest,
    settings: Settings,
) -> PyResult<(String, String, Vec<String>)> {
    let done = supervised(py, &settings, |supervision| {
        let input = &request.kernel;
        if gpucast_corpus::find(input).is_some() || !input.ends_with(".toml") {
            let report = Report::new(format!("{input} has no parameters"));
            return Err(Failure::Usage(report.hint("name a launch file with [parameters]")));
        }
        let read = |text: &String| Wanted::read("parameters", text).map_err(Failure::Usage);
        let parameters = request.parameters.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let metrics = MetricChoice::parse(&request.metrics);
        let metrics = metrics.map_err(|error| Failure::Usage(Report::new(error)))?;
        let gpu = gpu_argument::find(crate::gpus::library()?, &request.gpu)?;
        gpu_argument::device_model(&gpu)?;
        // Caches have no formulas.
        let execution = ExecutionSettings { caches: CacheChoice::None, ..settings.execution()? };
        let counts = Counts { machine: settings.machine()?, execution, ..Counts::default() };
        let found = parametric::formulas(&Question {
            parameters: &parameters,
            plan_at: &|sizes| {
                let param = sizes.iter().map(|(name, &size)| (name.clone(), size)).collect();
                let launch = LaunchOptions { param, ..LaunchOptions::default() };
                Ok(kernel_argument::read(input, &launch)?)
            },
            gpu: &gpu,
            counts: &counts,
            metrics: &metrics,
            supervisor: supervision,
        })?;
        let view = View { counts: &found, input, gpu: &gpu.name };
        let document = rendered::document(&view, Format::Json)?;
        Ok((document, rendered::document(&view, Format::Text)?))
    })?;
    let (document, text) = done.value;
    Ok((document, text, done.notes))
}

/// The units of metrics, by their names.
type Units = Vec<(&'static str, &'static str)>;

/// The values of formulas, which `counts` gave as JSON, in sizes such as `n=640,m=1280`; and the
/// units of their metrics.
#[pyfunction]
pub(crate) fn counts_at(py: Python<'_>, document: &str, sizes: &str) -> PyResult<(String, Units)> {
    let values = || -> Result<(String, Units), Failure> {
        let stored = StoredCounts::read(&SourceText::new("the formulas", document))?;
        let sizes = stored.counts.read_sizes("sizes", sizes).map_err(Failure::Usage)?;
        let at = sizes.iter().map(|sizes| stored.counts.at(sizes));
        let at = at.collect::<Result<Vec<_>, _>>()?;
        let view = evaluated::View { stored: &stored, at: &at };
        let metrics = stored.counts.launches.iter().flat_map(|launch| &launch.metrics);
        let unit = |one: &MetricFormula| Some((one.name, definition(one.name)?.unit));
        Ok((evaluated::document(&view, Format::Json)?, metrics.filter_map(unit).collect()))
    };
    values().map_err(|error| failure::raised(py, error))
}
