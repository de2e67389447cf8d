//! Masks of the points of either colour, in the layout of a box of the `gsrb` kernels.

use super::GeneratorError;
use crate::reference::Values;

pub(super) const SHAPE: &str = "[inner points of a row], at most 2^20";

/// Far beyond any box, and small enough that lengths do not overflow.
const MOST: u64 = 1 << 20;

/// Elements behind the inner points of a row: two boundary points and padding.
const BEHIND: usize = 4;

pub(super) fn check(shape: &[u64], len: usize) -> Result<(), GeneratorError> {
    let dim = dim(shape)?;
    let expected = 2 * (dim + 2) * (dim + BEHIND);
    if len == expected {
        Ok(())
    } else {
        Err(GeneratorError::Length { expected: expected.to_string(), found: len })
    }
}

/// Ones where i + j + plane is even, i and j counting inner points from 0; zeros elsewhere.
pub(super) fn run(shape: &[u64], len: usize) -> Result<Values, GeneratorError> {
    check(shape, len)?;
    let dim = dim(shape)?;
    let row = dim + BEHIND;
    let mut mask = vec![0.0; len];
    for (plane, points) in mask.chunks_exact_mut(row * (dim + 2)).enumerate() {
        // The first and the last row are boundary points.
        for (j, row) in points.chunks_exact_mut(row).skip(1).take(dim).enumerate() {
            for point in row[..dim].iter_mut().skip((j + plane) % 2).step_by(2) {
                *point = 1.0;
            }
        }
    }
    Ok(Values::F64(mask))
}

fn dim(shape: &[u64]) -> Result<usize, GeneratorError> {
    match shape {
        &[dim] if (1..=MOST).contains(&dim) => Ok(dim as usize),
        _ => Err(GeneratorError::Shape { expected: SHAPE }),
    }
}
