//! Linear least squares by Householder's QR decomposition, for the few columns of a fit.

/// The minimum of ‖A·x − y‖, with A reduced to a triangle.
///
/// A = Q·R, where Q is orthogonal and R is a triangle. Then R·x = Qᵀ·y at the minimum.
pub(crate) struct Decomposition {
    /// Column by column. R is on and above the diagonal; the rest has no meaning.
    columns: Vec<Vec<f64>>,
    /// Qᵀ·y.
    projected: Vec<f64>,
}

impl Decomposition {
    /// Decomposes the matrix of these columns, none of which is longer or shorter than `y`. There
    /// are at least as many rows as columns.
    pub(crate) fn new(mut columns: Vec<Vec<f64>>, mut y: Vec<f64>) -> Self {
        for pivot in 0..columns.len() {
            let (done, rest) = columns.split_at_mut(pivot + 1);
            let column = &mut done[pivot][pivot..];
            // The sign that cancels nothing.
            let length = norm(column).copysign(-column[0]);
            if length == 0.0 {
                continue;
            }
            let mut mirror = column.to_vec();
            mirror[0] -= length;
            // ‖mirror‖² = 2·length·(length − column[0]), without its rounding.
            let half_square = length * (length - column[0]);
            for other in rest.iter_mut().map(Vec::as_mut_slice).chain([y.as_mut_slice()]) {
                let other = &mut other[pivot..];
                let factor = dot(&mirror, other) / half_square;
                other.iter_mut().zip(&mirror).for_each(|(one, mirror)| *one -= factor * mirror);
            }
            column[0] = length;
        }
        Self { columns, projected: y }
    }

    /// The part of a column that no earlier column explains: the size of R's diagonal.
    pub(crate) fn independent_part(&self, column: usize) -> f64 {
        self.columns[column][column].abs()
    }

    /// The x of the minimum; not finite where columns depend on each other.
    pub(crate) fn solution(&self) -> Vec<f64> {
        self.solve(self.projected[..self.columns.len()].to_vec())
    }

    /// The lengths of the rows of R⁻¹. The variance of x[i] is that of y times the square of the
    /// i-th one.
    pub(crate) fn inverse_row_norms(&self) -> Vec<f64> {
        let size = self.columns.len();
        let mut squares = vec![0.0; size];
        for column in 0..size {
            let mut unit = vec![0.0; size];
            unit[column] = 1.0;
            let column = self.solve(unit);
            squares.iter_mut().zip(column).for_each(|(sum, one)| *sum += one * one);
        }
        squares.into_iter().map(f64::sqrt).collect()
    }

    /// Solves R·x = `right` from the last row up.
    fn solve(&self, mut right: Vec<f64>) -> Vec<f64> {
        for row in (0..right.len()).rev() {
            right[row] /= self.columns[row][row];
            let value = right[row];
            for above in 0..row {
                right[above] -= self.columns[row][above] * value;
            }
        }
        right
    }
}

/// The Euclidean length of a vector.
pub(crate) fn norm(vector: &[f64]) -> f64 {
    // The largest element is divided out, so that no square overflows or vanishes.
    let largest = vector.iter().fold(0.0, |largest: f64, one| largest.max(one.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * vector.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt()
}

/// The scalar product of two vectors.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: the plane through (1, 1), (1, 2), (1, 3) and 1, 2, 2 is 2/3 + x/2; AᵀA is
    /// [3 6; 6 14], and its inverse [14 −6; −6 3] / 6.
    #[test]
    fn a_small_system_has_the_minimum_and_variances_of_its_normal_equations() {
        let columns = vec![vec![1.0; 3], vec![1.0, 2.0, 3.0]];
        let decomposition = Decomposition::new(columns, vec![1.0, 2.0, 2.0]);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
        close(decomposition.solution()[0], 2.0 / 3.0);
        close(decomposition.solution()[1], 0.5);
        close(decomposition.inverse_row_norms()[0], (14.0_f64 / 6.0).sqrt());
        close(decomposition.inverse_row_norms()[1], (3.0_f64 / 6.0).sqrt());
        close(decomposition.independent_part(0), 3.0_f64.sqrt());
    }

    #[test]
    fn a_column_that_follows_from_others_has_no_part_of_its_own() {
        let columns = vec![vec![1.0, 2.0, -2.0], vec![-3.0, -6.0, 6.0]];
        let decomposition = Decomposition::new(columns, vec![0.0; 3]);
        assert!(decomposition.independent_part(1) < 1e-14);
        assert!((decomposition.independent_part(0) - 3.0).abs() < 1e-14);
    }

    #[test]
    fn lengths_neither_overflow_nor_vanish() {
        assert!((norm(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((norm(&[3e-200, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        assert_eq!(norm(&[0.0; 3]), 0.0);
        assert_eq!(norm(&[1.0, f64::INFINITY]), f64::INFINITY);
    }
}
