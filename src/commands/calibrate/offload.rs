//! `gpucast calibrate offload`: transfers and execution of an offloaded kernel.

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::calibration::SCHEMA;
use gpucast_forecast::input::{module_text, samples};
use gpucast_model::offload::{Calibration, CalibrationError};
use gpucast_model::regression::RegressionError;
use gpucast_render::{TextOrJson, calibration as shown, json};
use serde::Serialize;

use crate::cli::CalibrateOffload;
use crate::failure::{Failure, Report};
use crate::output::Output;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    model: &'static str,
    /// The GPU that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    offload: &'a Calibration,
}

pub(super) fn run(arguments: &CalibrateOffload) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    let gpu =
        arguments.gpu.as_deref().map(|name| gpu_argument::find(&library, name)).transpose()?;
    let gpu = gpu.map(|gpu| gpu.name);
    let source = module_text::read_text(&arguments.samples)?;
    let read = samples::offload(&source)?;
    let calibration = Calibration::new(&read, arguments.every.into(), arguments.confidence)
        .map_err(|error| {
            Report::new(format!("{}: {error}", source.name)).maybe_hint(hint(&error))
        })?;
    let text = match arguments.format {
        TextOrJson::Text => shown::offload(&calibration),
        TextOrJson::Json => json::document(&Document {
            schema: SCHEMA,
            model: "offload",
            gpu,
            offload: &calibration,
        })?,
    };
    Output::open(arguments.output.clone())?.write(&text)
}

fn hint(error: &CalibrationError) -> Option<String> {
    let CalibrationError::Regression { error, .. } = error else { return None };
    Some(match error {
        RegressionError::TooFewSamples { .. } => {
            "give more samples, or fit to all of them with --every 1".to_owned()
        }
        RegressionError::Dependent { .. } => {
            "transfers and work must vary, each in its own way if \
                                              only time_s is given"
                .to_owned()
        }
        RegressionError::NotFinite { .. } => return None,
    })
}
