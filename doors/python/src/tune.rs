//! Configurations of a kernel by predicted time, as `gpucast tune` ranks them.

use std::path::PathBuf;
use std::sync::Arc;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::CudaOptions;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::tune::{Configuration, Parameter, Space, Trial, Tuning};
use gpucast_forecast::{Failure, LaunchOptions, Report};
use gpucast_model::Model;
use gpucast_render::Format;
use gpucast_render::tuning::{self, Tuned};
use gpucast_toolchain::compiler::Installed;
use pyo3::prelude::*;

use crate::failure::raised;
use crate::forecast::Request;
use crate::settings::Settings;
use crate::supervision::supervised;

/// Configurations that the text shows.
const SHOWN: usize = 20;

/// Configurations that are proposed for measuring, as on the command line.
const PROPOSED: usize = 5;

/// Predicts every configuration of a tuning space. Gives the ranking as JSON and as text, with
/// notes.
#[pyfunction]
pub(crate) fn tune(
    py: Python<'_>,
    space: PathBuf,
    request: Request,
    settings: Settings,
) -> PyResult<(String, String, Vec<String>)> {
    let done = supervised(py, &settings, |supervision| {
        let space = Space::read(&space)?;
        // The space comes from a file, and programs to run come from the user.
        if space.compile.is_some() {
            let report = Report::new("the tuning space names a program that compiles");
            let hint = "`gpucast tune` runs it, once `gpucast trust` trusts the file";
            return Err(Failure::Usage(report.hint(hint)));
        }
        let choices = request.choices()?;
        let [gpu] = choices.gpus.as_slice() else {
            return Err(Failure::Usage(Report::new("a space is tuned for one gpu=")));
        };
        gpu_argument::device_model(choices.count_on.of(gpu, &choices.models.of(gpu)))?;
        let compiler = Installed::new(None, supervision.stop());
        let mut cuda = CudaOptions {
            compiler: Some(Arc::new(compiler.with_packages(settings.packages.clone()))),
            ..CudaOptions::default()
        };
        cuda.suggest_for(std::slice::from_ref(gpu));
        let launch = LaunchOptions { cuda, ..LaunchOptions::default() };
        let counts = Counts {
            machine: settings.machine()?,
            execution: settings.execution()?,
            ..Counts::default()
        };
        let tuning = Tuning {
            space: &space,
            gpu,
            models: &choices.models,
            count_on: &choices.count_on,
            counts: &counts,
            timing: choices.timing,
            launch: &launch,
            supervisor: supervision,
        };
        let configurations = space.configurations()?;
        let mut trials = Vec::new();
        tuning.try_all(&configurations, None, |trial| trials.push(trial))?;
        let models = tuning.models();
        let tuned = Tuned {
            parameters: &space.parameters,
            gpu: &gpu.name,
            models: &models,
            trials: &trials,
            configurations: configurations.len(),
            propose: PROPOSED,
            measured: None,
        };
        let document = tuning::document(&tuned, Format::Json, SHOWN)?;
        Ok((document, tuning::document(&tuned, Format::Text, SHOWN)?))
    })?;
    let (document, text) = done.value;
    Ok((document, text, done.notes))
}

/// The values of a configuration, its time in milliseconds, or why it has none.
type Row = (Vec<f64>, Option<f64>, Option<String>);

/// Ranks configurations whose times are known. Gives the ranking as JSON and as text.
#[pyfunction]
pub(crate) fn ranked(
    py: Python<'_>,
    gpu: &str,
    model: &str,
    parameters: Vec<String>,
    trials: Vec<Row>,
) -> PyResult<(String, String)> {
    let ranked = || -> Result<(String, String), Failure> {
        let model = <dyn Model>::by_name(model)
            .map_err(|error| Failure::Usage(Report::new(error.to_string())))?;
        let gpu = gpu_argument::find(crate::gpus::library()?, gpu)?;
        let parameters: Vec<Parameter> =
            parameters.into_iter().map(|name| Parameter { name, values: Vec::new() }).collect();
        let trial = |(values, time_ms, error): Row| {
            let time_ms = time_ms.ok_or_else(|| error.unwrap_or_default());
            Trial::of_time(Configuration(values), model.name(), time_ms)
        };
        let trials: Vec<Trial> = trials.into_iter().map(trial).collect();
        let tuned = Tuned {
            parameters: &parameters,
            gpu: &gpu.name,
            models: &[model.name()],
            trials: &trials,
            configurations: trials.len(),
            propose: PROPOSED,
            measured: None,
        };
        let document = tuning::document(&tuned, Format::Json, SHOWN)?;
        Ok((document, tuning::document(&tuned, Format::Text, SHOWN)?))
    };
    ranked().map_err(|failure| raised(py, failure))
}
