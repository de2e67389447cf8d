//! Calibration: parameters that fit measured times (section 7.2).
//!
//! The Euclidean norm of the residual t − g(p) is minimised by Levenberg and Marquardt's method with
//! the symbolic Jacobian. The method finds a minimum near where it starts, so it starts from several
//! places, the same ones each time, and the best minimum is taken:
//!
//! 1. parameters in which the model is linear where all of them are zero start at the solution of
//!    that linear problem, or where each explains an equal share of the times;
//! 2. those that have no effect there, such as p_edge of equation 6, start from 1, 10, 100 and 1000
//!    over the median of the outputs.
//!
//! Standard errors are those of the linear problem at the minimum: σ²·(JᵀJ)⁻¹.

use std::collections::BTreeMap;

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt, TerminationReason};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};
use serde::Serialize;
use thiserror::Error;

use super::expression::Expression;
use super::formula::Formula;
use crate::regression::{LinearFit, RegressionError};

/// A measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What was measured, for people.
    pub name: String,
    /// Values of the formula's features, in its order.
    pub features: Vec<f64>,
    /// The output: seconds, as a rule.
    pub output: f64,
}

/// What makes long and short measurements count alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Features are divided by the output, which becomes 1: `scale_features_by_output()` of the
    /// paper, which it uses throughout. In models that are not linear it changes the model, too: the
    /// operand of tanh is a fraction of the time.
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
    /// How far it may be off with the confidence asked for, by Student's t.
    pub margin: Option<f64>,
}

/// What the model says of a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedSample {
    /// What was measured.
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
    /// In the formula's order.
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
    /// How samples were scaled.
    pub scale: Scale,
    /// The confidence of the margins.
    pub confidence: f64,
    /// Whether the method says that it has arrived at a minimum.
    pub converged: bool,
    /// Why it ended.
    pub termination: String,
}

impl Calibration {
    /// Parameters whose value is negative: no cost can be (section 4).
    pub fn negative(&self) -> impl Iterator<Item = &FittedParameter> {
        self.parameters.iter().filter(|parameter| parameter.value < 0.0)
    }
}

/// How to calibrate.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What is divided by the outputs.
    pub scale: Scale,
    /// Where parameters start that are not to start from the usual places.
    pub start: BTreeMap<String, f64>,
    /// Of margins, between 0 and 1.
    pub confidence: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { scale: Scale::default(), start: BTreeMap::new(), confidence: 0.95 }
    }
}

/// Why samples give no parameters.
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
        /// What is wrong with it.
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
    /// A starting value for what is no parameter.
    #[error("the model has no parameter `{name}` to start")]
    UnknownStart {
        /// Its name.
        name: String,
    },
    /// No starting place leads anywhere.
    #[error("the fit fails from every starting place: {why}")]
    Failed {
        /// What the method says.
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
    let problem = Prepared::new(formula, samples, settings.scale);
    let (found, termination) = best(&problem, &settings.start)?;
    let jacobian = problem.at(&found).jacobian_rows();
    let residuals: Vec<f64> = problem.at(&found).residual_values();
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
                        sample.features.iter().map(|one| one / sample.output).collect();
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
        residual: residuals.iter().map(|one| one * one).sum::<f64>().sqrt(),
        degrees_of_freedom,
        geometric_mean_error: (logarithms / count).exp(),
        mean_error: samples.iter().map(|sample| sample.error).sum::<f64>() / count,
        worst_error: samples.iter().map(|sample| sample.error).fold(0.0, f64::max),
        samples,
        scale: settings.scale,
        confidence: settings.confidence,
        converged: termination.was_successful(),
        termination: in_words(&termination),
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
        if let Some(place) = sample.features.iter().position(|one| !one.is_finite()) {
            return Err(bad(format!("no finite `{}`", formula.features[place])));
        }
    }
    // A parameter whose every cost has a feature that is always 0 cannot be found.
    let absent = |feature: &usize| samples.iter().all(|one| one.features[*feature] == 0.0);
    let costs = formula.costs(&vec![1.0; parameters], &vec![1.0; formula.features.len()]);
    for (parameter, name) in formula.parameters.iter().enumerate() {
        let of: Vec<_> = costs.iter().filter(|one| one.parameters.contains(&parameter)).collect();
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

/// The least squares problem, at some parameters.
#[derive(Clone)]
struct Problem<'a> {
    formula: &'a Formula,
    gradient: &'a [Expression],
    /// Features and output of each sample, and what its residual is multiplied with.
    samples: Vec<(Vec<f64>, f64, f64)>,
    parameters: DVector<f64>,
}

