//! Calibration: parameters that fit measured times (section 7.2).
//!
//! `least_squares` states the problem and its starting places, and `levenberg_marquardt` finds the
//! minimum; this file holds the inputs and outputs.

mod least_squares;
mod levenberg_marquardt;

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::formula::Formula;
use least_squares::{Problem, best, standard_errors};
use levenberg_marquardt::LeastSquares as _;

/// A measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The name of the measurement, for people.
    pub name: String,
    /// Values of the formula's features, in its order.
    pub features: Vec<f64>,
    /// The output: seconds, as a rule.
    pub output: f64,
}

/// The scaling that makes long and short measurements count alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Features are divided by the output, which becomes 1: `scale_features_by_output()` of the
    /// paper, which it uses throughout. In models that are not linear it changes the model, too:
    /// the operand of tanh is a fraction of the time.
    #[default]
    Features,
    /// Residuals are divided by the output: the same for linear models, and the model itself for
    /// all.
    Residuals,
    /// Nothing is divided: long measurements count most.
    None,
}

impl Scale {
    /// Its name on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Features => "features",
            Self::Residuals => "residuals",
            Self::None => "none",
        }
    }
}

/// A parameter as it was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedParameter {
    /// `p_…`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The standard deviation of its error; none if the samples do not determine it.
    pub standard_error: Option<f64>,
    /// The half-width of its interval with the requested confidence, by Student's t.
    pub margin: Option<f64>,
}

/// The model's output for a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedSample {
    /// The name of the measurement.
    pub name: String,
    /// The output that was measured.
    pub measured: f64,
    /// The model's.
    pub modelled: f64,
    /// |modelled − measured| / measured.
    pub error: f64,
}

/// A model fitted to samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The parameters in the formula's order.
    pub parameters: Vec<FittedParameter>,
    /// The samples with the model's outputs.
    pub samples: Vec<FittedSample>,
    /// The norm of the residual at the minimum, scaled as `scale` says.
    pub residual: f64,
    /// Samples less parameters that they determine.
    pub degrees_of_freedom: usize,
    /// The geometric mean of the samples' relative errors, by which the paper reports.
    pub geometric_mean_error: f64,
    /// Their arithmetic mean.
    pub mean_error: f64,
    /// The largest of them.
    pub worst_error: f64,
    /// The scaling of the samples.
    pub scale: Scale,
    /// The confidence of the margins.
    pub confidence: f64,
    /// True if the method reports that it has arrived at a minimum.
    pub converged: bool,
    /// The reason why it ended.
    pub termination: String,
}

impl Calibration {
    /// Parameters whose value is negative: no cost can be (section 4).
    pub fn negative(&self) -> impl Iterator<Item = &FittedParameter> {
        self.parameters.iter().filter(|parameter| parameter.value < 0.0)
    }
}

/// The settings of a calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The scaling of the samples.
    pub scale: Scale,
    /// Starting values of parameters that do not start from the usual places.
    pub start: BTreeMap<String, f64>,
    /// The confidence of margins, between 0 and 1.
    pub confidence: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { scale: Scale::default(), start: BTreeMap::new(), confidence: 0.95 }
    }
}

/// The reason why samples give no parameters.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CalibrationError {
    /// The model has nothing to calibrate.
    #[error("the model has no parameter")]
    NoParameters,
    /// Fewer samples than parameters.
    #[error("the samples, {samples} in all, cannot determine {parameters} parameters")]
    TooFewSamples {
        /// Samples.
        samples: usize,
        /// Parameters.
        parameters: usize,
    },
    /// A sample that cannot be fitted.
    #[error("sample {sample} (`{name}`) has {what}")]
    BadSample {
        /// Counted from 1.
        sample: usize,
        /// Its name.
        name: String,
        /// The fault.
        what: String,
    },
    /// A feature that no sample has.
    #[error("the feature `{feature}` is 0 in all samples, so that `{parameter}` cannot be found")]
    AbsentFeature {
        /// The feature.
        feature: String,
        /// A parameter that only it would tell.
        parameter: String,
    },
    /// Parameters that cannot be told apart.
    #[error("the samples do not tell `{parameter}` from the other parameters")]
    Dependent {
        /// The parameter.
        parameter: String,
    },
    /// A starting value for a name that is no parameter.
    #[error("the model has no parameter `{name}` to start")]
    UnknownStart {
        /// Its name.
        name: String,
    },
    /// No starting place leads anywhere.
    #[error("the fit fails from every starting place: {why}")]
    Failed {
        /// The method's message.
        why: String,
    },
}

