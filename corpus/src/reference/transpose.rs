//! `out` is `in` with rows and columns exchanged. Arguments: out, in, width, height of `in`. Exact.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let out = inputs.buffer::<f32>(0)?;
    let matrix = inputs.buffer::<f32>(1)?;
    let width = inputs.size(2)?;
    let height = inputs.size(3)?;
    let tile = tile(inputs)?;
    let covered = [inputs.grid[0], inputs.grid[1]].map(|blocks| blocks as usize * tile);
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

/// The side of the tile that a block moves.
fn tile(inputs: &Inputs<'_>) -> Result<usize, ReferenceError> {
    match inputs.kernel {
        "transpose_direct" | "transpose_unpadded_16" | "transpose_padded_16" => {
            inputs.block_is([16, 16, 1])?;
            Ok(16)
        }
        _ => {
            inputs.block_is([32, 8, 1])?;
            Ok(32)
        }
    }
}
