//! `gpucast report`: one HTML file with everything that is known of a kernel on GPUs.

use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument::{self, TARGET};
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::choice::model_choice;
use gpucast_forecast::input::{cuda_source, kernel_argument};
use gpucast_forecast::prediction::{KernelView, predict};
use gpucast_forecast::run::counting::{self, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::{module, sources};
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_render::profile::{By, View};
use gpucast_render::{Format, report};

use crate::cli::report::Report as Arguments;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models = model_choice::read(&arguments.models.model)?;
    let library = gpu_argument::library()?;
    let measurement = &arguments.measurement;
    let gpus = gpu_argument::find_all_at(&library, &arguments.gpus.gpu, measurement.clock)?;
    let counting_gpu = match (arguments.count_on.as_str(), gpus.as_slice()) {
        (TARGET, [only]) => only.clone(),
        (TARGET, _) => {
            let report = Report::new("a report shows the counts of one GPU");
            let hint = "with --count-on target, give one --gpu and write a report for each";
            return Err(Failure::Usage(report.hint(hint)));
        }
        (name, _) => gpu_argument::find(&library, name)?,
    };
    let device = gpu_argument::device_model(&counting_gpu)?;
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
    let trace = model_choice::reads_order(&models).then(TraceLimits::default);
    let extras = Extras { stages: true, trace, ..Extras::default() };
    let counting = Counting { device, machine: &machine, extras, supervisor: &terminal };
    let counted = counting::count(&plan, &loaded, &settings.options, &counting)?;

    let views = counted
        .iter()
        .map(|one| {
            let mut source = sources::of_counted(one, &plan, &counting_gpu);
            source.conditions.timing = measurement.timing();
            predict(&models, source, &gpus, None, &[])
        })
        .collect::<Result<Vec<KernelView>, Report>>()?;
    let profile = View {
        gpu: &counting_gpu,
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