/// Fits a formula's parameters to samples.
///
/// # Errors
///
/// If the samples do not determine the parameters.
pub fn calibrate(
    formula: &Formula,
    samples: &[Sample],
    settings: &Settings,
) -> Result<Calibration, CalibrationError> {
    check(formula, samples, settings)?;
    let problem = Problem::new(formula, samples, settings.scale);
    let (found, ending) = best(&problem, &settings.start)?;
    let jacobian = problem.gradient_rows(&found);
    let residuals: Vec<f64> = problem.residuals(&found);
    let (errors, degrees_of_freedom) = standard_errors(formula, &jacobian, &residuals)?;
    let parameters = formula.parameters.iter().zip(&found).zip(&errors);
    let parameters = parameters
        .map(|((name, &value), &standard_error)| FittedParameter {
            name: name.clone(),
            value,
            standard_error,
            margin: standard_error.and_then(|error| {
                crate::regression::margin(error, degrees_of_freedom, settings.confidence)
            }),
        })
        .collect();
    let samples: Vec<FittedSample> = samples
        .iter()
        .map(|sample| {
            // The scaled features are part of the model that was fitted.
            let modelled = match settings.scale {
                Scale::Features => {
                    let scaled: Vec<f64> =
                        sample.features.iter().map(|feature| feature / sample.output).collect();
                    formula.evaluate(&found, &scaled) * sample.output
                }
                Scale::Residuals | Scale::None => formula.evaluate(&found, &sample.features),
            };
            FittedSample {
                name: sample.name.clone(),
                measured: sample.output,
                modelled,
                error: ((modelled - sample.output) / sample.output).abs(),
            }
        })
        .collect();
    let count = samples.len() as f64;
    let logarithms: f64 = samples.iter().map(|sample| sample.error.ln()).sum();
    Ok(Calibration {
        parameters,
        residual: residuals.iter().map(|residual| residual * residual).sum::<f64>().sqrt(),
        degrees_of_freedom,
        geometric_mean_error: (logarithms / count).exp(),
        mean_error: samples.iter().map(|sample| sample.error).sum::<f64>() / count,
        worst_error: samples.iter().map(|sample| sample.error).fold(0.0, f64::max),
        samples,
        scale: settings.scale,
        confidence: settings.confidence,
        converged: ending.is_minimum(),
        termination: ending.in_words().to_owned(),
    })
}

fn check(
    formula: &Formula,
    samples: &[Sample],
    settings: &Settings,
) -> Result<(), CalibrationError> {
    let parameters = formula.parameters.len();
    if parameters == 0 {
        return Err(CalibrationError::NoParameters);
    }
    if let Some(name) = settings.start.keys().find(|name| !formula.parameters.contains(name)) {
        return Err(CalibrationError::UnknownStart { name: name.clone() });
    }
    if samples.len() < parameters {
        return Err(CalibrationError::TooFewSamples { samples: samples.len(), parameters });
    }
    for (at, sample) in samples.iter().enumerate() {
        let bad = |what: String| CalibrationError::BadSample {
            sample: at + 1,
            name: sample.name.clone(),
            what,
        };
        if !(sample.output.is_finite() && sample.output > 0.0) {
            return Err(bad(format!("an output of {}, which no time can be", sample.output)));
        }
        if let Some(place) = sample.features.iter().position(|feature| !feature.is_finite()) {
            return Err(bad(format!("no finite `{}`", formula.features[place])));
        }
    }
    // A parameter whose every cost has a feature that is always 0 cannot be found.
    let absent = |feature: &usize| samples.iter().all(|sample| sample.features[*feature] == 0.0);
    let costs = formula.costs(&vec![1.0; parameters], &vec![1.0; formula.features.len()]);
    for (parameter, name) in formula.parameters.iter().enumerate() {
        let of: Vec<_> = costs.iter().filter(|cost| cost.parameters.contains(&parameter)).collect();
        let missing: Option<Vec<usize>> =
            of.iter().map(|cost| cost.features.iter().copied().find(absent)).collect();
        if let Some(&feature) = missing.as_ref().and_then(|features| features.first()) {
            return Err(CalibrationError::AbsentFeature {
                feature: formula.features[feature].to_string(),
                parameter: name.clone(),
            });
        }
    }
    Ok(())
}
