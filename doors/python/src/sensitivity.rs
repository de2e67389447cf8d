//! The effect of a GPU's figures on a kernel's time, as `gpucast sensitivity` shows it.

use gpucast_forecast::choice::count_on::Group;
use gpucast_forecast::prediction::sensitivity::{Question, analyses, fields};
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_forecast::{Failure, Report};
use gpucast_render::{Format, sensitivity as rendered};
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::failure;
use crate::forecast::Request;
use crate::kernel::Kernel;
use crate::settings::Settings;
use crate::supervision::supervised;

/// Steps that the command line takes, too.
const STEPS: std::ops::RangeInclusive<f64> = 1e-6..=0.5;

/// Executes a kernel on copies of its arrays, and moves each figure of the GPUs by a `step`. Gives
/// the result as JSON and as text, with notes.
#[pyfunction]
pub(crate) fn sensitivity(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    request: Request,
    moved: (Vec<String>, f64),
    settings: Settings,
) -> PyResult<(String, String, Vec<String>)> {
    let kernel = kernel.get();
    // Python's lock is held while arrays are copied.
    let plan = arguments.copied_into(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let done = supervised(py, &settings, |supervision| {
        let (names, step) = &moved;
        if !STEPS.contains(step) {
            let report = Report::new("step is a fraction from 0.000001 to 0.5");
            return Err(Failure::Usage(report.hint("write step=0.01")));
        }
        let fields = fields(names)?;
        let choices = request.choices()?;
        let groups = choices.count_on.groups(choices.gpus, &choices.models)?;
        let (machine, execution) = (settings.machine()?, settings.execution()?);
        let count = |group: &Group| -> Result<Vec<Source>, Failure> {
            let counts = Counts {
                machine: machine.clone(),
                execution,
                needs: group.needs,
                ..Counts::default()
            };
            let (gpu, loaded) = (&group.counting_gpu, &kernel.loaded);
            let launches = sources::launched(&plan, loaded, gpu, &counts, supervision)?;
            let asked = |mut source: Source| {
                source.ask(choices.timing);
                source
            };
            Ok(launches.into_iter().map(|launch| asked(launch.source)).collect())
        };
        let question =
            Question { models: &choices.models, groups: &groups, fields: &fields, step: *step };
        let analyses = analyses(&question, count, supervision)?;
        let document = rendered::document(&analyses, Format::Json)?;
        Ok((document, rendered::document(&analyses, Format::Text)?))
    })?;
    let (document, text) = done.value;
    Ok((document, text, done.notes))
}
