//! Linear least squares with the uncertainty of its coefficients.

use gpucast_counters::student::two_sided;
use serde::Serialize;
use thiserror::Error;

use crate::qr::{Decomposition, dot, norm};

/// A fitted coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Its value.
    pub value: f64,
    /// The standard deviation of its error; `None` if there are as many coefficients as samples.
    pub standard_error: Option<f64>,
}

/// A plane through samples: `y ≈ Σ coefficients[i]·x[i]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinearFit {
    /// One for each column.
    pub coefficients: Vec<Estimate>,
    /// R²: the part of the variance of `y` that the plane explains.
    pub r_squared: f64,
    /// Samples less coefficients.
    pub degrees_of_freedom: usize,
}

/// The reason why no plane can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RegressionError {
    /// Fewer samples than coefficients.
    #[error("{samples} samples cannot determine {coefficients} coefficients")]
    TooFewSamples {
        /// Samples.
        samples: usize,
        /// Coefficients.
        coefficients: usize,
    },
    /// Some columns follow from the others, so that their coefficients cannot be told apart.
    #[error("the samples do not vary enough: column {column} follows from the others")]
    Dependent {
        /// A column that can be left out, counted from 0.
        column: usize,
    },
    /// Something is infinite or not a number.
    #[error("sample {sample} is not finite")]
    NotFinite {
        /// Counted from 0.
        sample: usize,
    },
}

/// A column whose part that no earlier column explains is smaller than this, relative to the
/// column, is taken to depend on them.
const DEPENDENT: f64 = 1e-10;

impl LinearFit {
    /// Fits `y` by the columns of `rows`, which all have the same length; a constant term is a
    /// column of ones.
    ///
    /// # Errors
    ///
    /// If the samples do not determine the coefficients.
    pub fn new(rows: &[Vec<f64>], y: &[f64]) -> Result<Self, RegressionError> {
        let samples = rows.len().min(y.len());
        let coefficients = rows.first().map_or(0, Vec::len);
        if coefficients == 0 || samples < coefficients {
            return Err(RegressionError::TooFewSamples { samples, coefficients });
        }
        let is_finite = |sample: &usize| {
            y[*sample].is_finite() && rows[*sample].iter().all(|value| value.is_finite())
        };
        if let Some(sample) = (0..samples).find(|sample| !is_finite(sample)) {
            return Err(RegressionError::NotFinite { sample });
        }
        // Columns of bytes and of ones differ by many orders of magnitude: scaled to length 1 they
        // are all alike to the decomposition.
        let column = |at: usize| rows[..samples].iter().map(|row| row[at]).collect();
        let mut columns: Vec<Vec<f64>> = (0..coefficients).map(column).collect();
        let lengths: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
        for (at, (column, length)) in columns.iter_mut().zip(&lengths).enumerate() {
            if *length == 0.0 {
                return Err(RegressionError::Dependent { column: at });
            }
            column.iter_mut().for_each(|value| *value /= length);
        }
        let y = &y[..samples];
        let decomposition = Decomposition::new(columns.clone(), y.to_vec());
        let depends = |column: &usize| decomposition.independent_part(*column) < DEPENDENT;
        if let Some(column) = (0..coefficients).find(depends) {
            return Err(RegressionError::Dependent { column });
        }
        let scaled = decomposition.solution();
        let inverse = decomposition.inverse_row_norms();
        let mut residuals = y.to_vec();
        for (column, coefficient) in columns.iter().zip(&scaled) {
            residuals.iter_mut().zip(column).for_each(|(rest, one)| *rest -= one * coefficient);
        }
        let residual_squares = dot(&residuals, &residuals);
        let degrees_of_freedom = samples - coefficients;
        let variance = match degrees_of_freedom {
            0 => None,
            degrees => Some(residual_squares / degrees as f64),
        };
        let estimate = |at: usize| Estimate {
            value: scaled[at] / lengths[at],
            // Covariance: σ²·(XᵀX)⁻¹ = σ²·R⁻¹·R⁻ᵀ.
            standard_error: variance.map(|variance| variance.sqrt() * inverse[at] / lengths[at]),
        };
        let mean = y.iter().sum::<f64>() / samples as f64;
        let spread: f64 = y.iter().map(|value| (value - mean).powi(2)).sum();
        let r_squared = if spread > 0.0 { 1.0 - residual_squares / spread } else { 1.0 };
        Ok(Self {
            coefficients: (0..coefficients).map(estimate).collect(),
            r_squared,
            degrees_of_freedom,
        })
    }

