//! C = alpha A B + beta C with A m x k, B k x n, C m x n, row-major. Arguments: A, B, C, n, k and,
//! unless they are 1 and 0, alpha and beta.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let a = inputs.buffer::<f32>(0)?;
    let b = inputs.buffer::<f32>(1)?;
    let c = inputs.buffer::<f32>(2)?;
    let n = inputs.size(3)?;
    let k = inputs.size(4)?;
    let (alpha, beta) = match inputs.args.len() {
        5 => (1.0, 0.0),
        _ => (inputs.scalar::<f32>(5)?, inputs.scalar::<f32>(6)?),
    };
    if n == 0 || k == 0 || !a.elements.len().is_multiple_of(k) {
        return Err(unsupported(format!(
            "A has {} elements, which are no rows of {k}; C has {n} columns",
            a.elements.len()
        )));
    }
    let m = a.elements.len() / k;
    // Elements of C that a thread makes.
    let each = match inputs.kernel {
        "sgemm_column" => 8,
        "sgemm_patch" => 64,
        _ => 1,
    };
    let threads = inputs.threads_x().saturating_mul(inputs.threads_y());
    if threads.saturating_mul(each) != m.saturating_mul(n) {
        return Err(unsupported(format!("{threads} threads do not cover {m} x {n} elements")));
    }
    b.exactly(k.saturating_mul(n))?;
    c.exactly(m.saturating_mul(n))?;

    let mut elements = c.elements.to_vec();
    // A later launch starts from the C of the one before.
    for _ in 0..inputs.repeat {
        for (a_row, c_row) in a.elements.chunks_exact(k).zip(elements.chunks_exact_mut(n)) {
            let mut sums = vec![0.0_f64; n];
            for (factor, b_row) in a_row.iter().zip(b.elements.chunks_exact(n)) {
                for (sum, element) in sums.iter_mut().zip(b_row) {
                    *sum += f64::from(*factor) * f64::from(*element);
                }
            }
            for (element, sum) in c_row.iter_mut().zip(sums) {
                let before = f64::from(*element);
                *element = (f64::from(alpha) * sum + f64::from(beta) * before) as f32;
            }
        }
    }
    Ok(c.replaced_by(elements))
}
