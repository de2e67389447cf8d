//! Configurations of a kernel by predicted time, as `gpucast tune` ranks them.

use std::path::PathBuf;
use std::sync::Arc;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::CudaOptions;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::tune::{Space, Tuning};
use gpucast_forecast::{Failure, LaunchOptions, Report};
use gpucast_render::Format;
use gpucast_render::tuning::{self, Tuned};
use gpucast_toolchain::compiler::Installed;
use pyo3::prelude::*;

use crate::forecast::Request;
use crate::settings::Settings;
use crate::supervision::supervised;

/// Configurations that the text shows.
const SHOWN: usize = 20;

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
        let trials = configurations.iter().map(|configuration| tuning.try_one(configuration));
        let trials = trials.collect::<Result<Vec<_>, Failure>>()?;
        let models = tuning.models();
        let tuned = Tuned {
            space: &space,
            gpu: &gpu.name,
            models: &models,
            trials: &trials,
            measured: None,
        };
        let document = tuning::document(&tuned, Format::Json, SHOWN)?;
        Ok((document, tuning::document(&tuned, Format::Text, SHOWN)?))
    })?;
    let (document, text) = done.value;
    Ok((document, text, done.notes))
}
