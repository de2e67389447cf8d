//! The cost models of J. D. Stevens and A. Klöckner, "A mechanism for balancing accuracy and scope
//! in cross-machine black-box GPU performance modeling", IJHPCA 2020.
//!
//! A model is an expression that its user writes, in features of a kernel and parameters of a GPU
//! (section 6). Mostly it is a sum of counts, each with its cost. Parameters are calibrated by
//! measured times of other kernels on the same GPU (section 7). So the GPU itself stays a black
//! box: nothing of its description is read.
//!
//! | module | holds |
//! |---|---|
//! | `parser`, `feature_parser` | the language of model strings |
//! | `expression`, `derivative` | values and symbolic derivatives |
//! | `formula` | an expression with its names, and what its value is made of |
//! | `feature`, `matching` | features by name, and what they count in a kernel |
//! | `calibration` | parameters from measurements |
//! | `file` | calibrated models as TOML |
//! | `regression` | linear least squares, with the uncertainty of coefficients |
//!
//! This crate reads features of kernels (`gpucast_counters::features`); it knows neither GPUs nor
//! other models.

mod calibration;
mod derivative;
mod expression;
mod feature;
mod feature_parser;
mod file;
mod formula;
mod matching;
mod parser;
mod qr;
pub mod regression;

pub use calibration::{
    Calibration, CalibrationError, FittedParameter, FittedSample, Sample, Scale, Settings,
    calibrate,
};
pub use expression::{Expression, Function, Role, Sign};
pub use feature::{
    AccessFeature, Bound as FeatureBound, Constraint, Feature, MachineAccessFeature,
    OperationFeature, Relation,
};
pub use file::{BUILT_IN, CostModelFile, ModelFileError, Parameter, SCHEMA};
pub use formula::{Cost, Formula};
pub use matching::{FeatureError, Names};
pub use parser::ExpressionError;

/// Calibrated models, and the names that their features use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostModels {
    /// One for each GPU that is to be predicted.
    pub files: Vec<CostModelFile>,
    /// Sizes and tags.
    pub names: Names,
}

#[cfg(test)]
mod tests;
