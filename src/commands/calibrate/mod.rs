//! `gpucast calibrate`: fits a model to measurements.

mod cost;
mod offload;

use crate::cli::Calibrate;
use crate::failure::Failure;

pub(crate) fn run(command: &Calibrate) -> Result<(), Failure> {
    match command {
        Calibrate::Offload(arguments) => offload::run(arguments),
        Calibrate::Cost(arguments) => cost::run(arguments),
    }
}
