//! Dilation by a disc: the greatest value around each pixel, at least 0. Arguments: the image by
//! columns, the result by rows, rows, columns, the disc's rows and columns. Exact.
//!
//! Pixels are counted down the columns; those behind the grid's last thread keep their value.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// The disc that is compiled into the kernel.
const RADIUS: usize = 12;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let image = inputs.buffer::<f32>(0)?;
    let dilated = inputs.buffer::<f32>(1)?;
    let rows = inputs.size(2)?;
    let columns = inputs.size(3)?;
    let disc = [inputs.size(4)?, inputs.size(5)?];
    let pixels = rows.saturating_mul(columns);
    if inputs.threads_x() > pixels || disc != [2 * RADIUS + 1; 2] {
        return Err(unsupported(format!(
            "{} threads for {pixels} pixels and a disc of {disc:?}",
            inputs.threads_x(),
        )));
    }
    image.exactly(pixels)?;
    dilated.exactly(pixels)?;

    let mut greatest = dilated.elements.to_vec();
    if inputs.runs() {
        for pixel in 0..inputs.threads_x() {
            let (row, column) = (pixel % rows, pixel / rows);
            let around = |own: usize, extent: usize| {
                own.saturating_sub(RADIUS)..extent.min(own + RADIUS + 1)
            };
            let mut most = 0.0_f32;
            for i in around(row, rows) {
                for j in around(column, columns) {
                    let squared = i.abs_diff(row).pow(2) + j.abs_diff(column).pow(2);
                    if squared <= RADIUS * RADIUS {
                        most = most.max(image.elements[j * rows + i]);
                    }
                }
            }
            greatest[row * columns + column] = most;
        }
    }
    Ok(dilated.replaced_by(greatest))
}
