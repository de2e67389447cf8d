//! Matrix products by rows or by columns.
//!
//! `matmul-by-columns`: C = A B for square matrices stored by columns. Arguments: A, B, C, n.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// Rows that share a pass over the second matrix, which may be larger than the caches.
const TOGETHER: usize = 8;

/// The product of a matrix with rows of `n` and a square one with rows of `n`, both by rows; summed
/// in f64 and rounded once.
pub(super) fn by_rows(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let row = n.max(1);
    let b_wide: Vec<f64> = b.iter().copied().map(f64::from).collect();
    let mut product = Vec::with_capacity(a.len());
    let mut sums = vec![0.0_f64; TOGETHER * row];
    for a_rows in a.chunks(TOGETHER * row) {
        sums.fill(0.0);
        for (k, b_row) in b_wide.chunks_exact(row).enumerate() {
            for (a_row, sums) in a_rows.chunks_exact(row).zip(sums.chunks_exact_mut(row)) {
                let factor = f64::from(a_row[k]);
                for (sum, &b) in sums.iter_mut().zip(b_row) {
                    *sum += factor * b;
                }
            }
        }
        product.extend(sums.iter().take(a_rows.len()).map(|&sum| sum as f32));
    }
    product
}

pub(super) fn run_by_columns(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let a = inputs.buffer::<f32>(0)?;
    let b = inputs.buffer::<f32>(1)?;
    let c = inputs.buffer::<f32>(2)?;
    let n = inputs.size(3)?;
    let columns: usize = inputs
        .kernel
        .strip_prefix("matmul_volkov_")
        .and_then(|columns| columns.parse().ok())
        .ok_or_else(|| ReferenceError::UnknownKernel {
            kernel: inputs.kernel.to_owned(),
            known: "matmul_volkov_<columns>",
        })?;
    inputs.block_is([64, 1, 1])?;
    if inputs.threads_x() != n || (inputs.grid[1] as usize).checked_mul(columns) != Some(n) {
        return Err(unsupported(format!(
            "{} x {} blocks of 64 rows and {columns} columns do not cover {n} x {n} elements",
            inputs.grid[0], inputs.grid[1],
        )));
    }
    for buffer in [a, b, c] {
        buffer.exactly(n.saturating_mul(n))?;
    }
    if !inputs.runs() {
        return Ok(c.replaced_by(c.elements.to_vec()));
    }
    // Read by rows, a matrix stored by columns is its transpose: C' = B' A'.
    Ok(c.replaced_by(by_rows(b.elements, a.elements, n)))
}
