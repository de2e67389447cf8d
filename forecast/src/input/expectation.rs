//! Compares a buffer with its expected content.
//!
//! Floats agree if `|got - want| <= atol + rtol * |want|`, as in NumPy's `allclose`, but a NaN
//! agrees with a NaN, and an infinity only with itself. Integers follow the same rule, exactly.

use gpucast_buffers::scalar::{ElementType, Literal};

/// Greatest number of mismatches that are listed.
pub const LISTED: usize = 5;

/// An element that differs from its expected value.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The element.
    pub index: usize,
    /// Its value.
    pub got: Literal,
    /// The value expected.
    pub want: Literal,
}

/// The outcome of one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Elements compared.
    pub elements: usize,
    /// Number of elements that do not agree.
    pub mismatches: usize,
    /// The first few of them.
    pub first: Vec<Mismatch>,
    /// The greatest `|got - want|` over all elements; infinite where a NaN or an infinity differs.
    pub greatest_difference: f64,
}

/// Compares two buffers of the same type and size.
pub fn compare(ty: ElementType, got: &[u8], want: &[u8], rtol: f64, atol: f64) -> Comparison {
    let mut comparison =
        Comparison { elements: 0, mismatches: 0, first: Vec::new(), greatest_difference: 0.0 };
    let pairs = got.chunks_exact(ty.bytes()).zip(want.chunks_exact(ty.bytes()));
    for (index, (got, want)) in pairs.enumerate() {
        comparison.elements += 1;
        // Equal bits agree, whatever they mean.
        if got == want {
            continue;
        }
        let (got, want) = (ty.decode(got), ty.decode(want));
        let difference = difference(got, want);
        comparison.greatest_difference = comparison.greatest_difference.max(difference);
        if difference == 0.0
            || (difference.is_finite() && difference <= atol + rtol * want.as_f64().abs())
        {
            continue;
        }
        comparison.mismatches += 1;
        if comparison.first.len() < LISTED {
            comparison.first.push(Mismatch { index, got, want });
        }
    }
    comparison
}

fn difference(got: Literal, want: Literal) -> f64 {
    match (got, want) {
        (Literal::Integer(got), Literal::Integer(want)) => (got - want).abs() as f64,
        _ => {
            let (got, want) = (got.as_f64(), want.as_f64());
            if got == want || (got.is_nan() && want.is_nan()) {
                0.0
            } else if got.is_finite() && want.is_finite() {
                (got - want).abs()
            } else {
                f64::INFINITY
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mismatches(got: &[f32], want: &[f32], rtol: f64, atol: f64) -> usize {
        let bytes =
            |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
        compare(ElementType::F32, &bytes(got), &bytes(want), rtol, atol).mismatches
    }

    #[test]
    fn tolerances_are_those_of_allclose() {
        assert_eq!(mismatches(&[1.0, 2.0], &[1.0, 2.0], 0.0, 0.0), 0);
        assert_eq!(mismatches(&[1.01], &[1.0], 0.02, 0.0), 0);
        assert_eq!(mismatches(&[1.01], &[1.0], 0.0, 0.02), 0);
        assert_eq!(mismatches(&[1.01], &[1.0], 0.005, 0.0), 1);
        assert_eq!(mismatches(&[-0.0], &[0.0], 0.0, 0.0), 0);
    }

    #[test]
    fn a_nan_or_an_infinity_hides_behind_no_tolerance() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        assert_eq!(mismatches(&[nan, infinity], &[-nan, infinity], 0.0, 0.0), 0);
        assert_eq!(mismatches(&[nan, infinity, 1.0], &[1.0, 1.0, infinity], 1.0, 1e30), 3);
    }

    #[test]
    fn the_first_mismatches_are_listed() {
        let got = [0_u8, 1, 2, 3, 4, 5, 6, 7];
        let comparison = compare(ElementType::U8, &got, &[0; 8], 0.0, 1.0);
        assert_eq!((comparison.elements, comparison.mismatches), (8, 6));
        assert_eq!(comparison.greatest_difference, 7.0);
        let first = Mismatch { index: 2, got: Literal::Integer(2), want: Literal::Integer(0) };
        assert_eq!(comparison.first[0], first);
        assert_eq!(comparison.first.len(), LISTED);
    }
}
