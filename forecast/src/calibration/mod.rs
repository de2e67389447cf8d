//! Calibrations: the parameters of a model from samples, which a file gives or measured kernels
//! make.
//!
//! | module | idea |
//! |---|---|
//! | `form` | a cost model whose parameters are to be found |
//! | `gathering` | samples of a file |
//! | `measuring` | samples of kernels that are timed |

mod form;
mod gathering;
mod measuring;

use gpucast_model::cost_model::CalibrationError;
use gpucast_model::offload;
use gpucast_model::regression::RegressionError;

pub use form::CostForm;
pub use gathering::Gathering;
pub use measuring::{LeftOut, Made, Measurable, ModelTimer, Sampling, Timed, Timer};

/// Advice on a cost model that cannot be calibrated.
pub fn hint(error: &CalibrationError) -> Option<String> {
    Some(match error {
        CalibrationError::TooFewSamples { .. } => {
            "measure more kernels: at least one for each parameter, better several".to_owned()
        }
        CalibrationError::AbsentFeature { .. } => {
            "measure a kernel that has it, or leave the feature out".to_owned()
        }
        CalibrationError::Dependent { .. } => {
            "measure kernels in which features vary, each in its own way".to_owned()
        }
        CalibrationError::Failed { .. } => {
            "start parameters near their values with --start p_x=1e-12".to_owned()
        }
        CalibrationError::NoParameters => "parameters begin with p_".to_owned(),
        CalibrationError::UnknownStart { .. } | CalibrationError::BadSample { .. } => return None,
    })
}

/// Advice on a model of transfers that cannot be calibrated.
pub fn offload_hint(error: &offload::CalibrationError) -> Option<String> {
    let offload::CalibrationError::Regression { error, .. } = error else { return None };
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
