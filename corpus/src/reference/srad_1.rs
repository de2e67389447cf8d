//! The first kernel of Rodinia's SRAD (version 2), in f64. Arguments: the differences to the
//! neighbours in the east, west, north and south, the image, the coefficients, columns, rows, q0
//! squared.
//!
//! The image has a row in front of the first and behind the last one, which the result does not
//! depend on. The coefficient is that of Yu and Acton 2002, equation 33, held between 0 and 1.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let columns = inputs.size(6)?;
    let rows = inputs.size(7)?;
    let q0_squared = f64::from(inputs.scalar::<f32>(8)?);
    inputs.block_is([16, 16, 1])?;
    if [inputs.threads_x(), inputs.threads_y()] != [columns, rows] {
        return Err(unsupported(format!(
            "{} x {} threads for {columns} x {rows} pixels",
            inputs.threads_x(),
            inputs.threads_y(),
        )));
    }
    let padded = inputs.buffer::<f32>(4)?;
    padded.exactly(columns.saturating_mul(rows.saturating_add(2)))?;
    let sides = [inputs.buffer(0)?, inputs.buffer(1)?, inputs.buffer(2)?, inputs.buffer(3)?];
    let coefficients = inputs.buffer::<f32>(5)?;
    for buffer in sides.iter().chain([&coefficients]) {
        buffer.exactly(columns.saturating_mul(rows))?;
    }

    let mut results = sides.map(|side| side.elements.to_vec());
    let mut diffusion = coefficients.elements.to_vec();
    if inputs.runs() && columns > 0 {
        let image = &padded.elements[columns..];
        for (pixel, coefficient) in diffusion.iter_mut().enumerate() {
            let (row, column) = (pixel / columns, pixel % columns);
            let neighbours = [
                pixel + usize::from(column + 1 < columns),
                pixel - usize::from(column > 0),
                if row > 0 { pixel - columns } else { pixel },
                if row + 1 < rows { pixel + columns } else { pixel },
            ];
            let here = f64::from(image[pixel]);
            let differences = neighbours.map(|other| f64::from(image[other]) - here);
            for (result, difference) in results.iter_mut().zip(differences) {
                result[pixel] = difference as f32;
            }
            *coefficient = of_diffusion(here, differences, q0_squared) as f32;
        }
    }
    let mut outputs = coefficients.replaced_by(diffusion);
    for (side, result) in sides.into_iter().zip(results) {
        outputs.extend(side.replaced_by(result));
    }
    Ok(outputs)
}

fn of_diffusion(here: f64, differences: [f64; 4], q0_squared: f64) -> f64 {
    let gradient =
        differences.iter().map(|difference| difference * difference).sum::<f64>() / (here * here);
    let laplacian = differences.iter().sum::<f64>() / here;
    let q_squared = (gradient / 2.0 - laplacian.powi(2) / 16.0) / (1.0 + laplacian / 4.0).powi(2);
    let coefficient = 1.0 / (1.0 + (q_squared - q0_squared) / (q0_squared * (1.0 + q0_squared)));
    coefficient.clamp(0.0, 1.0)
}
