//! Metrics of launches under the names of Nsight Compute, as `gpucast ncu` prints them.

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::nsight::{Figures, Profiled};
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_forecast::{Failure, Report, Supervisor as _};
use gpucast_model::Needs;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::failure;
use crate::forecast::Request;
use crate::kernel::Kernel;
use crate::settings::Settings;
use crate::supervision::supervised;

/// Executes a kernel on copies of its arrays, and gives for each launch its name, and the metrics
/// that follow from its counts and its prediction; null for others.
#[pyfunction]
pub(crate) fn nsight(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    request: Request,
    metrics: Vec<String>,
    settings: Settings,
) -> PyResult<(String, Vec<String>)> {
    let kernel = kernel.get();
    // Python's lock is held while arrays are copied.
    let plan = arguments.copied_into(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let done = supervised(py, &settings, |supervision| {
        let choices = request.choices()?;
        let [gpu] = choices.gpus.as_slice() else {
            return Err(Failure::Usage(Report::new("metrics are those of one gpu=")));
        };
        gpu_argument::device_model(gpu)?;
        let [chosen] = choices.models.of(gpu)[..] else {
            return Err(Failure::Usage(Report::new("metrics are those of one model=")));
        };
        plan.note.iter().for_each(|note| supervision.note(note));
        let execution = settings.execution()?;
        let stack_bytes = execution.options.stack_bytes;
        let needs = Needs::STAGES | Needs::ORDER;
        let counts = Counts { machine: settings.machine()?, execution, needs, ..Counts::default() };
        let mut launches = Vec::new();
        let launched = sources::launched(&plan, &kernel.loaded, gpu, &counts, supervision)?;
        for (planned, one) in plan.launches.iter().zip(launched) {
            let mut source = one.source;
            source.ask(choices.timing);
            let prediction = chosen.predict(&source.profile, gpu, &source.conditions);
            let prediction = prediction
                .map_err(|error| gpucast_forecast::prediction::refusal(&error, &source))?;
            let figures = Figures::new(Profiled {
                counts: &one.counted.profile,
                gpu,
                prediction: Some(&prediction),
                dynamic_shared_bytes: planned.shared_bytes,
                stack_bytes,
            });
            let metric = |name: &String| (name.clone(), json!(figures.figure(name)));
            let metrics: Map<String, Value> = metrics.iter().map(metric).collect();
            launches.push(json!({ "kernel": prediction.kernel, "metrics": metrics }));
        }
        Ok(json!(launches).to_string())
    })?;
    Ok((done.value, done.notes))
}
