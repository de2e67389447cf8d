//! A kernel counted once and predicted on several GPUs: what `report` and `diff` show.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument::{self, TARGET};
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::choice::model_choice::{self, Chosen};
use gpucast_forecast::input::cuda_source::{self, CudaFile};
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::prediction::{KernelView, predict};
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::{module, sources};
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_model::{Gpu, GpuLibrary, sm_simulation};
use gpucast_render::profile::{By, SourceChoice, View};

use crate::cli::{ExecutionOptions, LaunchOptions, MachineOptions, MeasurementOptions};
use crate::failure::{Failure, Report};
use crate::output::Terminal;

/// The way in which kernels are counted and predicted.
pub(crate) struct Request<'a> {
    pub(crate) launch: &'a LaunchOptions,
    pub(crate) gpus: &'a [Gpu],
    /// The GPU whose counters are modelled.
    pub(crate) counting_gpu: &'a Gpu,
    pub(crate) models: &'a [Chosen],
    pub(crate) measurement: &'a MeasurementOptions,
    pub(crate) machine: &'a MachineOptions,
    pub(crate) execution: &'a ExecutionOptions,
    pub(crate) source_root: Option<&'a Path>,
}

/// A kernel with its counts and predictions.
pub(crate) struct Shown {
    loaded: Loaded,
    files: BTreeMap<u32, CudaFile>,
    counted: Vec<Counted>,
    /// The predictions of each launch.
    pub(crate) kernels: Vec<KernelView>,
    simulations: Vec<Option<sm_simulation::Analysis>>,
}

/// The GPU that counts are taken on: the one that is named, or the only target.
pub(crate) fn counting_gpu(library: &GpuLibrary, name: &str, gpus: &[Gpu]) -> Result<Gpu, Failure> {
    match (name, gpus) {
        (TARGET, [only]) => Ok(only.clone()),
        (TARGET, _) => {
            let report = Report::new("counts of one GPU are shown");
            let hint = "with --count-on target, give one --gpu at a time";
            Err(Failure::Usage(report.hint(hint)))
        }
        (name, _) => Ok(gpu_argument::find(library, name)?),
    }
}

impl Shown {
    /// Executes, counts and predicts.
    pub(crate) fn of(
        input: &str,
        request: &Request<'_>,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        let device = gpu_argument::device_model(request.counting_gpu)?;
        let plan = kernel_argument::read(input, &request.launch.into())?;
        plan.note.iter().for_each(|note| terminal.note(note));
        let loaded = module::load(&plan)?;
        let settings = ExecutionSettings::from(request.execution);
        let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
        let machine = Machine::new(
            &request.machine.into(),
            &loaded,
            device.capability,
            kernels,
            terminal.toolchain(),
        )?;
        machine.note.iter().for_each(|note| terminal.note(note));
        let trace = model_choice::reads_order(request.models).then(TraceLimits::default);
        let extras = Extras { stages: true, trace, ..Extras::default() };
        let counting = Counting { device, machine: &machine, extras, supervisor: terminal };
        let counted = counting::count(&plan, &loaded, &settings.options, &counting)?;
        let view = |one: &Counted| {
            let mut source = sources::of_counted(one, &plan, request.counting_gpu);
            source.conditions.timing = request.measurement.timing();
            predict(request.models, source, request.gpus, None, &[])
        };
        let kernels = counted.iter().map(view).collect::<Result<Vec<KernelView>, Report>>()?;
        let simulation = |kernel: &KernelView| {
            // A simulation of another GPU has the wrong levels of memory.
            let here =
                kernel.predictions.iter().filter(|view| view.gpu.name == request.counting_gpu.name);
            here.filter_map(|view| view.prediction.detail.simulation()).next().cloned()
        };
        Ok(Self {
            files: cuda_source::files(&plan, &loaded.module, request.source_root),
            simulations: kernels.iter().map(simulation).collect(),
            loaded,
            counted,
            kernels,
        })
    }

    /// The launches by line, for renderers.
    pub(crate) fn view<'a>(&'a self, gpu: &'a Gpu, source: SourceChoice) -> View<'a> {
        View {
            gpu,
            counted: &self.counted,
            loaded: &self.loaded,
            files: &self.files,
            metrics: &MetricChoice::All,
            by: By::Line,
            source,
            timing: false,
            width: None,
            simulations: &self.simulations,
            inlined: true,
        }
    }
}
