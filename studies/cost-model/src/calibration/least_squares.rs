//! The least squares problem and its minimum.
//!
//! The Euclidean norm of the residual t − g(p) is minimised by Levenberg and Marquardt's method
//! with the symbolic Jacobian. The method finds a minimum near its start. So it starts from several
//! places, the same ones each time, and the best minimum is taken:
//!
//! 1. parameters in which the model is linear where all of them are zero start at the solution of
//!    that linear problem. Another start is where each explains an equal share of the times;
//! 2. those that have no effect there, such as p_edge of equation 6, start from 1, 10, 100 and 1000
//!    over the median of the outputs.
//!
//! Standard errors are those of the linear problem at the minimum: σ²·(JᵀJ)⁻¹.

use std::collections::BTreeMap;

use super::levenberg_marquardt::{Ending, LeastSquares, Minimum, minimise};
use super::{CalibrationError, Sample, Scale};
use crate::expression::Expression;
use crate::formula::Formula;
use crate::regression::{LinearFit, RegressionError};

/// The least squares problem of a formula and its samples.
pub(super) struct Problem<'a> {
    formula: &'a Formula,
    gradient: Vec<Expression>,
    /// Features and output of each sample, and the factor of its residual.
    samples: Vec<(Vec<f64>, f64, f64)>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(formula: &'a Formula, samples: &[Sample], scale: Scale) -> Self {
        let scaled = |sample: &Sample| match scale {
            Scale::Features => {
                let features =
                    sample.features.iter().map(|feature| feature / sample.output).collect();
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

    /// ∂g/∂p of each sample.
    pub(super) fn gradient_rows(&self, parameters: &[f64]) -> Vec<Vec<f64>> {
        let row = |(features, _, weight): &(Vec<f64>, f64, f64)| {
            let of = |one: &Expression| one.evaluate(parameters, features) * weight;
            self.gradient.iter().map(of).collect()
        };
        self.samples.iter().map(row).collect()
    }
}

impl LeastSquares for Problem<'_> {
    /// t − g(p) of each sample.
    fn residuals(&self, parameters: &[f64]) -> Vec<f64> {
        let of = |(features, output, weight): &(Vec<f64>, f64, f64)| {
            (output - self.formula.evaluate(parameters, features)) * weight
        };
        self.samples.iter().map(of).collect()
    }

    fn jacobian(&self, parameters: &[f64]) -> Vec<Vec<f64>> {
        // The residual is t − g.
        let column = |one: &Expression| {
            let of = |(features, _, weight): &(Vec<f64>, f64, f64)| {
                -one.evaluate(parameters, features) * weight
            };
            self.samples.iter().map(of).collect()
        };
        self.gradient.iter().map(column).collect()
    }
}

/// The best of the minima that the starting places lead to.
pub(super) fn best(
    problem: &Problem<'_>,
    start: &BTreeMap<String, f64>,
) -> Result<(Vec<f64>, Ending), CalibrationError> {
    let mut best: Option<Minimum> = None;
    let mut why = String::new();
    for place in starting_places(problem, start) {
        let found = minimise(problem, &place);
        if !found.squares.is_finite()
            || found.parameters.iter().any(|parameter| !parameter.is_finite())
        {
            found.ending.in_words().clone_into(&mut why);
            continue;
        }
        // A start that is better only by rounding is not better.
        let is_better =
            best.as_ref().is_none_or(|best| found.squares < best.squares * (1.0 - 1e-9));
        if is_better {
            best = Some(found);
        }
    }
    best.map(|found| (found.parameters, found.ending)).ok_or(CalibrationError::Failed { why })
}

/// The starting points of the method: see the module's description.
fn starting_places(problem: &Problem<'_>, start: &BTreeMap<String, f64>) -> Vec<Vec<f64>> {
    let names = &problem.formula.parameters;
    let jacobian = problem.gradient_rows(&vec![0.0; names.len()]);
    let is_linear = |column: usize| {
        jacobian.iter().all(|row| row[column].is_finite())
            && jacobian.iter().any(|row| row[column] != 0.0)
    };
    let linear: Vec<usize> = (0..names.len()).filter(|&column| is_linear(column)).collect();
    let outputs: Vec<f64> =
        problem.samples.iter().map(|(_, output, weight)| output * weight).collect();
    let typical = median(problem.samples.iter().map(|(_, output, _)| *output));

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
        positive.iter_mut().for_each(|value| *value = value.abs());
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

/// The standard errors at a minimum. A parameter that has no effect there, such as the edge of a
/// step that is sharp already, has none. Costs that cannot be told apart are an error.
pub(super) fn standard_errors(
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