/// The least squares problem without parameters: what a [`Problem`] borrows.
struct Prepared<'a> {
    formula: &'a Formula,
    gradient: Vec<Expression>,
    samples: Vec<(Vec<f64>, f64, f64)>,
}

impl<'a> Prepared<'a> {
    fn new(formula: &'a Formula, samples: &[Sample], scale: Scale) -> Self {
        let scaled = |sample: &Sample| match scale {
            Scale::Features => {
                let features = sample.features.iter().map(|one| one / sample.output).collect();
                (features, 1.0, 1.0)
            }
            Scale::Residuals => (sample.features.clone(), sample.output, sample.output.recip()),
            Scale::None => (sample.features.clone(), sample.output, 1.0),
        };
        Self {
            formula,
            gradient: formula.gradient(),
            samples: samples.iter().map(scaled).collect(),
        }
    }

    fn at(&'a self, parameters: &[f64]) -> Problem<'a> {
        Problem {
            formula: self.formula,
            gradient: &self.gradient,
            samples: self.samples.clone(),
            parameters: DVector::from_column_slice(parameters),
        }
    }
}

impl Problem<'_> {
    /// t − g(p) of each sample.
    fn residual_values(&self) -> Vec<f64> {
        let parameters = self.parameters.as_slice();
        let of = |(features, output, weight): &(Vec<f64>, f64, f64)| {
            (output - self.formula.evaluate(parameters, features)) * weight
        };
        self.samples.iter().map(of).collect()
    }

    /// ∂g/∂p of each sample.
    fn jacobian_rows(&self) -> Vec<Vec<f64>> {
        let parameters = self.parameters.as_slice();
        let row = |(features, _, weight): &(Vec<f64>, f64, f64)| {
            let of = |one: &Expression| one.evaluate(parameters, features) * weight;
            self.gradient.iter().map(of).collect()
        };
        self.samples.iter().map(row).collect()
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        self.parameters.copy_from(parameters);
    }

    fn params(&self) -> DVector<f64> {
        self.parameters.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let residuals = self.residual_values();
        residuals.iter().all(|one| one.is_finite()).then(|| DVector::from_vec(residuals))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let rows = self.jacobian_rows();
        let columns = self.parameters.len();
        // The residual is t − g.
        let matrix = DMatrix::from_fn(rows.len(), columns, |row, column| -rows[row][column]);
        matrix.iter().all(|one| one.is_finite()).then_some(matrix)
    }
}

/// The best of the minima that the starting places lead to.
fn best(
    prepared: &Prepared<'_>,
    start: &BTreeMap<String, f64>,
) -> Result<(Vec<f64>, TerminationReason), CalibrationError> {
    let mut best: Option<(f64, Vec<f64>, TerminationReason)> = None;
    let mut why = String::new();
    for place in starting_places(prepared, start) {
        let method = LevenbergMarquardt::new().with_patience(400);
        let (problem, report) = method.minimize(prepared.at(&place));
        let found = problem.parameters.as_slice().to_vec();
        let squares: f64 = problem.residual_values().iter().map(|one| one * one).sum();
        if !squares.is_finite() || found.iter().any(|one| !one.is_finite()) {
            why = in_words(&report.termination);
            continue;
        }
        // What is only rounding better is not better.
        let is_better = best.as_ref().is_none_or(|(least, ..)| squares < least * (1.0 - 1e-9));
        if is_better {
            best = Some((squares, found, report.termination));
        }
    }
    best.map(|(_, found, termination)| (found, termination)).ok_or(CalibrationError::Failed { why })
}

