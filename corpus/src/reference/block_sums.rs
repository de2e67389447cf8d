//! The sum of each block's share of an array, in f64 and rounded once. Arguments: data, sums.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let data = inputs.buffer::<f32>(0)?;
    let sums = inputs.buffer::<f32>(1)?;
    inputs.block_is([256, 1, 1])?;
    let share = if inputs.kernel == "sum_many" { 128 * 256 } else { 256 };
    let blocks = inputs.grid[0] as usize;
    if inputs.grid[1] != 1 || inputs.grid[2] != 1 {
        return Err(unsupported("blocks stand in one row".to_owned()));
    }
    data.exactly(blocks.saturating_mul(share))?;
    sums.exactly(blocks)?;
    if !inputs.runs() {
        return Ok(sums.replaced_by(sums.elements.to_vec()));
    }
    let sum = |share: &[f32]| share.iter().copied().map(f64::from).sum::<f64>() as f32;
    Ok(sums.replaced_by(data.elements.chunks_exact(share).map(sum).collect()))
}