    /// The half-width of the coefficient's interval with the given confidence (0.95 for 95 %). It
    /// is Student's t times the standard error, if the samples' errors are independent, normal and
    /// alike. Returns `None` without standard errors or for a confidence that is none.
    #[must_use]
    pub fn margin(&self, coefficient: usize, confidence: f64) -> Option<f64> {
        let error = self.coefficients.get(coefficient)?.standard_error?;
        margin(error, self.degrees_of_freedom, confidence)
    }
}

/// [`LinearFit::margin`] of a standard error.
pub(crate) fn margin(
    standard_error: f64,
    degrees_of_freedom: usize,
    confidence: f64,
) -> Option<f64> {
    Some(standard_error * two_sided(confidence, degrees_of_freedom as u64)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-12), "{a} {b}");
    }

    /// Worked by hand: x = 1…5, y = 2, 4, 5, 4, 5. The means are 3 and 4, Σ(x−3)(y−4) = 6,
    /// Σ(x−3)² = 10, so the slope is 0.6 and the constant 2.2; the residuals −0.8, 0.6, 1.0, −0.6
    /// and −0.2 have squares of 2.4 in all, of 6 before; their variance is 2.4 / 3 = 0.8, the
    /// slope's error √(0.8/10), the constant's √(0.8·(1/5 + 9/10)).
    #[test]
    fn a_line_through_five_points_is_that_of_the_textbook() {
        let rows: Vec<Vec<f64>> = (1..=5).map(|x| vec![f64::from(x), 1.0]).collect();
        let fit = LinearFit::new(&rows, &[2.0, 4.0, 5.0, 4.0, 5.0]).unwrap();
        close(fit.coefficients[0].value, 0.6);
        close(fit.coefficients[1].value, 2.2);
        close(fit.r_squared, 0.6);
        close(fit.coefficients[0].standard_error.unwrap(), 0.08_f64.sqrt());
        close(fit.coefficients[1].standard_error.unwrap(), 0.88_f64.sqrt());
        // t(0.975, 3) = 3.182446 (any table).
        let margin = fit.margin(0, 0.95).unwrap() / 0.08_f64.sqrt();
        assert!((margin - 3.182_446).abs() < 1e-5, "{margin}");
        assert_eq!(fit.margin(0, 1.0), None);
    }

    #[test]
    fn columns_of_very_different_size_do_not_disturb_each_other() {
        let rows: Vec<Vec<f64>> =
            (1..=8).map(|i| vec![f64::from(i) * 1e12, f64::from(i * i % 7) * 1e-3, 1.0]).collect();
        let y: Vec<f64> = rows.iter().map(|r| 3e-13 * r[0] + 5e2 * r[1] + 0.25).collect();
        let fit = LinearFit::new(&rows, &y).unwrap();
        for (estimate, value) in fit.coefficients.iter().zip([3e-13, 5e2, 0.25]) {
            assert!((estimate.value / value - 1.0).abs() < 1e-9, "{estimate:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_an_error() {
        let rows = vec![vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]];
        let y = [1.0, 2.0, 3.0];
        assert_eq!(LinearFit::new(&rows, &y), Err(RegressionError::Dependent { column: 1 }));
        let zero = vec![vec![0.0, 1.0]; 3];
        assert_eq!(LinearFit::new(&zero, &y), Err(RegressionError::Dependent { column: 0 }));
        assert_eq!(
            LinearFit::new(&rows[..1], &y),
            Err(RegressionError::TooFewSamples { samples: 1, coefficients: 2 })
        );
        let infinite = vec![vec![1.0], vec![f64::INFINITY]];
        assert_eq!(LinearFit::new(&infinite, &y), Err(RegressionError::NotFinite { sample: 1 }));
        let exact = LinearFit::new(&rows[..1].iter().map(|r| vec![r[0]]).collect::<Vec<_>>(), &y);
        assert_eq!(exact.unwrap().margin(0, 0.95), None);
    }
}
