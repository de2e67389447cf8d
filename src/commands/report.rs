//! `gpucast report`: one HTML file with everything that is known of a kernel on GPUs.

use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::input::{cuda_source, kernel_argument};
use gpucast_forecast::prediction::{KernelView, predict, tell_stand_ins};
use gpucast_forecast::run::counting::{self, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_model::Gpu;
use gpucast_render::profile::{By, View};
use gpucast_render::{Format, report};

use crate::cli::report::Report as Arguments;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models = arguments.models.read(&[])?;
    let library = gpu_argument::library()?;
    let measurement = &arguments.measurement;
    let gpus = gpu_argument::find_all_at(&library, &arguments.gpus.gpu, measurement.clock)?;
    let count_on = CountOn::read(&library, arguments.counting.count_on.as_deref())?;
    let groups = count_on.groups(gpus.clone(), &models)?;
    let [shown, others @ ..] = groups.as_slice() else {
        return Err(Failure::Usage(Report::new("give a GPU: --gpu h100-sxm")));
    };
    let counting_gpu = &shown.counting_gpu;
    let device = gpu_argument::device_model(counting_gpu)?;
    let plan = kernel_argument::read(&arguments.kernel.input, &(&arguments.kernel.launch).into())?;
    let terminal = Terminal::new(&arguments.execution, Format::Text)?;
    plan.note.iter().for_each(|note| terminal.note(note));
    let loaded = module::load(&plan)?;
    let settings = ExecutionSettings::from(&arguments.execution);
    let mut output = Output::open(Some(arguments.output.clone()))?;
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let machine = Machine::new(
        &(&arguments.machine).into(),
        &loaded,
        device.capability,
        kernels,
        terminal.toolchain(),
    )?;
    machine.note.iter().for_each(|note| terminal.note(note));
    let trace = shown.reads_order.then(TraceLimits::default);
    let extras = Extras { stages: true, trace, ..Extras::default() };
    let counting = Counting { device, machine: &machine, extras, supervisor: &terminal };
    let counted = counting::count(&plan, &loaded, &settings.options, &counting)?;

    let predicted = |mut source: Source, gpus: &[Gpu]| {
        source.conditions.timing = measurement.timing();
        predict(&models, source, gpus, None, &[])
    };
    let mut views = counted
        .iter()
        .map(|one| predicted(sources::of_counted(one, &plan, counting_gpu), &shown.gpus))
        .collect::<Result<Vec<KernelView>, Report>>()?;
    // Predictions for GPUs that count otherwise rest on counts of their own, which are not shown.
    for group in others {
        let counts = Counts {
            machine: (&arguments.machine).into(),
            execution: settings,
            stages: group.reads_stages,
            order: group.reads_order,
            ..Counts::default()
        };
        let sources = sources::counted(&plan, &group.counting_gpu, &counts, &terminal)?;
        for (view, source) in views.iter_mut().zip(sources) {
            let further = predicted(source, &group.gpus)?;
            let names: Vec<&str> = group.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
            view.origin += &format!(
                " Predictions for {} rest on counts as on a {}, which are not shown.",
                names.join(", "),
                group.counting_gpu.name
            );
            view.predictions.extend(further.predictions);
            view.declined.extend(further.declined);
        }
    }
    tell_stand_ins(&views, &terminal);
    let profile = View {
        gpu: counting_gpu,
        counted: &counted,
        loaded: &loaded,
        files: &cuda_source::files(&plan, &loaded.module, arguments.source_root.as_deref()),
        metrics: &MetricChoice::All,
        by: By::Line,
        source: arguments.source,
        timing: false,
        width: None,
    };
    output.write(&report::page(&profile, &views, &gpus, &arguments.kernel.input)?)
}
