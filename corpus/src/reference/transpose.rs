//! `out` is `in` with rows and columns exchanged. Arguments: out, in, width, height of `in`. Exact.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

const TILE: usize = 32;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let out = inputs.buffer::<f32>(0)?;
    let matrix = inputs.buffer::<f32>(1)?;
    let width = inputs.size(2)?;
    let height = inputs.size(3)?;
    inputs.block_is([TILE as u32, 8, 1])?;
    let covered = [inputs.grid[0], inputs.grid[1]].map(|blocks| blocks as usize * TILE);
    if covered[0] < width || covered[1] < height {
        return Err(unsupported(format!(
            "{} x {} tiles do not cover {height} rows of {width}",
            inputs.grid[1], inputs.grid[0],
        )));
    }
    out.at_least(width.saturating_mul(height))?;
    matrix.at_least(width.saturating_mul(height))?;

    let mut transposed = out.elements.to_vec();
    if inputs.runs() && height > 0 {
        for (column, out_row) in transposed.chunks_exact_mut(height).take(width).enumerate() {
            for (row, element) in out_row.iter_mut().enumerate() {
                *element = matrix.elements[row * width + column];
            }
        }
    }
    Ok(out.replaced_by(transposed))
}
