//! What to change in a kernel, as `gpucast advise` says it.

use gpucast_advice::place::Places;
use gpucast_advice::{Known, advise as advised};
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_model::Needs;
use gpucast_render::{TextOrJson, advice};
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::failure;
use crate::kernel::Kernel;
use crate::settings::Settings;
use crate::supervision::supervised;

/// Executes a kernel on copies of its arrays, and gives the advice as JSON and as text, with notes.
#[pyfunction]
pub(crate) fn advise(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    gpus: Vec<String>,
    settings: Settings,
) -> PyResult<(String, String, Vec<String>)> {
    let kernel = kernel.get();
    // Python's lock is held while arrays are copied.
    let plan = arguments.copied_into(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let files = kernel.files();
    let done = supervised(py, &settings, |supervision| {
        let gpus = gpu_argument::find_all(crate::gpus::library()?, &gpus)?;
        // A GPU that cannot count is refused before another one is executed for.
        for gpu in &gpus {
            gpu_argument::device_model(gpu)?;
        }
        plan.note.iter().for_each(|note| supervision.note(note));
        let counts = Counts {
            machine: settings.machine()?,
            execution: settings.execution()?,
            needs: Needs::STAGES | Needs::ORDER,
            ..Counts::default()
        };
        let loaded = &kernel.loaded;
        let mut all = Vec::new();
        for gpu in &gpus {
            let launches = sources::launched(&plan, loaded, gpu, &counts, supervision)?;
            for (index, launched) in launches.iter().enumerate() {
                let places = Places { files: &files, loaded };
                all.push(advised(&plan, places, launched, index, gpu, Known::NOTHING)?);
            }
        }
        let document = advice::document(&all, TextOrJson::Json)?;
        Ok((document, advice::document(&all, TextOrJson::Text)?))
    })?;
    let (document, text) = done.value;
    Ok((document, text, done.notes))
}
