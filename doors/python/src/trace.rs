//! A simulated launch over time, as `gpucast trace` writes it.

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::prediction::refusal;
use gpucast_forecast::run::sources::{self, Counts, Launched};
use gpucast_forecast::{Failure, Report, Supervisor as _};
use gpucast_model::Needs;
use gpucast_model::sm_simulation::Recorded;
use gpucast_render::timeline::{self, Numbers, Selection, TimeUnit, TimelineFormat, View};
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::failure;
use crate::kernel::Kernel;
use crate::settings::{Settings, chosen};
use crate::supervision::supervised;

const FORMATS: [(&str, TimelineFormat); 2] =
    [("perfetto", TimelineFormat::Perfetto), ("json", TimelineFormat::Json)];

const UNITS: [(&str, TimeUnit); 2] = [("ns", TimeUnit::Ns), ("clocks", TimeUnit::Clocks)];

/// What is simulated and shown: attributes of `gpucast._settings.TraceRequest`.
#[derive(FromPyObject)]
pub(crate) struct TraceRequest {
    gpu: String,
    /// Which of several launches, counted from 0.
    launch: Option<usize>,
    sms: String,
    ctas: String,
    clocks: (f64, f64),
    bytes_of_cta: u64,
    format: String,
    time_unit: String,
}

impl TraceRequest {
    fn selection(&self) -> Result<Selection, Failure> {
        let numbers = |text: &str| {
            text.parse::<Numbers>().map_err(|error| Failure::Usage(Report::new(error)))
        };
        let (from, until) = self.clocks;
        let (sms, ctas) = (numbers(&self.sms)?, numbers(&self.ctas)?);
        Ok(Selection { sms, ctas, from, until, bytes_of_cta: self.bytes_of_cta })
    }

    /// The launch that is meant.
    fn chosen<'a>(&self, launches: &'a [Launched]) -> Result<&'a Launched, Failure> {
        let several = || format!("there are {} launches, and a timeline is of one", launches.len());
        let (found, message) = match (self.launch, launches) {
            (None, [only]) => (Some(only), String::new()),
            (None, _) => (None, several()),
            (Some(at), _) => (launches.get(at), format!("there is no launch {at}")),
        };
        found.ok_or_else(|| Failure::Usage(Report::new(message).hint("say which: launch=0")))
    }
}

/// Executes a kernel on copies of its arrays, simulates it, and gives the timeline's file, what is
/// in it, and notes.
#[pyfunction]
pub(crate) fn trace(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    request: TraceRequest,
    settings: Settings,
) -> PyResult<(Vec<u8>, String, Vec<String>)> {
    let kernel = kernel.get();
    // Python's lock is held while arrays are copied.
    let plan = arguments.copied_into(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let files = kernel.files();
    let done = supervised(py, &settings, |supervision| {
        let selection = request.selection()?;
        let format = chosen("format", &request.format, &FORMATS)?;
        let unit = chosen("time_unit", &request.time_unit, &UNITS)?;
        let gpu = gpu_argument::find(crate::gpus::library()?, &request.gpu)?;
        plan.note.iter().for_each(|note| supervision.note(note));
        let loaded = &kernel.loaded;
        let counts = Counts {
            machine: settings.machine()?,
            execution: settings.execution()?,
            needs: Needs::ORDER,
            ..Counts::default()
        };
        let launches = sources::launched(&plan, loaded, &gpu, &counts, supervision)?;
        let Launched { counted, source } = request.chosen(&launches)?;
        let recorded = Recorded::of(&source.profile, &gpu, &source.conditions)
            .map_err(|error| refusal(&error, source))?;
        let view = View { gpu: &gpu.name, recorded: &recorded, counted, loaded, files: &files };
        let file = timeline::document(&view, &selection, format, unit)?;
        let summary = timeline::summary(&view, &selection, file.len());
        Ok((file, summary))
    })?;
    let (file, summary) = done.value;
    Ok((file, summary, done.notes))
}