/// Where the method starts: see the module's description.
fn starting_places(prepared: &Prepared<'_>, start: &BTreeMap<String, f64>) -> Vec<Vec<f64>> {
    let names = &prepared.formula.parameters;
    let zero = prepared.at(&vec![0.0; names.len()]);
    let jacobian = zero.jacobian_rows();
    let is_linear = |column: usize| {
        jacobian.iter().all(|row| row[column].is_finite())
            && jacobian.iter().any(|row| row[column] != 0.0)
    };
    let linear: Vec<usize> = (0..names.len()).filter(|&column| is_linear(column)).collect();
    let outputs: Vec<f64> =
        prepared.samples.iter().map(|(_, output, weight)| output * weight).collect();
    let typical = median(prepared.samples.iter().map(|(_, output, _)| *output));

    // An equal share of each sample for each of its costs.
    let share = |column: usize| {
        let shares = jacobian.iter().zip(&outputs).filter(|(row, _)| row[column] != 0.0);
        median(shares.map(|(row, output)| {
            let costs = linear.iter().filter(|&&other| row[other] != 0.0).count().max(1);
            output / (row[column] * costs as f64)
        }))
    };
    let mut costs = vec![vec![0.0; names.len()]];
    for &column in &linear {
        costs[0][column] = share(column);
    }
    let rows: Vec<Vec<f64>> =
        jacobian.iter().map(|row| linear.iter().map(|&column| row[column]).collect()).collect();
    if let Ok(fit) = LinearFit::new(&rows, &outputs) {
        let mut solution = vec![0.0; names.len()];
        for (&column, estimate) in linear.iter().zip(&fit.coefficients) {
            solution[column] = estimate.value;
        }
        // Costs that the linear problem makes negative begin as the small ones that they are.
        let mut positive = solution.clone();
        positive.iter_mut().for_each(|one| *one = one.abs());
        costs.insert(0, solution);
        costs.push(positive);
    }
    let others = linear.len() < names.len();
    let edges: &[f64] = if others { &[1.0, 10.0, 100.0, 1000.0] } else { &[1.0] };
    let mut places = Vec::new();
    for place in &costs {
        for edge in edges {
            let mut place = place.clone();
            for column in (0..names.len()).filter(|column| !linear.contains(column)) {
                place[column] = edge / typical;
            }
            for (column, name) in names.iter().enumerate() {
                place[column] = start.get(name).copied().unwrap_or(place[column]);
            }
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Standard errors, in the order of the parameters, and the degrees of freedom.
type StandardErrors = (Vec<Option<f64>>, usize);

/// The standard errors at a minimum. A parameter that has no effect there, such as the edge of a step
/// that is sharp already, has none; costs that cannot be told apart are an error.
fn standard_errors(
    formula: &Formula,
    jacobian: &[Vec<f64>],
    residuals: &[f64],
) -> Result<StandardErrors, CalibrationError> {
    let in_costs = |parameter: usize| {
        let ones = (vec![1.0; formula.parameters.len()], vec![1.0; formula.features.len()]);
        formula.costs(&ones.0, &ones.1).iter().any(|cost| cost.parameters.contains(&parameter))
    };
    let mut columns: Vec<usize> = (0..formula.parameters.len()).collect();
    loop {
        let rows: Vec<Vec<f64>> =
            jacobian.iter().map(|row| columns.iter().map(|&at| row[at]).collect()).collect();
        // At the minimum the linear problem changes nothing: its residual is that of the model.
        match LinearFit::new(&rows, residuals) {
            Ok(fit) => {
                let mut errors = vec![None; formula.parameters.len()];
                for (&column, estimate) in columns.iter().zip(&fit.coefficients) {
                    errors[column] = estimate.standard_error;
                }
                return Ok((errors, fit.degrees_of_freedom));
            }
            Err(RegressionError::Dependent { column }) => {
                let parameter = columns[column];
                if in_costs(parameter) {
                    let parameter = formula.parameters[parameter].clone();
                    return Err(CalibrationError::Dependent { parameter });
                }
                columns.remove(column);
            }
            Err(error) => return Err(CalibrationError::Failed { why: error.to_string() }),
        }
    }
}

fn in_words(termination: &TerminationReason) -> String {
    match termination {
        TerminationReason::ResidualsZero => "the model goes through all samples".to_owned(),
        TerminationReason::Orthogonal | TerminationReason::Converged { .. } => {
            "converged".to_owned()
        }
        TerminationReason::LostPatience => "stopped after too many steps".to_owned(),
        TerminationReason::NoImprovementPossible(_) => {
            "converged to the precision of numbers".to_owned()
        }
        TerminationReason::User(_) | TerminationReason::Numerical(_) => {
            "the model's value is not finite there".to_owned()
        }
        TerminationReason::NoParameters
        | TerminationReason::NoResiduals
        | TerminationReason::WrongDimensions(_) => "nothing to fit".to_owned(),
    }
}
