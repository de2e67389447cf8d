//! Counts: of launches, lines, stages, branches and accesses, as `gpucast profile` shows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::sources;
use gpucast_forecast::{Failure, Report, Supervisor as _};
use gpucast_model::Gpu;
use gpucast_model::sm_simulation::Analysis;
use gpucast_render::Format;
use gpucast_render::profile::{By, SourceChoice, View, document};
use pyo3::prelude::*;

use crate::arguments::Arguments;
use crate::failure;
use crate::kernel::Kernel;
use crate::settings::{Settings, chosen};
use crate::supervision::supervised;

const ROWS: [(&str, By); 5] = [
    ("launch", By::Launch),
    ("line", By::Line),
    ("stage", By::Stage),
    ("branch", By::Branch),
    ("access", By::Access),
];

const SOURCES: [(&str, SourceChoice); 3] =
    [("auto", SourceChoice::Auto), ("ptx", SourceChoice::Ptx), ("cuda", SourceChoice::Cuda)];

const FORMATS: [(&str, Format); 3] =
    [("json", Format::Json), ("text", Format::Text), ("csv", Format::Csv)];

/// What is counted: attributes of `gpucast._settings.ProfileRequest`.
#[derive(FromPyObject)]
pub(crate) struct ProfileRequest {
    gpu: String,
    /// The rows that will be asked for, since some need counts of their own.
    by: String,
    /// True if a simulation says where warps spend their time.
    stalls: bool,
}

/// Counts of a kernel's launches.
#[pyclass(frozen, module = "gpucast._gpucast")]
pub(crate) struct Profile {
    counted: Vec<Counted>,
    gpu: Gpu,
    loaded: Arc<Loaded>,
    files: BTreeMap<u32, CudaFile>,
    simulations: Vec<Option<Analysis>>,
    /// Counts that were made besides the metrics.
    extras: Extras,
    #[pyo3(get)]
    notes: Vec<String>,
}

/// Executes a kernel on copies of its arrays and counts as the profiler of a GPU would.
#[pyfunction]
pub(crate) fn profile(
    py: Python<'_>,
    kernel: &Bound<'_, Kernel>,
    arguments: Arguments,
    request: ProfileRequest,
    settings: Settings,
) -> PyResult<Profile> {
    let kernel = kernel.get();
    // Python's lock is held while arrays are copied.
    let plan = arguments.copied_into(&kernel.plan).map_err(|error| failure::raised(py, error))?;
    let done = supervised(py, &settings, |supervision| {
        let by = chosen("by", &request.by, &ROWS)?;
        let gpu = gpu_argument::find(crate::gpus::library()?, &request.gpu)?;
        let device = gpu_argument::device_model(&gpu)?;
        plan.note.iter().for_each(|note| supervision.note(note));
        let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
        let machine = settings.machine()?;
        let toolchain = supervision.toolchain();
        let loaded = &kernel.loaded;
        let machine = Machine::new(&machine, loaded, device.capability, kernels, toolchain)?;
        machine.note.iter().for_each(|note| supervision.note(note));
        let extras = Extras {
            hashes: true,
            stages: by == By::Stage,
            features: by == By::Access,
            trace: request.stalls.then(TraceLimits::default),
            ..Extras::default()
        };
        let execution = settings.execution()?;
        let rung = execution.counting;
        let caches = execution.caches;
        let (sample, supervisor) = (execution.sample(), supervision);
        let counting =
            Counting { device, machine: &machine, extras, rung, sample, caches, supervisor };
        let counted = counting::count(&plan, loaded, &execution.options, &counting)?;
        let simulation = |one: &Counted| {
            let source = sources::of_counted(one, &plan, &gpu);
            Analysis::of(&source.profile, &gpu, &source.conditions)
                .map(Some)
                .map_err(|refusal| Report::new(refusal.to_string()))
        };
        let simulations = match request.stalls {
            true => counted.iter().map(simulation).collect::<Result<Vec<_>, Report>>()?,
            false => Vec::new(),
        };
        Ok((counted, gpu, simulations, extras))
    })?;
    let (counted, gpu, simulations, extras) = done.value;
    let (loaded, files) = (Arc::clone(&kernel.loaded), kernel.files());
    Ok(Profile { counted, gpu, loaded, files, simulations, extras, notes: done.notes })
}

#[pymethods]
impl Profile {
    /// What `gpucast profile` writes: rows for each `launch`, `line`, `stage`, `branch` or
    /// `access`, as `json`, `text` or `csv`.
    fn document(
        &self,
        py: Python<'_>,
        by: &str,
        format: &str,
        metrics: &str,
        source: &str,
    ) -> PyResult<String> {
        let written = || -> Result<String, Failure> {
            let by = chosen("by", by, &ROWS)?;
            let is_counted = match by {
                By::Launch | By::Line | By::Branch => true,
                By::Stage => self.extras.stages,
                By::Access => self.extras.features,
            };
            if !is_counted {
                let report = Report::new("these rows were not counted");
                let hint = "say what a row will be when the kernel is profiled: by=\"stage\"";
                return Err(Failure::Usage(report.hint(hint)));
            }
            let usage = |error| Failure::Usage(Report::new(error));
            let view = View {
                gpu: &self.gpu,
                counted: &self.counted,
                loaded: &self.loaded,
                files: &self.files,
                metrics: &MetricChoice::parse(metrics).map_err(usage)?,
                by,
                source: chosen("source", source, &SOURCES)?,
                timing: false,
                width: None,
                simulations: &self.simulations,
                inlined: false,
            };
            Ok(document(&view, chosen("format", format, &FORMATS)?)?)
        };
        written().map_err(|failure| failure::raised(py, failure))
    }
}
