//! The five-point stencil of Stevens and Kloeckner 2020, section 8.5, in f64, rounded once.
//! Arguments: u, result, n.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let tile = match inputs.kernel {
        "finite_differences_16" => 16,
        "finite_differences_18" => 18,
        _ => {
            return Err(ReferenceError::UnknownKernel {
                kernel: inputs.kernel.to_owned(),
                known: "finite_differences_16, finite_differences_18",
            });
        }
    };
    let u = inputs.buffer::<f32>(0)?;
    let result = inputs.buffer::<f32>(1)?;
    let n = inputs.size(2)?;
    inputs.block_is([tile, tile, 1])?;
    let covered = |blocks: u32| blocks as usize * (tile as usize - 2);
    if covered(inputs.grid[0]) != n || covered(inputs.grid[1]) != n {
        return Err(unsupported(format!(
            "{} x {} tiles do not cover {n} x {n} results",
            inputs.grid[0], inputs.grid[1],
        )));
    }
    let row = n.saturating_add(2);
    u.exactly(row.saturating_mul(row))?;
    result.exactly(n.saturating_mul(n))?;

    let mut differences = result.elements.to_vec();
    if inputs.runs() {
        for (index, difference) in differences.iter_mut().enumerate() {
            let u = |i: usize, j: usize| f64::from(u.elements[i * row + j]);
            let (i, j) = (index / n + 1, index % n + 1);
            let around = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1);
            *difference = (around - 4.0 * u(i, j)) as f32;
        }
    }
    Ok(result.replaced_by(differences))
}
