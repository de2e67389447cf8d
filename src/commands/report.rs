//! `gpucast report`: one HTML file with everything that is known of a kernel on GPUs.

use super::predict::predict;
use crate::cli::By;
use crate::cli::report::Report as Arguments;
use crate::counting::{self, Counting, Extras};
use crate::failure::{Failure, Report};
use crate::gpu_argument::{self, TARGET};
use crate::input::{cuda_source, kernel_argument};
use crate::machine::Machine;
use crate::metric_choice::MetricChoice;
use crate::render::diagnostic;
use crate::render::output::Output;
use crate::render::prediction::KernelView;
use crate::render::profile::View;
use crate::{execute, model_choice, report, sources};

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models = model_choice::read(&arguments.models.model)?;
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &arguments.gpus.gpu)?;
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
    let plan = kernel_argument::read(&arguments.kernel.input, &arguments.kernel.launch)?;
    diagnostic::note(plan.note.as_deref());
    let loaded = execute::load(&plan.module)?;
    let settings = execute::settings(&arguments.execution)?;
    let mut output = Output::open(Some(arguments.output.clone()))?;
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let machine = Machine::new(&arguments.machine, &loaded, device.capability, kernels)?;
    diagnostic::note(machine.note.as_deref());
    let extras = Extras { stages: true, ..Extras::default() };
    let counting = Counting { device, machine: &machine, extras };
    let counted = counting::count(&plan, &loaded, &settings, &counting)?;

    let views = counted
        .iter()
        .map(|one| {
            let source = sources::of_counted(one, &plan, &counting_gpu);
            predict(&models, source, &gpus, None, &[])
        })
        .collect::<Result<Vec<KernelView>, Report>>()?;
    let profile = View {
        gpu: &counting_gpu,
        counted: &counted,
        loaded: &loaded,
        files: &cuda_source::files(&plan, &loaded.module),
        metrics: &MetricChoice::All,
        by: By::Line,
        source: arguments.source,
        timing: false,
        width: None,
    };
    output.write(&report::page(&profile, &views, &gpus, &arguments.kernel.input)?)
}
