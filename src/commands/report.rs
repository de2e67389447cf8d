//! `gpucast report`: one HTML file with everything that is known of a kernel on GPUs.

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::prediction::tell_stand_ins;
use gpucast_render::{Format, report};

use super::counted::{Request, Shown};
use crate::cli::report::Report as Arguments;
use crate::failure::Failure;
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models = arguments.models.read(&[])?;
    let library = gpu_argument::library()?;
    let measurement = &arguments.measurement;
    let gpus = gpu_argument::find_all_at(&library, &arguments.gpus.gpu, measurement.clock)?;
    let count_on = CountOn::read(&library, arguments.counting.count_on.as_deref())?;
    let request = Request {
        launch: &arguments.kernel.launch,
        groups: &count_on.groups(gpus.clone(), &models)?,
        models: &models,
        measurement,
        machine: &arguments.machine,
        execution: &arguments.execution,
        source_root: arguments.source_root.as_deref(),
    };
    let terminal = Terminal::new(&arguments.execution, Format::Text)?;
    // An unwritable file is better found before the execution than after it.
    let mut output = Output::open(Some(arguments.output.clone()))?;
    let shown = Shown::of(&arguments.kernel.input, &request, &terminal)?;
    tell_stand_ins(&shown.kernels, &terminal);
    let view = shown.view(arguments.source);
    output.write(&report::page(&view, &shown.kernels, &gpus, &arguments.kernel.input)?)
}
