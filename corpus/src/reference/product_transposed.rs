//! `product-transposed`: C = A Bᵀ in bf16, summed in f64 and rounded once. Arguments: A, m rows of
//! k, B, n rows of k, C, and m, n, k.

use half::bf16;

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::Inputs;

/// Rows of A that share a pass over B, which may be larger than the caches.
const TOGETHER: usize = 8;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let a = inputs.buffer::<bf16>(0)?;
    let b = inputs.buffer::<bf16>(1)?;
    let c = inputs.buffer::<bf16>(2)?;
    let [m, n, k] = [inputs.size(3)?, inputs.size(4)?, inputs.size(5)?];
    a.exactly(m.saturating_mul(k))?;
    b.exactly(n.saturating_mul(k))?;
    c.exactly(m.saturating_mul(n))?;
    if !inputs.runs() || k == 0 {
        return Ok(c.replaced_by(c.elements.to_vec()));
    }
    let mut elements = Vec::with_capacity(m * n);
    for rows in a.elements.chunks(TOGETHER * k) {
        // Side by side, so that a factor of B meets those of all rows at once.
        let mut factors = vec![[0.0_f64; TOGETHER]; k];
        for (at, row) in rows.chunks_exact(k).enumerate() {
            factors.iter_mut().zip(row).for_each(|(factors, a)| factors[at] = a.to_f64());
        }
        let first = elements.len();
        elements.resize(first + rows.len() / k * n, bf16::ZERO);
        for (column, b_row) in b.elements.chunks_exact(k).enumerate() {
            let mut sums = [0.0_f64; TOGETHER];
            for (factors, b) in factors.iter().zip(b_row) {
                let b = b.to_f64();
                sums.iter_mut().zip(factors).for_each(|(sum, a)| *sum += a * b);
            }
            for (at, sum) in sums.iter().enumerate().take(rows.len() / k) {
                elements[first + at * n + column] = bf16::from_f64(*sum);
            }
        }
    }
    Ok(c.replaced_by(elements))
}
