//! `gpucast calibrate offload`: transfers and execution of an offloaded kernel.

use gpucast_forecast::calibration::offload_hint;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::{module_text, samples};
use gpucast_model::offload::Calibration;
use gpucast_render::calibration::offload_document;

use crate::cli::CalibrateOffload;
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(super) fn run(arguments: &CalibrateOffload) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    let gpu =
        arguments.gpu.as_deref().map(|name| gpu_argument::find(&library, name)).transpose()?;
    let gpu = gpu.map(|gpu| gpu.name);
    let source = module_text::read_text(&arguments.samples)?;
    let read = samples::offload(&source)?;
    let calibration = Calibration::new(&read, arguments.every.into(), arguments.confidence)
        .map_err(|error| {
            Report::new(format!("{}: {error}", source.name)).maybe_hint(offload_hint(&error))
        })?;
    let text = offload_document(&calibration, gpu.as_deref(), arguments.format)?;
    Output::open(arguments.output.clone())?.write(&text)
}
