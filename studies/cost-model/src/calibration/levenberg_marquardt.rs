//! The method of Levenberg and Marquardt for nonlinear least squares.
//!
//! Each step solves the linear problem at hand with a damping λ. A large λ makes the step short and
//! turns it downhill. λ follows the gain of the last step over the gain that the linear problem
//! promised (Nielsen 1999, "Damping parameter in Marquardt's method", IMM-REP-1999-05). Parameters
//! are scaled by the longest column of the Jacobian so far (Moré 1978); their units do not matter.

use crate::qr::{Decomposition, dot, norm};

/// A sum of squares to be minimised.
pub(super) trait LeastSquares {
    /// The residuals at some parameters.
    fn residuals(&self, parameters: &[f64]) -> Vec<f64>;

    /// The derivatives of the residuals there, a column per parameter.
    fn jacobian(&self, parameters: &[f64]) -> Vec<Vec<f64>>;
}

/// The place that the method has come to.
pub(super) struct Minimum {
    /// The parameters.
    pub(super) parameters: Vec<f64>,
    /// The sum of the squares of the residuals.
    pub(super) squares: f64,
    /// The reason why it stopped there.
    pub(super) ending: Ending,
}

/// The reason why the method stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// All residuals are zero.
    Exact,
    /// Steps, gains or slopes are as small as rounding makes them.
    Converged,
    /// No step in any direction is downhill any more.
    NoImprovement,
    /// [`MOST_STEPS`] were not enough.
    TooManySteps,
    /// The starting place has values that are not finite.
    NotFinite,
}

impl Ending {
    /// Returns true if the place is a minimum.
    pub(super) fn is_minimum(self) -> bool {
        match self {
            Self::Exact | Self::Converged => true,
            Self::NoImprovement | Self::TooManySteps | Self::NotFinite => false,
        }
    }

    /// The reason for people.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Exact => "the model goes through all samples",
            Self::Converged => "converged",
            Self::NoImprovement => "converged to the precision of numbers",
            Self::TooManySteps => "stopped after too many steps",
            Self::NotFinite => "the model's value is not finite there",
        }
    }
}

/// Relative changes below this are rounding.
const ROUNDING: f64 = 30.0 * f64::EPSILON;
/// Steps for each parameter, and for one more.
const MOST_STEPS: usize = 400;
/// The damping of the first step, relative to the scaled problem.
const FIRST_DAMPING: f64 = 1e-3;
/// A damping beyond which steps change nothing.
const MOST_DAMPING: f64 = 1e40;

/// Walks downhill from `start`.
pub(super) fn minimise(problem: &impl LeastSquares, start: &[f64]) -> Minimum {
    let mut parameters = start.to_vec();
    let mut residuals = problem.residuals(&parameters);
    let mut squares = dot(&residuals, &residuals);
    let mut jacobian = problem.jacobian(&parameters);
    let mut scale = vec![0.0; parameters.len()];
    let (mut damping, mut growth) = (FIRST_DAMPING, 2.0);
    let mut ending = Ending::TooManySteps;
    for _ in 0..MOST_STEPS * (parameters.len() + 1) {
        if !squares.is_finite() || jacobian.iter().flatten().any(|value| !value.is_finite()) {
            ending = Ending::NotFinite;
            break;
        }
        if squares == 0.0 {
            ending = Ending::Exact;
            break;
        }
        let lengths: Vec<f64> = jacobian.iter().map(|column| norm(column)).collect();
        scale.iter_mut().zip(&lengths).for_each(|(scale, &length)| *scale = length.max(*scale));
        if is_flat(&jacobian, &lengths, &residuals) {
            ending = Ending::Converged;
            break;
        }
        let step = step(&jacobian, &residuals, &scale, damping);
        let candidate: Vec<f64> = parameters.iter().zip(&step).map(|(at, by)| at + by).collect();
        let new_residuals = problem.residuals(&candidate);
        let new_squares = dot(&new_residuals, &new_residuals);
        let promised = squares - squares_after(&jacobian, &residuals, &step);
        let gained = squares - new_squares;
        let is_small = scaled_norm(&step, &scale) <= ROUNDING * scaled_norm(&parameters, &scale);
        let gains_little = gained.abs().max(promised) <= ROUNDING * squares;
        if new_squares < squares {
            let ratio = gained / promised;
            damping *= (1.0 - (2.0 * ratio - 1.0).powi(3)).clamp(1.0 / 3.0, 2.0);
            growth = 2.0;
            (parameters, residuals, squares) = (candidate, new_residuals, new_squares);
            jacobian = problem.jacobian(&parameters);
        } else {
            damping *= growth;
            growth *= 2.0;
        }
        if is_small || gains_little {
            ending = Ending::Converged;
            break;
        }
        if damping > MOST_DAMPING {
            ending = Ending::NoImprovement;
            break;
        }
    }
    Minimum { parameters, squares, ending }
}

