//! Executions for their results, with or without the sanitizer.

use gpucast_buffers::scalar::ElementType;
use gpucast_forecast::input::expectation;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::check::Check;
use gpucast_forecast::run::execute::{self, Unwatched};
use gpucast_forecast::run::expected::{Compared, Expected};
use gpucast_forecast::{Failure, Report, Supervisor as _};
use gpucast_interpreter::DeviceMemory;
use gpucast_judge::tolerance::{self, Overrides, Tolerance};
use gpucast_render::TextOrJson;
use gpucast_render::findings::{self, Extent};
use gpucast_render::run::{self as render, Launched};
use gpucast_sanitizer::{Checks, Sanitizer};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Arguments;
use crate::failure;
use crate::kernel::Kernel;
use crate::settings::Settings;
use crate::supervision::supervised;

/// Launches that ran to their ends.
#[pyclass(frozen, module = "gpucast._gpucast")]
pub(crate) struct Run {
    document: String,
    description: String,
    /// Name, type and contents of each buffer that is not Python's.
    buffers: Vec<(String, &'static str, Vec<u8>)>,
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl Run {
    /// What `gpucast run --format json` writes.
    fn json(&self) -> &str {
        &self.document
    }

    /// What `gpucast run` prints.
    fn text(&self) -> &str {
        &self.description
    }

    /// The buffers of a launch file or of arguments in the notation of the command line: name,
    /// type of the elements, and the bytes after the last launch.
    fn buffers<'py>(&self, py: Python<'py>) -> Vec<(&str, &'static str, Bound<'py, PyBytes>)> {
        self.buffers
            .iter()
            .map(|(name, ty, bytes)| (name.as_str(), *ty, PyBytes::new(py, bytes)))
            .collect()
    }
}

/// Findings of the sanitizer.
#[pyclass(frozen, module = "gpucast._gpucast")]
pub(crate) struct Findings {
    document: String,
    description: String,
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl Findings {
    /// What `gpucast run --check --format json` writes.
    fn json(&self) -> &str {
        &self.document
    }

    /// What `gpucast run --check` prints of the findings.
    fn text(&self) -> &str {
        &self.description
    }
}

/// The memory of a plan: Python's arrays where there are some, otherwise the plan's own buffers.
fn memory(arguments: &Arguments, plan: &Plan, kernel: &Kernel) -> Result<DeviceMemory, Failure> {
    match arguments.is_empty() {
        true => Ok(execute::memory(plan, &kernel.loaded)?),
        false => arguments.memory(plan, kernel.loaded.module.address_bits),
    }
}

/// Executes a kernel; arrays are changed in place.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    settings: Settings,
) -> PyResult<Run> {
    let kernel = kernel.get();
    let plan = arguments.lent_to(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let done = supervised(py, &settings, |supervision| {
        plan.note.iter().for_each(|note| supervision.note(note));
        let mut memory = memory(&arguments, &plan, kernel)?;
        let expected = Expected::of(&plan, &memory);
        let options = settings.execution()?.options;
        let mut watch = Unwatched::default();
        let loaded = &kernel.loaded;
        execute::execute(&plan, loaded, &mut memory, &options, supervision, &mut watch)?;
        let launched = plan.launches.iter().zip(watch.finished);
        let launched: Vec<Launched> = launched
            .map(|(launch, (_, ordered_because))| Launched {
                kernel: launch.kernel.clone(),
                grid: launch.grid,
                block: launch.block,
                invocations: launch.repeat,
                ordered_because,
                timing: None,
            })
            .collect();
        let compared = expected.compared(&memory)?;
        let document = |format| render::document(&launched, &compared, format);
        let (json, text) = (document(TextOrJson::Json)?, document(TextOrJson::Text)?);
        let own = plan.buffers.iter().filter(|_| arguments.is_empty());
        let buffers = own.map(|buffer| {
            let bytes = memory.bytes(&buffer.name).unwrap_or_default().to_vec();
            (buffer.name.clone(), buffer.ty.name(), bytes)
        });
        Ok((json, text, buffers.collect()))
    })?;
    let (document, description, buffers) = done.value;
    Ok(Run { document, description, buffers, notes: done.notes })
}

/// Executes a kernel under the sanitizer; arrays are changed in place.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    checks: &str,
    settings: Settings,
) -> PyResult<Findings> {
    let kernel = kernel.get();
    let plan = arguments.lent_to(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let done = supervised(py, &settings, |supervision| {
        let checks = checks.parse::<Checks>();
        let checks = checks.map_err(|error| Failure::Usage(Report::new(error.to_string())))?;
        plan.note.iter().for_each(|note| supervision.note(note));
        let mut memory = memory(&arguments, &plan, kernel)?;
        let options = Sanitizer::options(checks, settings.execution()?.options);
        let mut watch = Check::new(checks, &plan, &memory);
        let loaded = &kernel.loaded;
        let outcome =
            execute::execute(&plan, loaded, &mut memory, &options, supervision, &mut watch);
        let extent = match outcome {
            Ok(()) => Extent::Complete,
            Err(Failure::Explained) => Extent::EndedEarly,
            Err(failure) => return Err(failure),
        };
        let document = |format| findings::document(&watch.checked, loaded, checks, extent, format);
        Ok((document(TextOrJson::Json)?, document(TextOrJson::Text)?))
    })?;
    let (document, description) = done.value;
    Ok(Findings { document, description, notes: done.notes })
}

/// What is wrong with the elements of an array, as `gpucast run` prints it; nothing if they are as
/// they should be. The tolerance of their type holds, unless another one is given.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    name: String,
    element: &str,
    got: &[u8],
    want: &[u8],
    tolerances: (Option<f64>, Option<f64>),
) -> PyResult<Option<String>> {
    let compared = || -> Result<Option<String>, Failure> {
        let ty = ElementType::alias(element).unwrap_or(element);
        let ty = ElementType::named(ty).ok_or_else(|| {
            let report = Report::new(format!("{name} has elements that are no numbers: {element}"));
            Failure::Usage(report)
        })?;
        let (rtol, atol) = tolerances;
        let overrides = Overrides { rtol, atol };
        let Tolerance { rtol, atol } = tolerance::of_values(ty, want, overrides);
        let comparison = expectation::compare(ty, got, want, rtol, atol);
        let against = "the test's function".to_owned();
        let compared = Compared { buffer: name.clone(), against, rtol, atol, comparison };
        let text = render::document(&[], std::slice::from_ref(&compared), TextOrJson::Text)?;
        Ok((!compared.agrees()).then_some(text))
    };
    compared().map_err(|failure| failure::raised(py, failure))
}
