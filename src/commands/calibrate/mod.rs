//! `gpucast calibrate`: fits a model to measurements.

mod cost;
mod offload;

use crate::cli::Calibrate;
use crate::failure::Failure;

/// What calibrations are, so that predictions can tell them from other files.
pub(crate) const SCHEMA: &str = "gpucast.calibration/1";

pub(crate) fn run(command: &Calibrate) -> Result<(), Failure> {
    match command {
        Calibrate::Offload(arguments) => offload::run(arguments),
        Calibrate::Cost(arguments) => cost::run(arguments),
    }
}
