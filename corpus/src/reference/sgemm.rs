//! C = A B with A m x n, B n x n, C m x n, row-major. Arguments: A, B, C, n.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};
use super::product;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let a = inputs.buffer::<f32>(0)?;
    let b = inputs.buffer::<f32>(1)?;
    let c = inputs.buffer::<f32>(2)?;
    let n = inputs.size(3)?;
    let m = inputs.threads_y();
    if inputs.threads_x() != n || inputs.block[0] != inputs.block[1] {
        return Err(unsupported(format!(
            "square blocks have to cover the {n} columns of C exactly, the grid has {} threads in \
             x in blocks of {} x {}",
            inputs.threads_x(),
            inputs.block[0],
            inputs.block[1],
        )));
    }
    a.exactly(m.saturating_mul(n))?;
    b.exactly(n.saturating_mul(n))?;
    c.exactly(m.saturating_mul(n))?;
    if !inputs.runs() || n == 0 {
        return Ok(c.replaced_by(c.elements.to_vec()));
    }
    Ok(c.replaced_by(product::by_rows(a.elements, b.elements, n)))
}
