//! A kernel counted once and predicted on several GPUs: what `report` and `diff` show.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_advice::place::Places;
use gpucast_advice::{Advice, Depth, Known, advise};
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::count_on::Group;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::input::cuda_source::{self, CudaFile};
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::prediction::{KernelView, PredictionView, predict};
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, Counts, Launched};
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_model::{Gpu, Needs, sm_simulation};
use gpucast_render::profile::{By, SourceChoice, View};

use crate::cli::{ExecutionOptions, LaunchOptions, MachineOptions, MeasurementOptions};
use crate::failure::{Failure, Report};
use crate::output::Terminal;

/// The way in which kernels are counted and predicted.
pub(crate) struct Request<'a> {
    pub(crate) launch: &'a LaunchOptions,
    /// GPUs with equal counts; those of the first group are shown.
    pub(crate) groups: &'a [Group],
    pub(crate) models: &'a Models,
    pub(crate) measurement: &'a MeasurementOptions,
    pub(crate) machine: &'a MachineOptions,
    pub(crate) execution: &'a ExecutionOptions,
    pub(crate) source_root: Option<&'a Path>,
    /// The models that are asked what a change of the kernel would gain.
    pub(crate) depth: Depth,
}

/// A kernel with its counts and predictions.
pub(crate) struct Shown {
    /// The GPU whose counters are modelled.
    counting_gpu: Gpu,
    loaded: Loaded,
    files: BTreeMap<u32, CudaFile>,
    counted: Vec<Counted>,
    /// The predictions of each launch.
    pub(crate) kernels: Vec<KernelView>,
    /// The advice on each launch on each GPU.
    pub(crate) advice: Vec<Advice>,
    simulations: Vec<Option<sm_simulation::Analysis>>,
}

impl Shown {
    /// Executes, counts and predicts.
    pub(crate) fn of(
        input: &str,
        request: &Request<'_>,
        terminal: &Terminal,
    ) -> Result<Self, Failure> {
        let [shown, others @ ..] = request.groups else {
            return Err(Failure::Usage(Report::new("give a GPU: --gpu h100-sxm")));
        };
        let counting_gpu = &shown.counting_gpu;
        let device = gpu_argument::device_model(counting_gpu)?;
        let gpus: Vec<Gpu> =
            request.groups.iter().flat_map(|group| group.gpus.iter().cloned()).collect();
        let plan = kernel_argument::read(input, &request.launch.on(&gpus))?;
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
        let extras = Extras::of(shown.needs | Needs::STAGES);
        let rung = settings.counting;
        let caches = settings.caches;
        let (sample, supervisor) = (settings.sample(), terminal);
        let counting =
            Counting { device, machine: &machine, extras, rung, sample, caches, supervisor };
        let counted = counting::count(&plan, &loaded, &settings.options, &counting)?;
        let files = cuda_source::files(&plan, &loaded.module, request.source_root);
        let places = Places { files: &files, loaded: &loaded };
        let mut advice = Vec::new();
        let launches = counted.len();
        let mut predicted = |at: usize, one: &mut Launched, gpus: &[Gpu]| {
            one.source.ask(request.measurement.timing());
            let view = predict(request.models, &one.source, gpus, None, &[])?;
            // Devices that cannot be counted on have no advice.
            for gpu in gpus.iter().filter(|gpu| gpu.device_model().is_ok()) {
                let of_gpu =
                    view.predictions.iter().filter(|prediction| prediction.gpu.name == gpu.name);
                let predictions: Vec<PredictionView> = of_gpu.cloned().collect();
                let known = Known { predictions: &predictions, depth: request.depth };
                advice.push(advise(&plan, places, one, at, gpu, known)?);
            }
            Ok::<_, Report>(KernelView { launch: at, launches, ..view })
        };
        let mut launched: Vec<Launched> = counted
            .into_iter()
            .map(|launch| Launched {
                source: sources::of_counted(&launch, &plan, counting_gpu),
                counted: launch,
            })
            .collect();
        let mut kernels = launched
            .iter_mut()
            .enumerate()
            .map(|(at, one)| predicted(at, one, &shown.gpus))
            .collect::<Result<Vec<KernelView>, Report>>()?;
        // Predictions for GPUs that count otherwise rest on counts of their own, which are not
        // shown.
        for group in others {
            let counts = Counts {
                machine: request.machine.into(),
                execution: ExecutionSettings::from(request.execution),
                needs: group.needs | Needs::STAGES,
                ..Counts::default()
            };
            let mut further =
                sources::launched(&plan, &loaded, &group.counting_gpu, &counts, terminal)?;
            for (at, (view, one)) in kernels.iter_mut().zip(&mut further).enumerate() {
                let further = predicted(at, one, &group.gpus)?;
                let names: Vec<&str> = group.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
                view.origin += &format!(
                    " Predictions for {} rest on counts as on the {}, which are not shown.",
                    names.join(", "),
                    group.counting_gpu.name
                );
                view.predictions.extend(further.predictions);
                view.declined.extend(further.declined);
            }
        }
        let simulation = |kernel: &KernelView| {
            // A simulation of another GPU has the wrong levels of memory.
            let here = kernel.predictions.iter().filter(|view| view.gpu.name == counting_gpu.name);
            here.filter_map(|view| view.prediction.detail.simulation()).next().cloned()
        };
        Ok(Self {
            simulations: kernels.iter().map(simulation).collect(),
            counting_gpu: counting_gpu.clone(),
            counted: launched.into_iter().map(|launch| launch.counted).collect(),
            loaded,
            files,
            kernels,
            advice,
        })
    }

    /// The launches by line, for renderers.
    pub(crate) fn view(&self, source: SourceChoice) -> View<'_> {
        View {
            gpu: &self.counting_gpu,
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