/// Returns true if the residuals are orthogonal to every column of the Jacobian.
fn is_flat(jacobian: &[Vec<f64>], lengths: &[f64], residuals: &[f64]) -> bool {
    let whole = norm(residuals);
    jacobian
        .iter()
        .zip(lengths)
        .all(|(column, length)| dot(column, residuals).abs() <= f64::EPSILON * length * whole)
}

/// The step of the linear problem under a damping: the minimum of ‖J·step + r‖² + λ·‖D·step‖².
fn step(jacobian: &[Vec<f64>], residuals: &[f64], scale: &[f64], damping: f64) -> Vec<f64> {
    let size = jacobian.len();
    let mut columns = jacobian.to_vec();
    for (at, (column, &scale)) in columns.iter_mut().zip(scale).enumerate() {
        column.resize(residuals.len() + size, 0.0);
        // A parameter without any effect stays where it is.
        let scale = if scale > 0.0 { scale } else { 1.0 };
        column[residuals.len() + at] = damping.sqrt() * scale;
    }
    let mut downhill: Vec<f64> = residuals.iter().map(|residual| -residual).collect();
    downhill.resize(residuals.len() + size, 0.0);
    Decomposition::new(columns, downhill).solution()
}

/// ‖J·step + r‖².
fn squares_after(jacobian: &[Vec<f64>], residuals: &[f64], step: &[f64]) -> f64 {
    let mut linear = residuals.to_vec();
    for (column, by) in jacobian.iter().zip(step) {
        linear.iter_mut().zip(column).for_each(|(one, slope)| *one += slope * by);
    }
    dot(&linear, &linear)
}

/// The length of a vector of parameters in the units of the scale.
fn scaled_norm(vector: &[f64], scale: &[f64]) -> f64 {
    let scaled: Vec<f64> = vector.iter().zip(scale).map(|(one, scale)| one * scale).collect();
    norm(&scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley: 10·(y − x²) and 1 − x.
    struct Valley;

    impl LeastSquares for Valley {
        fn residuals(&self, at: &[f64]) -> Vec<f64> {
            vec![10.0 * (at[1] - at[0] * at[0]), 1.0 - at[0]]
        }

        fn jacobian(&self, at: &[f64]) -> Vec<Vec<f64>> {
            vec![vec![-20.0 * at[0], -1.0], vec![10.0, 0.0]]
        }
    }

    #[test]
    fn a_bent_valley_is_followed_to_its_end() {
        let found = minimise(&Valley, &[-1.2, 1.0]);
        assert!(found.ending.is_minimum(), "{:?}", found.ending);
        for parameter in found.parameters {
            assert!((parameter - 1.0).abs() < 1e-10, "{parameter}");
        }
    }

    /// ln x has no value where the start is.
    struct Logarithm;

    impl LeastSquares for Logarithm {
        fn residuals(&self, at: &[f64]) -> Vec<f64> {
            vec![at[0].ln()]
        }

        fn jacobian(&self, at: &[f64]) -> Vec<Vec<f64>> {
            vec![vec![at[0].recip()]]
        }
    }

    #[test]
    fn a_start_without_a_value_is_told_and_a_step_out_of_the_domain_is_taken_back() {
        assert_eq!(minimise(&Logarithm, &[-1.0]).ending, Ending::NotFinite);
        // The first full step from 10 would lead to −13.
        let found = minimise(&Logarithm, &[10.0]);
        assert!(found.ending.is_minimum(), "{:?}", found.ending);
        assert!((found.parameters[0] - 1.0).abs() < 1e-12, "{:?}", found.parameters);
    }
}
