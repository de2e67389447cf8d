//! The effect of a GPU's figures on a kernel's time, as `gpucast sensitivity` shows it.

use gpucast_forecast::run::sources::{self, Counts};
use gpucast_forecast::{Failure, Report, Supervisor as _, failure as suggestions, prediction};
use gpucast_model::Gpu;
use gpucast_model::sensitivity::{Analysis, analyse};
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

/// The fields of a GPU that have these names; all without a name.
fn fields(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    let known = || Gpu::FIELDS.iter().copied();
    let field = |name: &String| {
        known().find(|field| field == name).ok_or_else(|| {
            let report = Report::new(format!("a GPU has no field `{name}`"));
            Failure::Usage(report.maybe_hint(suggestions::suggest(name, known())))
        })
    };
    names.iter().map(field).collect()
}

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
        let mut analyses: Vec<Analysis> = Vec::new();
        let mut first_refusal = None;
        for group in choices.count_on.groups(choices.gpus, &choices.models)? {
            let counts = Counts {
                machine: settings.machine()?,
                execution: settings.execution()?,
                needs: group.needs,
                ..Counts::default()
            };
            let (gpu, loaded) = (&group.counting_gpu, &kernel.loaded);
            for one in sources::launched(&plan, loaded, gpu, &counts, supervision)? {
                let mut source = one.source;
                source.ask(choices.timing);
                for gpu in &group.gpus {
                    for chosen in choices.models.of(gpu) {
                        let answer = chosen.answer(|model| {
                            analyse(model, &source.profile, gpu, &source.conditions, &fields, *step)
                        });
                        match answer {
                            Ok(answer) => {
                                let why = answer.declined.iter();
                                why.for_each(|why| supervision.note(&why.to_string()));
                                analyses.push(answer.value);
                            }
                            Err(error) if chosen.by_name || !error.is_lack() => {
                                return Err(prediction::refusal(&error, &source).into());
                            }
                            Err(error) => {
                                first_refusal
                                    .get_or_insert_with(|| prediction::refusal(&error, &source));
                            }
                        }
                    }
                }
            }
        }
        if let (true, Some(refusal)) = (analyses.is_empty(), first_refusal) {
            return Err(refusal.into());
        }
        let document = rendered::document(&analyses, Format::Json)?;
        Ok((document, rendered::document(&analyses, Format::Text)?))
    })?;
    let (document, text) = done.value;
    Ok((document, text, done.notes))
}
