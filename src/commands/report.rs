//! `gpucast report`: one HTML file with everything that is known of kernels on GPUs.

use gpucast_advice::Depth;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::prediction::tell_stand_ins;
use gpucast_render::report::Part;
use gpucast_render::{Format, report};

use super::counted::{Request, Shown};
use super::usual_gpu;
use crate::cli::report::Report as Arguments;
use crate::failure::Failure;
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models = arguments.models.read(&[])?;
    let inputs = arguments.kernel.expanded()?;
    let library = gpu_argument::library()?;
    let measurement = &arguments.measurement;
    let gpus = gpu_argument::find_all_running(
        &library,
        &usual_gpu::or_usual(&arguments.gpus.gpu),
        measurement.running(),
    )?;
    let count_on = CountOn::read(&library, arguments.counting.count_on.as_deref())?;
    let request = Request {
        launch: &arguments.kernel.launch,
        groups: &count_on.groups(gpus.clone(), &models)?,
        models: &models,
        measurement,
        machine: &arguments.machine,
        execution: &arguments.execution,
        source_root: arguments.source_root.as_deref(),
        depth: Depth::AllModels,
    };
    let terminal = Terminal::new(&arguments.execution, Format::Text)?;
    // An unwritable file is better found before the execution than after it.
    let mut output = Output::open(Some(arguments.output.clone()))?;
    let mut all = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        if inputs.len() > 1 {
            terminal.part(index, inputs.len());
        }
        let shown = Shown::of(input, &request, &terminal)?;
        tell_stand_ins(&shown.kernels, &terminal);
        all.push(shown);
    }
    let parts = all.iter().zip(&inputs).map(|(shown, input)| Part {
        name: input,
        profile: shown.view(arguments.source),
        kernels: &shown.kernels,
        advice: &shown.advice,
    });
    output.write(&report::page(&parts.collect::<Vec<Part<'_>>>(), &gpus))
}
