//! The 7-point stencil of Yang and Williams 2019, in f64. Arguments: old, new, dim.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};
use super::padded_box::PaddedBox;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let old = inputs.buffer::<f64>(0)?;
    let new = inputs.buffer::<f64>(1)?;
    let dim = inputs.size(2)?;
    inputs.block_is([32, 4, 1])?;
    if inputs.threads_x() != dim || inputs.threads_y() != dim {
        return Err(unsupported(format!(
            "{} x {} threads do not cover {dim} x {dim} points",
            inputs.threads_x(),
            inputs.threads_y(),
        )));
    }
    let domain = PaddedBox::new(dim)?;
    old.exactly(domain.len)?;
    new.exactly(domain.len)?;

    let mut values = new.elements.to_vec();
    if inputs.runs() {
        for (_, point) in domain.points() {
            let around: f64 = [1, domain.row, domain.plane]
                .into_iter()
                .map(|distance| old.elements[point - distance] + old.elements[point + distance])
                .sum();
            values[point] = around - 6.0 * old.elements[point];
        }
    }
    Ok(new.replaced_by(values))
}
